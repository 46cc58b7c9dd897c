"""Parameters that are held, and the bounds of others that keep what their domains promised."""
