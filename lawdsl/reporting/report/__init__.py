"""Results -> a report in one file: HTML without network requests, or Markdown."""
