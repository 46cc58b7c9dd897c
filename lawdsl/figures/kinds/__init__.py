"""The kinds of figures, one module each."""
