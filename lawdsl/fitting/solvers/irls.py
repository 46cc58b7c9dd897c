"""Problem + starts -> points near local minima: the first stage of a search.

For a projected problem the search moves only the parameters in which the law is nonlinear, and
solves for the linear ones at every step (variable projection; Ruhe and Wedin (1980), SIAM Review
22). The step of the others is that of damped Gauss-Newton on reweighted squares,

    (D⁻¹ JᵀWJ D⁻¹ + damping·I)·(D·s) = -D⁻¹ g,    W = diag(w_i·psi(r_i)/r_i),    D² = diag(JᵀWJ),

which is the Levenberg-Marquardt method (Nocedal and Wright (2006), Numerical Optimization, section
10.3). Huber's delta is set to the scale of the residuals, so that the objective is smooth. Starts
that can no longer reach the best loss are dropped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.objectives import Objective
from lawdsl.fitting.losses import curvature_of
from lawdsl.fitting.problem import Problem, ResidualState
from lawdsl.fitting.solvers.bounded_systems import solve_each
from lawdsl.fitting.solvers.projected_problem import ProjectedPoint, ProjectedProblem, as_projected
from lawdsl.fitting.solvers.solver import (
    DEFAULTS,
    GIVEN_UP,
    Solution,
    SolverOptions,
    gradient_norms,
    reason_of,
)
from lawdsl.fitting.transforms import diagonal

Array = NDArray[np.float64]

Mask = NDArray[np.bool_]

MAX_GAUSS_NEWTON_STEPS = 200
# relative to the loss: a start converged if its last step decreases it by less
COARSE_RTOL = 0.003
# smallest number of steps before a start may be dropped
MIN_STEPS_BEFORE_DROP = 3
# a start is dropped if this many decreases like its last would not reach the best loss
DROP_DECREASE_FACTOR = 12.0
# relative to the best loss: starts with a loss below it always continue to the second stage
KEEP_LOSS_FACTOR = 1.3
# longest step of an unconstrained parameter: a factor of e² in the distance of a parameter from its
# bound
MAX_FREE_STEP = 2.0
# with larger damping steps are so short that a small decrease does not indicate convergence
MAX_DAMPING_AT_CONVERGENCE = 1e-3
# alternating over the starts: small damping converges fast, large damping converges from further
# away
START_DAMPING = (1e-4, 1e-2)
# factors of the damping after a step that decreases the loss, and after one that does not
DAMPING_DECREASE, DAMPING_INCREASE = 0.1, 10.0
MIN_IRLS_DAMPING, MAX_IRLS_DAMPING = 1e-6, 1e9
# Huber's delta in standard deviations with an efficiency of 95 % for Gaussian errors
HUBER_EFFICIENCY_DELTA = 1.345


def widen_delta(problem: Problem, free: Array) -> Objective:
    """Return the objective with Huber's delta widened to the scale of the residuals.

    The scale is 1.345·1.4826·median(|r_i|) at the best of the points: 1.4826 converts the median
    absolute residual to the standard deviation of Gaussian errors.

    Args:
        problem: the objective to be minimised, with its data.
        free: points, shape (points, parameters).
    """
    row = problem.objective.row
    if not row.parameters:
        return problem.objective
    best = free[np.argmin(problem.losses(free))]
    delta = (
        HUBER_EFFICIENCY_DELTA * 1.4826 * float(np.median(np.abs(problem.residuals(best[None]))))
    )
    wide = row.widened(delta, *problem.objective.parameters)
    return problem.objective.with_parameters(*wide)


def irls(
    problem: Problem | ProjectedProblem, starts: Array, options: SolverOptions = DEFAULTS
) -> list[Solution]:
    """Move starts towards the minima by damped steps of reweighted least squares; see `Solver`.

    A start has converged if a step decreases the loss by less than 0.3 %, or by less than the
    tolerance of the options. Starts that cannot reach the best loss are dropped.

    Args:
        problem: the objective with its data, or its projection.
        starts: unconstrained parameters, shape (starts, parameters).
        options: the options of the search.

    Raises:
        ValueError: the options fix unconstrained parameters, which this solver does not support.
    """
    if options.fixed is not None:
        raise ValueError("reweighted least squares move all unconstrained parameters")
    projected = as_projected(problem)
    rtol = COARSE_RTOL if options.tolerance is None else options.tolerance
    with np.errstate(all="ignore"):
        search = _Irls(projected, starts, options.objective or projected.problem.objective, rtol)
        for number in range(
            MAX_GAUSS_NEWTON_STEPS if options.evaluations is None else options.evaluations - 1
        ):
            if not search.step(number):
                break
    running = np.zeros(len(starts), dtype=bool)
    running[search.active] = True
    norms = gradient_norms(projected.problem, search.free, options)
    return [
        Solution(
            search.free[k],
            float(loss),
            bool(np.isfinite(loss) and not running[k]),
            GIVEN_UP if search.abandoned[k] else reason_of(loss, not running[k]),
            float(norms[k]),
            int(search.evaluations[k]),
        )
        for k, loss in enumerate(search.losses)
    ]


class _Irls:
    """The state of the first stage, one row per start.

    Weights and derivatives are those of the active starts.
    """

    def __init__(
        self,
        projected: ProjectedProblem,
        free: Array,
        objective: Objective,
        rtol: float = COARSE_RTOL,
    ) -> None:
        self.projected, self.objective, self.rtol = projected, objective, rtol
        self.evaluations = np.ones(len(free), dtype=np.int64)
        self.moving = projected.moving
        self.longest_steps = longest_steps(projected.problem)
        self.free = free.copy()
        self.losses = np.full(len(free), np.inf)
        self.abandoned = np.zeros(len(free), dtype=bool)
        self.damping = np.resize(START_DAMPING, len(free))
        self.decrease = np.full(len(free), np.inf)
        self._begin()

    def _begin(self) -> None:
        point = self.projected.by_least_squares(self.free, None, self.objective)
        self.free = point.free
        self.losses = point.state.loss
        self.weights = self._reweighted(point.state)
        self.on_bound = _on_bound(point)
        quadratic = point.local_model()
        self.gradient, self.hessian = quadratic.gradient, quadratic.hessian
        self.active = np.arange(len(point.free))
        self._keep(np.isfinite(self.losses))

    def step(self, number: int) -> bool:
        """Take one step of every active start; return whether any start was active."""
        active = self.active
        if not len(active):
            return False
        trial = self.free[active] + self._step(self.damping[active])
        self.evaluations[active] += 1
        point = self.projected.by_least_squares(trial, self.weights, self.objective)
        decrease = self.losses[active] - point.state.loss
        better = decrease > 0
        if better.any():
            self._accept(better, point, decrease)
        self.damping[active] *= np.where(better, DAMPING_DECREASE, DAMPING_INCREASE)
        np.minimum(np.maximum(self.damping, MIN_IRLS_DAMPING), MAX_IRLS_DAMPING, out=self.damping)
        self._stop(better, number)
        return True

    def _accept(self, better: Mask, point: ProjectedPoint, decrease: Array) -> None:
        """Move to the points with a lower loss."""
        weights, on_bound, model = (
            self._reweighted(point.state),
            _on_bound(point),
            point.local_model(),
        )
        # the usual case requires no masked copies
        if better.all():
            accepted = self.active
            self.weights, self.on_bound = weights, on_bound
            self.gradient, self.hessian = model.gradient, model.hessian
        else:
            accepted = self.active[better]
            if weights is not None and self.weights is not None:
                self.weights[better] = weights[better]
            self.on_bound[better] = on_bound[better]
            self.gradient[better], self.hessian[better] = (
                model.gradient[better],
                model.hessian[better],
            )
        self.free[accepted], self.losses[accepted] = point.free[better], point.state.loss[better]
        self.decrease[accepted] = decrease[better]

    def _stop(self, better: Mask, number: int) -> None:
        """Stop starts that have converged, are stuck, or cannot reach the best loss."""
        active = self.active
        loss, decrease, damping = self.losses[active], self.decrease[active], self.damping[active]
        converged = better & (decrease <= self.rtol * loss) & (damping < MAX_DAMPING_AT_CONVERGENCE)
        # steps this short change the loss only by rounding errors
        converged |= ~better & (damping > 1e6)
        # an exact fit: further decreases are rounding
        converged |= loss <= self.projected.problem.exact
        dropped = np.zeros_like(converged)
        if number >= MIN_STEPS_BEFORE_DROP and len(self.losses) > 1:
            best = np.min(self.losses)
            # only starts that moved: a rejected step is no evidence about the limit of a start
            dropped = (
                better
                & (loss - best > DROP_DECREASE_FACTOR * decrease)
                & (loss > KEEP_LOSS_FACTOR * best)
            )
            self.losses[active[dropped]] = np.inf
            self.abandoned[active[dropped]] = True
        self._keep(~(converged | dropped))

    def _keep(self, remaining: Mask) -> None:
        """Continue with some of the active starts."""
        if remaining.all():
            return
        self.active = self.active[remaining]
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
        # a unit diagonal, since the sizes of parameters may differ by any factor; a column of zeros
        # is unchanged
        size = np.sqrt(np.maximum(diagonal(self.hessian), 1e-300))
        scaled = self.hessian / (size[:, :, None] * size[:, None, :])
        gradient = self.gradient / size
        # a parameter on its bound stays there, and its column is excluded from the step
        if self.on_bound.any():
            scaled[self.on_bound[:, :, None] | self.on_bound[:, None, :]] = 0.0
            diagonal(scaled)[...] += self.on_bound
            gradient[self.on_bound] = 0.0
        # linear parameters are solved for afterwards: their damping only makes the system regular
        diagonal(scaled)[...] += np.where(self.moving, damping[:, None], 1e-12) + 1e-14
        if not np.isfinite(scaled).all() or not np.isfinite(gradient).all():
            scaled, gradient = np.nan_to_num(scaled), np.nan_to_num(gradient)
            diagonal(scaled)[...] += 1e-14
        step = solve_each(scaled, gradient) / size
        step = np.minimum(np.maximum(step, -self.longest_steps), self.longest_steps)
        return np.where(self.moving, -step, 0.0)

    def _reweighted(self, state: ResidualState) -> Array | None:
        """Weights rho'(r)/r of the squared residuals; None where they are 1 or are not used."""
        if self.objective.row.quadratic or not self.projected.linear:
            return None
        return curvature_of(state.residual, state.slope, self.objective, exact=False)


def _on_bound(point: ProjectedPoint) -> Mask:
    assert point.excluded is not None
    return point.excluded


def longest_steps(problem: Problem) -> Array:
    """The longest step of each unconstrained parameter, shape (parameters,); inf for unbounded
    parameters.
    """
    bounded = [t.lower is not None or t.upper is not None for t in problem.transforms]
    return np.where(bounded, MAX_FREE_STEP, np.inf)
