"""Values along an axis -> the words of a title: whether they rise, fall, stay constant or do
neither.
"""

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
    """The trend of a series, as the verb of a title and the words that follow it.

    A series "rises" or "falls" only if it is monotone and the intervals of its two ends, where they
    are known, do not overlap.

    Args:
        values: the values in the order of the axis, nan where one is missing, shape (points,).
        intervals: the intervals of the first and of the last value; empty where they are not known.
        number: the function that formats a value.
        unit: the text that follows the last value.
    """
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return f"has no value at any of {len(values)} points"
    low, high = number(min(finite)), number(max(finite))
    lacking = len(values) - len(finite)
    if low == high:
        text = f"stays {low}{unit}"
    elif lacking or _is_not_monotone(finite) or _do_overlap(intervals):
        text = f"is between {low} and {high}{unit}"
    else:
        verb, ends = ("falls", (high, low)) if finite[-1] < finite[0] else ("rises", (low, high))
        text = f"{verb} from {ends[0]} to {ends[1]}{unit}"
    return f"{text}, without a value at {lacking} of {len(values)} points," if lacking else text


def _is_not_monotone(values: Sequence[float]) -> bool:
    """Whether values rise in one place and fall in another."""
    pairs = list(zip(values, values[1:], strict=False))
    return any(a < b for a, b in pairs) and any(a > b for a, b in pairs)


def _do_overlap(intervals: Sequence[Interval]) -> bool:
    """Whether known intervals have a number in common."""
    lows = [low for low, high in intervals if low is not None and high is not None]
    highs = [high for low, high in intervals if low is not None and high is not None]
    return len(lows) > 1 and max(lows) <= min(highs)
