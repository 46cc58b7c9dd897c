"""Predictions beyond the fitted rows, with the expected error of the law itself.

    log L = log law(x; θ) + δ(x) + run effect + noise

The discrepancy δ is a Gaussian process of a given standard deviation for each decade of distance
from the fitted rows (Kennedy and O'Hagan 2001, Journal of the Royal Statistical Society B 63).
"""
