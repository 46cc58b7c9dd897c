"""Law + table -> what the measurements say about the trends that the law claims, before any fit."""
