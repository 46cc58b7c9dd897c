"""Functions of one unknown near an end of its range: their sign there, and their limit.

Near the end the unknown is a function of t >= T: t itself towards infinity, a + w/t towards an end
a. Each function is expanded into monomials of t with exact coefficients and a remainder that is
bounded for all t >= T (Taylor with Lagrange's remainder in Arb balls). Terms that cancel exactly
vanish, so that oo - oo is decided by the remaining terms; where balls do not decide a sign,
`Undecided` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

from flint import arb, fmpq

from lawdsl.compiling.intervals import Interval, precision
from lawdsl.compiling.tape import Tape
from lawdsl.solving.univariate.asymptotic_series import Series, SeriesRing
from lawdsl.solving.univariate.growth_rates import CONSTANT, HalfLine, Monomial, Number, Undecided

PRECISION = 192  # bits of the balls
STARTS = (4, 8, 16, 64, 256, 2048, 2**15, 2**20, 2**26)  # bits of T, tried in turn
ORDER = 5  # of an expansion: as many leading terms may cancel


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


def ending(tape: Tape, values: Sequence[Fraction], approach: Approach) -> Ending | None:
    """The sign that the first output of a tape has near an end; None where that is not decided.

    Args:
        tape: its first input is the unknown.
        values: of its other inputs.
        approach: the end.
    """
    with precision(PRECISION):
        for bits in STARTS:
            ring = SeriesRing(HalfLine(bits))
            try:
                found = ring.sign(expansion(ring, tape, values, approach))
            except Undecided:
                continue
            return Ending(found, approach.place(ring.line.end))
    return None


def limit(tape: Tape, values: Sequence[Fraction], approach: Approach) -> Interval | None:
    """The limit of the first output of a tape at an end, in an interval or infinite; None where it
    has none or that is not decided."""
    with precision(PRECISION):
        for bits in STARTS:
            ring = SeriesRing(HalfLine(bits))
            try:
                return ring.limit(expansion(ring, tape, values, approach))
            except Undecided:
                continue
    return None


def expansion(
    ring: SeriesRing, tape: Tape, values: Sequence[Fraction], approach: Approach
) -> Series:
    """The asymptotic series of the first output of a tape.

    Raises:
        Undecided: an operation without a certain expansion.
    """
    inputs = [
        ring.unknown(approach.at, approach.scale, inverse=approach.inverse),
        *(ring.constant(v) for v in values),
    ]
    results: list[Series] = []
    for step in tape.instructions:
        if step.op == "input":
            results.append(inputs[step.value])  # type: ignore[index]
        elif step.op == "constant":
            results.append(ring.of_constant(step.value))
        else:
            arguments = [results[i] for i in step.arguments]
            operation = OPERATIONS.get(step.op)
            if operation is None:
                raise Undecided
            results.append(operation(ring, *arguments))
    return results[tape.outputs[0]]


def power(ring: SeriesRing, base: Series, exponent: Series) -> Series:
    if exponent.rest is not None or any(m for m in exponent.terms):
        return exp(ring, ring.multiply(exponent, log(ring, base)))
    p = exponent.terms.get(CONSTANT, ring.numbers.rational(0))
    if p.fraction == 0:
        return ring.constant(Fraction(1))
    whole = not p.constant and p.fraction.q == 1
    if not base.terms and base.rest is None:
        if ring.numbers.sign(p) > 0:
            return base
        raise Undecided
    if whole and 1 <= p.fraction <= ORDER + 1:
        return ring.multiply(*[base] * int(p.fraction))
    monomial, c, small = ring.factored(base)
    if ring.numbers.sign(c) <= 0 and not whole:
        raise Undecided
    coefficients = [ring.numbers.rational(1)]
    for k in range(1, ORDER + 1):
        factor = ring.numbers.add(p, ring.numbers.rational(1 - k))
        factor = ring.numbers.multiply(factor, ring.numbers.rational(fmpq(1, k)))
        coefficients.append(ring.numbers.multiply(coefficients[-1], factor))
    last = ring.numbers.value(coefficients.pop())
    value = ring.numbers.value(p)

    def tail(u: Any) -> Any:
        if not 1 + u > 0:
            raise Undecided
        return last * (1 + u) ** (value - ORDER)

    series = ring.taylor(coefficients, small, tail)
    return ring.scaled(series, ring.numbers.power(c, p), ring.line.raised(monomial, p))


def log(ring: SeriesRing, a: Series) -> Series:
    monomial, c, small = ring.factored(a)
    if ring.numbers.sign(c) <= 0:
        raise Undecided
    terms: dict[Monomial, Number] = {}
    for generator, coefficient in monomial:
        own = ring.line.logarithm(generator) if isinstance(generator, int) else generator
        terms[own] = coefficient
    parts = [Series(terms)]
    if c != (1, 0):
        parts.append(ring.of_number(ring.numbers.named(("log", c), ring.numbers.value(c).log())))
    exact = [fmpq(0)] + [fmpq((-1) ** (k + 1), k) for k in range(1, ORDER)]

    def tail(u: Any) -> Any:
        if not 1 + u > 0:
            raise Undecided
        return arb((-1) ** (ORDER + 1)) / ORDER / (1 + u) ** ORDER

    parts.append(ring.taylor([ring.numbers.rational(f) for f in exact], small, tail))
    return ring.add(*parts)


def exp(ring: SeriesRing, a: Series) -> Series:
    big, constant, small = ring.parted(a)
    monomial = frozenset((ring.line.generator(m), c) for m, c in big.items())
    factorials = [fmpq(1)]
    for k in range(1, ORDER + 1):
        factorials.append(factorials[-1] / k)
    last = arb(factorials.pop())
    exact = [ring.numbers.rational(f) for f in factorials]
    series = ring.taylor(exact, small, lambda u: last * u.exp())
    factor = ring.numbers.rational(1)
    if constant.fraction != 0:
        factor = ring.numbers.named(("exp", constant), ring.numbers.value(constant).exp())
    return ring.scaled(series, factor, monomial)


def _wave(ring: SeriesRing, a: Series, phase: int) -> Series:
    """sin (phase 0) or cos (phase 1)."""
    try:
        big, constant, small = ring.parted(a)
    except Undecided:
        big, constant, small = {CONSTANT: ring.numbers.rational(1)}, ring.numbers.rational(0), a
    if big:
        return Series({}, (CONSTANT, arb(-1).union(arb(1))))
    zero = constant.fraction == 0
    value = ring.numbers.value(constant)
    sine = ring.numbers.rational(0) if zero else ring.numbers.named(("sin", constant), value.sin())
    cosine = (
        ring.numbers.rational(1) if zero else ring.numbers.named(("cos", constant), value.cos())
    )
    cycle = [sine, cosine, ring.numbers.negative(sine), ring.numbers.negative(cosine)]
    coefficients, factorial = [], fmpq(1)
    for k in range(ORDER):
        factorial = factorial / max(k, 1)
        own = cycle[(k + phase) % 4]
        coefficients.append(ring.numbers.multiply(own, ring.numbers.rational(factorial)))
    bound = arb(factorial) / ORDER
    return ring.taylor(coefficients, small, lambda _: (-bound).union(bound))


def sin(ring: SeriesRing, a: Series) -> Series:
    return _wave(ring, a, 0)


def cos(ring: SeriesRing, a: Series) -> Series:
    return _wave(ring, a, 1)


def tan(ring: SeriesRing, a: Series) -> Series:
    return ring.multiply(sin(ring, a), _inverse(ring, cos(ring, a)))


def _inverse(ring: SeriesRing, a: Series) -> Series:
    return power(ring, a, ring.constant(Fraction(-1)))


def tanh(ring: SeriesRing, a: Series) -> Series:
    """1 - 2/(exp(2a) + 1)"""
    one = ring.constant(Fraction(1))
    double = exp(ring, ring.scaled(a, ring.numbers.rational(2)))
    quotient = _inverse(ring, ring.add(double, one))
    return ring.subtract(one, ring.scaled(quotient, ring.numbers.rational(2)))


def atan(ring: SeriesRing, a: Series) -> Series:
    """At infinity as pi/2 - atan(1/a), else by two terms, or four at 0."""
    big, constant, small = ring.parted(a)
    if big:
        side = ring.sign(a)
        right = Series(
            {CONSTANT: Number(fmpq(side, 2), ring.numbers.named("pi", arb.pi()).constant)}
        )
        return ring.subtract(right, atan(ring, _inverse(ring, a)))
    if constant.fraction == 0:
        exact = [fmpq(0), fmpq(1), fmpq(0), fmpq(-1, 3)]  # the fourth derivative is below 4.7
        bound = arb(1) / 4
        coefficients = [ring.numbers.rational(f) for f in exact]
    else:
        value = ring.numbers.value(constant)
        coefficients = [
            ring.numbers.named(("atan", constant), value.atan()),
            ring.numbers.named(("atan'", constant), 1 / (1 + value**2)),
        ]
        bound = arb(1) / 2  # the second derivative is below 0.65
    return ring.taylor(coefficients, small, lambda _: (-bound).union(bound))


def absolute(ring: SeriesRing, a: Series) -> Series:
    return ring.scaled(a, ring.numbers.rational(ring.sign(a) or 1))


def minimum(ring: SeriesRing, *series: Series) -> Series:
    return reduce(lambda a, b: a if ring.sign(ring.subtract(a, b)) <= 0 else b, series)


def maximum(ring: SeriesRing, *series: Series) -> Series:
    return reduce(lambda a, b: a if ring.sign(ring.subtract(a, b)) >= 0 else b, series)


def step_of(ring: SeriesRing, a: Series, before: int) -> Series:
    sign = ring.sign(a)
    if not sign:
        raise Undecided
    return ring.constant(Fraction(1 if sign > 0 else before))


OPERATIONS: dict[str, Callable[..., Series]] = {
    "add": SeriesRing.add,
    "multiply": SeriesRing.multiply,
    "power": power,
    "exp": exp,
    "log": log,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "atan": atan,
    "tanh": tanh,
    "abs": absolute,
    "min": minimum,
    "max": maximum,
    "sign": lambda ring, a: step_of(ring, a, -1),
    "step": lambda ring, a: step_of(ring, a, 0),
}
