"""Minimisers of a fitting problem, from cheap and rough to exact."""
