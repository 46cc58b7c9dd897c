"""A solution -> the strict inequalities that hold with equality, and whether the solution is a
limit of feasible points.

An optimum on the boundary of a strict inequality is not attained. It is approached if there are
feasible points arbitrarily close to it; otherwise there may be no feasible point at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.nlp.problem import NlpProblem
from lawdsl.solving.nlp.starts import point_cloud

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Relative to the terms of a constraint: smaller slack is rounding error.
STRICT_RTOL = 1e-9
# Points on the line to a feasible point that are tested, as shares of its length.
APPROACH_SHARES = np.array([1e-6, 1e-3, 0.1])
MAX_TARGETS = 32  # feasible points that define such lines


@dataclass(frozen=True)
class StrictInequalities:
    """The mask of strict inequalities of a problem.

    Attributes:
        rows: whether each constraint is strict, shape (constraints,).
        low, high: whether the lower and the upper bound of each unknown are strict, shape (n,).
    """

    rows: Mask
    low: Mask
    high: Mask

    def any(self) -> bool:
        """Whether any inequality is strict."""
        return bool(self.rows.any() or self.low.any() or self.high.any())


def met_with_equality(
    problem: NlpProblem, strict: StrictInequalities, x: Array
) -> StrictInequalities:
    """Return the strict inequalities that hold with equality at a feasible point, to STRICT_RTOL.

    Args:
        problem: the problem in the units of its expressions.
        strict: which of its inequalities are strict.
        x: the point, shape (n,).

    Returns:
        The strict inequalities that hold with equality.
    """
    values, slopes = problem.functions.at(x)
    margins = -values[1:]
    sizes = np.maximum(problem.terms_on(x[:, None])[:, 0], np.abs(slopes[1:]) @ np.abs(x))
    # not (>): a margin of nan counts as equality, which weakens the answer
    rows = strict.rows & ~(margins > STRICT_RTOL * np.where(np.isfinite(sizes), sizes, 0.0))
    low = strict.low & ~(x - problem.low > STRICT_RTOL * np.maximum(np.abs(x), np.abs(problem.low)))
    high = strict.high & ~(
        problem.high - x > STRICT_RTOL * np.maximum(np.abs(x), np.abs(problem.high))
    )
    return StrictInequalities(rows, low, high)


@np.errstate(all="ignore")  # points of a cloud may be where a law overflows
def is_approached(problem: NlpProblem, strict: StrictInequalities, x: Array, seed: int) -> bool:
    """Decide whether strictly feasible points approach a point.

    The points x + s (z - x) are tried for decreasing s and strictly feasible z.

    Args:
        problem: the problem in the units of its expressions.
        strict: which of its inequalities are strict.
        x: the point, shape (n,).
        seed: the seed of the points z.

    Returns:
        Whether all tested points on the line to some z are strictly feasible; False is not a proof.
    """
    inside = _strictly_feasible(problem, strict, np.array(list(_candidates(problem, seed))).T)
    for target in inside.T[:MAX_TARGETS]:
        path = x[:, None] + APPROACH_SHARES * (target - x)[:, None]
        if _strictly_feasible(problem, strict, path).shape[1] == len(APPROACH_SHARES):
            return True
    return False


def _candidates(problem: NlpProblem, seed: int) -> Iterator[Array]:
    centre = problem.polytope.centre
    if centre is not None:
        yield centre
    yield from point_cloud(problem, seed).points.T


def _strictly_feasible(problem: NlpProblem, strict: StrictInequalities, points: Array) -> Array:
    """The points, shape (n, points), that satisfy all constraints, strict ones strictly."""
    values = problem.functions.values_on(points)[1:]
    # an infinite size would tolerate any violation
    sizes = np.nan_to_num(problem.terms_on(points), nan=0.0, posinf=0.0)
    slack = np.where(problem.equality[:, None], np.abs(values), values)
    is_feasible = np.where(strict.rows[:, None], slack < 0, slack <= STRICT_RTOL * sizes).all(
        axis=0
    )
    low, high = problem.low[:, None], problem.high[:, None]
    is_feasible &= np.where(strict.low[:, None], points > low, points >= low).all(axis=0)
    is_feasible &= np.where(strict.high[:, None], points < high, points <= high).all(axis=0)
    return np.asarray(points[:, is_feasible])
