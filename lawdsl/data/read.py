"""File, data frame or mapping of arrays -> Table; malformed tables are refused, not repaired."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.core.files import similar_file
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.data import size_limits
from lawdsl.data.columns import (
    MAPPING,
    NAMED_MAPPING,
    arrow_column,
    table_from_arrow,
    table_of_numbers,
)
from lawdsl.data.computed_columns import with_computed_columns
from lawdsl.data.formats import FORMATS, READ, RUN_TABLE_SCHEMA, format_of, unreadable
from lawdsl.data.number_columns import plain_numbers
from lawdsl.data.table import Table as Table

if TYPE_CHECKING:
    import pyarrow as pa
else:  # it takes long to load, and values given as numbers need none of it
    pa = lazy_module("pyarrow")

FRAME = "the data frame"
IN_MEMORY = (MAPPING, NAMED_MAPPING, FRAME)
"""The names of tables that are not files."""
RUN_TABLE_NOTE = re.compile(r"lawdsl runs, schema (\d{1,9}):")


def read_table(
    source: Any,
    columns: Mapping[str, str] | None = None,
    *,
    fitted: Mapping[str, str] | None = None,
) -> Table:
    """Read a table.

    Args:
        source: a path (.csv, .parquet, .sqlite), a data frame, an Arrow table, or a mapping of
            arrays.
        columns: variable or output -> column, or a formula of columns, which becomes a column.
        fitted: the bindings of the table of a fit; a formula that cannot be evaluated on this table
            is omitted.

    Raises:
        LawdslError: a malformed table, with the place; a formula that cannot be evaluated.
    """
    if isinstance(source, Table):
        table = source
    elif isinstance(source, (str, Path)):
        table = _read_file(Path(source))
    elif isinstance(source, Mapping):
        table = _from_mapping(source, MAPPING)
    else:
        table = _from_frame(source)
    table = with_computed_columns(table, columns or {})
    return with_computed_columns(table, fitted or {}, required=False)


def _read_file(path: Path) -> Table:
    name, suffix = str(path), path.suffix.lower()
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise unreadable("this is a folder, not a table", name)
        # a device such as /dev/zero never ends
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise unreadable("this is neither a file nor a pipe", name)
        if suffix not in READ:
            endings = disjunction(sorted(form.suffixes[0] for form in FORMATS))
            message = f"tables end in {endings}, not {path.suffix}"
            raise unreadable(message, name)
        with path.open("rb") as file:
            # one byte beyond the limit shows that the file is too large; a pipe has no size
            content = file.read(size_limits.MAX_TABLE_BYTES + 1)
        size_limits.check_file(len(content), name)
    except FileNotFoundError as error:
        similar = similar_file(path)
        message = f"the table cannot be read: {error.strerror}"
        help = f"did you mean {similar}?" if similar else ""
        raise unreadable(message, name, help) from None
    except OSError as error:
        raise unreadable(f"the table cannot be read: {error.strerror}", name) from None
    except ValueError as error:  # a NUL character in the path
        raise unreadable(f"the table cannot be read: {error}", name) from None
    table = format_of(suffix, content).read(content, name)
    match = RUN_TABLE_NOTE.match(table.notes[0]) if table.notes else None
    if match and int(match[1]) > RUN_TABLE_SCHEMA:
        message = f"a later lawdsl wrote the table: it is of schema {match[1]}, known is {RUN_TABLE_SCHEMA}"
        help = "take that lawdsl, or make the table again: `lawdsl collect`"
        raise unreadable(message, name, help)
    return table


def _from_mapping(source: Mapping[Any, Any], name: str) -> Table:
    plain = [plain_numbers(values) for values in source.values()]
    numbers = [column for column in plain if column is not None]
    are_plain = bool(plain) and len(numbers) == len(plain)
    arrays: Sequence[Any] = numbers
    if not are_plain:
        arrays = [arrow_column(str(key), values) for key, values in source.items()]
    lengths = {str(key): len(array) for key, array in zip(source, arrays, strict=True)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{key} {length}" for key, length in lengths.items())
        message = f"the columns have different lengths: {listed}"
        raise LawdslError(Diagnostic("D0102", message, place=name, help="give each row every cell"))
    headers = [str(key) for key in source]
    if are_plain:
        return table_of_numbers(headers, numbers, name)
    return table_from_arrow(pa.table(arrays, names=headers), name)


def _from_frame(source: Any) -> Table:
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    name = FRAME
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
    return table_from_arrow(table, name)


def _with_nan(table: pa.Table) -> pa.Table:
    """Restore nan in float columns: pandas exports it to Arrow as null."""
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            filled = table.column(i).cast(pa.float64()).fill_null(np.nan)
            table = table.set_column(i, field.name, filled)
    return table
