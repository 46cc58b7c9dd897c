"""One unknown: every root and every optimum on its range, each certain.

The range is cut up until on each piece the sign of a function is certain, or it only rises or only
falls there and the signs at the ends tell whether it has a root. So none is missed, and what is
found is known to be all there is. Where that cannot be told, the piece is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy as sp
from flint import arb

from lawdsl.algebra import derivative
from lawdsl.compiling.certain import Prepared
from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    Interval,
    NoInterval,
    as_interval,
    middle,
    precision,
    sign_of,
)
from lawdsl.compiling.tape import compile_tape
from lawdsl.solving.isolating import flat

BITS = 90
PIECES = 3000  # that a range is cut into at most
NARROW = Fraction(1, 2**44)  # of its size: a piece that is not cut further
CLOSE = 60  # bits to which a root is known


class Function:
    """An expression in one unknown, in intervals.

    Args:
        expression: in the unknown and in symbols of known value.
        unknown: what it is a function of.
        values: of all other symbols.
    """

    def __init__(
        self, expression: sp.Expr, unknown: sp.Symbol, values: Mapping[sp.Symbol, float]
    ) -> None:
        self.expression, self.unknown, self.values = expression, unknown, values
        self._prepared = self._ready(expression)
        self._slope: Function | None = None
        self._scaled: list[tuple[Prepared | None, Prepared | None]] | None = None

    def _ready(self, expression: sp.Expr) -> Prepared | None:
        others = sorted(expression.free_symbols - {self.unknown}, key=str)
        tape = compile_tape([expression], [self.unknown, *others])
        known = {i: number(self.values[s]) for i, s in enumerate(others, start=1)}
        try:
            return Prepared(tape, known)
        except NoInterval:
            return None

    @property
    def slope(self) -> Function:
        """Its derivative by the unknown."""
        if self._slope is None:
            made = derivative(self.expression, self.unknown)
            self._slope = Function(made, self.unknown, self.values)
        return self._slope

    def __call__(self, x: Interval) -> Interval | None:
        """Its values on an interval; None where they are not certain."""
        return _run(self._prepared, x)

    def sign(self, x: Interval) -> int | None:
        """Its certain sign on an interval.

        Near 0 and towards infinity terms grow or vanish together; there it is looked at as one of
        its terms times the others divided by it.
        """
        found = self(x)
        own = sign_of(found) if found is not None else None
        if own is not None or (x.low.is_finite() and x.high.is_finite() and x.low != 0):
            return own
        for whole, one in self._as_products():
            parts = _run(whole, x), _run(one, x)
            signs = [None if p is None else sign_of(p) for p in parts]
            if parts[1] is not None and signs[1] is None:  # a power of x: 0 at 0 or at infinity
                signs[1] = 1 if parts[1].low >= 0 else -1 if parts[1].high <= 0 else None
            if signs[0] and signs[1]:
                return signs[0] * signs[1]
        return None

    def _as_products(self) -> list[tuple[Prepared | None, Prepared | None]]:
        """The expression as the sum of its terms divided by one of them, and that one, for each
        term that is a multiple of a power of the unknown."""
        if self._scaled is None:
            terms = sp.Add.make_args(self.expression)
            ones = [t for t in terms if _is_power(t, self.unknown)] if len(terms) > 1 else []
            made = [(flat(sp.Add(*(flat(t / one) for t in terms))), one) for one in ones]
            self._scaled = [(self._ready(whole), self._ready(one)) for whole, one in made]
        return self._scaled


def _is_power(term: sp.Expr, x: sp.Symbol) -> bool:
    own = term.as_independent(x, as_Add=False)[1]
    return bool(own == x or (own.is_Pow and own.base == x and not own.exp.has(x)))


def _run(prepared: Prepared | None, x: Interval) -> Interval | None:
    if prepared is None:
        return None
    try:
        return prepared.run([x])
    except NoInterval:
        return None


def number(value: float) -> Interval:
    """A float as an interval: exactly what it is."""
    return as_interval(Fraction(value))


@dataclass(frozen=True)
class Range:
    """Where an unknown may lie: between two numbers, which may be infinite, or be left out."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False

    @property
    def interval(self) -> Interval:
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
    if function.expression == 0:
        return Roots((), (), always=True)
    if function.unknown not in function.expression.free_symbols:
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
        places = _merged(found)
    return Roots(tuple(places), tuple(_joined(unclear)))


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
    return Interval(low, high)


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
        if self.x.low == self.x.high and not self.x.low.is_finite():
            return float("inf") if self.x.low > 0 else float("-inf")
        return float(((self.x.low + self.x.high) / 2).mid())


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
    unclear: tuple[tuple[float, float], ...] = field(default=())


def minimised(
    goal: Function,
    margins: Sequence[Function],
    equal: Sequence[bool],
    strict: Sequence[bool],
    whole: Range,
) -> Line:
    """Where a function is smallest.

    Args:
        goal: the function.
        margins: constraints, allowed where they are not below 0.
        equal: of each whether it must be 0.
        strict: of each whether it must be above 0.
        whole: the range.
    """
    with precision(BITS):
        of_slope = roots(goal.slope, whole)
        of_margins = [roots(margin, whole) for margin in margins]
        unclear = [p for r in (of_slope, *of_margins) for p in r.unclear]
        cuts = _cuts(of_slope, of_margins, whole)
        segments = _segments(cuts, goal, margins, equal)
        candidates = _candidates(cuts, segments, margins, equal, strict, whole)
        best, value, others = _best(goal, candidates)
    slopes = {s.slope for s in segments if s.allowed}
    return Line(
        best,
        value,
        others,
        tuple((_float(s.low), _float(s.high)) for s in _runs(segments)),
        tuple(_turns(of_slope, cuts, segments)),
        slopes.pop() if len(slopes) == 1 and None not in slopes else 0,
        not unclear and not any(s.doubtful for s in segments),
        tuple((_float(p.low), _float(p.high)) for p in unclear),
    )


def _float(x: Any) -> float:
    return float(x) if x.is_finite() else (float("inf") if x > 0 else float("-inf"))


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
    found.sort(key=lambda c: (_float(c.x.low), _float(c.x.high)))
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


def _segments(
    cuts: Sequence[_Cut], goal: Function, margins: Sequence[Function], equal: Sequence[bool]
) -> list[_Segment]:
    found = []
    for left, right in zip(cuts, cuts[1:], strict=False):
        low, high = left.x.high, right.x.low
        inside = middle(Interval(low, high))
        at = Interval(inside, inside)
        signs = [margin.sign(at) for margin in margins]
        slope = goal.slope.sign(at) if goal.slope.expression != 0 else 0
        allowed = all(s == 0 if e else s in (0, 1) for s, e in zip(signs, equal, strict=True))
        found.append(_Segment(low, high, allowed, slope or 0, None in signs or slope is None))
    return found


def _candidates(
    cuts: Sequence[_Cut],
    segments: Sequence[_Segment],
    margins: Sequence[Function],
    equal: Sequence[bool],
    strict: Sequence[bool],
    whole: Range,
) -> list[Candidate]:
    """The ends of what is allowed, its stationary points, and single points that are."""
    found = []
    for i, cut in enumerate(cuts):
        beside = [s for s in (segments[i - 1 : i] if i else []) + list(segments[i : i + 1])]
        others = [k for k in range(len(margins)) if k not in cut.margins]
        alone = not any(s.allowed for s in beside) and bool(cut.margins)
        if alone:
            kept = all(
                margins[k].sign(cut.x) in ((0,) if equal[k] else (0, 1)) for k in others
            )
            alone = kept
        if not (alone or any(s.allowed for s in beside)):
            continue
        open_end = cut.end and (
            whole.low_open if i == 0 else whole.high_open or not cut.x.high.is_finite()
        )
        open_end = open_end or (cut.end and not cut.x.low.is_finite())
        bounding = tuple(cut.margins)
        kind = "constraint" if bounding else "end" if cut.end else "stationary"
        attained = not open_end and not any(strict[k] for k in bounding)
        found.append(Candidate(cut.x, kind, bounding, attained))
    return found


def _best(
    goal: Function, candidates: Sequence[Candidate]
) -> tuple[Candidate | None, Interval | None, tuple[Candidate, ...]]:
    known: list[tuple[Candidate, Interval]] = []
    for candidate in candidates:
        value = goal(candidate.x)
        if value is not None:
            known.append((candidate, value))
    if not known:
        return None, None, ()
    first, least = min(known, key=lambda pair: (_float(pair[1].high), not pair[0].attained))
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


def _turns(
    of_slope: Roots, cuts: Sequence[_Cut], segments: Sequence[_Segment]
) -> Iterable[tuple[float, int]]:
    for i, cut in enumerate(cuts):
        if not cut.stationary or i == 0 or i >= len(segments):
            continue
        before, after = segments[i - 1].slope, segments[i].slope
        turn = 1 if before < 0 < after else -1 if before > 0 > after else 0
        yield float(((cut.x.low + cut.x.high) / 2).mid()), turn
