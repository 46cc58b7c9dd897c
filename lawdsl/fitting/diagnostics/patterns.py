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
from lawdsl.data.row_codes import row_codes
from lawdsl.fitting.diagnostics.residuals import (
    FALSE_ALARM_RATE,
    ResidualView,
    basis_outside,
    f_test_pvalue,
    orthonormal_basis,
    project_out,
)
from lawdsl.fitting.diagnostics.run_strata import run_strata

Array = NDArray[np.float64]
Groups = NDArray[np.int64]

MAX_DEGREE = 4  # degree of the polynomials in a variable's rank: up to three extrema
# with no more rows than this, rank tests hardly reach the significance of an alarm
SMALL_TABLE_ROWS = 20
CURVE_DEGREES = (2, 3, 4)  # degrees of the polynomials that are tested for such small tables
# patterns of smaller probability are also tested with each row left out
LEAVE_ONE_OUT_PVALUE = 1e-3
# means of runs whose ranks are dependent at this level agree with their values
MEANS_RANK_PVALUE = 1e-3
# an axis with more distinct values is cut into this many ranges of equal counts
MAX_LEVELS = 16
# residual degrees of freedom in each half: with fewer, their variances are not compared
MIN_HALF_DOF = 5
# smallest within-group sum of squares relative to that between groups: it may be 0 up to rounding
MIN_SQUARES_RATIO = 1e-30


@dataclass(frozen=True)
class Pattern:
    """A way in which the residuals depend on one variable, or on two together.

    Attributes:
        axes: positions of the axes, one or two.
        columns: the orthonormal functions of the pattern, shape (rows, columns).
        curve: the part of the residuals that they explain, shape (rows,).
        share: the share of the residual sum of squares that it explains.
        p_value: the p-value, corrected for the number of patterns tested.
    """

    axes: tuple[int, ...]
    columns: Array
    curve: Array
    share: float
    p_value: float


@dataclass(frozen=True)
class UnequalVariance:
    """Residuals with a larger variance at one end of an axis than at the other.

    Attributes:
        axis: the position of the axis.
        border: the largest value of the lower half.
        deviations: the standard deviations of the lower and the upper half, each about the law fitted
            to it alone.
        p_value: the p-value under homoscedastic noise, corrected for the number of axes tested.
    """

    axis: int
    border: float
    deviations: tuple[float, float]
    p_value: float

    @property
    def ratio(self) -> float:
        """Standard deviation of the upper half over that of the lower."""
        return self.deviations[1] / self.deviations[0]


@dataclass(frozen=True)
class LineCorrelation:
    """Correlated residuals of neighbouring rows, which differ in one variable only.

    Attributes:
        axis: position of that variable.
        count: the number of such lines.
        correlation: the correlation of residuals in one group of neighbours.
        inflation: the design effect: n rows carry the information of n/inflation independent ones.
        p_value: the p-value under independent noise, corrected for the number of groupings tested.
        of_runs: whether means of runs, instead of rows, are correlated.
    """

    axis: int
    count: int
    correlation: float
    inflation: float
    p_value: float
    of_runs: bool = False


def find_pattern(
    view: ResidualView, inflation: float = 1.0, runs: Groups | None = None
) -> Pattern | None:
    """The most significant pattern in the residuals, if it is significant.

    Args:
        view: the residuals.
        inflation: the design effect: n rows carry the information of n/inflation independent ones.
        runs: the run of each row, shape (rows,), if the rows of a run share an error: then run
            means are tested, and deviations from them with that design effect. None for rows that
            are independent apart from the design effect.
    """
    best = None
    strata = None if runs is None else run_strata(view, runs)
    size = len(view) if strata is None else len(strata.between)
    candidates = [(*candidate, False) for candidate in _candidate_patterns(view)]
    if size <= SMALL_TABLE_ROWS:
        candidates += [(*candidate, True) for candidate in _small_table_curves(view)]
    count = len(candidates) if strata is None else 2 * len(candidates)
    for axes, columns, is_small in candidates:
        if strata is None:
            p_value = _pattern_pvalue(view, columns, is_small, inflation)
        else:
            p_value = min(
                _pattern_pvalue(strata.between, strata.averaging @ columns, is_small, 1.0),
                _pattern_pvalue(strata.within, columns, False, inflation),
            )
        corrected = min(1.0, p_value * count)
        if corrected < FALSE_ALARM_RATE and (best is None or corrected < best.p_value):
            added = basis_outside(view.basis, columns)
            share = _pattern_test(view, added, view.projected, inflation)[1]
            best = Pattern(axes, added, added @ (added.T @ view.projected), share, corrected)
    return best


def _pattern_pvalue(view: ResidualView, columns: Array, is_small: bool, inflation: float) -> float:
    """The p-value of an effect of columns, shape (rows, columns).

    Args:
        view: the residuals.
        columns: the functions of the pattern.
        is_small: whether they are for small tables, in which ranks have little power.
        inflation: the design effect.
    """
    added = basis_outside(view.basis, columns)
    p_value = _pattern_test(view, added, view.projected, inflation)[0]
    # tests on values and on ranks must agree, since heavy-tailed noise fails a test on values
    if not is_small:
        return max(p_value, _pattern_test(view, added, view.scores, inflation)[0])
    if p_value < LEAVE_ONE_OUT_PVALUE:
        return _leave_one_out_pvalue(view, columns, p_value, inflation)
    return p_value


def _pattern_test(
    view: ResidualView, columns: Array, residuals: Array, inflation: float
) -> tuple[float, float]:
    """The p-value of an effect of orthonormal columns, and the explained share of the residual sum
    of squares.
    """
    all_squares = float(np.sum(residuals**2))
    explained = float(np.sum((columns.T @ residuals) ** 2))
    dof = view.dof - columns.shape[1]
    p_value = f_test_pvalue(explained, columns.shape[1], all_squares - explained, dof, inflation)
    return p_value, explained / all_squares if all_squares else 0.0


def _leave_one_out_pvalue(
    view: ResidualView, columns: Array, p_value: float, inflation: float
) -> float:
    """The largest p-value when any one row is left out: one large error is not a pattern."""
    for row in range(len(view)):
        rest = np.arange(len(view)) != row
        part = view.keep(rest)
        added = basis_outside(part.basis, columns[rest])
        p_value = max(p_value, _pattern_test(part, added, part.projected, inflation)[0])
    return p_value


def _small_table_curves(view: ResidualView) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Polynomials of low degree along each axis, in its values and in their ranks, for tables so
    small that rank tests have little power. The span of the Jacobian is projected out of them
    later.
    """
    for i, values in enumerate(view.axes):
        levels = len(np.unique(values))
        for positions in (values, average_ranks(values)):
            size = float(np.ptp(positions))
            for degree in CURVE_DEGREES:
                if degree < levels and 0 < size < np.inf:
                    # divided first, since twice the range may overflow
                    scaled = 2 * ((positions - positions.min()) / size) - 1
                    yield (i,), legendre.legvander(scaled, degree)[:, 1:]


def _candidate_patterns(view: ResidualView) -> Iterator[tuple[tuple[int, ...], Array]]:
    """All patterns that are tested: each axis, and each pair of variables."""
    polynomials = [_rank_polynomials(values) for values in view.axes]
    for i, columns in enumerate(polynomials):
        if columns.shape[1]:
            yield (i,), columns
    # the last axis is the prediction, a function of the others
    for i, k in itertools.combinations(range(len(polynomials) - 1), 2):
        products = [a * b for a in polynomials[i].T[:2] for b in polynomials[k].T[:2]]
        if products:
            yield (i, k), np.column_stack([polynomials[i], polynomials[k], *products])


def _rank_polynomials(values: Array) -> Array:
    """Legendre polynomials in the rank of values: equal for a variable and its logarithm."""
    levels = len(np.unique(values))
    if levels < 2:
        return np.zeros((len(values), 0))
    ranks = average_ranks(values)
    positions = 2 * (ranks - ranks.min()) / np.ptp(ranks) - 1
    return legendre.legvander(positions, min(MAX_DEGREE, levels - 1))[:, 1:]


def large_values(values: Array) -> NDArray[np.bool_]:
    """The rows in the upper half of an axis, which serve to describe a pattern in two variables."""
    middle = np.median(values)
    above: NDArray[np.bool_] = values > middle
    return above if above.any() else values >= middle


def find_line_correlation(
    view: ResidualView,
    axes: Sequence[int],
    inflation: float = 1.0,
    lines: Groups | None = None,
    *,
    of_runs: bool = False,
) -> LineCorrelation | None:
    """The most significant correlation of neighbouring rows, if it is significant.

    Rows that differ in one variable only form a line. The variance between the means of lines, and
    of pairs of neighbours on them, is compared with that within (analysis of variance).

    Args:
        view: the residuals.
        axes: positions of the variables along which lines are formed.
        inflation: the design effect of rows that are dependent in another way.
        lines: the line of each row, shape (rows,), if it is known, as for runs; else None.
        of_runs: whether the rows are means of runs, which are too few for rank tests.
    """
    significant = []
    groupings = list(_line_groupings(view, axes, lines))
    for axis, line, groups in groupings:
        results = [
            _between_groups_test(view.basis, residuals, groups, inflation)
            for residuals in (view.scores, view.projected)
        ]
        by_ranks, by_values = (p for p, _ in results)
        if of_runs and by_ranks < MEANS_RANK_PVALUE:
            by_ranks = 0.0
        corrected = min(1.0, max(by_ranks, by_values) * len(groupings))
        if corrected < FALSE_ALARM_RATE:
            ratio, size, length = results[1][1], _mean_group_size(groups), _mean_group_size(line)
            correlation = (ratio - 1) / (ratio + size - 1)
            # Kish's design effect 1 + (m - 1)·correlation; pairs are shorter than their line,
            # whose effect is at most its length
            design_effect = 1 + (size - 1) * correlation if size == length else min(ratio, length)
            count = int(np.sum(np.bincount(line) > 1))
            significant.append(
                LineCorrelation(axis, count, correlation, design_effect, corrected, of_runs)
            )
    if not significant:
        return None
    clearest = min(significant, key=lambda dependence: dependence.p_value)
    return replace(clearest, inflation=max(1.0, *(d.inflation for d in significant)))


def _mean_group_size(groups: Groups) -> float:
    """The mean over the rows of the size of their group."""
    return float(np.mean(np.bincount(groups)[groups]))


def _line_groupings(
    view: ResidualView, axes: Sequence[int], lines: Groups | None = None
) -> Iterator[tuple[int, Groups, Groups]]:
    """Yield an axis, the line of each row, and its group: the complete line, then pairs on it."""
    for axis in axes:
        line = line_numbers(view, axis)
        if lines is not None:
            line = np.unique(lines, return_inverse=True)[1].reshape(-1)
        sizes = np.bincount(line)
        if np.sum(sizes > 1) > 1:
            yield axis, line, line
        if np.max(sizes) > 2:
            yield axis, line, _neighbour_pairs(line, view.axes[axis])


def line_numbers(view: ResidualView, axis: int) -> Groups:
    """The line of each row, shape (rows,): rows of one line differ in one variable only.

    Args:
        view: the residuals.
        axis: position of that variable.
    """
    others = list(np.delete(view.axes[:-1], axis, axis=0))
    if view.blocks is not None:
        others.append(view.blocks)
    return row_codes(others, len(view))


def level_indicators(values: Array) -> Array:
    """Indicator columns of the values, or ranges of values, of an axis.

    Returns:
        Shape (rows, columns), 1 where a row has the value.
    """
    level_numbers = np.unique(values, return_inverse=True)[1].reshape(-1)
    if level_numbers.max() >= MAX_LEVELS:
        ranks = average_ranks(values) - 1
        level_numbers = (ranks * MAX_LEVELS / len(values)).astype(np.int64)
    columns: Array = (level_numbers[:, None] == np.unique(level_numbers)).astype(float)
    return columns


def _neighbour_pairs(line: Groups, along: Array) -> Groups:
    """Pairs of neighbours on each line; a single last row joins the last pair."""
    # equal rows are sorted by the measured value: they are shuffled, so that neighbours are
    # independent
    order = np.lexsort((np.random.default_rng(0).permutation(len(line)), along, line))
    sizes = np.bincount(line)
    position = np.arange(len(line)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    pair = np.minimum(position // 2, np.maximum(np.repeat(sizes, sizes) // 2 - 1, 0))
    groups = np.empty(len(line), dtype=np.int64)
    groups[order] = line[order] * len(line) + pair
    return np.unique(groups, return_inverse=True)[1].reshape(-1)


def _between_groups_test(
    basis: Array, residuals: Array, groups: Groups, inflation: float
) -> tuple[float, float]:
    """The p-value of the differences between means of groups, and the ratio of the variance between
    groups to that within.
    """
    deviations = residuals - _group_means(residuals, groups)
    inner_basis = orthonormal_basis(basis - _group_means(basis, groups))
    within_squares = float(np.sum(project_out(inner_basis, deviations) ** 2))
    dof = len(residuals) - len(np.unique(groups)) - inner_basis.shape[1]
    extra = len(residuals) - basis.shape[1] - dof
    between = float(np.sum(residuals**2)) - within_squares
    if dof < 1 or extra < 1 or between <= 0:
        return 1.0, np.nan
    # all members of a group may be equal
    within_squares = max(within_squares, MIN_SQUARES_RATIO * between)
    p_value = f_test_pvalue(between, extra, within_squares, dof, inflation)
    return p_value, between / extra / (within_squares / dof)


def _group_means(columns: Array, groups: Groups) -> Array:
    """Each value replaced by the mean of its group."""
    total = np.zeros((int(groups.max()) + 1, *columns.shape[1:]))
    np.add.at(total, groups, columns)
    size = np.bincount(groups).reshape(-1, *[1] * (columns.ndim - 1))
    means: Array = (total / size)[groups]
    return means


def find_unequal_variance(view: ResidualView, inflation: float = 1.0) -> UnequalVariance | None:
    """The most significant difference in the variance of the residuals between two halves of the
    rows.

    The law is fitted to each half by itself, so their sums of squares are independent and F =
    (S_above/f_above)/(S_below/f_below) has exactly an F distribution (Goldfeld and Quandt (1965),
    Journal of the American Statistical Association 60). A rank test must agree.

    Args:
        view: the residuals.
        inflation: the design effect: n rows carry the information of n/inflation independent ones.
    """
    best = None
    halves = [
        (i, half) for i, values in enumerate(view.axes) if (half := _lower_half(values)) is not None
    ]
    residual_scale = np.sqrt(np.maximum(1 - np.sum(view.basis**2, axis=1), 1e-3))
    for axis, low in halves:
        (below, dof), (above, dof_above) = (_residual_squares(view, part) for part in (low, ~low))
        if min(dof, dof_above) < MIN_HALF_DOF or below <= 0 or above <= 0:
            continue
        ratio = above / dof_above / (below / dof)
        degrees = dof_above / inflation, dof / inflation
        # each tail by its own function, since 1 - cdf loses small probabilities
        sides = f_sf(ratio, *degrees), f_cdf(ratio, *degrees)
        scaled_sizes = np.abs(view.projected) / residual_scale
        rank_pvalue = rank_sum_pvalue(scaled_sizes[~low], scaled_sizes[low])
        # dependent rows carry less evidence: the normal score is divided by the square root of the
        # design effect
        rank_pvalue = 2 * normal_cdf(normal_quantile(rank_pvalue / 2) / np.sqrt(inflation))
        corrected = min(1.0, max(2 * min(sides), float(rank_pvalue)) * len(halves))
        if corrected < FALSE_ALARM_RATE and (best is None or corrected < best.p_value):
            border = float(np.max(view.axes[axis][low]))
            deviations = float(np.sqrt(below / dof)), float(np.sqrt(above / dof_above))
            best = UnequalVariance(axis, border, deviations, corrected)
    return best


def _lower_half(values: Array) -> NDArray[np.bool_] | None:
    """The mask of the lower half of the rows, as near to half as ties permit."""
    levels, counts = np.unique(values, return_counts=True)
    if len(levels) < 2:
        return None
    below = np.cumsum(counts)[:-1]
    half: NDArray[np.bool_] = values <= levels[int(np.argmin(np.abs(below - len(values) / 2)))]
    return half


def _residual_squares(view: ResidualView, part: NDArray[np.bool_]) -> tuple[float, int]:
    """The residual sum of squares of the law fitted to some rows only, and its degrees of freedom."""
    part_basis = orthonormal_basis(view.basis[part])
    return float(np.sum(project_out(part_basis, view.residual[part]) ** 2)), int(
        np.sum(part)
    ) - part_basis.shape[1]
