"""Fit -> intervals by the delta method, from the Jacobian at the fit alone.

In unconstrained parameters u the interval is u_j ± t·sqrt(C_jj), C = tau²·(JᵀWJ)⁻¹ and t a quantile
of Student's t; its ends are mapped to the parameters (Seber and Wild (1989), Nonlinear Regression).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.block_equations import normal_equations
from lawdsl.fitting.intervals.covariance import (
    column_norms,
    combined_with_priors,
    decompose_jacobian,
    leave_one_run_out,
    orthonormal_rows,
)
from lawdsl.fitting.intervals.interval_method import (
    IntervalEnds,
    IntervalMethod,
    IntervalTask,
    LinearisedErrors,
)
from lawdsl.fitting.intervals.m_estimator import Groups, Noise, noise_of
from lawdsl.fitting.jacobian_triangle import is_long, jacobian_triangle
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import (
    parameters_and_own_slopes,
    to_free,
    to_parameters,
    with_slopes,
)

Array = NDArray[np.float64]

# relative to that of a parameter alone: a variance by blocks that is larger is rounding error
MAX_VARIANCE_INFLATION = 1e13
# relative to the value, or to 1: ends further out are due to overflow, not to the data
MAX_END_RATIO = 1e100
# component of a direction: parameters with a smaller one are not part of it
RUN_SHARE = 1e-2


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def linearised_errors(
    problem: Problem,
    theta: Array,
    on_bound: NDArray[np.bool_],
    level: float,
    groups: Groups = None,
    *,
    by_blocks: bool = True,
) -> LinearisedErrors:
    """Compute intervals that are symmetric in the unconstrained parameters: for A > 0 in log A.

    By rows the noise is assumed to be homoscedastic; by runs nothing is assumed about the noise
    within a run.

    Args:
        problem: the minimisation problem, in which no bound may depend on other parameters.
        theta: the fitted parameters, shape (parameters,).
        on_bound: the mask of parameters on a bound, or not determined by the data, shape
            (parameters,).
        level: 0.95 for 95 % intervals.
        groups: the training run of each row, shape (rows,).
        by_blocks: whether to compute variances alone, by blocks, for a problem with many parameters
            in blocks.
    """
    free = to_free(problem.transforms, theta[None])[0]
    if by_blocks and groups is None and problem.penalty is None and problem.arrow is not None:
        return _errors_by_blocks(problem, free, theta, on_bound, level)
    _, jacobian = with_slopes(problem.transforms, free[None])
    free_numbers = np.flatnonzero(~on_bound)
    if groups is None and is_long(problem):
        at_free = to_parameters(problem.transforms, free[None])
        residual = problem.residuals_at(at_free)[0]
        slopes, is_finite = jacobian_triangle(problem, at_free[0], weighted=True)
        slopes = np.where(is_finite, slopes, np.nan) @ jacobian[0]
        weights = np.ones(len(slopes))
    else:
        (residual,), (slopes,) = problem.residuals_and_slopes(free[None])
        weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    slopes = slopes[:, free_numbers]
    noise = noise_of(problem, residual, len(free_numbers), groups)
    priors = np.empty((0, len(theta)))  # as further rows, in units of their standard deviations
    if problem.penalty is not None:
        priors = problem.penalty.pseudo_rows(theta, 1.0) @ jacobian[0]
    priors = priors[:, free_numbers]
    of_priors = np.sqrt(noise.tau2) * priors
    count = len(theta)
    covariance, inflation = np.full((count, count), np.nan), np.ones(count)
    roots = np.sqrt(weights)[:, None]
    norms = column_norms(_with_further_rows(roots * slopes, of_priors))
    unit = np.where(norms > 0, norms, 1.0)  # the sizes of parameters may differ by any factor
    slopes = slopes / unit
    variances, narrowest = np.full((len(free_numbers), len(free_numbers)), np.nan), 1.0
    if np.all(np.isfinite(slopes)):
        decomposition = decompose_jacobian(_with_further_rows(roots * slopes, of_priors / unit))
        narrowest = decomposition.narrowest
        variances = noise.tau2 * decomposition.factor.T @ decomposition.factor
        variances[decomposition.hidden] = variances[:, decomposition.hidden] = np.nan
        if groups is not None:
            clustered = _clustered_covariance(noise, slopes, roots * slopes, groups, priors / unit)
            with np.errstate(all="ignore"):
                ratio = np.diag(clustered) / np.diag(variances)
            inflation[free_numbers] = np.where(np.isnan(ratio), 1.0, ratio)
            variances = clustered
    with np.errstate(all="ignore"):
        covariance[np.ix_(free_numbers, free_numbers)] = variances / np.outer(norms, norms)
    quantile = noise.quantile(level)
    half = quantile * np.sqrt(np.diag(covariance))
    errors = np.sqrt(np.diag(covariance)) * np.abs(np.diag(jacobian[0]))
    ends = np.sort(to_parameters(problem.transforms, np.stack([free - half, free + half])), axis=0)
    return LinearisedErrors(
        free,
        covariance,
        np.diag(covariance),
        inflation,
        errors,
        *open_ends_at_infinity(ends[0], ends[1], theta),
        quantile,
        narrowest,
    )


def _errors_by_blocks(
    problem: Problem, free: Array, theta: Array, on_bound: NDArray[np.bool_], level: float
) -> LinearisedErrors:
    """The same for a problem with blocks, by rows: the diagonal of the covariance alone."""
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    matrix, _, _ = normal_equations(problem, free, weights)
    noise = noise_of(problem, problem.residuals(free[None])[0], int(np.sum(~on_bound)))
    curvature = matrix.diagonal[0]
    inner = ~on_bound & (curvature > 0)
    size = np.where(inner, np.sqrt(np.where(inner, curvature, 1.0)), np.inf)
    variances, narrowest = np.full(len(theta), np.nan), 1.0
    try:
        scaled = matrix.scaled(size[None]).plus(np.where(inner, 0.0, 1.0)[None])
        inverse = scaled.inverse_diagonal()[0]
        # the equations have the square of the condition number of the Jacobian
        hidden = ~(inner & (inverse > 0) & (inverse < MAX_VARIANCE_INFLATION))
        variances = np.where(hidden, np.nan, noise.tau2 * inverse / size**2)
        narrowest = float(1 / np.sqrt(max(np.max(inverse[inner], initial=1.0), 1.0)))
    except np.linalg.LinAlgError:
        pass
    _, slopes = parameters_and_own_slopes(problem.transforms, free[None])
    quantile = noise.quantile(level)
    half = quantile * np.sqrt(variances)
    ends = np.sort(to_parameters(problem.transforms, np.stack([free - half, free + half])), axis=0)
    return LinearisedErrors(
        free,
        np.empty((0, 0)),
        variances,
        np.ones(len(theta)),
        np.sqrt(variances) * np.abs(slopes[0]),
        *open_ends_at_infinity(ends[0], ends[1], theta),
        quantile,
        narrowest,
    )


def _with_further_rows(rows: Array, further: Array) -> Array:
    """A matrix with further rows appended; the same object if there are none."""
    return np.vstack([rows, further]) if len(further) else rows


def open_ends_at_infinity(low: Array, high: Array, values: Array) -> tuple[Array, Array]:
    """Set the ends of intervals that the data do not determine to infinity.

    Args:
        low, high: the ends, shape (parameters,).
        values: the estimates, shape (parameters,), which may be large in the units of the table.

    Returns:
        Lower and upper ends, each of shape (parameters,).
    """
    with np.errstate(over="ignore"):
        limit = MAX_END_RATIO * np.maximum(1.0, np.abs(values))
    return np.where(low < -limit, -np.inf, low), np.where(high > limit, np.inf, high)


def _clustered_covariance(
    noise: Noise, slopes: Array, root: Array, groups: NDArray[np.int64], priors: Array
) -> Array:
    """The covariance of the unconstrained parameters under independence of runs, by the jackknife,
    and with priors. A parameter that only one run determines has an infinite variance.
    """
    changes, directions = leave_one_run_out(noise, slopes, root, groups)
    if len(priors):
        # directions of infinite variance are excluded from the finite covariance
        basis = orthonormal_rows(directions)
        changes = changes - (changes @ basis.T) @ basis
        changes, directions = combined_with_priors(changes, basis, priors)
    covariance = changes.T @ changes
    is_of_one_run = np.any(np.abs(directions) > RUN_SHARE, axis=0)
    # only the diagonal: the covariance with other parameters is unknown
    covariance[is_of_one_run, is_of_one_run] = np.inf
    return covariance


def _linearised_ends(task: IntervalTask) -> IntervalEnds:
    linearised = task.linearised
    return IntervalEnds(linearised.errors, linearised.low, linearised.high)


METHOD = IntervalMethod(_linearised_ends)
