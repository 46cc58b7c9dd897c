"""Products and sums of positive parts on pieces of a box, by their logarithms.

An interval knows nothing of what two parts have in common: x/(c + x) on [1, oo) would lie in
[0, oo]. So a product is kept as exponents over the parts it is made of, which cancel exactly; a sum
c + x is its greatest term times 1 + (the others divided by it); and where a product only rises or
only falls with a symbol, it is taken at the ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import sympy as sp
from flint import arb

from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    ONE,
    OPERATIONS,
    ZERO,
    Interval,
    NoInterval,
    Prepared,
    add,
    as_interval,
    exact_value,
    middle,
    multiply,
)
from lawdsl.compiling.tape import compile_tape
from lawdsl.proof.box import Box
from lawdsl.proof.monomials import log_slope, powers
from lawdsl.proof.sign import Sign
from lawdsl.proof.signs import DEPTH, Signs

Piece = Mapping[sp.Symbol, Interval]
Exponent = Fraction | Interval

ANYTHING = Interval(MINUS_INFINITY, INFINITY)
NOTHING = Interval(ZERO, ZERO)
UNIT = Interval(ONE, ONE)
_exp, _log = OPERATIONS["exp"], OPERATIONS["log"]


class Enclosure:
    """An expression that can be computed on pieces."""

    def __init__(self, box: Box, e: sp.Expr) -> None:
        self.inputs = sorted(e.free_symbols, key=str)
        given = {
            i: as_interval(box.settings[s]) for i, s in enumerate(self.inputs) if s in box.settings
        }
        try:
            self.tape: Prepared | None = Prepared(compile_tape([e], self.inputs), given)
        except NoInterval:
            self.tape = None

    def on(self, piece: Piece) -> Interval | None:
        """An interval that contains its values on a piece; None where it may have none."""
        if self.tape is None:
            return None
        try:
            return self.tape.run([piece.get(s) for s in self.inputs])
        except NoInterval:
            return None


@dataclass(frozen=True)
class Product:
    """c·Π part^exponent, positive or 0: the logarithm of c, and exponents by the parts' numbers."""

    scale: Interval
    exponents: Mapping[int, Exponent]

    def over(self, other: Product) -> Product:
        """The ratio of two products; what both have in common is gone."""
        exponents = dict(self.exponents)
        for part, exponent in other.exponents.items():
            exponents[part] = _difference(exponents.get(part, Fraction(0)), exponent)
        kept = {k: x for k, x in exponents.items() if x != 0}
        return Product(add(self.scale, negative(other.scale)), kept)


@dataclass(frozen=True)
class Shrinking:
    """f(u)/u for u >= 0, which falls from 1 to 0, and its slope u·f'(u)/f(u) - 1, from 0 to -1.

    With it 1 - exp(-u) is a product that vanishes with u, and not a difference.
    """

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]

    def log(self, u: Interval) -> Interval:
        return Interval(self._log_at(u.high).lower(), self._log_at(u.low).upper())

    def _log_at(self, u: Any) -> Any:
        if u == 0:
            return ZERO
        return self.value(u).log() if u.is_finite() else MINUS_INFINITY

    def slopes(self, u: Interval) -> Interval:
        low, high = (self._slope_at(end) for end in (u.high, u.low))
        return Interval(_larger(-ONE, low.lower()), _smaller(ZERO, high.upper()))

    def _slope_at(self, u: Any) -> Any:
        if u == 0:
            return ZERO
        return self.slope(u) if u.is_finite() else -ONE


DECAY = Shrinking(lambda u: -(-u).expm1() / u, lambda u: u / u.expm1() - 1)
LOG = Shrinking(lambda u: u.log1p() / u, lambda u: u / ((1 + u) * u.log1p()) - 1)


def _larger(x: Any, y: Any) -> Any:
    return y if y > x else x


def _smaller(x: Any, y: Any) -> Any:
    return y if y < x else x


@dataclass(frozen=True)
class Part:
    """What products are made of: a symbol; exp of a product; a sum of products; what a product u
    leaves of 1 - exp(-u) or log(1 + u) (`shrinking`); the modulus of anything else.

    `slopes` are x·∂log(part)/∂x of anything else, by the symbols x in it.
    """

    symbol: sp.Symbol | None = None
    inside: Product | None = None
    shrinking: Shrinking | None = None
    terms: tuple[Product, ...] = ()
    value: Enclosure | None = None
    slopes: Mapping[sp.Symbol, Enclosure] | None = None


class Parts:
    """The parts of all products on one box, each of them once."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.signs = Signs(box, valued=True, depth=DEPTH - 1)  # of what is plain to see
        self.all: list[Part] = []
        self._numbers: dict[sp.Expr, int] = {}

    def moving(self, e: sp.Expr) -> list[sp.Symbol]:
        return sorted(e.free_symbols - set(self.box.settings), key=str)

    def split(self, term: sp.Expr) -> tuple[Product, Sign, sp.Expr]:
        """A product as its positive part, the sign of its number, and what has no certain sign."""
        number, exponents, others = sp.S.One, dict[int, Exponent](), []
        scale = NOTHING
        for base, exponent in powers(term):
            whole = sp.Pow(base, exponent)
            if not self.moving(whole):
                number *= whole
            elif base is sp.E:
                self._exponential(exponent, exponents, others)
            elif self.moving(exponent) or not self._nonnegative(base, exponent):
                if self.signs.sign(whole) == Sign.POSITIVE:
                    _collect(exponents, self._number(whole), Fraction(1))
                else:
                    others.append(whole)
            else:
                power = self._exponent(exponent)
                inner = self._vanishing(base)
                if inner is not None:
                    for part, own in inner.exponents.items():
                        _collect(exponents, part, _product(own, power))
                    scale = add(scale, _times(power, inner.scale))
                _collect(exponents, self._number(base), power)
        sign = self.signs.sign(number)
        size = Enclosure(self.box, number).on({})
        if not sign.definite or size is None:
            return Product(scale, exponents), Sign.POSITIVE, sp.Mul(number, *others)
        scale = add(scale, _log(OPERATIONS["abs"](size)))
        return Product(scale, exponents), sign, sp.Mul(*others)

    def times(self, product: Product, rest: sp.Expr) -> Product:
        """A product with the modulus of something as one more part."""
        exponents = dict(product.exponents)
        _collect(exponents, self._number(rest), Fraction(1))
        return Product(product.scale, exponents)

    def _nonnegative(self, base: sp.Expr, exponent: sp.Expr) -> bool:
        under = self.signs.sign(base)
        return under == Sign.POSITIVE or (
            under.within(Sign.NONNEGATIVE) and self.signs.sign(exponent) == Sign.POSITIVE
        )

    def _exponential(
        self, inner: sp.Expr, exponents: dict[int, Exponent], others: list[sp.Expr]
    ) -> None:
        """exp(a·M + b·M') as exp(M)^a·exp(M')^b."""
        for term in sp.Add.make_args(sp.expand_mul(inner)):
            parts = sp.Mul.make_args(term)
            fixed = sp.Mul(*(p for p in parts if not self.moving(p)))
            varied = sp.Mul(*(p for p in parts if self.moving(p)))
            if varied == 1 or not self.signs.sign(varied).within(Sign.NONNEGATIVE):
                others.append(sp.exp(term))
            else:
                _collect(exponents, self._number(sp.exp(varied)), self._exponent(fixed))

    def _exponent(self, e: sp.Expr) -> Exponent:
        inputs = sorted(e.free_symbols, key=str)
        values = [self.box.settings[s] for s in inputs]
        exact = exact_value(compile_tape([e], inputs), values)
        if exact is not None:
            return exact
        found = Enclosure(self.box, e).on({})
        return ANYTHING if found is None else found

    def _number(self, e: sp.Expr) -> int:
        if e not in self._numbers:
            part = self._part(e)
            self._numbers[e] = len(self.all)
            self.all.append(part)
        return self._numbers[e]

    def _vanishing(self, e: sp.Expr) -> Product | None:
        """The product u, where an expression is 1 - exp(-u) or log(1 + u)."""
        if isinstance(e, sp.log):
            inner = e.args[0] - 1
        elif e.is_Add and len(e.args) == 2 and sp.S.One in e.args:
            decay = 1 - e
            base, exponent = next(iter(powers(decay)))
            whole = decay == sp.Pow(base, exponent)
            inner = -exponent * sp.log(base) if whole and self.moving(exponent) else sp.S.Zero
            inner = sp.expand_mul(inner) if isinstance(decay, sp.exp) else inner
        else:
            return None
        if inner == 0 or not self.moving(inner):
            return None
        product, sign, rest = self.split(inner)
        return product if rest == 1 and sign == Sign.POSITIVE else None

    def _part(self, e: sp.Expr) -> Part:
        if e.is_Symbol:
            return Part(symbol=e)
        inner = self._vanishing(e)
        if inner is not None:
            return Part(inside=inner, shrinking=LOG if isinstance(e, sp.log) else DECAY)
        if isinstance(e, sp.exp):
            inside, sign, rest = self.split(e.args[0])
            if rest == 1 and sign == Sign.POSITIVE:
                return Part(inside=inside)
        if e.is_Add:
            terms = [self.split(term) for term in e.args]
            if all(rest == 1 and sign == Sign.POSITIVE for _, sign, rest in terms):
                return Part(terms=tuple(product for product, _, _ in terms))
        slopes = {s: Enclosure(self.box, log_slope(self.signs, e, s)) for s in self.moving(e)}
        return Part(value=Enclosure(self.box, e), slopes=slopes)


class View:
    """Products on one piece."""

    def __init__(self, parts: Parts, piece: Piece) -> None:
        self.parts, self.piece = parts, piece
        self._logs: dict[int, Interval] = {}
        self._greatest: dict[int, tuple[int, Interval]] = {}
        self._slopes: dict[tuple[int, sp.Symbol], Interval] = {}
        self._points: dict[int, float] = {}
        self._faces: dict[tuple[tuple[sp.Symbol, int], ...], View] = {}

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
                total = add(total, _times(exponent, add(part.terms[term].scale, rest)))
            elif exponent != 0:
                total = add(total, _times(exponent, self._log_of(number)))
        return total

    def _spread(self, number: int, exponent: Exponent, into: dict[int, Exponent]) -> None:
        """A sum's exponent is that of its greatest term as well."""
        part = self.parts.all[number]
        _collect(into, number, exponent)
        if part.terms:
            term, _ = self._greatest_of(number)
            for inner, power in part.terms[term].exponents.items():
                self._spread(inner, _product(exponent, power), into)

    def _greatest_of(self, number: int) -> tuple[int, Interval]:
        """The greatest term of a sum, and the logarithm of the sum divided by it."""
        if number not in self._greatest:
            terms = self.parts.all[number].terms
            sizes = [self._about(term) for term in terms]
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
                value = part.value.on(self.piece)
                found = ANYTHING if value is None else _log_within(OPERATIONS["abs"](value))
            self._logs[number] = found
        return self._logs[number]

    def slope(self, product: Product, s: sp.Symbol) -> Interval:
        """x·∂log(product)/∂x."""
        total = NOTHING
        for number, exponent in product.exponents.items():
            total = add(total, _times(exponent, self._slope_of(number, s)))
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
                value = NOTHING if of is None else of.on(self.piece)
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
        low = min((x.low for x in slopes), key=_float)
        high = max((x.high for x in slopes), key=_float)
        return Interval(
            total.low if total.low > low else low, total.high if total.high < high else high
        )

    def _about(self, product: Product) -> float:
        """About the logarithm of a product inside the piece."""
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
                found = math.log(at) if at > 0 else -1e300
            elif part.inside is not None:
                inner = math.exp(max(-300.0, min(self._about(part.inside), 300.0)))
                found = _float(part.shrinking.log(_at(inner)).low) if part.shrinking else inner
            elif part.terms:
                found = max(self._about(term) for term in part.terms)
            else:
                assert part.value is not None
                inside = {s: Interval(m, m) for s, x in self.piece.items() for m in [middle(x)]}
                value = part.value.on(inside)
                size = abs(_float(value.low)) if value is not None else 0.0
                found = math.log(size) if size > 0 else -1e300
            self._points[number] = found
        return self._points[number]

    def inside(self, product: Product) -> float:
        """About the logarithm of a product at the middle of the piece."""
        return self._about(product)


def _at(x: float) -> Interval:
    return Interval(arb(x), arb(x))


def _collect(exponents: dict[int, Exponent], number: int, exponent: Exponent) -> None:
    before = exponents.get(number, Fraction(0))
    exponents[number] = _sum(before, exponent)


def _sum(x: Exponent, y: Exponent) -> Exponent:
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x + y
    return add(as_interval(x), as_interval(y))


def _difference(x: Exponent, y: Exponent) -> Exponent:
    return _sum(x, -y if isinstance(y, Fraction) else negative(y))


def _product(x: Exponent, y: Exponent) -> Exponent:
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    return multiply(as_interval(x), as_interval(y))


def _times(exponent: Exponent, x: Interval) -> Interval:
    if isinstance(exponent, Fraction):
        if exponent == 1:
            return x
        if exponent == -1:
            return negative(x)
    return multiply(as_interval(exponent), x)


def negative(x: Interval) -> Interval:
    return Interval(-x.high, -x.low)


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


def _float(x: object) -> float:
    found = float(x.mid()) if x.is_finite() else (math.inf if x > 0 else -math.inf)  # type: ignore[attr-defined,operator]
    return found
