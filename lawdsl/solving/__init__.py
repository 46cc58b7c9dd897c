"""A question and fits -> its answer: the optimal choice, with certificates and intervals."""
