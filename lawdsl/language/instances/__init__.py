"""A law with index sets at given labels, written out as a law without."""
