"""Minimum of a smoothed loss -> the minimum for a loss of two straight lines.

At the minimum of a sum of absolute values, or of check losses, usually as many residuals are 0 as
there are parameters. The smoothed minimum is followed while the width of the smoothing decreases to
0. Then each step minimises the sum with linearised residuals, a linear program, within a box (trust
region) that grows and shrinks with the success of the steps (Osborne and Watson (1971), "On an
algorithm for discrete nonlinear L1 approximation", The Computer Journal 14). For a law that is
linear in its parameters one step reaches the minimum.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.losses import smoothed
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.newton import newton_batch
from lawdsl.fitting.solvers.projected_problem import project

Array = NDArray[np.float64]

# widths of the smoothing, relative to the median residual
WIDTHS = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3)
# relative to the standard deviation of the measurements, before residuals are known
FIRST_WIDTH = 0.05
STEPS = 60
# predicted relative decrease below which the search ends
PROMISE_RTOL = 1e-11
SMALLEST_BOX = 1e-14
GOOD_STEP, BAD_STEP = 0.75, 0.25  # ratios of the actual to the predicted decrease
FIRST_BOX = 0.5  # relative to the change of a parameter that alone changes a residual by the median


def first_smoothing(problem: Problem) -> Problem:
    """The problem with a smooth loss, whose minima are the starts of the search.

    Args:
        problem: with a loss that has a kink.
    """
    deviation = float(np.std(problem.goal))
    width = FIRST_WIDTH * deviation if deviation > 0 else 1.0
    return replace(problem, objective=smoothed(problem.objective, width))


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def follow(problem: Problem, free: Array) -> tuple[Array, float, bool]:
    """The minimum of a loss with a kink near a minimum of a smooth loss.

    Args:
        problem: with a loss that has a kink.
        free: unconstrained parameters, shape (parameters,).

    Returns:
        The unconstrained parameters, the objective there, and whether no step leads lower.
    """
    best, loss = free, float(problem.losses(free[None])[0])
    scale = float(np.median(np.abs(problem.residuals(free[None])[0])))
    if np.isfinite(scale) and scale > 0:
        point = free
        for width in WIDTHS:
            smooth = replace(problem, objective=smoothed(problem.objective, width * scale))
            points, _, _, _ = newton_batch(project(smooth), point[None])
            point = points[0]
            reached = float(problem.losses(point[None])[0])
            if reached < loss:
                best, loss = point, reached
    return _linear_programs(problem, best, loss)


def _linear_programs(problem: Problem, free: Array, loss: float) -> tuple[Array, float, bool]:
    """Steps by linear programs until they predict no decrease."""
    box = FIRST_BOX
    for _ in range(STEPS):
        residual, slopes = (x[0] for x in problem.residuals_and_slopes(free[None]))
        if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(slopes))):
            return free, loss, False
        step, model = _best_step(problem, residual, slopes, box)
        promised = loss - model
        if step is None or promised <= PROMISE_RTOL * loss + problem.exact * PROMISE_RTOL:
            return free, loss, step is not None
        reached = float(problem.losses((free + step)[None])[0])
        ratio = (loss - reached) / promised if np.isfinite(reached) else -1.0
        if ratio > 0:
            free, loss = free + step, reached
        if ratio > GOOD_STEP:
            box *= 4
        elif ratio < BAD_STEP:
            box /= 4
        if box < SMALLEST_BOX:
            return free, loss, True
    return free, loss, False


def _best_step(
    problem: Problem, residual: Array, slopes: Array, box: float
) -> tuple[Array | None, float]:
    """The step within a box that minimises the objective of linearised residuals, and its predicted
    value.

    Args:
        problem: the objective.
        residual: shape (rows,).
        slopes: their derivatives with respect to the unconstrained parameters, shape (rows,
            parameters).
        box: the size of the box, in units of the median residual divided by the median derivative
            of each parameter.
    """
    assert problem.objective.row.sides is not None
    below, above = problem.objective.row.sides(*problem.objective.parameters)
    weights = np.ones(len(residual)) if problem.weights is None else problem.weights
    size = float(np.mean(np.abs(residual))) or 1.0
    lengths = np.sqrt(np.mean(slopes**2, axis=0))
    moving = lengths > 0
    if not moving.any():
        return np.zeros(slopes.shape[1]), float("inf")
    # steps in units that each change the residuals by their own size, which is the unit of the rows
    scaled = slopes[:, moving] / lengths[moving]
    rows, count = scaled.shape
    # the dual program has one equation per parameter: max rᵀy - box·|scaledᵀy|₁, y between the
    # slopes; the step is the vector of its multipliers
    from scipy.optimize import linprog  # slow to import

    eye = np.eye(count)
    solution = linprog(
        np.concatenate([-residual / size, np.full(2 * count, box)]),
        A_eq=np.hstack([scaled.T, eye, -eye]),
        b_eq=np.zeros(count),
        bounds=[*zip(-below * weights, above * weights, strict=True), *[(0, None)] * (2 * count)],
        method="highs",
    )
    if solution.x is None:
        return None, float("inf")
    step = np.zeros(slopes.shape[1])
    step[moving] = solution.eqlin.marginals * size / lengths[moving]
    return step, -float(solution.fun) * size
