"""The sign of an expression on a box, by numbers: the box is cut up until each piece is certain.

Each piece is a box of intervals of Arb, on which the expression is enclosed (`enclosures`). Where
it is monotone in a symbol there, only the face is looked at on which it is least.

Like the calculus of signs this looks at expressions that have a value on the whole box.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    Interval,
    NoInterval,
    middle,
    multiply,
    precision,
)
from lawdsl.core.diagnostics import LawdslError
from lawdsl.law.algebra import derivative
from lawdsl.proof.box import Box, End
from lawdsl.proof.branch_and_bound.double_roots import touching_point
from lawdsl.proof.branch_and_bound.enclosures import EnclosedSum
from lawdsl.proof.branch_and_bound.log_enclosures import View
from lawdsl.proof.branch_and_bound.products import Enclosure, Parts
from lawdsl.proof.signs.sign import Sign

BITS = 80  # of an end point
POINT_BITS = 300  # at a point, where terms may cancel
PIECES = 4000  # of a box
SYMBOLS = 5  # that are cut
NARROW = 1e-9  # how wide a piece must be to be cut, in powers of e
FAR = 40.0  # how wide a piece counts as that begins or ends at 0 or infinity
OUT = 150.0  # how far out, in powers of e, such a piece may begin to be cut
SMALL = 0.5  # how wide a piece may be in which it is asked where the expression touches 0
LAST = 100  # pieces looked at for a counter-example once one cannot be cut any more

Piece = dict[sp.Symbol, Interval]


@dataclass(frozen=True)
class Covered:
    """What the pieces of a box say of an expression.

    Attributes:
        sign: POSITIVE and NONNEGATIVE are certain; REAL says nothing.
        pieces: how many were looked at.
        point: a point at which it is certainly negative.
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
    if len(e.free_symbols - set(box.settings)) > SYMBOLS:
        return Covered(Sign.REAL, 0)
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
        self.box, self.parts = box, Parts(box)
        self.form = EnclosedSum(self.parts, e)
        self.range = {s: self._range(s) for s in self.parts.moving(e)}
        for s, whole in self.range.items():
            domain = box.range(s)
            ends = ((domain.lower, whole.low), (domain.upper, whole.high))
            self.parts.missing[s] = [at for end, at in ends if end and not end.closed]
        self._touch: tuple[sp.Expr | None, EnclosedSum] | None = None
        self.slopes = {s: EnclosedSum(self.parts, derivative(e, s)) for s in self.range}

    def run(self, limit: int) -> Covered:
        """Piece by piece, the larger ones first."""
        waiting: deque[Piece] = deque([self.range])
        strict, stuck, done = True, False, 0
        while waiting and done < limit:
            piece = waiting.popleft()
            done += 1
            view = View(self.parts, piece)
            sign = self.form.sign(view, wanted=Sign.NONNEGATIVE)
            if not sign.within(Sign.NONNEGATIVE):
                sign, piece = self._on_its_face(view)
            if sign.within(Sign.NONNEGATIVE):
                strict = strict and sign == Sign.POSITIVE
                continue
            point = {s: middle(x) for s, x in piece.items()}
            there = self._at(point)
            if there is not None and there.high < 0:
                return Covered(Sign.REAL, done, _as_fractions(point))
            if there is not None and self._stays_above(there, piece, point):
                continue
            if self._touched(piece):
                strict = False
                continue
            parts = _cut(piece)
            if not parts and not stuck:
                stuck, limit = True, min(limit, done + LAST)
            waiting.extend(parts)
        if stuck or waiting:
            return Covered(Sign.REAL, done)
        return Covered(Sign.POSITIVE if strict else Sign.NONNEGATIVE, done)

    def _at(self, point: Mapping[sp.Symbol, Any]) -> Interval | None:
        with precision(POINT_BITS):
            return self.form.whole.on({s: Interval(x, x) for s, x in point.items()})

    def _range(self, symbol: sp.Symbol) -> Interval:
        found = self.box.range(symbol)
        low, high = self._end(found.lower), self._end(found.upper)
        return Interval(low.low if low else MINUS_INFINITY, high.high if high else INFINITY)

    def _end(self, end: End | None) -> Interval | None:
        if end is None:
            return None
        found = Enclosure(self.box, end.at).on({})
        if found is None:
            raise NoInterval
        return found

    def _on_its_face(self, view: View) -> tuple[Sign, Piece]:
        """The sign on the face of a piece on which the expression is least, and what is left to cut.

        It is greater all over the piece if it changes all the way from an end that the domain lacks.
        """
        face, outside, beyond = view, False, False
        for s, slope in self.slopes.items():
            x = face.piece[s]
            if x.low == x.high:
                continue
            sign = slope.sign(face)
            rising = sign.within(Sign.NONNEGATIVE)
            at = x.low if rising else x.high
            if not (rising or sign.within(Sign.NONPOSITIVE)) or not at.is_finite():
                continue
            if at in self.parts.missing[s]:
                outside, beyond = True, beyond or sign.definite
            face = face.face([(s, -1 if rising else 1)])
        sign = self.form.sign(face, wanted=Sign.NONNEGATIVE)
        if beyond and sign.within(Sign.NONNEGATIVE):
            sign = Sign.POSITIVE
        return sign, dict(view.piece if outside else face.piece)

    def _stays_above(self, value: Interval, piece: Piece, point: Mapping[sp.Symbol, Any]) -> bool:
        """Whether it is positive by its value inside and the slopes: it falls by no more."""
        least = value.low
        for s, slope in self.slopes.items():
            low, high = piece[s]
            if low == high:
                continue
            steepness = slope.whole.on(piece)
            if steepness is None or not (low.is_finite() and high.is_finite()):
                return False
            distance = Interval((low - point[s]).lower(), (high - point[s]).upper())
            least = (least + multiply(steepness, distance).low).lower()
        return bool(least > 0)

    def _touched(self, piece: Piece) -> bool:
        """Whether an expression of one symbol is 0 at a place of the piece, and least there."""
        if len(piece) != 1:
            return False
        ((s, (low, high)),) = piece.items()
        if self._touch is None and _width(Interval(low, high)) < SMALL:
            within = float(low.mid()), float(high.mid())
            place = touching_point(self.form.e, s, within, self.box.settings)
            self._touch = (place, EnclosedSum(self.parts, derivative(self.form.e, s, s)))
        if self._touch is None or self._touch[0] is None:
            return False
        place, bend = self._touch
        at = Enclosure(self.box, place).on({})
        inside = at is not None and low <= at.low and at.high <= high
        return inside and bend.sign(View(self.parts, piece)).within(Sign.NONNEGATIVE)


def _cut(piece: Piece) -> list[Piece]:
    """Two halves, cut where the piece is widest; none where it is too narrow."""
    widths = {s: _width(x) for s, x in piece.items()}
    widest = max(widths, key=lambda s: widths[s], default=None)
    if widest is None or widths[widest] < NARROW:
        return []
    (low, high), at = piece[widest], middle(piece[widest])
    if not low < at < high:
        return []
    return [piece | {widest: Interval(low, at)}, piece | {widest: Interval(at, high)}]


def _width(x: Interval) -> float:
    """How many powers of e an interval spans."""
    low, high = x
    if low == high:
        return 0.0
    if low < 0 < high:
        return FAR + 1
    if low < 0:
        low, high = -high, -low
    if low == 0 and not high.is_finite():
        return FAR + 1
    if low == 0 or not high.is_finite():
        out = float((1 / high if low == 0 else low).log().mid())
        return FAR / (1 + max(0.0, out)) ** 1.2 if out < OUT else 0.0
    return float((high / low).log().mid())


def _as_fractions(point: Mapping[sp.Symbol, Any]) -> dict[sp.Symbol, Fraction] | None:
    """A point as numbers that a user can read; None where one is beyond the range of floats."""
    floats = {s: float(x.mid()) for s, x in point.items()}
    if not all(map(math.isfinite, floats.values())):
        return None
    return {s: Fraction(x) for s, x in floats.items()}
