"""Structure of residuals -> findings: outliers, patterns, variance and dependence, as text."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import abridged
from lawdsl.core.units import size_and_dimension
from lawdsl.data.binding import Runs
from lawdsl.fitting.diagnostics.outliers import Outliers
from lawdsl.fitting.diagnostics.patterns import (
    LineCorrelation,
    Pattern,
    UnequalVariance,
    large_values,
)
from lawdsl.fitting.diagnostics.residual_structure import ResidualStructure, residual_structure
from lawdsl.fitting.diagnostics.residuals import ResidualView
from lawdsl.fitting.diagnostics.swapped_columns import ExchangedRows
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

MAX_ROWS_LISTED = 5  # in the text of a finding
# relative to their mean: outliers whose shifts differ by less have one cause
COMMON_SHIFT_RTOL = 0.05
# relative to the spread of the output: a law with a larger misfit is not trusted
STRONG_PATTERN_SHARE = 0.1
# smallest divisor, for probabilities that underflow
MIN_PVALUE = 1e-300
# of the residual variance: if rounding explains less, there is no warning
MIN_ROUNDING_SHARE = 0.25
# rounding steps in the range of the output: with more, rounding errors are like noise
MAX_ROUNDING_STEPS = 1000


def residual_findings(
    law: PreparedLaw,
    problem: Problem,
    theta: Array,
    runs: Runs,
    suspected: NDArray[np.bool_] | None = None,
) -> list[Diagnostic]:
    """Find outliers, patterns, unequal variance and dependence among the residuals of a fit.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        runs: the table, for the row numbers known to the user.
        suspected: rows that were excluded from the fit as probable outliers, shape (rows,).
    """
    structure = residual_structure(law, problem, theta, runs.groups, suspected)
    if structure is None:
        return []
    findings = [_exchange_finding(exchange, runs) for exchange in structure.exchanges]
    outlying = structure.outlying
    if outlying is not None and outlying.outliers.is_separated:
        findings.append(_outlier_finding(outlying.view, outlying.outliers, runs))
    elif outlying is not None and not problem.objective.row.robust:
        findings.append(_heavy_tail_finding(outlying.outliers))
    if structure.cluster is not None:
        findings.append(_cluster_finding(*structure.cluster, runs))
    findings += _rounding_findings(problem, structure.view, runs)
    sizes = {q.name for q in law.variables if q.unit and _is_model_size(q.unit)}
    return [*findings, *_order_findings(structure, problem, sizes)]


def _is_model_size(unit: Sequence[tuple[str, int]]) -> bool:
    return size_and_dimension(unit)[1] == (("param", 1),)


def _order_findings(
    structure: ResidualStructure, problem: Problem, sizes: Collection[str]
) -> list[Diagnostic]:
    """Findings about patterns and dependence in the residuals without outliers; `sizes` are the
    variables that are sizes of models.
    """
    order, remaining = structure.order, structure.order.remaining
    strong = STRONG_PATTERN_SHARE * problem.output_deviation
    findings = [_pattern_finding(structure.view, p, strong) for p in order.patterns]
    if order.misfit is not None:
        findings.append(_misfit_finding(remaining, order.misfit, strong))
    if order.variance is not None:
        findings.append(_variance_finding(remaining, order.variance, problem.objective.loss))
    if order.dependence is not None:
        findings.append(_dependence_finding(remaining, order.dependence, sizes))
    return findings


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
    """A finding about rows with exchanged columns."""
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
    variance = float(np.sum(view.projected**2)) / view.dof
    if not variance > 0:
        return []  # the law passes through every row
    share = float(np.mean(row_steps**2)) / 12 / variance
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
    one, other = (large_values(x) for x in values)
    corners = (
        ("both are large", one & other),
        ("both are small", ~one & ~other),
        (f"only {names[0]} is large", one & ~other),
        (f"only {names[1]} is large", ~one & other),
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
    """A finding about correlated rows that do not belong to one run, so that the law is the cause."""
    name = view.names[correlated.axis]
    others = [n for n in view.names[:-1] if n != name] or [name]
    which = " and ".join(others)
    message = (
        f"the residuals change from one {which} to the next: those of rows that differ in "
        f"{name} alone are correlated, {correlated.correlation:.2g}"
    )
    if others == [name]:
        message = (
            f"the residuals bend along {name}: those of neighbours are correlated, "
            f"{correlated.correlation:.2g}"
        )
    help = "the law lacks something there: compare with another law, or fit a smaller range"
    size = float(np.sqrt(max(correlated.correlation, 0.0) * np.mean(view.projected**2)))
    return Diagnostic("F0116", message, _severity(size, strong), help=help)


def _dependence_finding(
    view: ResidualView, correlated: LineCorrelation, sizes: Collection[str]
) -> Diagnostic:
    name = view.names[correlated.axis]
    others = [n for n in view.names[:-1] if n != name]
    which = f"rows that differ in {name} alone" if others else f"neighbours in {name}"
    message = f"the residuals of {which} are correlated: {correlated.correlation:.2g}"
    lacks = f"the law lacks something in {' and '.join(others) or name}"
    if correlated.of_runs:
        message = (
            f"the residuals of runs that differ in {name} alone are correlated: "
            f"{correlated.correlation:.2g}"
        )
        notes = (f"they may be parts of one run under several names; or {lacks}",)
        help = "see that the column of runs names whole runs; compare with another law"
        return Diagnostic("F0119", message, "warning", notes=notes, help=help)
    if others and name in sizes:  # models of different size are no checkpoints of one run
        help = "compare with another law"
        return Diagnostic("F0119", message, "warning", notes=(lacks,), help=help)
    notes = (f"they may be checkpoints of one run, or one run measured again; or {lacks}",)
    help = "count runs, not rows: intervals by run, or one row a run; compare with another law"
    return Diagnostic("F0119", message, "warning", notes=notes, help=help)
