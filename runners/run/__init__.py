"""A run as a folder on disk: its measurements, its end, its lock. No module here loads torch."""
