"""A problem with one unknown -> its answer, for certain."""
