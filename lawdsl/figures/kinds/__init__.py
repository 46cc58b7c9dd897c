"""A module a kind of figure."""
