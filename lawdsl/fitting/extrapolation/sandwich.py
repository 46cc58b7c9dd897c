"""Intervals of parameters under an error of the law, which displaces the fit.

To first order the fit θ̂ moves with its residuals by H = (JᵀWJ)⁻¹JᵀW, J their Jacobian and W the
weights of the loss; with declared priors by (JᵀWJ + P)⁻¹JᵀW, P the curvature of their penalty. An
error of the law δ ~ GP(0, s²K) at the rows moves it by H·δ, with covariance H·s²K·Hᵀ (the sandwich:
Huber 1967, Berkeley Symposium 5; White 1982, Econometrica 50). The corresponding squared
half-widths are added to those due to the noise, in the unconstrained values of the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.extrapolation.conditioning_rows import ConditioningRows
from lawdsl.fitting.extrapolation.coordinates import axes_of, coordinates
from lawdsl.fitting.extrapolation.kernel import kernel
from lawdsl.fitting.intervals.covariance import column_norms, decompose_jacobian
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result_parts import Intervals, Parameter
from lawdsl.fitting.transforms import (
    Transforms,
    to_free,
    to_parameters,
    with_slopes,
    without_coupled_limits,
)

Array = NDArray[np.float64]
Interval = tuple[float, float]


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def deviations_by_law_error(
    problem: Problem, theta: Array, fitted: NDArray[np.bool_], z: Array, weights: Array | None
) -> Array:
    """Standard deviations of the displacement of a fit by the error of the law, for an amplitude of
    1 per decade.

    Args:
        problem: the law at rows of the fit, with the residuals that were minimised.
        theta: the fitted parameters, shape (parameters,).
        fitted: the mask of parameters that are not on a bound, shape (parameters,).
        z: the coordinates of the rows, shape (rows, axes).
        weights: the weights of the loss, w·rho'(r)/r, shape (rows,); None if all are 1.

    Returns:
        Standard deviations of the unconstrained parameters, shape (parameters,): inf where the rows
        do not determine a parameter, 0 on a bound.
    """
    free = to_free(problem.transforms, theta[None])[0]
    jacobian = problem.residuals_and_slopes(free[None])[1][0][:, fitted]
    priors = np.empty((0, jacobian.shape[1]))
    if problem.penalty is not None:
        (by_free,) = with_slopes(problem.transforms, free[None])[1]
        # rows with a quadratic loss have no explicit weights
        size = 1 / problem.curvature_of_weights(not problem.objective.row.quadratic)
        size *= problem.penalty.share * problem.penalty.noise.kappa
        priors = (problem.penalty.pseudo_rows(theta, np.sqrt(size)) @ by_free)[:, fitted]
    root = np.ones(problem.rows) if weights is None else np.sqrt(weights)
    # a relative error of the law is a difference of logarithms, or proportional to the law's value
    change = 1.0 if problem.objective.log else problem.predictions(theta[None])[0]
    deviations = np.zeros(len(theta))
    deviations[fitted] = np.inf
    weighted = root[:, None] * jacobian
    if len(priors):  # priors do not depend on the error of the law
        weighted = np.vstack([weighted, priors])
    norms = column_norms(weighted)
    if not np.all(np.isfinite(weighted)):
        return deviations
    unit = np.where(norms > 0, norms, 1.0)
    parts = decompose_jacobian(weighted / unit)
    moves = (parts.factor.T @ parts.left_vectors[: problem.rows].T) * root * change
    variances = np.einsum("ij,jk,ik->i", moves, kernel(z, z), moves) / unit**2
    variances[parts.hidden | (norms == 0)] = np.inf
    deviations[fitted] = np.sqrt(variances)
    return deviations


@np.errstate(all="ignore")  # an end may be infinite
def widened_intervals(
    transforms: Transforms,
    theta: Array,
    ends: Mapping[str, Interval],
    half_widths: Array,
) -> dict[str, Interval]:
    """Widen intervals by adding the squared half-widths due to the error of the law.

    Args:
        transforms: the transforms of the parameters.
        theta: the parameters, shape (parameters,).
        ends: parameter -> the interval due to the noise. An end at infinity, or at a bound of the
            domain, is unchanged.
        half_widths: the half-widths of the unconstrained parameters due to the error of the law,
            shape (parameters,).

    Returns:
        Parameter -> lower and upper end, for the entries of `ends` that are parameters of the fit.
    """
    # each parameter separately: an interval does not determine the others
    uncoupled = without_coupled_limits(transforms) or transforms
    center = to_free(uncoupled, theta[None])[0]
    result: dict[str, Interval] = {}
    for i, transform in enumerate(uncoupled):
        if transform.name not in ends:
            continue
        low, high = ends[transform.name]
        limits = [side.number if side else None for side in transform.sides]
        new = []
        for end, sign in ((low, -1.0), (high, 1.0)):
            if not np.isfinite(end) or end in limits:
                new.append(end)
                continue
            at_end = to_free(uncoupled, np.where(np.arange(len(theta)) == i, end, theta)[None])[
                0, i
            ]
            # the unconstrained value decreases in a parameter that has an upper bound alone
            direction = -1.0 if transform.lower is None and transform.upper is not None else 1.0
            half = np.hypot(at_end - center[i], half_widths[i])
            free_end = center.copy()
            free_end[i] = center[i] + direction * sign * half
            new.append(float(to_parameters(uncoupled, free_end[None])[0, i]))
        result[transform.name] = (min(new[0], low), max(new[1], high))
    return result


def intervals_with_law_error(
    problem: Problem,
    parameters: Mapping[str, Parameter],
    intervals: Intervals,
    rows: ConditioningRows,
    shares: Sequence[bool],
    scale: float,
) -> dict[str, Interval]:
    """Intervals of parameters that include the error of the law.

    Args:
        problem: the law at rows of the fit, with the residuals that were minimised.
        parameters: the fitted parameters.
        intervals: the intervals due to the noise.
        rows: the rows.
        shares: whether the domain of each variable is within [0, 1].
        scale: the error of the law per decade, times the quantile of the intervals' level.

    Returns:
        Parameter -> lower and upper end.
    """
    theta = np.array([p.value for p in parameters.values()])
    on_bound = np.array([p.at_bound is not None for p in parameters.values()])
    uncoupled = without_coupled_limits(problem.transforms)
    if uncoupled is not None:
        # there a parameter moves with those on which its bound depends
        pairs = zip(problem.transforms, uncoupled, on_bound, strict=True)
        active = Transforms(coupled if is_active else free for coupled, free, is_active in pairs)
        problem = replace(problem, transforms=active)
    names = tuple(rows.columns)
    z = coordinates(axes_of(names, shares, problem.columns), names, problem.columns)
    weights = None if rows.weights is None else np.array(rows.weights)
    deviations = deviations_by_law_error(problem, theta, ~on_bound, z, weights)
    return widened_intervals(problem.transforms, theta, intervals.ends, scale * deviations)
