"""Tables of runs: measurements, and the assignment of their columns to the variables of a law."""
