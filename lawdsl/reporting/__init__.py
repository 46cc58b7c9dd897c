"""Results -> reports for people, and documents for programs."""
