"""Limits on the size of a table: reading an untrusted file takes bounded time and memory."""

from __future__ import annotations

from lawdsl.core.diagnostics import Diagnostic, LawdslError

MAX_TABLE_BYTES = 256 * 2**20  # largest size of a file, and of all its decoded text
MAX_CELLS = 20_000_000  # rows times columns
MAX_COLUMNS = 10_000
MAX_CELL_BYTES = 2**20  # bytes of a record of a CSV file, and of a cell of a database
MAX_DATABASE_SECONDS = 30.0  # CPU time to read a database, whose columns may be computed
FEWER = "keep the columns and rows that the law needs, and leave the others out"


def too_large(message: str, location: str, help: str = FEWER) -> LawdslError:
    """The error for a table beyond a limit.

    Args:
        message: the problem, which names the limit.
        location: the file or table.
        help: what to do about it.
    """
    return LawdslError(Diagnostic("D0150", message, place=location, help=help))


def check_file(size: int, name: str) -> None:
    """Raise an error for a file that is too large.

    Args:
        size: its size (bytes).
        name: its name in messages.

    Raises:
        LawdslError: D0150.
    """
    if size > MAX_TABLE_BYTES:
        raise too_large(f"the file is larger than {MAX_TABLE_BYTES // 2**20} MiB", name)


def check_shape(rows: int, columns: int, cells: int, name: str) -> None:
    """Raise an error for a table with too many columns or cells.

    Args:
        rows: the number of rows.
        columns: the number of columns.
        cells: the number of cells.
        name: the table's name in messages.

    Raises:
        LawdslError: D0150.
    """
    if columns > MAX_COLUMNS:
        raise too_large(
            f"the table has {columns:,} columns; at most {MAX_COLUMNS:,} are read", name
        )
    if cells > MAX_CELLS:
        message = f"the table has {rows:,} rows of {columns:,} columns, {cells:,} cells"
        raise too_large(f"{message}; at most {MAX_CELLS:,} are read", name)


def check_text(size: int, name: str) -> None:
    """Raise an error for a table with too much text.

    Args:
        size: the size of the text (bytes).
        name: the table's name in messages.

    Raises:
        LawdslError: D0150.
    """
    if size > MAX_TABLE_BYTES:
        raise too_large(f"the table has more than {MAX_TABLE_BYTES // 2**20} MiB of text", name)
