"""Measured values -> the differences between neighbours that claims on derivatives are about.

A first derivative is told by two neighbours, a mixed one by the four corners of a rectangle, and a
second one by three values in a row: how far the middle one lies under the line between the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

LEVEL_RTOL = 1e-9  # relative: values closer than this are one
LEVEL_ATOL = 1e-14  # of the largest value: what is nearer to 0 is 0, as 1 - 0.7 - 0.3 is


@dataclass(frozen=True)
class PairedDifferences:
    """Measured values, or differences of them, each with the place where it was measured.

    Attributes:
        value: shape (n,).
        spread: its variance, where that of one measurement is 1 and all are independent; (n,).
        error: its variance by the standard errors of the measurements, nan where none are known.
        low: number of the value of each variable at its lower end, shape (variables, n).
        high: the same at its upper end.
        labels: what else is held equal, the training run and the like, shape (labels, n).
        unaveraged: how many of the labels, the first ones, mean more than a repetition: what differs in
            them is never averaged.
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

    def take(self, index: Codes | Mask) -> PairedDifferences:
        """Some of them, in this order."""
        numbers = (self.value[index], self.spread[index], self.error[index])
        codes = (self.low[:, index], self.high[:, index], self.labels[:, index])
        return PairedDifferences(*numbers, *codes, self.unaveraged)


@dataclass(frozen=True)
class RepeatScatter:
    """How far repeated measurements lie apart: sum of squares for a spread of 1, and freedom."""

    squares: float = 0.0
    df: int = 0

    def __add__(self, other: RepeatScatter) -> RepeatScatter:
        return RepeatScatter(self.squares + other.squares, self.df + other.df)


def numbered(values: Array) -> tuple[Codes, Array]:
    """The number of each value among the distinct ones, and these, ascending."""
    distinct = np.unique(values)
    room = LEVEL_RTOL * np.maximum(
        np.abs(distinct[1:]), np.abs(distinct[:-1])
    ) + LEVEL_ATOL * np.max(np.abs(distinct))
    new = np.concatenate([[True], np.diff(distinct) > room])
    return (np.cumsum(new) - 1)[np.searchsorted(distinct, values)], distinct[new]


def paired_differences(
    rows: PairedDifferences, order: Sequence[int], levels: Sequence[Array], *, ends: bool = False
) -> tuple[PairedDifferences, RepeatScatter]:
    """What a claim on a derivative compares, and the scatter of what was measured repeatedly.

    Labels in which a variable varies are held while it is followed (a run, while D grows); across
    the others (the same, while r differs) measurements are averaged, as are repeats at the end.

    Args:
        rows: the measurements.
        order: numbers of the variables, one or two, followed one after the other; twice the same
            for a second derivative.
        levels: the distinct values of each variable.
        ends: the first variable is followed from the first of at least three values to the last.
    """
    pairs, scatter = rows, RepeatScatter()
    for step, i in enumerate(dict.fromkeys(order)):
        pairs, more = merged(pairs, varying(pairs, i))
        scatter += more
        pairs, line = in_lines(pairs, i)
        if len(order) == 2 and order[0] == order[1]:
            pairs = _second_differences(pairs, line, i, levels[i])
        else:
            ends_of_pairs = _ends(line) if ends and step == 0 else _neighbours(line)
            pairs = _combined(pairs, ends_of_pairs, np.array([[-1.0], [1.0]]))
    pairs, more = merged(pairs)
    return pairs, scatter + more


def merged(
    pairs: PairedDifferences, kept_labels: Mask | None = None
) -> tuple[PairedDifferences, RepeatScatter]:
    """The means of all that was measured at one place, and how it scatters there.

    Args:
        pairs: what was measured.
        kept_labels: which labels still tell places apart, beside those that always do.
    """
    unaveraged = np.arange(len(pairs.labels)) < pairs.unaveraged
    pairs = replace(
        pairs, labels=pairs.labels[unaveraged if kept_labels is None else unaveraged | kept_labels]
    )
    if not len(pairs):
        return pairs, RepeatScatter()
    keys = np.concatenate([pairs.low, pairs.high, pairs.labels])
    order = np.lexsort(keys)
    pairs, first = pairs.take(order), np.flatnonzero(_changes(keys[:, order]))
    count = np.diff(np.append(first, len(pairs)))
    sums = (np.add.reduceat(x, first) for x in (pairs.value, pairs.spread, pairs.error))
    value, spread, error = (x / n for x, n in zip(sums, (count, count**2, count**2), strict=True))
    rest = (pairs.value - np.repeat(value, count)) ** 2 / np.repeat(spread * count, count)
    means = replace(pairs.take(first), value=value, spread=spread, error=error)
    return means, RepeatScatter(float(np.sum(rest)), len(pairs) - len(first))


def varying(pairs: PairedDifferences, i: int) -> Mask:
    """In which labels a variable varies, shape (labels,)."""
    varies = []
    for label in pairs.labels:
        order = np.lexsort((pairs.low[i], label))
        same = np.diff(label[order]) == 0
        varies.append(bool(np.any(same & (np.diff(pairs.low[i][order]) != 0))))
    return np.array(varies, dtype=bool)


def in_lines(pairs: PairedDifferences, i: int) -> tuple[PairedDifferences, Codes]:
    """Ordered by all but one variable, then by that; and which line each lies on."""
    others = [np.delete(pairs.low, i, axis=0), np.delete(pairs.high, i, axis=0), pairs.labels]
    keys = np.concatenate(others)
    order = np.lexsort((pairs.low[i], *keys))
    return pairs.take(order), np.cumsum(_changes(keys[:, order]), dtype=np.int64)


def _changes(keys: Codes) -> Mask:
    """Where a column differs from the one before it; the first does."""
    differ = np.any(np.diff(keys, axis=1) != 0, axis=0)
    return np.concatenate([[True], differ])[: keys.shape[1]]


def _neighbours(line: Codes) -> Codes:
    first = np.flatnonzero(np.diff(line) == 0)
    return np.array([first, first + 1])


def _ends(line: Codes) -> Codes:
    """The first and the last of each line of three values at least."""
    _, first, count = np.unique(line, return_index=True, return_counts=True)
    return np.array([first, first + count - 1])[:, count >= 3]


def _second_differences(
    pairs: PairedDifferences, line: Codes, i: int, levels: Array
) -> PairedDifferences:
    """How far the line between two values lies above the one between them."""
    middle = np.flatnonzero(line[2:] == line[:-2]) + 1
    triples = np.array([middle - 1, middle + 1, middle])
    lower, upper, x = levels[pairs.low[i][triples]]
    share = (upper - x) / (upper - lower)
    return _combined(pairs, triples, np.array([share, 1 - share, -np.ones(len(middle))]))


def _combined(pairs: PairedDifferences, index: Codes, weights: Array) -> PairedDifferences:
    """Sums of weighted values; `at[0]` is their lower end, `at[1]` the upper."""
    return replace(
        pairs.take(index[0]),
        value=np.sum(weights * pairs.value[index], axis=0),
        spread=np.sum(weights**2 * pairs.spread[index], axis=0),
        error=np.sum(weights**2 * pairs.error[index], axis=0),
        high=pairs.high[:, index[1]],
    )
