"""Fit + rows -> diagnostics: what is wrong with the fit, each finding with its evidence."""
