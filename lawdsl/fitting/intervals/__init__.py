"""How well a fit knows its parameters: delta method, bootstrap, profile."""
