"""Fits and laws -> formulas elsewhere: LaTeX, Python, NumPy, PyTorch, JAX, JavaScript, JSON."""

TARGETS = ("latex", "python", "numpy", "torch", "jax", "javascript", "json")
"""The languages, whose writers are in `export.py`, which loads more than a help text needs."""
