"""Questions to fitted laws: posed, solved, certified."""
