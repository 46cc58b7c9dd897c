"""From one start to the nearest minimum, and from there to the last digits.

Trust-region reflective least squares with the exact Jacobian and tolerances at rounding level
finds it (of the solvers measured on the NIST sets the only one that never claims a wrong
minimum); a few full steps then polish it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, least_squares

from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

EVALUATIONS = 600  # for one of many starts
PATIENCE = 6000  # for the only one
TOLERANCE = 1e-15
STALL = 25  # steps over which progress is measured
HOPE = 20  # so many times that progress must suffice to reach the best found so far
HOPELESS = "another start had found better"
NOISE = 1e-9  # relative: of an objective summed from rounded residuals
REASONS = {
    0: "the limit of evaluations was reached",
    1: "the gradient is zero to rounding",
    2: "the objective no longer falls",
    3: "the parameters no longer move",
    4: "neither objective nor parameters change",
}


@dataclass(frozen=True)
class Descent:
    """Where one start led.

    Attributes:
        free: the free numbers reached, shape (parameters,).
        loss: the objective there.
        converged: whether a minimum was reached.
        reason: why the search stopped.
        evaluations: of the law on all rows.
    """

    free: Array
    loss: float
    converged: bool
    reason: str
    evaluations: int


def descend(
    problem: Problem, start: Array, evaluations: int = EVALUATIONS, rival: float = np.inf
) -> Descent:
    """Follow one start downhill.

    Args:
        problem: the fit.
        start: free numbers, shape (parameters,).
        evaluations: at most so many evaluations of the law.
        rival: the objective that another start has reached: a search that will not get there is
            given up.
    """
    at: dict[bytes, tuple[Array, Array]] = {}

    def both(u: Array) -> tuple[Array, Array]:
        key = u.tobytes()
        if key not in at:
            at.clear()
            r, slopes = problem.residuals_and_slopes(u[None])
            at[key] = np.nan_to_num(r[0], nan=1e30, posinf=1e30, neginf=-1e30), slopes[0]
        return at[key]

    def slopes(u: Array) -> Array:
        return np.nan_to_num(both(u)[1], nan=0.0, posinf=0.0, neginf=0.0)

    huber = problem.objective.loss == "huber"
    watch = _Watch(rival if huber else rival / 2)  # SciPy's cost halves a sum of squares
    try:
        with np.errstate(all="ignore"):
            found = least_squares(
                lambda u: both(u)[0],
                start,
                slopes,
                method="trf",
                x_scale="jac",
                loss="huber" if huber else "linear",
                f_scale=problem.objective.delta if huber else 1.0,
                ftol=TOLERANCE,
                xtol=TOLERANCE,
                gtol=TOLERANCE,
                max_nfev=evaluations,
                callback=watch,
            )
    except (ValueError, np.linalg.LinAlgError):
        loss = float(problem.losses(start[None])[0])
        return Descent(start, loss, False, "the law has no value there", 0)
    loss = float(problem.losses(found.x[None])[0])
    reason = REASONS.get(found.status, "the search failed")
    if watch.reason is not None:
        reason = watch.reason
    converged = bool((found.status > 0 or watch.reason == REASONS[2]) and np.isfinite(loss))
    return Descent(found.x, loss, converged, reason, int(found.nfev))


class _Watch:
    """Ends a search that has stopped falling, or falls too slowly to reach what another found."""

    def __init__(self, rival: float) -> None:
        self.rival = rival
        self.losses: list[float] = []
        self.reason: str | None = None

    def __call__(self, intermediate_result: OptimizeResult) -> None:
        self.losses.append(float(intermediate_result.cost))
        if len(self.losses) <= STALL:
            return
        now = self.losses[-1]
        progress = self.losses[-STALL - 1] - now
        if progress <= NOISE * abs(now):
            self.reason = REASONS[2]
        elif now - HOPE * progress > self.rival:
            self.reason = HOPELESS
        if self.reason is not None:
            raise StopIteration


def polish(problem: Problem, free: Array, steps: int = 12) -> Array:
    """Full steps to the minimum that a descent has nearly reached; never uphill by more than rounding.

    Squared losses: Gauss-Newton by orthogonal factors, which keeps the digits that normal
    equations lose. Huber losses: Newton, with second derivatives from differences of the exact
    gradient.
    """
    step_of = _gauss_newton if problem.objective.loss == "squared" else _newton
    best, loss = free, float(problem.losses(free[None])[0])
    previous = np.inf
    for _ in range(steps):
        step = step_of(problem, best)
        if step is None:
            break
        size = float(np.max(np.abs(step) / (np.abs(best) + 1e-300)))
        moved = best + step
        # at the last digits the objective is noise: there the steps' sizes say who is nearer
        if size >= previous or not problem.losses(moved[None])[0] <= loss * (1 + NOISE):
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


def _newton(problem: Problem, u: Array) -> Array | None:
    _, gradient = problem.loss_and_gradient(u)
    count = len(u)
    hessian = np.zeros((count, count))
    for i in range(count):
        width = 1e-5 * max(abs(u[i]), 1e-2)
        ahead, behind = u.copy(), u.copy()
        ahead[i] += width
        behind[i] -= width
        difference = problem.loss_and_gradient(ahead)[1] - problem.loss_and_gradient(behind)[1]
        hessian[i] = difference / (2 * width)
    hessian = (hessian + hessian.T) / 2
    if not (np.all(np.isfinite(hessian)) and np.all(np.isfinite(gradient))):
        return None
    scale = np.sqrt(np.abs(np.diag(hessian)))
    if not np.all(scale > 0):
        return None
    values, vectors = np.linalg.eigh(hessian / np.outer(scale, scale))
    if values[0] <= 1e-12 * values[-1]:
        return None  # no bowl: a flat direction, or a corner of Huber's loss
    step: Array = -(vectors @ ((vectors.T @ (gradient / scale)) / values)) / scale
    return step
