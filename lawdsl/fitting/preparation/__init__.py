"""Law -> what the numerical stages of a fit use: compiled functions, names, findings of algebra."""
