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
    ANYTHING,
    NOTHING,
    UNIT,
    Exponent,
    Parts,
    Piece,
    Product,
    collect,
    multiplied,
    scaled,
)

LOWEST = -1e300  # about the logarithm of 0
_exp, _log = OPERATIONS["exp"], OPERATIONS["log"]


class View:
    """Products on one piece.

    Attributes:
        outside: whether the piece is a face that the box lacks: what is said of it is what
            expressions tend to there.
    """

    def __init__(self, parts: Parts, piece: Piece) -> None:
        self.parts, self.piece = parts, piece
        self._logs: dict[int, Interval] = {}
        self._greatest: dict[int, tuple[int, Interval]] = {}
        self._slopes: dict[tuple[int, sp.Symbol], Interval] = {}
        self._points: dict[int, float] = {}
        self._faces: dict[tuple[tuple[sp.Symbol, int], ...], View] = {}

    @cached_property
    def outside(self) -> bool:
        missing = self.parts.missing
        return any(x.low == x.high and x.low in missing.get(s, ()) for s, x in self.piece.items())

    def value(self, product: Product) -> Interval:
        """A product, as far as its parts' intervals tell."""
        return _exp_of(self.log(product))

    def narrowly(self, product: Product) -> Interval:
        """The same, at the ends of what it only rises or only falls with."""
        down: list[tuple[sp.Symbol, int]] = []
        up: list[tuple[sp.Symbol, int]] = []
        for s, x in self.piece.items():
            if x.low == x.high:
                continue
            slope = self.slope(product, s)
            way = 1 if slope.low >= 0 else -1 if slope.high <= 0 else 0
            down += [(s, -way)] if way and self._has_end(s, -way) else []
            up += [(s, way)] if way and self._has_end(s, way) else []
        low, high = self.face(down).log(product).low, self.face(up).log(product).high
        return _exp_of(Interval(low, high))

    def face(self, ends: Iterable[tuple[sp.Symbol, int]]) -> View:
        """The view of a face: symbols at their lower (-1) or upper (1) ends."""
        key = tuple(ends)
        if not key:
            return self
        if key not in self._faces:
            there = {}
            for s, way in key:
                end = self.piece[s].high if way > 0 else self.piece[s].low
                there[s] = Interval(end, end)
            self._faces[key] = View(self.parts, {**self.piece, **there})
        return self._faces[key]

    def _has_end(self, s: sp.Symbol, way: int) -> bool:
        return bool((self.piece[s].high if way > 0 else self.piece[s].low).is_finite())

    def log(self, product: Product) -> Interval:
        """The logarithm of a product."""
        total = product.scale
        exponents: dict[int, Exponent] = {}
        for number, exponent in product.exponents.items():
            self._spread(number, exponent, exponents)
        for number, exponent in exponents.items():
            part = self.parts.all[number]
            if part.terms:
                term, rest = self._greatest_of(number)  # its own parts have been spread
                total = add(total, scaled(exponent, add(part.terms[term].scale, rest)))
            elif exponent != 0:
                total = add(total, scaled(exponent, self._log_of(number)))
        return total

    def _spread(self, number: int, exponent: Exponent, into: dict[int, Exponent]) -> None:
        """A sum's exponent is that of its greatest term as well."""
        part = self.parts.all[number]
        collect(into, number, exponent)
        if part.terms:
            term, _ = self._greatest_of(number)
            for inner, power in part.terms[term].exponents.items():
                self._spread(inner, multiplied(exponent, power), into)

    def _greatest_of(self, number: int) -> tuple[int, Interval]:
        """The greatest term of a sum, and the logarithm of the sum divided by it."""
        if number not in self._greatest:
            terms = self.parts.all[number].terms
            sizes = [self.about(term) for term in terms]
            best = max(range(len(terms)), key=lambda i: sizes[i])
            total = UNIT
            for i, term in enumerate(terms):
                if i != best:
                    total = add(total, self.value(term.over(terms[best])))
            self._greatest[number] = best, _log(total)
        return self._greatest[number]

    def _log_of(self, number: int) -> Interval:
        """The logarithm of a part that is no sum."""
        if number not in self._logs:
            part = self.parts.all[number]
            if part.symbol is not None:
                found = _log_within(self.piece[part.symbol])
            elif part.inside is not None:
                inner = self.value(part.inside)
                found = part.shrinking.log(inner) if part.shrinking else inner
            else:
                assert part.value is not None
                value = part.value.on(self.piece, bounded=self.outside)
                found = ANYTHING if value is None else _log_within(OPERATIONS["abs"](value))
            self._logs[number] = found
        return self._logs[number]

    def slope(self, product: Product, s: sp.Symbol) -> Interval:
        """x·∂log(product)/∂x."""
        total = NOTHING
        for number, exponent in product.exponents.items():
            total = add(total, scaled(exponent, self._slope_of(number, s)))
        return total

    def _slope_of(self, number: int, s: sp.Symbol) -> Interval:
        key = number, s
        if key not in self._slopes:
            part = self.parts.all[number]
            if part.symbol is not None:
                found = UNIT if part.symbol == s else NOTHING
            elif part.inside is not None:
                inner = self.value(part.inside)
                factor = part.shrinking.slopes(inner) if part.shrinking else inner
                found = multiply(factor, self.slope(part.inside, s))
            elif part.terms:
                found = self._slope_of_sum(part.terms, s)
            else:
                assert part.slopes is not None
                of = part.slopes.get(s)
                value = NOTHING if of is None else of.on(self.piece, bounded=self.outside)
                found = ANYTHING if value is None else value
            self._slopes[key] = found
        return self._slopes[key]

    def _slope_of_sum(self, terms: tuple[Product, ...], s: sp.Symbol) -> Interval:
        """The mean of the terms' slopes, each with its share of the sum."""
        slopes = [self.slope(term, s) for term in terms]
        if all(x == NOTHING for x in slopes):
            return NOTHING
        total = NOTHING
        for i, (term, slope) in enumerate(zip(terms, slopes, strict=True)):
            if slope != NOTHING:
                others = (self.value(t.over(term)) for k, t in enumerate(terms) if k != i)
                share = _inverse(reduce(add, others, UNIT))
                total = add(total, multiply(share, slope))
        low, high = least([x.low for x in slopes]), most([x.high for x in slopes])
        return Interval(most([total.low, low]), least([total.high, high]))

    def about(self, product: Product) -> float:
        """About the logarithm of a product at the middle of the piece."""
        total = _float(middle(product.scale))
        for number, exponent in product.exponents.items():
            power = float(exponent) if isinstance(exponent, Fraction) else _float(exponent.low)
            total += power * self._point(number)
        return total if not math.isnan(total) else -math.inf

    def _point(self, number: int) -> float:
        if number not in self._points:
            part = self.parts.all[number]
            if part.symbol is not None:
                at = _float(middle(self.piece[part.symbol]))
                found = math.log(at) if at > 0 else LOWEST
            elif part.inside is not None:
                inner = math.exp(max(-300.0, min(self.about(part.inside), 300.0)))
                found = _float(part.shrinking.log(_at(inner)).low) if part.shrinking else inner
            elif part.terms:
                found = max(self.about(term) for term in part.terms)
            else:
                assert part.value is not None
                inside = {s: Interval(m, m) for s, x in self.piece.items() for m in [middle(x)]}
                value = part.value.on(inside)
                size = abs(_float(value.low)) if value is not None else 0.0
                found = math.log(size) if size > 0 else LOWEST
            self._points[number] = found
        return self._points[number]


def _at(x: float) -> Interval:
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
