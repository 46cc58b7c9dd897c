"""The sign of an expression on a box, by numbers: cut up until each piece is certain."""
