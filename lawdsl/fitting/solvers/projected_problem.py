"""Problem -> ProjectedProblem: a fit reduced to the parameters in which its law is nonlinear.

The others are functions of them: the linear parameters that minimise the objective for given
nonlinear ones (variable projection; Golub and Pereyra (1973), SIAM Journal on Numerical Analysis
10). A solver moves the nonlinear parameters u of F(u) = min over s of Σ w_i·rho(r_i(u, s)). Its
points contain all unconstrained parameters: those of the linear parameters are the solved ones,
from which the next solution starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.objectives import Objective
from lawdsl.fitting.evaluation import Evaluation
from lawdsl.fitting.losses import curvature_of
from lawdsl.fitting.problem import LocalModel, Problem, ResidualState
from lawdsl.fitting.solvers.variable_projection import (
    INNER_RTOL,
    least_squares_linear,
    minimise_over_linear,
)
from lawdsl.fitting.transforms import (
    TransformDerivatives,
    is_clipped,
    is_moved_off_zero,
    parameters_and_derivatives,
    to_free,
    to_parameters,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# relative to the norm of the measurements: an unconstrained parameter whose slope is smaller
# belongs to a parameter on its bound
MIN_COLUMN_RTOL = 1e-12
# relative to the objective: a larger change, of parameters that are moved off a bound, is no rounding
MAPPED_RTOL = 1e-9
MAX_INNER_SEARCHES = 20  # Newton searches for the linear parameters of one point


@dataclass(frozen=True)
class ProjectedProblem:
    """A fit in which a solver moves some parameters, and the others minimise the objective for
    these.

    Attributes:
        problem: the objective to be minimised, with its data.
        linear: positions of the parameters that are solved for; empty if none is.
    """

    problem: Problem
    linear: tuple[int, ...]

    @cached_property
    def moving(self) -> Mask:
        """The mask of the parameters that a solver moves, shape (parameters,)."""
        return ~np.isin(np.arange(self.problem.parameters), self.linear)

    def of_starts(self, chosen: NDArray[Any]) -> ProjectedProblem:
        """Restrict weights that differ between starts to some starts, given by number or mask."""
        return replace(self, problem=self.problem.of_starts(chosen))

    def recover(self, moving: Array, near: Array) -> Array:
        """All unconstrained parameters, after solving for the linear ones.

        Args:
            moving: the unconstrained parameters that a solver moves, shape (moving,).
            near: all unconstrained parameters, shape (parameters,), at which the solution for the
                linear ones starts.

        Returns:
            Shape (parameters,).
        """
        if not self.linear:
            return moving
        return self._at(moving, near).free[0]

    def residuals(self, moving: Array, near: Array) -> Array:
        """Residuals, shape (rows,).

        Args:
            moving: the unconstrained parameters that a solver moves, shape (moving,).
            near: as `recover` takes it.
        """
        if not self.linear:
            return self.problem.residuals(moving[None])[0]
        return self._at(moving, near).state.residual[0]

    def slopes(self, moving: Array, near: Array) -> Array:
        """Derivatives of the residuals with respect to the moving unconstrained parameters, shape
        (rows, moving).

        These are the columns of the moving parameters after projection onto the complement of those
        of the linear ones, in the inner product weighted by the curvatures of the loss: Kaufman's
        approximation (1975, BIT 15), which omits the part that vanishes with the residuals.

        Args:
            moving: the unconstrained parameters that a solver moves, shape (moving,).
            near: as `recover` takes it.
        """
        if not self.linear:
            return self.problem.residuals_and_slopes(moving[None])[1][0]
        point = self._at(moving, near)
        columns = self.problem.residuals_and_slopes(point.free)[1][0]
        length = np.linalg.norm(columns, axis=0)
        on_bound = ~(length > MIN_COLUMN_RTOL * np.linalg.norm(self.problem.goal))
        following = ~self.moving & ~on_bound
        linear = columns[:, following] / length[following]
        state, problem = point.state, self.problem
        curvature = curvature_of(state.residual, state.slope, state.objective, exact=False)[0]
        root = np.sqrt(curvature if problem.weights is None else curvature * problem.weights)[
            :, None
        ]
        others = columns[:, self.moving]
        if not (np.isfinite(root * linear).all() and np.isfinite(root * others).all()):
            return np.full(others.shape, np.nan)
        steps = np.linalg.lstsq(root * linear, root * others, rcond=None)[0]
        return np.asarray(others - linear @ steps, dtype=np.float64)

    def by_least_squares(
        self, free: Array, weights: Array | None, objective: Objective
    ) -> ProjectedPoint:
        """Points with the linear parameters at their weighted least-squares values.

        Floating-point errors are not suppressed here: the caller does that.

        Args:
            free: unconstrained parameters, shape (starts, parameters).
            weights: the weights of the squared residuals, shape (starts, rows).
            objective: the objective of the losses.
        """
        problem, linear = self.problem, list(self.linear)
        theta, derivatives = parameters_and_derivatives(problem.transforms, free, second=False)
        evaluation = Evaluation(problem, theta, 1)
        on_bound = np.zeros(free.shape, dtype=bool)
        if linear:
            theta, on_bound[:, linear] = least_squares_linear(problem, evaluation, theta, weights)
            free = to_free(problem.transforms, theta)
            # bounds of other parameters may have moved with the linear ones
            if problem.transforms.others:
                theta, derivatives = parameters_and_derivatives(
                    problem.transforms, free, second=False
                )
                evaluation = Evaluation(problem, theta, 1)
            else:
                derivatives.slopes[:, linear] = 1.0
        state = problem.residual_state(evaluation.value(theta), objective, theta)
        if linear and not problem.transforms.others:
            theta, state = _mapped_back(problem, evaluation, objective, free, theta, state)
        return ProjectedPoint(
            problem, free, theta, derivatives, evaluation, state, on_bound, exact=False
        )

    def by_minimisation(
        self,
        free: Array,
        fixed: Mask | None,
        objective: Objective,
        decrease_atol: Array,
        decrease_rtol: float = 0.0,
        previous: ResidualState | None = None,
    ) -> ProjectedPoint:
        """Points with the linear parameters at the minimum of the objective itself.

        Floating-point errors are not suppressed here: the caller does that.

        Args:
            free: unconstrained parameters, shape (starts, parameters), near which the minimum is
                searched for.
            fixed: the mask of unconstrained parameters that are not changed, of the same shape;
                None for none.
            objective: the objective that is minimised.
            decrease_atol: a smaller predicted decrease ends the search, shape (starts,).
            decrease_rtol: relative to the objective: a smaller predicted decrease ends the search.
            previous: the residual state at the previous nonlinear parameters.
        """
        problem, linear = self.problem, list(self.linear)
        exact = problem.uses_second_derivatives()
        theta, derivatives = parameters_and_derivatives(problem.transforms, free, exact)
        evaluation = Evaluation(problem, theta, 2 if exact else 1)
        if not linear:
            state = problem.residual_state(evaluation.value(theta), objective, theta)
            return ProjectedPoint(
                problem, free, theta, derivatives, evaluation, state, fixed, exact
            )
        fixed_linear = None if fixed is None else fixed[:, linear]
        theta, on_bound, state = minimise_over_linear(
            problem,
            evaluation,
            theta,
            objective,
            decrease_atol,
            fixed_linear,
            decrease_rtol,
            previous,
        )
        # solved parameters may be on a bound up to rounding; starts keep a distance
        solved_free = to_free(problem.transforms, theta, inside=1e-16)
        free = solved_free if fixed is None else np.where(fixed, free, solved_free)
        excluded = fixed
        if on_bound.any():
            excluded = np.zeros(free.shape, dtype=bool) if fixed is None else fixed.copy()
            excluded[:, linear] |= on_bound
        if problem.transforms.others:  # bounds of others may have moved with the linear ones
            theta, derivatives = parameters_and_derivatives(problem.transforms, free, exact)
            evaluation = Evaluation(problem, theta, 2 if exact else 1)
            state = problem.residual_state(evaluation.value(theta), objective, theta)
        else:
            theta, state = _mapped_back(problem, evaluation, objective, free, theta, state)
            problem.transforms.update_derivatives(derivatives, theta, linear)
        return ProjectedPoint(problem, free, theta, derivatives, evaluation, state, excluded, exact)

    def _at(self, moving: Array, near: Array) -> ProjectedPoint:
        """The point at some moving unconstrained parameters."""
        free = near.copy()
        free[self.moving] = moving
        objective = self.problem.objective
        with np.errstate(all="ignore"):
            point = self.by_least_squares(free[None], None, objective)
            for _ in range(MAX_INNER_SEARCHES):
                start = point.free.copy()
                start[:, self.moving] = moving
                previous, point = point, self.by_minimisation(start, None, objective, np.zeros(1))
                if not point.state.loss[0] < previous.state.loss[0] * (1 - INNER_RTOL):
                    break
            return point


@dataclass(frozen=True)
class ProjectedPoint:
    """Points of a search, and what the derivatives there are computed from.

    Attributes:
        problem: the objective to be minimised, with its data.
        free: unconstrained parameters, shape (starts, parameters).
        theta: parameters, of the same shape.
        derivatives: the derivatives of the parameters with respect to the unconstrained parameters.
        evaluation: the model there.
        state: residuals and losses.
        excluded: the mask of unconstrained parameters excluded from a step, since they are fixed or
            on a bound, shape (starts, parameters); None for none.
        exact: whether second derivatives are exact.
    """

    problem: Problem
    free: Array
    theta: Array
    derivatives: TransformDerivatives
    evaluation: Evaluation
    state: ResidualState
    excluded: Mask | None
    exact: bool

    def local_model(self) -> LocalModel:
        """A second-order model of the objective near the points, in all unconstrained parameters."""
        return self.problem.local_model_at(
            self.evaluation, self.theta, self.derivatives, self.state, self.exact
        )


def _mapped_back(
    problem: Problem,
    evaluation: Evaluation,
    objective: Objective,
    free: Array,
    theta: Array,
    state: ResidualState,
) -> tuple[Array, ResidualState]:
    """The parameters and the state at the parameters that unconstrained parameters map to, of points
    where these are others: the search must not pass through a loss that no parameters have.

    Args:
        problem: the objective with its data.
        evaluation: the model at theta.
        objective: the objective of the losses.
        free: unconstrained parameters, shape (starts, parameters).
        theta: the parameters from which they were computed, of the same shape.
        state: residuals and losses at theta.
    """
    differs = is_clipped(problem.transforms, free)
    moved = is_moved_off_zero(problem.transforms, free)
    if not (differs.any() or moved.any()):
        return theta, state
    mapped = to_parameters(problem.transforms, free)
    if moved.any():
        loss = problem.residual_state(evaluation.value(mapped), objective, mapped).loss
        differs |= moved & ~(np.abs(loss - state.loss) <= MAPPED_RTOL * np.abs(state.loss))
        if not differs.any():
            return theta, state
    theta = np.where(differs[:, None], mapped, theta)
    return theta, problem.residual_state(evaluation.value(theta), objective, theta)


def project(problem: Problem) -> ProjectedProblem:
    """Reduce a fit to the parameters in which its law is nonlinear.

    Args:
        problem: the objective to be minimised, with its data.
    """
    return ProjectedProblem(problem, problem.linear)


def as_projected(problem: Problem | ProjectedProblem) -> ProjectedProblem:
    """Return the projected problem that a solver searches; for an unprojected problem, that with
    all parameters moving.
    """
    return problem if isinstance(problem, ProjectedProblem) else ProjectedProblem(problem, ())
