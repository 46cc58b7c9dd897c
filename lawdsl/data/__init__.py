"""Runs tables: what was measured, and how its columns meet the variables of a law."""
