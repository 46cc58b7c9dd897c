"""Every root of a function of one unknown on a range, each certain.

The range is cut up until on each piece the sign of the function is certain, or it only rises or only
falls there and the signs at the ends tell whether it has a root. So none is missed, and what is
found is known to be all there is. Where that cannot be told, the piece is named.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from flint import arb

from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    ONE,
    Interval,
    middle,
    precision,
)
from lawdsl.solving.univariate.interval_functions import Function, number

BITS = 90
PIECES = 3000  # that a range is cut into at most
AGAIN = 3  # times as many are cut, in all, where what is undecided is looked at again
NARROW = 44  # bits: a piece as narrow as this part of its size is not cut further
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
    return roots_between(function, whole.interval, not whole.low_open, not whole.high_open)


def roots_between(
    function: Function, whole: Interval, low_closed: bool = True, high_closed: bool = True
) -> Roots:
    """Every root of a function between two numbers, those of its ends that are closed included.

    Near an end that is infinite, or at which the function is 0 or has no value, its sign is that of
    its dominant term (`asymptotics`); the rest is cut up.
    """
    if function.formula.expression == 0:
        return Roots((), (), always=True)
    with precision(BITS):
        if function.constant:
            return Roots((), (), always=function.sign(Interval(ONE, ONE)) == 0)
        inner = _without_ends(function, whole)
        found, unclear, _ = _searched(function, inner)
        if unclear:
            unclear = _searched_again(function, _within_reach(function, whole, unclear), found)
        unclear = [p for p in _joined(unclear) if not _has_one(function, p, found)]
        for end, closed in ((whole.low, low_closed), (whole.high, high_closed)):
            place = Interval(end, end)
            if closed and end.is_finite() and function.sign(place) == 0:
                found.append(place)  # the signs beside an end leave out the end itself
        return Roots(tuple(_merged(found)), tuple(unclear))


def _without_ends(function: Function, whole: Interval) -> Interval:
    """A range without what lies near an end where the sign is certain but for the end itself."""
    low, high = whole
    if low == high:
        return whole
    for lower, end in ((True, low), (False, high)):
        if end.is_finite() and function.sign(Interval(end, end)) in (1, -1):
            continue
        near = function.ending(whole, lower=lower)
        if near is None or not near.sign:
            continue
        low, high = (near.place, high) if lower else (low, near.place)
    return Interval(low, high) if low < high else whole


def _searched_again(
    function: Function, pieces: list[Interval], found: list[Interval]
) -> list[Interval]:
    """What stays undecided of pieces that each are cut up anew; roots are added to those found.

    All pieces share one limit: what one does not use is left to the next.
    """
    left: list[Interval] = []
    joined = _joined(pieces)
    cuts = AGAIN * PIECES
    for done, piece in enumerate(joined):
        if len(left) > PIECES or not (piece.low.is_finite() and piece.high.is_finite()):
            left.append(piece)
            continue
        most = min(PIECES, cuts // (len(joined) - done))
        places, unclear, used = _searched(function, piece, most)
        cuts -= used
        found += places
        left += unclear
    return left


def _within_reach(function: Function, whole: Interval, pieces: list[Interval]) -> list[Interval]:
    """Pieces without what lies so far out that the sign is that of the dominant term at infinity."""
    for lower in (True, False):
        beyond = Interval(MINUS_INFINITY if lower else whole.low, whole.high if lower else INFINITY)
        near = function.ending(beyond, lower=lower)
        if near is None or not near.sign:
            continue
        if lower:
            left = [Interval(max(p.low, near.place), p.high) for p in pieces if p.high > near.place]
        else:
            left = [Interval(p.low, min(p.high, near.place)) for p in pieces if p.low < near.place]
        pieces = left
    return pieces


def _searched(
    function: Function, whole: Interval, most: int = PIECES
) -> tuple[list[Interval], list[Interval], int]:
    """The roots inside, the pieces that could not be decided, and how many were looked at.

    No more pieces are cut than `most`; those that wait then are looked at once more.
    """
    found: list[Interval] = []
    unclear: list[Interval] = []
    waiting, pieces = deque([whole]), 0
    while waiting:
        piece = (
            waiting.popleft()
        )  # wide ones first: an end where roots pile up takes no other's turn
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
        if pieces > most or _is_narrow(piece):
            unclear.append(piece)
            continue
        cut = middle(piece)
        waiting += [Interval(piece.low, cut), Interval(cut, piece.high)]
    return found, unclear, pieces


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
    size = max(abs(piece.low), abs(piece.high))
    if piece.low <= 0 <= piece.high and size < arb(2) ** -200:
        return True
    return bool(piece.high - piece.low <= size * arb(2) ** -NARROW)


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
        cut = middle(Interval(low, high)) if _is_wide(low, high) else ((low + high) / 2).mid()
        if cut <= low or cut >= high or (high - low) <= abs(cut) * arb(2) ** -CLOSE:
            break
        sign = function.sign(Interval(cut, cut))
        if sign is None:
            break
        if sign == 0:
            return Interval(cut, cut)
        low, high = (cut, high) if sign == first else (low, cut)
    if _is_wide(low, high):
        return None
    return _exact(function, Interval(low, high))


def _is_wide(low: Any, high: Any) -> bool:
    """Whether an interval spans orders of magnitude: it is halved in these first."""
    return bool((low >= 0 and high > 4 * low) or (high <= 0 and low < 4 * high))


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
    for place in sorted(places, key=in_order):
        if found and place.low <= found[-1].high and (found[-1].low == found[-1].high):
            continue
        if found and place.low == place.high == found[-1].high:
            continue
        found.append(place)
    return found


def _joined(pieces: Iterable[Interval]) -> list[Interval]:
    """Neighbouring pieces as one."""
    found: list[Interval] = []
    for piece in sorted(pieces, key=in_order):
        if found and piece.low <= found[-1].high:
            found[-1] = Interval(found[-1].low, piece.high)
        else:
            found.append(piece)
    return found


@cmp_to_key
def in_order(a: Interval, b: Interval) -> int:
    """Intervals by their lower ends, then by their upper ones."""
    for x, y in zip(a, b, strict=True):
        if x < y:
            return -1
        if x > y:
            return 1
    return 0


def as_float(x: Any) -> float:
    """A number of Arb, which may be infinite."""
    return float(x) if x.is_finite() else math.inf if x > 0 else -math.inf


def centre(x: Interval) -> float:
    """The float nearest to the middle of a narrow interval."""
    with precision(BITS):
        return as_float(((x.low + x.high) / 2).mid()) if x.low.is_finite() else as_float(x.low)
