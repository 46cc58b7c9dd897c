"""Every root of a function of one unknown on a range, each certain.

The range is cut up until on each piece the sign of the function is certain, or it only rises or only
falls there and the signs at the ends tell whether it has a root. So none is missed, and what is
found is known to be all there is. Where that cannot be told, the piece is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    Interval,
    middle,
    precision,
)
from lawdsl.solving.single.functions import Function, number

BITS = 90
PIECES = 3000  # that a range is cut into at most
NARROW = Fraction(1, 2**44)  # of its size: a piece that is not cut further
CLOSE = 60  # bits to which a root is known


@dataclass(frozen=True)
class Range:
    """Where an unknown may lie: between two numbers, which may be infinite, or be left out."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False

    @property
    def interval(self) -> Interval:
        """From end to end, whether they belong to it or not."""
        return Interval(_end(self.low), _end(self.high))


def _end(x: float) -> Any:
    if x in (float("inf"), float("-inf")):
        return INFINITY if x > 0 else MINUS_INFINITY
    return number(x).low


@dataclass(frozen=True)
class Roots:
    """All roots of a function on a range, in their order.

    Attributes:
        places: intervals of which each has exactly one.
        unclear: pieces on which it is not certain how many there are.
        always: whether the function is 0 everywhere.
    """

    places: tuple[Interval, ...]
    unclear: tuple[Interval, ...] = ()
    always: bool = False


def roots(function: Function, whole: Range) -> Roots:
    """Every root of a function inside a range, its closed ends included."""
    if function.formula.expression == 0:
        return Roots((), (), always=True)
    if function.constant:
        return Roots(())
    found: list[Interval] = []
    unclear: list[Interval] = []
    with precision(BITS):
        waiting, pieces = [whole.interval], 0
        while waiting:
            piece = waiting.pop()
            pieces += 1
            if function.sign(piece) in (1, -1):
                continue
            inside = piece.low.is_finite() and piece.high.is_finite()
            if inside and function.slope.sign(piece) in (1, -1):
                place = _only_root(function, piece)
                if place is not None:
                    found.append(place)
                    continue
                if _ends_differ(function, piece) is False:
                    continue
            if pieces > PIECES or _is_narrow(piece):
                unclear.append(piece)
                continue
            cut = middle(piece)
            waiting += [Interval(cut, piece.high), Interval(piece.low, cut)]
        unclear = [p for p in _joined(unclear) if not _has_one(function, p, found)]
        low = Interval(whole.interval.low, whole.interval.low)
        if whole.low == 0 and not whole.low_open and function.sign(low) == 0:
            found.append(low)  # the signs of pieces beside 0 leave 0 itself out
        places = _merged(found)
    return Roots(tuple(places), tuple(unclear))


def _has_one(function: Function, piece: Interval, found: list[Interval]) -> bool:
    """Whether pieces beside a cut that is a root have it together; it is added to those found."""
    inside = piece.low.is_finite() and piece.high.is_finite()
    if not inside or function.slope.sign(piece) not in (1, -1):
        return False
    place = _only_root(function, piece)
    if place is not None:
        found.append(place)
    return place is not None


def _is_narrow(piece: Interval) -> bool:
    if not (piece.low.is_finite() and piece.high.is_finite()):
        return bool(piece.low > 2**200 or piece.high < -(2**200))
    size = max(abs(float(piece.low)), abs(float(piece.high)))
    width = float(piece.high - piece.low)
    return width <= float(NARROW) * size or size < 2.0**-200


def _ends_differ(function: Function, piece: Interval) -> bool | None:
    """Whether the signs at the ends of a piece differ; None where one is not certain."""
    signs = [function.sign(Interval(x, x)) for x in piece]
    return None if None in signs else signs[0] != signs[1]


def _only_root(function: Function, piece: Interval) -> Interval | None:
    """The root of a function that only rises or only falls on a piece, as a narrow interval."""
    low, high = piece
    first, last = (function.sign(Interval(x, x)) for x in piece)
    for end, sign in ((low, first), (high, last)):
        if sign == 0:
            return Interval(end, end)
    if first is None or last is None or first == last:
        return None
    for _ in range(400):
        cut = ((low + high) / 2).mid()
        if cut <= low or cut >= high or (high - low) <= abs(cut) * arb(2) ** -CLOSE:
            break
        sign = function.sign(Interval(cut, cut))
        if sign is None:
            break
        if sign == 0:
            return Interval(cut, cut)
        low, high = (cut, high) if sign == first else (low, cut)
    return _exact(function, Interval(low, high))


def _exact(function: Function, place: Interval) -> Interval:
    """The root as a float where it is one exactly: a bound that was given stays that number."""
    near = centre(place)
    if not math.isfinite(near):
        return place
    at = number(near)
    inside = place.low <= at.low and at.high <= place.high
    return at if inside and function.sign(at) == 0 else place


def _merged(places: Iterable[Interval]) -> list[Interval]:
    """Roots in their order, one that lies on a cut once."""
    found: list[Interval] = []
    for place in sorted(places, key=lambda p: (float(p.low), float(p.high))):
        if found and place.low <= found[-1].high and (found[-1].low == found[-1].high):
            continue
        if found and place.low == place.high == found[-1].high:
            continue
        found.append(place)
    return found


def _joined(pieces: Iterable[Interval]) -> list[Interval]:
    """Neighbouring pieces as one."""
    found: list[Interval] = []
    for piece in sorted(pieces, key=lambda p: float(p.low)):
        if found and piece.low <= found[-1].high:
            found[-1] = Interval(found[-1].low, piece.high)
        else:
            found.append(piece)
    return found


def as_float(x: Any) -> float:
    """A number of Arb, which may be infinite."""
    return float(x) if x.is_finite() else math.inf if x > 0 else -math.inf


def centre(x: Interval) -> float:
    """The float nearest to the middle of a narrow interval."""
    with precision(BITS):
        return as_float(((x.low + x.high) / 2).mid()) if x.low.is_finite() else as_float(x.low)
