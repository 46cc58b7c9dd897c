"""Problem + points in curved valleys -> minima: the last stage of a search, one point at a time.

Newton's method within a trust region, with exact second derivatives where the model has them. The
step solves

    min over s of gᵀs + sᵀHs/2,    |D·s| <= radius,

by the eigenvalues of D⁻¹HD⁻¹ (Moré and Sorensen (1983), SIAM Journal on Scientific and Statistical
Computing 4), with D² = |diag(H)|: a step does not depend on the units of the parameters. The linear parameters are solved for after every step, and g and H are
those of the projected objective, H = H_mm - H_ml·H_ll⁻¹·H_lm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import ResidualState
from lawdsl.fitting.solvers.irls import longest_steps
from lawdsl.fitting.solvers.newton import (
    EXACT_FIT_CONVERGENCE_RTOL,
    NEWTON_CONVERGENCE_RTOL,
    OBJECTIVE_RTOL,
)
from lawdsl.fitting.solvers.projected_problem import ProjectedPoint, ProjectedProblem
from lawdsl.fitting.solvers.solver import MINIMUM, OUT_OF_STEPS, Solution

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MAX_STEPS = 1000
# a step is accepted above the first ratio of actual to predicted decrease, and the radius is changed
# below the second and above the third
ACCEPTED_RATIO, SHRINK_RATIO, GROW_RATIO = 1e-4, 0.25, 0.75
SHRINK_FACTOR, GROW_FACTOR = 0.25, 2.0
WITHIN_LONGEST = 0.9  # share of the radius at which a step would have the longest length
# relative to the length of the parameters: a smaller radius changes nothing but rounding
MIN_RADIUS_RTOL = 1e-15
# relative to the objective: at a point where rounding stops the search, a smaller predicted decrease
# is one of rounding
ROUNDING_DECREASE_RTOL = 1e-9
# relative to the largest curvature of a parameter: a smaller one counts as this
MIN_CURVATURE_RTOL = 1e-14
TINY = 1e-150  # avoids divisions by 0; its square is not 0
# of the scaled Hessian of the linear parameters, so that collinear ones have a solution
RIDGE = 1e-14
SECULAR_STEPS = 60  # steps for the multiplier of the trust region
# with so many steps, the objective must have decreased by so much, relative to itself
PROGRESS_STEPS, PROGRESS_RTOL = 60, 1e-5


def exact_trust_region(
    projected: ProjectedProblem,
    start: Array,
    limit: int = MAX_STEPS,
    rtol: float = NEWTON_CONVERGENCE_RTOL,
    fixed: Mask | None = None,
) -> Solution:
    """Search for a minimum from one point.

    Args:
        projected: the objective, reduced to the parameters that are not solved for.
        start: unconstrained parameters, shape (parameters,).
        limit: the largest number of steps.
        rtol: the predicted decrease at which the search ends, relative to the objective.
        fixed: the mask of unconstrained parameters that are not changed, shape (parameters,).

    Returns:
        The solution; it is converged where the decrease that the quadratic model predicts is one of
        rounding, or below `rtol`.
    """
    with np.errstate(all="ignore"):
        search = _Search(projected, start, rtol, fixed)
        while search.evaluations < limit and search.step():
            pass
    return Solution(
        search.point.free[0],
        search.loss,
        search.converged,
        MINIMUM if search.converged else OUT_OF_STEPS,
        evaluations=search.evaluations,
    )


class _Search:
    """A point, its quadratic model, and the radius in which the model is used."""

    def __init__(
        self, projected: ProjectedProblem, start: Array, rtol: float, fixed: Mask | None = None
    ) -> None:
        self.projected, self.problem, self.rtol = projected, projected.problem, rtol
        self.fixed = None if fixed is None else fixed[None]
        self.longest = longest_steps(projected.problem)
        self.point = self._at(start)
        self.radius, self.converged, self.evaluations = np.inf, False, 1
        self.history = [self.loss]
        self._expand()

    @property
    def loss(self) -> float:
        return float(self.point.state.loss[0])

    def _at(self, free: Array, previous: ResidualState | None = None) -> ProjectedPoint:
        """The point at some unconstrained parameters, with the linear ones at a minimum.

        Args:
            free: shape (parameters,).
            previous: the residual state at the previous point.
        """
        return self.projected.by_minimisation(
            free[None], self.fixed, self.problem.objective, np.zeros(1), previous=previous
        )

    def _expand(self) -> None:
        """The projected quadratic model at the point, in scaled parameters."""
        model = self.point.local_model()
        gradient, hessian = model.gradient[0], model.hessian[0]
        excluded = self.point.excluded
        included = np.ones(len(gradient), dtype=bool) if excluded is None else ~excluded[0]
        moving, linear = self.projected.moving & included, ~self.projected.moving & included
        self.moving = moving
        g, h = gradient[moving], hessian[np.ix_(moving, moving)]
        if linear.any():
            cross = hessian[np.ix_(linear, moving)]
            block = hessian[np.ix_(linear, linear)]
            size = np.sqrt(np.abs(np.diag(block))) + TINY
            block = block / np.outer(size, size) + RIDGE * np.eye(len(size))
            if np.isfinite(block).all() and np.isfinite(cross).all():
                solved = np.linalg.lstsq(block, cross / size[:, None], rcond=None)[0]
                h = h - (cross / size[:, None]).T @ solved
                # the remaining gradient of the linear parameters
                g = g - solved.T @ (gradient[linear] / size)
        curvature = np.nan_to_num(np.sqrt(np.abs(np.diag(h))))
        largest = float(np.max(curvature, initial=0.0))
        scale = np.maximum(curvature, np.sqrt(MIN_CURVATURE_RTOL) * largest + 1e-150)
        self.scale = scale
        self.gradient = np.nan_to_num(g / scale)
        scaled = np.nan_to_num(h / np.outer(scale, scale))
        self.values, self.vectors = np.linalg.eigh((scaled + scaled.T) / 2)
        self.along = self.vectors.T @ self.gradient

    def step(self) -> bool:
        """Take one step; return whether the search continues."""
        if not np.isfinite(self.loss) or not len(self.gradient):
            self.converged = bool(np.isfinite(self.loss))
            return False
        components, interior = self._components()
        predicted = -float(self.along @ components + self.values @ components**2 / 2)
        rounding = EXACT_FIT_CONVERGENCE_RTOL * self.problem.exact
        if interior and predicted <= self.rtol * self.loss + rounding:
            self.converged = True
            return False
        if not predicted > 0:  # below the smallest number, or rounding
            return self._stop()
        move = np.zeros(len(self.moving))
        move[self.moving] = (self.vectors @ components) / self.scale
        excess = float(np.max(np.abs(move) / self.longest, initial=0.0))
        if excess > 1:  # the model is not used beyond a factor of e² in the distance from a bound
            self.radius = WITHIN_LONGEST * float(np.linalg.norm(components)) / excess
            return True if self._shrunk() else self._stop()
        trial = self._at(self.point.free[0] + move, self.point.state)
        self.evaluations += 1
        actual = self.loss - float(trial.state.loss[0])
        ratio = actual / predicted if np.isfinite(actual) else -1.0
        length = float(np.linalg.norm(components))
        if ratio < SHRINK_RATIO:
            self.radius = SHRINK_FACTOR * length
        elif ratio > GROW_RATIO and not interior:
            self.radius = GROW_FACTOR * length
        accepted = ratio > ACCEPTED_RATIO or (
            np.isfinite(actual) and 0 <= actual <= OBJECTIVE_RTOL * self.loss
        )
        if accepted:
            self.point = trial
            self._expand()
        self.history.append(self.loss)
        if len(self.history) > PROGRESS_STEPS:
            earlier = self.history[-1 - PROGRESS_STEPS]
            if earlier - self.loss <= PROGRESS_RTOL * self.loss:
                return self._stop()
        return self._shrunk() or self._stop()

    def _shrunk(self) -> bool:
        """Whether a step within the radius still changes the parameters."""
        size = np.linalg.norm(self.point.free[0][self.moving] * self.scale)
        return bool(self.radius > MIN_RADIUS_RTOL * max(float(size), 1e-300))

    def _stop(self) -> bool:
        """End the search: in a minimum where the model without a radius predicts a decrease that is one
        of rounding. A decrease within the radius is no evidence, since the radius may be tiny.
        """
        gain = float(np.sum(self.along**2 / np.maximum(np.abs(self.values), 1e-10))) / 2
        self.converged = gain <= ROUNDING_DECREASE_RTOL * self.loss + self.problem.exact
        return False

    def _components(self) -> tuple[Array, bool]:
        """The step along the eigenvectors, and whether it is that of the model without a radius."""
        values, along = self.values, self.along
        lowest = float(values[0])
        if lowest > 0:
            newton = -along / values
            if np.linalg.norm(newton) <= self.radius:
                return newton, True
        if not np.isfinite(self.radius):
            # the length of the parameters themselves
            size = float(np.linalg.norm(self.point.free[0][self.moving] * self.scale))
            self.radius = max(size, float(np.linalg.norm(along)), 1e-300)
            if lowest > 0:
                return self._components()
        # the multiplier at which the step has the length of the radius
        low = max(0.0, -lowest)
        high = low + float(np.linalg.norm(along)) / self.radius + 1e-300
        low = max(low, 1e-16 * max(abs(float(values[-1])), 1e-300))
        for _ in range(SECULAR_STEPS):
            middle = np.sqrt(low * high) if low > 0 else high / 2
            length = float(np.linalg.norm(along / (values + middle)))
            low, high = (middle, high) if length > self.radius else (low, middle)
            if high <= low * (1 + 1e-6):
                break
        step: Array = -along / (values + high)
        short = self.radius - float(np.linalg.norm(step))
        if lowest < 0 and short > 0.1 * self.radius:
            # the hard case: along the direction of negative curvature to the radius, not beyond: a
            # step longer than the radius would not become shorter with it
            length = np.sqrt(max(self.radius**2 - float(np.sum(step[1:] ** 2)), 0.0))
            step[0] = -length if step[0] < 0 else length
        return step, False
