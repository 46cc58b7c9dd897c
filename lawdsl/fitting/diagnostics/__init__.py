"""What is wrong with a fit: each finding with its evidence."""
