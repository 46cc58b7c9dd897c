"""Fitted variables -> the roles that they have in a figure: horizontal axis, groups, panels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.units import unit_text
from lawdsl.figures.measured_rows import MeasuredRows
from lawdsl.figures.theme import MAX_GROUPS
from lawdsl.language.printer import print_unit
from lawdsl.law.law import Law

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Roles:
    """The role of each variable in a figure.

    Attributes:
        x: the variable of the horizontal axis.
        group: the variable of the groups, one curve each; None where the law has one variable.
        levels: the values of the groups at which curves are drawn, shape (groups,).
        are_exact: whether every row has one of these values.
        others: the remaining variables, and the values at which curves are drawn.
    """

    x: str
    group: str | None
    levels: Array
    are_exact: bool
    others: dict[str, float]


def roles_of(law: Law, rows: MeasuredRows, x: str | None, group: str | None) -> Roles:
    """Choose the role of each variable.

    Args:
        law: the fitted law.
        rows: the measured rows.
        x: the variable of the horizontal axis; by default the one with the most values.
        group: the variable of the groups; by default the one with the most values among the others.

    Raises:
        LawdslError: a variable that the law does not have (G0104).
    """
    for name in (x, group):
        check_variable(law, name)
    counts = {name: len(np.unique(rows.values(name))) for name in rows.names}
    by_count = sorted(rows.names, key=lambda name: (-counts[name], rows.names.index(name)))
    horizontal = x or next(name for name in by_count if name != group)
    rest = [name for name in by_count if name != horizontal and counts[name] > 1]
    chosen = group or (rest[0] if rest else None)
    levels, are_exact = levels_of(rows.values(chosen)) if chosen else (np.zeros(0), True)
    others = {
        name: middle(rows.values(name)) for name in rows.names if name not in (horizontal, chosen)
    }
    return Roles(horizontal, chosen, levels, are_exact, others)


def check_variable(law: Law, name: str | None) -> None:
    """Raise an error for a variable that a law does not have.

    Raises:
        LawdslError: G0104.
    """
    names = [q.name for q in law.variables]
    if name is not None and name not in names:
        message = f"{law.name} has no variable {name!r}"
        raise LawdslError(Diagnostic("G0104", message, help=f"it has {', '.join(names)}"))


def levels_of(values: Array) -> tuple[Array, bool]:
    """The values at which curves are drawn: all values if they are few, else quantiles; and whether
    they are all values.
    """
    distinct = np.unique(values)
    if len(distinct) <= MAX_GROUPS:
        return distinct, True
    # order statistics, so that each curve is at a value that occurs
    ranks = np.linspace(0, len(values) - 1, 5).round().astype(np.int64)
    return np.unique(np.sort(values)[ranks]), False


def middle(values: Array) -> float:
    """The lower median of a variable's values, which is a value that occurs."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def axis_title(law: Law, name: str) -> str:
    """A variable or the output with its unit: `N [param]`."""
    if name == law.output:
        declared = law.declarations.output.unit
        text = print_unit(declared) if declared else ""
    else:
        text = unit_text({q.name: q.unit for q in law.variables}[name])
    return f"{name} [{text}]" if text and text != "1" else name
