"""Solutions of all starts -> a warning where different parameters minimise the objective equally
well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.diagnostics.identifiability import (
    NAMED_SHARE_EXACT,
    NO_EFFECT,
    UNDETERMINED_WIDTH,
)
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import EXACT_FIT_RTOL, Problem
from lawdsl.fitting.solvers.solver import Solution
from lawdsl.fitting.transforms import to_parameters, with_slopes

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

EQUAL_OBJECTIVE_RTOL = 1e-6  # relative: objectives that differ by less count as equal
# of the residuals: how far predictions may differ at objectives that differ by EQUAL_OBJECTIVE_RTOL
EQUAL_PREDICTIONS_SHARE = 0.02
NAMED_PARAMETER_RTOL = 1e-3  # relative: a parameter that differs by more is named
MAX_OPTIMA_LISTED = 3  # optima whose values are given


def several_optima(
    law: PreparedLaw, problem: Problem, best: Solution, reached: Sequence[Solution]
) -> list[Diagnostic]:
    """A warning where searches have ended at different points with equal objectives.

    Two optima differ where their predictions differ, or where parameters differ by more than along
    directions without effect on the rows: as when two terms are exchanged.

    Args:
        law: the law.
        problem: the problem that the searches minimised.
        best: the best solution.
        reached: the solution of each start.
    """
    limit = best.loss + max(EQUAL_OBJECTIVE_RTOL * abs(best.loss), problem.exact)
    apart = [best.point]
    predictions_differ = 0.0
    involved = np.zeros(problem.parameters, dtype=bool)
    for one in {id(d): d for d in reached}.values():  # starts of one basin share one solution
        if not one.loss <= limit:
            continue
        found = [_difference(problem, free, one.point) for free in apart]
        if all(d is not None for d in found):
            apart.append(one.point)
            size, names = found[0] or (0.0, involved)
            predictions_differ = max(predictions_differ, size)
            involved |= names
    if len(apart) == 1:
        return []
    theta = to_parameters(problem.transforms, np.stack(apart))
    return [_finding(law, problem, theta, involved, predictions_differ)]


def predicts_alike(problem: Problem, free: Array, others: Array) -> Mask:
    """Which of several points predict the rows like a given one, within the difference that equal
    objectives permit.

    Args:
        problem: the fit.
        free: a point, shape (parameters,).
        others: shape (points, parameters).

    Returns:
        Shape (points,).
    """
    residual = problem.residuals(np.concatenate([free[None], others]))
    near = EQUAL_PREDICTIONS_SHARE * _rms(residual[0]) + 10 * EXACT_FIT_RTOL * _size(problem)
    away = np.sqrt(np.mean((residual[1:] - residual[0]) ** 2, axis=1))
    alike: Mask = away <= near
    return alike


def _difference(problem: Problem, here: Array, there: Array) -> tuple[float, Mask] | None:
    """The largest difference of the predictions, and the parameters that differ; None for one and
    the same optimum."""
    with np.errstate(all="ignore"):
        residual, slopes = problem.residuals_and_slopes(np.stack([here, there]))
    off = residual[1] - residual[0]
    near = EQUAL_PREDICTIONS_SHARE * _rms(residual[0]) + 10 * EXACT_FIT_RTOL * _size(problem)
    theta = to_parameters(problem.transforms, np.stack([here, there]))
    scale = np.maximum(np.max(np.abs(theta), axis=0), 1e-300)
    moved = (np.abs(theta[1] - theta[0]) > NAMED_PARAMETER_RTOL * scale) & _seen(problem, here)
    if _rms(off) > near:
        return float(np.max(np.abs(off))), moved
    along = np.nan_to_num(slopes[0]) @ np.where(moved, there - here, 0.0)
    return (0.0, moved) if moved.any() and _rms(along) > near else None


def _seen(problem: Problem, free: Array) -> Mask:
    """Which parameters take part in no direction without effect on the rows."""
    theta, _ = with_slopes(problem.transforms, free[None])
    jacobian = np.nan_to_num(problem.slopes(theta)[1][0])
    length = np.linalg.norm(jacobian, axis=0) * np.maximum(np.abs(theta[0]), 1e-300)
    alive = length > NO_EFFECT * np.sqrt(problem.rows) * _size(problem)
    seen = alive.copy()
    if alive.any():
        scaled = jacobian[:, alive] / np.linalg.norm(jacobian[:, alive], axis=0)
        _, widths, rows = np.linalg.svd(scaled, full_matrices=False)
        flat = rows[widths < UNDETERMINED_WIDTH * widths[0]]
        seen[np.flatnonzero(alive)[np.any(np.abs(flat) > NAMED_SHARE_EXACT, axis=0)]] = False
    return seen


def _size(problem: Problem) -> float:
    return 1.0 if problem.objective.log else float(np.max(np.abs(problem.target)))


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _finding(
    law: PreparedLaw, problem: Problem, theta: Array, involved: Mask, differ: float
) -> Diagnostic:
    values = [
        f"{law.parameters[i].name} is {' or '.join(f'{x:.4g}' for x in theta[:MAX_OPTIMA_LISTED, i])}"
        for i in np.flatnonzero(involved)
    ]
    listed = ": " + ", ".join(values) if values else ""
    message = f"{len(theta)} optima are equally good{listed}"
    shown = f"{100 * np.expm1(differ):.2g} %" if problem.objective.log else f"{differ:.2g}"
    if differ:
        note = f"their predictions differ by up to {shown} on these rows"
        help = "measure where they differ, or bound the parameters to one of them"
    else:
        note = "they predict the same on these rows: parts of the law may change places"
        help = "bound the parameters to one of them: `parameter a > b`, or read them as a set"
    return Diagnostic("F0118", message, "warning", notes=(note,), help=help)
