"""Draws, of which some may be infinite or missing (nan) -> quantiles, intervals, standard errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MIN_USABLE_SHARE = 0.5  # share of the draws: if fewer have a value, there is no interval
LOW, HIGH = 0.1587, 0.8413  # the central 68 % of draws: a standard error to either side


def interpolated(ordered: Array, place: float) -> Array:
    """The value between two positions of an ordered array.

    Args:
        ordered: ascending along the first axis, shape (draws, ...); infinite values are allowed.
        place: the position, from 0 to draws - 1.

    Returns:
        Shape (...): infinite where one of the two neighbours is.
    """
    below = int(place)
    # an infinite value must not turn a weight of 0 into nan
    if place == below:
        return np.asarray(ordered[below])
    with np.errstate(invalid="ignore"):
        between = ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])
    return np.where(np.isfinite(ordered[below]), between, ordered[below])


def central_interval(draws: Array, level: float) -> tuple[float, float] | None:
    """The central interval of the draws that have a value.

    Args:
        draws: shape (draws,); missing ones are left out.
        level: 0.95 for 95 %.

    Returns:
        Its ends, which may be infinite; None where most draws are missing.
    """
    usable = np.sort(draws[~np.isnan(draws)])
    if len(usable) < max(1, MIN_USABLE_SHARE * len(draws)):
        return None
    low, high = (_of_distribution(usable, share) for share in ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


def standard_errors(draws: Array) -> Array:
    """Half the width of the central 68 % of draws.

    Args:
        draws: shape (draws, ...); a missing one counts as infinite.

    Returns:
        Shape (...): infinite where too many draws are.
    """
    ordered = np.sort(np.where(np.isnan(draws), np.inf, draws), axis=0)
    low, high = _of_distribution(ordered, LOW), _of_distribution(ordered, HIGH)
    with np.errstate(invalid="ignore"):
        half = (high - low) / 2
    return np.where(np.isfinite(half), half, np.inf)


def _of_distribution(ordered: Array, share: float) -> Array:
    """The quantile below which the expected share of the distribution lies, with few draws too
    (Weibull: Hyndman and Fan (1996), American Statistician 50, 361, definition 6)."""
    place = share * (len(ordered) + 1) - 1
    return interpolated(ordered, min(max(place, 0.0), len(ordered) - 1.0))
