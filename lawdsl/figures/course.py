"""Values along an axis -> the words of a title: whether they rise, fall, stay or do neither."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Interval = tuple[float | None, float | None]


def course_of(
    values: Sequence[float],
    intervals: Sequence[Interval],
    number: Callable[[float], str],
    unit: str = "",
) -> str:
    """How a series goes, as the verb of a title and what follows it.

    "Rises" and "falls" are said of a series that never turns and whose two ends have intervals,
    where these are known, that do not overlap.

    Args:
        values: in the order of the axis, nan where there is none, shape (points,).
        intervals: the intervals of the first and of the last value; empty where they are not known.
        number: how a value is written.
        unit: what follows the last value.
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return f"has no value at any of {len(values)} points"
    low, high = number(min(finite)), number(max(finite))
    lacking = len(values) - len(finite)
    if low == high:
        text = f"stays {low}{unit}"
    elif lacking or _turns(finite) or _overlap(intervals):
        text = f"is between {low} and {high}{unit}"
    else:
        verb, ends = ("falls", (high, low)) if finite[-1] < finite[0] else ("rises", (low, high))
        text = f"{verb} from {ends[0]} to {ends[1]}{unit}"
    return f"{text}, without a value at {lacking} of {len(values)} points," if lacking else text


def _turns(values: Sequence[float]) -> bool:
    """Whether values rise in one place and fall in another."""
    pairs = list(zip(values, values[1:], strict=False))
    return any(a < b for a, b in pairs) and any(a > b for a, b in pairs)


def _overlap(intervals: Sequence[Interval]) -> bool:
    """Whether known intervals have a number in common."""
    lows = [low for low, high in intervals if low is not None and high is not None]
    highs = [high for low, high in intervals if low is not None and high is not None]
    return len(lows) > 1 and max(lows) <= min(highs)
