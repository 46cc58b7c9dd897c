"""Problem + starts with fixed parameters -> minima over the others, and how certain they are.

Newton's method refits all starts as one array. Where it does not converge, as in valleys that are
curved or nearly flat, a trust region refits one start at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.exact_trust_region import exact_trust_region
from lawdsl.fitting.solvers.irls import longest_steps
from lawdsl.fitting.solvers.newton import newton_batch, newton_step
from lawdsl.fitting.solvers.projected_problem import ProjectedProblem, project

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# relative to the loss: a search ends if the predicted decrease is smaller, since an end of an
# interval need not be exact
INTERVAL_END_RTOL = 1e-9
MAX_EXACT_STEPS = 100  # steps of a refit by trust region


@dataclass(frozen=True)
class Refits:
    """Minima over the parameters that are not fixed, one row per start.

    Attributes:
        free: unconstrained parameters, shape (starts, parameters).
        losses: the objective there, shape (starts,).
        gains: by how much the minimum may be lower, shape (starts,): 0 where the refit has converged,
            else the decrease that the quadratic model predicts, or inf where it is not known.
        evaluations: the number of evaluations of all refits.
    """

    free: Array
    losses: Array
    gains: Array
    evaluations: int = 0

    def at(self, chosen: NDArray[np.int64]) -> Refits:
        """Some rows."""
        return Refits(self.free[chosen], self.losses[chosen], self.gains[chosen])

    def continued(self, other: Refits, chosen: NDArray[np.int64]) -> Refits:
        """The lower ones of these and of refits that start from some of these.

        Args:
            other: the refits that start there. Where they end higher, since the linear parameters are
                solved for again, the minimum may be lower by the difference.
            chosen: the rows of these from which they start.
        """
        gains = self.gains.copy()
        rounding = np.maximum(other.losses - self.losses[chosen], 0.0)
        gains[chosen] = np.fmin(gains[chosen], other.gains + rounding)
        return replace(self, gains=gains).lowest(other, chosen)

    def lowest(self, other: Refits, chosen: NDArray[np.int64] | None = None) -> Refits:
        """The lower ones of two refits of each row.

        Args:
            other: further refits.
            chosen: the rows of these that the further ones belong to; None for all.
        """
        rows = np.arange(len(self.losses)) if chosen is None else chosen
        free, losses, gains = self.free.copy(), self.losses.copy(), self.gains.copy()
        # of two refits in one minimum, the one that has converged counts
        lower = (other.losses < losses[rows]) | (
            (other.losses == losses[rows]) & (other.gains < gains[rows])
        )
        free[rows[lower]], losses[rows[lower]] = other.free[lower], other.losses[lower]
        gains[rows[lower]] = other.gains[lower]
        return Refits(free, losses, gains, self.evaluations + other.evaluations)


Refit = Callable[[Problem, Array, Mask], Refits]


def refit(problem: Problem, starts: Array, fixed: Mask) -> Refits:
    """Refit by Newton's method.

    Args:
        problem: the objective with its data.
        starts: unconstrained parameters, shape (starts, parameters).
        fixed: the mask of those that are not changed, of the same shape.
    """
    free, losses, converged, steps = newton_batch(
        project(problem), starts.copy(), fixed, rtol=INTERVAL_END_RTOL
    )
    return Refits(free, losses, np.where(converged, 0.0, np.inf), int(np.sum(steps)))


def refit_exactly(problem: Problem, starts: Array, fixed: Mask) -> Refits:
    """Refit by a trust region, which follows curved valleys, one start after the other.

    Args:
        problem, starts, fixed: see `refit`.
    """
    projected = project(problem)
    free, losses = starts.copy(), np.full(len(starts), np.inf)
    gains, evaluations = np.full(len(starts), np.inf), 0
    for k, start in enumerate(starts):
        end = exact_trust_region(projected, start, MAX_EXACT_STEPS, INTERVAL_END_RTOL, fixed[k])
        evaluations += end.evaluations
        if np.isfinite(end.loss):
            free[k], losses[k] = end.point, end.loss
            gains[k] = 0.0 if end.converged else _predicted_decrease(projected, end.point, fixed[k])
    return Refits(free, losses, gains, evaluations)


@np.errstate(all="ignore")
def _predicted_decrease(projected: ProjectedProblem, free: Array, fixed: Mask) -> float:
    """The decrease of the objective to the minimum of its quadratic model; inf where it has none."""
    objective = projected.problem.objective
    point = projected.by_minimisation(free[None], fixed[None], objective, np.zeros(1))
    model = point.local_model()
    model = model if point.excluded is None else model.without(point.excluded)
    longest = longest_steps(projected.problem)
    decrease = float(newton_step(model, np.zeros(1), longest, projected.moving)[1][0])
    return decrease if np.isfinite(decrease) else np.inf
