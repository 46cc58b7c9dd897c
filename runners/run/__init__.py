"""A run as a folder on disk: its measurements, its end, its lock. Modules here do not load torch."""
