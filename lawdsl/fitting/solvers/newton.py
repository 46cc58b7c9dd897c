"""Problem + points near minima -> minima to the last digit: the second stage of a search.

Newton's method with exact second derivatives, H·s = -g with the modified Hessian of `newton_step`.
For a projected problem the linear parameters are solved for exactly after every step: the valleys
of these objectives are curved in them, and the kinks of a Huber loss stop a step that does not
follow the valley.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.objectives import Objective
from lawdsl.fitting.problem import LocalModel, Problem
from lawdsl.fitting.solvers.irls import COARSE_RTOL, longest_steps
from lawdsl.fitting.solvers.projected_problem import ProjectedPoint, ProjectedProblem, as_projected
from lawdsl.fitting.solvers.solver import (
    DEFAULTS,
    Solution,
    SolverOptions,
    gradient_norms,
    reason_of,
    with_objective,
)
from lawdsl.fitting.transforms import diagonal

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MAX_NEWTON_STEPS = 60
# relative to the predicted decrease: largest error of the loss due to inexact linear parameters
LINEAR_SOLVE_SHARE = 1e-2
# relative to the loss: a start with a smaller predicted decrease has converged
NEWTON_CONVERGENCE_RTOL = 1e-14
# factor by which Huber's delta is widened in a second round, for starts that have not converged
WIDENING_FACTOR = 3.0
# relative to the loss: starts that end this close to the best one have no second round
SAME_END_RTOL = 1e-8
# a start whose loss has decreased by less than this, relative to itself, in so many steps is stuck
STUCK_STEPS, STUCK_RTOL = 15, 1e-12
# factor of a widened delta from one step to the next, until it equals that of the problem
NARROWING_FACTOR = 0.25
# above this damping no step decreases the loss, and the start is dropped
MAX_NEWTON_DAMPING = 1e4
# relative to the loss of an exact fit: a start with a smaller predicted decrease has converged
EXACT_FIT_CONVERGENCE_RTOL = 1e-9
# length of a last step up to which it is accepted without evaluating the loss
UNCHECKED_STEP = 1e-5
# relative to the objective: a smaller increase is the rounding of the sum over residuals
OBJECTIVE_RTOL = 1e-14


def newton(
    problem: Problem | ProjectedProblem, starts: Array, options: SolverOptions = DEFAULTS
) -> list[Solution]:
    """Move starts near minima to the minima; see `Solver`.

    Args:
        problem: the objective with its data, or its projection.
        starts: unconstrained parameters near minima, shape (starts, parameters).
        options: the options of the search; the tolerance is relative to the loss.
    """
    projected = with_objective(problem, options)
    problem = projected.problem
    tolerance = NEWTON_CONVERGENCE_RTOL if options.tolerance is None else options.tolerance
    limit = MAX_NEWTON_STEPS if options.evaluations is None else options.evaluations - 1
    is_one = options.fixed is None and (problem.weights is None or problem.weights.ndim == 1)
    points, _, converged, steps = newton_batch(
        projected, starts, options.fixed, tolerance, limit, have_one_minimum=is_one
    )
    return [
        Solution(
            point, float(loss), bool(done and np.isfinite(loss)), reason_of(loss, done), norm, count
        )
        for point, loss, done, norm, count in zip(
            points,
            problem.losses(points),
            converged,
            gradient_norms(problem, points, options).tolist(),
            steps.tolist(),
            strict=True,
        )
    ]


def newton_batch(
    problem: Problem | ProjectedProblem,
    free: Array,
    fixed: Mask | None = None,
    rtol: float = NEWTON_CONVERGENCE_RTOL,
    limit: int = MAX_NEWTON_STEPS,
    have_one_minimum: bool = False,
) -> tuple[Array, Array, Mask, NDArray[np.int64]]:
    """Run `newton` on arrays.

    Args:
        problem: the objective with its data, or its projection.
        free: starts near minima, shape (starts, parameters).
        fixed: unconstrained parameters that are not changed, of the same shape.
        rtol: relative to the loss: a start whose predicted decrease is smaller has converged.
        limit: the largest number of steps. If it is below the default, Huber's delta is not widened
            for starts that have not converged.
        have_one_minimum: whether the starts are of one problem: of those that end as low as the
            best, only that one goes on if it has not converged.

    Returns:
        Unconstrained parameters, shape (starts, parameters); losses, whether each start ended in a
        minimum, and its number of evaluations, each of shape (starts,).
    """
    fixed = np.zeros(free.shape, dtype=bool) if fixed is None else fixed
    projected = as_projected(problem)
    objective = projected.problem.objective
    with np.errstate(all="ignore"):
        free, losses, converged, steps = _by_newton(projected, free, objective, fixed, rtol, limit)
        again = ~converged & np.isfinite(losses) & (limit >= MAX_NEWTON_STEPS)
        if have_one_minimum:
            again &= ~_is_close_to_best(losses)
        unconverged = np.flatnonzero(again)
        if len(unconverged):
            # steps from kink to kink of a narrow Huber loss are short; a wider delta smooths the
            # kinks. For other losses the second round restarts without damping
            wide = replace(objective, delta=objective.delta * WIDENING_FACTOR)
            points, loss, done, extra_steps = _by_newton(
                projected.of_starts(unconverged),
                free[unconverged],
                wide,
                fixed[unconverged],
                rtol,
                limit,
            )
            steps[unconverged] += extra_steps
            better = loss <= losses[unconverged]
            free[unconverged[better]], losses[unconverged[better]] = points[better], loss[better]
            converged[unconverged] = done & better
    return free, losses, converged, steps


def _is_close_to_best(losses: Array) -> Mask:
    """Which losses equal that of the best start up to rounding, except for the best itself."""
    if not np.isfinite(losses).any():
        return np.zeros(len(losses), dtype=bool)
    best = int(np.nanargmin(losses))
    is_close = losses <= losses[best] * (1 + SAME_END_RTOL)
    is_close[best] = False
    return np.asarray(is_close)


def _by_newton(
    projected: ProjectedProblem,
    free: Array,
    objective: Objective,
    fixed: Mask,
    rtol: float,
    limit: int,
) -> tuple[Array, Array, Mask, NDArray[np.int64]]:
    """Newton's method, with Huber's delta narrowing from a wide one to that of the problem."""
    search = _Newton(projected, free, objective, fixed, rtol)
    for _ in range(limit):
        if not search.step():
            break
    return search.free, search.losses, search.converged, search.evaluations


class _Newton:
    """The state of the second stage, one row per start; derivatives of active starts only."""

    def __init__(
        self,
        projected: ProjectedProblem,
        free: Array,
        objective: Objective,
        fixed: Mask,
        rtol: float,
    ) -> None:
        self.projected, self.objective, self.rtol = projected, objective, rtol
        self.moving, self.longest_steps = projected.moving, longest_steps(projected.problem)
        self.fixed = fixed if fixed.any() else None
        self.damping, self.converged = np.zeros(len(free)), np.zeros(len(free), dtype=bool)
        self.active = np.arange(len(free))
        self.evaluations = np.ones(len(free), dtype=np.int64)
        self.steps, self.earlier = 0, np.full(len(free), np.inf)
        self._begin_at(
            projected.by_minimisation(
                free, self.fixed, objective, np.zeros(len(free)), COARSE_RTOL * LINEAR_SOLVE_SHARE
            )
        )

    def _begin_at(self, point: ProjectedPoint) -> None:
        """Set the unconstrained parameters of all starts."""
        self.free, self.losses = point.free, point.state.loss
        self.state, self.local_model = point.state, _local_model(point)

    def step(self) -> bool:
        """Take one step of every active start; return whether any start was active."""
        step, predicted_decrease = newton_step(
            self.local_model, self.damping[self.active], self.longest_steps, self.moving
        )
        narrowing = self.objective.delta > self.projected.problem.objective.delta
        # the minimum of a widened loss does not end the search
        if not narrowing:
            loss = self.local_model.loss
            negligible = (
                predicted_decrease
                <= self.rtol * loss + EXACT_FIT_CONVERGENCE_RTOL * self.projected.problem.exact
            )
            if negligible.any():
                self._finish(negligible, step)
                step, predicted_decrease = step[~negligible], predicted_decrease[~negligible]
        active = self.active
        if not len(active):
            return False
        trial_point = self.projected.by_minimisation(
            self.free[active] + step,
            self.fixed,
            self.objective,
            LINEAR_SOLVE_SHARE * predicted_decrease,
            previous=self.state,
        )
        self.evaluations[active] += 1
        # near the minimum the losses differ only by rounding errors, and the step is still valid
        better = trial_point.state.loss <= self.local_model.loss * (1 + OBJECTIVE_RTOL)
        accepted = active[better]
        self.free[accepted], self.losses[accepted] = (
            trial_point.free[better],
            trial_point.state.loss[better],
        )
        damping = self.damping[active]
        # convergence is quadratic only without damping, so the damping is reduced to exactly 0
        reduced_damping = np.where(damping < 1e-6, 0.0, damping * 0.1)
        self.damping[active] = np.where(better, reduced_damping, np.maximum(damping * 10, 1e-4))
        if narrowing:
            self._narrow()
            return True
        if better.all():
            self.state, self.local_model = trial_point.state, _local_model(trial_point)
        elif better.any():
            self.state = self.state.where(better, trial_point.state)
            self.local_model = self.local_model.where(better, _local_model(trial_point))
        self._keep((self.damping[active] <= MAX_NEWTON_DAMPING) & ~self._stuck(active))
        return True

    def _stuck(self, active: NDArray[np.int64]) -> Mask:
        """Which active starts have gained nothing for some steps, shape (active,)."""
        self.steps += 1
        if self.steps % STUCK_STEPS:
            return np.zeros(len(active), dtype=bool)
        losses, earlier = self.losses[active], self.earlier[active]
        self.earlier[active] = losses
        return np.asarray(earlier - losses <= STUCK_RTOL * losses)

    def _finish(self, negligible: Mask, step: Array) -> None:
        """Take the last step of some starts, unless it is long and increases the loss."""
        done, step = self.active[negligible], step[negligible]
        # a start with an infinite loss has no step, and is not moved
        step[~np.isfinite(step)] = 0.0
        self.converged[done] = True
        is_long = np.max(np.abs(step), axis=1) > UNCHECKED_STEP
        if is_long.any():
            trial = self.free[done[is_long]] + step[is_long]
            loss = self.projected.problem.of_starts(np.flatnonzero(negligible)[is_long]).losses(
                trial, self.objective
            )
            step[is_long] *= (loss <= self.losses[done[is_long]])[:, None]
        self.free[done] += step
        self._keep(~negligible)

    def _narrow(self) -> None:
        """Narrow Huber's delta towards that of the problem."""
        delta = max(self.objective.delta * NARROWING_FACTOR, self.projected.problem.objective.delta)
        self.objective = replace(self.objective, delta=delta)
        # the damping was that of another objective
        self.damping[:] = 0.0
        self._begin_at(
            self.projected.by_minimisation(
                self.free, self.fixed, self.objective, np.zeros(len(self.free))
            )
        )

    def _keep(self, remaining: Mask) -> None:
        """Continue with some of the active starts."""
        if remaining.all():
            return
        self.active, self.local_model = self.active[remaining], self.local_model.of(remaining)
        self.state = self.state.at(remaining)
        self.projected = self.projected.of_starts(remaining)
        self.fixed = None if self.fixed is None else self.fixed[remaining]


def _local_model(point: ProjectedPoint) -> LocalModel:
    """A second-order model of the objective, for steps that exclude fixed parameters and those on a
    bound.
    """
    model = point.local_model()
    return model if point.excluded is None else model.without(point.excluded)


def newton_step(
    model: LocalModel, damping: Array, longest_steps: Array, moving: Mask
) -> tuple[Array, Array]:
    """The Newton step with a positive definite Hessian, and the decrease of the loss predicted for
    the step before it is shortened to `longest_steps`.

    With H = D·V·diag(lambda)·Vᵀ·D, D² = diag(|H|), the step is s =
    -D⁻¹·V·diag(1/|lambda|)·Vᵀ·D⁻¹·g. Negative eigenvalues change their sign, so that the step is a
    descent direction where the objective is not convex (Nocedal and Wright (2006), Numerical
    Optimization, section 3.4). Damping and bounds on the step apply to the moving parameters only:
    the linear ones are solved for afterwards.

    Args:
        model: the objective at the points.
        damping: shape (starts,).
        longest_steps: the longest step of each unconstrained parameter, shape (parameters,).
        moving: which unconstrained parameters are not solved for, shape (parameters,).

    Returns:
        Steps, (starts, parameters), and predicted decreases of the uncut steps, shape (starts,).
    """
    gradient, hessian = model.gradient, model.hessian
    curvature = np.abs(diagonal(hessian))
    # without curvature the step has the longest length
    curvature = np.maximum(curvature, np.abs(gradient) / longest_steps)
    # a relative floor, since a direction without curvature or gradient must not cause a division by
    # 0
    scale = np.sqrt(
        np.maximum(curvature, 1e-14 * np.max(curvature, axis=1, keepdims=True) + 1e-300)
    )
    scaled = hessian / (scale[:, :, None] * scale[:, None, :])
    scaled_gradient = gradient / scale
    # eigh raises an error for the whole stack if one matrix contains a number that is not finite
    if not (np.isfinite(scaled).all() and np.isfinite(scaled_gradient).all()):
        scaled[~np.isfinite(scaled)] = 0.0
        scaled_gradient[~np.isfinite(scaled_gradient)] = 0.0
    if damping.any():
        diagonal(scaled)[...] += np.where(moving, damping[:, None], 0.0)
    eigenvalues, eigenvectors = np.linalg.eigh(scaled)
    scaled_gradient = (scaled_gradient[:, None] @ eigenvectors)[:, 0]
    abs_eigenvalues = np.abs(eigenvalues)
    # a flat direction gets a long step, which `longest_steps` shortens, instead of an infinite one
    abs_eigenvalues = np.maximum(
        abs_eigenvalues, 1e-10 * abs_eigenvalues.max(axis=1, keepdims=True) + 1e-300
    )
    eigen_step = -scaled_gradient / abs_eigenvalues
    step = (eigenvectors @ eigen_step[:, :, None])[:, :, 0] / scale
    if moving.any():
        excess = np.max(np.abs(step[:, moving]) / longest_steps[moving], axis=1)
        # shortening all coordinates alike keeps it a descent direction
        step /= np.maximum(1.0, excess)[:, None]
    step = np.minimum(np.maximum(step, -longest_steps), longest_steps)
    return step, -np.add.reduce(eigen_step * scaled_gradient, 1) / 2
