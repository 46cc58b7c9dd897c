"""One unknown: what could not be decided of a range is looked at alone, as a range of its own.

A search that cuts up a half-line has no pieces left for a short part of it on which a function turns
many times. The bounds of the rest show that nothing there is better, so that the part may be cut up
anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from lawdsl.solving.univariate.interval_functions import Function
from lawdsl.solving.univariate.line_minimum import Line, Margin, minimised_at_once
from lawdsl.solving.univariate.roots import Range

CLOSER = 3  # times that what could not be decided is looked at alone
NARROWER = 0.5  # of a range: a part that is looked at alone is narrower


def minimised(goal: Function, margins: Sequence[Margin], whole: Range) -> Line:
    """Where a function is smallest.

    Args:
        goal: the function.
        margins: the constraints.
        whole: the range.
    """
    found, range_ = minimised_at_once(goal, margins, whole), whole
    for _ in range(CLOSER):
        part = None if found.certain else _undecided(found, range_)
        if part is None:
            break
        found, range_ = _combined(found, minimised_at_once(goal, margins, part), part, whole), part
    return found


def _undecided(line: Line, whole: Range) -> Range | None:
    """The part of a range that holds all pieces which may hold a better place; None where that is
    not clearly smaller, or has no end."""
    if not line.unclear:
        return None
    low = math.nextafter(min(a for a, _ in line.unclear), -math.inf)
    high = math.nextafter(max(b for _, b in line.unclear), math.inf)
    low, low_open = (low, False) if low > whole.low else (whole.low, whole.low_open)
    high, high_open = (high, False) if high < whole.high else (whole.high, whole.high_open)
    narrower = low < high and high - low < NARROWER * (whole.high - whole.low)
    return Range(low, high, low_open, high_open) if narrower else None


def _combined(line: Line, alone: Line, part: Range, whole: Range) -> Line:
    """What is known of a range of which a part was looked at alone: outside of that nothing is better
    than the best place known."""
    settled = replace(line, certain=alone.certain, unclear=alone.unclear, complete=False, trend=0)
    best, value = alone.best, alone.value
    if best is None or value is None:
        return settled
    if line.value is not None and value.low >= line.value.high:
        return settled
    better = line.value is None or bool(value.high < line.value.low)
    if _is_cut(best.at, part, whole) or not better:  # two values may be too alike
        return line
    others = tuple(c for c in alone.others if not _is_cut(c.at, part, whole))
    return replace(
        settled,
        best=best,
        value=value,
        others=others,
        equal=alone.equal or not others,
        apart=alone.apart if others else 0.0,
        plateau=alone.plateau,
        left_out=alone.left_out,
    )


def _is_cut(x: float, part: Range, whole: Range) -> bool:
    """Whether a part of a range was cut off at a place, which is no end of the range then."""
    return (x == part.low and part.low > whole.low) or (x == part.high and part.high < whole.high)
