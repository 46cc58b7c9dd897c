"""Evaluations in a table -> runs: variables that progress along a run, output at a position.

A reading between two evaluations a < x < b is interpolated linearly; the error is at most (x - a)(b
- x)/2·max|L''| (Stoer and Bulirsch (2002), Introduction to Numerical Analysis, 3rd ed., section
2.1.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

MAX_INTERPOLATION_DISTANCE = 1 / 16
"""Largest product of the distances of a position from two evaluations, relative to its square. For
a loss E + B/t^(1/2) the interpolation error is then 2 to 4 % of B/t^(1/2), from t/2 on: t^2 L''/2
is 3/8 of that.
"""


MAX_MOVING_VARIABLES = 3  # largest number of variables that grow along a run


@dataclass(frozen=True)
class RunReading:
    """The output of a run at a position, interpolated between the evaluations `neighbours`."""

    value: float
    neighbours: tuple[float, float] | None = None


def rounded_to_six_digits(numbers: Array) -> Array:
    """Numbers rounded to six significant digits, so that 1.8 equals 1800 in other units."""
    unique, codes = np.unique(numbers, return_inverse=True)
    return np.array([float(f"{x:.6g}") for x in unique])[codes.reshape(-1)]


def row_codes(columns: Sequence[NDArray[np.generic]], count: int) -> Codes:
    """An integer code for each row, equal where all columns agree.

    Args:
        columns: arrays of shape (count,).
        count: the number of rows.

    Returns:
        The codes from 0, shape (count,).
    """
    codes = np.zeros(count, dtype=np.int64)
    for column in columns:
        _, inner = np.unique(column, return_inverse=True)
        inner = inner.reshape(-1)
        # renumbered after each column: the product of many counts would overflow
        codes = np.unique(codes * (int(inner.max(initial=0)) + 1) + inner, return_inverse=True)[1]
        codes = codes.reshape(-1)
    return codes


def constant_along_runs(
    along: Array, variables: Mapping[str, Array], beside: Sequence[Codes]
) -> list[str]:
    """The variables that are constant along a run.

    Rows belong to one run if they agree in these; the other variables, such as D while `step`
    grows, increase with it in every run. Among several such choices the one with the fewest moving
    variables is taken, and then the one with the longest runs. Where no run has two evaluations,
    all variables count as constant.

    Args:
        along: the column along which runs progress, shape (rows,).
        variables: the candidates for moving variables, shape (rows,) each.
        beside: codes of the other columns that identify runs (labels, seeds), shape (rows,) each.
    """
    names = list(variables)
    for count in range(min(len(names), MAX_MOVING_VARIABLES) + 1):
        best: tuple[int, list[str]] | None = None
        for moving in combinations(names, count):
            rest = [name for name in names if name not in moving]
            runs = row_codes([*beside, *(variables[name] for name in rest)], len(along))
            # a run with one evaluation does not show which variables grow along it
            several = _rows_with_several_positions(runs, along)
            if several.any() and all(
                _grows_along_runs(runs[several], along[several], variables[name][several])
                for name in moving
            ):
                number = int(runs.max()) + 1
                best = (number, rest) if best is None or number < best[0] else best
        if best is not None:
            return best[1]
    return names


def _rows_with_several_positions(runs: Codes, along: Array) -> Mask:
    """The rows of runs with several positions."""
    low, high = (np.full(int(runs.max()) + 1, end) for end in (np.inf, -np.inf))
    np.minimum.at(low, runs, along)
    np.maximum.at(high, runs, along)
    several: Mask = (low < high)[runs]
    return several


def _grows_along_runs(runs: Codes, along: Array, variable: Array) -> bool:
    """Whether a variable increases along every run."""
    order = np.lexsort((variable, along, runs))
    same = np.diff(runs[order]) == 0
    further = np.diff(along[order]) > 0
    more = np.diff(variable[order])
    return bool(np.all(np.where(further, more > 0, more == 0)[same]))


def read_runs(
    runs: Codes, along: Array, output: Array, position: float
) -> Iterator[tuple[int, RunReading]]:
    """The output of each run at a position; runs without a usable evaluation there are omitted.

    Args:
        runs: the number of each row's run, shape (rows,).
        along: the position of each row in its run, shape (rows,).
        output: the measured output, shape (rows,).
        position: the position to read.

    Returns:
        Pairs of the index of a run and its reading.
    """
    order = np.lexsort((along, runs))
    runs, along, output = runs[order], along[order], output[order]
    starts = np.flatnonzero(np.diff(runs, prepend=-1)).tolist()
    for first, last in pairwise([*starts, len(runs)]):
        reading = _read(along[first:last], output[first:last], position)
        if reading is not None:
            yield int(runs[first]), reading


def _read(along: Array, output: Array, position: float) -> RunReading | None:
    """The mean of the evaluations at the position, else linear interpolation."""
    low = int(np.searchsorted(along, position, side="left"))
    high = int(np.searchsorted(along, position, side="right"))
    if low < high:
        return RunReading(float(output[low:high].mean()))
    if low == 0 or low == len(along):
        return None
    before, after = float(along[low - 1]), float(along[low])
    if (position - before) * (after - position) > MAX_INTERPOLATION_DISTANCE * position**2:
        return None
    one, other = (float(output[along == step].mean()) for step in (before, after))
    share = (position - before) / (after - before)
    return RunReading(one + share * (other - one), (before, after))
