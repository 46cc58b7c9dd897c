"""Enclosures of products of powers on one piece of a box, by their logarithms.

log Π p_i^a_i = Σ a_i·log(p_i). A sum factor is its greatest term times 1 + (the others divided by
it), so that factors that grow without bound cancel. Where a product is monotone in a symbol, it is
enclosed at the ends of the symbol's interval (monotonicity test: Hansen and Walster (2004), Global
Optimization Using Interval Analysis, 2nd ed.). Interval arithmetic is that of Arb (Johansson
(2017), IEEE Transactions on Computers 66).
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

LOG_OF_ZERO = -1e300  # stands for log(0) in estimates that decide nothing
_exp, _log = OPERATIONS["exp"], OPERATIONS["log"]


class LogEnclosure:
    """Enclosures of products on one piece.

    Attributes:
        factors: the factors of all products on the box.
        piece: symbol -> interval.
        outside: whether the piece is a face that the box does not contain: enclosures there are
            those of limits.
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
        """Whether the piece is on an open end of a range, outside the box itself."""
        missing = self.factors.missing
        return any(x.low == x.high and x.low in missing.get(s, ()) for s, x in self.piece.items())

    def value(self, product: PowerProduct) -> Interval:
        """An enclosure of a product by those of its factors."""
        return _exp_of(self.log(product))

    def at_monotone_ends(self, product: PowerProduct) -> Interval:
        """An enclosure of a product; symbols in which it is monotone are at the ends of ranges."""
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
        """The enclosures on a face of the piece.

        Args:
            ends: symbols, each with the end to which it is restricted: -1 lower, 1 upper.
        """
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
        """An enclosure of the logarithm of a product."""
        total = product.scale
        exponents: dict[int, Exponent] = {}
        for number, exponent in product.exponents.items():
            self._distribute(number, exponent, exponents)
        for number, exponent in exponents.items():
            part = self.factors.all[number]
            if part.terms:
                term, rest = self._greatest_of(number)  # the rest is distributed
                total = add(total, scaled(exponent, add(part.terms[term].scale, rest)))
            elif exponent != 0:
                total = add(total, scaled(exponent, self._log_of(number)))
        return total

    def _distribute(self, number: int, exponent: Exponent, into: dict[int, Exponent]) -> None:
        """Add an exponent; that of a sum also to the factors of its greatest term."""
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
            # any term is valid; with the greatest one the ratios of the others stay near 1 or below
            best = max(range(len(terms)), key=lambda i: sizes[i])
            total = UNIT_INTERVAL
            for i, term in enumerate(terms):
                if i != best:
                    total = add(total, self.value(term.over(terms[best])))
            self._greatest[number] = best, _log(total)
        return self._greatest[number]

    def _log_of(self, number: int) -> Interval:
        """An enclosure of the logarithm of a factor that is not a sum."""
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
        """An enclosure of x·∂log(product)/∂x.

        Args:
            product: the product.
            s: the symbol x.
        """
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
        """x·∂log(Σ t_i)/∂x = Σ (t_i/Σ t_k)·x·∂log(t_i)/∂x, a weighted mean of the terms' slopes."""
        slopes = [self.slope(term, s) for term in terms]
        if all(x == ZERO_INTERVAL for x in slopes):
            return ZERO_INTERVAL
        total = ZERO_INTERVAL
        for i, (term, slope) in enumerate(zip(terms, slopes, strict=True)):
            if slope != ZERO_INTERVAL:
                others = (self.value(t.over(term)) for k, t in enumerate(terms) if k != i)
                share = _inverse(reduce(add, others, UNIT_INTERVAL))
                total = add(total, multiply(share, slope))
        # a weighted mean lies between the least and the greatest of its values
        low, high = least([x.low for x in slopes]), most([x.high for x in slopes])
        return Interval(most([total.low, low]), least([total.high, high]))

    def log_estimate(self, product: PowerProduct) -> float:
        """An estimate in float64 of the logarithm of a product at the middle of the piece."""
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
                # within the range of float64
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
    """1/x for x >= 1."""
    return Interval((1 / x.high).lower(), (1 / x.low).upper())


def _exp_of(x: Interval) -> Interval:
    return Interval(ZERO, INFINITY) if x.low.is_nan() or x.high.is_nan() else _exp(x)


def _log_within(x: Interval) -> Interval:
    """The logarithm of a nonnegative number whose enclosure may extend below 0."""
    if x.high <= 0:
        return Interval(MINUS_INFINITY, MINUS_INFINITY)
    return _log(Interval(x.low if x.low > 0 else ZERO, x.high))


def _float(x: Any) -> float:
    if x.is_finite():
        return float(x.mid())
    return math.inf if x > 0 else -math.inf
