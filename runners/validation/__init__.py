"""Validation sets: samples of text, without those that all of several models find unlikely."""
