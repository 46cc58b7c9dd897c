"""Law + table -> Fit."""
