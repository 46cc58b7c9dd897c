"""Rows -> a table file in the format of its extension, written completely or not at all."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.core.files import write_bytes
from lawdsl.core.output_files import writing
from lawdsl.data.formats import FORMATS, WRITTEN, Format

_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?", re.ASCII)
"""A number in a column of text that consists of numbers; `007` is a name."""

MAX_INTEGER = 2**63  # whole numbers in Parquet and SQLite are below this


def written_format(path: Path) -> Format:
    """The format in which a table is written to a file.

    Raises:
        LawdslError: the file extension is not that of a table; R0805.
    """
    suffix = path.suffix.lower()
    if suffix not in WRITTEN:
        message = f"tables end in {', '.join(WRITTEN)}, not {path.suffix or 'nothing'}"
        stem = path.stem.strip(".") or "table"
        usual = disjunction(f"{stem}{form.written[0]}" for form in FORMATS if form.written)
        raise LawdslError(Diagnostic("R0805", message, place=str(path), help=f"name it {usual}"))
    return WRITTEN[suffix]


def write_rows(
    path: Path,
    headers: Iterable[object],
    rows: Iterable[Iterable[Any]],
    notes: Sequence[str] = (),
) -> None:
    """Write a table in the format of its file extension, with floats that round-trip.

    Args:
        path: the path of the file.
        headers: the headers of the columns, with their units.
        rows: the rows of cells; None or an empty text where a value is not known.
        notes: lines of comment on the table.

    Raises:
        LawdslError: R0805 for an unknown extension, or a table that the format cannot hold; L0313
            where the file cannot be written.
    """
    form = written_format(path)
    names = [str(header) for header in headers]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    if form.typed:
        columns = [_typed(cells) for cells in columns]
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None:
        message, help = f"two columns have the name {repeated}", "rename one of them"
        raise LawdslError(Diagnostic("R0805", message, place=str(path), help=help))
    try:
        content = form.write(dict(zip(names, columns, strict=True)), notes)
    except (ValueError, TypeError, OverflowError, sqlite3.Error) as error:
        message = f"the table cannot be written as {form.title}: {error}"
        help = f"rename the column, or write {path.stem}.csv, which holds any cells"
        raise LawdslError(Diagnostic("R0805", message, place=str(path), help=help)) from None
    with writing(path):
        replace_table(path, form, content)


def replace_table(path: Path, form: Format, content: bytes) -> None:
    """Write a table file atomically, replacing any file of its name.

    Args:
        path: the path of the file.
        form: its format.
        content: its bytes.

    Raises:
        OSError: it cannot be written; an existing file is unchanged.
    """
    write_bytes(path, content)
    for journal in form.journals:
        # last, since until the table is replaced its journals are part of it
        path.with_name(f"{path.name}{journal}").unlink(missing_ok=True)


def _typed(cells: Sequence[Any]) -> tuple[Any, ...]:
    """A column as values of one type: numbers if all its texts are numbers, None where a cell is
    empty.
    """
    values = tuple(None if cell == "" else cell for cell in cells)
    texts = [value for value in values if isinstance(value, str)]
    if not texts:
        return tuple(_in_range(value) for value in values)
    numbers = [_number(text) for text in texts]
    if len(texts) < sum(value is not None for value in values) or None in numbers:
        return tuple(None if value is None else str(value) for value in values)
    whole = all(isinstance(number, int) for number in numbers)
    number_type = int if whole else float
    return tuple(None if value is None else number_type(value) for value in values)


def _number(text: str) -> int | float | None:
    """The finite number that a text represents; None for other texts."""
    if not _NUMBER.fullmatch(text) or not any(
        digit.isdigit() for digit in text.lower().partition("e")[0]
    ):
        return None
    if text.lstrip("+-").isdigit() and abs(int(text)) < MAX_INTEGER:
        return int(text)
    return float(text) if math.isfinite(float(text)) else None


def _in_range(value: Any) -> Any:
    """A value, converted to float if it is a whole number outside the range of the formats."""
    return float(value) if isinstance(value, int) and abs(value) >= MAX_INTEGER else value
