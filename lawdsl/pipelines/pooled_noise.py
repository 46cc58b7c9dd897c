"""The noise of many small fits, each of which alone could not tell its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

Array = NDArray[np.float64]

LEAST = 1e-5  # of the usual variance: below, a variance is 0 by chance
RARE = 2.33  # standard deviations that chance reaches once in a hundred times
WIDEST = 1e4  # degrees of freedom that are as good as infinitely many


def squeezed(variances: Array, spare: Array) -> tuple[Array, Array]:
    """Variances of fits of few rows, drawn towards what all fits say together.

    The true variances are taken to scatter like an inverse chi-squared, which is found from the
    scatter of the observed ones (Smyth 2004, section 6.2). Where they differ no more than chance
    makes them in one of a hundred cases, all become the same.

    Args:
        variances: of each fit, shape (fits,); not looked at where `spare` is 0.
        spare: the rows beyond the parameters, shape (fits,).

    Returns:
        Variances, and the degrees of freedom with which they are known, shape (fits,); nan and 0
        where no fit has a spare row.
    """
    told = spare > 0
    if not told.any():
        return np.full(len(spare), np.nan), np.zeros(len(spare))
    own, free = variances[told], spare[told]
    prior, centre = _prior(own, free)
    known = np.where(told, variances, 0.0)
    if np.isinf(prior):
        return np.full(len(spare), centre), np.full(len(spare), float(np.sum(free)))
    total = prior + spare
    if prior == 0:
        return np.where(told, variances, np.nan), total
    return (prior * centre + spare * known) / total, total


def _prior(variances: Array, spare: Array) -> tuple[float, float]:
    """Degrees of freedom and centre of the distribution that the variances come from."""
    if len(variances) == 1:
        return 0.0, float(variances[0])
    mean = float(np.sum(spare * variances) / np.sum(spare))
    logs = np.log(np.maximum(variances, max(LEAST * float(np.median(variances)), 1e-300)))
    half = spare / 2
    centred = logs - digamma(half) + np.log(half)
    usual, peaked = float(np.mean(polygamma(1, half))), float(np.mean(polygamma(3, half)))
    excess = float(np.var(centred, ddof=1)) - usual
    chance = np.sqrt((peaked + 2 * usual**2) / len(logs))  # standard deviation of a variance
    if excess <= max(RARE * chance, polygamma(1, WIDEST / 2)):
        return np.inf, mean
    free = 2 * brentq(lambda x: polygamma(1, x) - excess, 1e-6, WIDEST / 2)
    return free, float(np.exp(np.mean(centred) + digamma(free / 2) - np.log(free / 2)))
