"""Checks that say whether a machine can train with this project, and how fast."""
