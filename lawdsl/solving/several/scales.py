"""Positive unknowns without an upper end, in logarithms.

Model sizes and tokens go over decades, and laws are sums of their powers. In logarithms these are
convex, and a bound on a product, 6*N*D <= C, is linear: so most allocations are proved (geometric
programming), and no search is lost among numbers of ten digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from lawdsl.solving.posing.isolating import flat
from lawdsl.solving.posing.posed import Condition

LOWEST, HIGHEST = math.log(1e-20), math.log(1e40)  # as far as a logarithm is looked for


@dataclass(frozen=True)
class Scale:
    """How an unknown is searched.

    Attributes:
        unknown: its symbol.
        searched: that of what is moved: its logarithm, or itself.
        low, high: its range.
    """

    unknown: sp.Symbol
    searched: sp.Symbol
    low: float
    high: float

    @property
    def logarithmic(self) -> bool:
        """Whether its logarithm is moved."""
        return bool(self.searched != self.unknown)

    @property
    def ends(self) -> tuple[float, float]:
        """The range of what is moved."""
        if not self.logarithmic:
            return self.low, self.high
        return (math.log(self.low) if self.low > 0 else LOWEST), HIGHEST

    def value(self, moved: float) -> float:
        """The unknown."""
        return math.exp(moved) if self.logarithmic else moved

    def slope(self, moved: float) -> float:
        """How the unknown changes with what is moved."""
        return self.value(moved) if self.logarithmic else 1.0

    def is_endless(self, moved: float) -> bool:
        """Whether the search has ended where nothing but it has an end."""
        reach = 1e-3 * (HIGHEST - LOWEST)
        above = moved > HIGHEST - reach
        return self.logarithmic and (above or (self.low == 0 and moved < LOWEST + reach))


def scale_of(unknown: sp.Symbol, low: float, high: float) -> Scale:
    """In logarithms where it is positive without an upper end."""
    if low >= 0 and math.isinf(high):
        return Scale(unknown, sp.Symbol(f"log {unknown.name}", real=True), low, high)
    return Scale(unknown, unknown, low, high)


def in_scale(expression: sp.Expr, places: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """An expression in what is moved, powers of one base merged."""
    if not expression.free_symbols & set(places):
        return expression
    return sp.expand_log(flat(expression.xreplace(dict(places))))


def condition_in_scale(condition: Condition, places: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """A condition as an expression that is at most 0, or 0: of two positive terms by the logarithm
    of their ratio, which has the same sign as their difference."""
    margin = in_scale(condition.margin, places)
    over, under = two_terms(margin) if places else (None, None)
    if over is not None and under is not None:
        margin = sp.expand_log(sp.log(over) - sp.log(under), force=True)
    return margin if condition.equality else -margin


def two_terms(margin: sp.Expr) -> tuple[sp.Expr | None, sp.Expr | None]:
    """The positive terms of a difference; None of anything else."""
    terms = sp.Add.make_args(margin)
    over = [t for t in terms if t.is_positive]
    under = [-t for t in terms if t.is_negative]
    if len(terms) == 2 and len(over) == len(under) == 1:
        return over[0], under[0]
    return None, None
