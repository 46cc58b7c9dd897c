"""Variances of many small fits -> empirical Bayes estimates that pool all of them.

With s_i² the variance of fit i with d_i degrees of freedom, and a scaled inverse chi-squared prior
with d_0 degrees of freedom and scale s_0², the posterior variance is (d_0·s_0² + d_i·s_i²)/(d_0 +
d_i), with d_0 + d_i degrees of freedom (Smyth (2004), Statistical Applications in Genetics and
Molecular Biology 3(1), Article 3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

Array = NDArray[np.float64]

MIN_RELATIVE_VARIANCE = 1e-5  # relative to the median variance: smaller ones are 0 by chance
CHANCE_DEVIATIONS = 2.33  # standard deviations: the upper 1 % point of the normal distribution
MAX_PRIOR_FREEDOM = 1e4  # degrees of freedom that count as infinitely many


def shrink_variances(variances: Array, spare: Array) -> tuple[Array, Array]:
    """Shrink the variances of fits with few rows towards a pooled estimate.

    The true variances are assumed to have a scaled inverse chi-squared distribution, whose
    parameters are estimated from the variances observed (Smyth (2004), section 6.2). If these
    differ no more than expected by chance in 99 of 100 cases, all are replaced by the pooled value.

    Args:
        variances: the variances of each fit, shape (fits,); ignored where `spare` is 0.
        spare: residual degrees of freedom, shape (fits,).

    Returns:
        Variances, and their degrees of freedom, each of shape (fits,); nan and 0 where no fit has
        residual degrees of freedom.
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
    """Degrees of freedom d_0 and scale s_0² of the prior of the variances."""
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
    # standard deviation of the sample variance of the logarithms
    sampling_deviation = np.sqrt((trigamma_curvature + 2 * expected_variance**2) / len(logs))
    if excess_variance <= max(
        CHANCE_DEVIATIONS * sampling_deviation, polygamma(1, MAX_PRIOR_FREEDOM / 2)
    ):
        return np.inf, mean
    # trigamma falls monotonically, so the bracket holds its one root
    free = 2 * brentq(lambda x: polygamma(1, x) - excess_variance, 1e-6, MAX_PRIOR_FREEDOM / 2)
    return free, float(np.exp(np.mean(centred) + digamma(free / 2) - np.log(free / 2)))
