"""Problem + nearby parameters -> least-squares parameters, for other or modified rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.losses import SQUARED
from lawdsl.core.objectives import Objective
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.exact_trust_region import exact_trust_region
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.transforms import to_free, to_parameters

Array = NDArray[np.float64]

MAX_REFIT_STEPS = 200
# relative to the sum of squares: a smaller decrease ends the search
REFIT_RTOL = 1e-10


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def refit(problem: Problem, theta: Array) -> tuple[Array, float]:
    """Fit by least squares from a start: minimise Σ w_i·r_i² in the unconstrained parameters.

    Args:
        problem: the objective with its data; its residuals are used, not its loss.
        theta: the start, shape (parameters,).

    Returns:
        Parameters, shape (parameters,), and their weighted sum of squares; the start and inf where the
        law has no value there.
    """
    squares = Objective(SQUARED.name, problem.objective.log)
    problem = replace(problem, objective=squares, penalty=None)
    # further out the slope with respect to the unconstrained parameter vanishes, and the search
    # could not leave the bound
    start = np.clip(to_free(problem.transforms, theta[None])[0], -30.0, 30.0)
    if not np.all(np.isfinite(problem.residuals(start[None]))):
        start = to_free(problem.transforms, theta[None])[0]
    if not np.isfinite(problem.losses(start[None])[0]):
        return theta, np.inf
    found = exact_trust_region(project(problem), start, MAX_REFIT_STEPS, REFIT_RTOL)
    return to_parameters(problem.transforms, found.point[None])[0], float(found.loss)


def least_squares_near(problem: Problem, theta: Array) -> float:
    """The minimum of the weighted sum of squares near some parameters.

    Args:
        problem: the objective with its data; its residuals are used, not its loss.
        theta: the start, shape (parameters,).
    """
    return refit(problem, theta)[1]
