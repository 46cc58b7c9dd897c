"""Problem + starts -> the local minimum reached from each start.

Two solvers are applied, each to all starts as one array: `irls` approaches the minima, `newton`
converges to the last digit. Between the two, starts with equal predictions are merged, since they
are in one basin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.irls import KEEP_LOSS_FACTOR, irls, longest_steps, widen_delta
from lawdsl.fitting.solvers.newton import newton
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.solvers.solver import GIVEN_UP, Solution, Solver, SolverOptions

Array = NDArray[np.float64]

# below this unconstrained value a parameter counts as on its bound: exp(-18) is 1.5e-8
AT_BOUND_FREE = -18.0
# relative to 1 + |u|: points with an unconstrained parameter u that differs by more are in two
# basins
SAME_BASIN_RTOL = 0.5
# relative to the median residual: predictions that differ by less belong to one basin
SAME_BASIN_RESIDUAL_SHARE = 0.1
BATCH_SIZE = 48  # starts in one array
# relative to the objective: a smaller increase is the rounding of the sum over residuals
POLISH_RTOL = 1e-9


SOLVERS: tuple[Solver, Solver] = (irls, newton)
"""From anywhere to near the minima, and from there to the last digit."""


def descend(
    problem: Problem,
    free: Array,
    progress: Callable[[int, int], None] | None = None,
    solvers: tuple[Solver, Solver] = SOLVERS,
) -> list[Solution]:
    """Search for local minima from several starts.

    Args:
        problem: the objective to be minimised, with its data.
        free: starts as unconstrained parameters, shape (starts, parameters).
        progress: called with the number of starts done, and their total.
        solvers: the solver from anywhere to near the minima, and the one from there to the minima.

    Returns:
        The solution of each start, in the order of the starts. Starts that reach the same
        predictions belong to one basin and share a solution.
    """
    coarse, fine = solvers
    projected = project(problem)
    objectives = [
        SolverOptions(objective, gradient=False)
        for objective in (widen_delta(problem, free), problem.objective)
    ]
    points, losses = free.copy(), np.full(len(free), np.inf)
    for first in range(0, len(free), BATCH_SIZE):
        last = min(first + BATCH_SIZE, len(free))
        # the smoothed loss may have its minimum elsewhere
        for number, options in enumerate(objectives):
            batch = np.arange(first + number, last, 2)
            if not len(batch):
                continue
            for row, solution in zip(batch, coarse(projected, free[batch], options), strict=True):
                points[row], losses[row] = solution.point, solution.loss
        if progress is not None:
            progress(last, len(free))
    has_value = np.isfinite(losses)
    losses[has_value] = problem.losses(points[has_value])
    solutions = [Solution(u, np.inf, False, GIVEN_UP) for u in points]
    basins = _basins(problem, points, losses)
    if basins:
        near_minima = _move_off_bounds(problem, points[[basin[0] for basin in basins]])
        minima = fine(projected, near_minima, SolverOptions(gradient=False))
        for basin, minimum in zip(basins, minima, strict=True):
            for k in basin:
                solutions[k] = minimum
    return solutions


def _move_off_bounds(problem: Problem, free: Array) -> Array:
    """Move unconstrained parameters far out on a bound back by a Newton step, where that decreases
    the loss.
    """
    is_at_bound = (free < AT_BOUND_FREE) & (longest_steps(problem) < np.inf)
    if not is_at_bound.any():
        return free
    model = problem.local_model(free, exact=False)
    with np.errstate(all="ignore"):
        distance = np.exp(free)
        # derivatives with respect to the distance from the bound, d/d(exp u): by u they vanish far
        # out, and no step leads back
        gradient = model.gradient / distance
        curvature = np.einsum("sii->si", model.hessian) / distance**2
        optimal = distance - gradient / curvature
        is_moved = is_at_bound & (curvature > 0) & (optimal > 2 * distance)
        return np.where(is_moved, np.log(optimal), free)


def _basins(problem: Problem, free: Array, losses: Array) -> list[list[int]]:
    """Group promising starts by equal predictions, in the order of increasing losses."""
    order = np.argsort(losses, kind="stable")
    # an exact fit has a loss near 0, so that a multiple of it is not a useful limit
    order = order[losses[order] <= KEEP_LOSS_FACTOR * losses[order[0]] + problem.exact]
    order = order[np.isfinite(losses[order])]
    basins: list[list[int]] = []
    residuals: list[Array] = []
    width = 0.0
    for k in order:
        residual = problem.residuals(free[k : k + 1])[0]
        if not basins:
            width = SAME_BASIN_RESIDUAL_SHARE * float(np.median(np.abs(residual)))
        same_basin = None
        for basin, other in zip(basins, residuals, strict=True):
            distance = np.abs(free[k] - free[basin[0]]) / (1 + np.abs(free[k]))
            # points with equal predictions are far apart if two terms are exchanged
            is_near = np.max(distance, initial=0.0) <= SAME_BASIN_RTOL
            if is_near and np.sqrt(np.mean((residual - other) ** 2)) <= width:
                same_basin = basin
                break
        if same_basin is None:
            basins.append([int(k)])
            residuals.append(residual)
        else:
            same_basin.append(int(k))
    return basins


def polish(problem: Problem, free: Array, steps: int = 12) -> Array:
    """Refine the last digits of a fit by Gauss-Newton steps.

    Each step solves min over s of |sqrt(w)·(r + J·s)|² by orthogonal factors of J. The normal
    equations would square the condition number of J and so lose digits (Nocedal and Wright (2006),
    Numerical Optimization, section 10.3).

    Args:
        problem: the objective to be minimised, with its data.
        free: unconstrained parameters near a minimum, shape (parameters,).
        steps: the largest number of steps.

    Returns:
        Unconstrained parameters, shape (parameters,).
    """
    best, loss = free, float(problem.losses(free[None])[0])
    previous = np.inf
    # its steps include no term for priors
    is_plain = problem.objective.row.quadratic and problem.penalty is None
    for _ in range(steps if is_plain else 0):
        step = _gauss_newton(problem, best)
        if step is None:
            break
        size = float(np.max(np.abs(step) / (np.abs(best) + 1e-300)))
        trial = best + step
        # near rounding error the objective is noisy: the length of the step shows which point is
        # closer
        if size >= previous or not problem.losses(trial[None])[0] <= loss * (1 + POLISH_RTOL):
            break
        best, previous = trial, size
    return best


def _gauss_newton(problem: Problem, u: Array) -> Array | None:
    r, slopes = problem.residuals_and_slopes(u[None])
    if not (np.all(np.isfinite(slopes)) and np.all(np.isfinite(r))):
        return None
    if slopes.shape[1] < slopes.shape[2]:
        return None  # fewer rows than parameters: many steps have the same objective
    # columns of length 1, since the test of the triangular factor below is absolute
    scale = np.linalg.norm(slopes[0], axis=0)
    if not np.all(scale > 0):
        return None
    q, triangle = np.linalg.qr(slopes[0] / scale)
    if np.min(np.abs(np.diag(triangle))) < 1e-14:
        return None
    step: Array = -np.linalg.solve(triangle, q.T @ r[0]) / scale
    return step
