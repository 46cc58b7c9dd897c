"""Strict inequalities at the end of a search, which takes equality for enough.

An optimum on the boundary of a strict inequality is not attained. It is approached if feasible points
come as near to it as one likes; without such a point perhaps nothing is feasible at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.nlp.problem import Problem
from lawdsl.solving.nlp.starts import cloud

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

KEPT = 1e-9  # of the terms of a constraint: rounding
SHARES = np.array([1e-6, 1e-3, 0.1])  # of the way to a feasible point, that are looked at
TRIED = 32  # such points


@dataclass(frozen=True)
class Strict:
    """Which inequalities of a problem are strict.

    Attributes:
        rows: of the constraints, shape (constraints,).
        low, high: of the bounds of each unknown, shape (n,).
    """

    rows: Mask
    low: Mask
    high: Mask

    def any(self) -> bool:
        return bool(self.rows.any() or self.low.any() or self.high.any())


def met_with_equality(problem: Problem, strict: Strict, x: Array) -> Strict:
    """The strict inequalities that hold with equality at a feasible point, but for rounding.

    Args:
        problem: in the units of its expressions.
        strict: which of its inequalities are.
        x: the point, shape (n,).
    """
    values, slopes = problem.functions.at(x)
    margins = -values[1:]
    sizes = np.maximum(problem.terms_on(x[:, None])[:, 0], np.abs(slopes[1:]) @ np.abs(x))
    rows = strict.rows & ~(margins > KEPT * np.where(np.isfinite(sizes), sizes, 0.0))
    low = strict.low & ~(x - problem.low > KEPT * np.maximum(np.abs(x), np.abs(problem.low)))
    high = strict.high & ~(problem.high - x > KEPT * np.maximum(np.abs(x), np.abs(problem.high)))
    return Strict(rows, low, high)


@np.errstate(all="ignore")  # points of a cloud may lie where a law overflows
def is_approached(problem: Problem, strict: Strict, x: Array, seed: int) -> bool:
    """Whether points that keep all strict inequalities were found ever nearer to a point.

    Args:
        problem: in the units of its expressions.
        strict: which of its inequalities are.
        x: the point, shape (n,).
        seed: of the points that are tried.
    """
    inside = _keep(problem, strict, np.array(list(_candidates(problem, seed))).T)
    for target in inside.T[:TRIED]:
        way = x[:, None] + SHARES * (target - x)[:, None]
        if _keep(problem, strict, way).shape[1] == len(SHARES):
            return True
    return False


def _candidates(problem: Problem, seed: int) -> Iterator[Array]:
    centre = problem.polytope.centre
    if centre is not None:
        yield centre
    yield from cloud(problem, seed).points.T


def _keep(problem: Problem, strict: Strict, points: Array) -> Array:
    """The points, shape (n, points), that keep all constraints, strict ones strictly."""
    values = problem.functions.values_on(points)[1:]
    sizes = np.nan_to_num(problem.terms_on(points), nan=0.0, posinf=0.0)
    slack = np.where(problem.equality[:, None], np.abs(values), values)
    kept = np.where(strict.rows[:, None], slack < 0, slack <= KEPT * sizes).all(axis=0)
    low, high = problem.low[:, None], problem.high[:, None]
    kept &= np.where(strict.low[:, None], points > low, points >= low).all(axis=0)
    kept &= np.where(strict.high[:, None], points < high, points <= high).all(axis=0)
    return np.asarray(points[:, kept])
