"""SymPy expressions -> fast values and exact derivatives, without generated code."""
