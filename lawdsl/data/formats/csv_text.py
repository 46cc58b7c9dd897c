"""Notes, header and rows -> the text of a CSV file; loads nothing heavy, so that any command may write."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable


def csv_text(
    notes: Iterable[str], header: Iterable[object], rows: Iterable[Iterable[object]]
) -> str:
    """A table as CSV (RFC 4180, but with line feeds), its notes as comment lines above the header."""
    text = io.StringIO()
    text.writelines(f"# {note}\n" for note in notes)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
