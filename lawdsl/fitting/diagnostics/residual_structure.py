"""Fit + rows -> the systematic structure of its residuals: outliers, patterns, variance,
dependence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.units import size_and_dimension
from lawdsl.fitting.diagnostics.masked_outliers import find_masked_outliers
from lawdsl.fitting.diagnostics.outliers import (
    Outliers,
    find_outliers,
    outlier_limit,
    smaller_cluster,
)
from lawdsl.fitting.diagnostics.patterns import (
    LineCorrelation,
    Pattern,
    UnequalVariance,
    find_line_correlation,
    find_pattern,
    find_unequal_variance,
    level_indicators,
    line_numbers,
)
from lawdsl.fitting.diagnostics.residuals import (
    ResidualView,
    distinct_rows,
    residual_view,
    sample_blocks,
    sample_rows,
    tested_variables,
)
from lawdsl.fitting.diagnostics.run_strata import are_rows_independent, run_strata
from lawdsl.fitting.diagnostics.swapped_columns import ExchangedRows, find_exchanged_rows
from lawdsl.fitting.intervals.m_estimator import Groups
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

# rows with the largest residuals that are tested in addition to the sample
MAX_FURTHEST_ROWS = 500
# patterns are searched for successively, each in the residuals without the earlier ones
MAX_PATTERNS = 3
# units of quantities that grow from checkpoint to checkpoint
TRAINING_UNITS = {"token", "step", "FLOP", "second"}


@dataclass(frozen=True)
class OutlyingRows:
    """Rows that the noise of the others does not explain.

    Attributes:
        view: the residuals of all tested rows, including these.
        outliers: the outliers, as positions in the view.
    """

    view: ResidualView
    outliers: Outliers


@dataclass(frozen=True)
class ResidualOrder:
    """The dependence of residuals on the variables and on each other.

    Attributes:
        remaining: the residuals without the patterns.
        patterns: the patterns, the most significant first.
        misfit: correlated rows that do not belong to one run, if there is no pattern.
        variance: a larger variance at one end of an axis.
        dependence: correlated rows that may belong to one run, unless intervals by run account for
            it.
    """

    remaining: ResidualView
    patterns: tuple[Pattern, ...] = ()
    misfit: LineCorrelation | None = None
    variance: UnequalVariance | None = None
    dependence: LineCorrelation | None = None


@dataclass(frozen=True)
class ResidualStructure:
    """The systematic structure of the residuals of a fit.

    Attributes:
        view: the residuals without exchanged rows, outliers and the smaller of two clusters.
        exchanges: rows with two columns exchanged.
        outlying: the outliers.
        cluster: the residuals before the removal of the second cluster, and the mask of its rows.
        order: the dependence found in `view`.
    """

    view: ResidualView
    exchanges: tuple[ExchangedRows, ...]
    outlying: OutlyingRows | None
    cluster: tuple[ResidualView, Mask] | None
    order: ResidualOrder


def residual_structure(
    law: PreparedLaw,
    problem: Problem,
    theta: Array,
    groups: Groups,
    suspected: Mask | None = None,
) -> ResidualStructure | None:
    """Find outliers, patterns, unequal variance and dependence among the residuals of a fit.

    Copies of a row count once, outliers are excluded from later tests, and each pattern is removed
    before the next test, so that each problem is reported once.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        groups: the training run of each row, shape (rows,).
        suspected: rows that were excluded from the fit as probable outliers, shape (rows,).

    Returns:
        The structure; None where residuals cannot be tested: too few rows, or an exact fit.
    """
    rows = distinct_rows(problem)
    tested = wide = sample_rows(rows)
    if problem.arrow is not None:
        tested, wide = sample_blocks(problem, rows, np.abs(problem.residuals_at(theta[None])[0]))
    view = residual_view(law, problem, theta, tested)
    if not _are_testable(view, problem.rounding):
        return None
    wide_view = view if len(wide) == len(tested) else residual_view(law, problem, theta, wide)
    # a sample may miss single outliers, so the rows with the largest residuals are added for the
    # test
    if problem.arrow is None and len(tested) < len(rows):
        furthest = _furthest_rows(problem, theta, rows, outlier_limit(view, len(rows)))
        wide_view = residual_view(law, problem, theta, np.union1d(tested, furthest))
    exchanges = find_exchanged_rows(law, problem, theta)
    for exchange in exchanges:
        view, wide_view = (x.keep(~np.isin(x.rows, exchange.rows)) for x in (view, wide_view))
    suspected_rows = None if suspected is None else suspected[wide_view.rows]
    outliers = find_outliers(wide_view, len(rows), suspected_rows)
    if suspected is None and (outliers is None or not outliers.is_separated):
        masked = find_masked_outliers(law, problem, theta, wide_view, len(rows))
        if masked is not None:
            wide_view, outliers = masked
            view = wide_view.keep(np.isin(wide_view.rows, view.rows))
    if outliers is not None and outliers.is_separated:
        view = view.keep(~np.isin(view.rows, wide_view.rows[outliers.rows]))
    cluster = smaller_cluster(view)
    clouds = None if cluster is None else (view, cluster)
    if cluster is not None:
        view = view.keep(~cluster)
    outlying = None if outliers is None else OutlyingRows(wide_view, outliers)
    order = _order(law, view, groups, tested_variables(law, problem))
    return ResidualStructure(view, tuple(exchanges), outlying, clouds, order)


def _order(
    law: PreparedLaw, view: ResidualView, groups: Groups, tested: Sequence[int]
) -> ResidualOrder:
    """Patterns and dependence in the residuals without outliers, along the tested variables."""
    patterns, remaining = _successive_patterns(view)
    runs = None if groups is None else groups[view.rows]
    if runs is not None and 1 < len(np.unique(runs)) < len(runs):
        # patterns that explain everything that runs have in common need no test by run
        if not are_rows_independent(remaining, runs):
            return _order_of_runs(law, view, runs, tested)
    run_axes = _training_variables(law, tested)
    within_runs = remaining
    if len(tested) > 1 and len(run_axes) == 1:
        within_runs = remaining.with_columns(level_indicators(remaining.axes[run_axes[0]]))
    dependence = find_line_correlation(within_runs, run_axes)
    inflation = 1.0 if dependence is None else dependence.inflation
    if dependence is not None and patterns:
        # dependent rows imitate patterns: only those significant with fewer effective rows are kept
        patterns, _ = _successive_patterns(view, inflation)
    misfit = (
        None if patterns else find_line_correlation(remaining, _other_axes(law, tested), inflation)
    )
    variance = find_unequal_variance(remaining, inflation)
    if dependence is not None and _are_counted_by_run(remaining, dependence, groups):
        dependence = None
    return ResidualOrder(remaining, tuple(patterns), misfit, variance, dependence)


def _order_of_runs(
    law: PreparedLaw, view: ResidualView, runs: Rows, tested: Sequence[int]
) -> ResidualOrder:
    """Patterns and dependence in residuals whose rows share an error within each run."""
    patterns, remaining = _successive_patterns(view, runs=runs)
    # an error that changes along a run, in addition to the error of the whole run
    along = find_line_correlation(
        run_strata(remaining, runs).within, _training_variables(law, tested), lines=runs
    )
    inflation = 1.0 if along is None else along.inflation
    if along is not None and patterns:
        patterns, remaining = _successive_patterns(view, inflation, runs)
    strata = run_strata(remaining, runs)
    misfit = None
    if not patterns:
        misfit = find_line_correlation(strata.within, _other_axes(law, tested), inflation)
    variance = find_unequal_variance(strata.within, inflation)
    dependence = find_line_correlation(
        strata.between, _training_variables(law, tested), of_runs=True
    )
    return ResidualOrder(remaining, tuple(patterns), misfit, variance, dependence)


def _other_axes(law: PreparedLaw, tested: Sequence[int]) -> list[int]:
    """Axes of variables that are constant within a run."""
    run_axes = _training_variables(law, tested)
    return [i for i in range(len(tested)) if i not in run_axes]


def _are_counted_by_run(view: ResidualView, correlated: LineCorrelation, groups: Groups) -> bool:
    """Whether all rows that differ in the variable only belong to one run, so that intervals by run
    account for their dependence.
    """
    if groups is None:
        return False
    line = line_numbers(view, correlated.axis)
    first = np.unique(line, return_index=True)[1]
    runs = groups[view.rows]
    return bool(np.all(runs == runs[first][line]))


def _training_variables(law: PreparedLaw, tested: Sequence[int]) -> list[int]:
    """Axes of variables that may grow during a run, according to their units; if there are none, those
    without a unit.
    """
    units = [dict(size_and_dimension(q.unit or ())[1]) for q in (law.variables[i] for i in tested)]
    numbers = [i for i, unit in enumerate(units) if TRAINING_UNITS & set(unit)]
    return numbers or [i for i, unit in enumerate(units) if not unit]


def _are_testable(view: ResidualView, rounding: float) -> bool:
    """Whether tests are possible: residual degrees of freedom, and residuals above rounding."""
    if view.dof < 2 or not np.all(np.isfinite(view.residual)):
        return False
    return float(np.sqrt(np.mean(view.projected**2))) > rounding


def _furthest_rows(problem: Problem, theta: Array, rows: Rows, limit: float) -> Rows:
    """All rows with a residual above a limit, or the largest ones if there are many."""
    predicted = problem.predictions(theta[None])[0]
    residuals = predicted - problem.target
    if problem.objective.log:
        residuals = np.log(predicted / problem.target)
    sizes = np.abs(residuals[rows])
    beyond = np.flatnonzero(sizes > limit)
    return rows[beyond[np.argsort(-sizes[beyond], kind="stable")[:MAX_FURTHEST_ROWS]]]


def _successive_patterns(
    view: ResidualView, inflation: float = 1.0, runs: Groups = None
) -> tuple[list[Pattern], ResidualView]:
    """The patterns, the most significant first, and the residuals with all of them removed; the
    arguments are those of `find_pattern`.
    """
    patterns: list[Pattern] = []
    while len(patterns) < MAX_PATTERNS:
        pattern = find_pattern(view, inflation, runs)
        if pattern is None:
            break
        patterns.append(pattern)
        view = view.with_columns(pattern.columns)
    return patterns, view
