"""Problem + starts -> the local minimum that each start leads to.

Two solvers, each on all starts as one array: `irls` takes them near the minima, `newton` to the
last digit. Between the two, starts with equal predictions are merged, since they are in one basin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.irls import NEAR, irls, longest, widen_delta
from lawdsl.fitting.solvers.newton import newton
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.solvers.solver import GIVEN_UP, Solution, Solver, SolverOptions

Array = NDArray[np.float64]

FAR_OUT = -18.0  # free number below which a parameter is on its bound: exp(-18) is 1.5e-8
PLACED = 0.5  # relative: free numbers further apart are of two basins
ALIKE = 0.1  # of the usual residual: predictions nearer than that are of one basin
TOGETHER = 48  # starts in one array
POLISHED = 1e-9  # relative: of an objective summed from rounded residuals


SOLVERS: tuple[Solver, Solver] = (irls, newton)
"""From anywhere to near the minima, and from there to the last digit."""


def descend(
    problem: Problem,
    free: Array,
    progress: Callable[[int, int], None] | None = None,
    solvers: tuple[Solver, Solver] = SOLVERS,
) -> list[Solution]:
    """Follow starts downhill to local minima.

    Args:
        problem: the fit.
        free: starts as free numbers, shape (starts, parameters).
        progress: called with the number of starts done, and their total.
        solvers: the solver from anywhere to near the minima, and the one from there to the minima.

    Returns:
        The solution of each start, in the order of the starts. Starts that reach the same
        predictions are in one basin and share one solution.
    """
    coarse, fine = solvers
    projected = project(problem)
    objectives = [
        SolverOptions(objective, gradient=False)
        for objective in (widen_delta(problem, free), problem.objective)
    ]
    rough, losses = free.copy(), np.full(len(free), np.inf)
    for first in range(0, len(free), TOGETHER):
        last = min(first + TOGETHER, len(free))
        # the widened loss may have its minimum elsewhere
        for number, search in enumerate(objectives):
            some = np.arange(first + number, last, 2)
            if not len(some):
                continue
            for row, solution in zip(some, coarse(projected, free[some], search), strict=True):
                rough[row], losses[row] = solution.point, solution.loss
        if progress is not None:
            progress(last, len(free))
    reached = np.isfinite(losses)
    losses[reached] = problem.losses(rough[reached])
    solutions = [Solution(u, np.inf, False, GIVEN_UP) for u in rough]
    basins = _basins(problem, rough, losses)
    if basins:
        near_minima = _lifted(problem, rough[[basin[0] for basin in basins]])
        ends = fine(projected, near_minima, SolverOptions(gradient=False))
        for basin, end in zip(basins, ends, strict=True):
            for k in basin:
                solutions[k] = end
    return solutions


def _lifted(problem: Problem, free: Array) -> Array:
    """Free numbers with those far out on a bound brought back, where that lowers the loss."""
    out = (free < FAR_OUT) & (longest(problem) < np.inf)
    if not out.any():
        return free
    model = problem.local_model(free, exact=False)
    with np.errstate(all="ignore"):
        room = np.exp(free)
        # derivatives by the distance from the bound, d/d(exp u): by u they vanish far out, and no
        # step leads back
        gradient, curvature = model.gradient / room, np.einsum("sii->si", model.hessian) / room**2
        optimal = room - gradient / curvature
        return np.where(out & (curvature > 0) & (optimal > 2 * room), np.log(optimal), free)


def _basins(problem: Problem, free: Array, losses: Array) -> list[list[int]]:
    """Group promising starts by equal predictions, in increasing order of their losses."""
    order = np.argsort(losses, kind="stable")
    # an exact fit has a loss near 0, of which no multiple is a useful limit
    order = order[losses[order] <= NEAR * losses[order[0]] + problem.exact]
    order = order[np.isfinite(losses[order])]
    basins: list[list[int]] = []
    residuals: list[Array] = []
    width = 0.0
    for k in order:
        residual = problem.residuals(free[k : k + 1])[0]
        if not basins:
            width = ALIKE * float(np.median(np.abs(residual)))
        home = None
        for basin, other in zip(basins, residuals, strict=True):
            distance = np.abs(free[k] - free[basin[0]]) / (1 + np.abs(free[k]))
            same = np.max(distance, initial=0.0) <= PLACED  # two terms may have changed places
            if same and np.sqrt(np.mean((residual - other) ** 2)) <= width:
                home = basin
                break
        if home is None:
            basins.append([int(k)])
            residuals.append(residual)
        else:
            home.append(int(k))
    return basins


def polish(problem: Problem, free: Array, steps: int = 12) -> Array:
    """Refine the last digits of a fit by Gauss-Newton steps.

    Each step solves min over s of |sqrt(w)·(r + J·s)|² by orthogonal factors of J. The normal
    equations would square the condition number of J, and so lose digits that this keeps (Nocedal
    and Wright (2006), Numerical Optimization, section 10.3).

    Args:
        problem: the fit.
        free: free numbers near a minimum, shape (parameters,).
        steps: the largest number of steps.

    Returns:
        Free numbers, shape (parameters,).
    """
    best, loss = free, float(problem.losses(free[None])[0])
    previous = np.inf
    for _ in range(steps if problem.objective.row.quadratic else 0):
        step = _gauss_newton(problem, best)
        if step is None:
            break
        size = float(np.max(np.abs(step) / (np.abs(best) + 1e-300)))
        trial = best + step
        # near rounding the objective is noise: the size of the step tells which point is nearer
        if size >= previous or not problem.losses(trial[None])[0] <= loss * (1 + POLISHED):
            break
        best, previous = trial, size
    return best


def _gauss_newton(problem: Problem, u: Array) -> Array | None:
    r, slopes = problem.residuals_and_slopes(u[None])
    if not (np.all(np.isfinite(slopes)) and np.all(np.isfinite(r))):
        return None
    # unit columns, since the test of the triangle below is absolute
    scale = np.linalg.norm(slopes[0], axis=0)
    if not np.all(scale > 0):
        return None
    q, triangle = np.linalg.qr(slopes[0] / scale)
    if np.min(np.abs(np.diag(triangle))) < 1e-14:
        return None
    step: Array = -np.linalg.solve(triangle, q.T @ r[0]) / scale
    return step
