"""A question with one unknown, and what was found: what all that is said of an answer rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion, Unknown
from lawdsl.solving.uncertainty import FitUncertainty
from lawdsl.solving.univariate.kinks import Kinks
from lawdsl.solving.univariate.line_functions import Along
from lawdsl.solving.univariate.line_minimum import Candidate, Line
from lawdsl.solving.univariate.piecewise import KINKED
from lawdsl.solving.univariate.roots import Range

Values = Mapping[sp.Symbol, float]


@dataclass(frozen=True)
class Frame:
    """A question with one unknown.

    Attributes:
        posed: the question.
        unknown: the one that is left.
        follow: the others, as formulas of it.
        conditions: what it is subject to.
        along: goal, slope and conditions along it.
        noise: of the fits.
    """

    posed: FormulatedQuestion
    unknown: Unknown
    follow: Mapping[sp.Symbol, sp.Expr]
    conditions: Sequence[AlgebraicConstraint]
    along: Along
    noise: FitUncertainty

    @cached_property
    def kinks(self) -> Kinks | None:
        """The kinks of goal, conditions and followers; None where these are smooth."""
        return Kinks(self.along) if any(f.has(*KINKED) for f in self.along.outputs) else None

    @cached_property
    def followers(self) -> list[Unknown]:
        """The unknowns that follow, in the order of their formulas."""
        own = {unknown.symbol: unknown for unknown in self.posed.unknowns}
        return [own[symbol] for symbol in self.follow]


@dataclass(frozen=True)
class Found:
    """What was found, and for which values.

    Attributes:
        line: the goal on what the constraints allow.
        best: where it is smallest.
        bounding: numbers of the constraints that do not hold everywhere.
        values: of all symbols but the unknown.
        whole: the range of the unknown.
        level: of the intervals.
        seed: of the draws.
    """

    line: Line
    best: Candidate
    bounding: tuple[int, ...]
    values: Values
    whole: Range
    level: float
    seed: int

    @property
    def active(self) -> int | None:
        """The number of the formula that is 0 at the answer: 1 for the slope, 2 on for the
        constraints; None where the answer is an end of the range."""
        if self.best.which:
            return 2 + self.best.which[0]
        return 1 if self.best.kind == "stationary" else None
