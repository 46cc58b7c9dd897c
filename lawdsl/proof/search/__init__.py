"""The search for a point that contradicts a claim, and its verification."""
