"""A column that a table lacks, or a unit that is unknown -> the message with what is meant."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.meant_units import PER_TOKEN, dimension_of, meant_unit
from lawdsl.core.units import UNITS_OF_COLUMNS, Dimension, is_unit, size_and_dimension
from lawdsl.data.columns import MAPPING, UnitFactors, split_header
from lawdsl.data.drafts.column_names import read_name
from lawdsl.data.table import Table
from lawdsl.language.keywords import nearest

QUANTITY_OF: Mapping[Dimension, str] = {
    (("param", 1),): "N",
    (("token", 1),): "D",
    (("FLOP", 1),): "C",
    (("step", 1),): "S",
}
"""Dimension of a variable -> the quantity that a column's name may state."""

_BYTES = re.compile(r"(?P<prefix>[kKMGTPE])i?(?:[bB]|[bB]ytes?)")
_OTHER_BRACKETS = re.compile(
    r"(?P<column>.+?)\s*(?:\((?P<round>[^()]+)\)|\{(?P<curly>[^{}]+)\}|<(?P<angle>[^<>]+)>"
    r"|\s(?:in|as)\s+(?P<word>\S+)|[:,;]\s*(?P<mark>[A-Za-z]\S*)|\s(?P<bare>[A-Za-z]\S*))\s*"
)


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
    own, unit = split_header(column)
    if own in table.columns and unit and not table.units.get(own):
        return unknown_unit(table, name, own, unit, factors)
    if own in table.columns and unit:
        help = f"the column is `{own}`; the unit in its header is read: {binding(name, own)}"
        return Diagnostic("D0104", message, place=table.name, help=help)
    product = _product(table, own)
    if product is not None:
        written = f"{product} [{unit}]" if is_unit(unit) else product
        help = f"write `*` for a product and `/` for a quotient: {binding(name, written)}"
        return Diagnostic("D0104", message, place=table.name, help=help)
    bracketed = _bracketed(table, name, column, factors)
    if bracketed is not None:
        return Diagnostic("D0104", message, place=table.name, help=bracketed)
    meant, alike = _meant(table, column, name, what, factors)
    if meant is None and is_unit(unit):  # `param_m [Mparam]`
        alike = next(iter(_similar(table, own)), None)
        meant = f"{alike} [{unit}]" if alike and not table.units.get(alike) else alike
    listed = ", ".join(table.source_columns) or "none"
    if table.name == MAPPING:  # to Python, which has no arguments NAME=COLUMN
        did_you_mean = f"did you mean `{alike}`? " if alike else ""
        help = f"{did_you_mean}the names given are {listed}; call it `{name}`"
        return Diagnostic("D0104", message, place=table.name, help=help)
    did_you_mean = f"did you mean `{alike}`? " if alike else ""
    help = f"{did_you_mean}the columns are {listed}; bind one: {binding(name, meant or 'COLUMN')}"
    if column == name and alike not in _similar(table, column):
        message = f"no column is bound to {what}, and none is called `{name}`"
        help = f"the columns are {listed}; write {binding(name, meant or 'COLUMN')}"
    header = _header_with_unit(alike, factors) if alike else None
    if header is not None:
        help = f"units stand in square brackets: write the header `{header}`, or bind {binding(name, meant or '')}"
    return Diagnostic("D0104", message, place=table.name, help=help)


def no_columns(
    table: Table, missing: Sequence[tuple[str, str, str, UnitFactors | None]]
) -> Diagnostic:
    """One message about several missing columns; D0104.

    Args:
        table: the table.
        missing: the name, the column, what it is needed for, and the unit of each.
    """
    if len(missing) == 1 or not table.columns or table.name == MAPPING:
        name, column, what, factors = missing[0]
        return no_column(table, column, what, name, factors)
    columns = ", ".join(f"`{column}`" for _, column, _, _ in missing)
    bindings = []
    for name, column, what, factors in missing:
        meant, _ = _meant(table, column, name, what, factors)
        bindings.append(binding(name, meant or "COLUMN"))
    listed = ", ".join(table.source_columns) or "none"
    help = f"the columns are {listed}; bind them: {' '.join(bindings)}"
    return Diagnostic("D0104", f"unknown columns {columns}", place=table.name, help=help)


def _product(table: Table, text: str) -> str | None:
    """A product of a column and a number with another sign, `params x 1e6`, as a formula."""
    sign = r"\s*(?P<sign>[×·⋅∙÷]|(?<=[\s0-9])(?:x|times)(?=[\s0-9])|\s:\s|divided by)\s*"
    number_ = r"(?P<number>[0-9][0-9_.]*(?:[eE][-+]?[0-9]+)?(?:\s*(?:\^|\*\*)\s*[-+]?[0-9]+)?)"
    for pattern in (rf"(?P<column>.+?){sign}{number_}", rf"{number_}{sign}(?P<column>.+)"):
        match = re.fullmatch(pattern, text.strip())
        if match is not None and match["column"].strip() in table.source_columns:
            written = "/" if match["sign"].strip() in ("÷", ":", "divided by") else "*"
            factor = re.sub(r"\s", "", match["number"]).replace("_", "")
            column = match["column"].strip()
            first, second = (
                (column, factor) if pattern.startswith("(?P<column>") else (factor, column)
            )
            return f"{first}{written}{second}"
    return None


def _bracketed(table: Table, name: str, column: str, factors: UnitFactors | None) -> str | None:
    """The advice about a column with its unit in other brackets, `params (Mparam)`."""
    match = _OTHER_BRACKETS.fullmatch(column)
    if match is None or match["column"] not in table.source_columns:
        return None
    own = match["column"]
    unit = next(text for text in match.groups()[1:] if text is not None)
    if table.units.get(own):
        return f"the column is `{own}`; the unit in its header is read: {binding(name, own)}"
    dimension = _dimension(factors)
    fits = is_unit(unit) and dimension in (None, dimension_of(unit))
    meant = unit if fits else meant_unit(unit, dimension)
    if meant is None:
        return None
    return f"units stand in square brackets: write {binding(name, f'{own} [{meant}]')}"


def _meant(
    table: Table, column: str, name: str, what: str, factors: UnitFactors | None
) -> tuple[str | None, str | None]:
    """The right side of the binding that is probably meant, and its column; None if not known."""
    names = table.source_columns
    alike = next(iter(_similar(table, column)), None)
    if alike is None and column == name:
        quantity = "L" if "output" in what else QUANTITY_OF.get(_dimension(factors) or (), "")
        quantity = quantity or ("r" if name == "r" else "")
        said = [c for c in names if quantity and not read_name(c).logarithm]
        found = [c for c in said if read_name(c).quantity == quantity and table.readable(c).any()]
        alike = found[0] if len(found) == 1 else None
    if alike is None:
        return None, None
    header = _header_with_unit(alike, factors)
    if header is not None:
        return f"{alike} [{split_header(header)[1]}]", alike
    prefix = read_name(alike).prefix
    dimension = _dimension(factors) or ()
    if prefix and not table.units.get(alike) and dimension in QUANTITY_OF:
        return f"{alike} [{prefix}{dimension[0][0]}]", alike
    return alike, alike


def _similar(table: Table, column: str) -> list[str]:
    """The column whose name resembles another one, if there is one."""
    names = table.source_columns
    # `N (B)` and `N in B` start with N
    alike = next((c for c in names if c.split()[:1] == [column]), None) or nearest(column, names)
    return [alike] if alike else []


def _header_with_unit(column: str, factors: UnitFactors | None) -> str | None:
    """The header of a column whose name has a unit in other brackets: `N (Mparam)` -> `N [Mparam]`."""
    match = re.fullmatch(r"(\S.*?)\s*(?:\(([^()]+)\)|\{([^{}]+)\}|\s(?:in|/)\s+(\S+))", column)
    if match is None or factors is None:
        return None
    written = next(text for text in match.groups()[1:] if text is not None)
    unit = written if is_unit(written) else meant_unit(written, _dimension(factors))
    return f"{match[1]} [{unit}]" if unit else None


def _dimension(factors: UnitFactors | None) -> Dimension | None:
    return size_and_dimension(factors)[1] if factors else None


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
    dimension = _dimension(factors)
    bytes_ = _BYTES.fullmatch(unit)
    if bytes_ is not None and dimension in QUANTITY_OF and dimension:
        of_law = f"{bytes_['prefix'].replace('K', 'k')}{dimension[0][0]}"
        written = f"{split_header(column)[0]} [{of_law}]"
        correct = f"correct the header, `{written}`"
        if column in table.computed or not table.units.get(column):
            correct = f"write {binding(name, written)}"
        message = f"column {column} is in {unit}, bytes, the law's `{name}` in {dimension[0][0]}"
        help = f"{correct}, or bind another column"
        return Diagnostic("D0112", message, place=f"{table.name} column {column}", help=help)
    meant = meant_unit(unit, dimension)
    own, _ = split_header(column)
    help = UNITS_OF_COLUMNS
    if meant is not None:
        written = f"{own} [{meant}]"
        in_header = bool(table.units.get(column)) and column not in table.computed
        next_step = (
            f"write it into the header, `{written}`"
            if in_header
            else f"bind it: {binding(name, written)}"
        )
        more = help if factors else f"the law gives `{name}` no unit: declare `unit {meant}` there"
        help = f"did you mean `{meant}`? {next_step}; {more}"
        if dimension is not None and dimension_of(meant) != dimension:
            help = f"did you mean `{meant}`? {other_unit(name, own, meant, dimension)}"
    message = f"column {column}: `{unit}` is not a unit"
    return Diagnostic("D0112", message, place=f"{table.name} column {column}", help=help)


def other_unit(name: str, column: str, unit: str, dimension: Dimension) -> str:
    """The advice about a column in a unit of another dimension than the law's.

    Args:
        name: the variable or output.
        column: the column.
        unit: its unit.
        dimension: the dimension in the law.
    """
    per_byte = dimension_of(unit) == (("byte", -1), ("nat", 1))
    if per_byte and dimension == PER_TOKEN:
        factor = "log(2)*4.2" if "bit" in unit else "4.2"
        formula = f"{name}={factor}*{column} [nat/token]"
        return (
            f"the law's `{name}` is per token: bind '{formula}' with the bytes of a token "
            "in place of 4.2"
        )
    return f"bind a column of another unit to `{name}`, or declare `unit {unit}` in the law"


def binding(name: str, column: str) -> str:
    """NAME=COLUMN as it is typed on a command line."""
    text = f"{name}={column}"
    return text if re.fullmatch(r"[\w=.,:/+-]+", text) else f"'{text}'"
