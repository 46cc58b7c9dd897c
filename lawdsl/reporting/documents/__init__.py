"""Results -> documents: blocks of text, tables, formulas and figures, rendered as HTML, Markdown or text."""
