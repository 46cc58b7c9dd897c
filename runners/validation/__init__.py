"""Validation sets: samples of text, without those with high perplexity under all of several models."""
