"""Expression, box -> its sign by branch and bound: the box is bisected until each piece is certain.

On each piece, a box of Arb intervals, the expression is enclosed (`enclosures`). Where it is
monotone in a symbol, only the face on which it is least is enclosed; otherwise the mean value form
is tried: f(x) >= f(m) + Σ min f_i'·(x_i - m_i). (Hansen and Walster (2004), Global Optimization
Using Interval Analysis, 2nd ed.; Moore, Kearfott and Cloud (2009), Introduction to Interval
Analysis, chapter 6.)

Like the calculus of signs this requires expressions that have a value on the whole box.
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
from lawdsl.proof.box import Endpoint
from lawdsl.proof.branch_and_bound.double_roots import double_root
from lawdsl.proof.branch_and_bound.enclosures import EnclosedSum
from lawdsl.proof.branch_and_bound.log_enclosures import LogEnclosure
from lawdsl.proof.branch_and_bound.products import Enclosure, Factors
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.sign import Sign

ENCLOSURE_BITS = 80  # precision of end points
POINT_BITS = 300  # precision at a single point, where terms may cancel
MAX_PIECES = 4000  # of a box
MAX_CUT_SYMBOLS = 5  # the number of pieces grows exponentially with them
MIN_LOG_WIDTH = 1e-9  # log(high/low) below which a piece is not bisected
UNBOUNDED_LOG_WIDTH = 40.0  # stands for log(high/low) of a piece that ends at 0 or infinity
MAX_LOG_DISTANCE = 150.0  # |log| of the finite end of such a piece up to which it is bisected
DOUBLE_ROOT_LOG_WIDTH = 0.5  # log(high/low) of a piece below which a double root is sought in it
# a piece that is too narrow ends the proof: a few more pieces may still give a counterexample
MAX_PIECES_AFTER_NARROWEST = 100

Piece = dict[sp.Symbol, Interval]


@dataclass(frozen=True)
class Coverage:
    """The sign of an expression by the pieces of a box.

    Attributes:
        sign: POSITIVE and NONNEGATIVE are certain; REAL: not decided.
        pieces: how many were examined.
        point: a point at which it is certainly negative.
    """

    sign: Sign
    pieces: int
    point: Mapping[sp.Symbol, Fraction] | None = None


def cover(signs: Signs, e: sp.Expr, *, limit: int = MAX_PIECES) -> Coverage:
    """Prove that an expression is positive, or nonnegative, on a box, by subdivision.

    Args:
        signs: the signs on the box; settings have their values.
        e: finite on the whole box, in independent symbols.
        limit: the greatest number of pieces.
    """
    if len(e.free_symbols - set(signs.box.settings)) > MAX_CUT_SYMBOLS:
        return Coverage(Sign.REAL, 0)
    with precision(ENCLOSURE_BITS):
        try:
            return _Subdivision(signs, e).run(limit)
        except (NoInterval, LawdslError):
            return Coverage(Sign.REAL, 0)


def sign_by_boxes(signs: Signs, e: sp.Expr, *, limit: int = MAX_PIECES) -> Sign:
    """The sign of an expression on a box, by subdivision alone, of e and then of -e.

    Args:
        signs: the signs on the box; settings have their values.
        e: finite on the whole box, in independent symbols.
        limit: the greatest number of pieces for either.
    """
    return sign_and_pieces(signs, e, limit=limit)[0]


def sign_and_pieces(signs: Signs, e: sp.Expr, *, limit: int) -> tuple[Sign, int]:
    """The sign of an expression on a box by subdivision alone, and the number of pieces examined.

    Args:
        signs: the signs on the box; settings have their values.
        e: finite on the whole box, in independent symbols.
        limit: the greatest number of pieces for e and for -e.
    """
    total = 0
    for sense in (1, -1):
        coverage = cover(signs, sense * e, limit=limit)
        total += coverage.pieces
        if coverage.sign != Sign.REAL:
            return coverage.sign if sense == 1 else -coverage.sign, total
    return Sign.REAL, total


class _Subdivision:
    """One expression on the pieces of one box."""

    def __init__(self, signs: Signs, e: sp.Expr) -> None:
        self.box, self.factors = signs.box, Factors(signs)
        self.form = EnclosedSum(self.factors, e)
        # Monotonicity compares points of the domain with faces of a piece, which may lie beyond it.
        self.displaced = Factors(signs, displaced=True) if self.box.tied else self.factors
        self.displaced_form = EnclosedSum(self.displaced, e) if self.box.tied else self.form
        self.range = {s: self._range(s) for s in self.factors.varying(e)}
        for s, interval in self.range.items():
            domain = self.box.range(s)
            ends = ((domain.lower, interval.low), (domain.upper, interval.high))
            missing = [bound for end, bound in ends if end and not end.closed]
            self.factors.missing[s] = self.displaced.missing[s] = missing
        self._double_root: tuple[sp.Expr | None, EnclosedSum] | None = None
        self.slopes = {s: EnclosedSum(self.displaced, derivative(e, s)) for s in self.range}

    def run(self, limit: int) -> Coverage:
        """Piece by piece, the larger ones first."""
        waiting: deque[Piece] = deque([self.range])
        strict, stuck, examined = True, False, 0
        while waiting and examined < limit:
            piece = waiting.popleft()
            examined += 1
            logs = LogEnclosure(self.factors, piece)
            sign = self.form.sign(logs, expected=Sign.NONNEGATIVE)
            if not sign.within(Sign.NONNEGATIVE):
                sign, piece = self._sign_on_least_face(logs)
            if sign.within(Sign.NONNEGATIVE):
                strict = strict and sign == Sign.POSITIVE
                continue
            point = {s: middle(x) for s, x in piece.items()}
            value = self._value_at(point)
            if value is not None and value.high < 0:
                # negative at a point of the box; the caller verifies that the domain contains it
                return Coverage(Sign.REAL, examined, _as_fractions(point))
            if value is not None and self._stays_above(value, piece, point):
                continue
            if self._has_double_root(piece):
                strict = False
                continue
            parts = _bisect(piece)
            if not parts and not stuck:
                stuck, limit = True, min(limit, examined + MAX_PIECES_AFTER_NARROWEST)
            waiting.extend(parts)
        if stuck or waiting:
            return Coverage(Sign.REAL, examined)
        return Coverage(Sign.POSITIVE if strict else Sign.NONNEGATIVE, examined)

    def _value_at(self, point: Mapping[sp.Symbol, Any]) -> Interval | None:
        with precision(POINT_BITS):
            return self.form.enclosure.on({s: Interval(x, x) for s, x in point.items()})

    def _range(self, symbol: sp.Symbol) -> Interval:
        domain = self.box.range(symbol)
        low, high = self._end(domain.lower), self._end(domain.upper)
        return Interval(low.low if low else MINUS_INFINITY, high.high if high else INFINITY)

    def _end(self, end: Endpoint | None) -> Interval | None:
        if end is None:
            return None
        enclosure = Enclosure(self.box, end.value).on({})
        if enclosure is None:
            raise NoInterval
        return enclosure

    def _sign_on_least_face(self, logs: LogEnclosure) -> tuple[Sign, Piece]:
        """The sign on a face of a piece where the expression is least, and the piece to bisect.

        The inequality is strict on the piece if the expression is strictly monotone at an open end.
        """
        face, outside, beyond = self._displaced_logs(logs), False, False
        for s, slope in self.slopes.items():
            x = face.piece[s]
            if x.low == x.high:
                continue
            sign = slope.sign(face)
            rising = sign.within(Sign.NONNEGATIVE)
            bound = x.low if rising else x.high
            if not (rising or sign.within(Sign.NONPOSITIVE)) or not bound.is_finite():
                continue
            if bound in self.factors.missing[s]:
                outside, beyond = True, beyond or sign.definite
            face = face.face([(s, -1 if rising else 1)])
        sign = self.displaced_form.sign(face, expected=Sign.NONNEGATIVE)
        if beyond and sign.within(Sign.NONNEGATIVE):
            sign = Sign.POSITIVE
        return sign, dict(logs.piece if outside else face.piece)

    def _displaced_logs(self, logs: LogEnclosure) -> LogEnclosure:
        """The enclosures on the same piece that hold beyond the domain too."""
        same = self.displaced is self.factors
        return logs if same else LogEnclosure(self.displaced, logs.piece)

    def _stays_above(self, value: Interval, piece: Piece, point: Mapping[sp.Symbol, Any]) -> bool:
        """Whether the mean value form is positive: f(x) >= f(m) + Σ min f_i'·(x_i - m_i) > 0."""
        # derivatives on the whole piece, also beyond the domain: no relation is used
        least = value.low
        for s, slope in self.slopes.items():
            low, high = piece[s]
            if low == high:
                continue
            steepness = slope.enclosure.on(piece)
            if steepness is None or not (low.is_finite() and high.is_finite()):
                return False
            distance = Interval((low - point[s]).lower(), (high - point[s]).upper())
            least = (least + multiply(steepness, distance).low).lower()
        return bool(least > 0)

    def _has_double_root(self, piece: Piece) -> bool:
        """Whether the piece contains an exact double root, and f'' >= 0 on it: then f >= 0."""
        if len(piece) != 1:
            return False
        ((s, (low, high)),) = piece.items()
        if self._double_root is None and _width(Interval(low, high)) < DOUBLE_ROOT_LOG_WIDTH:
            bounds = float(low.mid()), float(high.mid())
            root = double_root(self.form.e, s, bounds, self.box.settings)
            self._double_root = (root, EnclosedSum(self.displaced, derivative(self.form.e, s, s)))
        if self._double_root is None or self._double_root[0] is None:
            return False
        root, curvature = self._double_root
        enclosure = Enclosure(self.box, root).on({})
        inside = enclosure is not None and low <= enclosure.low and enclosure.high <= high
        displaced = LogEnclosure(self.displaced, piece)
        return inside and curvature.sign(displaced).within(Sign.NONNEGATIVE)


def _bisect(piece: Piece) -> list[Piece]:
    """Two halves along the widest interval; none where the piece is too narrow."""
    widths = {s: _width(x) for s, x in piece.items()}
    widest = max(widths, key=lambda s: widths[s], default=None)
    if widest is None or widths[widest] < MIN_LOG_WIDTH:
        return []
    (low, high), midpoint = piece[widest], middle(piece[widest])
    if not low < midpoint < high:
        return []
    return [piece | {widest: Interval(low, midpoint)}, piece | {widest: Interval(midpoint, high)}]


def _width(x: Interval) -> float:
    """log(high/low) of an interval; a substitute for it where an end is 0 or infinite."""
    low, high = x
    if low == high:
        return 0.0
    if low < 0 < high:
        return UNBOUNDED_LOG_WIDTH + 1
    if low < 0:
        low, high = -high, -low
    if low == 0 and not high.is_finite():
        return UNBOUNDED_LOG_WIDTH + 1
    if low == 0 or not high.is_finite():
        # less at a greater distance, so that bisection does not run off to 0 or infinity
        out = float((1 / high if low == 0 else low).log().mid())
        return UNBOUNDED_LOG_WIDTH / (1 + max(0.0, out)) ** 1.2 if out < MAX_LOG_DISTANCE else 0.0
    return float((high / low).log().mid())


def _as_fractions(point: Mapping[sp.Symbol, Any]) -> dict[sp.Symbol, Fraction] | None:
    """A point as fractions of float64 numbers; None where one is beyond their range."""
    floats = {s: float(x.mid()) for s, x in point.items()}
    if not all(map(math.isfinite, floats.values())):
        return None
    return {s: Fraction(x) for s, x in floats.items()}
