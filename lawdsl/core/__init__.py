"""Foundations of all other packages: independent of laws, and of array and algebra libraries."""
