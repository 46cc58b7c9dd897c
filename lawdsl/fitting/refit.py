"""Problem + nearby parameters -> least-squares parameters, for other or modified rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import to_free, to_parameters

Array = NDArray[np.float64]

MAX_REFIT_EVALUATIONS = 200  # evaluations of the law for one fit
# value that replaces undefined residuals and slopes
NO_VALUE_RESIDUAL = 1e100


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def refit(problem: Problem, theta: Array) -> tuple[Array, float]:
    """Fit by least squares from a start: minimise Σ w_i·r_i² in the unconstrained parameters.

    The trust-region method of SciPy's `least_squares` (Branch, Coleman and Li (1999), SIAM Journal
    on Scientific Computing 21).

    Args:
        problem: the objective with its data; its residuals are used, not its loss.
        theta: the start, shape (parameters,).

    Returns:
        Parameters, shape (parameters,), and their weighted sum of squares.
    """
    root = np.ones(problem.rows) if problem.weights is None else np.sqrt(problem.weights)
    # further out the slope with respect to the unconstrained parameter vanishes, and the search
    # could not leave the bound
    start = np.clip(to_free(problem.transforms, theta[None])[0], -30.0, 30.0)
    if not np.all(np.isfinite(problem.residuals(start[None]))):
        start = to_free(problem.transforms, theta[None])[0]

    def residuals(free: Array) -> Array:
        search = problem.residuals(free[None])[0] * root
        return np.nan_to_num(
            search, nan=NO_VALUE_RESIDUAL, posinf=NO_VALUE_RESIDUAL, neginf=-NO_VALUE_RESIDUAL
        )

    def slopes(free: Array) -> Array:
        search = problem.residuals_and_slopes(free[None])[1][0] * root[:, None]
        return np.nan_to_num(search, nan=0.0, posinf=0.0, neginf=0.0)

    if not np.all(np.abs(residuals(start)) < NO_VALUE_RESIDUAL):
        return theta, np.inf
    search = least_squares(residuals, start, slopes, x_scale="jac", max_nfev=MAX_REFIT_EVALUATIONS)
    return to_parameters(problem.transforms, search.x[None])[0], 2.0 * float(search.cost)


def least_squares_near(problem: Problem, theta: Array) -> float:
    """The minimum of the weighted sum of squares near some parameters.

    Args:
        problem: the objective with its data; its residuals are used, not its loss.
        theta: the start, shape (parameters,).
    """
    return refit(problem, theta)[1]
