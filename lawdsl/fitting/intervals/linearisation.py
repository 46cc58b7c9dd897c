"""Fit -> whether the law is linear enough in its parameters for intervals by the delta method.

The delta method replaces the residuals by their tangent plane at the fit. At the ends of its
intervals the true residuals are compared with that plane, which measures the curvature of the law
in the confidence region, as Bates and Watts (1988), Nonlinear Regression Analysis and Its
Applications, chapter 7, without second derivatives.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.distributions import student_cdf
from lawdsl.fitting.intervals.covariance import column_norms, decompose_jacobian
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# the share of intervals that miss the true value, by the likelihood, relative to the nominal one:
# with more, the delta method does not apply. Of intervals of 95 % that is a coverage of 92.5 %
MAX_MISS_RATIO = 1.5
# of an unconstrained parameter: a wider interval spans a factor of exp(10) on either side
MAX_HALF_WIDTH = 10.0
# relative to the rounding of a residual: changes that are not larger are not compared
ROUNDING_FACTOR = 1e3


def is_nearly_linear(
    problem: Problem, free: Array, variances: Array, excluded: Mask, quantile: float, dof: float
) -> bool:
    """Whether delta intervals of all parameters nearly have their level.

    Args:
        problem: the minimisation problem, in which no bound may depend on other parameters.
        free: the unconstrained parameters of the fit, shape (parameters,).
        variances: their variances, shape (parameters,).
        excluded: the mask of parameters without intervals, shape (parameters,).
        quantile: half the width of the intervals, in standard errors.
        dof: degrees of freedom of that quantile.
    """
    unbounded = all(t.lower is t.upper and not t.coupled for t in problem.transforms)
    if unbounded and len(problem.linear) == problem.parameters:
        return True  # differences from the tangent plane would be rounding errors
    misses = miss_shares(problem, free, variances, excluded, quantile, dof)
    nominal = 2 * student_cdf(-quantile, dof)
    return bool(np.all(misses <= MAX_MISS_RATIO * nominal))


@np.errstate(all="ignore")  # an end may be outside the domain of the law
def miss_shares(
    problem: Problem, free: Array, variances: Array, excluded: Mask, quantile: float, dof: float
) -> Array:
    """The share of delta intervals of each parameter that miss its true value, by the likelihood.

    At an end of the interval of parameter j, the other parameters where the linearised fit moves
    them, the residuals differ from those of the fit by d. What of d remains after one further linear
    step of the other parameters, in units of that in the tangent plane, is the ratio of the root of
    the likelihood ratio to its nominal value.

    Args:
        problem, free, variances, excluded, quantile, dof: see `is_nearly_linear`.

    Returns:
        Shape (parameters,); 0 for a parameter that is excluded or has no finite variance, 1 where
        the law has no finite value at an end.
    """
    (residual,), (slopes,) = problem.residuals_and_slopes(free[None])
    root = np.ones(problem.rows) if problem.weights is None else np.sqrt(problem.weights)
    numbers = np.flatnonzero(~excluded)
    columns = root[:, None] * slopes[:, numbers]
    misses = np.zeros(len(free))
    if not np.all(np.isfinite(columns)):
        return misses
    norms = column_norms(columns)
    norms = np.where(norms > 0, norms, 1.0)
    decomposition = decompose_jacobian(columns / norms)
    inverse = decomposition.factor.T @ decomposition.factor
    half = quantile * np.sqrt(variances[numbers])
    tested = np.flatnonzero(~decomposition.hidden & np.isfinite(half) & (half > 0))
    if not len(tested):
        return misses
    half = half[tested]
    # in the tangent plane all parameters move so, per unit of parameter j
    moves = (inverse[tested] / np.diag(inverse)[tested, None]) * norms[tested, None] / norms
    steps = np.zeros((2, len(tested), len(free)))
    steps[:, :, numbers] = np.array([-1.0, 1.0])[:, None, None] * half[:, None] * moves
    ends = problem.residuals(free + steps.reshape(-1, len(free)))
    changes = (root * (ends - residual)).reshape(2, len(tested), -1)
    in_plane = changes @ decomposition.left_vectors
    normal = np.sum(changes**2, axis=2) - np.sum(in_plane**2, axis=2)
    # the component along the part of column j that no other column replaces
    own = np.einsum("sjr,rj->sj", in_plane, decomposition.factor[:, tested])
    own = own / np.sqrt(np.diag(inverse)[tested])
    nominal = half * norms[tested] / np.sqrt(np.diag(inverse)[tested])
    signs = np.array([-1.0, 1.0])[:, None]
    ratios = np.copysign(np.sqrt(np.maximum(own**2 + normal, 0.0)), signs * own) / nominal
    # smaller changes of the residuals are rounding errors, as after an exact fit
    rounding = ROUNDING_FACTOR * problem.rounding * np.sqrt(problem.rows)
    ratios = np.where(nominal > rounding, ratios, 1.0)
    ratios = np.where(half > MAX_HALF_WIDTH, 0.0, np.nan_to_num(ratios, nan=-10, neginf=-10))
    misses[numbers[tested]] = np.sum(student_cdf(-quantile * ratios, dof), axis=0)
    return misses
