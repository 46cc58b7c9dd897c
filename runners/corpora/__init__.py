"""Text -> tokens: documents read, split, deduplicated, and written as a folder of memory-mapped
arrays.
"""
