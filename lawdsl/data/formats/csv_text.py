"""Notes, header and rows -> the text of a CSV file, without heavy imports, so that any command can
write."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable


def csv_text(
    notes: Iterable[str], header: Iterable[object], rows: Iterable[Iterable[object]]
) -> str:
    """Write a table as CSV: RFC 4180 (Shafranovich (2005)), but with line feeds as line ends.

    Args:
        notes: the comment lines above the header.
        header: the names of the columns.
        rows: the cells.
    """
    text = io.StringIO()
    text.writelines(f"# {note}\n" for note in notes)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
