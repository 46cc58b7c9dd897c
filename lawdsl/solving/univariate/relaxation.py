"""A question without an answer: which constraint must give way, and by how much."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import sympy as sp

from lawdsl.solving.formulate.closed_form import flatten_powers
from lawdsl.solving.formulate.problem import AlgebraicConstraint
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.result import Relaxation
from lawdsl.solving.univariate.boundary import zero_of
from lawdsl.solving.univariate.interval_functions import Formula, Function
from lawdsl.solving.univariate.line_minimum import Margin
from lawdsl.solving.univariate.refinement import minimised
from lawdsl.solving.univariate.roots import Range

DIGITS = 6  # of a value that is advised


def relaxations(
    conditions: Sequence[AlgebraicConstraint],
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
        short = Function(Formula(flatten_powers(-one.margin), unknown), values)
        line = minimised(short, _margins(others, unknown, values), whole)
        if line.best is None:
            continue
        at = {**values, unknown: line.best.at}
        by = -evaluated(one.margin, at)
        if by >= 0:
            instead = _instead(one.margin, names, at)

            def feasible(given: str, value: float) -> bool:
                moved = {**values, names[given]: value}
                zero = Function(Formula(sp.S.Zero, unknown), moved)
                return minimised(zero, _margins(conditions, unknown, moved), whole).best is not None

            written = {}
            for given, value in instead.items():
                near = (v for v in _rounded(value) if feasible(given, v))
                written[given] = next(near, value)
            place = {name: line.best.at}
            found.append(Relaxation(one.text, one.doc, by, place, instead, written))
    return found


def _margins(
    conditions: Sequence[AlgebraicConstraint], unknown: sp.Symbol, values: Mapping[sp.Symbol, float]
) -> list[Margin]:
    return [
        Margin(Function(Formula(c.margin, unknown), values), c.equality, c.strict)
        for c in conditions
    ]


def _instead(
    margin: sp.Expr, names: Mapping[str, sp.Symbol], values: Mapping[sp.Symbol, float]
) -> dict[str, float]:
    """The values of givens, one at a time, at which a margin is 0."""
    roots = {name: zero_of(margin, symbol, values) for name, symbol in names.items()}
    return {name: evaluated(root, values) for name, root in roots.items() if root is not None}


def _rounded(value: float) -> Iterator[float]:
    """A value in few digits: the nearest decimal, and then its neighbours on either side."""
    if not math.isfinite(value) or value == 0:
        return
    exact = Decimal(value)
    step = Decimal(1).scaleb(exact.adjusted() - DIGITS + 1)
    yield float(exact.quantize(step))
    for rounding in (ROUND_FLOOR, ROUND_CEILING):
        yield float(exact.quantize(step, rounding=rounding))
