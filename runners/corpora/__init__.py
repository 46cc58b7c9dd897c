"""Text -> tokens: documents read, split, deduplicated, and stored as memory-mapped arrays."""
