"""Foundations of all other packages: no knowledge of laws, no import of array or algebra
libraries."""
