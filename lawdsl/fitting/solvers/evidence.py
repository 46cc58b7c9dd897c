"""Problem + a point -> whether the rows act on the parameters there: agreement of starts on a plateau
is no evidence of an optimum.

The Jacobian is that of the parameters which are searched for, less its projection onto those which
are solved for (Golub and Pereyra (1973), SIAM Journal on Numerical Analysis 10), in the weights of
the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnostics.alternative_minima import predict_alike
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.solver import Solution
from lawdsl.fitting.transforms import to_parameters

Array = NDArray[np.float64]

# relative to the measurements: a smaller change of the predictions is rounding error
PREDICTION_RTOL = 1e-12
# relative to the residuals: on a plateau, no parameter that changes by its own size has a larger
# effect
PLATEAU_SHARE = 1e-4
# relative to the largest: a smaller singular value is that of a direction without effect
FLAT_WIDTH = 1e-7
# an unconstrained parameter below this is on its bound
ON_BOUND_FREE = -15.0
# relative to the best objective: objectives that differ by less belong to the same minimum
SAME_MINIMUM_RTOL = 1e-6


def is_plateau(problem: Problem, free: Array) -> bool:
    """Whether no parameter that is searched for affects the predictions at a point, beside what the
    residuals are.

    Args:
        problem: the objective to be minimised, with its data.
        free: unconstrained parameters, shape (parameters,).
    """
    moving = [i for i in range(problem.parameters) if i not in problem.linear]
    # a parameter of a condition has its effect between rows, without a slope
    if not moving or problem.model.piecewise:
        return False
    theta = to_parameters(problem.transforms, free[None])
    if problem.arrow is None:
        residual, slopes = (values[0] for values in problem.slopes(theta))
        largest = np.max(np.abs(np.nan_to_num(slopes[:, moving])), axis=0)
    else:
        (residual,), compact = problem.compact_slopes(theta)
        largest = problem.arrow.largest(np.nan_to_num(compact))[0, moving]
    size = 1.0 if problem.objective.log else float(np.max(np.abs(problem.target)))
    unit = np.maximum(np.abs(theta[0, moving]), 1.0)
    effect = np.max(largest * unit, initial=0.0)
    spread = float(np.sqrt(np.mean(residual**2)))
    return bool(effect <= max(PREDICTION_RTOL * size, PLATEAU_SHARE * spread))


def determines(problem: Problem, free: Array) -> bool:
    """Whether the rows determine all parameters that are searched for, near a point: the projected
    Jacobian, its columns scaled to length 1, has full rank.

    Args:
        problem: the objective to be minimised, with its data.
        free: unconstrained parameters, shape (parameters,).
    """
    widths = projected_widths(problem, free)[0]
    return not len(widths) or bool(widths[-1] > FLAT_WIDTH * widths[0])


def projected_widths(problem: Problem, free: Array) -> tuple[Array, Array, Array]:
    """The singular values of the projected Jacobian with columns of length 1, the directions, one a
    row, and the lengths of the columns; parameters on their bounds are left out, and have length 0.

    Args:
        problem: the objective to be minimised, with its data.
        free: unconstrained parameters, shape (parameters,).

    Returns:
        Shapes (directions,), (directions, parameters) and (parameters,).
    """
    with np.errstate(all="ignore"):
        columns = np.nan_to_num(problem.residuals_and_slopes(free[None])[1][0])
    if problem.weights is not None and problem.weights.ndim == 1:
        columns = columns * np.sqrt(problem.weights)[:, None]
    is_linear = np.isin(np.arange(problem.parameters), problem.linear)
    sided = np.array([t.lower is not None or t.upper is not None for t in problem.transforms])
    moving = np.flatnonzero(~is_linear & ~(sided & (free < ON_BOUND_FREE)))
    linear = columns[:, is_linear]
    others = columns[:, moving]
    length = np.linalg.norm(linear, axis=0)
    linear = linear[:, length > 0] / length[length > 0]
    before = np.linalg.norm(others, axis=0)
    if linear.shape[1]:
        basis = np.linalg.qr(linear)[0]
        others = others - basis @ (basis.T @ others)
    lengths = np.zeros(problem.parameters)
    lengths[moving] = np.linalg.norm(others, axis=0)
    # what a projection leaves of a column may be its rounding
    lengths[moving[lengths[moving] <= FLAT_WIDTH * before]] = 0.0
    unit = np.where(lengths[moving] > 0, others / np.maximum(lengths[moving], 1e-300), 0.0)
    _, widths, rows = np.linalg.svd(unit, full_matrices=False)
    directions = np.zeros((len(rows), problem.parameters))
    directions[:, moving] = rows
    return widths, directions, lengths


def count_agreeing(problem: Problem, reached: Sequence[Solution]) -> int:
    """The number of starts that reached the best minimum: its objective and its predictions. If no
    parameter affects the law, a start counts only for itself.
    """
    best = min(reached, key=lambda d: d.loss)
    limit = best.loss + max(SAME_MINIMUM_RTOL * abs(best.loss), problem.exact)
    equal = [d for d in reached if d.loss <= limit]
    if not np.isfinite(best.loss) or is_plateau(problem, best.point):
        return min(len(equal), 1)
    ends = {id(d): d for d in equal}  # starts in one basin share one solution
    same_predictions = predict_alike(
        problem, best.point, np.stack([d.point for d in ends.values()])
    )
    same = {number for number, is_same in zip(ends, same_predictions, strict=True) if is_same}
    return sum(id(d) in same for d in equal)
