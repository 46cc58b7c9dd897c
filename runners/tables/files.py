"""A table of runs as a file: Parquet, CSV or SQLite by its name, whole or not at all.

Whatever had that name is replaced, for the folders of the runs have all that is in a table: one
that is damaged, or that another lawdsl has written, is made again.
"""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import write_bytes
from lawdsl.data.formats.csv_text import csv_text
from lawdsl.data.formats.sqlite import NOTES, RUNS
from lawdsl.data.read import METADATA_KEY, RUN_TABLE_SCHEMA

from ..run.disk import room
from .collect import RunsTable


def write_table(path: Path, table: RunsTable) -> None:
    """Write a table in the format of its file extension, atomically.

    Args:
        path: of the file.
        table: the table.

    Raises:
        LawdslError: an unknown extension, or it cannot be written; R0805.
    """
    check_form(path)
    content = FORMS[path.suffix.lower()](table)
    try:
        write_bytes(path, content)
        if path.suffix.lower() in SQLITE:
            for rest in BESIDE:
                path.with_name(f"{path.name}{rest}").unlink(missing_ok=True)
    except OSError as error:
        message = f"the table cannot be written: {error.strerror}"
        help = "make room, or write it elsewhere; a table that was there is as it was"
        notes = (room(path.parent, len(content)),)
        diagnostic = Diagnostic("R0805", message, place=str(path), notes=notes, help=help)
        raise LawdslError(diagnostic) from None


def check_form(path: Path) -> None:
    """Raise an error for a file name whose extension is not that of a table.

    Raises:
        LawdslError: R0805.
    """
    if path.suffix.lower() not in FORMS:
        message = f"tables end in {', '.join(FORMS)}, not {path.suffix or 'nothing'}"
        help = "name it runs.parquet, runs.csv or runs.sqlite"
        raise LawdslError(Diagnostic("R0805", message, place=str(path), help=help))


def _csv(table: RunsTable) -> bytes:
    """Comments, a line of names, a line a row; what is not known is empty."""
    rows = zip(*table.columns.values(), strict=True)
    return csv_text(table.notes, table.columns, rows).encode()


def _parquet(table: RunsTable) -> bytes:
    """Typed columns; the notes are in the metadata of the schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata = json.dumps({"schema": RUN_TABLE_SCHEMA, "notes": table.notes}).encode()
    content = pa.table(dict(table.columns)).replace_schema_metadata({METADATA_KEY: metadata})
    out = io.BytesIO()
    pq.write_table(content, out)
    return out.getvalue()


def _sqlite(table: RunsTable) -> bytes:
    """The table `runs`, and the notes in a second one; user_version is the schema's."""
    headers = ", ".join(f'"{header}"' for header in table.columns)
    marks = ", ".join("?" * len(table.columns))
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE {RUNS} ({headers})")
        rows = zip(*table.columns.values(), strict=True)
        base.executemany(f"INSERT INTO {RUNS} VALUES ({marks})", rows)
        base.execute(f"CREATE TABLE {NOTES} (note)")
        base.executemany(f"INSERT INTO {NOTES} VALUES (?)", [(note,) for note in table.notes])
        base.execute(f"PRAGMA user_version = {RUN_TABLE_SCHEMA}")
        base.commit()
        return base.serialize()


SQLITE = (".sqlite", ".db")
BESIDE = ("-journal", "-wal", "-shm")
"""Journals beside a database that was not closed: they would alter the new file."""

FORMS: Mapping[str, Callable[[RunsTable], bytes]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".csv": _csv,
    ".sqlite": _sqlite,
    ".db": _sqlite,
}
"""End of a file's name -> what writes its content."""
