"""Folders of runs -> the table that laws are fitted to."""
