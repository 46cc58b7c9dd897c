"""The sign of an expression on a box by branch and bound with certified interval enclosures."""
