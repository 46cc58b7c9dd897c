"""Records of the univariate solver: a question with one unknown, and its solution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from lawdsl.law.functions import KINKED
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion, Unknown
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.uncertainty import FitUncertainty
from lawdsl.solving.univariate.kinks import Kinks
from lawdsl.solving.univariate.line_functions import LineFunctions
from lawdsl.solving.univariate.line_minimum import Candidate, LineMinimum
from lawdsl.solving.univariate.roots import UnknownRange

Values = Mapping[sp.Symbol, float]


@dataclass(frozen=True)
class SolverState:
    """A question with one unknown.

    Attributes:
        formulated: the question.
        unknown: the one that remains after elimination.
        follow: the others, as formulas of it.
        conditions: the constraints.
        functions: goal, slope and conditions as functions of it.
        noise: the uncertainty of the fits.
    """

    formulated: FormulatedQuestion
    unknown: Unknown
    follow: Mapping[sp.Symbol, sp.Expr]
    conditions: Sequence[AlgebraicConstraint]
    functions: LineFunctions
    noise: FitUncertainty

    @cached_property
    def kinks(self) -> Kinks | None:
        """The kinks of goal, conditions and followers; None where these are smooth."""
        return (
            Kinks(self.functions) if any(f.has(*KINKED) for f in self.functions.outputs) else None
        )

    @cached_property
    def followers(self) -> list[Unknown]:
        """The unknowns that follow, in the order of their formulas."""
        unknown_of_symbol = {unknown.symbol: unknown for unknown in self.formulated.unknowns}
        return [unknown_of_symbol[symbol] for symbol in self.follow]


@dataclass(frozen=True)
class UnivariateSolution:
    """The solution of a question with one unknown, and the values for which it was computed.

    Attributes:
        minimum: the minimum of the goal under the constraints.
        best: where it is smallest.
        bounding: positions of the constraints that do not hold everywhere.
        values: the values of all symbols but the unknown.
        domain: the range of the unknown.
        level: the level of the intervals.
        seed: the seed of the draws.
    """

    minimum: LineMinimum
    best: Candidate
    bounding: tuple[int, ...]
    values: Values
    domain: UnknownRange
    level: float
    seed: int

    @property
    def active(self) -> int | None:
        """The number of the formula that is 0 at the answer: 1 for the slope, 2 on for the
        constraints; None where the answer is an end of the range."""
        if self.best.constraints:
            return 2 + self.best.constraints[0]
        return 1 if self.best.kind == "stationary" else None


def unknown_range(unknown: Unknown, values: Values) -> UnknownRange:
    """The range of an unknown, by its bounds at these values.

    Args:
        unknown: one of the question.
        values: symbol -> value, of all symbols but the unknowns.
    """
    low, high, low_open, high_open = -math.inf, math.inf, True, True
    for relation, limit in unknown.bounds:
        end = evaluated(limit, values)
        if relation.startswith(">") and end >= low:
            low, low_open = end, relation == ">" or (end == low and low_open)
        elif relation.startswith("<") and end <= high:
            high, high_open = end, relation == "<" or (end == high and high_open)
    return UnknownRange(low, high, low_open, high_open)
