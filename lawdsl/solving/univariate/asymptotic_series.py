"""Asymptotic series on a half-line t >= T: sums of monomials with a bounded remainder.

f(t) = sum_k c_k m_k(t) + r(t), where |r(t)| is at most a ball times a monomial for every t >= T,
not only in the limit. Coefficients are exact, so that terms which cancel vanish (Gruntz (1996), On
Computing Limits in a Symbolic Manipulation System, gives the ordering of the monomials). Where
balls cannot decide, `Undecided` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, reduce
from typing import Any

import sympy as sp
from flint import arb, fmpq

from lawdsl.compiling.intervals import INFINITY, MINUS_INFINITY, Interval
from lawdsl.solving.univariate.growth_rates import (
    CONSTANT,
    Coefficient,
    HalfLine,
    Monomial,
    Undecided,
)

MAX_SERIES_TERMS = 14  # greatest number of explicit terms; the remainder bounds the others


@dataclass(frozen=True)
class AsymptoticSeries:
    """A sum of monomials with coefficients, and a remainder: a ball times a monomial."""

    terms: Mapping[Monomial, Coefficient]
    rest: tuple[Monomial, Any] | None = None


class SeriesRing:
    """Arithmetic on asymptotic series, with remainders that hold for all t >= T."""

    def __init__(self, line: HalfLine) -> None:
        self.line, self.numbers = line, line.numbers

        def compared(a: Monomial, b: Monomial) -> int:
            return line.order(line.over(b, a))

        self._by_size = cmp_to_key(compared)

    def unknown(self, offset: Fraction, scale: Fraction, *, inverse: bool) -> AsymptoticSeries:
        """Return the unknown as a series in t.

        Args:
            offset, scale: exact numbers.
            inverse: whether the unknown is offset + scale/t instead of offset + scale*t.

        Returns:
            The series, without a remainder.
        """
        power = self.line.power_of_t(-1 if inverse else 1)
        return self.add(
            self.constant(offset), AsymptoticSeries({power: self._rational_coefficient(scale)})
        )

    def _rational_coefficient(self, value: Fraction) -> Coefficient:
        return self.numbers.rational(fmpq(value.numerator, value.denominator))

    def constant(self, value: Fraction) -> AsymptoticSeries:
        """A fraction as a series."""
        return self.of_number(self._rational_coefficient(value)) if value else AsymptoticSeries({})

    def of_number(self, coefficient: Coefficient) -> AsymptoticSeries:
        """An exact number as a series."""
        return AsymptoticSeries({CONSTANT: coefficient} if coefficient.fraction != 0 else {})

    def of_constant(self, number: sp.Expr) -> AsymptoticSeries:
        """A number of SymPy as a series: rational, pi or E."""
        if number is sp.pi:
            return self.of_number(self.numbers.named("pi", arb.pi()))
        if number is sp.E:
            return self.of_number(
                self.numbers.named(("exp", self.numbers.rational(1)), arb(1).exp())
            )
        exact = sp.Rational(number)
        return self.constant(Fraction(int(exact.p), int(exact.q)))

    # Order, sign and limit

    def sorted(self, a: AsymptoticSeries) -> list[tuple[Monomial, Coefficient]]:
        """The terms, those that grow fastest first."""
        return sorted(a.terms.items(), key=lambda term: self._by_size(term[0]))

    def largest(self, a: AsymptoticSeries) -> tuple[Monomial, Coefficient]:
        """The dominant term, which outgrows the remainder.

        Raises:
            Undecided: the remainder may be as large.
        """
        if not a.terms:
            raise Undecided
        first = self.sorted(a)[0]
        if a.rest is not None and self.line.order(self.line.over(a.rest[0], first[0])) >= 0:
            raise Undecided
        return first

    def _relative(self, a: AsymptoticSeries, to: Monomial) -> Any:
        """Enclose a series divided by a monomial that no part of it outgrows."""
        parts = [(m, self.numbers.value(c)) for m, c in a.terms.items()]
        parts += [a.rest] if a.rest is not None else []
        total = arb(0)
        for monomial, ball in parts:
            quotient = self.line.over(monomial, to)
            if self.line.order(quotient) > 0:
                raise Undecided
            total += ball * arb(0).union(self.line.most(quotient)) if quotient else ball
        return total

    def sign(self, a: AsymptoticSeries) -> int:
        """The sign for all t >= T.

        Raises:
            Undecided: balls do not decide it.
        """
        if not a.terms and a.rest is None:
            return 0
        first = self.largest(a)[0] if a.terms else a.rest[0]  # type: ignore[index]
        ball = self._relative(a, first)
        if ball > 0:
            return 1
        if ball < 0:
            return -1
        raise Undecided

    def limit(self, a: AsymptoticSeries) -> Interval:
        """The limit as t -> oo, as an interval or an infinity.

        Raises:
            Undecided: the remainder does not vanish.
        """
        if a.rest is not None and self.line.order(a.rest[0]) >= 0 and not a.terms:
            raise Undecided
        if not a.terms:
            return Interval(arb(0), arb(0))
        first, coefficient = self.largest(a)
        order = self.line.order(first)
        if order < 0:
            return Interval(arb(0), arb(0))
        if order == 0:
            value = self.numbers.value(coefficient)
            return Interval(value.lower(), value.upper())
        end = INFINITY if self.numbers.sign(coefficient) > 0 else MINUS_INFINITY
        return Interval(end, end)

    # Arithmetic

    def _sum_of_remainders(
        self, parts: Sequence[tuple[Monomial, Any]]
    ) -> tuple[Monomial, Any] | None:
        """The sum of remainders as one remainder."""
        parts = [(m, ball) for m, ball in parts if not ball == 0]
        if not parts:
            return None
        # `_by_size` puts the fastest first, so min is the one that bounds the others
        first = min((m for m, _ in parts), key=self._by_size)
        total = arb(0)
        for monomial, ball in parts:
            quotient = self.line.over(monomial, first)
            total += ball * arb(0).union(self.line.most(quotient)) if quotient else ball
        if not total.is_finite():
            raise Undecided
        return first, total

    def collected(
        self, terms: Mapping[Monomial, Coefficient], rests: Sequence[tuple[Monomial, Any]]
    ) -> AsymptoticSeries:
        """Collect terms and remainders into a series.

        The remainder absorbs the terms that it dominates, and all beyond MAX_SERIES_TERMS.

        Args:
            terms: monomial -> coefficient.
            rests: remainders: pairs of a monomial and a ball.

        Returns:
            A series that contains every function with these terms and remainders.
        """
        retained = {m: c for m, c in terms.items() if c.fraction != 0}
        rest = self._sum_of_remainders(rests)
        ordered = (
            self.sorted(AsymptoticSeries(retained))
            if rest is not None or len(retained) > MAX_SERIES_TERMS
            else []
        )
        absorbed = [(m, self.numbers.value(c)) for m, c in ordered[MAX_SERIES_TERMS:]]
        if rest is not None:
            first = rest[0]
            below = [m for m in retained if self.line.order(self.line.over(m, first)) <= 0]
            absorbed += [
                (m, self.numbers.value(retained[m]))
                for m in below
                if (m, retained[m]) not in ordered[MAX_SERIES_TERMS:]
            ]
        if absorbed:
            absorbed_monomials = {m for m, _ in absorbed}
            retained = {m: c for m, c in retained.items() if m not in absorbed_monomials}
            rest = self._sum_of_remainders([*absorbed, *([rest] if rest is not None else [])])
        return AsymptoticSeries(retained, rest)

    def add(self, *series: AsymptoticSeries) -> AsymptoticSeries:
        """The sum of series."""
        terms: dict[Monomial, Coefficient] = {}
        for summand in series:
            for monomial, c in summand.terms.items():
                old = terms.get(monomial)
                terms[monomial] = self.numbers.add(old, c) if old is not None else c
        return self.collected(
            terms, [summand.rest for summand in series if summand.rest is not None]
        )

    def scaled(
        self, a: AsymptoticSeries, factor: Coefficient, monomial: Monomial = CONSTANT
    ) -> AsymptoticSeries:
        """Multiply a series by a number and a monomial.

        Args:
            a: the series.
            factor: the number.
            monomial: 1 if not given.

        Returns:
            The product.
        """
        terms = {
            self.line.times(m, monomial): self.numbers.multiply(c, factor)
            for m, c in a.terms.items()
        }
        rest = a.rest
        if rest is not None:
            rest = self.line.times(rest[0], monomial), rest[1] * self.numbers.value(factor)
        return AsymptoticSeries({m: c for m, c in terms.items() if c.fraction != 0}, rest)

    def subtract(self, a: AsymptoticSeries, b: AsymptoticSeries) -> AsymptoticSeries:
        """Subtract series.

        Args:
            a, b: series.

        Returns:
            a - b.
        """
        return self.add(a, self.scaled(b, self.numbers.rational(-1)))

    def multiply(self, *series: AsymptoticSeries) -> AsymptoticSeries:
        """The product of series."""
        return reduce(self._product, series)

    def _product(self, a: AsymptoticSeries, b: AsymptoticSeries) -> AsymptoticSeries:
        terms: dict[Monomial, Coefficient] = {}
        rests: list[tuple[Monomial, Any]] = []
        for m, c in a.terms.items():
            for n, d in b.terms.items():
                monomial, product = self.line.times(m, n), self.numbers.multiply(c, d)
                old = terms.get(monomial)
                terms[monomial] = self.numbers.add(old, product) if old is not None else product
        for one, other in ((a, b), (b, a)):
            if one.rest is not None:
                m, ball = one.rest
                rests += [
                    (self.line.times(m, n), ball * self.numbers.value(d))
                    for n, d in other.terms.items()
                ]
        if a.rest is not None and b.rest is not None:
            rests.append((self.line.times(a.rest[0], b.rest[0]), a.rest[1] * b.rest[1]))
        return self.collected(terms, rests)

    def taylor(
        self,
        coefficients: Sequence[Coefficient],
        small: AsymptoticSeries,
        tail: Callable[[Any], Any],
    ) -> AsymptoticSeries:
        """Compose an analytic function with a series u that tends to 0, by Taylor's theorem.

        g(u) = sum_{k<n} c_k u^k + g^(n)(xi)/n! u^n, with Lagrange's remainder over all xi between 0
        and u.

        Args:
            coefficients: c_k of the expansion of g about 0.
            small: the series u.
            tail: ball -> an enclosure of the coefficient of order n at all points of that ball.

        Returns:
            The series of g(u).
        """
        if not small.terms and small.rest is None:
            return self.of_number(coefficients[0])
        parts = [self.of_number(coefficients[0])]
        power = small
        for c in coefficients[1:]:
            parts.append(self.scaled(power, c))
            power = self._product(power, small)
        ball = tail(arb(0).union(self._relative(small, CONSTANT)))
        rests = [(m, ball * self.numbers.value(c)) for m, c in power.terms.items()]
        rests += [(power.rest[0], ball * power.rest[1])] if power.rest is not None else []
        total = self.add(*parts)
        return self.collected(
            total.terms, [*rests, *([total.rest] if total.rest is not None else [])]
        )

    def parted(
        self, a: AsymptoticSeries
    ) -> tuple[dict[Monomial, Coefficient], Coefficient, AsymptoticSeries]:
        """The terms that grow without bound, the constant, and a series that tends to 0.

        Raises:
            Undecided: the remainder does not tend to 0.
        """
        if a.rest is not None and self.line.order(a.rest[0]) >= 0:
            raise Undecided
        big, small, constant = {}, {}, self.numbers.rational(0)
        for monomial, c in a.terms.items():
            order = self.line.order(monomial)
            if order > 0:
                big[monomial] = c
            elif order < 0:
                small[monomial] = c
            else:
                constant = c
        return big, constant, AsymptoticSeries(small, a.rest)

    def factored(self, a: AsymptoticSeries) -> tuple[Monomial, Coefficient, AsymptoticSeries]:
        """Factor a series as c*m*(1 + small): its dominant monomial m, c, and the series `small`.

        Raises:
            Undecided: the remainder may be as large as the dominant term.
        """
        first, c = self.largest(a)
        remaining = AsymptoticSeries({m: d for m, d in a.terms.items() if m != first}, a.rest)
        to_one = self.line.raised(first, self.numbers.rational(-1))
        return first, c, self.scaled(remaining, self.numbers.inverse(c), to_one)
