"""One unknown: a minimum with an undecided part of the range -> the minimum after its search.

A subdivision of a half-line has too few pieces left for a short part of it on which a function
oscillates. Lower bounds on the remaining range exclude better values there, so that the undecided
part is searched as a range of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from lawdsl.solving.univariate.interval_functions import IntervalFunction
from lawdsl.solving.univariate.line_minimizer import minimize_in_one_pass
from lawdsl.solving.univariate.line_minimum import IntervalMargin, LineMinimum
from lawdsl.solving.univariate.roots import UnknownRange

MAX_REFINEMENTS = 3  # searches of an undecided part
MAX_RELATIVE_WIDTH = 0.5  # relative to the range: only a narrower part is searched again


def minimize(
    goal: IntervalFunction, margins: Sequence[IntervalMargin], domain: UnknownRange
) -> LineMinimum:
    """Minimise a function of one unknown under constraints, refining undecided parts of the range.

    Args:
        goal: the function.
        margins: the constraints.
        domain: the range.

    Returns:
        The minimum and its certificates.
    """
    minimum, searched = minimize_in_one_pass(goal, margins, domain), domain
    for _ in range(MAX_REFINEMENTS):
        part = None if minimum.certain else _undecided_part(minimum, searched)
        if part is None:
            break
        minimum, searched = (
            _merge_refinement(minimum, minimize_in_one_pass(goal, margins, part), part, domain),
            part,
        )
    return minimum


def _undecided_part(minimum: LineMinimum, domain: UnknownRange) -> UnknownRange | None:
    """The part of a range that contains all pieces which may contain a better point; None where it
    is not clearly narrower, or unbounded."""
    if not minimum.undecided:
        return None
    # the ends were rounded to floats: one float further out contains the exact ones
    low = math.nextafter(min(a for a, _ in minimum.undecided), -math.inf)
    high = math.nextafter(max(b for _, b in minimum.undecided), math.inf)
    low, low_open = (low, False) if low > domain.low else (domain.low, domain.low_open)
    high, high_open = (high, False) if high < domain.high else (domain.high, domain.high_open)
    narrower = low < high and high - low < MAX_RELATIVE_WIDTH * (domain.high - domain.low)
    return UnknownRange(low, high, low_open, high_open) if narrower else None


def _merge_refinement(
    minimum: LineMinimum, refined: LineMinimum, part: UnknownRange, domain: UnknownRange
) -> LineMinimum:
    """Merge a minimum with that on a part of the range that was searched again; outside of this
    part no value is better than the best candidate."""
    settled = replace(
        minimum, certain=refined.certain, undecided=refined.undecided, complete=False, trend=0
    )
    best, value = refined.best, refined.value
    if best is None or value is None:
        return settled
    if minimum.value is not None and value.low >= minimum.value.high:
        return settled
    better = minimum.value is None or bool(value.high < minimum.value.low)
    if _is_cut_off(best.point, part, domain) or not better:  # two values may be too alike
        return minimum
    others = tuple(c for c in refined.others if not _is_cut_off(c.point, part, domain))
    return replace(
        settled,
        best=best,
        value=value,
        others=others,
        equal=refined.equal or not others,
        gap=refined.gap if others else 0.0,
        plateau=refined.plateau,
        open_ends=refined.open_ends,
    )


def _is_cut_off(point: float, part: UnknownRange, domain: UnknownRange) -> bool:
    """Whether a point is an end of the part without being an end of the range."""
    return (point == part.low and part.low > domain.low) or (
        point == part.high and part.high < domain.high
    )
