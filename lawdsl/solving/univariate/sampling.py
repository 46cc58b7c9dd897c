"""Points of a range at which an answer that is not certain is checked: no better one may be known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.univariate.state import Found, Frame

Array = NDArray[np.float64]

POINTS = 400  # of each kind of spacing
ZOOMS = 6  # times that the neighbourhood of the best point is looked at more finely
FARTHEST = 12  # powers of ten from the size of what is known, towards infinity and towards an end


def better_point(frame: Frame, found: Found) -> float | None:
    """A value of the unknown that keeps all constraints and has a better goal than what was found.

    Returns:
        None where none of the points is better.
    """
    x = _grid(found)
    at, least = _best(frame, found, x)
    for _ in range(ZOOMS):
        if at is None:
            return None
        i = int(np.searchsorted(x, at))
        low, high = x[max(i - 1, 0)], x[min(i + 1, len(x) - 1)]
        x = np.unique(np.append(np.linspace(low, high, POINTS // 8), at))
        at, least = _best(frame, found, x)
    _, own = _best(frame, found, np.array([found.best.at]))
    return at if at is not None and least < own else None


def _best(frame: Frame, found: Found, x: Array) -> tuple[float | None, float]:
    """The best of some points that keep all constraints; None where none does."""
    with np.errstate(all="ignore"):
        points = frame.along.at(x, found.values)
    value = points.values[0].copy()
    for i, condition in enumerate(frame.conditions):
        margin = points.values[2 + i]
        on = np.isin(x, found.best.at) if i in found.best.which else np.zeros(len(x), dtype=bool)
        kept = margin == 0 if condition.equality else margin > 0
        kept |= on if not condition.strict else False
        value[~(kept | (margin == 0) & (not condition.strict))] = np.inf
    value[np.isnan(value)] = np.inf
    i = int(np.argmin(value))
    return (float(x[i]), float(value[i])) if value[i] < math.inf else (None, math.inf)


def _grid(found: Found) -> Array:
    """Points over the whole range: evenly spaced, and towards each end by powers."""
    low, high = found.whole.low, found.whole.high
    best = found.best.at if math.isfinite(found.best.at) else 0.0
    size = max(1.0, abs(best), *(abs(e) for e in (low, high) if math.isfinite(e)))
    powers = np.geomspace(10.0**-FARTHEST, 10.0**FARTHEST, POINTS)
    parts = [np.array([best])]
    if math.isfinite(low) and math.isfinite(high):
        parts.append(np.linspace(low, high, POINTS))
        parts += [low + (high - low) * powers, high - (high - low) * powers]
    elif math.isfinite(low) or math.isfinite(high):
        end, side = (low, 1) if math.isfinite(low) else (high, -1)
        parts += [end + side * powers, end + side * size * powers]
        parts.append(end + side * size * np.linspace(0, 10, POINTS))
    else:
        parts += [best + size * powers, best - size * powers]
        parts.append(best + size * np.linspace(-10, 10, POINTS))
    for piece in found.line.unclear:  # what could not be decided, above all
        near = max(low, best - 10 * size), min(high, best + 10 * size)
        first, last = np.clip(piece, *near).tolist()
        parts.append(np.linspace(first, last, 4 * POINTS))
    x = np.unique(np.concatenate(parts))
    inside = (x > low) | (x == low) & (not found.whole.low_open)
    inside &= (x < high) | (x == high) & (not found.whole.high_open)
    return x[inside | (x == best)]
