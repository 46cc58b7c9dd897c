"""Residuals -> patterns in them: along a variable, among neighbouring rows, and in their size."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from lawdsl.core.distributions import (
    average_ranks,
    f_cdf,
    f_sf,
    normal_cdf,
    normal_quantile,
    rank_sum_pvalue,
)
from lawdsl.fitting.diagnostics.residuals import (
    FALSE_ALARM_RATE,
    View,
    chance,
    judged,
    spanned,
    without,
)

Array = NDArray[np.float64]
Groups = NDArray[np.int64]

MAX_DEGREE = 4  # of the polynomials in a variable's rank: up to three extrema
SMALL_TABLE_ROWS = 20  # rows: with no more, rank tests hardly reach the significance of an alarm
CURVE_DEGREES = (2, 3, 4)  # degrees of the polynomials that are tested with so few rows
LEAVE_ONE_OUT_PVALUE = 1e-3  # largest probability accepted with any one row left out
MAX_LEVELS = 16  # ranges of an axis with more values
MIN_HALF_FREEDOM = 5  # degrees of freedom in each half, for their scatter to be compared
MIN_SQUARES_RATIO = 1e-30  # relative: a lower limit of sums of squares, as rounding makes them


@dataclass(frozen=True)
class Pattern:
    """A way in which the residuals depend on one variable, or on two together.

    Attributes:
        axes: numbers of the axes, one or two.
        columns: the functions of the pattern, orthonormal, shape (rows, columns).
        curve: the part of the residuals that they explain, shape (rows,).
        share: of the residuals' squares that it explains.
        chance: the probability under noise, for the best of all patterns tested.
    """

    axes: tuple[int, ...]
    columns: Array
    curve: Array
    share: float
    chance: float


@dataclass(frozen=True)
class Scatter:
    """Residuals with a larger variance at one end of an axis than at the other.

    Attributes:
        axis: its number.
        border: the largest value of the lower half.
        ratio: standard deviation of the upper half over that of the lower.
        chance: the probability under noise of one size, for the best of all axes tested.
    """

    axis: int
    border: float
    ratio: float
    chance: float


@dataclass(frozen=True)
class Lines:
    """Neighbouring rows with correlated residuals, where rows differ in one variable alone.

    Attributes:
        axis: number of that variable.
        count: how many such lines there are.
        correlation: of residuals in one group of neighbours.
        inflation: how many rows count as one because of it.
        chance: the probability under independent noise, for the best of all groupings tested.
    """

    axis: int
    count: int
    correlation: float
    inflation: float
    chance: float


def pattern(seen: View, inflation: float = 1.0) -> Pattern | None:
    """The clearest pattern in the residuals, if it is significant.

    Args:
        seen: the residuals.
        inflation: how many dependent rows count as one.
    """
    best = None
    looks = list(_looks(seen))
    bends = list(_bends(seen)) if len(seen) <= SMALL_TABLE_ROWS else []
    count = len(looks) + len(bends)
    for axes, columns, few in [*((*one, False) for one in looks), *((*one, True) for one in bends)]:
        added = judged(seen.basis, columns)
        worst, share = _explained(seen, added, seen.left, inflation)
        # values and ranks must agree: heavy-tailed noise fails a test on values alone
        if not few:
            worst = max(worst, _explained(seen, added, seen.scores, inflation)[0])
        elif worst < LEAVE_ONE_OUT_PVALUE:
            worst = _without_any(seen, columns, worst, inflation)
        corrected = min(1.0, worst * count)
        if corrected < FALSE_ALARM_RATE and (best is None or corrected < best.chance):
            curve = added @ (added.T @ seen.left)
            best = Pattern(axes, added, curve, share, corrected)
    return best


def _explained(seen: View, added: Array, left: Array, inflation: float) -> tuple[float, float]:
    """The probability under noise of an effect of some orthonormal columns, and their share of its
    squares."""
    whole, taken = float(np.sum(left**2)), float(np.sum((added.T @ left) ** 2))
    freedom = seen.freedom - added.shape[1]
    likely = chance(taken, added.shape[1], whole - taken, freedom, inflation)
    return likely, taken / whole if whole else 0.0


def _without_any(seen: View, columns: Array, worst: float, inflation: float) -> float:
    """The largest probability when any one row is left out, so that a single large error makes no
    pattern."""
    for row in range(len(seen)):
        rest = np.arange(len(seen)) != row
        part = seen.keep(rest)
        added = judged(part.basis, columns[rest])
        worst = max(worst, _explained(part, added, part.left, inflation)[0])
    return worst


def _bends(seen: View) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Simple curves along each axis, in its values and in their ranks, for tables so small that
    rank tests have little power. The span of the Jacobian is projected out of them later."""
    for i, values in enumerate(seen.axes):
        levels = len(np.unique(values))
        for place in (values, average_ranks(values)):
            size = float(np.ptp(place))
            for degree in CURVE_DEGREES:
                if degree < levels and 0 < size < np.inf:
                    # divided first: twice the range may overflow
                    scaled = 2 * ((place - place.min()) / size) - 1
                    yield (i,), legendre.legvander(scaled, degree)[:, 1:]


def _looks(seen: View) -> Iterator[tuple[tuple[int, ...], Array]]:
    """All patterns that are tested: each axis, and each pair of variables."""
    along = [_polynomials(values) for values in seen.axes]
    for i, columns in enumerate(along):
        if columns.shape[1]:
            yield (i,), columns
    # the last axis is the prediction, a function of the others
    for i, k in itertools.combinations(range(len(along) - 1), 2):
        products = [a * b for a in along[i].T[:2] for b in along[k].T[:2]]
        if products:
            yield (i, k), np.column_stack([along[i], along[k], *products])


def _polynomials(values: Array) -> Array:
    """Legendre polynomials in the rank of the values: they are the same for a variable and its
    logarithm."""
    levels = len(np.unique(values))
    if levels < 2:
        return np.zeros((len(values), 0))
    ranks = average_ranks(values)
    place = 2 * (ranks - ranks.min()) / np.ptp(ranks) - 1
    return legendre.legvander(place, min(MAX_DEGREE, levels - 1))[:, 1:]


def lines(seen: View, axes: Sequence[int], inflation: float = 1.0) -> Lines | None:
    """The clearest sign that neighbouring rows are not independent, if it is significant.

    Rows that differ in one variable alone make a line. The variance between the means of whole
    lines, and of pairs of neighbours on them, is compared with that within (analysis of variance).

    Args:
        seen: the residuals.
        axes: numbers of the variables along which lines are formed.
        inflation: how many rows, dependent in another way, count as one.
    """
    found = []
    looks = list(_neighbours(seen, axes))
    for axis, line, groups in looks:
        results = [
            _grouped(seen.basis, left, groups, inflation) for left in (seen.scores, seen.left)
        ]
        corrected = min(1.0, max(p for p, _ in results) * len(looks))
        if corrected < FALSE_ALARM_RATE:
            ratio, size, length = results[1][1], _size(groups), _size(line)
            correlation = (ratio - 1) / (ratio + size - 1)
            # Kish's design effect 1 + (m - 1)·correlation; pairs stand for their line
            loss = 1 + (size - 1) * correlation if size == length else min(ratio, length)
            count = int(np.sum(np.bincount(line) > 1))
            found.append(Lines(axis, count, correlation, loss, corrected))
    if not found:
        return None
    clearest = min(found, key=lambda one: one.chance)
    return replace(clearest, inflation=max(1.0, *(one.inflation for one in found)))


def _size(groups: Groups) -> float:
    """The mean size of the group of a row, over the rows."""
    return float(np.mean(np.bincount(groups)[groups]))


def _neighbours(seen: View, axes: Sequence[int]) -> Iterator[tuple[int, Groups, Groups]]:
    """Yield an axis, the line of each row, and its group: first the complete line, then pairs on
    it."""
    variables = seen.axes[:-1]
    for axis in axes:
        others = np.delete(variables, axis, axis=0)
        line = np.zeros(len(seen), dtype=np.int64)
        if len(others):
            line = np.unique(others, axis=1, return_inverse=True)[1].reshape(-1)
        sizes = np.bincount(line)
        if np.sum(sizes > 1) > 1:
            yield axis, line, line
        if np.max(sizes) > 2:
            yield axis, line, _pairs(line, variables[axis])


def levels(values: Array) -> Array:
    """Indicator columns of the values, or ranges of values, of an axis.

    Returns:
        Shape (rows, columns), 1 where a row has the value.
    """
    place = np.unique(values, return_inverse=True)[1].reshape(-1)
    if place.max() >= MAX_LEVELS:
        ranks = average_ranks(values) - 1
        place = (ranks * MAX_LEVELS / len(values)).astype(np.int64)
    columns: Array = (place[:, None] == np.unique(place)).astype(float)
    return columns


def _pairs(line: Groups, along: Array) -> Groups:
    """Pairs of neighbours on each line; an odd row at its end joins the last pair."""
    # equal rows are sorted by what was measured: shuffled, so that neighbours are not alike
    order = np.lexsort((np.random.default_rng(0).permutation(len(line)), along, line))
    sizes = np.bincount(line)
    place = np.arange(len(line)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    pair = np.minimum(place // 2, np.maximum(np.repeat(sizes, sizes) // 2 - 1, 0))
    groups = np.empty(len(line), dtype=np.int64)
    groups[order] = line[order] * len(line) + pair
    return np.unique(groups, return_inverse=True)[1].reshape(-1)


def _grouped(basis: Array, left: Array, groups: Groups, inflation: float) -> tuple[float, float]:
    """The probability that means of groups differ so much, and the ratio of the variance between to
    that within."""
    inside = left - _means(left, groups)
    own = spanned(basis - _means(basis, groups))
    rest = float(np.sum(without(own, inside) ** 2))
    freedom = len(left) - len(np.unique(groups)) - own.shape[1]
    extra = len(left) - basis.shape[1] - freedom
    taken = float(np.sum(left**2)) - rest
    if freedom < 1 or extra < 1 or taken <= 0:
        return 1.0, np.nan
    rest = max(rest, MIN_SQUARES_RATIO * taken)  # the members of all groups may be equal
    return chance(taken, extra, rest, freedom, inflation), taken / extra / (rest / freedom)


def _means(columns: Array, groups: Groups) -> Array:
    """Each value replaced by the mean of its group."""
    total = np.zeros((int(groups.max()) + 1, *columns.shape[1:]))
    np.add.at(total, groups, columns)
    size = np.bincount(groups).reshape(-1, *[1] * (columns.ndim - 1))
    means: Array = (total / size)[groups]
    return means


def scatter(seen: View, inflation: float = 1.0) -> Scatter | None:
    """The clearest difference in the variance of the residuals between two halves of the rows.

    The law is fitted to each half by itself, so their sums of squares are independent and F =
    (S_above/f_above)/(S_below/f_below) has exactly an F distribution (Goldfeld and Quandt (1965),
    Journal of the American Statistical Association 60). A rank test must agree.

    Args:
        seen: the residuals.
        inflation: how many dependent rows count as one.
    """
    best = None
    halves = [
        (i, half) for i, values in enumerate(seen.axes) if (half := _half(values)) is not None
    ]
    spread = np.sqrt(np.maximum(1 - np.sum(seen.basis**2, axis=1), 1e-3))
    for axis, low in halves:
        (below, freedom), (above, freedom_above) = (_squares(seen, part) for part in (low, ~low))
        if min(freedom, freedom_above) < MIN_HALF_FREEDOM or below <= 0 or above <= 0:
            continue
        ratio = above / freedom_above / (below / freedom)
        each = freedom_above / inflation, freedom / inflation
        # each tail by its own function: 1 - cdf loses small probabilities
        sides = f_sf(ratio, *each), f_cdf(ratio, *each)
        sizes = np.abs(seen.left) / spread
        ranked = rank_sum_pvalue(sizes[~low], sizes[low])
        # dependent rows carry less evidence: the normal score shrinks by the root of their number
        ranked = 2 * normal_cdf(normal_quantile(ranked / 2) / np.sqrt(inflation))
        corrected = min(1.0, max(2 * min(sides), float(ranked)) * len(halves))
        if corrected < FALSE_ALARM_RATE and (best is None or corrected < best.chance):
            border = float(np.max(seen.axes[axis][low]))
            best = Scatter(axis, border, float(np.sqrt(ratio)), corrected)
    return best


def _half(values: Array) -> NDArray[np.bool_] | None:
    """The lower half of the rows, as equal as ties permit."""
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) < 2:
        return None
    below = np.cumsum(counts)[:-1]
    half: NDArray[np.bool_] = values <= levels[int(np.argmin(np.abs(below - len(values) / 2)))]
    return half


def _squares(seen: View, part: NDArray[np.bool_]) -> tuple[float, int]:
    """The residual sum of squares of the law fitted to some rows alone, and its freedom."""
    own = spanned(seen.basis[part])
    return float(np.sum(without(own, seen.residual[part]) ** 2)), int(np.sum(part)) - own.shape[1]
