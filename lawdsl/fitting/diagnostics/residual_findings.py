"""Fit + rows -> findings about its residuals: outliers, patterns, variance and dependence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.units import size_and_dimension
from lawdsl.data.binding import Runs
from lawdsl.fitting.diagnostics.masked_outliers import masked
from lawdsl.fitting.diagnostics.outliers import Outliers, clouds, limit, outliers
from lawdsl.fitting.diagnostics.patterns import (
    Lines,
    Pattern,
    Scatter,
    levels,
    lines,
    pattern,
    scatter,
)
from lawdsl.fitting.diagnostics.residuals import View, distinct, rounding, sampled, view
from lawdsl.fitting.diagnostics.swapped_columns import Exchanged, exchanged
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

MAX_ROWS_LISTED = 5  # outliers named
MAX_FURTHEST_ROWS = 500  # rows that are tested, of many, besides the sample
MAX_PATTERNS = 3  # found one after the other, each in the residuals without the earlier ones
COMMON_SHIFT_RTOL = 0.05  # relative: outliers whose shifts differ by less have one cause
# units of quantities that grow from checkpoint to checkpoint
TRAINING_UNITS = {"token", "step", "FLOP", "second"}
STRONG_PATTERN_SHARE = 0.1  # of the spread of the output: a law that misses as much is not trusted
MIN_PVALUE = 1e-300
MIN_ROUNDING_SHARE = 0.25  # of the variance: below, the noise is larger than the steps of rounding
# steps in the range of the output: among more, errors of rounding are like noise
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
        problem: its fit.
        theta: the fitted parameters, shape (parameters,).
        runs: the table, for the row numbers that its user knows.
        suspected: rows that were excluded from the fit as probable outliers, shape (rows,).
    """
    rows = distinct(problem)
    looked = sampled(rows)
    seen = view(law, problem, theta, looked)
    if not _worth(seen, rounding(problem)):
        return []
    widest = seen
    # a sample may miss single rows far out, so these are added for the test of outliers
    if len(looked) < len(rows):
        furthest = _furthest(problem, theta, rows, limit(seen, len(rows)))
        widest = view(law, problem, theta, np.union1d(looked, furthest))
    slips = exchanged(law, problem, theta)
    found = [_exchanged(one, runs) for one in slips]
    for one in slips:
        seen, widest = (x.keep(~np.isin(x.rows, one.rows)) for x in (seen, widest))
    own = None if suspected is None else suspected[widest.rows]
    far = outliers(widest, len(rows), own)
    if suspected is None and (far is None or not far.apart):
        hidden = masked(law, problem, theta, widest, len(rows))
        if hidden is not None:
            widest, far = hidden
            seen = widest.keep(np.isin(widest.rows, seen.rows))
    if far is not None and far.apart:
        found.append(_outliers(widest, far, runs))
        seen = seen.keep(~np.isin(seen.rows, widest.rows[far.rows]))
    elif far is not None and not problem.objective.row.robust:
        found.append(_heavy(far))
    apart = clouds(seen)
    if apart is not None:
        found.append(_clouds(seen, apart, runs))
        seen = seen.keep(~apart)
    found += _rounded(problem, seen, runs)
    found += _order(law, problem, seen)
    return found


def _order(law: PreparedLaw, problem: Problem, seen: View) -> list[Diagnostic]:
    """Findings about patterns and dependence in the residuals without outliers."""
    patterns, left = _patterns(seen)
    runs = _grows(law)
    common = levels(left.axes[runs[0]]) if len(law.variables) > 1 and len(runs) == 1 else None
    together = lines(left if common is None else left.also(common), runs)
    inflation = 1.0 if together is None else together.inflation
    if together is not None and patterns:
        # dependent rows imitate patterns: what remains significant with fewer effective rows is
        # kept
        patterns, _ = _patterns(seen, inflation)
    strong = STRONG_PATTERN_SHARE * _spread(problem)
    found = [_pattern(seen, p, strong) for p in patterns]
    others = [i for i in range(len(law.variables)) if i not in runs]
    if not patterns and (alike := lines(left, others, inflation)) is not None:
        found.append(_alike(left, alike, strong))
    if (uneven := scatter(left, inflation)) is not None:
        found.append(_scatter(left, uneven, problem.objective.loss))
    if together is not None:
        found.append(_lines(left, together))
    return found


def _grows(law: PreparedLaw) -> list[int]:
    """Variables that may grow during a run, judged by their units; without such a unit, those
    without any."""
    units = [dict(size_and_dimension(q.unit or ())[1]) for q in law.variables]
    found = [i for i, unit in enumerate(units) if TRAINING_UNITS & set(unit)]
    return found or [i for i, unit in enumerate(units) if not unit]


def _worth(seen: View, rounding: float) -> bool:
    """Whether tests are possible: residual degrees of freedom, and residuals above rounding."""
    if seen.freedom < 2 or not np.all(np.isfinite(seen.residual)):
        return False
    return float(np.sqrt(np.mean(seen.left**2))) > rounding


def _furthest(problem: Problem, theta: Array, rows: Rows, limit: float) -> Rows:
    """All rows with a residual above a limit; only the largest of them if they are many."""
    predicted = problem.predictions(theta[None])[0]
    off = predicted - problem.target
    if problem.objective.log:
        off = np.log(predicted / problem.target)
    size = np.abs(off[rows])
    largest = np.argsort(-size, kind="stable")[:MAX_FURTHEST_ROWS]
    return rows[largest[size[largest] > limit]]


def _patterns(seen: View, inflation: float = 1.0) -> tuple[list[Pattern], View]:
    """The patterns, clearest first, and the residuals with all of them removed."""
    found: list[Pattern] = []
    while len(found) < MAX_PATTERNS and (one := pattern(seen, inflation)) is not None:
        found.append(one)
        seen = seen.also(one.columns)
    return found, seen


def _spread(problem: Problem) -> float:
    """The spread of the measured values."""
    return float(np.std(np.log(problem.target) if problem.objective.log else problem.target))


def _outliers(seen: View, far: Outliers, runs: Runs) -> Diagnostic:
    numbers = [int(runs.rows[seen.rows[i]]) for i in far.rows]
    parts = [f"row {n} by {abs(s):.3g}" for n, s in zip(numbers, far.sizes, strict=True)]
    more = f" and {len(parts) - MAX_ROWS_LISTED:,} more" if len(parts) > MAX_ROWS_LISTED else ""
    kind = "1 row lies" if len(parts) == 1 else f"{len(parts):,} rows lie"
    message = (
        f"{kind} far from the law: {', '.join(parts[:MAX_ROWS_LISTED])}{more} standard deviations"
    )
    shifts = seen.residual[far.rows]
    shown = ", ".join(seen.shown(x) for x in shifts[:MAX_ROWS_LISTED])
    notes = [f"measured against fitted: {shown}"]
    if len(shifts) > 2 and np.std(shifts) < COMMON_SHIFT_RTOL * abs(np.mean(shifts)):
        notes.append("they are all shifted alike: another unit, or another kind of run?")
    help = "look at these runs: correct them, or leave them out with --where, and compare"
    place = f"{runs.name}:{numbers[0]}"
    return Diagnostic("F0115", message, "warning", place=place, notes=tuple(notes), help=help)


def _exchanged(found: Exchanged, runs: Runs) -> Diagnostic:
    numbers = np.sort(runs.rows[found.rows])
    listed = ", ".join(map(str, numbers[:MAX_ROWS_LISTED]))
    more = f" and {len(numbers) - MAX_ROWS_LISTED:,} more" if len(numbers) > MAX_ROWS_LISTED else ""
    one, other = (runs.bound[name] for name in found.names)
    which = f"row {listed} probably has"
    if len(numbers) > 1:
        which = f"rows {listed}{more} probably have"
    message = f"{which} columns {one} and {other} exchanged"
    notes = (
        "exchanged back, they match the design of the other rows, and the law fits as well or better",
    )
    help = "look at these runs: correct them, or leave them out with --where, and compare"
    place = f"{runs.name}:{numbers[0]}"
    return Diagnostic("F0115", message, "warning", place=place, notes=notes, help=help)


def _rounded(problem: Problem, seen: View, runs: Runs) -> list[Diagnostic]:
    """A warning where rounding of the measurements explains much of the residual variance.

    Rounding to steps of h has the variance h²/12 (a uniform distribution of width h).
    """
    steps, target = runs.steps[seen.rows], problem.target[seen.rows]
    step = float(np.median(steps)) if len(steps) else 0.0
    if not step > 0 or float(np.ptp(target)) > MAX_ROUNDING_STEPS * step:
        return []
    own = steps / np.abs(target) if seen.log else steps
    if problem.weights is not None:
        own = own * np.sqrt(problem.weights[seen.rows])
    share = float(np.mean(own**2)) / 12 / (float(np.sum(seen.left**2)) / seen.freedom)
    if share < MIN_ROUNDING_SHARE:
        return []
    message = (
        f"{seen.names[-1].removeprefix('the predicted ')} is rounded to steps of {step:.3g}, which is "
        f"{100 * min(share, 1.0):.0f} % of the residual variance"
    )
    notes = ("errors of rounding are not independent of each other: intervals may be too narrow",)
    help = "give the measurements with more digits"
    return [Diagnostic("F0132", message, "warning", place=runs.name, notes=notes, help=help)]


def _clouds(seen: View, apart: NDArray[np.bool_], runs: Runs) -> Diagnostic:
    numbers = np.sort(runs.rows[seen.rows[apart]])
    step = float(np.mean(seen.left[apart]) - np.mean(seen.left[~apart]))
    message = (
        f"the residuals fall into two clouds: {len(numbers):,} of {len(seen):,} rows lie "
        f"{seen.shown(step)} from the others"
    )
    more = f" and {len(numbers) - MAX_ROWS_LISTED:,} more" if len(numbers) > MAX_ROWS_LISTED else ""
    notes = (f"rows {', '.join(map(str, numbers[:MAX_ROWS_LISTED]))}{more}",)
    help = "find what sets them apart, another unit or another kind of run, and fit one kind"
    place = f"{runs.name}:{numbers[0]}"
    return Diagnostic("F0115", message, "warning", place=place, notes=notes, help=help)


def _heavy(far: Outliers) -> Diagnostic:
    worst = float(np.max(np.abs(far.sizes)))
    message = (
        "the residuals have heavier tails than a squared loss supposes: the largest is "
        f"{worst:.3g} standard deviations"
    )
    help = "choose a loss that they do not pull: --objective 'huber(log)'"
    return Diagnostic("F0117", message, "warning", help=help)


def _pattern(seen: View, found: Pattern, strong: float) -> Diagnostic:
    names = [seen.names[i] for i in found.axes]
    values = [seen.axes[i] for i in found.axes]
    if len(names) == 1:
        message = _along(seen, names[0], values[0], found.curve)
    else:
        message = _together(seen, names, values, found.curve)
    notes = (
        f"this is {100 * found.share:.3g} % of their squares; chance would give it to one table in "
        f"{1 / max(found.chance, MIN_PVALUE):.0e}",
    )
    help = "the law lacks something there: compare with another law, or fit a smaller range"
    missed = float(np.sqrt(np.mean(found.curve**2)))
    return Diagnostic("F0116", message, _severity(missed, strong), notes=notes, help=help)


def _severity(missed: float, strong: float) -> str:
    return "error" if missed > strong else "warning"


def _along(seen: View, name: str, values: Array, curve: Array) -> str:
    """The pattern along one axis as text: at its ends and in the middle."""
    levels = np.unique(values)
    at = levels[np.unique(np.linspace(0, len(levels) - 1, 3).round().astype(int))]
    sizes = [float(np.mean(curve[values == x])) for x in at]
    verb = "bend along"
    if np.all(np.diff(sizes) > 0):
        verb = "rise with"
    elif np.all(np.diff(sizes) < 0):
        verb = "fall with"
    places = [f"{seen.shown(s)} at {x:.3g}" for s, x in zip(sizes, at, strict=True)]
    return f"the residuals {verb} {name}: measured against fitted {', '.join(places)}"


def _together(seen: View, names: list[str], values: list[Array], curve: Array) -> str:
    """The pattern in two variables as text: in their four corners."""
    large = [x > np.median(x) if np.any(x > np.median(x)) else x >= np.median(x) for x in values]
    corners = (
        ("both are large", large[0] & large[1]),
        ("both are small", ~large[0] & ~large[1]),
        (f"only {names[0]} is large", large[0] & ~large[1]),
        (f"only {names[1]} is large", ~large[0] & large[1]),
    )
    parts = [
        f"{seen.shown(float(np.mean(curve[rows])))} where {w}" for w, rows in corners if rows.any()
    ]
    listed = ", ".join(parts)
    return (
        f"the residuals follow {names[0]} and {names[1]} together: measured against fitted {listed}"
    )


def _scatter(seen: View, found: Scatter, loss: str) -> Diagnostic:
    name = seen.names[found.axis]
    ratio, where = (found.ratio, "above") if found.ratio > 1 else (1 / found.ratio, "up to")
    message = (
        f"the residuals scatter {ratio:.3g} times as far where {name} is {where} "
        f"{found.border:.3g} as elsewhere"
    )
    other = f"{loss}({'raw' if seen.log else 'log'})"
    help = f"weigh the rows, or choose a scale on which the noise is even: --objective '{other}'"
    return Diagnostic("F0117", message, "warning", help=help)


def _alike(seen: View, found: Lines, strong: float) -> Diagnostic:
    """A finding about correlated rows that have no run in common, so that the law is the cause."""
    name = seen.names[found.axis]
    others = [n for n in seen.names[:-1] if n != name] or [name]
    which = " and ".join(others)
    message = (
        f"the residuals change from one {which} to the next: those of rows that differ in "
        f"{name} alone go together, correlation {found.correlation:.2g}"
    )
    if others == [name]:
        message = (
            f"the residuals bend along {name}: those of neighbours go together, correlation "
            f"{found.correlation:.2g}"
        )
    help = "the law lacks something there: compare with another law, or fit a smaller range"
    missed = float(np.sqrt(max(found.correlation, 0.0) * np.mean(seen.left**2)))
    return Diagnostic("F0116", message, _severity(missed, strong), help=help)


def _lines(seen: View, found: Lines) -> Diagnostic:
    name = seen.names[found.axis]
    others = [n for n in seen.names[:-1] if n != name]
    which = f"rows that differ in {name} alone" if others else f"neighbours in {name}"
    message = f"the residuals of {which} go together: correlation {found.correlation:.2g}"
    lacks = f"the law lacks something in {' and '.join(others) or name}"
    notes = (f"they may be checkpoints of one run, or one run measured again; or {lacks}",)
    help = "count runs, not rows: intervals by run, or one row a run; compare with another law"
    return Diagnostic("F0119", message, "warning", notes=notes, help=help)
