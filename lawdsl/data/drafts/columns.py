"""The columns of a table -> their roles in a proposed law, units and bindings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.units import PREFIXES, is_unit, parse_unit, size_and_dimension
from lawdsl.data.drafts.column_names import NamedQuantity, read_name
from lawdsl.data.quality_checks import USUAL
from lawdsl.data.table import Table

Array = NDArray[np.float64]

UNITS: Mapping[str, str] = {"N": "param", "D": "token", "C": "FLOP", "S": "step"}
"""Quantity -> the base unit in which a proposed law declares it."""

LIKELY_PREFIXES: Mapping[str, str] = {"N": "MGkT", "D": "GMTk", "C": "EPTGMk"}
"""Quantity -> plausible prefixes of numbers without a unit, the most likely first."""

MIN_VALUES = 3  # distinct values of a column: fewer do not determine an exponent
MAX_LABELS = 10  # distinct texts of a column by which rows may be selected
SUM_TOLERANCE = 1e-2  # tolerance for the sum of printed shares, which should be 1

_IDENTIFIER = re.compile(r"[A-Za-z]\w*", re.ASCII)


@dataclass(frozen=True)
class Column:
    """The role of one column.

    Attributes:
        name: its name in the table, or a pattern of several names, `share_*`.
        variable: the variable or output that it is bound to; empty if it is not used.
        binding: the right side of `variable=binding`.
        unit: the unit of the numbers, empty for none.
        lowest, highest: its range in this unit; NaN for text.
        guessed: whether the unit is guessed from the magnitude of the numbers.
        reason: the reason why it is not used; empty if it is used.
        labels: the labels of a pattern of several columns.
    """

    name: str
    variable: str = ""
    binding: str = ""
    unit: str = ""
    lowest: float = float("nan")
    highest: float = float("nan")
    guessed: bool = False
    reason: str = ""
    labels: tuple[str, ...] = ()


def columns_of(table: Table, bound: Mapping[str, str]) -> tuple[Column, ...]:
    """The role of each column, determined by its name, the unit in its header and its numbers.

    Args:
        table: the table.
        bound: variable or output -> column, as chosen by the user; these are not guessed.

    Returns:
        One record for each column or pattern of columns, in the order of the table.
    """
    numbers = {name: _numbers(table, name) for name in table.columns}
    columns = {name: _one_column(table, name, numbers[name], bound) for name in table.columns}
    for search in (_shares, _outputs):
        group = search(columns, numbers)
        if group is not None:
            columns = _with_group(columns, *group)
    columns = _with_tokens(columns, numbers)
    return _without_repetition(tuple(columns.values()))


def _with_tokens(
    columns: Mapping[str, Column], numbers: Mapping[str, Array | None]
) -> dict[str, Column]:
    """Convert steps to tokens, steps*batch*length, if the table has these and no column of tokens."""
    if any(column.variable == "D" for column in columns.values()):
        return dict(columns)
    named = {
        read_name(name).quantity: name
        for name, values in numbers.items()
        if values is not None and values.min() > 0 and _IDENTIFIER.fullmatch(name)
    }
    parts = [named.get(quantity) for quantity in ("S", "batch", "length")]
    steps, batch, length = parts
    if steps is None or batch is None or length is None or columns[steps].variable != "S":
        return dict(columns)
    factors = [values for name in (steps, batch, length) if (values := numbers[name]) is not None]
    tokens = np.prod(np.array(factors), axis=0)
    formula = f"{steps}*{batch}*{length}"
    column = Column(steps, "D", formula, "token", float(tokens.min()), float(tokens.max()))
    used = {
        name: replace(columns[name], variable="", reason="is part of D") for name in (batch, length)
    }
    return {**columns, **used, steps: column}


def _with_group(
    columns: Mapping[str, Column], group: Column, members: Sequence[str]
) -> dict[str, Column]:
    """The columns, with a pattern in the place of the first of its members."""
    first = next(name for name in columns if name in members)
    return {
        name: group if name == first else column
        for name, column in columns.items()
        if name == first or name not in members
    }


def _numbers(table: Table, name: str) -> Array | None:
    """The numbers of a column; None for text, or for one with cells that are not numbers."""
    try:
        numbers = table.numbers(name)
    except LawdslError:
        return None
    return numbers if len(numbers) and np.all(np.isfinite(numbers)) else None


def _one_column(table: Table, name: str, numbers: Array | None, bound: Mapping[str, str]) -> Column:
    says = read_name(name)
    chosen = next((variable for variable, column in bound.items() if column == name), "")
    if numbers is None:
        return Column(name, reason=_text_reason(table, name))
    column = Column(name, lowest=float(numbers.min()), highest=float(numbers.max()))
    if chosen:
        says = replace(says, quantity=chosen)
    elif says.quantity == "ignored":
        return replace(column, reason="describes the run, not what the loss depends on")
    distinct = len(np.unique(numbers))
    output = says.quantity in ("L", "perplexity")
    if distinct == 1:
        return replace(column, reason="has the same value in every row")
    if distinct < MIN_VALUES and not output and not chosen:
        return replace(column, reason=f"has {distinct} values, too few for an exponent")
    return _with_binding(column, says, table.units.get(name, ""), numbers)


def _text_reason(table: Table, name: str) -> str:
    cells = table.texts(name)
    values = sorted(set(cells) - {""})
    if not values:
        return "empty"
    if table.readable(name).any():
        return "has cells that are not numbers"
    if len(values) == 1:
        return "text, the same in every row"
    if len(values) > MAX_LABELS:
        return f"text, {len(values)} values"
    return f'text, {len(values)} values: select rows with --where "{name} = {values[0]}"'


def _with_binding(column: Column, says: NamedQuantity, header: str, numbers: Array) -> Column:
    """The column as the quantity that its name states, in the known or most likely unit."""
    name, quantity = column.name, says.quantity
    if quantity == "perplexity":
        if not _IDENTIFIER.fullmatch(name) or column.lowest <= 0:
            return replace(column, reason="a perplexity whose logarithm a binding cannot take")
        return replace(column, variable="L", binding=f"log({name})", unit="nat/token")
    if quantity == "r":
        return _share(column, says)
    if says.logarithm:
        return _logarithm(column, says, header)
    variable = quantity or (name if _IDENTIFIER.fullmatch(name) else "")
    if not variable:
        return replace(column, reason="rename it with letters, digits and _ to use it")
    if header and not is_unit(header):
        return replace(column, reason=f"`{header}` in its header is not a unit")
    column = replace(column, variable=variable, binding=name, unit=header)
    base = UNITS.get(quantity, "")
    if quantity == "L" or not base:
        return column
    if column.lowest <= 0:
        return replace(column, variable="", reason=f'has values of 0 or less: --where "{name} > 0"')
    if header:
        dimension = size_and_dimension(parse_unit(header))[1]
        if dimension == size_and_dimension(parse_unit(base))[1]:
            return column
        return replace(column, variable="", reason=f"is in {header}, which no {quantity} is in")
    if says.prefix:
        unit = says.prefix + base
        return replace(column, unit=unit, binding=f"{name} [{unit}]")
    prefix = _likely_prefix(quantity, column.lowest, column.highest)
    if prefix is None:
        return replace(column, unit=base, guessed=quantity in LIKELY_PREFIXES)
    unit = prefix + base
    return replace(
        column, unit=unit, guessed=bool(prefix), binding=f"{name} [{unit}]" if prefix else name
    )


def _likely_prefix(quantity: str, low: float, high: float) -> str | None:
    """The prefix with which the numbers are plausible, `` for none; None if there is no such
    prefix.
    """
    usual = USUAL.get(((UNITS[quantity], 1),))
    if usual is None:
        return ""
    for prefix in ("", *LIKELY_PREFIXES[quantity]):
        factor = PREFIXES[prefix] if prefix else 1.0
        if usual.from_ <= low * factor and high * factor <= usual.to:
            return prefix
    return None


def _share(column: Column, says: NamedQuantity) -> Column:
    name = column.name
    if column.lowest >= 0 and column.highest <= 1 and not says.percent:
        return replace(column, variable="r", binding=name)
    if column.lowest >= 0 and column.highest <= 100 and _IDENTIFIER.fullmatch(name):
        return replace(
            column,
            variable="r",
            binding=f"{name}/100",
            lowest=column.lowest / 100,
            highest=column.highest / 100,
            guessed=not says.percent,
        )
    return replace(column, reason="a share with values outside [0, 1]")


def _logarithm(column: Column, says: NamedQuantity, header: str) -> Column:
    """A column of logarithms, whose base is inferred from the magnitudes if the name leaves it
    open.
    """
    name, quantity = column.name, says.quantity
    base = UNITS.get(quantity, "")
    if not base or header or not _IDENTIFIER.fullmatch(name):
        return replace(column, reason="a logarithm: bind it with a formula, such as N=10^log10_N")
    bases = {"10": 10.0, "2": 2.0, "e": float(np.e)}
    known = {says.logarithm: bases[says.logarithm]} if says.logarithm in bases else bases
    for label, number in known.items():
        with np.errstate(over="ignore"):
            low, high = (float(np.power(number, end)) for end in (column.lowest, column.highest))
        usual = USUAL.get(((base, 1),))
        if usual is None or (usual.from_ <= low and high <= usual.to):
            formula = f"exp({name})" if label == "e" else f"{label}^{name}"
            return replace(
                column,
                variable=quantity,
                binding=formula,
                unit=base,
                lowest=low,
                highest=high,
                guessed=says.logarithm == "?",
            )
    return replace(column, reason="a logarithm of numbers in an unknown unit")


def _shares(
    columns: Mapping[str, Column], numbers: Mapping[str, Array | None]
) -> tuple[Column, tuple[str, ...]] | None:
    """Columns that are shares of a mixture: a common prefix or suffix, and rows that sum to 1."""
    shares = {
        name: values
        for name, values in numbers.items()
        if values is not None and values.min() >= 0 and values.max() <= 1
    }
    for pattern, names in _patterns(tuple(shares)):
        total = np.sum([shares[name] for name in names], axis=0)
        if np.max(np.abs(total - 1)) <= SUM_TOLERANCE:
            return _group(pattern, "r", names, columns), names
    return None


def _outputs(
    columns: Mapping[str, Column], numbers: Mapping[str, Array | None]
) -> tuple[Column, tuple[str, ...]] | None:
    """Several columns of losses with a common prefix or suffix, if there are shares too."""
    if not any(column.labels for column in columns.values()):
        return None
    losses = tuple(
        name
        for name, values in numbers.items()
        if values is not None and name in columns and not columns[name].labels
    )
    for pattern, names in _patterns(losses):
        if _stem(pattern) == "L":
            return _group(pattern, "L", names, columns), names
    return None


def _patterns(names: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Patterns `stem_*` and `*_stem` that at least two names match, the largest first."""
    groups: dict[str, list[str]] = {}
    for name in names:
        for match in re.finditer(r"[_\-. ]", name):
            cut = match.start()
            if 0 < cut < len(name) - 1:
                groups.setdefault(f"{name[: cut + 1]}*", []).append(name)
                groups.setdefault(f"*{name[cut:]}", []).append(name)
    found = [(pattern, tuple(members)) for pattern, members in groups.items() if len(members) > 1]
    return sorted(found, key=lambda group: (_stem(group[0]) not in ("r", "L"), -len(group[1])))


def _stem(pattern: str) -> str:
    """The quantity named by the fixed part of a pattern."""
    return read_name(pattern.replace("*", "")).quantity


def _group(
    pattern: str, variable: str, names: tuple[str, ...], columns: Mapping[str, Column]
) -> Column:
    head, _, tail = pattern.partition("*")
    labels = tuple(name[len(head) : len(name) - len(tail)] for name in names)
    return Column(
        pattern,
        variable,
        pattern,
        lowest=min(columns[name].lowest for name in names),
        highest=max(columns[name].highest for name in names),
        labels=labels,
    )


def _without_repetition(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Every variable once: patterns take precedence, then the first column of the table."""
    taken: dict[str, str] = {}
    for column in sorted(columns, key=lambda c: not c.labels):
        if column.variable:
            taken.setdefault(column.variable, column.name)
    return tuple(
        replace(
            column, variable="", reason=f"{taken[column.variable]} is {column.variable} already"
        )
        if column.variable and taken[column.variable] != column.name
        else column
        for column in columns
    )
