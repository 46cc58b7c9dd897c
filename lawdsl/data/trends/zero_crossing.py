"""Slopes at measured shares -> the share at which they change their sign, with an interval.

The slopes are made monotone by isotonic regression (Barlow, Bartholomew, Bremner and Brunk (1972),
Statistical Inference under Order Restrictions). The interval is obtained by inverting a test of
slope = 0, as in Fieller's theorem (Fieller (1954), "Some problems in interval estimation", Journal
of the Royal Statistical Society B 16).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lawdsl.data.trends.inflection_result import Crossing
from lawdsl.data.trends.paired_differences import Array

STEPS_BETWEEN_SHARES = 200  # grid points between two measured shares


@dataclass(frozen=True)
class CriticalErrors:
    """The critical numbers of standard errors for one slope, and for all slopes simultaneously."""

    one: float
    any: float


def crossing(
    location: str, shares: Array, slope: Array, error: Array, sure: CriticalErrors
) -> Crossing:
    """The share at which slopes that are positive at small shares become negative.

    The estimate is the zero of the piecewise linear interpolant of the slopes after isotonic
    regression. The interval consists of all shares x at which a slope of 0 is not rejected. Between
    two measured shares, with w = (x - x_1)/(x_2 - x_1), that is |(1 - w)·s_1 + w·s_2| <= z·sqrt((1
    - w)²·e_1² + w²·e_2²) + c·(x_2 - x_1)²/2·w·(1 - w), where c is a bound of the second derivative
    from the neighbouring slopes. A gap at the end has neighbours on one side only, so any share in
    it is possible. Nothing is known below the first share or above the last.

    Args:
        location: the fixed values of the other variables, as text.
        shares: the shares in ascending order, shape (n,).
        slope: the slope at each share, positive where the claim fails, shape (n,).
        error: the standard error of each slope, shape (n,).
        sure: the critical numbers of standard errors.
    """
    up = shares[slope > sure.any * error]
    down = shares[slope < -sure.any * error]
    fails = bool(len(up))
    if len(up) and len(down) and down[0] < up[-1]:
        why = f"the trend is as claimed at {down[0]:.6g}, and is not at {up[-1]:.6g}"
        return Crossing(location, None, None, None, why, fails)
    low, high = _interval(shares, slope, error, sure.one)
    # the sign is significant at these shares, so that the zero lies between them
    low, high = max([low, *up[-1:]]), min([high, *down[:1]])
    if (low, high) == (0.0, 1.0):
        return Crossing(location, None, None, None, "the noise hides it", fails)
    zero = _estimate(shares, slope, error)
    estimate = None if zero is None else float(np.clip(zero, low, high))
    return Crossing(location, estimate, float(low), float(high), "", fails)


def _estimate(shares: Array, slope: Array, error: Array) -> float | None:
    """The share at which the slopes cross 0, if they fall as the share rises."""
    from scipy.optimize import isotonic_regression  # slow to import, for claims of trends only

    falling = isotonic_regression(slope, weights=1 / error**2, increasing=False).x
    above = int(np.sum(falling > 0))
    if above in (0, len(shares)):
        return None
    (lower, upper), (top, bottom) = shares[above - 1 : above + 1], falling[above - 1 : above + 1]
    return float(lower + (upper - lower) * top / (top - bottom))


def _interval(shares: Array, slope: Array, error: Array, times: float) -> tuple[float, float]:
    """The interval from the first to the last share at which a slope of 0 is not rejected."""
    room = times * error
    may = [0.0, shares[0]] if slope[0] <= room[0] else []
    may += [shares[-1], 1.0] if slope[-1] >= -room[-1] else []
    curvatures = _second_derivatives(shares, slope, error)
    for k in range(len(shares) - 1):
        near = slice(k, k + 2)
        upper_weight = _examined_shares(slope[k], slope[k + 1])
        lower_weight = 1 - upper_weight
        line = lower_weight * slope[k] + upper_weight * slope[k + 1]
        off = np.hypot(lower_weight * room[k], upper_weight * room[k + 1])
        curvature = curvatures[k] * (shares[k + 1] - shares[k]) ** 2 / 2
        off += curvature * lower_weight * upper_weight if np.isfinite(curvature) else np.inf
        # the slope falls from one share to the next, whatever its course
        top, bottom = np.max(slope[near] + room[near]), np.min(slope[near] - room[near])
        zero = (np.maximum(line - off, bottom) <= 0) & (np.minimum(line + off, top) >= 0)
        zeros = (lower_weight * shares[k] + upper_weight * shares[k + 1])[zero]
        may += [*zeros[:1], *zeros[-1:]]
    return float(min(may)), float(max(may))


def _examined_shares(top: float, bottom: float) -> Array:
    """The grid between two measured shares: evenly spaced, and the zero of the linear interpolant."""
    steps = np.linspace(0, 1, STEPS_BETWEEN_SHARES + 1)
    return np.union1d(steps, [top / (top - bottom)]) if top * bottom < 0 else steps


def _second_derivatives(shares: Array, slope: Array, error: Array) -> Array:
    """The second derivative of the slope in each gap, minus its standard error.

    It is the larger of the values from the three shares on either side; infinite if one side has
    too few.
    """
    gap = np.diff(shares)
    if len(gap) < 2:
        return np.full(len(gap), np.inf)
    weights = np.array([1 / gap[:-1], -(1 / gap[:-1] + 1 / gap[1:]), 1 / gap[1:]])
    weights *= 2 / (gap[:-1] + gap[1:])
    three = np.array([np.arange(len(gap) - 1) + k for k in range(3)])
    curvature = np.abs(np.sum(weights * slope[three], axis=0))
    noise = np.sqrt(np.sum(weights**2 * error[three] ** 2, axis=0))
    sure = np.maximum(curvature - noise, 0.0)
    return np.maximum(np.append(np.inf, sure), np.append(sure, np.inf))
