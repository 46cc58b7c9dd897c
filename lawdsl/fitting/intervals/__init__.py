"""Fit -> intervals and covariance of its parameters: delta method, bootstrap, profiles."""
