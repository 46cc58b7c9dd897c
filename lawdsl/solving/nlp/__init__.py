"""A problem with several unknowns -> its best point, and what certifies it."""
