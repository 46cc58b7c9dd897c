"""Values of members with weights -> quantiles, median and standard deviation over the members."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.draw_quantiles import interpolated

Array = NDArray[np.float64]


def quantile(values: Array, weights: Array, level: float) -> Array:
    """A quantile over the members.

    With equal weights it is interpolated, as by `numpy.quantile`; otherwise it is the smallest value
    whose cumulative weight reaches the level, as in scikit-learn's `AdaBoostRegressor`.

    Args:
        values: shape (members, points); a value that is not a number counts as infinite.
        weights: positive, shape (members,).
        level: 0.5 for the median.

    Returns:
        Shape (points,).
    """
    values = np.where(np.isnan(values), np.inf, values)
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    if np.all(weights == weights[0]):
        return interpolated(ordered, level * (len(values) - 1))
    cumulative = np.cumsum(weights[order], axis=0)
    reached = np.argmax(cumulative >= level * cumulative[-1], axis=0)
    return np.take_along_axis(ordered, reached[None], axis=0)[0]


def standard_deviation(values: Array, weights: Array) -> Array:
    """The standard deviation over the members: the root of the weighted mean squared deviation from
    their weighted mean, infinite where a value is not finite.

    Args:
        values: shape (members, points).
        weights: positive, shape (members,).
    """
    with np.errstate(all="ignore"):
        mean = np.average(values, axis=0, weights=weights)
        deviation = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weights))
    return np.where(np.isfinite(deviation), deviation, np.inf)
