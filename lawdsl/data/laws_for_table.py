"""A table -> the laws that its columns can feed, each with the columns of its variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lawdsl.core.units import PREFIXES
from lawdsl.data.drafts.columns import Column, columns_of
from lawdsl.data.table import Table
from lawdsl.language import tree

if TYPE_CHECKING:
    from lawdsl.language.symbols import Declarations, Symbol

QUANTITIES: Mapping[str, str] = {"param": "N", "token": "D", "FLOP": "C", "step": "S"}
"""Unit without prefix of a variable -> the quantity that the name of a column states."""


@dataclass(frozen=True)
class FedLaw:
    """A law whose variables and output are columns of a table.

    Attributes:
        law: its name.
        title: its title.
        bindings: `NAME=COLUMN` for each name that is neither given nor the name of its column.
        output: the column of its output.
        parameters: the number of its parameters as declared; one with subscripts counts once.
        by_label: whether some of them have subscripts, so that there are more.
    """

    law: str
    title: str
    bindings: tuple[str, ...]
    output: str
    parameters: int
    by_label: bool


def laws_for_table(
    table: Table, laws: Iterable[Declarations], given: Mapping[str, str] | None = None
) -> tuple[FedLaw, ...]:
    """The laws that the columns of a table can feed, in the order of `laws`.

    A variable is read from the column of its name, else from the one column whose name states the
    quantity of its unit: model size, tokens, compute or steps. Shares need a group of columns whose
    rows sum to 1. What a column means is a guess from its name: the fit checks units and domains.

    Args:
        table: the table.
        laws: the laws to consider.
        given: name of a variable or output -> its column, as the user has bound it.
    """
    columns = columns_of(table, {})
    fed = (_fed(law, table, columns, given or {}) for law in laws)
    return tuple(each for each in fed if each is not None)


def _fed(
    law: Declarations, table: Table, columns: Iterable[Column], given: Mapping[str, str]
) -> FedLaw | None:
    by_quantity: dict[str, list[Column]] = {}
    for column in columns:
        if column.variable:
            by_quantity.setdefault(column.variable, []).append(column)
    variables = [
        symbol
        for symbol in law.symbols.values()
        if symbol.kind == "variable" and symbol.name not in law.measures
    ]
    sets = {over.over for name in law.output.indices if (over := law.indices.get(name))}
    in_columns = bool(law.output.indices) and (
        bool(_labelled(by_quantity, "L")) or "*" in given.get(law.output.name, "")
    )
    if not in_columns and any(isinstance(name, str) and name not in table.columns for name in sets):
        return None  # labels of rows need a column of that name
    bound: dict[str, str] = {}
    for symbol in (*variables, law.output):
        binding = given.get(symbol.name)
        if binding is None:
            binding = _binding(symbol, law, table, by_quantity, variables)
        elif "*" in binding and not symbol.indices:
            return None  # a column for each label, of a law that has none
        if binding is None:
            return None
        bound[symbol.name] = binding
    added = {n: c for n, c in bound.items() if c != n and n not in given}
    if len({*added.values(), *given.values()}) < len(added) + len(given):
        return None  # one column for two names
    bindings = tuple(f"{name}={column}" for name, column in added.items())
    output = bound[law.output.name]
    parameters = [symbol for symbol in law.symbols.values() if symbol.kind == "parameter"]
    by_label = any(symbol.indices for symbol in parameters)
    return FedLaw(law.name, law.title, bindings, output, len(parameters), by_label)


def _labelled(by_quantity: Mapping[str, list[Column]], quantity: str) -> Column | None:
    return next((c for c in by_quantity.get(quantity, ()) if c.labels), None)


def _binding(
    symbol: Symbol,
    law: Declarations,
    table: Table,
    by_quantity: Mapping[str, list[Column]],
    variables: list[Symbol],
) -> str | None:
    """The column of a name, or None."""
    if symbol.name in table.columns and not symbol.simplex:
        return symbol.name
    is_output = symbol is law.output
    if is_output:
        is_loss = _base(symbol.unit) == "nat/token" and symbol.name.startswith("L")
        quantity = "L" if is_loss else ""
    elif symbol.simplex or symbol.name == "r":
        quantity = "r"
    else:
        base = _base(symbol.unit)
        alone = sum(_base(other.unit) == base for other in variables) == 1
        quantity = QUANTITIES.get(base, "") if alone else ""
    group = _labelled(by_quantity, quantity)
    if symbol.indices and (group or symbol.simplex or not is_output):
        return group.binding if group and (is_output or symbol.simplex) else None
    if group is not None:  # of a law without index sets: one label
        return group.binding.replace("*", group.labels[0])
    candidates = by_quantity.get(quantity, ())
    return candidates[0].binding if len(candidates) == 1 else None


def _base(unit: tree.UnitOf | None) -> str:
    """A unit without prefixes, `param` for Gparam."""
    if unit is None:
        return ""
    names = []
    for name, power in unit.factors:
        plain = name[1:] if name[:1] in PREFIXES and len(name) > 1 else name
        names.append(plain if power == 1 else f"/{plain}")
    return "".join(names)
