"""Terms of a sum -> products of powers of nonnegative factors, for all pieces of a box.

Interval arithmetic ignores that operands depend on each other: the enclosure of x/(c + x) on [1,
oo) would be [0, oo] (the dependency problem: Neumaier (1990), Interval Methods for Systems of
Equations). So a product is a record of exponents by factor, which cancel exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from lawdsl.compiling.interval_evaluation import Prepared, exact_value
from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    ONE,
    OPERATIONS,
    ZERO,
    Interval,
    NoInterval,
    add,
    as_interval,
    least,
    most,
    multiply,
)
from lawdsl.compiling.tape import compile_tape
from lawdsl.proof.box import Box
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.monomials import log_slope, powers
from lawdsl.proof.signs.sign import Sign

Piece = Mapping[sp.Symbol, Interval]
Exponent = Fraction | Interval

REAL_LINE = Interval(MINUS_INFINITY, INFINITY)
ZERO_INTERVAL = Interval(ZERO, ZERO)
UNIT_INTERVAL = Interval(ONE, ONE)


class Enclosure:
    """An expression, compiled for interval evaluation on pieces of a box."""

    def __init__(self, box: Box, e: sp.Expr) -> None:
        self.inputs = sorted(e.free_symbols, key=str)
        settings = {
            i: as_interval(box.settings[s]) for i, s in enumerate(self.inputs) if s in box.settings
        }
        try:
            self.tape: Prepared | None = Prepared(compile_tape([e], self.inputs), settings)
        except NoInterval:
            self.tape = None

    def on(self, piece: Piece, *, bounded: bool = False) -> Interval | None:
        """An interval that contains all values of the expression on a piece.

        Args:
            piece: symbol -> interval.
            bounded: give None also where a part may be infinite, as at an end outside the domain.

        Returns:
            The interval; None where the expression may be undefined.
        """
        if self.tape is None:
            return None
        try:
            return self.tape.run([piece.get(s) for s in self.inputs], bounded=bounded)
        except NoInterval:
            return None


@dataclass(frozen=True)
class PowerProduct:
    """c·Π factor^exponent >= 0: `scale` encloses log(c); exponents are by the factors' numbers."""

    scale: Interval
    exponents: Mapping[int, Exponent]

    def over(self, other: PowerProduct) -> PowerProduct:
        """The ratio of two products; common factors cancel."""
        exponents = dict(self.exponents)
        for part, exponent in other.exponents.items():
            exponents[part] = _difference(exponents.get(part, Fraction(0)), exponent)
        nonzero = {k: x for k, x in exponents.items() if x != 0}
        return PowerProduct(add(self.scale, negative(other.scale)), nonzero)


@dataclass(frozen=True)
class Shrinking:
    """f(u)/u for u >= 0, which falls from 1 to 0, and its slope u·f'(u)/f(u) - 1, from 0 to -1.

    So 1 - exp(-u) = u·(f(u)/u) is a product that vanishes with u, and not a difference.
    """

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]

    def log(self, u: Interval) -> Interval:
        """An enclosure of log(f(u)/u), which decreases in u."""
        return Interval(self._log_at(u.high).lower(), self._log_at(u.low).upper())

    def _log_at(self, u: Any) -> Any:
        # the limit at 0, where the quotient itself has no value
        if u == 0:
            return ZERO
        return self.value(u).log() if u.is_finite() else MINUS_INFINITY

    def slopes(self, u: Interval) -> Interval:
        """An enclosure of u·∂log(f(u)/u)/∂u, a subset of [-1, 0]."""
        low, high = (self._slope_at(end) for end in (u.high, u.low))
        return Interval(most([-ONE, low.lower()]), least([ZERO, high.upper()]))

    def _slope_at(self, u: Any) -> Any:
        if u == 0:
            return ZERO
        return self.slope(u) if u.is_finite() else -ONE


DECAY = Shrinking(lambda u: -(-u).expm1() / u, lambda u: u / u.expm1() - 1)
LOG = Shrinking(lambda u: u.log1p() / u, lambda u: u / ((1 + u) * u.log1p()) - 1)


@dataclass(frozen=True)
class Factor:
    """A factor of products: a symbol; exp of a product; a sum of products; f(u)/u for a product u
    and f = 1 - exp(-u) or log(1 + u) (`shrinking`); the modulus of any other expression (`value`).

    `slopes` are x·∂log(factor)/∂x of such an expression, by the symbols x in it.
    """

    symbol: sp.Symbol | None = None
    inside: PowerProduct | None = None
    shrinking: Shrinking | None = None
    terms: tuple[PowerProduct, ...] = ()
    value: Enclosure | None = None
    slopes: Mapping[sp.Symbol, Enclosure] | None = None


class Factors:
    """The factors of all products on one box, each stored once.

    Args:
        signs: the signs on the box.
        displaced: whether the products are examined at points of the box beyond the domain too,
            where the relations that are declared between symbols may fail.
    """

    def __init__(self, signs: Signs, *, displaced: bool = False) -> None:
        self.box = signs.box
        self.signs = signs.deepest()  # more would cost too much for so many factors
        self.signs.displacing += displaced
        self.all: list[Factor] = []
        self.missing: dict[sp.Symbol, list[Any]] = {}  # open ends of ranges
        self._numbers: dict[sp.Expr, int] = {}

    def varying(self, e: sp.Expr) -> list[sp.Symbol]:
        """The symbols of an expression that are not settings."""
        return sorted(e.free_symbols - set(self.box.settings), key=str)

    def split(self, term: sp.Expr) -> tuple[PowerProduct, Sign, sp.Expr]:
        """A term as its nonnegative product, its constant's sign, and factors of no known sign."""
        number, exponents = sp.S.One, dict[int, Exponent]()
        others: list[sp.Expr] = []
        scale = ZERO_INTERVAL
        for base, exponent in powers(term):
            factor = sp.Pow(base, exponent)
            if not self.varying(factor):
                number *= factor
            elif base is sp.E:
                self._exponential(exponent, exponents, others)
            elif self.varying(exponent) or not self._nonnegative(base, exponent):
                if self.signs.sign(factor) == Sign.POSITIVE:
                    collect(exponents, self._number(factor), Fraction(1))
                else:
                    others.append(factor)
            else:
                power = self._exponent(exponent)
                # 1 - exp(-u) and log(1 + u) are u times a factor in (0, 1], so that u cancels
                inner = self._vanishing(base)
                if inner is not None:
                    for part, inner_exponent in inner.exponents.items():
                        collect(exponents, part, multiplied(inner_exponent, power))
                    scale = add(scale, scaled(power, inner.scale))
                collect(exponents, self._number(base), power)
        sign = self.signs.sign(number)
        size = Enclosure(self.box, number).on({})
        if not sign.definite or size is None:
            return PowerProduct(scale, exponents), Sign.POSITIVE, sp.Mul(number, *others)
        scale = add(scale, OPERATIONS["log"](OPERATIONS["abs"](size)))
        return PowerProduct(scale, exponents), sign, sp.Mul(*others)

    def with_modulus(self, product: PowerProduct, rest: sp.Expr) -> PowerProduct:
        """A product with the modulus of an expression as one more factor.

        Args:
            product: the product.
            rest: the expression.
        """
        modulus = sp.Abs(rest, evaluate=False)
        if modulus not in self._numbers:
            self._numbers[modulus] = len(self.all)
            self.all.append(self._unknown(rest))
        exponents = dict(product.exponents)
        collect(exponents, self._numbers[modulus], Fraction(1))
        return PowerProduct(product.scale, exponents)

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
            fixed = sp.Mul(*(p for p in parts if not self.varying(p)))
            varied = sp.Mul(*(p for p in parts if self.varying(p)))
            if varied == 1 or not self.signs.sign(varied).within(Sign.NONNEGATIVE):
                others.append(sp.exp(term))
            else:
                collect(exponents, self._number(sp.exp(varied)), self._exponent(fixed))

    def _exponent(self, e: sp.Expr) -> Exponent:
        inputs = sorted(e.free_symbols, key=str)
        values = [self.box.settings[s] for s in inputs]
        exact = exact_value(compile_tape([e], inputs), values)
        if exact is not None:
            return exact
        enclosure = Enclosure(self.box, e).on({})
        return REAL_LINE if enclosure is None else enclosure

    def _number(self, e: sp.Expr) -> int:
        if e not in self._numbers:
            part = self._part(e)
            self._numbers[e] = len(self.all)
            self.all.append(part)
        return self._numbers[e]

    def _vanishing(self, e: sp.Expr) -> PowerProduct | None:
        """The product u, where an expression is 1 - exp(-u) or log(1 + u)."""
        if isinstance(e, sp.log):
            inner = e.args[0] - 1
        elif e.is_Add and len(e.args) == 2 and sp.S.One in e.args:
            decay = 1 - e
            base, exponent = next(iter(powers(decay)))
            is_power = decay == sp.Pow(base, exponent)
            inner = -exponent * sp.log(base) if is_power and self.varying(exponent) else sp.S.Zero
            inner = sp.expand_mul(inner) if isinstance(decay, sp.exp) else inner
        else:
            return None
        if inner == 0 or not self.varying(inner):
            return None
        product, sign, rest = self.split(inner)
        return product if rest == 1 and sign == Sign.POSITIVE else None

    def _part(self, e: sp.Expr) -> Factor:
        if e.is_Symbol:
            return Factor(symbol=e)
        inner = self._vanishing(e)
        if inner is not None:
            return Factor(inside=inner, shrinking=LOG if isinstance(e, sp.log) else DECAY)
        if isinstance(e, sp.exp):
            inside, sign, rest = self.split(e.args[0])
            if rest == 1 and sign == Sign.POSITIVE:
                return Factor(inside=inside)
        if e.is_Add:
            terms = [self.split(term) for term in e.args]
            if all(rest == 1 and sign == Sign.POSITIVE for _, sign, rest in terms):
                return Factor(terms=tuple(product for product, _, _ in terms))
        return self._unknown(e)

    def _unknown(self, e: sp.Expr) -> Factor:
        slopes = {s: Enclosure(self.box, log_slope(self.signs, e, s)) for s in self.varying(e)}
        return Factor(value=Enclosure(self.box, e), slopes=slopes)


def collect(exponents: dict[int, Exponent], number: int, exponent: Exponent) -> None:
    """Add an exponent to that of a factor.

    Args:
        exponents: factor number -> exponent, changed in place.
        number: the number of the factor.
        exponent: the exponent to add.
    """
    exponents[number] = _sum(exponents.get(number, Fraction(0)), exponent)


def multiplied(x: Exponent, y: Exponent) -> Exponent:
    """The product x·y of two exponents, exact where both are fractions."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    return multiply(as_interval(x), as_interval(y))


def scaled(exponent: Exponent, x: Interval) -> Interval:
    """An interval multiplied by an exponent, rounded outward."""
    if isinstance(exponent, Fraction):
        if exponent == 1:
            return x
        if exponent == -1:
            return negative(x)
    return multiply(as_interval(exponent), x)


def negative(x: Interval) -> Interval:
    """The interval -x, rounded outward."""
    return Interval((-x.high).lower(), (-x.low).upper())  # also with fewer bits than its ends


def _sum(x: Exponent, y: Exponent) -> Exponent:
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x + y
    return add(as_interval(x), as_interval(y))


def _difference(x: Exponent, y: Exponent) -> Exponent:
    return _sum(x, -y if isinstance(y, Fraction) else negative(y))
