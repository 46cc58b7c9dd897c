"""A question without an answer: which constraint must give way, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import sympy as sp

from lawdsl.solving.giving import evaluated
from lawdsl.solving.posing.isolating import flat
from lawdsl.solving.posing.posed import Condition
from lawdsl.solving.records import Relaxation
from lawdsl.solving.single.ends import zero_of
from lawdsl.solving.single.functions import Formula, Function
from lawdsl.solving.single.line import Margin, minimised
from lawdsl.solving.single.roots import Range

DIGITS = 6  # of a value that is advised


def relaxations(
    conditions: Sequence[Condition],
    unknown: sp.Symbol,
    name: str,
    names: Mapping[str, sp.Symbol],
    values: Mapping[sp.Symbol, float],
    whole: Range,
) -> list[Relaxation]:
    """For each constraint by how much it must give way for the others to be kept with it.

    Args:
        conditions: that cannot be kept all at once, each in the unknown.
        unknown: the only one.
        name: of it.
        names: givens and settings.
        values: of all symbols but the unknown.
        whole: the range of the unknown.
    """
    found = []
    for one in conditions:
        others = [c for c in conditions if c is not one]
        margins = [
            Margin(Function(Formula(c.margin, unknown), values), c.equality, c.strict)
            for c in others
        ]
        short = Function(Formula(flat(-one.margin), unknown), values)
        line = minimised(short, margins, whole)
        if line.best is None:
            continue
        at = {**values, unknown: line.best.at}
        by = -evaluated(one.margin, at)
        if by >= 0:
            instead = _instead(one.margin, names, at)
            written = {n: _rounded(one.margin, names[n], x, at) for n, x in instead.items()}
            place = {name: line.best.at}
            found.append(Relaxation(one.text, one.doc, by, place, instead, written))
    return found


def _instead(
    margin: sp.Expr, names: Mapping[str, sp.Symbol], values: Mapping[sp.Symbol, float]
) -> dict[str, float]:
    """The values of givens, one at a time, at which a margin is 0."""
    roots = {name: zero_of(margin, symbol, values) for name, symbol in names.items()}
    return {name: evaluated(root, values) for name, root in roots.items() if root is not None}


def _rounded(
    margin: sp.Expr, symbol: sp.Symbol, value: float, values: Mapping[sp.Symbol, float]
) -> float:
    """A value in few digits with which the margin is not below 0; as it is where there is none."""
    if not math.isfinite(value) or value == 0:
        return value
    step = 10.0 ** (math.floor(math.log10(abs(value))) - DIGITS + 1)
    for near in (math.floor(value / step) * step, math.ceil(value / step) * step):
        written = float(f"{near:.{DIGITS}g}")
        if evaluated(margin, {**values, symbol: written}) >= 0:
            return written
    return value
