"""Checks that the rows of a table meet what laws presuppose of them beyond their variables."""
