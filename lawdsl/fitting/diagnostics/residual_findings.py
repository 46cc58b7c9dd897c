"""Fit + rows -> findings about its residuals: outliers, patterns, variance and dependence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import abridged
from lawdsl.core.units import size_and_dimension
from lawdsl.data.binding import Runs
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
)
from lawdsl.fitting.diagnostics.residuals import (
    ResidualView,
    distinct_rows,
    residual_view,
    sample_rows,
)
from lawdsl.fitting.diagnostics.swapped_columns import ExchangedRows, find_exchanged_rows
from lawdsl.fitting.intervals.m_estimator import Groups
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

MAX_ROWS_LISTED = 5  # in the text of a finding
# rows of largest residual that are tested besides the sample
MAX_FURTHEST_ROWS = 500
# patterns are searched for one after the other, each in the residuals without the earlier ones
MAX_PATTERNS = 3
# relative to their mean: outliers whose shifts differ by less have one cause
COMMON_SHIFT_RTOL = 0.05
# units of quantities that grow from checkpoint to checkpoint
TRAINING_UNITS = {"token", "step", "FLOP", "second"}
# relative to the spread of the output: a law that misses by more is not trusted
STRONG_PATTERN_SHARE = 0.1
# least divisor, for probabilities that underflow
MIN_PVALUE = 1e-300
# of the residual variance: where rounding explains less, there is no warning
MIN_ROUNDING_SHARE = 0.25
# of rounding in the range of the output: with more, errors of rounding are like noise
MAX_ROUNDING_STEPS = 1000


def residual_findings(
    law: PreparedLaw,
    problem: Problem,
    theta: Array,
    runs: Runs,
    suspected: NDArray[np.bool_] | None = None,
) -> list[Diagnostic]:
    """Find outliers, patterns, unequal variance and dependence among the residuals of a fit.

    Copies of a row count once, outliers are excluded from the later tests, and each pattern is
    removed before the next test, so that one fault is reported once.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        runs: the table, for the row numbers that its user knows.
        suspected: rows that were excluded from the fit as probable outliers, shape (rows,).
    """
    rows = distinct_rows(problem)
    tested = sample_rows(rows)
    view = residual_view(law, problem, theta, tested)
    if not _are_testable(view, problem.rounding):
        return []
    wide_view = view
    # a sample may miss single rows far out, so these are added for the test of outliers
    if len(tested) < len(rows):
        furthest = _furthest_rows(problem, theta, rows, outlier_limit(view, len(rows)))
        wide_view = residual_view(law, problem, theta, np.union1d(tested, furthest))
    exchanges = find_exchanged_rows(law, problem, theta)
    findings = [_exchange_finding(exchange, runs) for exchange in exchanges]
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
        findings.append(_outlier_finding(wide_view, outliers, runs))
        view = view.keep(~np.isin(view.rows, wide_view.rows[outliers.rows]))
    elif outliers is not None and not problem.objective.row.robust:
        findings.append(_heavy_tail_finding(outliers))
    cluster = smaller_cluster(view)
    if cluster is not None:
        findings.append(_cluster_finding(view, cluster, runs))
        view = view.keep(~cluster)
    findings += _rounding_findings(problem, view, runs)
    findings += _order_findings(law, view, problem, runs.groups)
    return findings


def _order_findings(
    law: PreparedLaw, view: ResidualView, problem: Problem, groups: Groups
) -> list[Diagnostic]:
    """Findings about patterns and dependence in the residuals without outliers."""
    patterns, remaining = _successive_patterns(view)
    run_axes = _training_variables(law)
    within_runs = remaining
    if len(law.variables) > 1 and len(run_axes) == 1:
        within_runs = remaining.with_columns(level_indicators(remaining.axes[run_axes[0]]))
    dependence = find_line_correlation(within_runs, run_axes)
    inflation = 1.0 if dependence is None else dependence.inflation
    if dependence is not None and patterns:
        # dependent rows imitate patterns: those significant with fewer effective rows remain
        patterns, _ = _successive_patterns(view, inflation)
    strong = STRONG_PATTERN_SHARE * problem.output_deviation
    findings = [_pattern_finding(view, p, strong) for p in patterns]
    others = [i for i in range(len(law.variables)) if i not in run_axes]
    if not patterns and (misfit := find_line_correlation(remaining, others, inflation)) is not None:
        findings.append(_misfit_finding(remaining, misfit, strong))
    if (variance := find_unequal_variance(remaining, inflation)) is not None:
        findings.append(_variance_finding(remaining, variance, problem.objective.loss))
    if dependence is not None and not _counted_by_run(remaining, dependence, groups):
        findings.append(_dependence_finding(remaining, dependence))
    return findings


def _counted_by_run(view: ResidualView, correlated: LineCorrelation, groups: Groups) -> bool:
    """Whether all rows that differ in the variable alone are of one run: intervals by run count
    their dependence."""
    if groups is None:
        return False
    others = np.delete(view.axes[:-1], correlated.axis, axis=0)
    line = np.zeros(len(view), dtype=np.int64)
    if len(others):
        line = np.unique(others, axis=1, return_inverse=True)[1].reshape(-1)
    first = np.unique(line, return_index=True)[1]
    runs = groups[view.rows]
    return bool(np.all(runs == runs[first][line]))


def _training_variables(law: PreparedLaw) -> list[int]:
    """Variables that may grow during a run, by their units; if none may, those without a unit."""
    units = [dict(size_and_dimension(q.unit or ())[1]) for q in law.variables]
    numbers = [i for i, unit in enumerate(units) if TRAINING_UNITS & set(unit)]
    return numbers or [i for i, unit in enumerate(units) if not unit]


def _are_testable(view: ResidualView, rounding: float) -> bool:
    """Whether tests are possible: residual degrees of freedom, and residuals above rounding."""
    if view.dof < 2 or not np.all(np.isfinite(view.residual)):
        return False
    return float(np.sqrt(np.mean(view.projected**2))) > rounding


def _furthest_rows(problem: Problem, theta: Array, rows: Rows, limit: float) -> Rows:
    """All rows with a residual above a limit; only the largest of them if they are many."""
    predicted = problem.predictions(theta[None])[0]
    residuals = predicted - problem.target
    if problem.objective.log:
        residuals = np.log(predicted / problem.target)
    sizes = np.abs(residuals[rows])
    largest = np.argsort(-sizes, kind="stable")[:MAX_FURTHEST_ROWS]
    return rows[largest[sizes[largest] > limit]]


def _successive_patterns(
    view: ResidualView, inflation: float = 1.0
) -> tuple[list[Pattern], ResidualView]:
    """The patterns, clearest first, and the residuals with all of them removed."""
    patterns: list[Pattern] = []
    while len(patterns) < MAX_PATTERNS and (pattern := find_pattern(view, inflation)) is not None:
        patterns.append(pattern)
        view = view.with_columns(pattern.columns)
    return patterns, view


def _outlier_finding(view: ResidualView, outliers: Outliers, runs: Runs) -> Diagnostic:
    numbers = [int(runs.rows[view.rows[i]]) for i in outliers.rows]
    parts = [f"row {n} by {abs(s):.3g}" for n, s in zip(numbers, outliers.sizes, strict=True)]
    subject = "1 row lies" if len(parts) == 1 else f"{len(parts):,} rows lie"
    message = f"{subject} far from the law: {abridged(parts, MAX_ROWS_LISTED)} standard deviations"
    shifts = view.residual[outliers.rows]
    size_texts = ", ".join(view.size_text(x) for x in shifts[:MAX_ROWS_LISTED])
    notes = [f"measured against fitted: {size_texts}"]
    if len(shifts) > 2 and np.std(shifts) < COMMON_SHIFT_RTOL * abs(np.mean(shifts)):
        notes.append("they are all shifted alike: another unit, or another kind of run?")
    help = "look at these runs: correct them, or leave them out with --where, and compare"
    location = f"{runs.name}:{numbers[0]}"
    return Diagnostic("F0115", message, "warning", place=location, notes=tuple(notes), help=help)


def _exchange_finding(exchange: ExchangedRows, runs: Runs) -> Diagnostic:
    numbers = np.sort(runs.rows[exchange.rows])
    listed = abridged(numbers.tolist(), MAX_ROWS_LISTED)
    one, other = (runs.bound[name] for name in exchange.names)
    which = f"row {listed} probably has"
    if len(numbers) > 1:
        which = f"rows {listed} probably have"
    message = f"{which} columns {one} and {other} exchanged"
    notes = (
        "exchanged back, they match the design of the other rows, and the law fits as well or better",
    )
    help = "look at these runs: correct them, or leave them out with --where, and compare"
    location = f"{runs.name}:{numbers[0]}"
    return Diagnostic("F0115", message, "warning", place=location, notes=notes, help=help)


def _rounding_findings(problem: Problem, view: ResidualView, runs: Runs) -> list[Diagnostic]:
    """A warning where rounding of the measurements explains much of the residual variance.

    Rounding to steps of h has the variance h²/12 (a uniform distribution of width h).
    """
    steps, target = runs.steps[view.rows], problem.target[view.rows]
    step = float(np.median(steps)) if len(steps) else 0.0
    if not step > 0 or float(np.ptp(target)) > MAX_ROUNDING_STEPS * step:
        return []
    row_steps = steps / np.abs(target) if view.log else steps
    if problem.weights is not None:
        row_steps = row_steps * np.sqrt(problem.weights[view.rows])
    share = float(np.mean(row_steps**2)) / 12 / (float(np.sum(view.projected**2)) / view.dof)
    if share < MIN_ROUNDING_SHARE:
        return []
    message = (
        f"{view.names[-1].removeprefix('the predicted ')} is rounded to steps of {step:.3g}, which is "
        f"{100 * min(share, 1.0):.0f} % of the residual variance"
    )
    notes = ("errors of rounding are not independent of each other: intervals may be too narrow",)
    help = "give the measurements with more digits"
    return [Diagnostic("F0132", message, "warning", place=runs.name, notes=notes, help=help)]


def _cluster_finding(view: ResidualView, cluster: NDArray[np.bool_], runs: Runs) -> Diagnostic:
    numbers = np.sort(runs.rows[view.rows[cluster]])
    distance = float(np.mean(view.projected[cluster]) - np.mean(view.projected[~cluster]))
    message = (
        f"the residuals fall into two clouds: {len(numbers):,} of {len(view):,} rows lie "
        f"{view.size_text(distance)} from the others"
    )
    notes = (f"rows {abridged(numbers.tolist(), MAX_ROWS_LISTED)}",)
    help = "find what sets them apart, another unit or another kind of run, and fit one kind"
    location = f"{runs.name}:{numbers[0]}"
    return Diagnostic("F0115", message, "warning", place=location, notes=notes, help=help)


def _heavy_tail_finding(outliers: Outliers) -> Diagnostic:
    worst = float(np.max(np.abs(outliers.sizes)))
    message = (
        "the residuals have heavier tails than a squared loss supposes: the largest is "
        f"{worst:.3g} standard deviations"
    )
    help = "choose a loss that they do not pull: --objective 'huber(log)'"
    return Diagnostic("F0117", message, "warning", help=help)


def _pattern_finding(view: ResidualView, pattern: Pattern, strong: float) -> Diagnostic:
    names = [view.names[i] for i in pattern.axes]
    values = [view.axes[i] for i in pattern.axes]
    if len(names) == 1:
        message = _one_axis_text(view, names[0], values[0], pattern.curve)
    else:
        message = _two_axes_text(view, names, values, pattern.curve)
    notes = (
        f"this is {100 * pattern.share:.3g} % of their squares; chance would give it to one table in "
        f"{1 / max(pattern.p_value, MIN_PVALUE):.0e}",
    )
    help = "the law lacks something there: compare with another law, or fit a smaller range"
    size = float(np.sqrt(np.mean(pattern.curve**2)))
    return Diagnostic("F0116", message, _severity(size, strong), notes=notes, help=help)


def _severity(size: float, strong: float) -> str:
    return "error" if size > strong else "warning"


def _one_axis_text(view: ResidualView, name: str, values: Array, curve: Array) -> str:
    """The pattern along one axis as text: at its ends and in the middle."""
    levels = np.unique(values)
    examples = levels[np.unique(np.linspace(0, len(levels) - 1, 3).round().astype(int))]
    sizes = [float(np.mean(curve[values == x])) for x in examples]
    verb = "bend along"
    if np.all(np.diff(sizes) > 0):
        verb = "rise with"
    elif np.all(np.diff(sizes) < 0):
        verb = "fall with"
    size_texts = [f"{view.size_text(s)} at {x:.3g}" for s, x in zip(sizes, examples, strict=True)]
    return f"the residuals {verb} {name}: measured against fitted {', '.join(size_texts)}"


def _two_axes_text(view: ResidualView, names: list[str], values: list[Array], curve: Array) -> str:
    """The pattern in two variables as text: in their four corners."""
    large = [x > np.median(x) if np.any(x > np.median(x)) else x >= np.median(x) for x in values]
    corners = (
        ("both are large", large[0] & large[1]),
        ("both are small", ~large[0] & ~large[1]),
        (f"only {names[0]} is large", large[0] & ~large[1]),
        (f"only {names[1]} is large", ~large[0] & large[1]),
    )
    parts = [
        f"{view.size_text(float(np.mean(curve[rows])))} where {w}"
        for w, rows in corners
        if rows.any()
    ]
    listed = ", ".join(parts)
    return (
        f"the residuals follow {names[0]} and {names[1]} together: measured against fitted {listed}"
    )


def _variance_finding(view: ResidualView, variance: UnequalVariance, loss: str) -> Diagnostic:
    name = view.names[variance.axis]
    ratio, where = (
        (variance.ratio, "above") if variance.ratio > 1 else (1 / variance.ratio, "up to")
    )
    message = (
        f"the residuals scatter {ratio:.3g} times as far where {name} is {where} "
        f"{variance.border:.3g} as elsewhere"
    )
    other = f"{loss}({'raw' if view.log else 'log'})"
    help = f"weigh the rows, or choose a scale on which the noise is even: --objective '{other}'"
    return Diagnostic("F0117", message, "warning", help=help)


def _misfit_finding(view: ResidualView, correlated: LineCorrelation, strong: float) -> Diagnostic:
    """A finding about correlated rows that have no run in common, so that the law is the cause."""
    name = view.names[correlated.axis]
    others = [n for n in view.names[:-1] if n != name] or [name]
    which = " and ".join(others)
    message = (
        f"the residuals change from one {which} to the next: those of rows that differ in "
        f"{name} alone go together, correlation {correlated.correlation:.2g}"
    )
    if others == [name]:
        message = (
            f"the residuals bend along {name}: those of neighbours go together, correlation "
            f"{correlated.correlation:.2g}"
        )
    help = "the law lacks something there: compare with another law, or fit a smaller range"
    size = float(np.sqrt(max(correlated.correlation, 0.0) * np.mean(view.projected**2)))
    return Diagnostic("F0116", message, _severity(size, strong), help=help)


def _dependence_finding(view: ResidualView, correlated: LineCorrelation) -> Diagnostic:
    name = view.names[correlated.axis]
    others = [n for n in view.names[:-1] if n != name]
    which = f"rows that differ in {name} alone" if others else f"neighbours in {name}"
    message = f"the residuals of {which} go together: correlation {correlated.correlation:.2g}"
    lacks = f"the law lacks something in {' and '.join(others) or name}"
    notes = (f"they may be checkpoints of one run, or one run measured again; or {lacks}",)
    help = "count runs, not rows: intervals by run, or one row a run; compare with another law"
    return Diagnostic("F0119", message, "warning", notes=notes, help=help)
