"""SQLite database <-> table of runs, read within limits on size and time.

SQLite, https://www.sqlite.org/fileformat2.html
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data import size_limits
from lawdsl.data.columns import arrow_column, table_from_arrow
from lawdsl.data.formats import RUN_TABLE_SCHEMA, text_instead, unreadable
from lawdsl.data.table import Table

RUNS, NOTES = "runs", "notes"  # tables of a database: the runs, and the notes
INTERNAL_PREFIX = "sqlite_"  # prefix of the names of SQLite's internal tables
ROWS_AT_ONCE = 10_000  # rows turned into columns at once
MAX_ROW_BYTES = 64 * 2**20  # bytes of a row whose cells all have the largest size
MIN_CELL_BYTES = 2**17  # bytes that any cell may have, whatever the number of columns
CHECK = "PRAGMA quick_check(1)"
BOUNDED_FUNCTIONS = frozenset(
    "abs ceil ceiling coalesce exp floor ifnull iif length ln log log10 log2 lower max min mod nullif "
    "pow power round sign sqrt substr substring trim trunc typeof unicode upper".split()
)
"""Functions that a computed column may call: their time is proportional to the size of their input.
"""
# largest number of bytes per character of a Python string that is not ASCII
MAX_BYTES_PER_CHARACTER = 4
STEPS_BETWEEN_CLOCK_CHECKS = 10_000  # steps of SQLite's virtual machine


def read(content: bytes, name: str) -> Table:
    """Read the table `runs` of a database, or its only table.

    Args:
        content: the bytes of the file.
        name: its path.

    Raises:
        LawdslError: D0101 where it is not a readable database; D0102 where it has no such table;
            D0150 where it is too large.
    """
    try:
        headers, columns, notes = _read_database(Path(name), content)
    except sqlite3.Error as error:
        help = "if `lawdsl collect` made it, make it again: the folders of the runs have it all"
        of_text = text_instead(content, name, "SQLite", help)
        if of_text is not None:
            raise of_text from None
        raise unreadable(f"this is not a readable SQLite file: {error}", name, help) from None
    arrays = [arrow_column(h, c) for h, c in zip(headers, columns, strict=True)]
    return table_from_arrow(pa.table(arrays, names=headers), name, notes)


def write(columns: Mapping[str, Sequence[Any]], notes: Sequence[str]) -> bytes:
    """The content of a database: the table `runs`, and the notes in a second table; its
    user_version is the schema version.

    Args:
        columns: header, with its unit -> a value for each row; None where it is not known.
        notes: the lines of comment on the table.
    """
    # a quotation mark within an identifier is written twice
    headers = ", ".join('"{}"'.format(header.replace('"', '""')) for header in columns)
    marks = ", ".join("?" * len(columns))
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE {RUNS} ({headers})")
        rows = zip(*columns.values(), strict=True)
        base.executemany(f"INSERT INTO {RUNS} VALUES ({marks})", rows)
        base.execute(f"CREATE TABLE {NOTES} (note)")
        base.executemany(f"INSERT INTO {NOTES} VALUES (?)", [(note,) for note in notes])
        base.execute(f"PRAGMA user_version = {RUN_TABLE_SCHEMA}")
        base.commit()
        return base.serialize()


def _read_database(
    path: Path, content: bytes
) -> tuple[list[str], list[list[Any]], tuple[str, ...]]:
    """The headers, the columns and the notes of a database.

    Raises:
        sqlite3.Error: the file is not a readable database.
        LawdslError: D0102 where no such table exists; D0150 where it is too large.
    """
    base, name = _opened(path, content), str(path)
    try:
        return _table(base, name)
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":
            raise
        message = f"reading the database takes more than {size_limits.MAX_DATABASE_SECONDS:g} s"
        help = "write its columns out, without those that are computed"
        raise size_limits.too_large(message, name, help) from None
    finally:
        base.close()


def _table(
    base: sqlite3.Connection, name: str
) -> tuple[list[str], list[list[Any]], tuple[str, ...]]:
    """The table to be read, and the notes."""
    _check_bounded(base, CHECK, name)
    # the error is reported with the column when the table is read
    with contextlib.suppress(sqlite3.DataError):
        (sound,) = base.execute(CHECK).fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(sound.splitlines()[-1])
    tables = _tables(base)
    if RUNS not in tables and RUNS in _names(base, "view"):
        message = f"`{RUNS}` is a view, which may take any time; only tables are read"
        help = f"write its rows into a table of another database: `CREATE TABLE {RUNS} AS SELECT …`"
        raise LawdslError(Diagnostic("D0102", message, place=name, help=help))
    others = [table for table in tables if table != NOTES]
    if RUNS not in tables and len(others) != 1:
        listed = ", ".join(others) or "none"
        message = f"the database has no table `{RUNS}`; its tables: {listed}"
        help = f"name the table of measurements `{RUNS}`"
        raise LawdslError(Diagnostic("D0102", message, place=name, help=help))
    table = RUNS if RUNS in tables else others[0]
    headers, columns = _read(base, table, name)
    notes = _read(base, NOTES, name)[1] if NOTES in tables else []
    return headers, columns, tuple(str(note) for note in (notes[0] if notes else ()))


def _opened(path: Path, content: bytes) -> sqlite3.Connection:
    """Open a database, from its bytes if these are complete.

    Reading bytes requires neither a lock, which a network file system may not support, nor write
    permission, which a rollback of an interrupted transaction would require. The computations of
    its schema are limited.
    """
    alone = content[18:20] == b"\1\1" and not path.with_name(f"{path.name}-journal").exists()
    if alone:
        base = sqlite3.connect(":memory:")
        base.deserialize(content)
    else:
        base = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size_limits.MAX_CELL_BYTES)
    base.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100)
    base.execute("PRAGMA trusted_schema = OFF")
    base.execute("PRAGMA ignore_check_constraints = ON")
    until = time.process_time() + size_limits.MAX_DATABASE_SECONDS
    base.set_progress_handler(lambda: time.process_time() > until, STEPS_BETWEEN_CLOCK_CHECKS)
    return base


def _check_bounded(base: sqlite3.Connection, statement: str, name: str) -> None:
    """Refuse a statement if the schema makes it call a function whose time is not bounded.

    SQLite does not check the time limit within a function. EXPLAIN lists the functions that the
    statement would call, without executing it.
    """
    for _, opcode, _, _, _, called, *_ in base.execute(f"EXPLAIN {statement}"):
        function = str(called).partition("(")[0].lower()
        if "Func" in opcode and function not in BOUNDED_FUNCTIONS:
            message = f"the table computes a column, or checks one, with the function {function}"
            help = f"write the values out; columns may be computed with {', '.join(sorted(BOUNDED_FUNCTIONS))}"
            raise size_limits.too_large(message, name, help)


def _tables(base: sqlite3.Connection) -> list[str]:
    return [
        table for table in _names(base, "table") if not table.lower().startswith(INTERNAL_PREFIX)
    ]


def _names(base: sqlite3.Connection, kind: str) -> list[str]:
    rows = base.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,)).fetchall()
    return [str(name) for (name,) in rows]


def _read(base: sqlite3.Connection, table: str, name: str) -> tuple[list[str], list[list[Any]]]:
    """The headers and columns of a table."""
    statement = f"SELECT * FROM {_quoted(table)}"
    _check_bounded(base, statement, name)
    count = len(base.execute(f"PRAGMA table_xinfo({_quoted(table)})").fetchall())
    longest = min(size_limits.MAX_CELL_BYTES, max(MIN_CELL_BYTES, MAX_ROW_BYTES // max(1, count)))
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
    try:
        rows = base.execute(statement)
        headers = [column[0] for column in rows.description]
        columns: list[list[Any]] = [[] for _ in headers]
        for batch in _batches(rows, name):
            for column, cells in zip(columns, zip(*batch, strict=True), strict=True):
                column += cells
        return headers, columns
    except sqlite3.DataError:  # a cell is longer than the limit
        which = next(_too_long(base, table), "")
        message = f"a cell {which}has more than {longest:,} bytes"
        help = "make a table without that column, of numbers and short texts"
        raise size_limits.too_large(message, name, help) from None


def _batches(rows: sqlite3.Cursor, name: str) -> Iterator[list[tuple[Any, ...]]]:
    """Rows in batches; the size of their text is checked row by row.

    The file does not store the text of a computed column or of a default value, so ten thousand
    rows of it may exceed the memory if they are not checked individually.
    """
    count, text, batch = 0, 0, list[tuple[Any, ...]]()
    for row in rows:
        for cell in row:
            if cell.__class__ is not float and isinstance(cell, (str, bytes)):
                text += len(cell) * (1 if cell.isascii() else MAX_BYTES_PER_CHARACTER)
        if text > size_limits.MAX_TABLE_BYTES:
            size_limits.check_text(text, name)
        batch.append(row)
        if len(batch) == ROWS_AT_ONCE:
            count += ROWS_AT_ONCE
            size_limits.check_shape(count, len(row), count * len(row), name)
            yield batch
            batch = []
    if batch:
        count += len(batch)
        size_limits.check_shape(count, len(batch[0]), count * len(batch[0]), name)
        yield batch


def _too_long(base: sqlite3.Connection, table: str) -> Iterator[str]:
    """The name of each column with a cell that is too long, as ` of column x `."""
    for row in base.execute(f"PRAGMA table_xinfo({_quoted(table)})").fetchall():
        column = _quoted(str(row[1]))
        try:
            for _ in base.execute(f"SELECT {column} FROM {_quoted(table)}"):
                pass
        except sqlite3.DataError:
            yield f"of column {row[1]} "


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
