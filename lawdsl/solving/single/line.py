"""One unknown: where a function is smallest on what its constraints allow, for certain.

Between the roots of its slope and of the constraints nothing changes its sign, so one look between
each two tells what is allowed, and where the function falls or rises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lawdsl.compiling.intervals import Interval, middle, precision
from lawdsl.solving.single.functions import Function
from lawdsl.solving.single.roots import BITS, Range, Roots, as_float, centre, roots

FLAT = 1e-9  # relative: a function that changes by less on a piece as narrow has one value there


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
        kind: stationary, constraint, or end.
        which: the numbers of the constraints that bound it; none of an end or a stationary point.
        attained: whether it belongs to what is allowed.
    """

    x: Interval
    kind: str
    which: tuple[int, ...] = ()
    attained: bool = True

    @property
    def at(self) -> float:
        """Where, as a number."""
        return centre(self.x)


@dataclass(frozen=True)
class Line:
    """A function of one unknown on what its constraints allow.

    Attributes:
        best: where it is smallest; none where nothing is allowed.
        value: what it is there.
        others: further places where it is as small as there, as far as can be told.
        allowed: the intervals that the constraints allow.
        stationary: its stationary points in the range, each with whether it is a minimum (1), a
            maximum (-1) or neither (0).
        trend: the sign of the slope where it is the same on all that is allowed; else 0.
        certain: whether every root and every sign is certain.
        unclear: the pieces that are not.
    """

    best: Candidate | None
    value: Interval | None
    others: tuple[Candidate, ...] = ()
    allowed: tuple[tuple[float, float], ...] = ()
    stationary: tuple[tuple[float, int], ...] = ()
    trend: int = 0
    certain: bool = True
    unclear: tuple[tuple[float, float], ...] = ()


def minimised(goal: Function, margins: Sequence[Margin], whole: Range) -> Line:
    """Where a function is smallest.

    Args:
        goal: the function.
        margins: the constraints.
        whole: the range.
    """
    with precision(BITS):
        of_slope = _with_kinks(roots(goal.slope, whole), goal)
        of_margins = [roots(margin.function, whole) for margin in margins]
        unclear = [p for r in (of_slope, *of_margins) for p in r.unclear]
        cuts = _cuts(of_slope, of_margins, whole)
        segments = _segments(cuts, goal, margins)
        candidates = _candidates(cuts, segments, margins, whole)
        best, value, others = _best(goal, candidates)
    slopes = {s.slope for s in segments if s.allowed}
    return Line(
        best,
        value,
        others,
        tuple((as_float(s.low), as_float(s.high)) for s in _runs(segments)),
        tuple(_turns(cuts, segments)),
        slopes.pop() if len(slopes) == 1 else 0,
        not unclear and not any(s.doubtful for s in segments),
        tuple((as_float(p.low), as_float(p.high)) for p in unclear),
    )


def _with_kinks(found: Roots, goal: Function) -> Roots:
    """Roots of a slope, and the narrow pieces where it jumps or touches 0: whatever it does there,
    the function itself hardly changes."""
    kinks = [piece for piece in found.unclear if _hardly_changes(goal, piece)]
    unclear = tuple(piece for piece in found.unclear if piece not in kinks)
    return Roots((*found.places, *kinks), unclear, found.always)


def _hardly_changes(goal: Function, piece: Interval) -> bool:
    value = goal(piece)
    if value is None or not (piece.low.is_finite() and piece.high.is_finite()):
        return False
    size = max(1.0, abs(as_float(value.low)), abs(as_float(piece.low)), abs(as_float(piece.high)))
    widths = as_float(value.high - value.low), as_float(piece.high - piece.low)
    return max(widths) <= FLAT * size


@dataclass(frozen=True)
class _Cut:
    """A place between segments: roots of the slope or of margins, or an end of the range."""

    x: Interval
    stationary: bool = False
    margins: tuple[int, ...] = ()
    end: bool = False


@dataclass(frozen=True)
class _Segment:
    """What lies between two cuts, where no sign changes."""

    low: Any
    high: Any
    allowed: bool
    slope: int
    doubtful: bool


def _cuts(of_slope: Roots, of_margins: Sequence[Roots], whole: Range) -> list[_Cut]:
    ends = whole.interval
    found = [_Cut(Interval(x, x), end=True) for x in ends]
    found += [_Cut(x, stationary=True) for x in of_slope.places]
    found += [_Cut(x, margins=(i,)) for i, r in enumerate(of_margins) for x in r.places]
    found.sort(key=lambda c: (as_float(c.x.low), as_float(c.x.high)))
    merged: list[_Cut] = []
    for cut in found:
        if merged and cut.x.low <= merged[-1].x.high:
            last = merged[-1]
            merged[-1] = _Cut(
                Interval(last.x.low, max(last.x.high, cut.x.high)),
                last.stationary or cut.stationary,
                (*last.margins, *cut.margins),
                last.end or cut.end,
            )
        else:
            merged.append(cut)
    return merged


def _segments(cuts: Sequence[_Cut], goal: Function, margins: Sequence[Margin]) -> list[_Segment]:
    found = []
    for left, right in zip(cuts, cuts[1:], strict=False):
        low, high = left.x.high, right.x.low
        inside = middle(Interval(low, high))
        at = Interval(inside, inside)
        signs = [margin.function.sign(at) for margin in margins]
        slope = goal.slope.sign(at) if goal.slope.formula.expression != 0 else 0
        allowed = all(m.allows(sign) for m, sign in zip(margins, signs, strict=True))
        found.append(_Segment(low, high, allowed, slope or 0, None in signs or slope is None))
    return found


def _candidates(
    cuts: Sequence[_Cut],
    segments: Sequence[_Segment],
    margins: Sequence[Margin],
    whole: Range,
) -> list[Candidate]:
    """The ends of what is allowed, its stationary points, and single points that are."""
    found = []
    for i, cut in enumerate(cuts):
        beside = segments[max(i - 1, 0) : i + 1]
        if not any(s.allowed for s in beside):
            others = [m for k, m in enumerate(margins) if k not in cut.margins]
            single = not beside  # the range itself is a point
            if not (cut.margins or single) or not all(
                m.allows(m.function.sign(cut.x)) for m in others
            ):
                continue
        if _is_beside_better(i, segments):
            continue
        finite = cut.x.low.is_finite() and cut.x.high.is_finite()
        open_end = cut.end and (not finite or (whole.low_open if i == 0 else whole.high_open))
        bounding = tuple(cut.margins)
        kind = "constraint" if bounding else "end" if cut.end else "stationary"
        attained = not open_end and not any(margins[k].strict for k in bounding)
        found.append(Candidate(cut.x, kind, bounding, attained))
    return found


def _is_beside_better(i: int, segments: Sequence[_Segment]) -> bool:
    """Whether the function falls away from a cut into what is allowed beside it."""
    before = segments[i - 1] if i else None
    after = segments[i] if i < len(segments) else None
    rises_to = before is not None and before.allowed and before.slope > 0
    return rises_to or (after is not None and after.allowed and after.slope < 0)


def _best(
    goal: Function, candidates: Sequence[Candidate]
) -> tuple[Candidate | None, Interval | None, tuple[Candidate, ...]]:
    """The best candidate, the goal there, and the others that may be as good."""
    known = [(c, value) for c in candidates if (value := goal(c.x)) is not None]
    if not known:
        return None, None, ()
    first, least = min(known, key=lambda pair: (as_float(pair[1].high), not pair[0].attained))
    alike = [c for c, v in known if c is not first and v.low <= least.high]
    return first, least, tuple(alike)


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
        if not cut.stationary or i == 0 or i >= len(segments):
            continue
        before, after = segments[i - 1].slope, segments[i].slope
        turn = 1 if before < 0 < after else -1 if before > 0 > after else 0
        yield centre(cut.x), turn
