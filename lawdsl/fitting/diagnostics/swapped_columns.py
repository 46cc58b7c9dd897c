"""Columns + fit -> rows in which two columns are exchanged, such as N and D.

Such a row is often a point of high leverage, which the fit follows, so that its residual is small.
It is detected by the design: if other rows have few distinct values of each variable, the row has a
value of one variable in the column of the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.refit import least_squares_near

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# a variable is on a grid if at least so many rows have its most frequent value
MIN_GRID_COUNT = 4
# relative to the number of rows with the most frequent value: a rarer value is not on the grid
GRID_COUNT_SHARE = 0.25
# of the rows: a larger number is not mistakes in single rows
MAX_EXCHANGED_SHARE = 0.2
# largest ratio of the sums of squares after and before the exchange, for rows that match a grid
MAX_GRID_RATIO = 1.1
# the same for rows that only match the ranges of the others, for tables of any length
MAX_RANGE_RATIO = 0.7
# twice the log-likelihood ratio required for these rows, which is rarely reached by chance
MIN_DEVIANCE = 20.0
# of the prefixes of the units of two columns; the first, equal units, is the most likely
UNIT_RATIOS = (1.0, 1e3, 1e-3, 1e6, 1e-6)


@dataclass(frozen=True)
class ExchangedRows:
    """Rows with two columns exchanged.

    Attributes:
        rows: their indices in the problem.
        names: the names of the two variables.
    """

    rows: NDArray[np.int64]
    names: tuple[str, str]


def find_exchanged_rows(law: PreparedLaw, problem: Problem, theta: Array) -> list[ExchangedRows]:
    """Find rows that match the design of the others only if two of their columns are exchanged, and
    that the law then describes at least as well.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
    """
    numbers = [i for i, q in enumerate(law.variables) if "[" not in q.name]
    exchanges = []
    for i, k in itertools.combinations(numbers, 2):
        found = _exchange(problem, theta, i, k)
        if found is not None:
            names = law.variables[i].name, law.variables[k].name
            exchanges.append(ExchangedRows(np.flatnonzero(found), names))
    return exchanges


def _exchange(problem: Problem, theta: Array, i: int, k: int) -> Mask | None:
    """The mask of rows in which two columns are exchanged; None if there are none.

    Columns that are exchanged in the table are read in each other's unit, of another prefix: 2.4
    Mparam and 117 Gtoken were 117 Mparam and 2.4 Gtoken.
    """
    a, b = problem.columns[i], problem.columns[k]
    for divisor in UNIT_RATIOS:
        for rows, max_ratio in _candidates(a, b / divisor, problem.rows - problem.parameters):
            if rows.any() and _squares_ratio(problem, theta, rows, i, k, divisor) < max_ratio:
                return rows
    return None


def _candidates(a: Array, b: Array, dof: int) -> Iterator[tuple[Mask, float]]:
    """Rows that may be exchanged, according to the grid of the others or their ranges; and the
    largest ratio of the sums of squares after and before the exchange at which they count as
    exchanged.

    A grid is sufficient evidence. Runs outside the ranges of the others may be intentional: the
    log-likelihood ratio under Gaussian noise, n/2·log(before/after), must show that they are not.

    Args:
        a, b: two variables, shape (rows,) each.
        dof: residual degrees of freedom, for n.
    """
    on_a, on_b = _grid_levels(a), _grid_levels(b)
    if len(on_a) and len(on_b):
        off_grid = ~np.isin(a, on_a) & ~np.isin(b, on_b)
        rows = off_grid & np.isin(a, on_b) & np.isin(b, on_a)
        if np.sum(rows) <= MAX_EXCHANGED_SHARE * len(a):
            yield rows, MAX_GRID_RATIO
    a_larger = a > b
    rows = a_larger if 2 * np.sum(a_larger) < len(a) else ~a_larger
    if not rows.any() or np.sum(rows) > MAX_EXCHANGED_SHARE * len(a):
        return
    rest_a, rest_b = a[~rows], b[~rows]
    off_grid = ~_in_range_of(a, rest_a) & ~_in_range_of(b, rest_b)
    max_ratio = min(MAX_RANGE_RATIO, float(np.exp(-MIN_DEVIANCE / max(dof, 1))))
    yield rows & off_grid & _in_range_of(a, rest_b) & _in_range_of(b, rest_a), max_ratio


def _grid_levels(values: Array) -> Array:
    """The values shared by many rows, which are the levels of a grid; empty for a variable without
    a grid.
    """
    levels, count = np.unique(values, return_counts=True)
    if count.max() < MIN_GRID_COUNT:
        return np.zeros(0)
    return levels[count >= GRID_COUNT_SHARE * count.max()]


def _in_range_of(values: Array, others: Array) -> Mask:
    return (values >= others.min()) & (values <= others.max())


def _squares_ratio(
    problem: Problem, theta: Array, rows: Mask, i: int, k: int, divisor: float
) -> float:
    """The ratio of the sums of squares with and without exchange of two columns of some rows, whose
    units have a ratio of `divisor`.
    """
    model = problem.model
    columns = model.columns.copy()
    columns[i, rows] = model.columns[k, rows] / divisor
    columns[k, rows] = model.columns[i, rows] * divisor
    exchanged = replace(problem, model=model.on(columns))
    before = least_squares_near(problem, theta)
    return least_squares_near(exchanged, theta) / before if before > 0 else np.inf
