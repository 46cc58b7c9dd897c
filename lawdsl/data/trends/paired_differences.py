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

SAME = 1e-9  # relative: values closer than this are one
ZERO = 1e-14  # of the largest value: what is nearer to 0 is 0, as 1 - 0.7 - 0.3 is


@dataclass(frozen=True)
class Moves:
    """Measured values, or differences of them, each with the place where it was measured.

    Attributes:
        value: shape (n,).
        spread: its variance, where that of one measurement is 1 and all are independent; (n,).
        error: its variance by the standard errors of the measurements, nan where none are known.
        low: number of the value of each variable at its lower end, shape (variables, n).
        high: the same at its upper end.
        labels: what else is held equal, the training run and the like, shape (labels, n).
        apart: how many of the labels, the first ones, mean more than a repetition: what differs in
            them is never averaged.
    """

    value: Array
    spread: Array
    error: Array
    low: Codes
    high: Codes
    labels: Codes
    apart: int = 0

    def __len__(self) -> int:
        return len(self.value)

    def take(self, at: Codes | Mask) -> Moves:
        """Some of them, in this order."""
        short = (self.value[at], self.spread[at], self.error[at])
        places = (self.low[:, at], self.high[:, at], self.labels[:, at])
        return Moves(*short, *places, self.apart)


@dataclass(frozen=True)
class Scatter:
    """How far repeated measurements lie apart: sum of squares for a spread of 1, and freedom."""

    squares: float = 0.0
    df: int = 0

    def __add__(self, other: Scatter) -> Scatter:
        return Scatter(self.squares + other.squares, self.df + other.df)


def numbered(values: Array) -> tuple[Codes, Array]:
    """The number of each value among the distinct ones, and these, ascending."""
    found = np.unique(values)
    room = SAME * np.maximum(np.abs(found[1:]), np.abs(found[:-1])) + ZERO * np.max(np.abs(found))
    new = np.concatenate([[True], np.diff(found) > room])
    return (np.cumsum(new) - 1)[np.searchsorted(found, values)], found[new]


def differences(
    rows: Moves, order: Sequence[int], levels: Sequence[Array], *, ends: bool = False
) -> tuple[Moves, Scatter]:
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
    moves, scatter = rows, Scatter()
    for step, i in enumerate(dict.fromkeys(order)):
        moves, more = merged(moves, varying(moves, i))
        scatter += more
        moves, line = in_lines(moves, i)
        if len(order) == 2 and order[0] == order[1]:
            moves = _bends(moves, line, i, levels[i])
        else:
            at = _ends(line) if ends and step == 0 else _neighbours(line)
            moves = _combined(moves, at, np.array([[-1.0], [1.0]]))
    moves, more = merged(moves)
    return moves, scatter + more


def merged(moves: Moves, kept: Mask | None = None) -> tuple[Moves, Scatter]:
    """The means of all that was measured at one place, and how it scatters there.

    Args:
        moves: what was measured.
        kept: which labels still tell places apart, beside those that always do.
    """
    held = np.arange(len(moves.labels)) < moves.apart
    moves = replace(moves, labels=moves.labels[held if kept is None else held | kept])
    if not len(moves):
        return moves, Scatter()
    keys = np.concatenate([moves.low, moves.high, moves.labels])
    order = np.lexsort(keys)
    moves, first = moves.take(order), np.flatnonzero(_changes(keys[:, order]))
    count = np.diff(np.append(first, len(moves)))
    sums = (np.add.reduceat(x, first) for x in (moves.value, moves.spread, moves.error))
    value, spread, error = (x / n for x, n in zip(sums, (count, count**2, count**2), strict=True))
    rest = (moves.value - np.repeat(value, count)) ** 2 / np.repeat(spread * count, count)
    means = replace(moves.take(first), value=value, spread=spread, error=error)
    return means, Scatter(float(np.sum(rest)), len(moves) - len(first))


def varying(moves: Moves, i: int) -> Mask:
    """In which labels a variable varies, shape (labels,)."""
    found = []
    for label in moves.labels:
        order = np.lexsort((moves.low[i], label))
        same = np.diff(label[order]) == 0
        found.append(bool(np.any(same & (np.diff(moves.low[i][order]) != 0))))
    return np.array(found, dtype=bool)


def in_lines(moves: Moves, i: int) -> tuple[Moves, Codes]:
    """Ordered by all but one variable, then by that; and which line each lies on."""
    others = [np.delete(moves.low, i, axis=0), np.delete(moves.high, i, axis=0), moves.labels]
    keys = np.concatenate(others)
    order = np.lexsort((moves.low[i], *keys))
    return moves.take(order), np.cumsum(_changes(keys[:, order]), dtype=np.int64)


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


def _bends(moves: Moves, line: Codes, i: int, levels: Array) -> Moves:
    """How far the line between two values lies above the one between them."""
    middle = np.flatnonzero(line[2:] == line[:-2]) + 1
    at = np.array([middle - 1, middle + 1, middle])
    left, right, x = levels[moves.low[i][at]]
    share = (right - x) / (right - left)
    return _combined(moves, at, np.array([share, 1 - share, -np.ones(len(middle))]))


def _combined(moves: Moves, at: Codes, weights: Array) -> Moves:
    """Sums of weighted values; `at[0]` is their lower end, `at[1]` the upper."""
    return replace(
        moves.take(at[0]),
        value=np.sum(weights * moves.value[at], axis=0),
        spread=np.sum(weights**2 * moves.spread[at], axis=0),
        error=np.sum(weights**2 * moves.error[at], axis=0),
        high=moves.high[:, at[1]],
    )
