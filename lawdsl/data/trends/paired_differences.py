"""Measurements on a grid -> the differences that test claims on derivatives.

A first derivative in x compares two neighbours, y_2 - y_1; a mixed one the four corners of a
rectangle, (y_22 - y_12) - (y_21 - y_11); a second one three values in a row, by the height of the
chord above the middle point, (1 - w)·y_1 + w·y_3 - y_2 with w = (x_2 - x_1)/(x_3 - x_1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

LEVEL_RTOL = 1e-9  # relative difference of values that are equal up to rounding
LEVEL_ATOL = 1e-14  # relative to the largest value: rounding error of a 0: 1 - 0.7 - 0.3


@dataclass(frozen=True)
class GridValues:
    """Measured values, or differences of them, at cells of a grid.

    Attributes:
        value: shape (n,).
        spread: its variance in units of that of one measurement, if these are independent, shape
            (n,).
        error: its variance from the standard errors of the measurements, nan where unknown, shape
            (n,).
        low: codes of the variables' values at the lower end, shape (variables, n).
        high: codes of the variables' values at the upper end, shape (variables, n).
        labels: codes of further columns that are equal within a comparison, such as the training
            run, shape (labels, n).
        unaveraged: the number of leading labels across which measurements are never averaged.
    """

    value: Array
    spread: Array
    error: Array
    low: Codes
    high: Codes
    labels: Codes
    unaveraged: int = 0

    def __len__(self) -> int:
        return len(self.value)

    def take(self, index: Codes | Mask) -> GridValues:
        """The selected entries, in the order of the index; a mask selects entries too."""
        numbers = (self.value[index], self.spread[index], self.error[index])
        codes = (self.low[:, index], self.high[:, index], self.labels[:, index])
        return GridValues(*numbers, *codes, self.unaveraged)


@dataclass(frozen=True)
class RepeatScatter:
    """The scatter of repeated measurements: Σ (y - mean)²/spread, and its degrees of freedom."""

    squares: float = 0.0
    df: int = 0

    def __add__(self, other: RepeatScatter) -> RepeatScatter:
        return RepeatScatter(self.squares + other.squares, self.df + other.df)


def distinct_codes(values: Array) -> tuple[Codes, Array]:
    """The code of each value among the distinct ones, and the distinct values in ascending order.

    Values within LEVEL_RTOL of each other (LEVEL_ATOL near 0) count as equal.

    Args:
        values: shape (n,).

    Returns:
        Codes of shape (n,), and the distinct values.
    """
    distinct = np.unique(values)
    # shares such as 0.3 and 1 - 0.7 are one level of the grid
    room = LEVEL_RTOL * np.maximum(
        np.abs(distinct[1:]), np.abs(distinct[:-1])
    ) + LEVEL_ATOL * np.max(np.abs(distinct))
    new = np.concatenate([[True], np.diff(distinct) > room])
    return (np.cumsum(new) - 1)[np.searchsorted(distinct, values)], distinct[new]


def paired_differences(
    rows: GridValues, order: Sequence[int], levels: Sequence[Array], *, ends: bool = False
) -> tuple[GridValues, RepeatScatter]:
    """The differences that test a claim on a derivative, and the scatter of repeats.

    Labels within which a variable varies are equal in a comparison along it (the run, for D); over
    the other labels (the run, for r) measurements are averaged, and so are repeats at the end.

    Args:
        rows: the measurements.
        order: the indices of one or two variables, differenced one after the other; the same index
            twice for a second derivative.
        levels: the distinct values of each variable.
        ends: whether to compare the first with the last of at least three values of the first
            variable, instead of neighbours.
    """
    pairs, scatter = rows, RepeatScatter()
    # repeats are averaged before each difference, so that they do not multiply the number of pairs
    for step, i in enumerate(dict.fromkeys(order)):
        pairs, more = merge_repeats(pairs, varies_within_labels(pairs, i))
        scatter += more
        pairs, line = sort_into_lines(pairs, i)
        if len(order) == 2 and order[0] == order[1]:
            pairs = _second_differences(pairs, line, i, levels[i])
        else:
            ends_of_pairs = _end_indices(line) if ends and step == 0 else _neighbour_indices(line)
            pairs = _weighted_sums(pairs, ends_of_pairs, np.array([[-1.0], [1.0]]))
    pairs, more = merge_repeats(pairs)
    return pairs, scatter + more


def merge_repeats(
    pairs: GridValues, kept_labels: Mask | None = None
) -> tuple[GridValues, RepeatScatter]:
    """The means of all measurements at one place, and their scatter about the means.

    Args:
        pairs: the measurements.
        kept_labels: the mask of labels that still distinguish places, in addition to the leading
            ones, shape (labels,).
    """
    unaveraged = np.arange(len(pairs.labels)) < pairs.unaveraged
    pairs = replace(
        pairs, labels=pairs.labels[unaveraged if kept_labels is None else unaveraged | kept_labels]
    )
    if not len(pairs):
        return pairs, RepeatScatter()
    keys = np.concatenate([pairs.low, pairs.high, pairs.labels])
    order = np.lexsort(keys)
    pairs, first = pairs.take(order), np.flatnonzero(_is_new_value(keys[:, order]))
    count = np.diff(np.append(first, len(pairs)))
    sums = (np.add.reduceat(x, first) for x in (pairs.value, pairs.spread, pairs.error))
    # the variance of a mean of n independent values is their sum divided by n^2
    value, spread, error = (x / n for x, n in zip(sums, (count, count**2, count**2), strict=True))
    rest = (pairs.value - np.repeat(value, count)) ** 2 / np.repeat(spread * count, count)
    means = replace(pairs.take(first), value=value, spread=spread, error=error)
    return means, RepeatScatter(float(np.sum(rest)), len(pairs) - len(first))


def varies_within_labels(pairs: GridValues, i: int) -> Mask:
    """The mask of the labels within which a variable varies, shape (labels,).

    Args:
        pairs: the measurements.
        i: the index of the variable.
    """
    varies = []
    for label in pairs.labels:
        order = np.lexsort((pairs.low[i], label))
        same = np.diff(label[order]) == 0
        varies.append(bool(np.any(same & (np.diff(pairs.low[i][order]) != 0))))
    return np.array(varies, dtype=bool)


def sort_into_lines(pairs: GridValues, i: int) -> tuple[GridValues, Codes]:
    """The measurements sorted by all other variables, then by one; the line of each, shape (n,).

    Args:
        pairs: the measurements.
        i: the index of the variable along the lines.
    """
    others = [np.delete(pairs.low, i, axis=0), np.delete(pairs.high, i, axis=0), pairs.labels]
    keys = np.concatenate(others)
    order = np.lexsort((pairs.low[i], *keys))
    return pairs.take(order), np.cumsum(_is_new_value(keys[:, order]), dtype=np.int64)


def _is_new_value(keys: Codes) -> Mask:
    """The mask of columns that differ from the previous one; the first does."""
    differ = np.any(np.diff(keys, axis=1) != 0, axis=0)
    return np.concatenate([[True], differ])[: keys.shape[1]]


def _neighbour_indices(line: Codes) -> Codes:
    first = np.flatnonzero(np.diff(line) == 0)
    return np.array([first, first + 1])


def _end_indices(line: Codes) -> Codes:
    """The first and the last row of each line of at least three values."""
    _, first, count = np.unique(line, return_index=True, return_counts=True)
    return np.array([first, first + count - 1])[:, count >= 3]


def _second_differences(pairs: GridValues, line: Codes, i: int, levels: Array) -> GridValues:
    """The height of the chord between two values above the value between them."""
    middle = np.flatnonzero(line[2:] == line[:-2]) + 1
    triples = np.array([middle - 1, middle + 1, middle])
    lower, upper, x = levels[pairs.low[i][triples]]
    share = (upper - x) / (upper - lower)
    return _weighted_sums(pairs, triples, np.array([share, 1 - share, -np.ones(len(middle))]))


def _weighted_sums(pairs: GridValues, index: Codes, weights: Array) -> GridValues:
    """Weighted sums of values; `index[0]` is their lower end and `index[1]` the upper one."""
    return replace(
        pairs.take(index[0]),
        value=np.sum(weights * pairs.value[index], axis=0),
        spread=np.sum(weights**2 * pairs.spread[index], axis=0),
        error=np.sum(weights**2 * pairs.error[index], axis=0),
        high=pairs.high[:, index[1]],
    )
