"""Files and data frames -> Table. Nothing is guessed: what is not a clean table is refused.

Readers differ in what they do to a short row, a doubled header or `1,000,000`, and most of it is
silent; here a CSV is read as text first and turned into numbers only by the columns that are used.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.units import SPELLINGS

SHOWN = 5  # bad rows named in one message


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes:
        name: the file's name, or what the frame is.
        columns: column name -> its cells (text where a CSV was read), headers' units removed.
        units: column name -> the unit in its header, `N [Mparam]`.
        rows: for each row the number by which the user finds it: the line of a file, else the
            row counted from 1.
        notes: the comment lines at the top of the file.
    """

    name: str
    columns: Mapping[str, pa.ChunkedArray]
    units: Mapping[str, str] = field(default_factory=dict)
    rows: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def keep(self, rows: np.ndarray) -> Table:
        """The table with only the rows at these positions."""
        kept = {name: column.take(pa.array(rows)) for name, column in self.columns.items()}
        return Table(self.name, kept, self.units, self.rows[rows], self.notes)

    def numbers(self, name: str) -> np.ndarray:
        """A column as float64.

        Raises:
            LawdslError: a cell that is no number, with its row; D0106.
        """
        column = self.columns[name]
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            nulls = column.is_null().to_numpy()
            if nulls.any():
                raise self._bad(name, np.flatnonzero(nulls), "is empty", "fill it in or --drop-bad")
            return np.ascontiguousarray(values, dtype=np.float64)
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            message = f"column {name} holds {kind}, not numbers"
            raise LawdslError(Diagnostic("D0106", message, place=self.name))
        try:
            return np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
        except pa.ArrowInvalid:
            pass  # some cell is no number: find out which
        text = [("" if cell is None else cell.strip()) for cell in column.to_pylist()]
        values = np.empty(len(text))
        bad = []
        for i, cell in enumerate(text):
            try:
                values[i] = float(cell)
            except ValueError:
                bad.append(i)
            else:
                if "_" in cell:
                    bad.append(i)
        if bad:
            cell = text[bad[0]]
            why = f'"{cell[:40]}" is not a number' if cell else "is empty"
            raise self._bad(name, np.array(bad), why, _advice(name, cell))
        return values

    def texts(self, name: str) -> list[str]:
        """A column as text."""
        return ["" if cell is None else str(cell) for cell in self.columns[name].to_pylist()]

    def _bad(self, name: str, rows: np.ndarray, why: str, help: str) -> LawdslError:
        return LawdslError(bad_rows("D0106", self, name, rows, f"column {name}: {why}", help))


def bad_rows(
    code: str, table: Table, column: str, rows: np.ndarray, message: str, help: str
) -> Diagnostic:
    """A diagnostic about some rows of a column: the first is its place, the next are listed."""
    lines = [str(table.rows[i]) for i in rows[:SHOWN]]
    more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    notes = (f"rows {', '.join(lines)}{more}",) if len(rows) > 1 else ()
    place = f"{table.name}:{lines[0]} column {column}"
    return Diagnostic(code, message, place=place, notes=notes, help=help)


def read_table(source: Any) -> Table:
    """A table from a path (.csv, .parquet), a data frame, an Arrow table, or a mapping of arrays.

    Raises:
        LawdslError: what is no clean table, with its place.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, Path)):
        return _read_file(Path(source))
    if isinstance(source, Mapping):
        arrays = {str(k): np.atleast_1d(np.asarray(v)) for k, v in source.items()}
        lengths = {k: len(v) for k, v in arrays.items()}
        if len(set(lengths.values())) > 1:
            message = f"the columns have different lengths: {lengths}"
            raise LawdslError(Diagnostic("D0102", message))
        return _from_arrow(pa.table(arrays), "the table given")
    import narwhals as nw

    try:
        frame = nw.from_native(source)
    except TypeError:
        message = f"a {type(source).__name__} is no table"
        help = "give a path, a data frame, an Arrow table or a mapping of arrays"
        raise LawdslError(Diagnostic("D0102", message, help=help)) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return _from_arrow(frame.to_arrow(), "the data frame")


def _from_arrow(table: pa.Table, name: str) -> Table:
    headers = [_header(h) for h in table.column_names]
    _check_headers([h for h, _ in headers], name)
    columns = {h: table.column(i) for i, (h, _) in enumerate(headers)}
    units = {h: unit for h, unit in headers if unit}
    return Table(name, columns, units, np.arange(1, table.num_rows + 1))


def _read_file(path: Path) -> Table:
    name = str(path)
    try:
        if path.is_dir():
            message = "this is a folder, not a table"
            raise LawdslError(Diagnostic("D0101", message, place=name))
        content = path.read_bytes()
    except OSError as error:
        message = f"the table cannot be read: {error.strerror}"
        raise LawdslError(Diagnostic("D0101", message, place=name)) from None
    if path.suffix.lower() in (".parquet", ".pq") or content[:4] == b"PAR1":
        return _read_parquet(content, name)
    if path.suffix.lower() not in (".csv", ".txt", ""):
        help = "save it as CSV or Parquet"
        message = f"tables end in .csv or .parquet, not {path.suffix}"
        raise LawdslError(Diagnostic("D0101", message, place=name, help=help))
    return _read_csv(content, name)


def _read_parquet(content: bytes, name: str) -> Table:
    import pyarrow.parquet as pq

    try:
        return _from_arrow(pq.read_table(io.BytesIO(content)), name)
    except pa.ArrowException as error:
        message = f"this is no readable Parquet file: {str(error).splitlines()[0]}"
        raise LawdslError(Diagnostic("D0101", message, place=name)) from None


def _read_csv(content: bytes, name: str) -> Table:
    import pyarrow.csv as pc

    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        help = "save the table as UTF-8 text"
        raise LawdslError(Diagnostic("D0101", "a NUL byte", place=f"{name}:{line}", help=help))
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        message = f"the table is not UTF-8 (byte {error.start})"
        help = "save it as UTF-8"
        raise LawdslError(Diagnostic("D0101", message, place=f"{name}:{line}", help=help)) from None
    notes, first = [], 0  # comments at the top, and the line of the header counted from 0
    while content.startswith(b"#") or content[:1] in (b"\n", b"\r"):
        line_text, _, content = content.partition(b"\n")
        if line_text.startswith(b"#"):
            notes.append(line_text.decode("utf-8").lstrip("# ").rstrip())
        first += 1
    if not content.strip():
        help = "a table has a line of column names and a line for each measurement"
        raise LawdslError(Diagnostic("D0103", "the table is empty", place=name, help=help))
    header_line = content.partition(b"\n")[0].decode("utf-8").rstrip("\r")
    header = next(csv.reader([header_line]))
    _check_separator(header, header_line, f"{name}:{first + 1}")
    named = [_header(h) for h in header]
    _check_headers([h for h, _ in named], f"{name}:{first + 1}")
    ragged: list[pc.InvalidRow] = []

    def skip(row: pc.InvalidRow) -> str:
        ragged.append(row)
        return "skip"

    try:
        table = pc.read_csv(
            io.BytesIO(content),
            read_options=pc.ReadOptions(use_threads=False),
            parse_options=pc.ParseOptions(invalid_row_handler=skip),
            convert_options=pc.ConvertOptions(
                column_types={h: pa.string() for h in header}, strings_can_be_null=False
            ),
        )
    except pa.ArrowException as error:
        message = f"this is no readable table: {str(error).splitlines()[0]}"
        raise LawdslError(Diagnostic("D0102", message, place=name)) from None
    if ragged:
        raise LawdslError([_ragged(row, name, first) for row in ragged[:SHOWN]])
    if table.num_rows == 0:
        help = "add a line for each measurement"
        message = "the table has column names but no rows"
        raise LawdslError(Diagnostic("D0103", message, place=name, help=help))
    columns = {h: table.column(i) for i, (h, _) in enumerate(named)}
    units = {h: unit for h, unit in named if unit}
    rows = _line_numbers(content, first, table.num_rows)
    return Table(name, columns, units, rows, tuple(notes))


def _ragged(row: Any, name: str, first: int) -> Diagnostic:
    place = name if row.number is None else f"{name}:{row.number + first}"
    message = f"the row has {row.actual_columns} cells, the header {row.expected_columns}"
    return Diagnostic("D0102", message, place=place, notes=(f"it reads: {row.text[:80]}",),
                      help="correct the row; a comma inside a number needs quotes")


def _line_numbers(content: bytes, first: int, rows: int) -> np.ndarray:
    """The line of the file on which each row stands; blank lines are no rows."""
    lines = content.split(b"\n")
    filled = [first + i for i, line in enumerate(lines, start=1) if line.strip(b"\r")]
    if len(filled) - 1 == rows:
        return np.array(filled[1:], dtype=np.int64)
    return np.arange(rows, dtype=np.int64) + first + 2  # cells with line ends in them


def _header(text: str) -> tuple[str, str]:
    """`N [Mparam]` -> (N, Mparam)."""
    name, bracket, rest = text.strip().partition("[")
    if bracket and rest.rstrip().endswith("]"):
        return name.strip(), rest.rstrip()[:-1].strip()
    return text.strip(), ""


def _check_headers(names: Sequence[str], place: str) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            help = "give every column a name of its own"
            message = f"two columns are called {name or '(nothing)'}"
            raise LawdslError(Diagnostic("D0105", message, place=place, help=help))


def _check_separator(header: Sequence[str], line: str, place: str) -> None:
    for char, word in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and char in line:
            help = "save the table with commas between the cells and points in the numbers"
            message = f"the cells are separated by {word}"
            raise LawdslError(Diagnostic("D0102", message, place=place, help=help))


def _advice(name: str, cell: str) -> str:
    """What to do about a cell that is no number."""
    if not cell:
        return "fill it in, or leave such rows out with --drop-bad"
    if cell.replace(",", "").replace(".", "").lstrip("-").isdigit():
        return "write numbers without separators, with a point: 1000000 or 2.5"
    if cell[:-1].replace(".", "").isdigit() and cell[-1].isalpha():
        return f"write it out (1e9), or give the column a unit: `{name} [Gtoken]`"
    if cell.lower() in ("na", "n/a", "none", "null", "-"):
        return "leave such rows out with --drop-bad"
    known = ", ".join(sorted(set(SPELLINGS.values())))
    return f"a cell is a plain number; units ({known}) go in the header, as `{name} [Gtoken]`"
