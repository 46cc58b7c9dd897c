"""Columns + fit -> rows in which two columns are exchanged: N in the column of D, and D in that of
N.

Such a row is often a point of high leverage, which the fit follows, so that its residual is small.
The design shows it: where other rows have few values of each variable, the row has a value of one
variable in the column of the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.refit import squares_of

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MIN_GRID_COUNT = 4  # rows that have the commonest value of a variable: below, it is not a grid
# of the rows of the commonest value: a value that as many rows have is on the grid
GRID_COUNT_SHARE = 0.25
MAX_EXCHANGED_SHARE = 0.2  # of the rows: more are not mistakes in single rows
# times the sum of squares: rows that fit a grid may change as much when exchanged
MAX_GRID_RATIO = 1.1
# of it at most, however many rows there are: rows that only fit the ranges of the others
MAX_RANGE_RATIO = 0.7
# twice the log-likelihood ratio required of such rows: rarely reached by chance
MIN_DEVIANCE = 20.0


@dataclass(frozen=True)
class Exchanged:
    """Rows with two columns exchanged.

    Attributes:
        rows: their numbers in the problem.
        names: of the two variables.
    """

    rows: NDArray[np.int64]
    names: tuple[str, str]


def exchanged(law: PreparedLaw, problem: Problem, theta: Array) -> list[Exchanged]:
    """Find rows that match the design of the others once two of their columns are exchanged, and
    not before, and that the law then describes as well or better.

    Args:
        law: the law.
        problem: its fit.
        theta: the fitted parameters, shape (parameters,).
    """
    numbers = [i for i, q in enumerate(law.variables) if "[" not in q.name]
    found = []
    for i, k in itertools.combinations(numbers, 2):
        a, b = problem.columns[i], problem.columns[k]
        for rows, most in _candidates(a, b, problem.rows - problem.parameters):
            if rows.any() and _change(problem, theta, rows, i, k) < most:
                names = law.variables[i].name, law.variables[k].name
                found.append(Exchanged(np.flatnonzero(rows), names))
                break
    return found


def _candidates(a: Array, b: Array, freedom: int) -> Iterator[tuple[Mask, float]]:
    """Rows that may be exchanged, by the grid of the others or by their ranges; and the largest
    ratio of the sums of squares after and before the exchange for which they count as exchanged.

    A grid is evidence by itself. Runs outside of the ranges of the others may have been planned:
    there the likelihood ratio of Gaussian noise, n/2·log(before/after), must show that they were
    not.

    Args:
        a, b: two variables, shape (rows,) each.
        freedom: residual degrees of freedom, for n.
    """
    on_a, on_b = _grid(a), _grid(b)
    if len(on_a) and len(on_b):
        off = ~np.isin(a, on_a) & ~np.isin(b, on_b)
        rows = off & np.isin(a, on_b) & np.isin(b, on_a)
        if np.sum(rows) <= MAX_EXCHANGED_SHARE * len(a):
            yield rows, MAX_GRID_RATIO
    above = a > b
    rows = above if 2 * np.sum(above) < len(a) else ~above
    if not rows.any() or np.sum(rows) > MAX_EXCHANGED_SHARE * len(a):
        return
    rest_a, rest_b = a[~rows], b[~rows]
    off = ~_between(a, rest_a) & ~_between(b, rest_b)
    most = min(MAX_RANGE_RATIO, float(np.exp(-MIN_DEVIANCE / max(freedom, 1))))
    yield rows & off & _between(a, rest_b) & _between(b, rest_a), most


def _grid(values: Array) -> Array:
    """The values that many rows share, the levels of a grid; empty for a variable without one."""
    own, count = np.unique(values, return_counts=True)
    if count.max() < MIN_GRID_COUNT:
        return np.zeros(0)
    return own[count >= GRID_COUNT_SHARE * count.max()]


def _between(values: Array, others: Array) -> Mask:
    return (values >= others.min()) & (values <= others.max())


def _change(problem: Problem, theta: Array, rows: Mask, i: int, k: int) -> float:
    """The sum of squares with two columns of some rows exchanged, relative to that without the
    exchange."""
    model = problem.model
    columns = model.columns.copy()
    columns[i, rows], columns[k, rows] = model.columns[k, rows], model.columns[i, rows]
    other = replace(problem, model=model.on(columns))
    before = squares_of(problem, theta)
    return squares_of(other, theta) / before if before > 0 else np.inf
