"""One unknown: goal, constraints and range -> the certified global minimum.

Between consecutive roots of the slope and of the constraints no sign changes, so one evaluation per
segment decides whether it is feasible and whether the function rises or falls there; the minimum is
at one of the roots or ends. Where roots are not certain, a lower bound of the function on that
piece decides whether a better value is possible there (the midpoint test of interval branch and
bound: Hansen and Walster (2004), Global Optimization Using Interval Analysis).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import Any

import sympy as sp
from flint import arb

from lawdsl.compiling.intervals import Interval, middle, precision, sign_of
from lawdsl.solving.univariate.interval_functions import IntervalFunction, number
from lawdsl.solving.univariate.line_minimum import Candidate, IntervalMargin, LineMinimum
from lawdsl.solving.univariate.piecewise import split_at_kinks
from lawdsl.solving.univariate.roots import (
    ROOT_BITS,
    Roots,
    UnknownRange,
    as_float,
    interval_order,
    nearest_float,
    roots_between,
)

MIN_PIECE_BITS = 36  # a piece of relative width below 2^-36 counts as one point
EXACT_VALUE_BITS = 600  # precision with which the goal at a point is computed
# Parts of an undecided piece, each with its own bound of the goal.
MAX_BOUND_PARTS = 400


def minimize_in_one_pass(
    goal: IntervalFunction, margins: Sequence[IntervalMargin], domain: UnknownRange
) -> LineMinimum:
    """Minimise a function under constraints, from one subdivision of the range.

    Args:
        goal: the function.
        margins: the constraints.
        domain: the range.

    Returns:
        The minimum and its certificates.
    """
    with precision(ROOT_BITS):
        return _LineMinimizer(goal, margins, domain).minimum()


@dataclass(frozen=True)
class _Cut:
    """A point between segments: roots of the slope or of margins, a kink, an end of the range or of
    a piece that could not be decided."""

    x: Interval
    stationary: bool = False
    margins: tuple[int, ...] = ()
    end: bool = False
    kink: bool = False


@dataclass(frozen=True)
class _Segment:
    """An interval between two cuts, on which no sign changes unless it is doubtful.

    `slope` is None where the slope has no certain sign.
    """

    low: Any
    high: Any
    allowed: bool
    slope: int | None
    doubtful: bool
    goal: IntervalFunction


Valued = tuple[Candidate, Interval]


class _LineMinimizer:
    """The search for the minimum of one function on one range."""

    def __init__(
        self, goal: IntervalFunction, margins: Sequence[IntervalMargin], domain: UnknownRange
    ) -> None:
        self.goal, self.margins, self.domain = goal, margins, domain
        self.interval = domain.interval
        cutting = split_at_kinks([goal, *(m.function for m in margins)], self.interval)
        self.smooth = cutting.smooth
        self.doubtful: list[Interval] = []
        self.cuts = self._cuts(cutting.kinks, cutting.undecided)
        self.segments = [
            self._segment(left_cut.x.high, right_cut.x.low)
            for left_cut, right_cut in zip(self.cuts, self.cuts[1:], strict=False)
        ]

    def minimum(self) -> LineMinimum:
        """The minimum, and what is certain of it."""
        candidates = [*self._candidates(), *self._plateaus()]
        evaluated, not_evaluated = self._values(candidates)
        best, value, ties, equal, gap = self._best_candidate(evaluated)
        undecided = self._undecided_pieces(value, not_evaluated)
        plateau = None
        if best is not None:
            plateau = self._plateau_containing(best)
            ties = [c for c in ties if plateau is None or not _within(c.x, plateau)]
        complete = not self.doubtful and not any(s.doubtful for s in self.segments)
        slopes = {s.slope for s in self.segments if s.allowed}
        return LineMinimum(
            best,
            value,
            tuple(ties),
            equal or not ties,
            gap if ties else 0.0,
            plateau and (nearest_float(plateau[0]), nearest_float(plateau[1])),
            self._excluded_ends(plateau),
            tuple((as_float(s.low), as_float(s.high)) for s in _feasible_intervals(self.segments)),
            tuple(_stationary_points(self.cuts, self.segments)),
            (slopes.pop() or 0) if len(slopes) == 1 and complete else 0,
            not undecided,
            tuple((as_float(p.low), as_float(p.high)) for p in undecided),
            complete,
        )

    # Cuts and segments

    def _cuts(self, kinks: Sequence[Interval], undecided_pieces: Sequence[Interval]) -> list[_Cut]:
        cuts = [_Cut(Interval(x, x), end=True) for x in self.interval]
        cuts += [_Cut(x, kink=True) for x in kinks]
        for piece in undecided_pieces:
            cuts += self._undecided_cuts(piece, None)
        for smooth in self.smooth:
            piece = Interval(smooth.low, smooth.high)
            ends = (
                piece.low != self.interval.low or not self.domain.low_open,
                piece.high != self.interval.high or not self.domain.high_open,
            )
            of_slope = roots_between(smooth.functions[0].slope, piece, *ends)
            cuts += [_Cut(x, stationary=True) for x in of_slope.intervals]
            for undecided in of_slope.undecided:
                cuts += self._undecided_cuts(undecided, None)
            for i, function in enumerate(smooth.functions[1:]):
                cuts += self._margin_cuts(i, function, roots_between(function, piece, *ends))
        cuts.sort(key=lambda c: interval_order(c.x))
        merged: list[_Cut] = []
        for cut in cuts:
            # enclosures that overlap cannot be told apart: one cut with the properties of both
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

    def _margin_cuts(self, i: int, function: IntervalFunction, roots: Roots) -> Iterator[_Cut]:
        yield from (_Cut(x, margins=(i,)) for x in roots.intervals)
        for undecided in roots.undecided:
            root = number(nearest_float(undecided)) if _is_point(undecided) else undecided
            if _is_point(undecided) and function.sign(root) == 0:
                yield _Cut(Interval(undecided.low, undecided.low))
                yield _Cut(root, margins=(i,))
                yield _Cut(Interval(undecided.high, undecided.high))
            else:
                yield from self._undecided_cuts(undecided, i)

    def _undecided_cuts(self, piece: Interval, margin: int | None) -> Iterator[_Cut]:
        """A narrow piece on which the slope is undecided is one point; wider ones are bounded once
        the best candidate is known.
        """
        if margin is None and _is_point(piece):
            yield _Cut(piece, stationary=True)
            return
        self.doubtful.append(piece)
        yield from (_Cut(Interval(x, x)) for x in piece if x.is_finite())

    def _segment(self, low: Any, high: Any) -> _Segment:
        midpoint = middle(Interval(low, high))
        point = Interval(midpoint, midpoint)
        smooth = next((s for s in self.smooth if s.low <= midpoint <= s.high), None)
        doubtful = any(p.low <= midpoint <= p.high for p in self.doubtful)
        if smooth is None:
            return _Segment(low, high, False, None, True, self.goal)
        goal, *margins = smooth.functions
        signs = [margin.sign(point) for margin in margins]
        slope = 0 if goal.slope.formula.expression == 0 else goal.slope.sign(point)
        allowed = all(m.allows(sign) for m, sign in zip(self.margins, signs, strict=True))
        doubtful |= None in signs or slope is None
        return _Segment(low, high, allowed, slope, doubtful, goal)

    # Candidates

    def _candidates(self) -> Iterator[Candidate]:
        """The ends of the feasible set, its stationary points, and isolated feasible points."""
        for i, cut in enumerate(self.cuts):
            before = self.segments[i - 1] if i else None
            after = self.segments[i] if i < len(self.segments) else None
            beside = [s for s in (before, after) if s is not None]
            finite = cut.x.low.is_finite() and cut.x.high.is_finite()
            open_end = self.domain.low_open if i == 0 else self.domain.high_open
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
                self.doubtful += [cut.x] * bool(cut.x.low < cut.x.high)  # it may be two points
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
                point = middle(Interval(s.low, s.high))
                # any point of a plateau is as good: a float is one that can be shown exactly
                point = number(as_float(point)).low if s.low < as_float(point) < s.high else point
                yield Candidate(Interval(point, point), "plateau")

    def _values(self, candidates: Sequence[Candidate]) -> tuple[list[Valued], list[Candidate]]:
        """The goal at each candidate; and the candidates at which it has no certain value."""
        evaluated: list[Valued] = []
        not_evaluated = []
        for candidate in candidates:
            value = self._value(candidate)
            if value is None:
                not_evaluated.append(candidate)
            elif not value.low == arb("inf"):
                if not (value.low.is_finite() and value.high.is_finite()):
                    candidate = replace(candidate, attained=False)
                evaluated.append((candidate, value))
        return evaluated, not_evaluated

    def _value(self, candidate: Candidate) -> Interval | None:
        """The goal at a candidate, or its limit at an end."""
        x = candidate.x
        if x.low == x.high and x.low in self.interval:
            value = self._exact(x) if x.low.is_finite() else None
            if value is not None or self.interval.low == self.interval.high:
                return value
            return self.goal.limit(self.interval, lower=bool(x.low == self.interval.low))
        value = self.goal(x)
        return value if value and value.low.is_finite() and value.high.is_finite() else None

    def _exact(self, x: Interval) -> Interval | None:
        """The goal at a point, with more bits where terms cancel."""
        value = self.goal.at_end(x)
        if value is not None and sign_of(value) is not None:
            return value
        # the enclosures of coefficients are rounded when they are prepared, so the function is
        # prepared anew
        with precision(EXACT_VALUE_BITS):
            more = IntervalFunction(self.goal.formula, self.goal.values).at_end(x)
        return value if more is None else more

    def _best_candidate(
        self, evaluated: Sequence[Valued]
    ) -> tuple[Candidate | None, Interval | None, list[Candidate], bool, float]:
        """The best candidate, its value, the others that may be equally good, whether that is
        proved, and by how much they might be better."""
        if not evaluated:
            return None, None, [], True, 0.0
        first, least = min(evaluated, key=cmp_to_key(_better))
        ties = [(c, v) for c, v in evaluated if c is not first and v.low <= least.high]
        equal = all(self._is_equal((first, least), other) for other in ties)
        if equal and not first.attained:  # an attained minimum comes before a limit
            first, least = next(
                (p for p in [(first, least), *ties] if p[0].attained), (first, least)
            )
            ties = [p for p in evaluated if p[0] is not first and p[1].low <= least.high]
        gap = 0.0
        if not equal:
            gap = max(as_float(least.high - v.low) for _, v in ties)
        return first, least, [c for c, _ in ties], equal, gap

    def _is_equal(self, one: Valued, other: Valued) -> bool:
        """Whether it is proved that the goal has the same value at two candidates."""
        (a, v), (b, w) = one, other
        # only values without any width are equal for certain
        if v.low == v.high == w.low == w.high:
            return True
        if a.kind != "stationary" or b.kind != "stationary":
            return False
        mirrored = -b.x.high <= a.x.high and a.x.low <= -b.x.low
        if not mirrored:
            return False
        x = self.goal.formula.unknown
        expression = self.goal.formula.expression
        return bool(sp.expand(expression.xreplace({x: -x}) - expression) == 0)

    # What could not be decided

    def _undecided_pieces(
        self, value: Interval | None, not_evaluated: Sequence[Candidate]
    ) -> list[Interval]:
        """The pieces that may contain a better feasible point."""
        upper_bound = value.high if value is not None else arb("inf")
        pieces = [Interval(s.low, s.high) for s in self.segments if s.doubtful]
        pieces += [p for p in self.doubtful if not any(_covers(q, p) for q in pieces)]
        undecided = [q for p in pieces for q in self._possibly_better_part(p, upper_bound)]
        for candidate in not_evaluated:
            beside = [s for s in self.segments if _touches(s, candidate.x)]
            if any(
                self._possibly_better_part(Interval(s.low, s.high), upper_bound) for s in beside
            ):
                undecided.append(candidate.x)
        return sorted(undecided, key=interval_order)

    def _possibly_better_part(self, piece: Interval, upper_bound: Any) -> list[Interval]:
        """The hull of the part of a piece on which it is not certain that the goal exceeds a value,
        or that no point is feasible."""
        waiting, undecided = [piece], []
        for _ in range(MAX_BOUND_PARTS):
            if not waiting:
                break
            # breadth first: wide parts are the likeliest to be excluded as a whole
            part = waiting.pop(0)
            if self._is_worse(part, upper_bound):
                continue
            midpoint = middle(part)
            if not part.low < midpoint < part.high or _is_point(part):
                undecided.append(part)
            else:
                waiting += [Interval(part.low, midpoint), Interval(midpoint, part.high)]
        undecided += [part for part in waiting if not self._is_worse(part, upper_bound)]
        if not undecided:
            return []
        undecided.sort(key=interval_order)
        return [Interval(undecided[0].low, max(p.high for p in undecided))]

    def _is_worse(self, part: Interval, upper_bound: Any) -> bool:
        for margin in self.margins:
            values = margin.function(part)
            if values is None:
                continue
            if values.high < 0 or (margin.equality and values.low > 0):
                return True
        value = self.goal(part)
        return value is not None and bool(value.low >= upper_bound)

    def _excluded_ends(self, ends: tuple[Interval, Interval] | None) -> tuple[bool, bool]:
        """Whether each end of a plateau is excluded, as an open end or by a strict constraint."""
        if ends is None:
            return False, False
        strict = {k for k, margin in enumerate(self.margins) if margin.strict}
        excluded = [any(strict & set(c.margins) for c in self.cuts if c.x == end) for end in ends]
        low = self.domain.low_open and bool(ends[0].low == self.interval.low)
        high = self.domain.high_open and bool(ends[1].high == self.interval.high)
        return excluded[0] or low, excluded[1] or high

    def _plateau_containing(self, best: Candidate) -> tuple[Interval, Interval] | None:
        """The ends of the feasible piece around a candidate on which the goal is constant."""
        ends = None
        for i, s in enumerate(self.segments):
            is_flat = s.allowed and s.slope == 0 and not s.doubtful
            left_end, right_end = self.cuts[i].x, self.cuts[i + 1].x
            if not is_flat:
                if ends is not None and _within(best.x, ends):
                    break
                ends = None
            else:
                ends = (ends[0] if ends else left_end, right_end)
        return ends if ends is not None and _within(best.x, ends) else None


def _within(x: Interval, ends: tuple[Interval, Interval]) -> bool:
    return bool(ends[0].low <= x.low and x.high <= ends[1].high)


def _touches(segment: _Segment, x: Interval) -> bool:
    return bool(segment.low == x.high or segment.high == x.low)


def _covers(outer: Interval, inner: Interval) -> bool:
    return bool(outer.low <= inner.low and inner.high <= outer.high)


def _is_point(piece: Interval) -> bool:
    """Whether a piece is so narrow that it is one point to a reader."""
    if not (piece.low.is_finite() and piece.high.is_finite()):
        return False
    size = max(abs(piece.low), abs(piece.high))
    narrow = piece.high - piece.low <= size * arb(2) ** -MIN_PIECE_BITS
    return bool(narrow or (piece.low <= 0 <= piece.high and size <= arb(2) ** -200))


def _falls_away(before: _Segment | None, after: _Segment | None) -> bool:
    """Whether the function decreases from a cut into an adjacent feasible segment."""
    for segment, falling in ((before, 1), (after, -1)):
        if segment is not None and segment.allowed and not segment.doubtful:
            if segment.slope == falling:
                return True
    return False


def _better(one: Valued, other: Valued) -> int:
    """Order of candidates: by the upper bound of the goal, then attained ones first."""
    (a, v), (b, w) = one, other
    if v.high != w.high:
        return -1 if v.high < w.high else 1
    return (not a.attained) - (not b.attained) or (a.kind != "plateau") - (b.kind != "plateau")


def _feasible_intervals(segments: Sequence[_Segment]) -> list[Interval]:
    """The feasible set, as intervals."""
    intervals: list[Interval] = []
    for before, s in zip([None, *segments], segments, strict=False):
        if not s.allowed:
            continue
        if intervals and before is not None and before.allowed:
            intervals[-1] = Interval(intervals[-1].low, s.high)
        else:
            intervals.append(Interval(s.low, s.high))
    return intervals


def _stationary_points(
    cuts: Sequence[_Cut], segments: Sequence[_Segment]
) -> Iterator[tuple[float, int]]:
    """The stationary points inside the range, each with its kind, 1, -1 or 0: see `LineMinimum`."""
    for i, cut in enumerate(cuts):
        if not (cut.stationary or cut.kink) or i == 0 or i >= len(segments):
            continue
        before, after = segments[i - 1].slope, segments[i].slope
        if before is None or after is None:
            continue
        kind = 1 if before < 0 < after else -1 if before > 0 > after else 0
        if kind or cut.stationary:
            yield nearest_float(cut.x), kind
