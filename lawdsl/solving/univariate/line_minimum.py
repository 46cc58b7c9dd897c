"""One unknown: records of the minimum of a function under constraints, with its certificates."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from lawdsl.compiling.intervals import Interval
from lawdsl.solving.univariate.interval_functions import IntervalFunction
from lawdsl.solving.univariate.roots import nearest_float


@dataclass(frozen=True)
class IntervalMargin:
    """A constraint: a function that is not below 0; 0 if it is an equality, above 0 if strict."""

    function: IntervalFunction
    equality: bool = False
    strict: bool = False

    def allows(self, sign: int | None) -> bool:
        """Whether it holds where its function has a sign, or on its boundary."""
        return sign == 0 if self.equality else sign in (0, 1)


@dataclass(frozen=True)
class Candidate:
    """A point at which an optimum is possible.

    Attributes:
        x: where.
        kind: stationary, kink, constraint, end, plateau, or sampled.
        constraints: the positions of the constraints that bound it; empty for an end or a
            stationary point.
        attained: whether it is feasible.
        sides: the goal beside it, where that is allowed; two where it has a kink there.
    """

    x: Interval
    kind: str
    constraints: tuple[int, ...] = ()
    attained: bool = True
    sides: tuple[sp.Expr, ...] = ()

    @property
    def point(self) -> float:
        """The float nearest to the candidate."""
        return nearest_float(self.x)


@dataclass(frozen=True)
class LineMinimum:
    """The minimum of a function of one unknown under its constraints.

    Attributes:
        best: where it is smallest; None where no point is feasible.
        value: what it is there, or tends to.
        others: further points where it may be as small; `equal` says whether that is proved.
        equal: whether it is proved that these have the same value.
        gap: by how much the value at one of them may be smaller.
        plateau: the ends of a piece around the minimum on which the function is constant.
        open_ends: which of these ends do not belong to it.
        allowed: the intervals that the constraints allow.
        stationary: its stationary points in the range, each with whether it is a minimum (1), a
            maximum (-1) or neither (0).
        trend: the sign of the slope where it is constant on the feasible set; else 0.
        certain: whether it is proved that no other point is better; those in `others` excepted.
        undecided: the pieces that may hold a better one.
        complete: whether every turning point is known; elsewhere a bound of the function may have
            shown that no minimum is missed.
    """

    best: Candidate | None
    value: Interval | None
    others: tuple[Candidate, ...] = ()
    equal: bool = True
    gap: float = 0.0
    plateau: tuple[float, float] | None = None
    open_ends: tuple[bool, bool] = (False, False)
    allowed: tuple[tuple[float, float], ...] = ()
    stationary: tuple[tuple[float, int], ...] = ()
    trend: int = 0
    certain: bool = True
    undecided: tuple[tuple[float, float], ...] = ()
    complete: bool = True
