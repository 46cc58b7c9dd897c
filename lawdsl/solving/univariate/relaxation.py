"""Infeasible constraints in one unknown -> by how much each must be relaxed."""

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
from lawdsl.solving.univariate.interval_functions import IntervalFunction, UnivariateExpression
from lawdsl.solving.univariate.line_minimum import IntervalMargin
from lawdsl.solving.univariate.refinement import minimize
from lawdsl.solving.univariate.roots import UnknownRange

RELAXATION_DIGITS = 6  # of a recommended value


def relaxations(
    conditions: Sequence[AlgebraicConstraint],
    unknown: sp.Symbol,
    name: str,
    names: Mapping[str, sp.Symbol],
    values: Mapping[sp.Symbol, float],
    domain: UnknownRange,
) -> list[Relaxation]:
    """Return for each constraint the smallest relaxation that makes it feasible with the others.

    For margin k it is min -margin_k(x) subject to margin_j(x) >= 0 for all j != k.

    Args:
        conditions: constraints that cannot all be satisfied, each in the unknown.
        unknown: its symbol.
        name: its name.
        names: name -> symbol, of givens and settings.
        values: symbol -> value, of all symbols but the unknown.
        domain: the range of the unknown.

    Returns:
        The relaxations; constraints that cannot be relaxed alone are omitted.
    """
    advice = []
    for condition in conditions:
        others = [c for c in conditions if c is not condition]
        violation = IntervalFunction(
            UnivariateExpression(flatten_powers(-condition.margin), unknown), values
        )
        minimum = minimize(violation, _margins(others, unknown, values), domain)
        if minimum.best is None:
            continue
        symbol_values = {**values, unknown: minimum.best.point}
        shortfall = -evaluated(condition.margin, symbol_values)
        if shortfall >= 0:
            feasible_givens = _feasible_givens(condition.margin, names, symbol_values)

            def feasible(given_name: str, value: float) -> bool:
                given_values = {**values, names[given_name]: value}
                zero = IntervalFunction(UnivariateExpression(sp.S.Zero, unknown), given_values)
                return (
                    minimize(zero, _margins(conditions, unknown, given_values), domain).best
                    is not None
                )

            rounded_givens = {}
            for given_name, value in feasible_givens.items():
                # a value rounded to the wrong side would not make the question feasible
                candidates = (v for v in _rounded_values(value) if feasible(given_name, v))
                rounded_givens[given_name] = next(candidates, value)
            unknown_value = {name: minimum.best.point}
            advice.append(
                Relaxation(
                    condition.text,
                    condition.doc,
                    shortfall,
                    unknown_value,
                    feasible_givens,
                    rounded_givens,
                )
            )
    return advice


def _margins(
    conditions: Sequence[AlgebraicConstraint], unknown: sp.Symbol, values: Mapping[sp.Symbol, float]
) -> list[IntervalMargin]:
    return [
        IntervalMargin(
            IntervalFunction(UnivariateExpression(c.margin, unknown), values), c.equality, c.strict
        )
        for c in conditions
    ]


def _feasible_givens(
    margin: sp.Expr, names: Mapping[str, sp.Symbol], values: Mapping[sp.Symbol, float]
) -> dict[str, float]:
    """The values of givens, one at a time, at which a margin is 0."""
    roots = {name: zero_of(margin, symbol, values) for name, symbol in names.items()}
    return {name: evaluated(root, values) for name, root in roots.items() if root is not None}


def _rounded_values(value: float) -> Iterator[float]:
    """A value in few digits: the nearest decimal, and then its neighbours on either side."""
    if not math.isfinite(value) or value == 0:
        return
    exact = Decimal(value)
    step = Decimal(1).scaleb(exact.adjusted() - RELAXATION_DIGITS + 1)
    yield float(exact.quantize(step))
    for rounding in (ROUND_FLOOR, ROUND_CEILING):
        yield float(exact.quantize(step, rounding=rounding))
