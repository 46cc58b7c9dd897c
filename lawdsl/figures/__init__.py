"""Results -> figures: a tidy table, an Altair chart and a title that says the finding."""
