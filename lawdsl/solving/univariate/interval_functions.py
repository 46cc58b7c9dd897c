"""Expressions in one unknown -> enclosures, signs and limits on pieces of its range.

An enclosure F(X) of an expression f contains f(x) for every x in the interval X: arithmetic with
outward rounding (Moore, Kearfott and Cloud (2009), Introduction to Interval Analysis).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy as sp

from lawdsl.compiling.interval_evaluation import Prepared
from lawdsl.compiling.intervals import Interval, NoInterval, as_interval, sign_of
from lawdsl.compiling.tape import Tape, compile_tape
from lawdsl.law.algebra import derivative
from lawdsl.solving.formulate.closed_form import flatten_powers
from lawdsl.solving.univariate.asymptotics import Approach, SignNearEnd, limit, sign_near_end


class UnivariateExpression:
    """An expression in one unknown, compiled once for all values of its other symbols."""

    def __init__(self, expression: sp.Expr, unknown: sp.Symbol) -> None:
        self.expression, self.unknown = expression, unknown
        self.others = tuple(sorted(expression.free_symbols - {unknown}, key=str))

    @cached_property
    def tape(self) -> Tape:
        """Its inputs are the unknown and then the others."""
        return compile_tape([self.expression], [self.unknown, *self.others])

    @cached_property
    def slope(self) -> UnivariateExpression:
        """Its derivative with respect to the unknown, without the infinite slopes of step
        functions.
        """
        expression = derivative(self.expression, self.unknown)
        # a step is cut at its kink anyway, so its infinite slope is on no smooth piece
        expression = expression.replace(sp.DiracDelta, lambda *_: sp.S.Zero)
        return UnivariateExpression(flatten_powers(expression), self.unknown)

    @cached_property
    def products(self) -> tuple[tuple[UnivariateExpression, UnivariateExpression], ...]:
        """The expression as the sum of its terms divided by one of them, times that one, for each
        term that is a multiple of a power of the unknown.
        """
        terms = sp.Add.make_args(sp.expand_mul(self.expression))
        divisors = [t for t in terms if _is_power(t, self.unknown)] if len(terms) > 1 else []
        return tuple(
            (
                UnivariateExpression(
                    flatten_powers(sp.Add(*(flatten_powers(t / one) for t in terms))), self.unknown
                ),
                UnivariateExpression(one, self.unknown),
            )
            for one in divisors
        )


def _is_power(term: sp.Expr, x: sp.Symbol) -> bool:
    factor = term.as_independent(x, as_Add=False)[1]
    return bool(factor == x or (factor.is_Pow and factor.base == x and not factor.exp.has(x)))


class IntervalFunction:
    """A formula at values of all symbols but the unknown.

    Args:
        formula: what is computed.
        values: symbol -> value.
    """

    def __init__(self, formula: UnivariateExpression, values: Mapping[sp.Symbol, float]) -> None:
        self.formula, self.values = formula, values
        inputs = {i: number(values[s]) for i, s in enumerate(formula.others, start=1)}
        self._prepared: Prepared | None
        try:
            self._prepared = Prepared(formula.tape, inputs)
        except NoInterval:
            self._prepared = None

    @property
    def constant(self) -> bool:
        """Whether it does not depend on the unknown."""
        return self.formula.unknown not in self.formula.expression.free_symbols

    @cached_property
    def slope(self) -> IntervalFunction:
        """Its derivative with respect to the unknown."""
        return IntervalFunction(self.formula.slope, self.values)

    @cached_property
    def _products(self) -> list[tuple[IntervalFunction, IntervalFunction]]:
        return [
            (IntervalFunction(cofactor, self.values), IntervalFunction(divisor, self.values))
            for cofactor, divisor in self.formula.products
        ]

    def __call__(self, x: Interval) -> Interval | None:
        """Its values on an interval; None where they are not certain."""
        if self._prepared is None:
            return None
        try:
            return self._prepared.run([x])
        except NoInterval:
            return None

    def at_end(self, x: Interval) -> Interval | None:
        """Its value at a point where its formula may have none; None where a part is infinite."""
        if self._prepared is None:
            return None
        try:
            return self._prepared.run([x], bounded=True)
        except NoInterval:
            return None

    def ending(self, piece: Interval, *, lower: bool) -> SignNearEnd | None:
        """Determine its sign near an end of a piece.

        Args:
            piece: the piece.
            lower: whether its lower end is meant.

        Returns:
            The sign; None where that is not decided.
        """
        return sign_near_end(self.formula.tape, self._known, approach(piece, lower=lower))

    def limit(self, piece: Interval, *, lower: bool) -> Interval | None:
        """Compute its limit at an end of a piece.

        Args:
            piece: the piece.
            lower: whether its lower end is meant.

        Returns:
            An interval that contains it; None where no limit exists or it is not decided.
        """
        return limit(self.formula.tape, self._known, approach(piece, lower=lower))

    @property
    def _known(self) -> list[Fraction]:
        return [Fraction(self.values[s]) for s in self.formula.others]

    def sign(self, x: Interval) -> int | None:
        """Its certain sign on an interval.

        Terms grow or vanish together, near 0 and towards infinity above all; so where the sign of
        the sum is undecided, it is factored into one of its terms times the others divided by that.
        """
        enclosure = self(x)
        sign = sign_of(enclosure) if enclosure is not None else None
        if sign is not None or x.low < 0 <= x.high:  # a root at 0 inside belongs to the left piece
            return sign
        for cofactor, divisor in self._products:
            values = cofactor(x), divisor(x)
            if values[0] is None or values[1] is None:
                continue
            cofactor_sign, divisor_sign = sign_of(values[0]), sign_of(values[1])
            if divisor_sign is None:  # a power of the unknown: 0 at 0 or at infinity only
                divisor_sign = 1 if values[1].low >= 0 else -1 if values[1].high <= 0 else None
            if cofactor_sign and divisor_sign:
                return cofactor_sign * divisor_sign
        return None


def approach(piece: Interval, *, lower: bool) -> Approach:
    """Parametrise the points of a piece near one of its ends, in units of its own size.

    Args:
        piece: the piece.
        lower: whether its lower end is meant.

    Returns:
        x(t) = offset + scale*t towards infinity, offset + scale/t towards a finite end.
    """
    end, other = (piece.low, piece.high) if lower else (piece.high, piece.low)
    side = 1 if lower else -1
    if not end.is_finite():
        size = max(0, _exponent(other) + 1) if other.is_finite() and other != 0 else 0
        # a power of two: scaling by it is exact
        return Approach(Fraction(0), -side * Fraction(2) ** size, inverse=False)
    origin = _fraction(end)
    size = 0
    if other.is_finite():
        width = abs(_fraction(other) - origin)
        size = width.numerator.bit_length() - width.denominator.bit_length() - 1
    return Approach(origin, side * Fraction(2) ** size, inverse=True)


def _fraction(x: Any) -> Fraction:
    """An exact number of Arb."""
    mantissa, exponent = x.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _exponent(x: Any) -> int:
    """The power of two below the size of a number that is not 0."""
    mantissa, exponent = x.man_exp()
    return abs(int(mantissa)).bit_length() - 1 + int(exponent)


def number(value: float) -> Interval:
    """A float as an interval that contains exactly its value."""
    return as_interval(Fraction(value))
