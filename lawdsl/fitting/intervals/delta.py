"""Intervals by the delta method: from the slopes at the fit alone, in no time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.noise import Groups, Noise, noise_of
from lawdsl.fitting.intervals.spread import leaving_out_runs
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import to_free, to_parameters, with_slopes

Array = NDArray[np.float64]

ENDLESS = 1e100  # ends beyond are set by no data
NAMED = 1e-2  # of a direction that one run alone determines: a parameter with less is not in it


@dataclass(frozen=True)
class Scatter:
    """How far the estimates scatter, by theory.

    Attributes:
        free: the free numbers of the fit, shape (parameters,).
        covariance: of the free numbers, shape (parameters, parameters); nan where held.
        inflation: for each parameter, the variance with independent runs over that with independent
            rows, shape (parameters,); 1 where runs are not asked for. Below 1 for a parameter that
            is seen within each run, whose rows share most of their error.
        errors: standard errors of the parameters, shape (parameters,).
        low, high: ends of the intervals, shape (parameters,); nan where there is none.
        far: how many standard errors, of the free numbers, they are away.
    """

    free: Array
    covariance: Array
    inflation: Array
    errors: Array
    low: Array
    high: Array
    far: float


def _pseudo_inverse(gram: Array) -> Array:
    """Of a matrix of normal equations; nan where it has numbers beyond the range of floats."""
    if not np.isfinite(gram).all():
        return np.full(gram.shape, np.nan)
    return np.asarray(np.linalg.pinv(gram, rcond=1e-15, hermitian=True))


@np.errstate(all="ignore")  # a step may lead where a law overflows
def delta(
    problem: Problem, theta: Array, held: NDArray[np.bool_], level: float, groups: Groups = None
) -> Scatter:
    """Intervals that are symmetric in the free numbers: for A > 0 in log A.

    By rows the noise is taken to be alike on all of them; by runs nothing is.

    Args:
        problem: the fit; no bound may depend on other parameters.
        theta: the fitted parameters, shape (parameters,).
        held: those that lie on a bound, or that the data do not determine.
        level: 0.95 for 95 % intervals.
        groups: which training run each row is of, shape (rows,).
    """
    free = to_free(problem.transforms, theta[None])[0]
    (residual,), (slopes,) = problem.residuals_and_slopes(free[None])
    kept = np.flatnonzero(~held)
    slopes = slopes[:, kept]
    noise = noise_of(problem, residual, len(kept), groups)
    weights = np.ones(problem.rows) if problem.weights is None else problem.weights
    count = len(theta)
    covariance, inflation = np.full((count, count), np.nan), np.ones(count)
    size = np.linalg.norm(np.sqrt(weights)[:, None] * slopes, axis=0)
    slopes = slopes / np.where(size > 0, size, 1.0)  # parameters may differ in size by any power
    root = np.sqrt(weights)[:, None] * slopes
    inverse = _pseudo_inverse(root.T @ root)
    plain = noise.tau2 * inverse
    if groups is not None:
        clustered = _by_run(noise, slopes, root, groups)
        with np.errstate(all="ignore"):
            ratio = np.diag(clustered) / np.diag(plain)
        inflation[kept] = np.where(np.isnan(ratio), 1.0, ratio)
        plain = clustered
    with np.errstate(all="ignore"):
        covariance[np.ix_(kept, kept)] = plain / np.outer(size, size)
    far = noise.quantile(level)
    half = far * np.sqrt(np.diag(covariance))
    _, turn = with_slopes(problem.transforms, free[None])
    errors = np.sqrt(np.diag(covariance)) * np.abs(np.diag(turn[0]))
    ends = np.sort(to_parameters(problem.transforms, np.stack([free - half, free + half])), axis=0)
    return Scatter(free, covariance, inflation, errors, *endless(ends[0], ends[1]), far)


def endless(low: Array, high: Array) -> tuple[Array, Array]:
    """Lower and upper ends of intervals, infinite where no data have set them."""
    return np.where(low < -ENDLESS, -np.inf, low), np.where(high > ENDLESS, np.inf, high)


def _by_run(noise: Noise, slopes: Array, root: Array, groups: NDArray[np.int64]) -> Array:
    """The covariance of the free numbers where only runs are independent, by the jackknife. What
    one run alone determines has an infinite variance."""
    moved, directions = leaving_out_runs(noise, slopes, root, groups)
    covariance = moved.T @ moved
    alone = np.any(np.abs(directions) > NAMED, axis=0)
    covariance[alone, alone] = np.inf
    return covariance
