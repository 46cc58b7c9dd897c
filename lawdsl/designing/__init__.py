"""Mixtures to train on: how many of which domains, within what there is of them."""
