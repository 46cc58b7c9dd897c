"""Candidate runs -> a batch that is spread over them: the design that takes no law for granted.

Each pick is the affordable run that is farthest from all runs so far (Gonzalez 1985, Theoretical
Computer Science 38: within a factor 2 of the largest least distance). Coordinates are the ranks of
the values among the distinct ones of all candidates, so that each size of a grid is as far from the
next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.designing.runs.batch import BUDGET_RTOL, Prices

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


def grid_coordinates(columns: Array) -> Array:
    """Coordinates from 0 to 1, by rank among the distinct values.

    Args:
        columns: the variables of candidates, shape (variables, candidates).

    Returns:
        Shape (candidates, variables).
    """
    result = np.zeros(columns.T.shape)
    for k, values in enumerate(columns):
        distinct, rank = np.unique(values, return_inverse=True)
        result[:, k] = rank / max(1, len(distinct) - 1)
    return result


def spread_batch(
    coordinates: Array,
    costs: Array,
    budget: float,
    done: Array,
    *,
    available: NDArray[np.bool_] | None = None,
    most: int | None = None,
    prices: Prices | None = None,
) -> list[int]:
    """Choose runs that are far from one another and from those that are done.

    Args:
        coordinates: of the candidates, shape (candidates, axes).
        costs: of the candidates, shape (candidates,).
        budget: what the batch may cost.
        done: coordinates of the runs that are done, shape (runs, axes).
        available: which candidates may be chosen; None for all.
        most: the largest number of runs; None without a limit.
        prices: what the candidates cost once some are chosen; None for the same.

    Returns:
        Numbers of candidates, in the order in which they were chosen.
    """
    free = np.ones(len(costs), dtype=np.bool_) if available is None else available.copy()
    distance = np.full(len(costs), np.inf)
    for point in done:
        distance = np.minimum(distance, np.linalg.norm(coordinates - point, axis=1))
    chosen, left = list[int](), budget * (1 + BUDGET_RTOL)
    while most is None or len(chosen) < most:
        costs = costs if prices is None else prices(chosen)
        numbers = np.flatnonzero(free & (costs <= left))
        if not len(numbers):
            break
        # of equally distant runs the cheaper one
        order = np.lexsort((costs[numbers], -distance[numbers]))
        pick = int(numbers[order[0]])
        chosen.append(pick)
        free[pick] = False
        left -= costs[pick]
        distance = np.minimum(distance, np.linalg.norm(coordinates - coordinates[pick], axis=1))
    return chosen
