"""A question and fits -> its answer."""
