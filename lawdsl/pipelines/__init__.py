"""Pipeline + table -> fits of each step, predictions handed on with their errors."""
