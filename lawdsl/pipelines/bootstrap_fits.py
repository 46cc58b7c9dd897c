"""A fit repeated on other measured values of the same rows, many times as one array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import Problem, rho, rho_bend, rho_slope
from lawdsl.fitting.transforms import to_free, to_parameters

Array = NDArray[np.float64]

STEPS = 1000
SETTLED = 1e-11  # relative fall of the objective that no longer matters
FARTHEST = 4.0  # of a step, in free numbers
STUCK = 1e10  # damping at which no step leads lower


@np.errstate(all="ignore")  # a step may lead where a law overflows
def refitted(problem: Problem, theta: Array, targets: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The parameters for other measured values, by damped least squares from those of the fit.

    Args:
        problem: the fit.
        theta: the fitted parameters, shape (parameters,), where each search begins.
        targets: shape (draws, rows).

    Returns:
        Parameters, shape (draws, parameters), and which of the searches ended in a minimum.
    """
    goals = np.log(targets) if problem.objective.log else targets
    start = to_free(problem.transforms, theta[None])
    search = _Search(problem, np.repeat(start, len(targets), axis=0), problem.goal - goals)
    for _ in range(STEPS):
        if not search.step():
            break
    return to_parameters(problem.transforms, search.free), search.settled


class _Search:
    """The state: one row a draw; `shift` turns residuals of the fit into those of a draw."""

    def __init__(self, problem: Problem, free: Array, shift: Array) -> None:
        self.problem, self.free, self.shift = problem, free, shift
        self.weights = np.ones(problem.rows) if problem.weights is None else problem.weights
        self.losses = self._losses(free, shift)
        self.damping = np.full(len(free), 1e-3)
        self.settled = np.zeros(len(free), dtype=bool)
        self.going = np.flatnonzero(np.isfinite(self.losses))

    def _losses(self, free: Array, shift: Array) -> Array:
        residual = self.problem.residuals(free) + shift
        return np.sum(self.weights * rho(residual, self.problem.objective), axis=1)

    def step(self) -> bool:
        """One step of every search that is still going; whether any is."""
        going, objective = self.going, self.problem.objective
        if not len(going):
            return False
        residual, slopes = self.problem.residuals_and_slopes(self.free[going])
        residual = residual + self.shift[going]
        pull = self.weights * rho_slope(residual, objective)
        bend = self.weights * rho_bend(residual, objective, exact=False)
        gradient = (pull[:, None] @ slopes)[:, 0]
        curvature = np.swapaxes(slopes, 1, 2) @ (bend[:, :, None] * slopes)
        size = np.sqrt(np.einsum("spp->sp", curvature))
        size = np.where(size > 0, size, 1.0)
        scaled = curvature / (size[:, :, None] * size[:, None, :])
        usable = np.isfinite(scaled).all(axis=(1, 2)) & np.isfinite(gradient).all(axis=1)
        scaled[~usable], gradient[~usable] = np.eye(scaled.shape[1]), 0.0
        scaled += self.damping[going][:, None, None] * np.eye(scaled.shape[1])
        values, vectors = np.linalg.eigh(scaled)
        along = (vectors.swapaxes(1, 2) @ (-gradient / size)[:, :, None])[:, :, 0]
        step = (vectors @ (along / np.maximum(values, 1e-14))[:, :, None])[:, :, 0] / size
        step /= np.maximum(1.0, np.max(np.abs(step), axis=1) / FARTHEST)[:, None]
        there = self.free[going] + step
        losses = self._losses(there, self.shift[going])
        fall = self.losses[going] - losses
        better = fall >= 0
        kept = going[better]
        self.free[kept], self.losses[kept] = there[better], losses[better]
        damping = self.damping[going]
        enough = SETTLED * np.maximum(self.losses[going], self.problem.exact)
        undamped = np.maximum(values - damping[:, None], 1e-14)
        foreseen = np.sum(along**2 / undamped, axis=1) / 2
        done = (foreseen <= enough) | (better & (fall <= enough) & (damping <= 1e-3))
        self.settled[going[done]] = True
        self.damping[going] = np.where(better, np.maximum(damping / 5, 1e-12), damping * 4)
        self.going = going[~done & usable & (self.damping[going] <= STUCK)]
        stuck = going[~done & (self.damping[going] > STUCK)]
        self.settled[stuck] = True  # no step leads lower: it is there but for rounding
        return True
