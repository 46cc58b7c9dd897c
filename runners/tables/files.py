"""A table of runs -> a file in the format of its extension, written atomically.

An existing file is replaced, because a table can always be collected again from the folders of the
runs.
"""

from __future__ import annotations

from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.write import replace_table, written_format

from ..run.disk import room_text
from .collect import RunsTable


def write_table(path: Path, table: RunsTable) -> None:
    """Write a table in the format of its file extension, atomically.

    Args:
        path: the path of the file.
        table: the table.

    Raises:
        LawdslError: an unknown extension, or it cannot be written; R0805.
    """
    form = written_format(path)
    content = form.write(table.columns, table.notes)
    try:
        replace_table(path, form, content)
    except OSError as error:
        message = f"the table cannot be written: {error.strerror}"
        help = "make room, or write it elsewhere; a table that was there is as it was"
        notes = (room_text(path.parent, len(content)),)
        diagnostic = Diagnostic("R0805", message, place=str(path), notes=notes, help=help)
        raise LawdslError(diagnostic) from None
