"""Intervals by the delta method: from the slopes at the fit alone, in no time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.noise import Groups, noise_of
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import to_free, to_parameters, with_slopes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """How far the estimates scatter, by theory.

    Attributes:
        free: the free numbers of the fit, shape (parameters,).
        covariance: of the free numbers, shape (parameters, parameters); nan where held.
        inflation: for each parameter, how much its variance grows because rows of one run are not
            independent, shape (parameters,); 1 where that is not asked.
        errors: standard errors of the parameters, shape (parameters,).
        low, high: ends of the intervals, shape (parameters,); nan where there is none.
    """

    free: Array
    covariance: Array
    inflation: Array
    errors: Array
    low: Array
    high: Array


def delta(
    problem: Problem, theta: Array, held: NDArray[np.bool_], level: float, groups: Groups = None
) -> Spread:
    """Intervals that are symmetric in the free numbers: for A > 0 in log A.

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
    root = np.sqrt(weights)[:, None] * slopes
    inverse = np.linalg.pinv(root.T @ root, rcond=1e-14, hermitian=True)
    plain = noise.tau2 * inverse
    if groups is not None:
        by_run = np.zeros((int(groups.max()) + 1, len(kept)))
        np.add.at(by_run, groups, noise.slope[:, None] * slopes)
        runs = len(np.unique(groups))
        meat = by_run.T @ by_run * runs / max(runs - 1, 1)
        clustered = inverse @ meat @ inverse / noise.bend**2
        with np.errstate(all="ignore"):
            ratio = np.diag(clustered) / np.diag(plain)
        inflation[kept] = np.where(np.isfinite(ratio), np.maximum(ratio, 1.0), 1.0)
        plain = plain * np.sqrt(np.outer(inflation[kept], inflation[kept]))
    covariance[np.ix_(kept, kept)] = plain
    half = noise.quantile(level) * np.sqrt(np.diag(covariance))
    _, turn = with_slopes(problem.transforms, free[None])
    errors = np.sqrt(np.diag(covariance)) * np.abs(np.diag(turn[0]))
    ends = np.sort(to_parameters(problem.transforms, np.stack([free - half, free + half])), axis=0)
    return Spread(free, covariance, inflation, errors, ends[0], ends[1])
