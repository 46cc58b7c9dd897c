"""Bindings to formulas of columns, or to columns with a unit -> a table that has these columns.

`D=steps*batch*2048`, `N=10^log10_N` and `"D=tokens_B [Gtoken]"` bind a variable to values that no
column of the table contains in this form. The table gets a column whose name is the text of the
binding, so that all later stages read columns only. A formula is parsed by the grammar of laws, and
evaluated with the numbers in the columns, without conversion of units.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import ARRAYS
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.functions import value_in
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.units import is_unit
from lawdsl.data.arrow_arrays import to_arrow
from lawdsl.data.table import Table
from lawdsl.language import tree
from lawdsl.language.keywords import nearest

if TYPE_CHECKING:
    import pyarrow as pa
else:  # it takes long to load, and values given as numbers need none of it
    pa = lazy_module("pyarrow")

Array = NDArray[np.float64]

_WITH_UNIT = re.compile(r"(?P<source>.+?)\s*\[(?P<unit>[^\[\]]+)\]\s*")


def with_computed_columns(
    table: Table, columns: Mapping[str, str], *, required: bool = True
) -> Table:
    """Add a column for each binding that is a formula of columns, or a column with a unit.

    Args:
        table: the table.
        columns: variable or output -> column, or a formula of columns; either may end in a unit in
            brackets. Names of columns, and patterns such as `r_*`, are unchanged.
        required: whether a formula that cannot be evaluated on the table is an error; otherwise it
            is omitted, as for the stored bindings of a fit on another table.

    Returns:
        The table with one column per formula, named by its text; the same table if there is none.

    Raises:
        LawdslError: a formula of a column that the table lacks (D0104) or that is text (D0106); a
            unit that contradicts the header (D0112).
    """
    added: dict[str, Any] = {}
    units: dict[str, str] = {}
    for name, text in columns.items():
        if text in table.columns or text in added:
            continue
        try:
            computed = _computed(table, name, text)
        except LawdslError:
            if required:
                raise
            continue
        if computed is not None:
            added[text], unit = computed
            units |= {text: unit} if unit else {}
    if not added:
        return table
    return replace(
        table,
        columns={**table.columns, **added},
        units={**table.units, **units},
        computed=table.computed | frozenset(added),
    )


def _computed(table: Table, name: str, text: str) -> tuple[Any, str] | None:
    """The cells of a binding and their unit; None if the text is neither a formula nor has a unit."""
    match = _WITH_UNIT.fullmatch(text)
    source, unit = (match["source"], match["unit"].strip()) if match else (text, "")
    if unit and not is_unit(unit):
        return None
    if source in table.columns:
        header = table.units.get(source, "")
        if header and header != unit:
            message = (
                f"column {source} is in {header} by its header, and in {unit} by `{name}={text}`"
            )
            help = "leave the unit out, or correct the header"
            place = f"{table.name} column {source}"
            raise LawdslError(Diagnostic("D0112", message, place=place, help=help))
        return table.columns[source], unit
    if source.isidentifier():
        return None  # a name, which is no formula
    try:
        from lawdsl.language.foreign.formula import read_foreign_formula  # loads the parser

        formula = read_foreign_formula(source).formula
    except LawdslError:
        return None
    names = dict.fromkeys(n.text for n in tree.walk(formula) if isinstance(n, tree.Name))
    used = [n for n in names if n != "pi"]
    if isinstance(formula, tree.Name) or not any(n in table.columns for n in used):
        return None
    _check_columns(table, name, source, unit, used)
    values = {n: table.numbers(n) for n in used}
    with np.errstate(all="ignore"):  # rows without a value are reported by the later checks
        cells = np.broadcast_to(_value(formula, values), (len(table),))
    column = to_arrow(np.ascontiguousarray(cells, dtype=np.float64))
    return pa.chunked_array([column]), unit  # like the columns of files


def _check_columns(table: Table, name: str, source: str, unit: str, used: Iterable[str]) -> None:
    missing = [column for column in used if column not in table.columns]
    if missing:
        raise LawdslError([_no_column(table, column, f"{name}={source}") for column in missing])
    headers = {column: table.units[column] for column in used if table.units.get(column)}
    if headers and not unit:
        column, header = next(iter(headers.items()))
        message = f"column {column} is in {header}, so `{name}={source}` needs a unit of its own"
        help = f'write it behind the formula: "{name}={source} [{header}]"'
        place = f"{table.name} column {column}"
        raise LawdslError(Diagnostic("D0112", message, place=place, help=help))


def _no_column(table: Table, column: str, binding: str) -> Diagnostic:
    alike = nearest(column, table.source_columns)
    meant = f"did you mean `{alike}`? " if alike else ""
    help = f"{meant}the columns are {', '.join(table.source_columns)}"
    message = f"unknown column `{column}` for `{binding}`"
    return Diagnostic("D0104", message, place=table.name, help=help)


def _value(formula: tree.Formula, columns: Mapping[str, Array]) -> Any:
    """A formula evaluated on arrays of shape (rows,)."""

    def inner(part: tree.Formula) -> Any:
        return _value(part, columns)

    match formula:
        case tree.Number(text):
            return np.float64(text)
        case tree.Name("pi"):
            return np.float64(np.pi)
        case tree.Name(text):
            return columns[text]
        case tree.Negative(operand):
            return -inner(operand)
        case tree.Sum(terms):
            return sum(inner(term) if sign == "+" else -inner(term) for sign, term in terms)
        case tree.Product(factors):
            product = np.float64(1)
            for sign, factor in factors:
                product = product * inner(factor) if sign == "*" else product / inner(factor)
            return product
        case tree.Power(base, exponent):
            return inner(base) ** inner(exponent)
        case tree.Call(function, arguments):
            values = [inner(part) for part in arguments]
            if function in ("min", "max"):
                extremum = np.minimum if function == "min" else np.maximum
                return extremum.reduce(np.broadcast_arrays(*values))
            return value_in(ARRAYS, function)(*values)
    raise AssertionError(formula)
