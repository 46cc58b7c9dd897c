"""Solutions of all starts -> a warning if different parameters attain the same minimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.diagnostics.block_directions import BlockJacobian
from lawdsl.fitting.diagnostics.identifiability import NO_EFFECT
from lawdsl.fitting.diagnostics.undetermined_steps import NAMED_SHARE_EXACT, UNDETERMINED_WIDTH
from lawdsl.fitting.prepared_law import PreparedLaw
from lawdsl.fitting.problem import EXACT_FIT_RTOL, Problem
from lawdsl.fitting.solvers.solver import Solution
from lawdsl.fitting.transforms import parameters_and_own_slopes, to_parameters

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# relative to the best objective: objectives that differ by less count as equal
EQUAL_OBJECTIVE_RTOL = 1e-6
# relative to the residuals: predictions at equal objectives that differ by less count as equal
EQUAL_PREDICTIONS_SHARE = 0.02
# relative to its size: a parameter that differs by more is named in the warning
NAMED_PARAMETER_RTOL = 1e-3
MAX_OPTIMA_LISTED = 3  # optima in the text of a finding


def several_optima(
    law: PreparedLaw,
    problem: Problem,
    best: Solution,
    reached: Sequence[Solution],
    exchangeable: frozenset[str] = frozenset(),
) -> list[Diagnostic]:
    """A warning if searches ended at different points with equal objectives.

    Two optima differ if their predictions differ, or if their parameters differ by more than a step
    along directions without effect on the rows, for example if two terms are exchanged. Optima in
    which the parameters of hidden labels are exchanged are one.

    Args:
        law: the law.
        problem: the problem that the searches minimised.
        best: the best solution.
        reached: the solution of each start.
        exchangeable: parameters for which another finding states that their terms can be exchanged.
    """
    limit = best.loss + max(EQUAL_OBJECTIVE_RTOL * abs(best.loss), problem.exact)
    optima = [best.point]
    predictions_differ = 0.0
    differing = np.zeros(problem.parameters, dtype=bool)
    for solution in {id(d): d for d in reached}.values():  # starts in one basin share one solution
        if not solution.loss <= limit:
            continue
        if any(_exchanged_labels(law, problem, free, solution.point) for free in optima):
            continue
        differences = [_optimum_difference(problem, free, solution.point) for free in optima]
        if all(d is not None for d in differences):
            optima.append(solution.point)
            size, names = differences[0] or (0.0, differing)
            predictions_differ = max(predictions_differ, size)
            differing |= names
    named = {name for name, one in zip(law.names, differing, strict=True) if one}
    if len(optima) == 1 or (not predictions_differ and named and named <= exchangeable):
        return []
    theta = to_parameters(problem.transforms, np.stack(optima))
    return [_finding(law, problem, theta, differing, predictions_differ)]


def _exchanged_labels(law: PreparedLaw, problem: Problem, point: Array, other: Array) -> bool:
    """Whether a point is another one with the parameters of hidden labels exchanged."""
    if not law.hidden_labels:
        return False
    one, two = to_parameters(problem.transforms, np.stack([point, other]))
    scale = np.maximum(np.abs(one), 1e-300)
    number = {name: k for k, name in enumerate(law.names)}
    for blocks in law.hidden_labels:
        positions = np.array([[number[name] for name in block] for block in blocks])
        left = list(range(len(blocks)))
        order = []
        for block in positions:
            distances = [
                np.max(np.abs(two[positions[k]] - one[block]) / scale[block]) for k in left
            ]
            order.append(left.pop(int(np.argmin(distances))))
        two[positions] = two[positions[order]]
    return bool(np.all(np.abs(two - one) <= NAMED_PARAMETER_RTOL * scale))


def predict_alike(problem: Problem, free: Array, others: Array) -> Mask:
    """Which of several points predict the rows like a given one, within the difference compatible
    with equal objectives.

    Args:
        problem: the minimisation problem, with its data.
        free: a point, shape (parameters,).
        others: the other points, shape (points, parameters).

    Returns:
        Shape (points,).
    """
    residual = problem.residuals(np.concatenate([free[None], others]))
    tolerance = _equal_predictions(problem, residual[0])
    distances = np.sqrt(np.mean((residual[1:] - residual[0]) ** 2, axis=1))
    alike: Mask = distances <= tolerance
    return alike


def _optimum_difference(problem: Problem, point: Array, other: Array) -> tuple[float, Mask] | None:
    """The largest difference of the predictions, and the parameters that differ; None if the optima
    are the same.
    """
    with np.errstate(all="ignore"):
        residual = problem.residuals(np.stack([point, other]))
    change = residual[1] - residual[0]
    tolerance = _equal_predictions(problem, residual[0])
    theta = to_parameters(problem.transforms, np.stack([point, other]))
    scale = np.maximum(np.max(np.abs(theta), axis=0), 1e-300)
    differs = np.abs(theta[1] - theta[0]) > NAMED_PARAMETER_RTOL * scale
    if differs.any():
        differs &= _have_effect(problem, point)
    if _rms(change) > tolerance:
        return float(np.max(np.abs(change))), differs
    if not differs.any():
        return None
    along = _linear_change(problem, point, np.where(differs, other - point, 0.0))
    return (0.0, differs) if _rms(along) > tolerance else None


def _linear_change(problem: Problem, free: Array, step: Array) -> Array:
    """The change of the residuals by a step of the unconstrained parameters, to first order."""
    if problem.arrow is not None:
        theta, slopes = parameters_and_own_slopes(problem.transforms, free[None])
        return BlockJacobian.of(problem, theta[0])[1].times(slopes[0] * step)
    with np.errstate(all="ignore"):
        slopes = problem.residuals_and_slopes(free[None])[1][0]
    change: Array = np.nan_to_num(slopes) @ step
    return change


def _equal_predictions(problem: Problem, residual: Array) -> float:
    """The root mean square difference between predictions up to which they count as equal."""
    rounding = 10 * EXACT_FIT_RTOL * _output_scale(problem)
    return EQUAL_PREDICTIONS_SHARE * _rms(residual) + rounding


def _have_effect(problem: Problem, free: Array) -> Mask:
    """The mask of parameters that are not part of any direction without effect on the rows."""
    theta = to_parameters(problem.transforms, free[None])
    if problem.arrow is not None:
        return _have_effect_in_blocks(problem, theta[0])
    jacobian = np.nan_to_num(problem.slopes(theta)[1][0])
    length = np.linalg.norm(jacobian, axis=0) * np.maximum(np.abs(theta[0]), 1e-300)
    nonzero = length > NO_EFFECT * np.sqrt(problem.rows) * _output_scale(problem)
    effective = nonzero.copy()
    if nonzero.any():
        scaled = jacobian[:, nonzero] / np.linalg.norm(jacobian[:, nonzero], axis=0)
        _, widths, rows = np.linalg.svd(scaled, full_matrices=False)
        flat = rows[widths < UNDETERMINED_WIDTH * widths[0]]
        effective[np.flatnonzero(nonzero)[np.any(np.abs(flat) > NAMED_SHARE_EXACT, axis=0)]] = False
    return effective


def _have_effect_in_blocks(problem: Problem, theta: Array) -> Mask:
    """The same mask for a problem with blocks, at parameters of shape (parameters,)."""
    _, blocks = BlockJacobian.of(problem, theta)
    size = np.maximum(np.abs(theta), 1e-300)
    limit = NO_EFFECT * np.sqrt(problem.rows) * _output_scale(problem)
    effective: Mask = blocks.lengths * size > limit
    for direction in blocks.flat_directions(UNDETERMINED_WIDTH, ~effective):
        effective[np.abs(direction) > NAMED_SHARE_EXACT] = False
    return effective


def _output_scale(problem: Problem) -> float:
    return 1.0 if problem.objective.log else float(np.max(np.abs(problem.target)))


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _finding(
    law: PreparedLaw, problem: Problem, theta: Array, involved: Mask, difference: float
) -> Diagnostic:
    values = [
        f"{law.parameters[i].name} is {' or '.join(f'{x:.4g}' for x in theta[:MAX_OPTIMA_LISTED, i])}"
        for i in np.flatnonzero(involved)
    ]
    listed = ": " + ", ".join(values) if values else ""
    message = f"{len(theta)} optima are equally good{listed}"
    difference_text = (
        f"{100 * np.expm1(difference):.2g} %" if problem.objective.log else f"{difference:.2g}"
    )
    if difference:
        note = f"their predictions differ by up to {difference_text} on these rows"
        help = "measure where they differ, or bound the parameters to one of them"
    else:
        note = "they predict the same on these rows: parts of the law may change places"
        help = "bound the parameters to one of them: `parameter a > b`, or read them as a set"
    return Diagnostic("F0118", message, "warning", notes=(note,), help=help)
