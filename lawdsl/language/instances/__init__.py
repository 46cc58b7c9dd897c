"""Law with index sets, labels -> the same law at these labels, without index sets."""
