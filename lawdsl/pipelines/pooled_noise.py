"""Variances of many small fits -> empirical Bayes estimates that pool all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

Array = NDArray[np.float64]

MIN_RELATIVE_VARIANCE = 1e-5  # of the median variance: below, a variance is 0 by chance
CHANCE_DEVIATIONS = 2.33  # standard deviations that chance reaches once in a hundred times
MAX_PRIOR_FREEDOM = 1e4  # degrees of freedom that count as infinitely many


def shrink_variances(variances: Array, spare: Array) -> tuple[Array, Array]:
    """Variances of fits of few rows, shrunk towards a pooled estimate.

    The true variances are taken to scatter like an inverse chi-squared, which is found from the
    scatter of the observed ones (Smyth 2004, section 6.2). Where they differ no more than chance
    makes them in one of a hundred cases, all become the same.

    Args:
        variances: of each fit, shape (fits,); ignored where `spare` is 0.
        spare: the rows beyond the parameters, shape (fits,).

    Returns:
        Variances, and the degrees of freedom with which they are known, shape (fits,); nan and 0
        where no fit has a spare row.
    """
    has_noise = spare > 0
    if not has_noise.any():
        return np.full(len(spare), np.nan), np.zeros(len(spare))
    observed_variances, spare_rows = variances[has_noise], spare[has_noise]
    prior, centre = _fit_prior(observed_variances, spare_rows)
    observed = np.where(has_noise, variances, 0.0)
    if np.isinf(prior):
        return np.full(len(spare), centre), np.full(len(spare), float(np.sum(spare_rows)))
    total = prior + spare
    if prior == 0:
        return np.where(has_noise, variances, np.nan), total
    return (prior * centre + spare * observed) / total, total


def _fit_prior(variances: Array, spare: Array) -> tuple[float, float]:
    """Degrees of freedom and centre of the distribution that the variances come from."""
    if len(variances) == 1:
        return 0.0, float(variances[0])
    mean = float(np.sum(spare * variances) / np.sum(spare))
    logs = np.log(
        np.maximum(variances, max(MIN_RELATIVE_VARIANCE * float(np.median(variances)), 1e-300))
    )
    half = spare / 2
    centred = logs - digamma(half) + np.log(half)
    expected_variance, trigamma_curvature = (
        float(np.mean(polygamma(1, half))),
        float(np.mean(polygamma(3, half))),
    )
    excess_variance = float(np.var(centred, ddof=1)) - expected_variance
    # standard deviation of a variance
    sampling_deviation = np.sqrt((trigamma_curvature + 2 * expected_variance**2) / len(logs))
    if excess_variance <= max(
        CHANCE_DEVIATIONS * sampling_deviation, polygamma(1, MAX_PRIOR_FREEDOM / 2)
    ):
        return np.inf, mean
    free = 2 * brentq(lambda x: polygamma(1, x) - excess_variance, 1e-6, MAX_PRIOR_FREEDOM / 2)
    return free, float(np.exp(np.mean(centred) + digamma(free / 2) - np.log(free / 2)))
