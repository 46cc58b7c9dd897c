"""A question and fits -> a problem in algebra."""
