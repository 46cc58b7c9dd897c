"""Checks whether a machine can train with this project, and how fast."""
