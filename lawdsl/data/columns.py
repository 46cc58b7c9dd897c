"""Headers and columns of cells -> Table, from any file, mapping or data frame."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.units import UNITS_OF_COLUMNS, is_unit, meant_unit, size_and_dimension
from lawdsl.data.arrow_arrays import to_arrow
from lawdsl.data.table import Table
from lawdsl.language.keywords import nearest

UnitFactors = tuple[tuple[str, int], ...]

MAPPING = "the values given"
"""The name of the table of a mapping that Python gives."""


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
    split = [_header(header) for header in headers]
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


def _header(text: str) -> tuple[str, str]:
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
        return to_arrow(array)
    except (pa.ArrowException, TypeError):  # mixed types are handled where the column is used
        return pa.array([None if value is None else str(value) for value in array.tolist()])


def _has_text(values: Sequence[Any]) -> bool:
    """Whether a list contains texts and otherwise only plain values."""
    kinds = set(map(type, values))
    return bool(kinds & {str, bytes}) and kinds <= {str, bytes, int, float, bool, type(None)}


def no_column(
    table: Table, column: str, what: str, name: str, factors: UnitFactors | None = None
) -> Diagnostic:
    """The message about a missing column, D0104, or about an unknown unit of one, D0112.

    Args:
        table: the table.
        column: the column.
        what: what it is needed for.
        name: the name under which it is bound.
        factors: the unit of the variable as (unit name, power) pairs; None without a unit.
    """
    message = f"unknown column `{column}` for {what}"
    if not table.columns:
        return Diagnostic("D0104", f"no values of {what}", place=table.name, help=f"give {name}=…")
    own, unit = _header(column)
    if own in table.columns and unit and not table.units.get(own):
        return unknown_unit(table, name, own, unit, factors)
    if own in table.columns and unit:
        help = f"the column is `{own}`; the unit in its header is read: {_binding(name, own)}"
        return Diagnostic("D0104", message, place=table.name, help=help)
    # `N (B)` and `N in B` start with N
    first = next((c for c in table.columns if c.split()[:1] == [column]), None)
    alike = first or nearest(column, table.columns)
    meant = f"did you mean `{alike}`? " if alike else ""
    listed = ", ".join(table.columns) or "none"
    if table.name == MAPPING:  # to Python, which has no arguments NAME=COLUMN
        help = f"{meant}the names given are {listed}; call it `{name}`"
        return Diagnostic("D0104", message, place=table.name, help=help)
    help = f"{meant}the columns are {listed}; bind one: {_binding(name, alike or 'COLUMN')}"
    return Diagnostic("D0104", message, place=table.name, help=help)


def unknown_unit(
    table: Table, name: str, column: str, unit: str, factors: UnitFactors | None
) -> Diagnostic:
    """The message about a unit of a column that is not known; D0112.

    Args:
        table: the table.
        name: the variable or output that is bound to the column.
        column: the column, without the unit.
        unit: the unknown unit.
        factors: the unit of the variable as (unit name, power) pairs; None without a unit.
    """
    meant = meant_unit(unit, size_and_dimension(factors)[1]) if factors else None
    help = UNITS_OF_COLUMNS
    if meant is not None:
        written = f"{column} [{meant}]"
        in_header = bool(table.units.get(column))
        next_step = (
            f"write it into the header, `{written}`"
            if in_header
            else f"bind it: {_binding(name, written)}"
        )
        help = f"did you mean `{meant}`? {next_step}; {help}"
    message = f"column {column}: `{unit}` is not a unit"
    return Diagnostic("D0112", message, place=f"{table.name} column {column}", help=help)


def _binding(name: str, column: str) -> str:
    """NAME=COLUMN as it is typed on a command line."""
    text = f"{name}={column}"
    return text if re.fullmatch(r"[\w=.,:/+-]+", text) else f"'{text}'"
