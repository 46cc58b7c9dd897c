"""Results -> one file that reports them: HTML without any request, or Markdown."""
