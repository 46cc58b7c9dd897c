"""File formats of tables: one module a format, read and write."""
