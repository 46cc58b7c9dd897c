"""Intervals by the delta method: from the slopes at the fit alone, in no time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.noise import Groups, Noise, noise_of
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import to_free, to_parameters, with_slopes

Array = NDArray[np.float64]

ENDLESS = 1e100  # ends beyond are set by no data
ALONE = 1e-9  # what all other runs say of a direction, relative: below, it is nothing
NAMED = 1e-2  # of such a direction: a parameter with less is not in it


@dataclass(frozen=True)
class Spread:
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


@np.errstate(all="ignore")  # a step may lead where a law overflows
def delta(
    problem: Problem, theta: Array, held: NDArray[np.bool_], level: float, groups: Groups = None
) -> Spread:
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
    inverse = np.linalg.pinv(root.T @ root, rcond=1e-15, hermitian=True)
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
    ends = endless(ends)
    return Spread(free, covariance, inflation, errors, ends[0], ends[1], far)


def endless(ends: Array) -> Array:
    """Ends of intervals, infinite where no data have set them."""
    return np.where(np.abs(ends) > ENDLESS, np.copysign(np.inf, ends), ends)


def _by_run(noise: Noise, slopes: Array, root: Array, groups: NDArray[np.int64]) -> Array:
    """The covariance of the free numbers where only runs are independent.

    It is that of the jackknife, which leaves out one run after the other, each fit being one Newton
    step away (CR3; Bell and McCaffrey 2002): the plain sum over the runs comes out too small where
    they are few, for a fit follows each of them. What one run alone determines has an infinite
    variance: how far it is off, no other run says.
    """
    runs = np.unique(groups)
    total = noise.bend * root.T @ root
    size = np.sqrt(np.maximum(np.diag(total), 1e-300))
    moved, alone = np.empty((len(runs), len(size))), np.zeros(len(size), dtype=bool)
    for k, run in enumerate(runs):
        rows = groups == run
        left = (total - noise.bend * root[rows].T @ root[rows]) / np.outer(size, size)
        values, vectors = np.linalg.eigh(left)
        seen = values > ALONE
        alone |= np.any(np.abs(vectors[:, ~seen]) > NAMED, axis=1)
        pull = vectors[:, seen].T @ (noise.slope[rows] @ slopes[rows] / size)
        moved[k] = vectors[:, seen] @ (pull / values[seen]) / size
    covariance = moved.T @ moved * (len(runs) - 1) / len(runs)
    covariance[alone, alone] = np.inf
    return covariance
