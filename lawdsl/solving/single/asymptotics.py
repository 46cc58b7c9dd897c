"""Functions of one unknown near an end of its range: their sign there, and their limit.

Near the end the unknown is a function of t >= T: t itself towards infinity, a + w/t towards an end
a. Each function is expanded into monomials of t with exact coefficients and a remainder that is
bounded for all t >= T (Taylor with Lagrange's remainder in Arb balls). Terms that cancel exactly
vanish, so that oo - oo is decided by what is left; where balls cannot tell, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, reduce
from typing import Any

import sympy as sp
from flint import arb, fmpq

from lawdsl.compiling.intervals import INFINITY, MINUS_INFINITY, Interval, precision
from lawdsl.compiling.tape import Tape
from lawdsl.solving.single.growth import CONSTANT, HalfLine, Monomial, Number, Undecided

PRECISION = 192  # bits of the balls
STARTS = (4, 8, 16, 64, 256, 2048, 2**15, 2**20, 2**26)  # bits of T, tried in turn
ORDER = 5  # of an expansion: as many leading terms may cancel
TERMS = 14  # that a sum keeps; the rest is bounded


@dataclass(frozen=True)
class Approach:
    """A way towards an end of the range: x = at + scale*t, or at + scale/t where `inverse`."""

    at: Fraction
    scale: Fraction
    inverse: bool

    def place(self, t: Any) -> Any:
        """The unknown at t, rounded towards the end."""
        at, scale = (arb(fmpq(f.numerator, f.denominator)) for f in (self.at, self.scale))
        found = at + (scale / t if self.inverse else scale * t)
        return found.upper() if (self.scale > 0) != self.inverse else found.lower()


@dataclass(frozen=True)
class Ending:
    """A function near an end.

    Attributes:
        sign: that it has between the end and `place`, the end left out; 0: it is 0 there.
        place: how far from the end on that is so.
    """

    sign: int
    place: Any


@dataclass(frozen=True)
class Series:
    """A sum of monomials with coefficients, and a remainder: a ball times a monomial."""

    terms: Mapping[Monomial, Number]
    rest: tuple[Monomial, Any] | None = None


def ending(tape: Tape, values: Sequence[Fraction], approach: Approach) -> Ending | None:
    """The sign that the first output of a tape has near an end; None where that is not decided.

    Args:
        tape: its first input is the unknown.
        values: of its other inputs.
        approach: the end.
    """
    with precision(PRECISION):
        for bits in STARTS:
            expansion = Expansion(HalfLine(bits))
            try:
                found = expansion.sign(expansion.run(tape, values, approach))
            except Undecided:
                continue
            return Ending(found, approach.place(expansion.line.end))
    return None


def limit(tape: Tape, values: Sequence[Fraction], approach: Approach) -> Interval | None:
    """The limit of the first output of a tape at an end, in an interval or infinite; None where it
    has none or that is not decided."""
    with precision(PRECISION):
        for bits in STARTS:
            expansion = Expansion(HalfLine(bits))
            try:
                return expansion.limit(expansion.run(tape, values, approach))
            except Undecided:
                continue
    return None


class Expansion:
    """Arithmetic on series, for t >= T."""

    def __init__(self, line: HalfLine) -> None:
        self.line, self.numbers = line, line.numbers

        def compared(a: Monomial, b: Monomial) -> int:
            return line.order(line.over(b, a))

        self._by_size = cmp_to_key(compared)

    def run(self, tape: Tape, values: Sequence[Fraction], approach: Approach) -> Series:
        """The first output of a tape.

        Raises:
            Undecided: an operation without a certain expansion.
        """
        inputs = [self._unknown(approach), *(self.constant(v) for v in values)]
        results: list[Series] = []
        for step in tape.instructions:
            if step.op == "input":
                results.append(inputs[step.value])  # type: ignore[index]
            elif step.op == "constant":
                results.append(self._of_constant(step.value))
            else:
                arguments = [results[i] for i in step.arguments]
                operation = OPERATIONS.get(step.op)
                if operation is None:
                    raise Undecided
                results.append(operation(self, *arguments))
        return results[tape.outputs[0]]

    def _unknown(self, approach: Approach) -> Series:
        power = self.line.power_of_t(-1 if approach.inverse else 1)
        moving = Series({power: self._exact(approach.scale)})
        return self.add(self.constant(approach.at), moving)

    def _exact(self, value: Fraction) -> Number:
        return self.numbers.rational(fmpq(value.numerator, value.denominator))

    def constant(self, value: Fraction) -> Series:
        return self._of(self._exact(value)) if value else Series({})

    def _of(self, number: Number) -> Series:
        return Series({CONSTANT: number} if number.fraction != 0 else {})

    def _of_constant(self, number: sp.Expr) -> Series:
        if number is sp.pi:
            return self._of(self.numbers.named("pi", arb.pi()))
        if number is sp.E:
            return self._of(self.numbers.named(("exp", self.numbers.rational(1)), arb(1).exp()))
        exact = sp.Rational(number)
        return self.constant(Fraction(int(exact.p), int(exact.q)))

    # What a series is

    def sorted(self, a: Series) -> list[tuple[Monomial, Number]]:
        """The terms, those that grow fastest first."""
        return sorted(a.terms.items(), key=lambda term: self._by_size(term[0]))

    def largest(self, a: Series) -> tuple[Monomial, Number]:
        """The dominant term, which its remainder does not reach."""
        if not a.terms:
            raise Undecided
        first = self.sorted(a)[0]
        if a.rest is not None and self.line.order(self.line.over(a.rest[0], first[0])) >= 0:
            raise Undecided
        return first

    def _relative(self, a: Series, to: Monomial) -> Any:
        """All values of a series divided by a monomial that no part of it outgrows."""
        parts = [(m, self.numbers.value(c)) for m, c in a.terms.items()]
        parts += [a.rest] if a.rest is not None else []
        total = arb(0)
        for monomial, ball in parts:
            quotient = self.line.over(monomial, to)
            if self.line.order(quotient) > 0:
                raise Undecided
            total += ball * arb(0).union(self.line.most(quotient)) if quotient else ball
        return total

    def sign(self, a: Series) -> int:
        """The sign for all t >= T."""
        if not a.terms and a.rest is None:
            return 0
        first = self.largest(a)[0] if a.terms else a.rest[0]  # type: ignore[index]
        ball = self._relative(a, first)
        if ball > 0:
            return 1
        if ball < 0:
            return -1
        raise Undecided

    def limit(self, a: Series) -> Interval:
        """The limit as t -> oo."""
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

    def bounded(self, parts: Sequence[tuple[Monomial, Any]]) -> tuple[Monomial, Any] | None:
        """Remainders as one."""
        parts = [(m, ball) for m, ball in parts if not ball == 0]
        if not parts:
            return None
        first = min((m for m, _ in parts), key=self._by_size)
        total = arb(0)
        for monomial, ball in parts:
            quotient = self.line.over(monomial, first)
            total += ball * arb(0).union(self.line.most(quotient)) if quotient else ball
        if not total.is_finite():
            raise Undecided
        return first, total

    def made(
        self, terms: Mapping[Monomial, Number], rests: Sequence[tuple[Monomial, Any]]
    ) -> Series:
        """A series of its parts; what the remainder hides becomes part of it."""
        kept = {m: c for m, c in terms.items() if c.fraction != 0}
        rest = self.bounded(rests)
        ordered = self.sorted(Series(kept)) if rest is not None or len(kept) > TERMS else []
        hidden = [(m, self.numbers.value(c)) for m, c in ordered[TERMS:]]
        if rest is not None:
            first = rest[0]
            below = [m for m in kept if self.line.order(self.line.over(m, first)) <= 0]
            hidden += [
                (m, self.numbers.value(kept[m]))
                for m in below
                if (m, kept[m]) not in ordered[TERMS:]
            ]
        if hidden:
            gone = {m for m, _ in hidden}
            kept = {m: c for m, c in kept.items() if m not in gone}
            rest = self.bounded([*hidden, *([rest] if rest is not None else [])])
        return Series(kept, rest)

    def add(self, *series: Series) -> Series:
        terms: dict[Monomial, Number] = {}
        for one in series:
            for monomial, c in one.terms.items():
                old = terms.get(monomial)
                terms[monomial] = self.numbers.add(old, c) if old is not None else c
        return self.made(terms, [one.rest for one in series if one.rest is not None])

    def scaled(self, a: Series, factor: Number, by: Monomial = CONSTANT) -> Series:
        terms = {
            self.line.times(m, by): self.numbers.multiply(c, factor) for m, c in a.terms.items()
        }
        rest = a.rest
        if rest is not None:
            rest = self.line.times(rest[0], by), rest[1] * self.numbers.value(factor)
        return Series({m: c for m, c in terms.items() if c.fraction != 0}, rest)

    def subtract(self, a: Series, b: Series) -> Series:
        return self.add(a, self.scaled(b, self.numbers.rational(-1)))

    def multiply(self, *series: Series) -> Series:
        return reduce(self._product, series)

    def _product(self, a: Series, b: Series) -> Series:
        terms: dict[Monomial, Number] = {}
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
        return self.made(terms, rests)

    def taylor(
        self, coefficients: Sequence[Number], small: Series, tail: Callable[[Any], Any]
    ) -> Series:
        """An analytic function at a series that tends to 0.

        Args:
            coefficients: of its expansion there.
            small: the series.
            tail: all values of the next coefficient at the points of a ball: Lagrange's remainder.
        """
        if not small.terms and small.rest is None:
            return self._of(coefficients[0])
        parts = [self._of(coefficients[0])]
        power = small
        for c in coefficients[1:]:
            parts.append(self.scaled(power, c))
            power = self._product(power, small)
        ball = tail(arb(0).union(self._relative(small, CONSTANT)))
        rests = [(m, ball * self.numbers.value(c)) for m, c in power.terms.items()]
        rests += [(power.rest[0], ball * power.rest[1])] if power.rest is not None else []
        total = self.add(*parts)
        return self.made(total.terms, [*rests, *([total.rest] if total.rest is not None else [])])

    def parted(self, a: Series) -> tuple[dict[Monomial, Number], Number, Series]:
        """What grows without bound, the constant, and what tends to 0."""
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
        return big, constant, Series(small, a.rest)

    def factored(self, a: Series) -> tuple[Monomial, Number, Series]:
        """c*m*(1 + small): the dominant monomial, its coefficient, and the relative rest."""
        first, c = self.largest(a)
        left = Series({m: d for m, d in a.terms.items() if m != first}, a.rest)
        to_one = self.line.raised(first, self.numbers.rational(-1))
        return first, c, self.scaled(left, self.numbers.inverse(c), to_one)

    # Functions

    def power(self, base: Series, exponent: Series) -> Series:
        if exponent.rest is not None or any(m for m in exponent.terms):
            return self.exp(self.multiply(exponent, self.log(base)))
        p = exponent.terms.get(CONSTANT, self.numbers.rational(0))
        if p.fraction == 0:
            return self.constant(Fraction(1))
        whole = not p.constant and p.fraction.q == 1
        if not base.terms and base.rest is None:
            if self.numbers.sign(p) > 0:
                return base
            raise Undecided
        if whole and 1 <= p.fraction <= ORDER + 1:
            return self.multiply(*[base] * int(p.fraction))
        monomial, c, small = self.factored(base)
        if self.numbers.sign(c) <= 0 and not whole:
            raise Undecided
        coefficients = [self.numbers.rational(1)]
        for k in range(1, ORDER + 1):
            factor = self.numbers.add(p, self.numbers.rational(1 - k))
            factor = self.numbers.multiply(factor, self.numbers.rational(fmpq(1, k)))
            coefficients.append(self.numbers.multiply(coefficients[-1], factor))
        last = self.numbers.value(coefficients.pop())
        value = self.numbers.value(p)

        def tail(u: Any) -> Any:
            if not 1 + u > 0:
                raise Undecided
            return last * (1 + u) ** (value - ORDER)

        series = self.taylor(coefficients, small, tail)
        return self.scaled(series, self.numbers.power(c, p), self.line.raised(monomial, p))

    def log(self, a: Series) -> Series:
        monomial, c, small = self.factored(a)
        if self.numbers.sign(c) <= 0:
            raise Undecided
        terms: dict[Monomial, Number] = {}
        for generator, coefficient in monomial:
            own = self.line.logarithm(generator) if isinstance(generator, int) else generator
            terms[own] = coefficient
        parts = [Series(terms)]
        if c != (1, 0):
            parts.append(self._of(self.numbers.named(("log", c), self.numbers.value(c).log())))
        exact = [fmpq(0)] + [fmpq((-1) ** (k + 1), k) for k in range(1, ORDER)]

        def tail(u: Any) -> Any:
            if not 1 + u > 0:
                raise Undecided
            return arb((-1) ** (ORDER + 1)) / ORDER / (1 + u) ** ORDER

        parts.append(self.taylor([self.numbers.rational(f) for f in exact], small, tail))
        return self.add(*parts)

    def exp(self, a: Series) -> Series:
        big, constant, small = self.parted(a)
        monomial = frozenset((self.line.generator(m), c) for m, c in big.items())
        factorials = [fmpq(1)]
        for k in range(1, ORDER + 1):
            factorials.append(factorials[-1] / k)
        last = arb(factorials.pop())
        exact = [self.numbers.rational(f) for f in factorials]
        series = self.taylor(exact, small, lambda u: last * u.exp())
        factor = self.numbers.rational(1)
        if constant.fraction != 0:
            factor = self.numbers.named(("exp", constant), self.numbers.value(constant).exp())
        return self.scaled(series, factor, monomial)

    def _wave(self, a: Series, phase: int) -> Series:
        """sin (phase 0) or cos (phase 1)."""
        try:
            big, constant, small = self.parted(a)
        except Undecided:
            big, constant, small = {CONSTANT: self.numbers.rational(1)}, self.numbers.rational(0), a
        if big:
            return Series({}, (CONSTANT, arb(-1).union(arb(1))))
        zero = constant.fraction == 0
        value = self.numbers.value(constant)
        sine = (
            self.numbers.rational(0) if zero else self.numbers.named(("sin", constant), value.sin())
        )
        cosine = (
            self.numbers.rational(1) if zero else self.numbers.named(("cos", constant), value.cos())
        )
        cycle = [sine, cosine, self.numbers.negative(sine), self.numbers.negative(cosine)]
        coefficients, factorial = [], fmpq(1)
        for k in range(ORDER):
            factorial = factorial / max(k, 1)
            own = cycle[(k + phase) % 4]
            coefficients.append(self.numbers.multiply(own, self.numbers.rational(factorial)))
        bound = arb(factorial) / ORDER
        return self.taylor(coefficients, small, lambda _: (-bound).union(bound))

    def sin(self, a: Series) -> Series:
        return self._wave(a, 0)

    def cos(self, a: Series) -> Series:
        return self._wave(a, 1)

    def tan(self, a: Series) -> Series:
        return self.multiply(self.sin(a), self._inverse(self.cos(a)))

    def _inverse(self, a: Series) -> Series:
        return self.power(a, self.constant(Fraction(-1)))

    def tanh(self, a: Series) -> Series:
        """1 - 2/(exp(2a) + 1)"""
        one = self.constant(Fraction(1))
        double = self.exp(self.scaled(a, self.numbers.rational(2)))
        quotient = self._inverse(self.add(double, one))
        return self.subtract(one, self.scaled(quotient, self.numbers.rational(2)))

    def atan(self, a: Series) -> Series:
        """At infinity as pi/2 - atan(1/a), else by two terms, or four at 0."""
        big, constant, small = self.parted(a)
        if big:
            side = self.sign(a)
            right = Series(
                {CONSTANT: Number(fmpq(side, 2), self.numbers.named("pi", arb.pi()).constant)}
            )
            return self.subtract(right, self.atan(self._inverse(a)))
        if constant.fraction == 0:
            exact = [fmpq(0), fmpq(1), fmpq(0), fmpq(-1, 3)]  # the fourth derivative is below 4.7
            bound = arb(1) / 4
            coefficients = [self.numbers.rational(f) for f in exact]
        else:
            value = self.numbers.value(constant)
            coefficients = [
                self.numbers.named(("atan", constant), value.atan()),
                self.numbers.named(("atan'", constant), 1 / (1 + value**2)),
            ]
            bound = arb(1) / 2  # the second derivative is below 0.65
        return self.taylor(coefficients, small, lambda _: (-bound).union(bound))

    def abs(self, a: Series) -> Series:
        return self.scaled(a, self.numbers.rational(self.sign(a) or 1))

    def min(self, *series: Series) -> Series:
        return reduce(lambda a, b: a if self.sign(self.subtract(a, b)) <= 0 else b, series)

    def max(self, *series: Series) -> Series:
        return reduce(lambda a, b: a if self.sign(self.subtract(a, b)) >= 0 else b, series)

    def step_of(self, a: Series, before: int) -> Series:
        sign = self.sign(a)
        if not sign:
            raise Undecided
        return self.constant(Fraction(1 if sign > 0 else before))


OPERATIONS: dict[str, Callable[..., Series]] = {
    "add": Expansion.add,
    "multiply": Expansion.multiply,
    "power": Expansion.power,
    "exp": Expansion.exp,
    "log": Expansion.log,
    "sin": Expansion.sin,
    "cos": Expansion.cos,
    "tan": Expansion.tan,
    "atan": Expansion.atan,
    "tanh": Expansion.tanh,
    "abs": Expansion.abs,
    "min": Expansion.min,
    "max": Expansion.max,
    "sign": lambda expansion, a: expansion.step_of(a, -1),
    "step": lambda expansion, a: expansion.step_of(a, 0),
}
