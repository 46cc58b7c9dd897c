"""One unknown: where a function is smallest on what its constraints allow, for certain.

Between the roots of its slope and of the constraints no sign changes, so one evaluation between
each two decides what is feasible and whether the function decreases or increases. Where roots are
not certain, a bound of the function on that piece decides whether a better value may lie there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import Any

import sympy as sp
from flint import arb

from lawdsl.compiling.intervals import Interval, middle, precision, sign_of
from lawdsl.solving.univariate.interval_functions import Function, number
from lawdsl.solving.univariate.piecewise import cut_at_kinks
from lawdsl.solving.univariate.roots import (
    BITS,
    Range,
    Roots,
    as_float,
    centre,
    in_order,
    roots_between,
)

POINT = 36  # bits: a piece as narrow as this part of its size is one place
EXACT = 600  # bits with which the goal at a place is computed
PARTS = 400  # that a piece which could not be decided is cut into, for a bound of the goal there


@dataclass(frozen=True)
class Margin:
    """A constraint: a function that is not below 0; 0 if it is an equality, above 0 if strict."""

    function: Function
    equality: bool = False
    strict: bool = False

    def allows(self, sign: int | None) -> bool:
        """Whether it is kept where its function has a sign, or an end of what is allowed lies."""
        return sign == 0 if self.equality else sign in (0, 1)


@dataclass(frozen=True)
class Candidate:
    """A place at which an optimum may lie.

    Attributes:
        x: where.
        kind: stationary, kink, constraint, end, plateau, or sampled.
        which: the numbers of the constraints that bound it; none of an end or a stationary point.
        attained: whether it belongs to what is allowed.
        sides: the goal beside it, where that is allowed; two where it has a kink there.
    """

    x: Interval
    kind: str
    which: tuple[int, ...] = ()
    attained: bool = True
    sides: tuple[sp.Expr, ...] = ()

    @property
    def at(self) -> float:
        """Where, as a number."""
        return centre(self.x)


@dataclass(frozen=True)
class Line:
    """A function of one unknown on what its constraints allow.

    Attributes:
        best: where it is smallest; none where nothing is allowed.
        value: what it is there, or tends to.
        others: further places where it may be as small; `equal` says whether that is proved.
        equal: whether it is proved that these have the same value.
        apart: by how much the value at one of them may be smaller.
        plateau: the ends of a piece around the best place on which the function is constant.
        left_out: which of these ends do not belong to it.
        allowed: the intervals that the constraints allow.
        stationary: its stationary points in the range, each with whether it is a minimum (1), a
            maximum (-1) or neither (0).
        trend: the sign of the slope where it is the same on all that is allowed; else 0.
        certain: whether no other place is better, for certain; those in `others` aside.
        unclear: the pieces that may hold a better one.
        complete: whether every turning point is known; elsewhere a bound of the function may have
            shown that no best place is missed.
    """

    best: Candidate | None
    value: Interval | None
    others: tuple[Candidate, ...] = ()
    equal: bool = True
    apart: float = 0.0
    plateau: tuple[float, float] | None = None
    left_out: tuple[bool, bool] = (False, False)
    allowed: tuple[tuple[float, float], ...] = ()
    stationary: tuple[tuple[float, int], ...] = ()
    trend: int = 0
    certain: bool = True
    unclear: tuple[tuple[float, float], ...] = ()
    complete: bool = True


def minimised_at_once(goal: Function, margins: Sequence[Margin], whole: Range) -> Line:
    """Where a function is smallest.

    Args:
        goal: the function.
        margins: the constraints.
        whole: the range.
    """
    with precision(BITS):
        return _Minimising(goal, margins, whole).line()


@dataclass(frozen=True)
class _Cut:
    """A place between segments: roots of the slope or of margins, a kink, an end of the range or of
    a piece that could not be decided."""

    x: Interval
    stationary: bool = False
    margins: tuple[int, ...] = ()
    end: bool = False
    kink: bool = False


@dataclass(frozen=True)
class _Segment:
    """What lies between two cuts, where no sign changes unless it is doubtful.

    `slope` is None where the slope has no certain sign.
    """

    low: Any
    high: Any
    allowed: bool
    slope: int | None
    doubtful: bool
    goal: Function


Valued = tuple[Candidate, Interval]


class _Minimising:
    """One function on one range."""

    def __init__(self, goal: Function, margins: Sequence[Margin], whole: Range) -> None:
        self.goal, self.margins, self.whole = goal, margins, whole
        self.range = whole.interval
        cutting = cut_at_kinks([goal, *(m.function for m in margins)], self.range)
        self.smooth = cutting.smooth
        self.doubtful: list[Interval] = []
        self.cuts = self._cuts(cutting.kinks, cutting.unclear)
        self.segments = [
            self._segment(left.x.high, right.x.low)
            for left, right in zip(self.cuts, self.cuts[1:], strict=False)
        ]

    def line(self) -> Line:
        """The best place, and what is certain of it."""
        candidates = [*self._candidates(), *self._plateaus()]
        known, unknown = self._values(candidates)
        best, value, alike, equal, apart = self._best(known)
        unclear = self._unclear(value, unknown)
        plateau = None
        if best is not None:
            plateau = self._plateau_around(best)
            alike = [c for c in alike if plateau is None or not _within(c.x, plateau)]
        complete = not self.doubtful and not any(s.doubtful for s in self.segments)
        slopes = {s.slope for s in self.segments if s.allowed}
        return Line(
            best,
            value,
            tuple(alike),
            equal or not alike,
            apart if alike else 0.0,
            plateau and (centre(plateau[0]), centre(plateau[1])),
            self._left_out(plateau),
            tuple((as_float(s.low), as_float(s.high)) for s in _runs(self.segments)),
            tuple(_turns(self.cuts, self.segments)),
            (slopes.pop() or 0) if len(slopes) == 1 and complete else 0,
            not unclear,
            tuple((as_float(p.low), as_float(p.high)) for p in unclear),
            complete,
        )

    # Cuts and segments

    def _cuts(self, kinks: Sequence[Interval], lost: Sequence[Interval]) -> list[_Cut]:
        found = [_Cut(Interval(x, x), end=True) for x in self.range]
        found += [_Cut(x, kink=True) for x in kinks]
        for piece in lost:
            found += self._of_unclear(piece, None)
        for smooth in self.smooth:
            piece = Interval(smooth.low, smooth.high)
            ends = (
                piece.low != self.range.low or not self.whole.low_open,
                piece.high != self.range.high or not self.whole.high_open,
            )
            of_slope = roots_between(smooth.functions[0].slope, piece, *ends)
            found += [_Cut(x, stationary=True) for x in of_slope.places]
            for unclear in of_slope.unclear:
                found += self._of_unclear(unclear, None)
            for i, function in enumerate(smooth.functions[1:]):
                found += self._of_margin(i, function, roots_between(function, piece, *ends))
        found.sort(key=lambda c: in_order(c.x))
        merged: list[_Cut] = []
        for cut in found:
            if merged and cut.x.low <= merged[-1].x.high:
                last = merged[-1]
                merged[-1] = _Cut(
                    Interval(last.x.low, max(last.x.high, cut.x.high)),
                    last.stationary or cut.stationary,
                    (*last.margins, *(i for i in cut.margins if i not in last.margins)),
                    last.end or cut.end,
                    last.kink or cut.kink,
                )
            else:
                merged.append(cut)
        return merged

    def _of_margin(self, i: int, function: Function, roots: Roots) -> Iterator[_Cut]:
        yield from (_Cut(x, margins=(i,)) for x in roots.places)
        for unclear in roots.unclear:
            at = number(centre(unclear)) if _is_point(unclear) else unclear
            if _is_point(unclear) and function.sign(at) == 0:
                yield _Cut(Interval(unclear.low, unclear.low))
                yield _Cut(at, margins=(i,))
                yield _Cut(Interval(unclear.high, unclear.high))
            else:
                yield from self._of_unclear(unclear, i)

    def _of_unclear(self, piece: Interval, margin: int | None) -> Iterator[_Cut]:
        """A narrow piece on which the slope is not decided is one place; others are looked at again
        when the best place is known."""
        if margin is None and _is_point(piece):
            yield _Cut(piece, stationary=True)
            return
        self.doubtful.append(piece)
        yield from (_Cut(Interval(x, x)) for x in piece if x.is_finite())

    def _segment(self, low: Any, high: Any) -> _Segment:
        at = middle(Interval(low, high))
        place = Interval(at, at)
        smooth = next((s for s in self.smooth if s.low <= at <= s.high), None)
        doubtful = any(p.low <= at <= p.high for p in self.doubtful)
        if smooth is None:
            return _Segment(low, high, False, None, True, self.goal)
        own, *margins = smooth.functions
        signs = [margin.sign(place) for margin in margins]
        slope = 0 if own.slope.formula.expression == 0 else own.slope.sign(place)
        allowed = all(m.allows(sign) for m, sign in zip(self.margins, signs, strict=True))
        doubtful |= None in signs or slope is None
        return _Segment(low, high, allowed, slope, doubtful, own)

    # Candidates

    def _candidates(self) -> Iterator[Candidate]:
        """The ends of what is allowed, its stationary points, and single points that are."""
        for i, cut in enumerate(self.cuts):
            before = self.segments[i - 1] if i else None
            after = self.segments[i] if i < len(self.segments) else None
            beside = [s for s in (before, after) if s is not None]
            finite = cut.x.low.is_finite() and cut.x.high.is_finite()
            open_end = self.whole.low_open if i == 0 else self.whole.high_open
            attained = not (cut.end and (open_end or not finite))
            attained &= not any(self.margins[k].strict for k in cut.margins)
            if not any(s.allowed and not s.doubtful for s in beside):
                others = (m for k, m in enumerate(self.margins) if k not in cut.margins)
                signs = [(m, m.function.sign(cut.x)) for m in others]
                if any(sign is not None and not m.allows(sign) for m, sign in signs):
                    continue
                if any(sign is None for _, sign in signs):
                    self.doubtful += [cut.x] * attained  # it may be a feasible point
                    continue
            if _falls_away(before, after):
                continue
            if finite and not attained and not any(s.allowed or s.doubtful for s in beside):
                self.doubtful += [cut.x] * bool(cut.x.low < cut.x.high)  # it may be two places
                continue
            kind = "constraint" if cut.margins else "end" if cut.end else "stationary"
            goals = {s.goal.formula.expression: s.allowed for s in beside}
            if kind == "stationary" and cut.kink and not (cut.stationary and len(goals) == 1):
                kind = "kink"
            sides = tuple(goal for goal, allowed in goals.items() if allowed)
            yield Candidate(cut.x, kind, cut.margins, attained, sides)

    def _plateaus(self) -> Iterator[Candidate]:
        for s in self.segments:
            if s.allowed and s.slope == 0 and not s.doubtful:
                at = middle(Interval(s.low, s.high))
                at = number(as_float(at)).low if s.low < as_float(at) < s.high else at
                yield Candidate(Interval(at, at), "plateau")

    def _values(self, candidates: Sequence[Candidate]) -> tuple[list[Valued], list[Candidate]]:
        """The goal at each candidate; and those at which it is not known."""
        known: list[Valued] = []
        unknown = []
        for candidate in candidates:
            value = self._value(candidate)
            if value is None:
                unknown.append(candidate)
            elif not value.low == arb("inf"):
                if not (value.low.is_finite() and value.high.is_finite()):
                    candidate = replace(candidate, attained=False)
                known.append((candidate, value))
        return known, unknown

    def _value(self, candidate: Candidate) -> Interval | None:
        """The goal at a place, or its limit at an end."""
        x = candidate.x
        if x.low == x.high and x.low in self.range:
            value = self._exact(x) if x.low.is_finite() else None
            if value is not None or self.range.low == self.range.high:
                return value
            return self.goal.limit(self.range, lower=bool(x.low == self.range.low))
        value = self.goal(x)
        return value if value and value.low.is_finite() and value.high.is_finite() else None

    def _exact(self, x: Interval) -> Interval | None:
        """The goal at a point, with more bits where terms cancel."""
        value = self.goal.at_end(x)
        if value is not None and sign_of(value) is not None:
            return value
        with precision(EXACT):
            more = Function(self.goal.formula, self.goal.values).at_end(x)
        return value if more is None else more

    def _best(
        self, known: Sequence[Valued]
    ) -> tuple[Candidate | None, Interval | None, list[Candidate], bool, float]:
        """The best candidate, the goal there, and the others that may be as good: whether they are,
        and how much better they might be."""
        if not known:
            return None, None, [], True, 0.0
        first, least = min(known, key=cmp_to_key(_better))
        alike = [(c, v) for c, v in known if c is not first and v.low <= least.high]
        equal = all(self._is_equal((first, least), other) for other in alike)
        if equal and not first.attained:  # a place that is attained comes before a limit
            first, least = next(
                (p for p in [(first, least), *alike] if p[0].attained), (first, least)
            )
            alike = [p for p in known if p[0] is not first and p[1].low <= least.high]
        apart = 0.0
        if not equal:
            apart = max(as_float(least.high - v.low) for _, v in alike)
        return first, least, [c for c, _ in alike], equal, apart

    def _is_equal(self, one: Valued, other: Valued) -> bool:
        """Whether the goal has exactly one value at two places."""
        (a, v), (b, w) = one, other
        if v.low == v.high == w.low == w.high:
            return True
        if a.kind != "stationary" or b.kind != "stationary":
            return False
        mirrored = -b.x.high <= a.x.high and a.x.low <= -b.x.low
        if not mirrored:
            return False
        x = self.goal.formula.unknown
        there = self.goal.formula.expression
        return bool(sp.expand(there.xreplace({x: -x}) - there) == 0)

    # What could not be decided

    def _unclear(self, value: Interval | None, unknown: Sequence[Candidate]) -> list[Interval]:
        """The pieces on which something better may be allowed."""
        most = value.high if value is not None else arb("inf")
        pieces = [Interval(s.low, s.high) for s in self.segments if s.doubtful]
        pieces += [p for p in self.doubtful if not any(_covers(q, p) for q in pieces)]
        left = [q for p in pieces for q in self._may_be_better(p, most)]
        for candidate in unknown:
            beside = [s for s in self.segments if _touches(s, candidate.x)]
            if any(self._may_be_better(Interval(s.low, s.high), most) for s in beside):
                left.append(candidate.x)
        return sorted(left, key=in_order)

    def _may_be_better(self, piece: Interval, most: Any) -> list[Interval]:
        """The part of a piece on which it is not certain that the goal exceeds a value, or that
        nothing is allowed; one interval around all of it."""
        waiting, left = [piece], []
        for _ in range(PARTS):
            if not waiting:
                break
            part = waiting.pop(0)
            if self._is_worse(part, most):
                continue
            at = middle(part)
            if not part.low < at < part.high or _is_point(part):
                left.append(part)
            else:
                waiting += [Interval(part.low, at), Interval(at, part.high)]
        left += [part for part in waiting if not self._is_worse(part, most)]
        if not left:
            return []
        left.sort(key=in_order)
        return [Interval(left[0].low, max(p.high for p in left))]

    def _is_worse(self, part: Interval, most: Any) -> bool:
        for margin in self.margins:
            values = margin.function(part)
            if values is None:
                continue
            if values.high < 0 or (margin.equality and values.low > 0):
                return True
        value = self.goal(part)
        return value is not None and bool(value.low >= most)

    def _left_out(self, ends: tuple[Interval, Interval] | None) -> tuple[bool, bool]:
        """Which ends of a plateau are left out: open ends of the range, and strict constraints."""
        if ends is None:
            return False, False
        strict = {k for k, margin in enumerate(self.margins) if margin.strict}
        out = [any(strict & set(c.margins) for c in self.cuts if c.x == end) for end in ends]
        low = self.whole.low_open and bool(ends[0].low == self.range.low)
        high = self.whole.high_open and bool(ends[1].high == self.range.high)
        return out[0] or low, out[1] or high

    def _plateau_around(self, best: Candidate) -> tuple[Interval, Interval] | None:
        """The ends of the piece around a place on which the goal is constant and allowed."""
        ends = None
        for i, s in enumerate(self.segments):
            flat = s.allowed and s.slope == 0 and not s.doubtful
            left, right = self.cuts[i].x, self.cuts[i + 1].x
            if not flat:
                if ends is not None and _within(best.x, ends):
                    break
                ends = None
            else:
                ends = (ends[0] if ends else left, right)
        return ends if ends is not None and _within(best.x, ends) else None


def _within(x: Interval, ends: tuple[Interval, Interval]) -> bool:
    return bool(ends[0].low <= x.low and x.high <= ends[1].high)


def _touches(segment: _Segment, x: Interval) -> bool:
    return bool(segment.low == x.high or segment.high == x.low)


def _covers(outer: Interval, inner: Interval) -> bool:
    return bool(outer.low <= inner.low and inner.high <= outer.high)


def _is_point(piece: Interval) -> bool:
    """Whether a piece is so narrow that it is one place to a reader."""
    if not (piece.low.is_finite() and piece.high.is_finite()):
        return False
    size = max(abs(piece.low), abs(piece.high))
    narrow = piece.high - piece.low <= size * arb(2) ** -POINT
    return bool(narrow or (piece.low <= 0 <= piece.high and size <= arb(2) ** -200))


def _falls_away(before: _Segment | None, after: _Segment | None) -> bool:
    """Whether the function falls from a cut into what is allowed beside it."""
    for segment, falling in ((before, 1), (after, -1)):
        if segment is not None and segment.allowed and not segment.doubtful:
            if segment.slope == falling:
                return True
    return False


def _better(one: Valued, other: Valued) -> int:
    """Candidates by the most that the goal may be there; then those that are reached first."""
    (a, v), (b, w) = one, other
    if v.high != w.high:
        return -1 if v.high < w.high else 1
    return (not a.attained) - (not b.attained) or (a.kind != "plateau") - (b.kind != "plateau")


def _runs(segments: Sequence[_Segment]) -> list[Interval]:
    """What is allowed, as intervals."""
    found: list[Interval] = []
    for before, s in zip([None, *segments], segments, strict=False):
        if not s.allowed:
            continue
        if found and before is not None and before.allowed:
            found[-1] = Interval(found[-1].low, s.high)
        else:
            found.append(Interval(s.low, s.high))
    return found


def _turns(cuts: Sequence[_Cut], segments: Sequence[_Segment]) -> Iterator[tuple[float, int]]:
    """The stationary points inside the range, each with its kind as `Line` says it."""
    for i, cut in enumerate(cuts):
        if not (cut.stationary or cut.kink) or i == 0 or i >= len(segments):
            continue
        before, after = segments[i - 1].slope, segments[i].slope
        if before is None or after is None:
            continue
        turn = 1 if before < 0 < after else -1 if before > 0 > after else 0
        if turn or cut.stationary:
            yield centre(cut.x), turn
