"""A question -> its goal and margins in the logarithms of positive unknowns without an upper bound.

Model sizes and tokens extend over decades, and laws are sums of their powers. With x = exp(u),
sum_i c_i prod_j x_j^a_ij becomes sum_i c_i exp(a_i·u), which is convex for c_i > 0, and a bound on
a product, 6*N*D <= C, becomes linear: geometric programming (Boyd and Vandenberghe (2004), Convex
Optimization, section 4.5). So most allocations are proved optimal, and searches avoid large
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from lawdsl.solving.formulate.closed_form import flatten_powers
from lawdsl.solving.formulate.problem import AlgebraicConstraint

# The range in which a logarithm is searched.
LOWEST_LOGARITHM, HIGHEST_LOGARITHM = math.log(1e-20), math.log(1e40)


@dataclass(frozen=True)
class UnknownScale:
    """The search variable of an unknown.

    Attributes:
        unknown: its symbol.
        variable: the symbol of the search variable: its logarithm, or the unknown itself.
        low, high: the range of the unknown.
    """

    unknown: sp.Symbol
    variable: sp.Symbol
    low: float
    high: float

    @property
    def logarithmic(self) -> bool:
        """Whether the search variable is its logarithm."""
        return bool(self.variable != self.unknown)

    @property
    def ends(self) -> tuple[float, float]:
        """The range of the search variable."""
        if not self.logarithmic:
            return self.low, self.high
        return (math.log(self.low) if self.low > 0 else LOWEST_LOGARITHM), HIGHEST_LOGARITHM

    def value(self, variable_value: float) -> float:
        """The unknown."""
        return math.exp(variable_value) if self.logarithmic else variable_value

    def slope(self, variable_value: float) -> float:
        """d(unknown)/d(search variable): the unknown itself in logarithms, else 1."""
        return self.value(variable_value) if self.logarithmic else 1.0

    def is_endless(self, variable_value: float) -> bool:
        """Whether the search has ended at the limit of the logarithms although the unknown has no
        bound there.
        """
        reach = 1e-3 * (HIGHEST_LOGARITHM - LOWEST_LOGARITHM)
        above = variable_value > HIGHEST_LOGARITHM - reach
        return self.logarithmic and (
            above or (self.low == 0 and variable_value < LOWEST_LOGARITHM + reach)
        )


def choose_scale(unknown: sp.Symbol, low: float, high: float, *, positive: bool) -> UnknownScale:
    """Choose the search variable of an unknown.

    Args:
        unknown: its symbol.
        low, high: the range of the unknown.
        positive: whether it is always positive; an unknown that may be 0 has no logarithm.

    Returns:
        The logarithm of a positive unknown without an upper bound, else the unknown itself.
    """
    if positive and math.isinf(high):
        return UnknownScale(unknown, sp.Symbol(f"log {unknown.name}", real=True), low, high)
    return UnknownScale(unknown, unknown, low, high)


def substitute_logarithms(
    expression: sp.Expr, substitution: Mapping[sp.Symbol, sp.Expr]
) -> sp.Expr:
    """Substitute x = exp(u) in an expression and merge powers of one base.

    Args:
        expression: the expression in the unknowns.
        substitution: unknown -> exponential of its search variable.

    Returns:
        The expression in the search variables.
    """
    if not expression.free_symbols & set(substitution):
        return expression
    return sp.expand_log(flatten_powers(expression.xreplace(dict(substitution))))


Ratio = tuple[sp.Expr, sp.Expr]


def positive_ratio(condition: AlgebraicConstraint) -> Ratio | None:
    """The two positive terms whose difference is a margin; None for any other margin."""
    terms = sp.Add.make_args(condition.margin)
    over = [t for t in terms if t.is_positive]
    under = [-t for t in terms if t.is_negative]
    return (over[0], under[0]) if len(terms) == 2 and len(over) == len(under) == 1 else None


@dataclass(frozen=True)
class ScaledQuestion:
    """The goal and the conditions of a question in the search variables.

    Attributes:
        goal: the minimised expression: the goal, or its logarithm if it is a single positive term.
        margins: the margins of the conditions; for a difference of two positive terms the logarithm
            of their ratio, which has the same sign.
        product: whether the logarithm of the goal is used.
        ratios: the two terms of each condition that is expressed as a log-ratio, else None.
    """

    goal: sp.Expr
    margins: tuple[sp.Expr, ...]
    product: bool
    ratios: tuple[Ratio | None, ...]


def scale_question(
    goal: sp.Expr, conditions: Sequence[AlgebraicConstraint], scales: Sequence[UnknownScale]
) -> ScaledQuestion:
    """Express a question in its search variables.

    A margin a - b of two positive terms becomes log(a) - log(b), which has its sign; a goal that is
    one positive term becomes its logarithm.

    Args:
        goal: what is minimised.
        conditions: the constraints.
        scales: how each unknown is searched.

    Returns:
        Goal and margins in the search variables.
    """
    substitution = {s.unknown: sp.exp(s.variable) for s in scales if s.logarithmic}
    if not substitution:
        return ScaledQuestion(
            goal, tuple(c.margin for c in conditions), False, (None,) * len(conditions)
        )
    ratios = tuple(map(positive_ratio, conditions))
    margins = [
        substitute_logarithms(
            c.margin if ratio is None else _log(ratio[0]) - _log(ratio[1]), substitution
        )
        for c, ratio in zip(conditions, ratios, strict=True)
    ]
    product = bool(goal.is_positive) and not goal.is_Add
    return ScaledQuestion(
        substitute_logarithms(_log(goal) if product else goal, substitution),
        tuple(margins),
        product,
        ratios,
    )


def _log(term: sp.Expr) -> sp.Expr:
    return sp.expand_log(sp.log(term), force=True)
