"""Headers and columns of cells -> Table, from any file, mapping or data frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.units import is_unit
from lawdsl.data.arrow_arrays import texts_to_arrow, to_arrow
from lawdsl.data.number_columns import NumberColumns
from lawdsl.data.table import Table

if TYPE_CHECKING:
    import pyarrow as pa
else:  # it takes long to load, and values given as numbers need none of it
    pa = lazy_module("pyarrow")

UnitFactors = tuple[tuple[str, int], ...]

MAPPING = "the values given"
"""The name of the table of a mapping that Python gives."""
NAMED_MAPPING = "the mapping"
"""The name of one in a notebook, where NAME=COLUMN binds its columns."""


def names_and_units(headers: Sequence[str], location: str) -> list[tuple[str, str]]:
    """Split headers into names and units: `N [Mparam]` -> (N, Mparam).

    Words in brackets that distinguish columns, as in `loss [code]` and `loss [text]`, are part of
    the names and not units.

    Args:
        headers: the headers.
        location: their place in messages.

    Raises:
        LawdslError: two columns have the same name.
    """
    split = [split_header(header) for header in headers]
    names = Counter(name for name, _ in split)
    named = [
        (header.strip(), "") if names[name] > 1 and not is_unit(unit) else (name, unit)
        for header, (name, unit) in zip(headers, split, strict=True)
    ]
    earlier: set[str] = set()
    for name, _ in named:
        if name in earlier:
            help = "give every column a name of its own"
            message = f"two columns are called {name or '(nothing)'}"
            raise LawdslError(Diagnostic("D0105", message, place=location, help=help))
        earlier.add(name)
    return named


def split_header(text: str) -> tuple[str, str]:
    """The name and the unit in a header, `N [Mparam]`; no unit is an empty text."""
    name, bracket, rest = text.strip().partition("[")
    if bracket and name and rest.endswith("]"):
        return name.strip(), rest[:-1].strip()
    return text.strip(), ""


def table_from_arrow(table: pa.Table, name: str, notes: tuple[str, ...] = ()) -> Table:
    """The table with the columns of an Arrow table; its rows are counted from 1.

    Args:
        table: the Arrow table; its column names may have units.
        name: its name in messages.
        notes: the notes in the file.

    Raises:
        LawdslError: two columns have the same name; D0105.
    """
    named = names_and_units(table.column_names, name)
    columns = {h: _decoded(table.column(i)) for i, (h, _) in enumerate(named)}
    units = {h: unit for h, unit in named if unit}
    return Table(name, columns, units, np.arange(1, table.num_rows + 1), notes)


def table_of_numbers(headers: Sequence[str], arrays: Sequence[NDArray[Any]], name: str) -> Table:
    """The table with columns of numbers; its rows are counted from 1.

    Args:
        headers: the names of the columns, which may have units.
        arrays: their numbers, each of shape (rows,).
        name: the name of the table in messages.

    Raises:
        LawdslError: two columns have the same name; D0105.
    """
    named = names_and_units(headers, name)
    columns = {h: array for (h, _), array in zip(named, arrays, strict=True)}
    units = {h: unit for h, unit in named if unit}
    return Table(name, NumberColumns(columns), units, np.arange(1, len(arrays[0]) + 1))


def _decoded(column: Any) -> Any:
    """A column whose cells are stored individually, as plain text if they are dictionary-encoded
    text.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    return column


def arrow_column(name: str, values: Any) -> pa.Array:
    """One column given as numbers or other plain values; a single value is a column of one row.

    Args:
        name: its name in messages.
        values: its cells.

    Raises:
        LawdslError: it is not a list of single values; D0102.
    """
    if isinstance(values, (list, tuple)) and _has_text(values):
        # NumPy would pad every cell to the length of the longest
        try:
            is_only_text = set(map(type, values)) == {str}
            return texts_to_arrow(values) if is_only_text else pa.array(values)
        except (pa.ArrowException, TypeError, UnicodeError, OverflowError):
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
        return to_arrow(array)
    except (pa.ArrowException, TypeError, OverflowError):
        # mixed types, and integers beyond 64 bits, are handled where the column is used
        return pa.array([None if value is None else str(value) for value in array.tolist()])


def _has_text(values: Sequence[Any]) -> bool:
    """Whether a list contains texts and otherwise only plain values."""
    kinds = set(map(type, values))
    return bool(kinds & {str, bytes}) and kinds <= {str, bytes, int, float, bool, type(None)}
