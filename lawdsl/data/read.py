"""File, data frame or mapping of arrays -> Table; malformed tables are refused instead of
repaired."""

from __future__ import annotations

import io
import json
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data import size_limits
from lawdsl.data.formats.csv import names_and_units, read_csv
from lawdsl.data.table import Table as Table

CSV = (".csv", ".txt", "")
PARQUET = (".parquet", ".pq")
SQLITE = (".sqlite", ".sqlite3", ".db")
PARQUET_MAGIC = b"PAR1"  # the first bytes of a Parquet file, whatever its name
SQLITE_MAGIC = b"SQLite format 3\0"
RUN_TABLE_SCHEMA = 1  # of the tables of runs that can be read; their first note says theirs
RUN_TABLE_NOTE = re.compile(r"lawdsl runs, schema (\d{1,9}):")
METADATA_KEY = b"lawdsl"  # the same in a Parquet file: JSON with a list of notes


def read_table(source: Any) -> Table:
    """Read a table.

    Args:
        source: a path (.csv, .parquet, .sqlite), a data frame, an Arrow table, or a mapping of
            arrays.

    Raises:
        LawdslError: a malformed table, with the place.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, Path)):
        return _read_file(Path(source))
    if isinstance(source, Mapping):
        return _from_mapping(source, "the table given")
    return _from_frame(source)


def _read_file(path: Path) -> Table:
    name = str(path)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise _unreadable("this is a folder, not a table", name)
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise _unreadable("this is neither a file nor a pipe", name)
        if path.suffix.lower() not in (*CSV, *PARQUET, *SQLITE):
            message = f"tables end in .csv, .parquet or .sqlite, not {path.suffix}"
            raise _unreadable(message, name)
        with path.open("rb") as file:
            content = file.read(size_limits.BYTES + 1)
        size_limits.check_file(len(content), name)
    except OSError as error:
        raise _unreadable(f"the table cannot be read: {error.strerror}", name) from None
    except ValueError as error:  # a NUL in the path
        raise _unreadable(f"the table cannot be read: {error}", name) from None
    if path.suffix.lower() in SQLITE or content.startswith(SQLITE_MAGIC):
        table = _read_sqlite(path, content, name)
    elif path.suffix.lower() in PARQUET or content.startswith(PARQUET_MAGIC):
        table = _read_parquet(content, name)
    else:
        table = read_csv(content, name)
    match = RUN_TABLE_NOTE.match(table.notes[0]) if table.notes else None
    if match and int(match[1]) > RUN_TABLE_SCHEMA:
        message = f"a later lawdsl wrote the table: it is of schema {match[1]}, known is {RUN_TABLE_SCHEMA}"
        help = "take that lawdsl, or make the table again: `lawdsl collect`"
        raise _unreadable(message, name, help)
    return table


def _unreadable(
    message: str, name: str, help: str = "give the path of a table saved as CSV, Parquet or SQLite"
) -> LawdslError:
    return LawdslError(Diagnostic("D0101", message, place=name, help=help))


def _read_parquet(content: bytes, name: str) -> Table:
    """Read a Parquet file, after checking the size of its data as stated in the footer."""
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(io.BytesIO(content))
        rows, columns = footer.num_rows, footer.num_columns
        size_limits.check_shape(rows, columns, rows * columns, name)
        groups = footer.num_row_groups
        size_limits.check_shape(groups, columns, groups * columns, name)
        parts = [footer.row_group(g).column(c) for g in range(groups) for c in range(columns)]
        size_limits.check_shape(rows, columns, sum(part.num_values for part in parts), name)
        size = sum(part.total_uncompressed_size for part in parts)
        if size > size_limits.BYTES:
            message = (
                f"uncompressed the table has {size:,} bytes; at most {size_limits.BYTES:,} are read"
            )
            raise size_limits.too_large(message, name)
        schema = (footer.schema.column(c) for c in range(columns))
        texts = [c.path for c in schema if c.physical_type == "BYTE_ARRAY"]
        # a text that is repeated stays stored once until it is known how long all texts are
        table = pq.read_table(io.BytesIO(content), read_dictionary=texts)
        size_limits.check_text(sum(map(_text_size, table.itercolumns())), name)
        return _from_arrow(table, name, _notes_of((table.schema.metadata or {}).get(METADATA_KEY)))
    except (pa.ArrowException, OSError) as error:
        why = str(error).splitlines()[0]
        raise _unreadable(f"this is not a readable Parquet file: {why}", name) from None


def _text_size(column: Any) -> int:
    """The size (bytes) of a dictionary-encoded column after decoding all its texts."""
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return 0
    size = 0
    for chunk in column.chunks:
        if pa.types.is_primitive(chunk.dictionary.type):
            size += len(chunk) * 8
        else:
            lengths = pc.binary_length(chunk.dictionary)
            size += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return size


def _notes_of(metadata: bytes | None) -> tuple[str, ...]:
    """The notes that a Parquet file carries."""
    try:
        notes = json.loads(metadata or b"{}")["notes"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ()
    return tuple(map(str, notes)) if isinstance(notes, list) else ()


def _read_sqlite(path: Path, content: bytes, name: str) -> Table:
    """The table `runs` of a database, or its only one."""
    import sqlite3

    from lawdsl.data.formats.sqlite import read_database

    try:
        headers, columns, notes = read_database(path, content, name)
    except sqlite3.Error as error:
        help = "if `lawdsl collect` made it, make it again: the folders of the runs have it all"
        raise _unreadable(f"this is not a readable SQLite file: {error}", name, help) from None
    arrays = [_array(h, c) for h, c in zip(headers, columns, strict=True)]
    return _from_arrow(pa.table(arrays, names=headers), name, notes)


def _from_mapping(source: Mapping[Any, Any], name: str) -> Table:
    arrays = [_array(str(key), values) for key, values in source.items()]
    lengths = {str(key): len(array) for key, array in zip(source, arrays, strict=True)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{key} {length}" for key, length in lengths.items())
        message = f"the columns have different lengths: {listed}"
        raise LawdslError(Diagnostic("D0102", message, place=name, help="give each row every cell"))
    return _from_arrow(pa.table(arrays, names=[str(key) for key in source]), name)


def _array(name: str, values: Any) -> pa.Array:
    """One column given as numbers or other plain values; a single value is a column of one row."""
    if isinstance(values, (list, tuple)) and _has_text(values):
        # NumPy would give every cell the length of the longest
        try:
            return pa.array(values)
        except (pa.ArrowException, TypeError, UnicodeError):
            return pa.array([None if value is None else str(value) for value in values])
    try:
        array = np.atleast_1d(np.asanyarray(values))
        if array.ndim != 1:
            raise ValueError
    except ValueError:
        message = f"column {name} is not a list of single values"
        help = "give each column as one list or array with a value a row"
        raise LawdslError(Diagnostic("D0102", message, help=help)) from None
    try:
        return pa.array(array)
    except (pa.ArrowException, TypeError):  # mixed types: resolved where the column is used
        return pa.array([None if value is None else str(value) for value in array.tolist()])


def _has_text(values: Sequence[Any]) -> bool:
    """Whether a list has texts, and nothing else but plain values."""
    kinds = set(map(type, values))
    return bool(kinds & {str, bytes}) and kinds <= {str, bytes, int, float, bool, type(None)}


def _from_frame(source: Any) -> Table:
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    name = "the data frame"
    try:
        frame = nw.from_native(source)
    except TypeError:
        message = f"a {type(source).__name__} is not a table"
        help = "give a path, a data frame, an Arrow table or a mapping of arrays"
        raise LawdslError(Diagnostic("D0102", message, help=help)) from None
    except DuplicateError as error:
        which = str(error).splitlines()[-1].lstrip("- ")
        help = "give every column a name of its own"
        message = f"two columns have one name: {which}"
        raise LawdslError(Diagnostic("D0105", message, place=name, help=help)) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    try:
        table = frame.to_arrow()
    except (pa.ArrowException, TypeError):  # a column of mixed kinds
        return _from_mapping({c: frame.get_column(c).to_list() for c in frame.columns}, name)
    if frame.implementation.is_pandas_like():
        table = _with_nan(table)
    return _from_arrow(table, name)


def _with_nan(table: pa.Table) -> pa.Table:
    """pandas writes a missing number as nan, and hands it on as missing: it is nan again here."""
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            filled = table.column(i).cast(pa.float64()).fill_null(np.nan)
            table = table.set_column(i, field.name, filled)
    return table


def _from_arrow(table: pa.Table, name: str, notes: tuple[str, ...] = ()) -> Table:
    named = names_and_units(table.column_names, name)
    columns = {h: _decoded(table.column(i)) for i, (h, _) in enumerate(named)}
    units = {h: unit for h, unit in named if unit}
    return Table(name, columns, units, np.arange(1, table.num_rows + 1), notes)


def _decoded(column: Any) -> Any:
    """A column whose cells are stored one by one, as plain text where they are text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return column
