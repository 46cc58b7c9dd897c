"""The sign of an expression on a box, symbolically: for all parameters at once, by rules."""
