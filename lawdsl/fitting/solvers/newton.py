"""Problem + points near minima -> minima to the last digit: the second stage of a search.

Newton's method with exact second derivatives, H·s = -g with the modified Hessian of `newton_step`.
Of a projected problem the linear parameters are solved for exactly after every step: the valleys of
these objectives are curved in them, and the kinks of a Huber loss stop a step that does not follow
the curve.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import LocalModel, Problem
from lawdsl.fitting.solvers.irls import ROUGH, longest
from lawdsl.fitting.solvers.projected_problem import ProjectedPoint, ProjectedProblem, as_projected
from lawdsl.fitting.solvers.solver import (
    DEFAULTS,
    MINIMUM,
    OUT_OF_STEPS,
    Solution,
    SolverOptions,
    gradient_norms,
    searched,
)
from lawdsl.fitting.transforms import diagonal
from lawdsl.language.resolver import Objective

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

STEPS = 60
ENOUGH = 1e-2  # of the predicted decrease: error allowed to the linear parameters
SETTLED = 1e-14  # relative decrease predicted by Newton's method at which a start has converged
AGAIN, WIDENED = 5, 3.0  # largest number of times that Huber's delta is widened, and the factor
NARROWED = 0.25  # of Huber's delta, from one step to the next
STUCK = 1e4  # damping at which no step lowers the loss
EXACTLY_SETTLED = 1e-9  # as SETTLED, for exact fits: relative to the loss that rounding alone makes
NEARBY = 1e-5  # a step so short is taken unchecked where the predicted decrease is negligible
NOISE = 1e-14  # relative: of an objective summed from rounded residuals


def newton(
    problem: Problem | ProjectedProblem, starts: Array, options: SolverOptions = DEFAULTS
) -> list[Solution]:
    """Move starts from near the minima to the minima; see `Solver`.

    Args:
        problem: the fit, or its projection.
        starts: free numbers near minima, shape (starts, parameters).
        options: of the search; the tolerance is relative to the loss.
    """
    projected = searched(problem, options)
    problem = projected.problem
    tolerance = SETTLED if options.tolerance is None else options.tolerance
    limit = STEPS if options.evaluations is None else options.evaluations - 1
    points, _, settled, steps = newton_batch(projected, starts, options.fixed, tolerance, limit)
    return [
        Solution(
            point, float(loss), bool(done and np.isfinite(loss)), ENDS[bool(done)], norm, count
        )
        for point, loss, done, norm, count in zip(
            points,
            problem.losses(points),
            settled,
            gradient_norms(problem, points, options).tolist(),
            steps.tolist(),
            strict=True,
        )
    ]


ENDS = {True: MINIMUM, False: OUT_OF_STEPS}


def newton_batch(
    problem: Problem | ProjectedProblem,
    free: Array,
    fixed: Mask | None = None,
    settled_at: float = SETTLED,
    limit: int = STEPS,
) -> tuple[Array, Array, Mask, NDArray[np.int64]]:
    """Run `newton` on arrays.

    Args:
        problem: the fit, or its projection.
        free: starts near minima, shape (starts, parameters).
        fixed: free numbers that are not changed, of the same shape.
        settled_at: the relative decrease of the loss below which a start has converged.
        limit: the largest number of steps. Below the usual number the search ends there, and
            Huber's delta is not widened for starts that have not converged.

    Returns:
        Free numbers, shape (starts, parameters); losses, whether each start ended in a minimum, and
        its number of evaluations, each of shape (starts,).
    """
    fixed = np.zeros(free.shape, dtype=bool) if fixed is None else fixed
    projected = as_projected(problem)
    objective = projected.problem.objective
    with np.errstate(all="ignore"):
        free, losses, settled, steps = _by_newton(
            projected, free, objective, fixed, settled_at, limit
        )
        # without a parameter a loss cannot be widened: another round is a plain restart without
        # damping
        rounds = AGAIN if objective.row.parameters else 1
        for _ in range(rounds if limit >= STEPS else 0):
            unsettled = np.flatnonzero(~settled & np.isfinite(losses))
            if not len(unsettled):
                break
            # a step from kink to kink of a narrow Huber loss is short; a wider delta smooths them
            wide = replace(objective, delta=objective.delta * WIDENED)
            points, loss, done, more = _by_newton(
                projected.of_starts(unsettled),
                free[unsettled],
                wide,
                fixed[unsettled],
                settled_at,
                limit,
            )
            steps[unsettled] += more
            better = loss <= losses[unsettled]
            free[unsettled[better]], losses[unsettled[better]] = points[better], loss[better]
            settled[unsettled] = done & better
    return free, losses, settled, steps


def _by_newton(
    projected: ProjectedProblem,
    free: Array,
    now: Objective,
    fixed: Mask,
    settled_at: float,
    limit: int,
) -> tuple[Array, Array, Mask, NDArray[np.int64]]:
    """Newton's method, with Huber's delta narrowing from a wide one to that of the problem."""
    search = _Newton(projected, free, now, fixed, settled_at)
    for _ in range(limit):
        if not search.step():
            break
    return search.free, search.losses, search.settled, search.evaluations


class _Newton:
    """The state of the second stage, one row per start; derivatives of active starts only."""

    def __init__(
        self,
        projected: ProjectedProblem,
        free: Array,
        now: Objective,
        fixed: Mask,
        settled_at: float,
    ) -> None:
        self.projected, self.now, self.settled_at = projected, now, settled_at
        self.moving, self.longest = projected.moving, longest(projected.problem)
        self.fixed = fixed if fixed.any() else None
        self.damping, self.settled = np.zeros(len(free)), np.zeros(len(free), dtype=bool)
        self.going = np.arange(len(free))
        self.evaluations = np.ones(len(free), dtype=np.int64)
        self._begin_at(
            projected.refined(free, self.fixed, now, np.zeros(len(free)), ROUGH * ENOUGH)
        )

    def _begin_at(self, point: ProjectedPoint) -> None:
        self.free, self.losses = point.free, point.state.loss
        self.state, self.local_model = point.state, _local_model(point)

    def step(self) -> bool:
        """Take one step of every active start; return whether any start was active."""
        step, foreseen = newton_step(
            self.local_model, self.damping[self.going], self.longest, self.moving
        )
        narrowing = self.now.delta > self.projected.problem.objective.delta
        # the minimum of a widened loss is not an end of the search
        if not narrowing:
            loss = self.local_model.loss
            tiny = (
                foreseen <= self.settled_at * loss + EXACTLY_SETTLED * self.projected.problem.exact
            )
            if tiny.any():
                self._settle(tiny, step)
                step, foreseen = step[~tiny], foreseen[~tiny]
        going = self.going
        if not len(going):
            return False
        iterate = self.projected.refined(
            self.free[going] + step, self.fixed, self.now, ENOUGH * foreseen, before=self.state
        )
        self.evaluations[going] += 1
        # close to the minimum two losses differ by rounding alone, and the step is right all the
        # same
        better = iterate.state.loss <= self.local_model.loss * (1 + NOISE)
        accepted = going[better]
        self.free[accepted], self.losses[accepted] = (
            iterate.free[better],
            iterate.state.loss[better],
        )
        damping = self.damping[going]
        # convergence is quadratic only without damping, so it ends at exactly 0
        eased = np.where(damping < 1e-6, 0.0, damping * 0.1)
        self.damping[going] = np.where(better, eased, np.maximum(damping * 10, 1e-4))
        if narrowing:
            self._narrow()
            return True
        if better.all():
            self.state, self.local_model = iterate.state, _local_model(iterate)
        elif better.any():
            self.state = self.state.where(better, iterate.state)
            self.local_model = self.local_model.where(better, _local_model(iterate))
        self._go_on(self.damping[going] <= STUCK)
        return True

    def _settle(self, tiny: Mask, step: Array) -> None:
        """Take the last step of some starts, unless it is long and increases the loss."""
        done, step = self.going[tiny], step[tiny]
        # a start at infinite loss may be among them: it stays where it is
        step[~np.isfinite(step)] = 0.0
        self.settled[done] = True
        far = np.max(np.abs(step), axis=1) > NEARBY
        if far.any():
            to = self.free[done[far]] + step[far]
            loss = self.projected.problem.of_starts(np.flatnonzero(tiny)[far]).losses(to, self.now)
            step[far] *= (loss <= self.losses[done[far]])[:, None]
        self.free[done] += step
        self._go_on(~tiny)

    def _narrow(self) -> None:
        """Narrow Huber's delta towards that of the problem."""
        delta = max(self.now.delta * NARROWED, self.projected.problem.objective.delta)
        self.now = replace(self.now, delta=delta)
        # the damping was that of another objective
        self.damping[:] = 0.0
        self._begin_at(
            self.projected.refined(self.free, self.fixed, self.now, np.zeros(len(self.free)))
        )

    def _go_on(self, remaining: Mask) -> None:
        if remaining.all():
            return
        self.going, self.local_model = self.going[remaining], self.local_model.of(remaining)
        self.state = self.state.at(remaining)
        self.projected = self.projected.of_starts(remaining)
        self.fixed = None if self.fixed is None else self.fixed[remaining]


def _local_model(point: ProjectedPoint) -> LocalModel:
    """The objective near points, for steps that leave out fixed parameters and those on a bound."""
    model = point.local_model()
    return model if point.excluded is None else model.without(point.excluded)


def newton_step(
    model: LocalModel, damping: Array, longest: Array, moving: Mask
) -> tuple[Array, Array]:
    """The Newton step with a positive definite Hessian, and the decrease of the loss that it
    predicts.

    With H = D·V·diag(lambda)·Vᵀ·D, D² = diag(|H|), the step is s =
    -D⁻¹·V·diag(1/|lambda|)·Vᵀ·D⁻¹·g. Negative eigenvalues change their sign, so that the step is a
    descent direction where the objective is not convex (Nocedal and Wright (2006), Numerical
    Optimization, section 3.4). Damping is added to the scaled Hessian, and bounds on the step, of
    the moving parameters only: the linear ones are solved for afterwards.

    Args:
        model: the objective at the points.
        damping: shape (starts,).
        longest: the longest step of each free number, shape (parameters,).
        moving: which free numbers are not solved for, shape (parameters,).

    Returns:
        Steps, shape (starts, parameters), and predicted decreases, shape (starts,).
    """
    gradient, hessian = model.gradient, model.hessian
    steep = np.abs(diagonal(hessian))
    # without curvature the step has the longest length
    steep = np.maximum(steep, np.abs(gradient) / longest)
    # a relative floor: a direction without curvature or gradient must not divide by 0
    size = np.sqrt(np.maximum(steep, 1e-14 * np.max(steep, axis=1, keepdims=True) + 1e-300))
    scaled = hessian / (size[:, :, None] * size[:, None, :])
    pull = gradient / size
    # eigh raises for the whole stack if one matrix has a number that is not finite
    if not (np.isfinite(scaled).all() and np.isfinite(pull).all()):
        scaled[~np.isfinite(scaled)] = 0.0
        pull[~np.isfinite(pull)] = 0.0
    if damping.any():
        diagonal(scaled)[...] += np.where(moving, damping[:, None], 0.0)
    values, vectors = np.linalg.eigh(scaled)
    pull = (pull[:, None] @ vectors)[:, 0]
    stiff = np.abs(values)
    # a flat direction gets a long step, which `longest` cuts, instead of an infinite one
    stiff = np.maximum(stiff, 1e-10 * stiff.max(axis=1, keepdims=True) + 1e-300)
    along = -pull / stiff
    step = (vectors @ along[:, :, None])[:, :, 0] / size
    if moving.any():
        over = np.max(np.abs(step[:, moving]) / longest[moving], axis=1)
        # shortening all coordinates alike keeps it a descent direction
        step /= np.maximum(1.0, over)[:, None]
    step = np.minimum(np.maximum(step, -longest), longest)
    return step, -np.add.reduce(along * pull, 1) / 2
