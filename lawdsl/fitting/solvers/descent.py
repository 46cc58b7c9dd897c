"""From many starts at once to the minima they lead to.

Two stages, each on all starts as one array: `rough` takes them near the minima, `fine` to the last
digit. Starts that have come to the same predictions go on as one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from lawdsl.fitting.losses import least_squares_loss
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.irls import NEAR, longest, roughly, widened
from lawdsl.fitting.solvers.newton import finely

Array = NDArray[np.float64]

__all__ = ["POLISHED", "Descent", "descend", "finely", "from_one", "polish"]

EVALUATIONS, EXACTLY = 6000, 1e-15  # of one start; relative tolerance
FAR_OUT = -18.0  # a free number of a parameter that lies on its bound
PLACED = 0.5  # relative: free numbers further apart are of two basins
ALIKE = 0.1  # of the usual residual: predictions nearer than that are of one basin
TOGETHER = 48  # starts in one array
POLISHED = 1e-9  # relative: of an objective summed from rounded residuals


@dataclass(frozen=True)
class Descent:
    """Where one start led.

    Attributes:
        free: the free numbers reached, shape (parameters,).
        loss: the objective there.
        converged: whether a minimum was reached.
        reason: why the search stopped.
    """

    free: Array
    loss: float
    converged: bool
    reason: str


def descend(
    problem: Problem,
    free: Array,
    progress: Callable[[int, int], None] | None = None,
) -> list[Descent]:
    """Follow starts downhill.

    Args:
        problem: the fit.
        free: free numbers, shape (starts, parameters).
        progress: called with how many starts are done, and of how many.

    Returns:
        Where each start led, in their order. Starts that come to the same predictions are in one
        basin, and go on as one.
    """
    ways = [widened(problem, free), problem.objective]
    rough, losses = free.copy(), np.full(len(free), np.inf)
    for first in range(0, len(free), TOGETHER):
        last = min(first + TOGETHER, len(free))
        for number, way in enumerate(ways):  # the smooth bowl may lie elsewhere
            some = np.arange(first + number, last, 2)
            if not len(some):
                continue
            rough[some], losses[some] = roughly(problem, free[some], way)
        if progress is not None:
            progress(last, len(free))
    reached = np.isfinite(losses)
    losses[reached] = problem.losses(rough[reached])
    found = [Descent(u, np.inf, False, GIVEN_UP) for u in rough]
    basins = _basins(problem, rough, losses)
    if basins:
        ends = _ends(problem, rough[[basin[0] for basin in basins]])
        for basin, end in zip(basins, ends, strict=True):
            for k in basin:
                found[k] = end
    return found


def _ends(problem: Problem, free: Array) -> list[Descent]:
    there, _, settled = finely(problem, _lifted(problem, free))
    reached = zip(there, problem.losses(there), settled, strict=True)
    return [
        Descent(u, float(at), bool(done and np.isfinite(at)), ENDS[bool(done)])
        for u, at, done in reached
    ]


def _lifted(problem: Problem, free: Array) -> Array:
    """Free numbers with those far out on a bound brought back, where that lowers the loss."""
    out = (free < FAR_OUT) & (longest(problem) < np.inf)
    if not out.any():
        return free
    near = problem.quadratic(free, exact=False)
    with np.errstate(all="ignore"):
        room = np.exp(free)
        pull, stiff = near.gradient / room, np.einsum("sii->si", near.hessian) / room**2
        there = room - pull / stiff
        return np.where(out & (stiff > 0) & (there > 2 * room), np.log(there), free)


GIVEN_UP = "another start had found better"
ENDS = {True: "no step leads lower", False: "the limit of steps was reached"}


def from_one(problem: Problem, free: Array, evaluations: int = EVALUATIONS) -> Descent:
    """Follow one start, of shape (parameters,), downhill, and no further than it leads.

    Trust-region reflective least squares with the exact Jacobian and tolerances at rounding level:
    of the solvers measured on the NIST sets the only one that never claims a wrong minimum.
    """
    row = problem.objective.row

    def residuals(u: Array) -> Array:
        return np.nan_to_num(problem.residuals(u[None])[0], nan=1e30, posinf=1e30, neginf=-1e30)

    def slopes(u: Array) -> Array:
        found = problem.residuals_and_slopes(u[None])[1][0]
        return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)

    weights = np.sqrt(problem.weights if problem.weights is not None else np.ones(problem.rows))
    try:
        with np.errstate(all="ignore"):
            found = least_squares(
                lambda u: weights * residuals(u),
                free,
                lambda u: weights[:, None] * slopes(u),
                method="trf",
                x_scale="jac",
                loss=least_squares_loss(problem.objective),
                # the parameter of a loss that SciPy knows is its scale
                f_scale=problem.objective.delta if row.least_squares and row.parameters else 1.0,
                ftol=EXACTLY,
                xtol=EXACTLY,
                gtol=EXACTLY,
                max_nfev=evaluations,
            )
    except (ValueError, np.linalg.LinAlgError):
        return Descent(free, np.inf, False, "the law has no value there")
    reached, _, settled = finely(problem, found.x[None])
    loss = problem.losses(reached)
    done = bool(settled[0] or found.status > 0)
    return Descent(reached[0], float(loss[0]), done, ENDS[done])


def _basins(problem: Problem, free: Array, losses: Array) -> list[list[int]]:
    """Starts that are worth going on with, those of like predictions together, the best first."""
    order = np.argsort(losses, kind="stable")
    order = order[losses[order] <= NEAR * losses[order[0]] + problem.exact]
    order = order[np.isfinite(losses[order])]
    basins: list[list[int]] = []
    kept: list[Array] = []
    width = 0.0
    for k in order:
        residual = problem.residuals(free[k : k + 1])[0]
        if not basins:
            width = ALIKE * float(np.median(np.abs(residual)))
        home = None
        for basin, other in zip(basins, kept, strict=True):
            apart = np.abs(free[k] - free[basin[0]]) / (1 + np.abs(free[k]))
            same = np.max(apart, initial=0.0) <= PLACED  # two terms may have changed places
            if same and np.sqrt(np.mean((residual - other) ** 2)) <= width:
                home = basin
                break
        if home is None:
            basins.append([int(k)])
            kept.append(residual)
        else:
            home.append(int(k))
    return basins


def polish(problem: Problem, free: Array, steps: int = 12) -> Array:
    """The last digits of a fit by squares, shape (parameters,).

    Gauss-Newton by orthogonal factors keeps the digits that second derivatives lose.
    """
    best, loss = free, float(problem.losses(free[None])[0])
    previous = np.inf
    for _ in range(steps if problem.objective.row.quadratic else 0):
        step = _gauss_newton(problem, best)
        if step is None:
            break
        size = float(np.max(np.abs(step) / (np.abs(best) + 1e-300)))
        moved = best + step
        # at the last digits the objective is noise: there the steps' sizes say who is nearer
        if size >= previous or not problem.losses(moved[None])[0] <= loss * (1 + POLISHED):
            break
        best, previous = moved, size
    return best


def _gauss_newton(problem: Problem, u: Array) -> Array | None:
    r, slopes = problem.residuals_and_slopes(u[None])
    if not (np.all(np.isfinite(slopes)) and np.all(np.isfinite(r))):
        return None
    scale = np.linalg.norm(slopes[0], axis=0)
    if not np.all(scale > 0):
        return None
    q, triangle = np.linalg.qr(slopes[0] / scale)
    if np.min(np.abs(np.diag(triangle))) < 1e-14:
        return None
    step: Array = -np.linalg.solve(triangle, q.T @ r[0]) / scale
    return step
