"""Results -> figures: a tidy table, an Altair chart, and a title that states the finding."""
