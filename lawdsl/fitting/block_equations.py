"""Problem with many parameters in blocks + a point -> its normal equations, by blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.arrow import ArrowMatrix, gradient_of, normal_matrix
from lawdsl.fitting.losses import curvature_of, value_and_slope
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import parameters_and_own_slopes

Array = NDArray[np.float64]

EIGENVALUE_RTOL = 1e-3


@np.errstate(all="ignore")
def normal_equations(
    problem: Problem, free: Array, weights: Array | None = None
) -> tuple[ArrowMatrix, Array, float]:
    """The Gauss-Newton matrix, gradient and value of the objective, by unconstrained parameters.

    Args:
        problem: the objective to be minimised, with its data; it has blocks, and no priors.
        free: unconstrained parameters, shape (parameters,).
        weights: weights of the rows in the matrix, shape (rows,); by default the curvatures of the
            loss, rho'(r)/r, times the weights of the rows.

    Returns:
        The matrix, for one start; the gradient, shape (parameters,); and the objective.
    """
    arrow = problem.arrow
    assert arrow is not None
    theta, slopes = parameters_and_own_slopes(problem.transforms, free[None])
    residual, compact = problem.compact_slopes(theta)
    cost, slope = value_and_slope(residual, problem.objective)
    if weights is None:
        by_row = curvature_of(residual, slope, problem.objective, exact=False)
    else:
        by_row = weights[arrow.order][None]
    if problem.weights is not None:
        weights_in_order = problem.weights[arrow.order]
        cost, slope = cost * weights_in_order, slope * weights_in_order
        by_row = by_row * weights_in_order if weights is None else by_row
    matrix = normal_matrix(arrow, compact, by_row).scaled(1 / slopes)
    gradient = gradient_of(arrow, compact, slope)[0] * slopes[0]
    return matrix, gradient, float(cost.sum())


def largest_eigenvalue(apply: Callable[[Array], Array], count: int) -> float:
    """The largest eigenvalue of a symmetric matrix, by Lanczos iterations.

    Args:
        apply: the product of the matrix with a vector of shape (count,).
        count: the number of rows of the matrix.

    Raises:
        numpy.linalg.LinAlgError: the iterations do not converge, or a product is not finite.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh  # slow to import

    start = np.random.default_rng(0).normal(size=count)
    operator = LinearOperator((count, count), matvec=lambda x: apply(x.ravel()), dtype=np.float64)
    try:
        (value,) = eigsh(
            operator, 1, which="LA", v0=start, tol=EIGENVALUE_RTOL, return_eigenvectors=False
        )
    except ArpackError as error:
        raise np.linalg.LinAlgError(str(error)) from None
    if not np.isfinite(value):
        raise np.linalg.LinAlgError("a product is not finite")
    return float(value)
