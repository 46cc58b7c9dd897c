"""Law + problem + parameters -> findings about rows, bounds and starts, with their evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.scalar_minimum import bounded_minimum
from lawdsl.data.row_codes import row_codes
from lawdsl.fitting.bound_distances import bound_distances
from lawdsl.fitting.diagnostics.goodness import weighted_loss
from lawdsl.fitting.diagnostics.residuals import distinct_rows
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem, rho

Array = NDArray[np.float64]

# residual degrees of freedom: with fewer, the rows cannot test a law
MIN_TEST_DOF = 3
# tolerance of comparisons with numbers of rows, since effective numbers of rows are not integers
EFFECTIVE_ROWS_ATOL = 1e-6
# relative to a value, and to the range: settings that differ by less count as replicates
REPLICATE_RTOL = 1e-3
# times the median distance from the median: residuals above it are clearly larger
CLEAR_EXCESS = 1.2
# with more starts, further starts are not recommended
MANY_STARTS = 500
# relative to the predictions: a parameter that changes them by less may be moved to its bound
ON_BOUND_RTOL = 1e-9
# of |u|: an unconstrained parameter further out diverges towards a bound (exp(-15) is 3e-7)
DIVERGED_FREE = 15.0
# of |u|: exp(-60) = 9e-27 is below the rounding error of any number above 1e-10
ROUNDING_ENDS = 60.0


def insufficient_data_errors(law: PreparedLaw, problem: Problem) -> list[Diagnostic]:
    """Errors because of which a fit is impossible.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
    """
    rows, count = problem.rows, problem.parameters
    if count == 0:
        message = f"`{law.name}` has no parameters: there is nothing to fit"
        return [Diagnostic("F0111", message, help="declare some: `parameter A, alpha > 0`")]
    if rows < count:
        plural = "s" if rows != 1 else ""
        message = (
            f"{rows} row{plural}, {count} parameters: `{law.name}` needs at least {count} rows"
        )
        return [Diagnostic("D0110", message, help="measure more, or fit a smaller law")]
    if np.ptp(problem.target) == 0:
        message = f"the output has no variation: every row says {problem.target[0]:g}"
        return [Diagnostic("D0111", message, help="bind another column")]
    return []


def few_rows_findings(problem: Problem, chosen: int = 0) -> list[Diagnostic]:
    """A warning where the rows are too few, or repeat too few settings, to test the law.

    Copies of a row count once, and rows count by weight: the effective number is (Σw)²/Σw² (Kish
    (1965), Survey Sampling). With one or two residual degrees of freedom the noise, and hence the
    width of every interval, is known only within a factor of several, and no residual can be
    compared with the others. Repeated measurements at nearly the same settings provide an estimate
    of the noise, but no test of the law's form.

    Args:
        problem: the objective to be minimised, with its data.
        chosen: the number of parameters that were chosen from the rows before the fit.
    """
    count = problem.parameters + chosen
    rows = len(distinct_rows(problem))
    help = "measure more, or fit a smaller law"
    if rows - count < MIN_TEST_DOF:
        left = rows - count
        remaining = f"{left} rows are" if left > 1 else "1 row is" if left else "no row is"
        copies = "" if rows == problem.rows else "different "
        message = f"{rows} {copies}rows, {count} parameters: {remaining} left to test the law"
        return [Diagnostic("F0102", message, "warning", help=help)]
    effective = _effective_rows(problem.weights, problem.rows)
    if effective - count < MIN_TEST_DOF - EFFECTIVE_ROWS_ATOL:
        message = (
            f"the weights leave {effective:.3g} effective rows of {problem.rows}, {count} parameters: "
            "too few to test the law"
        )
        help = "weight the rows less unevenly, measure more, or fit a smaller law"
        return [Diagnostic("F0102", message, "warning", help=help)]
    total = problem.rows if problem.weights is None else float(np.sum(problem.weights))
    if total - count < MIN_TEST_DOF - EFFECTIVE_ROWS_ATOL:
        message = (
            f"the weights sum to {total:.3g}, {count} parameters: too few rows to test the law"
        )
        help = (
            "a weight is a number of rows: multiply the weights until they sum to that of the table"
        )
        return [Diagnostic("F0102", message, "warning", help=help)]
    settings = _count_settings(problem.columns, count)
    # a constant law has no form to test
    if len(problem.columns) and settings <= count:
        plural = "s" if settings > 1 else ""
        message = (
            f"{settings} setting{plural} of the variables, {count} parameters: no setting is left to "
            "test the law"
        )
        help = "measure at more settings, or fit a smaller law"
        return [Diagnostic("F0102", message, "warning", help=help)]
    return []


def _effective_rows(weights: Array | None, rows: int) -> float:
    """Kish's effective sample size of weighted rows, (Σw)²/Σw²."""
    if weights is None:
        return float(rows)
    # squares of large weights may overflow
    shares = weights / np.max(weights)
    return float(np.sum(shares) ** 2 / np.sum(shares**2))


def _count_settings(columns: Array, limit: int) -> int:
    """The number of distinct settings of the variables, nearly equal ones counted once; `limit` + 1
    if there are more than `limit`.

    Args:
        columns: the variables, shape (variables, rows).
        limit: the count up to which the result is exact.
    """
    levels = []
    for values in columns:
        value_levels = _value_levels(values, limit)
        if value_levels is None:
            return limit + 1
        levels.append(value_levels)
    return int(row_codes(levels, len(levels[0])).max()) + 1 if levels else 1


def _value_levels(values: Array, limit: int) -> NDArray[np.int64] | None:
    """The level of each value; None for more levels than `limit`. A level contains all values within
    a thousandth, of the value and of the range, of its smallest one."""
    ordered = np.unique(values)
    width = REPLICATE_RTOL * float(ordered[-1] - ordered[0])
    starts = [0]
    while True:
        first = ordered[starts[-1]]
        last = first + min(width, REPLICATE_RTOL * abs(first))
        after = int(np.searchsorted(ordered, last, side="right"))
        if after == len(ordered):
            return np.searchsorted(ordered[starts], values, side="right")
        if len(starts) > limit:
            return None
        starts.append(after)


def worse_than_mean_findings(problem: Problem, theta: Array) -> list[Diagnostic]:
    """A finding if a constant describes the measurements better than the law: wrong columns, units,
    or law. Outliers alone do not cause it.

    The constant is the mean, or for a loss whose sides differ the best constant, such as a quantile:
    such a fit is far from most measurements, so that R² is not informative, and the sums of the
    loss are compared (Koenker and Machado (1999), Journal of the American Statistical Association
    94).

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
    """
    values = np.log(problem.target) if problem.objective.log else problem.target
    help = "look at the columns and their units, or choose another law"
    if not problem.objective.is_centered:
        ratio = _loss_relative_to_constant(problem, values, theta)
        if not ratio > CLEAR_EXCESS:
            return []
        row, constant = problem.objective.row, "a constant"
        if row.kinked:
            constant = f"their {100 * _share_below(problem):.3g} % quantile"
        message = (
            f"the law describes these data worse than {constant} does: "
            f"{problem.objective.loss} loss {ratio:.3g} times as large"
        )
        return [Diagnostic("F0112", message, help=help)]
    residual = problem.residuals_at(theta[None])[0]
    r_squared = 1 - float(np.sum(residual**2) / np.sum((values - np.mean(values)) ** 2))
    usual = float(np.median(np.abs(values - np.median(values))))
    # also by medians, since one outlier can make R² negative
    if r_squared >= 0 or np.median(np.abs(residual)) <= CLEAR_EXCESS * usual:
        return []
    message = f"the law describes these data worse than their mean does: R² = {r_squared:.3g}"
    return [Diagnostic("F0112", message, help=help)]


def _share_below(problem: Problem) -> float:
    """The share of the measurements below a fit by a kinked loss: below/(below + above)."""
    assert problem.objective.row.sides is not None
    below, above = problem.objective.row.sides(*problem.objective.parameters)
    return below / (below + above)


def _loss_relative_to_constant(problem: Problem, values: Array, theta: Array) -> float:
    """The objective of a fit divided by that of the best constant: for a kinked loss a quantile of
    the measurements.
    """
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights

    def of_constant(constant: float) -> float:
        return weighted_loss(rho(constant - values, problem.objective), weights).sum

    if problem.objective.row.kinked:
        order = np.argsort(values)
        shares = np.cumsum(weights[order]) / np.sum(weights)
        position = min(int(np.searchsorted(shares, _share_below(problem))), problem.rows - 1)
        least = of_constant(float(values[order][position]))
    else:
        ends = float(np.min(values)), float(np.max(values))
        _, least = bounded_minimum(of_constant, *ends)
    of_law = float(replace(problem, penalty=None).losses_at(theta[None])[0])
    return of_law / least if least else math.inf


def bound_findings(
    law: PreparedLaw, problem: Problem, theta: Array
) -> tuple[list[Diagnostic], dict[str, str]]:
    """Find parameters that the fit has moved to a bound of their domain.

    Args:
        law: the law.
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).

    Returns:
        Diagnostics, and name of the parameter -> lower or upper.
    """
    base = problem.predictions(theta[None])[0]
    size = float(np.max(np.abs(base)))
    names = [q.name for q in law.parameters]
    nearest = bound_distances(problem.transforms, dict(zip(names, theta, strict=True)))
    # a breakpoint between two rows changes nothing on its way to its bound
    flat = np.zeros(len(names), dtype=bool)
    if problem.model.piecewise:
        flat = ~np.any(problem.slopes(theta[None])[1][0], axis=0)
    numbers = {name: i for i, name in enumerate(names)}
    steps = {
        numbers[name]: (1.0 if side == "lower" else -1.0, distance)
        for name, (side, distance) in nearest.items()
    }
    changes = _changes if problem.arrow is None else _changes_by_blocks
    change = changes(problem, theta, base, steps)
    findings, sides = [], {}
    for i, q in enumerate(law.parameters):
        if q.name not in nearest:
            continue
        side, distance = nearest[q.name]
        inwards = 1.0 if side == "lower" else -1.0

        # the distance is a difference of rounded numbers
        at_bound = distance <= 1e-12 * max(abs(theta[i]), 1e-300)
        # a parameter without any effect is not forced to its bound
        without_effect = flat[i] or change(i, inwards) <= ON_BOUND_RTOL**2 * size
        if at_bound or (change(i, 0.0) <= ON_BOUND_RTOL * size and not without_effect):
            sides[q.name] = side
            bound = next((b for b in q.bounds if b.lower == (side == "lower")), q.bounds[0])
            stated = f"{q.name} {bound.relation} {bound.text}"
            message = f"{q.name} lies on its bound {stated}"
            excluded = f"{stated} excludes the bound itself: the value shown is the limit"
            findings.append(
                Diagnostic(
                    "F0103",
                    message,
                    "warning",
                    notes=(excluded,) if bound.strict else (),
                    help="the objective still decreases towards the bound: check the bound, or the law",
                )
            )
    return findings, sides


Steps = Mapping[int, tuple[float, float]]  # parameter -> direction inwards, distance of the bound


def _changes(
    problem: Problem, theta: Array, base: Array, steps: Steps
) -> Callable[[int, float], float]:
    """A function from a parameter to the largest change of the predictions when it moves to its
    bound, or inwards by more than its size; inf without a value."""

    def change(i: int, inwards: float) -> float:
        trial = theta.copy()
        trial[i] += inwards * (1 + abs(theta[i])) if inwards else -steps[i][0] * steps[i][1]
        predicted = problem.predictions(trial[None])[0]
        if not np.all(np.isfinite(predicted)):
            return np.inf
        return float(np.max(np.abs(predicted - base)))

    return change


def _changes_by_blocks(
    problem: Problem, theta: Array, base: Array, steps: Steps
) -> Callable[[int, float], float]:
    """The same for many parameters: those at one place of all blocks move together, since each has
    its own rows."""
    arrow = problem.arrow
    assert arrow is not None
    single = _changes(problem, theta, base, steps)
    found: dict[tuple[int, bool], float] = {}
    for members in arrow.members.T:
        for is_inwards in (False, True):
            trial = theta.copy()
            for i in members[members >= 0].tolist():
                inwards, distance = steps.get(i, (0.0, 0.0))
                trial[i] += inwards * (1 + abs(theta[i])) if is_inwards else -inwards * distance
            moved = np.abs(problem.predictions(trial[None])[0] - base)[arrow.order]
            largest = np.maximum.reduceat(np.where(np.isfinite(moved), moved, np.inf), arrow.begins)
            for i, size in zip(members.tolist(), largest.tolist(), strict=True):
                found[i, is_inwards] = size

    def change(i: int, inwards: float) -> float:
        known = found.get((i, bool(inwards)))
        return single(i, inwards) if known is None else known

    return change


def move_onto_bounds(problem: Problem, free: Array, loss: float) -> Array:
    """Move parameters that diverge towards a bound to a canonical point, beyond which changes are
    below rounding.

    The search leaves the unconstrained value of such a parameter at an arbitrary large number;
    after the move, the result is the same from every start. A parameter without any effect is not
    moved.

    Args:
        problem: the objective to be minimised, with its data.
        free: its unconstrained parameters, shape (parameters,).
        loss: the objective at this point.

    Returns:
        Unconstrained parameters, shape (parameters,).
    """
    bounded = free.copy()
    for i, transform in enumerate(problem.transforms):
        if abs(bounded[i]) <= DIVERGED_FREE or transform.lower is transform.upper:
            continue
        both = transform.lower is not None and transform.upper is not None
        # with one limit, only small exp(u) approach it; large ones are large parameters
        for extreme in (-ROUNDING_ENDS, ROUNDING_ENDS) if both else (-ROUNDING_ENDS,):
            trial, inside = bounded.copy(), bounded.copy()
            trial[i], inside[i] = extreme, 0.0
            trial_loss, inside_loss = problem.losses(np.stack([trial, inside]))
            # a parameter without any effect stays as it is
            has_effect = abs(inside_loss - trial_loss) > 1e-12 * abs(trial_loss)
            if trial_loss <= loss * (1 + 1e-10) and has_effect:
                bounded = trial
                break
    return bounded


def agreement_findings(starts: int, agreed: int) -> list[Diagnostic]:
    """A finding if few starts reached the best minimum, so that it may not be the global one.

    Args:
        starts: the number of starts.
        agreed: the number of starts that reached the best minimum.
    """
    if starts == 1:
        message = "one start: whether another leads lower is not known"
        help = "compare with starts that the engine chooses: --starts 24"
        return [Diagnostic("F0104", message, "warning", help=help)]
    if agreed > max(1, starts // 20):
        return []
    message = f"only {agreed} of {starts} starts reached the best minimum"
    help = f"ask for more: --starts {max(100, 4 * starts)}"
    if starts > MANY_STARTS:
        help = "start where you expect the optimum, --start NAME=VALUE, or bound the parameters"
    return [Diagnostic("F0104", message, "warning", help=help)]
