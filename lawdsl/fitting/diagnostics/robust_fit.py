"""A failed fit -> the rows that cause the failure: those far from a robust fit to the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.losses import HUBER
from lawdsl.data.binding import Runs
from lawdsl.fitting.diagnostics.residual_findings import residual_findings
from lawdsl.fitting.options import AUTO
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.multistart import optimum

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# relative to the spread of the output: close to least absolute residuals, but differentiable
HUBER_DELTA = 1e-3
# residual degrees of freedom: with fewer, outliers cannot be identified
MIN_ROBUST_DOF = 5
# relative to the range of all others: values further out are not explained by noise
EXTREME_RANGES = 5.0
# of the rows: a larger number is not mistakes in single rows
MAX_EXTREME_SHARE = 0.1
# rows: a second search on longer tables takes too long
MAX_ROBUST_ROWS = 20_000


def is_robust(problem: Problem) -> bool:
    """Whether the loss limits the influence of a row to far less than the variation of the output."""
    objective, target = problem.objective, problem.target
    if not objective.row.robust:
        return False
    if not objective.row.parameters:
        return True
    values = np.log(target) if objective.log else target
    return bool(objective.delta < 0.1 * np.std(values))


def extreme_measurements(target: Array) -> Mask:
    """A few measurements far from all others, on the raw scale and in logarithms, which are most
    likely errors: one loss of 30 among losses of 2.5.

    Args:
        target: the measured values, shape (rows,).

    Returns:
        The mask of these values, shape (rows,).
    """
    # on both scales, since values that span decades are far apart on one of them only
    return np.logical_and.reduce(_extreme_tails(target))


def _extreme_tails(values: Array) -> list[Mask]:
    """The masks of values far from all others on the raw scale, and in logarithms if these exist."""
    scales = [values, np.log(values)] if np.all(values > 0) else [values]
    return [_extreme_tail(scaled) for scaled in scales]


def _extreme_tail(values: Array) -> Mask:
    """The mask of a few largest, or a few smallest, values that are far from the rest."""
    is_extreme = np.zeros(len(values), dtype=bool)
    order = np.argsort(values)
    ordered = values[order]
    # at least two values remain, whose range is the unit
    for k in range(1, min(max(1, int(MAX_EXTREME_SHARE * len(values))), len(values) - 2) + 1):
        low, high = ordered[:-k], ordered[k:]
        # equal values have no range, so that anything would be far from them
        if ordered[-k] - low[-1] > EXTREME_RANGES * (low[-1] - low[0]) > 0:
            is_extreme[order[-k:]] = True
        if high[0] - ordered[k - 1] > EXTREME_RANGES * (high[-1] - high[0]) > 0:
            is_extreme[order[:k]] = True
    return is_extreme


def untestable_outlier_findings(problem: Problem, runs: Runs, is_extreme: Mask) -> list[Diagnostic]:
    """A warning about measurements far from all others that cannot be tested by the law, since rows
    are too few.

    Rows whose variables are equally far from those of the others are excluded, since the law may be
    steep there.

    Args:
        problem: the objective to be minimised, with its data.
        runs: the table.
        is_extreme: the mask of measurements far from all others, shape (rows,).
    """
    enough = problem.rows - np.sum(is_extreme) >= problem.parameters + MIN_ROBUST_DOF
    if enough or not is_extreme.any():
        return []
    extreme_in_variables = [tail for column in problem.columns for tail in _extreme_tails(column)]
    tested = np.flatnonzero(is_extreme & ~np.logical_or.reduce(extreme_in_variables, initial=False))
    if not len(tested):
        return []
    numbers, values, others = runs.rows[tested], problem.target[tested], problem.target[~is_extreme]
    which = ", ".join(f"row {n} with {x:.6g}" for n, x in zip(numbers, values, strict=True))
    verb = "lies" if len(tested) == 1 else "lie"
    message = (
        f"{which} {verb} far from all others, {np.min(others):.6g} to {np.max(others):.6g}, and too "
        "few rows are left to judge by the law"
    )
    help = "look at these runs: correct them, or leave them out with --where, and compare"
    location = f"{runs.name}:{numbers[0]}"
    return [Diagnostic("F0115", message, "warning", place=location, help=help)]


def influential_row_findings(
    law: PreparedLaw,
    problem: Problem,
    runs: Runs,
    is_extreme: Mask,
    seed: int,
    starts: int | str = AUTO,
) -> list[Diagnostic]:
    """Find the rows far from a robust fit to the others, if any.

    Args:
        law: the law.
        problem: the problem of the fit, which has failed, or may be dominated by a few rows.
        runs: the table.
        is_extreme: the mask of measurements far from all others, shape (rows,). The law is fitted without
            them; if there are none, to all rows by a robust loss.
        seed: the seed of the starts.
        starts: the number of starts, no more than that of the fit itself.
    """
    if (
        not problem.parameters + MIN_ROBUST_DOF
        <= problem.rows - np.sum(is_extreme)
        <= MAX_ROBUST_ROWS
    ):
        return []
    log = bool(np.all(problem.target > 0))
    values = np.log(problem.target) if log else problem.target
    deviation = 1.0 if log else float(np.median(np.abs(values - np.median(values))))
    if not deviation > 0:
        return []
    objective = replace(
        problem.objective, loss=HUBER.name, delta=HUBER_DELTA * deviation, log=log, choice=None
    )
    robust = law.problem(runs.columns, problem.target, objective, problem.weights)
    # the search uses the other rows only; the extreme values are tested by their residuals
    best = optimum(law, robust.subset(np.flatnonzero(~is_extreme)), starts, seed)
    with np.errstate(all="ignore"):
        if not np.all(np.isfinite(robust.slopes(best.theta[None])[0])):
            return []
    findings = residual_findings(
        law, robust, best.theta, runs, is_extreme if is_extreme.any() else None
    )
    note = "residuals of a robust fit; this fit follows these rows, or fails because of them"
    return [replace(d, notes=(*d.notes, note)) for d in findings if d.code == "F0115"]
