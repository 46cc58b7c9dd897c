"""Rows -> the largest runs, which are held out, and the cheaper runs from which they are predicted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

RATIOS = (1.0, 3.0, 10.0)
"""R: the cheapest held-out run costs at least R times as much as the most expensive fitted one."""

HELD_OUT = 0.1  # of the runs, the most expensive ones
MAX_LEVELS = 20  # distinct values of a size or budget that runs share
SAME_LEVEL_RTOL = 0.01  # costs that differ by less belong to one budget
ROUNDING_RTOL = 1e-9


@dataclass(frozen=True)
class LargestRuns:
    """The held-out largest runs of a table.

    Attributes:
        held_out: the rows of these runs, shape (rows,).
        cost: the cost of the run of each row, which is that of its most expensive row, shape
            (rows,).
        smallest: the smallest cost of a held-out run.
    """

    held_out: Mask
    cost: Array
    smallest: float

    def fitted(self, ratio: float) -> Mask:
        """The rows of the runs that cost at most 1/ratio of the cheapest held-out run, shape
        (rows,).

        With a ratio of 1 these are all runs that are not held out.
        """
        cheap = self.cost <= self.smallest / ratio * (1 + ROUNDING_RTOL)
        return ~self.held_out & (cheap | (ratio == 1))


def largest_runs(
    size: Array, runs: NDArray[np.int64] | None = None, cost: Array | None = None
) -> LargestRuns:
    """Hold out the largest tenth of the runs; if runs share few sizes, those of the largest size.

    Args:
        size: the size of the run of each row, shape (rows,), above 0.
        runs: the number of each row's run, shape (rows,); None where each row is a run.
        cost: the cost to which the ratios refer, shape (rows,), above 0; by default the size.

    Returns:
        The held-out runs; all runs, if they have the same size.
    """
    size_of_run = _largest_by_run(size, runs)
    first = np.arange(len(size)) if runs is None else np.unique(runs, return_index=True)[1]
    cost_of_run = size_of_run if cost is None else _largest_by_run(cost, runs)
    held_out = size_of_run >= _threshold(size_of_run[first])
    return LargestRuns(held_out, cost_of_run, float(np.min(cost_of_run[held_out])))


def _largest_by_run(values: Array, runs: NDArray[np.int64] | None) -> Array:
    """The greatest value of the run of each row, shape (rows,)."""
    if runs is None:
        return values
    _, number = np.unique(runs, return_inverse=True)
    greatest = np.full(int(number.max()) + 1, -np.inf)
    np.maximum.at(greatest, number, values)
    return greatest[number]


def _threshold(sizes: Array) -> float:
    """The smallest held-out size, from the sizes of the runs, shape (runs,)."""
    ordered = np.sort(sizes)
    lowest_of_level = [float(ordered[0])]
    for size in ordered.tolist():
        if size > lowest_of_level[-1] * (1 + SAME_LEVEL_RTOL):
            lowest_of_level.append(size)
    if len(lowest_of_level) <= min(MAX_LEVELS, len(sizes) // 2):
        return lowest_of_level[-1]
    return float(np.quantile(sizes, 1 - HELD_OUT)) * (1 - ROUNDING_RTOL)
