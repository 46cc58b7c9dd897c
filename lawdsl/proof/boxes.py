"""The sign of an expression on a box, by numbers: the box is cut up until each piece is certain.

On each piece the expression is enclosed in an interval of Arb. Two things make the pieces few, and
let them be infinite: a sum is divided by its greatest term there, so that only ratios of terms are
enclosed, whatever their size; and where the expression, or a ratio, is monotone in a symbol, that
symbol is put at an end.

Like the calculus of signs this looks at expressions that have a value on the whole box.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import sympy as sp

from lawdsl.algebra import derivative
from lawdsl.compiling.arrays import evaluate
from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    Interval,
    NoInterval,
    as_interval,
    Prepared,
    multiply,
    precision,
    run,
    sign_of,
)
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.diagnostics import LawdslError
from lawdsl.proof.box import Box, End
from lawdsl.proof.limits import at_infinity
from lawdsl.proof.monomials import expanded, log_slope, merged, powers
from lawdsl.proof.sign import Sign
from lawdsl.proof.signs import Signs

BITS = 80  # of an end point
PIECES = 4000  # of a box
SYMBOLS = 5  # that are cut
FAR = 40.0  # how wide a piece with an end at 0 or infinity counts as, in powers of e

Piece = dict[sp.Symbol, Interval]


@dataclass(frozen=True)
class Covered:
    """What the pieces of a box say of an expression.

    Attributes:
        sign: POSITIVE, NONNEGATIVE and their opposites are certain; REAL says nothing.
        pieces: how many were looked at.
        point: a point at which it certainly has the opposite of the sign that was looked for.
    """

    sign: Sign
    pieces: int
    point: Mapping[sp.Symbol, Fraction] | None = None


def cover(box: Box, e: sp.Expr, *, limit: int = PIECES) -> Covered:
    """Show that an expression is positive, or not negative, on a box, by cutting it up.

    Args:
        box: the domain; settings have their values.
        e: finite on the whole box, in independent symbols.
        limit: the number of pieces.
    """
    with precision(BITS):
        try:
            return _Cutting(box, e).run(limit)
        except (NoInterval, LawdslError):
            return Covered(Sign.REAL, 0)


def sign_by_boxes(box: Box, e: sp.Expr, *, limit: int = PIECES) -> Sign:
    """The sign of an expression on a box, by pieces alone: e, or else -e, is not negative."""
    return sign_and_pieces(box, e, limit=limit)[0]


def sign_and_pieces(box: Box, e: sp.Expr, *, limit: int) -> tuple[Sign, int]:
    """The same, and how many pieces it took."""
    total = 0
    for sense in (1, -1):
        found = cover(box, sense * e, limit=limit)
        total += found.pieces
        if found.sign != Sign.REAL:
            return found.sign if sense == 1 else -found.sign, total
    return Sign.REAL, total


class _Cutting:
    """One expression on the pieces of one box."""

    def __init__(self, box: Box, e: sp.Expr) -> None:
        self.box = box
        self.symbols = sorted(e.free_symbols - set(box.settings), key=str)
        self.given = {s: as_interval(v) for s, v in box.settings.items()}
        self.floats = {s: float(v) for s, v in box.settings.items()}
        self.form = _Sum(self, e)
        self.slopes = {s: _Sum(self, derivative(e, s)) for s in self.symbols}

    def run(self, limit: int) -> Covered:
        """Piece by piece, the larger ones first."""
        if len(self.symbols) > SYMBOLS:
            return Covered(Sign.REAL, 0)
        waiting = deque([{s: self._range(s) for s in self.symbols}])
        strict, stuck, done = True, False, 0
        while waiting and done < limit:
            piece = waiting.popleft()
            done += 1
            sign = self.form.sign(piece)
            if sign is None:
                least, beyond = self._least(piece)
                sign = self.form.sign(least)
                sign = 1 if sign == 0 and beyond else sign
                piece = piece if beyond else least
            if sign is not None and sign >= 0:
                strict = strict and sign > 0
                continue
            middle = {s: _middle(x) for s, x in piece.items()}
            point = {s: Interval(x, x) for s, x in middle.items()}
            there = self.form.whole.on(point)
            if sign == -1 or there is not None and there.high < 0:
                return Covered(Sign.REAL, done, {s: _fraction(x) for s, x in middle.items()})
            if there is not None and self._above(there, piece, point):
                continue
            parts = self._cut(piece)
            stuck = stuck or not parts
            waiting.extend(parts)
        if stuck or waiting:
            return Covered(Sign.REAL, done)
        return Covered(Sign.POSITIVE if strict else Sign.NONNEGATIVE, done)

    def _range(self, symbol: sp.Symbol) -> Interval:
        found = self.box.range(symbol)
        low, high = self._end(found.lower), self._end(found.upper)
        return Interval(low.low if low else MINUS_INFINITY, high.high if high else INFINITY)

    def _end(self, end: End | None) -> Interval | None:
        if end is None:
            return None
        known = sorted(end.at.free_symbols, key=str)
        return as_interval(run(compile_tape([end.at], known), [self.given[s] for s in known])[0])

    def _least(self, piece: Piece) -> tuple[Piece, bool]:
        """The face of a piece on which the expression is least, and whether the domain lacks it.

        Then the expression is greater all over the piece, if it is finite on that face.
        """
        piece, beyond = dict(piece), False
        for s, slope in self.slopes.items():
            if piece[s].low == piece[s].high:
                continue
            sign = slope.sign(piece, either=True)
            if sign is None:
                continue
            low = sign >= 0
            at = piece[s].low if low else piece[s].high
            if not at.is_finite():
                continue
            domain = self.box.range(s)
            end = domain.lower if low else domain.upper
            whole = self._range(s)
            outside = end is not None and not end.closed and at == (whole.low if low else whole.high)
            if outside and sign == 0:
                continue
            beyond |= outside
            piece[s] = Interval(at, at)
        return piece, beyond

    def _above(self, value: Interval, piece: Piece, point: Piece) -> bool:
        """Whether it is positive by its value inside and the slopes: it falls by no more."""
        least = value.low
        for s, slope in self.slopes.items():
            if piece[s].low == piece[s].high:
                continue
            steepness = slope.whole.on(piece)
            if steepness is None or not (piece[s].low.is_finite() and piece[s].high.is_finite()):
                return False
            at = point[s].low
            distance = Interval((piece[s].low - at).lower(), (piece[s].high - at).upper())
            least = (least + multiply(steepness, distance).low).lower()
            if not least > 0:
                return False
        return bool(least > 0)

    def _cut(self, piece: Piece) -> list[Piece]:
        """Two halves, cut where the piece is widest."""
        widths = {s: _width(x) for s, x in piece.items()}
        widest = max(widths, key=lambda s: widths[s], default=None)
        if widest is None or widths[widest] < 1e-9:
            return []
        low, high = piece[widest]
        middle = _middle(piece[widest])
        if not low < middle < high:
            return []
        return [piece | {widest: Interval(middle, high)}, piece | {widest: Interval(low, middle)}]


class _Sum:
    """An expression as it is, and as a sum of terms to be divided by the greatest of them."""

    def __init__(self, cutting: _Cutting, e: sp.Expr) -> None:
        self.cutting, self.e = cutting, e
        self.whole = _Tape(cutting, e)
        self.ratios: dict[int, list[_Ratio] | None] = {}

    @cached_property
    def signs(self) -> Signs:
        return Signs(self.cutting.box, valued=True)

    @cached_property
    def terms(self) -> list[sp.Expr]:
        found = expanded(self.signs, self.e)
        return [] if found is None else found[1]

    @cached_property
    def each(self) -> list[_Tape]:
        return [_Tape(self.cutting, term) for term in self.terms]

    def _sizes(self, piece: Piece) -> list[float]:
        """About the terms' values inside a piece; 0 where they have none."""
        values = [float(_middle(piece[s])) if s in piece else self.cutting.floats[s] for s in self.inputs]
        found = [float(x) for x in evaluate(self.floating, values)]
        return [x if math.isfinite(x) else 0.0 for x in found]

    @cached_property
    def inputs(self) -> list[sp.Symbol]:
        return sorted(set().union(*(t.free_symbols for t in self.terms)), key=str)

    @cached_property
    def floating(self) -> Tape:
        return compile_tape(self.terms, self.inputs)

    def sign(self, piece: Piece, *, either: bool = False) -> int | None:
        """The certain sign on a piece: 1, or 0 for not negative; -1 for certainly negative.

        With `either`: 1 or -1 for a definite sign; 0 for not negative.
        """
        value = self.whole.on(piece)
        if value is not None:
            if value.low > 0:
                return 1
            if value.high < 0:
                return -1
            if value.low == 0:
                return 0
        if len(self.terms) < 2:
            return None
        sizes = self._sizes(piece)
        greatest = max(range(len(sizes)), key=lambda i: abs(sizes[i]))
        if not either and sizes[greatest] < 0:
            return None
        own = self.signs.sign(self.terms[greatest])
        if own not in (Sign.POSITIVE, Sign.NEGATIVE):
            here = self.each[greatest].on(piece)
            known = None if here is None else sign_of(here)
            if not known:
                return None
            own = Sign.POSITIVE if known > 0 else Sign.NEGATIVE
        rest = [ratio.bounds(piece) for ratio in self._ratios(greatest)]
        total = 1
        for found in rest:
            if found is None:
                return None
            total = (total + found.low).lower()
        if total > 0:
            return 1 if own == Sign.POSITIVE else -1
        return 0 if total == 0 and own == Sign.POSITIVE else None

    def _ratios(self, greatest: int) -> list[_Ratio]:
        if greatest not in self.ratios:
            below = self.terms[greatest]
            self.ratios[greatest] = [
                _Ratio(self, merged(self.signs, t / below))
                for i, t in enumerate(self.terms)
                if i != greatest
            ]
        return self.ratios[greatest]  # type: ignore[return-value]


class _Ratio:
    """The ratio of two terms, bounded at corners where its logarithm is monotone."""

    def __init__(self, of: _Sum, ratio: sp.Expr) -> None:
        self.of = of
        fixed, moving = [], []
        for base, exponent in powers(ratio):
            part = sp.Pow(base, exponent)
            (moving if part.free_symbols - set(of.cutting.given) else fixed).append(part)
        self.coefficient = _Tape(of.cutting, sp.Mul(*fixed))
        self.rest = sp.Mul(*moving)
        self.whole = _Tape(of.cutting, self.rest)
        self.slopes: dict[sp.Symbol, _Slope] = {}
        self.limits: dict[sp.Symbol, _Tape | None] = {}
        if of.signs.sign(self.rest) == Sign.POSITIVE:
            for s in sorted(self.rest.free_symbols - set(of.cutting.given), key=str):
                if sum(s in (b**x).free_symbols for b, x in powers(self.rest)) > 1:
                    self.slopes[s] = _Slope(of, log_slope(of.signs, self.rest, s))

    def bounds(self, piece: Piece) -> Interval | None:
        least, most = dict(piece), dict(piece)
        beyond: list[tuple[sp.Symbol, int]] = []
        for s, slope in self.slopes.items():
            way = 0 if piece[s].low == piece[s].high else slope.way(piece)
            if way == 0:
                continue
            ends = piece[s] if way > 0 else piece[s][::-1]
            for end, face in zip(ends, (least, most), strict=True):
                if end.is_finite():
                    face[s] = Interval(end, end)
                elif end > 0:
                    beyond.append((s, way))
        factor, below, above = self.coefficient.on({}), self.whole.on(least), self.whole.on(most)
        if below is None or above is None or factor is None:
            return None
        low, high = below.low, above.high
        for s, way in beyond:
            limit = self._limit(s)
            if limit is not None and way > 0:
                at = limit.on(most)
                high = at.high if at is not None and at.high < high else high
            elif limit is not None:
                at = limit.on(least)
                low = at.low if at is not None and at.low > low else low
        return multiply(factor, Interval(low, high))

    def _limit(self, s: sp.Symbol) -> _Tape | None:
        """What it goes to as a symbol goes to infinity."""
        if s not in self.limits:
            value = at_infinity(self.of.signs, self.rest, s, 1)
            self.limits[s] = None if value is None else _Tape(self.of.cutting, value)
        return self.limits[s]


class _Slope:
    """Whether something rises or falls on a piece, by the sign of its slope."""

    def __init__(self, of: _Sum, slope: sp.Expr) -> None:
        sign = of.signs.sign(slope)
        self.everywhere = 1 if sign.within(Sign.NONNEGATIVE) else -1 if sign.within(Sign.NONPOSITIVE) else 0
        above, below = sp.together(slope).as_numer_denom()
        self.tape = _Tape(of.cutting, sp.expand_mul(above) / below)

    def way(self, piece: Piece) -> int:
        """1 where it never falls, -1 where it never rises, 0 where that is not known."""
        if self.everywhere:
            return self.everywhere
        value = self.tape.on(piece)
        if value is None:
            return 0
        return 1 if value.low >= 0 else -1 if value.high <= 0 else 0


class _Tape:
    """An expression that can be computed on pieces."""

    def __init__(self, cutting: _Cutting, e: sp.Expr) -> None:
        self.inputs = sorted(e.free_symbols, key=str)
        given = cutting.given
        fixed = {i: given[s] for i, s in enumerate(self.inputs) if s in given}
        try:
            self.prepared: Prepared | None = Prepared(compile_tape([e], self.inputs), fixed)
        except NoInterval:
            self.prepared = None

    def on(self, piece: Piece) -> Interval | None:
        """An interval that contains its values on a piece; None where it may have none."""
        if self.prepared is None:
            return None
        try:
            return self.prepared.run([piece.get(s) for s in self.inputs])
        except NoInterval:
            return None


def _middle(x: Interval):  # type: ignore[no-untyped-def]
    """A number inside, in the sense of powers of ten; where there is no end, further out."""
    low, high = x
    from flint import arb

    if low == high:
        return low
    if low < 0 < high:
        return arb(0)
    if low < 0:
        return -_middle(Interval(-high, -low))
    if not high.is_finite():
        return arb(1) if low < arb(0.5) else (low * 16).mid()
    if low == 0:
        return (high / 16).mid()
    if high > 4 * low:
        return (low * high).sqrt().mid()
    return ((low + high) / 2).mid()


def _width(x: Interval) -> float:
    """How many powers of e a piece spans."""
    low, high = x
    if low == high:
        return 0.0
    if low < 0 < high:
        return FAR + 1
    if low < 0:
        low, high = -high, -low
    if low == 0 and not high.is_finite():
        return FAR + 1
    if low == 0:
        return FAR / (1 + max(0.0, -float(high.log().mid())) / 8)
    if not high.is_finite():
        return FAR / (1 + max(0.0, float(low.log().mid())) / 8)
    return float((high / low).log().mid())


def _fraction(x) -> Fraction:  # type: ignore[no-untyped-def]
    return Fraction(float(x.mid()))
