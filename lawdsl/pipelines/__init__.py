"""Pipeline + table -> fits of each step, whose predictions and errors are the data of the next."""
