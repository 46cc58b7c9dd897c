"""Law + table -> Fit: parameters, intervals, diagnostics and predictions."""
