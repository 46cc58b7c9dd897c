"""Mixtures to train on, within the available tokens of each domain."""
