"""Problem + starts -> points near local minima: the first stage of a search.

Of a projected problem the search moves only the parameters in which the law is nonlinear, and
solves for the linear ones at every step (variable projection; Ruhe and Wedin (1980), SIAM Review
22). The step of the others is that of damped Gauss-Newton on reweighted squares,

    (D⁻¹ JᵀWJ D⁻¹ + damping·I)·(D·s) = -D⁻¹ g,    W = diag(w_i·psi(r_i)/r_i),    D² = diag(JᵀWJ),

which is Levenberg's and Marquardt's (Nocedal and Wright (2006), Numerical Optimization, section
10.3). Huber's delta is set to the scale of the residuals, so that the objective is smooth. Starts
that can no longer reach the best one are given up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.losses import curvature_of
from lawdsl.fitting.problem import Problem, ResidualState
from lawdsl.fitting.solvers.projected_problem import ProjectedPoint, ProjectedProblem, as_projected
from lawdsl.fitting.solvers.solver import (
    DEFAULTS,
    GIVEN_UP,
    MINIMUM,
    OUT_OF_STEPS,
    Solution,
    SolverOptions,
    gradient_norms,
)
from lawdsl.fitting.solvers.variable_projection import solve_each
from lawdsl.fitting.transforms import diagonal
from lawdsl.language.resolver import Objective

Array = NDArray[np.float64]
Chosen = NDArray[np.int64]
Mask = NDArray[np.bool_]

STEPS = 200
ROUGH = 0.003  # relative decrease of the loss in a step below which a start has converged
PATIENCE = 3  # steps before a start may be given up
HOPE = 12.0  # a start is given up if so many times its last decrease do not reach the best loss
NEAR = 1.3  # times the best loss: starts below it always go to the second stage
LONGEST = 2.0  # step of a free number: a factor of e^2 in what has one bound
CRAWLING = 1e-3  # damping above which steps are so short that a small decrease says little
DAMPING = (1e-4, 1e-2)  # alternating over starts: fast convergence, or convergence from afar
EASED, STIFFENED = 0.1, 10.0
LEAST, MOST = 1e-6, 1e9  # damping
WIDTH = 1.345  # Huber's delta in standard deviations: 95 % efficient if Gaussian


def widen_delta(problem: Problem, free: Array) -> Objective:
    """Return the objective with Huber's delta widened to the scale of the residuals.

    The scale is 1.345·1.4826·median(|r_i|) at the best of the points: 1.4826 makes the median
    absolute residual the standard deviation of Gaussian errors.

    Args:
        problem: the fit.
        free: points, shape (points, parameters).
    """
    row = problem.objective.row
    if not row.parameters:
        return problem.objective
    best = free[np.argmin(problem.losses(free))]
    size = WIDTH * 1.4826 * float(np.median(np.abs(problem.residuals(best[None]))))
    wide = row.widened(size, *problem.objective.parameters)
    return problem.objective.with_parameters(*wide)


def irls(
    problem: Problem | ProjectedProblem, starts: Array, options: SolverOptions = DEFAULTS
) -> list[Solution]:
    """Move starts near the minima by damped steps of reweighted least squares; see `Solver`.

    A start ends where a step lowers the loss by less than a share of 0.003, or of the tolerance of
    the options. Starts that cannot reach the best one are given up.

    Args:
        problem: the fit, or its projection.
        starts: free numbers, shape (starts, parameters).
        options: of the search.

    Raises:
        ValueError: the options fix free numbers, which this solver does not support.
    """
    if options.fixed is not None:
        raise ValueError("reweighted least squares move all free numbers")
    projected = as_projected(problem)
    enough = ROUGH if options.tolerance is None else options.tolerance
    with np.errstate(all="ignore"):
        search = _Irls(projected, starts, options.objective or projected.problem.objective, enough)
        for number in range(STEPS if options.evaluations is None else options.evaluations - 1):
            if not search.step(number):
                break
    running = np.zeros(len(starts), dtype=bool)
    running[search.going] = True
    norms = gradient_norms(projected.problem, search.free, options)
    return [
        Solution(
            search.free[k],
            float(loss),
            bool(np.isfinite(loss) and not running[k]),
            OUT_OF_STEPS if running[k] else MINIMUM if np.isfinite(loss) else GIVEN_UP,
            float(norms[k]),
            int(search.evaluations[k]),
        )
        for k, loss in enumerate(search.losses)
    ]


class _Irls:
    """The state of the first stage, one row per start; weights and derivatives of active starts
    only."""

    def __init__(
        self, projected: ProjectedProblem, free: Array, objective: Objective, enough: float = ROUGH
    ) -> None:
        self.projected, self.objective, self.enough = projected, objective, enough
        self.evaluations = np.ones(len(free), dtype=np.int64)
        self.moving = projected.moving
        self.longest = longest(projected.problem)
        self.free = free.copy()
        self.losses = np.full(len(free), np.inf)
        self.damping = np.resize(DAMPING, len(free))
        self.fall = np.full(len(free), np.inf)
        self._begin()

    def _begin(self) -> None:
        point = self.projected.by_least_squares(self.free, None, self.objective)
        self.free = point.free
        self.losses = point.state.loss
        self.weights = self._reweighted(point.state)
        self.on_bound = _on_bound(point)
        quadratic = point.local_model()
        self.gradient, self.hessian = quadratic.gradient, quadratic.hessian
        self.going = np.arange(len(point.free))
        self._go_on(np.isfinite(self.losses))

    def step(self, number: int) -> bool:
        """Take one step of every active start; return whether any start was active."""
        going = self.going
        if not len(going):
            return False
        trial = self.free[going] + self._step(self.damping[going])
        self.evaluations[going] += 1
        point = self.projected.by_least_squares(trial, self.weights, self.objective)
        fall = self.losses[going] - point.state.loss
        better = fall > 0
        if better.any():
            self._take(better, point, fall)
        self.damping[going] *= np.where(better, EASED, STIFFENED)
        np.minimum(np.maximum(self.damping, LEAST), MOST, out=self.damping)
        self._stop(better, number)
        return True

    def _take(self, better: Mask, point: ProjectedPoint, fall: Array) -> None:
        """Move to the points with a lower loss."""
        weights, on_bound, model = (
            self._reweighted(point.state),
            _on_bound(point),
            point.local_model(),
        )
        # the usual case needs no masked copies
        if better.all():
            accepted = self.going
            self.weights, self.on_bound = weights, on_bound
            self.gradient, self.hessian = model.gradient, model.hessian
        else:
            accepted = self.going[better]
            if weights is not None and self.weights is not None:
                self.weights[better] = weights[better]
            self.on_bound[better] = on_bound[better]
            self.gradient[better], self.hessian[better] = (
                model.gradient[better],
                model.hessian[better],
            )
        self.free[accepted], self.losses[accepted] = point.free[better], point.state.loss[better]
        self.fall[accepted] = fall[better]

    def _stop(self, better: Mask, number: int) -> None:
        """Drop starts that have converged, are stuck, or cannot reach the best loss."""
        going = self.going
        loss, fall, damping = self.losses[going], self.fall[going], self.damping[going]
        settled = better & (fall <= self.enough * loss) & (damping < CRAWLING)
        # steps this short change the loss by rounding only
        settled |= ~better & (damping > 1e6)
        # an exact fit: further decreases are rounding
        settled |= loss <= self.projected.problem.exact
        hopeless = np.zeros_like(settled)
        if number >= PATIENCE and len(self.losses) > 1:
            best = np.min(self.losses)
            # only starts that moved: a rejected step says nothing of where a start leads
            hopeless = better & (loss - best > HOPE * fall) & (loss > NEAR * best)
            self.losses[going[hopeless]] = np.inf
        self._go_on(~(settled | hopeless))

    def _go_on(self, remaining: Mask) -> None:
        if remaining.all():
            return
        self.going = self.going[remaining]
        self.weights = None if self.weights is None else self.weights[remaining]
        self.on_bound, self.gradient, self.hessian = (
            self.on_bound[remaining],
            self.gradient[remaining],
            self.hessian[remaining],
        )
        self.projected = self.projected.of_starts(remaining)

    def _step(self, damping: Array) -> Array:
        """The damped step of the nonlinear parameters; the linear ones follow afterwards."""
        if not self.moving.any():
            return np.zeros_like(self.gradient)
        # a unit diagonal, since parameters may differ in size by any power; a column of zeros stays
        # 0
        size = np.sqrt(np.maximum(diagonal(self.hessian), 1e-300))
        scaled = self.hessian / (size[:, :, None] * size[:, None, :])
        gradient = self.gradient / size
        # a parameter on its bound stays there, and its column takes no part in the step
        if self.on_bound.any():
            scaled[self.on_bound[:, :, None] | self.on_bound[:, None, :]] = 0.0
            diagonal(scaled)[...] += self.on_bound
            gradient[self.on_bound] = 0.0
        # the linear parameters are solved for afterwards: their damping only keeps the system
        # regular
        diagonal(scaled)[...] += np.where(self.moving, damping[:, None], 1e-12) + 1e-14
        if not np.isfinite(scaled).all() or not np.isfinite(gradient).all():
            scaled, gradient = np.nan_to_num(scaled), np.nan_to_num(gradient)
            diagonal(scaled)[...] += 1e-14
        step = solve_each(scaled, gradient) / size
        step = np.minimum(np.maximum(step, -self.longest), self.longest)
        return np.where(self.moving, -step, 0.0)

    def _reweighted(self, state: ResidualState) -> Array | None:
        if self.objective.row.quadratic or not self.projected.linear:
            return None
        return curvature_of(state.residual, state.slope, self.objective, exact=False)


def _on_bound(point: ProjectedPoint) -> Mask:
    assert point.excluded is not None
    return point.excluded


def longest(problem: Problem) -> Array:
    """The longest step of each free number, shape (parameters,); inf for unbounded parameters."""
    bounded = [t.lower is not None or t.upper is not None for t in problem.transforms]
    return np.where(bounded, LONGEST, np.inf)
