"""Law + table -> Ensemble: many fits of one law to resampled rows, combined by their median."""
