"""Probabilities and quantiles of the standard distributions, from `scipy.special`.

`scipy.stats` provides them all, but its import takes longer than most fits. Definitions: Abramowitz
and Stegun (1964), Handbook of Mathematical Functions, chapter 26. All functions apply elementwise,
with broadcasting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.lazy_modules import lazy_module

if TYPE_CHECKING:
    from scipy import special
else:
    special = lazy_module("scipy.special")

Array = NDArray[np.float64]
Numbers = float | Array


def normal_cdf(x: Numbers) -> Any:
    """P(X <= x) for a standard normal X."""
    return special.ndtr(x)


def normal_sf(x: Numbers) -> Any:
    """P(X > x) for a standard normal X, computed without cancellation in the upper tail."""
    return special.ndtr(np.negative(x))


def normal_quantile(p: Numbers) -> Any:
    """The x with P(X <= x) = p for a standard normal X."""
    return special.ndtri(p)


def student_cdf(x: Numbers, dof: Numbers) -> Any:
    """P(X <= x) for Student's t.

    Args:
        x: value.
        dof: degrees of freedom.
    """
    return special.stdtr(dof, x)


def student_quantile(p: Numbers, dof: Numbers) -> Any:
    """The x with P(X <= x) = p for Student's t.

    Args:
        p: probability.
        dof: degrees of freedom.
    """
    # `[()]` turns arrays without dimensions back into scalars
    return np.where(np.equal(p, 0) & np.greater(dof, 0), -np.inf, special.stdtrit(dof, p))[()]


def f_cdf(x: Numbers, dof: Numbers, dof_below: Numbers) -> Any:
    """P(X <= x) for an F ratio of two mean squares.

    Args:
        x: the ratio.
        dof: degrees of freedom of the numerator.
        dof_below: degrees of freedom of the denominator.
    """
    return np.where(np.isposinf(x), 1.0, special.fdtr(dof, dof_below, np.maximum(x, 0)))[()]


def f_sf(x: Numbers, dof: Numbers, dof_below: Numbers) -> Any:
    """P(X > x) for an F ratio of two mean squares.

    Args:
        x: the ratio.
        dof: degrees of freedom of the numerator.
        dof_below: degrees of freedom of the denominator.
    """
    return np.where(np.isposinf(x), 0.0, special.fdtrc(dof, dof_below, np.maximum(x, 0)))[()]


def chi2_cdf(x: Numbers, dof: Numbers) -> Any:
    """P(X <= x) for the chi-square distribution, that of a sum of `dof` squared standard normals.

    Args:
        x: the sum of squares.
        dof: degrees of freedom.
    """
    return special.chdtr(dof, np.maximum(x, 0))


def chi2_quantile(p: Numbers, dof: Numbers) -> Any:
    """The x with P(X <= x) = p for the chi-square distribution.

    Args:
        p: probability.
        dof: degrees of freedom.
    """
    # chdtri takes the upper tail
    return special.chdtri(dof, np.subtract(1, p))


def poisson_sf(count: Numbers, mean: Numbers) -> Any:
    """P(N > count) for a Poisson count N.

    Args:
        count: the count.
        mean: the mean of N.
    """
    return np.where(np.less(count, 0), 1.0, special.pdtrc(np.maximum(count, 0), mean))[()]


def average_ranks(values: Array) -> Array:
    """Ranks from 1, shape (n,); equal values share the mean of their ranks (midranks)."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = (np.cumsum(counts) - (counts - 1) / 2)[inverse.reshape(-1)]
    return ranks


def rank_sum_pvalue(one: Array, other: Array) -> float:
    """The two-sided p-value of the Mann-Whitney U test, by its normal approximation.

    z = (max(U, n·m - U) - n·m/2 - 1/2)/sqrt(V), with correction for continuity, and p = 2·P(Z > z).
    With correction for ties V = n·m/12·(N + 1 - Σ(t³ - t)/(N·(N - 1))), where t counts equal values
    and N = n + m. (Mann and Whitney (1947), Annals of Mathematical Statistics 18; Hollander and
    Wolfe (1999), Nonparametric Statistical Methods, 2nd ed., section 4.1.)

    Args:
        one: a sample, shape (n,).
        other: a sample, shape (m,).
    """
    both = np.concatenate([one, other])
    n, m, total = len(one), len(other), len(both)
    # as floats: t^3 of 64-bit integers overflows from two million equal values on
    ties = np.unique(both, return_counts=True)[1].astype(float)
    variance = n * m / 12 * (total + 1 - np.sum(ties**3 - ties) / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    u = float(np.sum(average_ranks(both)[:n])) - n * (n + 1) / 2
    distance = max(u, n * m - u) - n * m / 2 - 0.5
    return min(1.0, 2 * float(normal_sf(distance / np.sqrt(variance))))
