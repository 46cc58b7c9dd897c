"""Products on one piece of a box, by their logarithms.

A sum c + x is its greatest term there times 1 + (the others divided by it), so that what grows
without bound cancels; and where a product only rises or only falls with a symbol, it is taken at
the ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import sympy as sp
from flint import arb

from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    OPERATIONS,
    ZERO,
    Interval,
    add,
    least,
    middle,
    most,
    multiply,
)
from lawdsl.proof.branch_and_bound.products import (
    REAL_LINE,
    UNIT_INTERVAL,
    ZERO_INTERVAL,
    Exponent,
    Factors,
    Piece,
    PowerProduct,
    collect,
    multiplied,
    scaled,
)

LOG_OF_ZERO = -1e300  # about the logarithm of 0
_exp, _log = OPERATIONS["exp"], OPERATIONS["log"]


class LogEnclosure:
    """Products on one piece.

    Attributes:
        outside: whether the piece is a face that the box lacks: what is said of it is what
            expressions tend to there.
    """

    def __init__(self, factors: Factors, piece: Piece) -> None:
        self.factors, self.piece = factors, piece
        self._logs: dict[int, Interval] = {}
        self._greatest: dict[int, tuple[int, Interval]] = {}
        self._slopes: dict[tuple[int, sp.Symbol], Interval] = {}
        self._midpoints: dict[int, float] = {}
        self._faces: dict[tuple[tuple[sp.Symbol, int], ...], LogEnclosure] = {}

    @cached_property
    def outside(self) -> bool:
        missing = self.factors.missing
        return any(x.low == x.high and x.low in missing.get(s, ()) for s, x in self.piece.items())

    def value(self, product: PowerProduct) -> Interval:
        """A product, as far as its parts' intervals tell."""
        return _exp_of(self.log(product))

    def at_monotone_ends(self, product: PowerProduct) -> Interval:
        """The same, at the ends of what it only rises or only falls with."""
        down: list[tuple[sp.Symbol, int]] = []
        up: list[tuple[sp.Symbol, int]] = []
        for s, x in self.piece.items():
            if x.low == x.high:
                continue
            slope = self.slope(product, s)
            direction = 1 if slope.low >= 0 else -1 if slope.high <= 0 else 0
            down += [(s, -direction)] if direction and self._has_end(s, -direction) else []
            up += [(s, direction)] if direction and self._has_end(s, direction) else []
        low, high = self.face(down).log(product).low, self.face(up).log(product).high
        return _exp_of(Interval(low, high))

    def face(self, ends: Iterable[tuple[sp.Symbol, int]]) -> LogEnclosure:
        """The view of a face: symbols at their lower (-1) or upper (1) ends."""
        key = tuple(ends)
        if not key:
            return self
        if key not in self._faces:
            end_points = {}
            for s, side in key:
                end = self.piece[s].high if side > 0 else self.piece[s].low
                end_points[s] = Interval(end, end)
            self._faces[key] = LogEnclosure(self.factors, {**self.piece, **end_points})
        return self._faces[key]

    def _has_end(self, s: sp.Symbol, side: int) -> bool:
        return bool((self.piece[s].high if side > 0 else self.piece[s].low).is_finite())

    def log(self, product: PowerProduct) -> Interval:
        """The logarithm of a product."""
        total = product.scale
        exponents: dict[int, Exponent] = {}
        for number, exponent in product.exponents.items():
            self._distribute(number, exponent, exponents)
        for number, exponent in exponents.items():
            part = self.factors.all[number]
            if part.terms:
                term, rest = self._greatest_of(number)  # its own parts have been spread
                total = add(total, scaled(exponent, add(part.terms[term].scale, rest)))
            elif exponent != 0:
                total = add(total, scaled(exponent, self._log_of(number)))
        return total

    def _distribute(self, number: int, exponent: Exponent, into: dict[int, Exponent]) -> None:
        """A sum's exponent is that of its greatest term as well."""
        part = self.factors.all[number]
        collect(into, number, exponent)
        if part.terms:
            term, _ = self._greatest_of(number)
            for inner, power in part.terms[term].exponents.items():
                self._distribute(inner, multiplied(exponent, power), into)

    def _greatest_of(self, number: int) -> tuple[int, Interval]:
        """The greatest term of a sum, and the logarithm of the sum divided by it."""
        if number not in self._greatest:
            terms = self.factors.all[number].terms
            sizes = [self.log_estimate(term) for term in terms]
            best = max(range(len(terms)), key=lambda i: sizes[i])
            total = UNIT_INTERVAL
            for i, term in enumerate(terms):
                if i != best:
                    total = add(total, self.value(term.over(terms[best])))
            self._greatest[number] = best, _log(total)
        return self._greatest[number]

    def _log_of(self, number: int) -> Interval:
        """The logarithm of a part that is no sum."""
        if number not in self._logs:
            part = self.factors.all[number]
            if part.symbol is not None:
                logarithm = _log_within(self.piece[part.symbol])
            elif part.inside is not None:
                inner = self.value(part.inside)
                logarithm = part.shrinking.log(inner) if part.shrinking else inner
            else:
                assert part.value is not None
                value = part.value.on(self.piece, bounded=self.outside)
                logarithm = REAL_LINE if value is None else _log_within(OPERATIONS["abs"](value))
            self._logs[number] = logarithm
        return self._logs[number]

    def slope(self, product: PowerProduct, s: sp.Symbol) -> Interval:
        """x·∂log(product)/∂x."""
        total = ZERO_INTERVAL
        for number, exponent in product.exponents.items():
            total = add(total, scaled(exponent, self._slope_of(number, s)))
        return total

    def _slope_of(self, number: int, s: sp.Symbol) -> Interval:
        key = number, s
        if key not in self._slopes:
            part = self.factors.all[number]
            if part.symbol is not None:
                slope = UNIT_INTERVAL if part.symbol == s else ZERO_INTERVAL
            elif part.inside is not None:
                inner = self.value(part.inside)
                factor = part.shrinking.slopes(inner) if part.shrinking else inner
                slope = multiply(factor, self.slope(part.inside, s))
            elif part.terms:
                slope = self._slope_of_sum(part.terms, s)
            else:
                assert part.slopes is not None
                slope_enclosure = part.slopes.get(s)
                value = (
                    ZERO_INTERVAL
                    if slope_enclosure is None
                    else slope_enclosure.on(self.piece, bounded=self.outside)
                )
                slope = REAL_LINE if value is None else value
            self._slopes[key] = slope
        return self._slopes[key]

    def _slope_of_sum(self, terms: tuple[PowerProduct, ...], s: sp.Symbol) -> Interval:
        """The mean of the terms' slopes, each with its share of the sum."""
        slopes = [self.slope(term, s) for term in terms]
        if all(x == ZERO_INTERVAL for x in slopes):
            return ZERO_INTERVAL
        total = ZERO_INTERVAL
        for i, (term, slope) in enumerate(zip(terms, slopes, strict=True)):
            if slope != ZERO_INTERVAL:
                others = (self.value(t.over(term)) for k, t in enumerate(terms) if k != i)
                share = _inverse(reduce(add, others, UNIT_INTERVAL))
                total = add(total, multiply(share, slope))
        low, high = least([x.low for x in slopes]), most([x.high for x in slopes])
        return Interval(most([total.low, low]), least([total.high, high]))

    def log_estimate(self, product: PowerProduct) -> float:
        """About the logarithm of a product at the middle of the piece."""
        total = _float(middle(product.scale))
        for number, exponent in product.exponents.items():
            power = float(exponent) if isinstance(exponent, Fraction) else _float(exponent.low)
            total += power * self._log_midpoint(number)
        return total if not math.isnan(total) else -math.inf

    def _log_midpoint(self, number: int) -> float:
        if number not in self._midpoints:
            part = self.factors.all[number]
            if part.symbol is not None:
                midpoint = _float(middle(self.piece[part.symbol]))
                logarithm = math.log(midpoint) if midpoint > 0 else LOG_OF_ZERO
            elif part.inside is not None:
                inner = math.exp(max(-300.0, min(self.log_estimate(part.inside), 300.0)))
                logarithm = (
                    _float(part.shrinking.log(_degenerate(inner)).low) if part.shrinking else inner
                )
            elif part.terms:
                logarithm = max(self.log_estimate(term) for term in part.terms)
            else:
                assert part.value is not None
                inside = {s: Interval(m, m) for s, x in self.piece.items() for m in [middle(x)]}
                value = part.value.on(inside)
                size = abs(_float(value.low)) if value is not None else 0.0
                logarithm = math.log(size) if size > 0 else LOG_OF_ZERO
            self._midpoints[number] = logarithm
        return self._midpoints[number]


def _degenerate(x: float) -> Interval:
    return Interval(arb(x), arb(x))


def _inverse(x: Interval) -> Interval:
    """1/x of what is at least 1."""
    return Interval((1 / x.high).lower(), (1 / x.low).upper())


def _exp_of(x: Interval) -> Interval:
    return Interval(ZERO, INFINITY) if x.low.is_nan() or x.high.is_nan() else _exp(x)


def _log_within(x: Interval) -> Interval:
    """The logarithm of what is not negative, although its interval may reach below 0."""
    if x.high <= 0:
        return Interval(MINUS_INFINITY, MINUS_INFINITY)
    return _log(Interval(x.low if x.low > 0 else ZERO, x.high))


def _float(x: Any) -> float:
    if x.is_finite():
        return float(x.mid())
    return math.inf if x > 0 else -math.inf
