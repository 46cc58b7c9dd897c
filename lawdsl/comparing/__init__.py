"""Several laws, one table: how well each predicts what it was not fitted to, and how sure that is."""
