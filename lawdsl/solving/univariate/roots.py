"""A function of one unknown and a range -> all its roots, each certified.

The range is bisected until on each piece the sign of the function is certain, or the function is
monotone and the signs at the ends decide whether it has a root. So no root is missed, and the list
is proved to be complete. Where that cannot be decided, the piece is returned. This is bisection
with interval bounds of the function and its slope (Moore, Kearfott and Cloud (2009), Introduction
to Interval Analysis, SIAM).
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
from lawdsl.solving.univariate.interval_functions import IntervalFunction, number

ROOT_BITS = 90
MAX_ROOT_PIECES = 3000  # greatest number of pieces into which a range is cut
RETRY_FACTOR = 3  # multiple of MAX_ROOT_PIECES that the search of undecided pieces may cut, in all
NARROW_PIECE_BITS = 44  # a piece of relative width below 2^-44 is not cut further
ROOT_TOLERANCE_BITS = 60  # relative precision of a root


@dataclass(frozen=True)
class UnknownRange:
    """The range of an unknown: an interval, closed or open, whose ends may be infinite."""

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
        intervals: intervals of which each has exactly one.
        undecided: pieces on which it is not certain how many there are.
        identically_zero: whether the function is 0 everywhere.
    """

    intervals: tuple[Interval, ...]
    undecided: tuple[Interval, ...] = ()
    identically_zero: bool = False


def roots(function: IntervalFunction, domain: UnknownRange) -> Roots:
    """Isolate every root of a function in a range, its closed ends included.

    Args:
        function: the function.
        domain: the range.

    Returns:
        The roots, and the pieces that could not be decided.
    """
    return roots_between(function, domain.interval, not domain.low_open, not domain.high_open)


def roots_between(
    function: IntervalFunction, domain: Interval, low_closed: bool = True, high_closed: bool = True
) -> Roots:
    """Isolate every root of a function between two numbers.

    Near an end that is infinite, or at which the function is 0 or has no value, its sign is that of
    its dominant term (`asymptotics`); the remainder is bisected.

    Args:
        function: the function.
        domain: the two numbers.
        low_closed, high_closed: whether a root at that end counts.

    Returns:
        The roots, and the pieces that could not be decided.
    """
    if function.formula.expression == 0:
        return Roots((), (), identically_zero=True)
    with precision(ROOT_BITS):
        if function.constant:
            return Roots((), (), identically_zero=function.sign(Interval(ONE, ONE)) == 0)
        inner = _strip_ends(function, domain)
        isolated, undecided, _ = _search(function, inner)
        if undecided:
            undecided = _search_again(
                function, _strip_infinite_ends(function, domain, undecided), isolated
            )
        undecided = [
            p for p in _join_neighbours(undecided) if not _adds_root(function, p, isolated)
        ]
        for end, closed in ((domain.low, low_closed), (domain.high, high_closed)):
            end_point = Interval(end, end)
            if closed and end.is_finite() and function.sign(end_point) == 0:
                isolated.append(end_point)  # the signs beside an end leave out the end itself
        return Roots(tuple(_merge_roots(isolated)), tuple(undecided))


def _strip_ends(function: IntervalFunction, domain: Interval) -> Interval:
    """A range without the neighbourhoods of its ends on which the sign is certain."""
    low, high = domain
    if low == high:
        return domain
    for lower, end in ((True, low), (False, high)):
        if end.is_finite() and function.sign(Interval(end, end)) in (1, -1):
            continue
        end_sign = function.ending(domain, lower=lower)
        if end_sign is None or not end_sign.sign:
            continue
        low, high = (end_sign.boundary, high) if lower else (low, end_sign.boundary)
    return Interval(low, high) if low < high else domain


def _search_again(
    function: IntervalFunction, pieces: list[Interval], isolated: list[Interval]
) -> list[Interval]:
    """Search undecided pieces again, one by one; roots are appended to `isolated`.

    All pieces share one limit: what one does not use is available to the next. Returns the pieces
    that remain undecided.
    """
    undecided: list[Interval] = []
    joined = _join_neighbours(pieces)
    cuts = RETRY_FACTOR * MAX_ROOT_PIECES
    for done, piece in enumerate(joined):
        if len(undecided) > MAX_ROOT_PIECES or not (
            piece.low.is_finite() and piece.high.is_finite()
        ):
            undecided.append(piece)
            continue
        max_pieces = min(MAX_ROOT_PIECES, cuts // (len(joined) - done))
        new_roots, new_undecided, used = _search(function, piece, max_pieces)
        cuts -= used
        isolated += new_roots
        undecided += new_undecided
    return undecided


def _strip_infinite_ends(
    function: IntervalFunction, domain: Interval, pieces: list[Interval]
) -> list[Interval]:
    """Pieces without the part where the sign is that of the dominant term at infinity."""
    for lower in (True, False):
        beyond = Interval(
            MINUS_INFINITY if lower else domain.low, domain.high if lower else INFINITY
        )
        end_sign = function.ending(beyond, lower=lower)
        if end_sign is None or not end_sign.sign:
            continue
        if lower:
            stripped = [
                Interval(max(p.low, end_sign.boundary), p.high)
                for p in pieces
                if p.high > end_sign.boundary
            ]
        else:
            stripped = [
                Interval(p.low, min(p.high, end_sign.boundary))
                for p in pieces
                if p.low < end_sign.boundary
            ]
        pieces = stripped
    return pieces


def _search(
    function: IntervalFunction, domain: Interval, max_pieces: int = MAX_ROOT_PIECES
) -> tuple[list[Interval], list[Interval], int]:
    """The roots inside, the undecided pieces, and how many pieces were examined.

    No more pieces are cut than `most`; those in the queue then are examined once more.
    """
    isolated: list[Interval] = []
    undecided: list[Interval] = []
    waiting, pieces = deque([domain]), 0
    while waiting:
        # wide ones first: an end where roots pile up takes no other's turn
        piece = waiting.popleft()
        pieces += 1
        if function.sign(piece) in (1, -1):
            continue
        inside = piece.low.is_finite() and piece.high.is_finite()
        # monotone: the signs at the ends decide, and no second root can hide inside
        if inside and function.slope.sign(piece) in (1, -1):
            root = _only_root(function, piece)
            if root is not None:
                isolated.append(root)
                continue
            if _end_signs_differ(function, piece) is False:
                continue
        if pieces > max_pieces or _is_narrow(piece):
            undecided.append(piece)
            continue
        cut = middle(piece)
        waiting += [Interval(piece.low, cut), Interval(cut, piece.high)]
    return isolated, undecided, pieces


def _adds_root(function: IntervalFunction, piece: Interval, isolated: list[Interval]) -> bool:
    """Whether joined pieces on both sides of a cut contain a root; it is appended to `isolated`."""
    inside = piece.low.is_finite() and piece.high.is_finite()
    if not inside or function.slope.sign(piece) not in (1, -1):
        return False
    root = _only_root(function, piece)
    if root is not None:
        isolated.append(root)
    return root is not None


def _is_narrow(piece: Interval) -> bool:
    if not (piece.low.is_finite() and piece.high.is_finite()):
        return bool(piece.low > 2**200 or piece.high < -(2**200))
    size = max(abs(piece.low), abs(piece.high))
    if piece.low <= 0 <= piece.high and size < arb(2) ** -200:
        return True
    return bool(piece.high - piece.low <= size * arb(2) ** -NARROW_PIECE_BITS)


def _end_signs_differ(function: IntervalFunction, piece: Interval) -> bool | None:
    """Whether the signs at the ends of a piece differ; None where one is not certain."""
    signs = [function.sign(Interval(x, x)) for x in piece]
    return None if None in signs else signs[0] != signs[1]


def _only_root(function: IntervalFunction, piece: Interval) -> Interval | None:
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
        if cut <= low or cut >= high or (high - low) <= abs(cut) * arb(2) ** -ROOT_TOLERANCE_BITS:
            break
        sign = function.sign(Interval(cut, cut))
        if sign is None:
            break
        if sign == 0:
            return Interval(cut, cut)
        low, high = (cut, high) if sign == first else (low, cut)
    if _is_wide(low, high):
        return None
    return _exact_root(function, Interval(low, high))


def _is_wide(low: Any, high: Any) -> bool:
    """Whether an interval spans orders of magnitude: it is halved in these first."""
    return bool((low >= 0 and high > 4 * low) or (high <= 0 and low < 4 * high))


def _exact_root(function: IntervalFunction, root: Interval) -> Interval:
    """The root as a float where it is one exactly: a bound that a user wrote stays that number."""
    nearest = nearest_float(root)
    if not math.isfinite(nearest):
        return root
    exact = number(nearest)
    inside = root.low <= exact.low and exact.high <= root.high
    return exact if inside and function.sign(exact) == 0 else root


def _merge_roots(root_intervals: Iterable[Interval]) -> list[Interval]:
    """Roots in ascending order, one that is on a cut once."""
    merged: list[Interval] = []
    for root in sorted(root_intervals, key=interval_order):
        if merged and root.low <= merged[-1].high and (merged[-1].low == merged[-1].high):
            continue
        if merged and root.low == root.high == merged[-1].high:
            continue
        merged.append(root)
    return merged


def _join_neighbours(pieces: Iterable[Interval]) -> list[Interval]:
    """Neighbouring pieces as one."""
    joined: list[Interval] = []
    for piece in sorted(pieces, key=interval_order):
        if joined and piece.low <= joined[-1].high:
            joined[-1] = Interval(joined[-1].low, piece.high)
        else:
            joined.append(piece)
    return joined


@cmp_to_key
def interval_order(a: Interval, b: Interval) -> int:
    """Compare intervals by their lower ends, then by their upper ones.

    Args:
        a, b: the intervals.

    Returns:
        -1, 0 or 1.
    """
    for x, y in zip(a, b, strict=True):
        if x < y:
            return -1
        if x > y:
            return 1
    return 0


def as_float(x: Any) -> float:
    """A number of Arb, which may be infinite."""
    return float(x) if x.is_finite() else math.inf if x > 0 else -math.inf


def nearest_float(x: Interval) -> float:
    """The float nearest to the middle of a narrow interval."""
    with precision(ROOT_BITS):
        return as_float(((x.low + x.high) / 2).mid()) if x.low.is_finite() else as_float(x.low)
