"""A tape near an end of the range of its unknown -> its sign there, and its limit.

Near the end the unknown is a function of t >= T: t itself towards infinity, a + w/t towards an end
a. Each function is expanded into monomials of t with exact coefficients and a remainder that is
bounded for all t >= T (Taylor's theorem with Lagrange's remainder in Arb balls: Johansson (2017),
IEEE Transactions on Computers 66). Terms that cancel exactly vanish, so that oo - oo is decided by
the remaining terms, as in Gruntz (1996), On Computing Limits in a Symbolic Manipulation System;
where balls do not decide a sign, `Undecided` is raised.
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
from lawdsl.solving.univariate.asymptotic_series import AsymptoticSeries, SeriesRing
from lawdsl.solving.univariate.growth_rates import (
    CONSTANT,
    Coefficient,
    HalfLine,
    Monomial,
    Undecided,
)

SERIES_BITS = 192  # precision of the balls
# exponents k of T = 2^k, tried in turn
HALF_LINE_BITS = (4, 8, 16, 64, 256, 2048, 2**15, 2**20, 2**26)
EXPANSION_ORDER = 5  # order of an expansion: as many leading terms may cancel


@dataclass(frozen=True)
class Approach:
    """Parametrisation near an end of the range: offset + scale*t, or offset + scale/t (`inverse`)."""

    offset: Fraction
    scale: Fraction
    inverse: bool

    def point(self, t: Any) -> Any:
        """The unknown at t, rounded towards the end."""
        offset, scale = (arb(fmpq(f.numerator, f.denominator)) for f in (self.offset, self.scale))
        point = offset + (scale / t if self.inverse else scale * t)
        return point.upper() if (self.scale > 0) != self.inverse else point.lower()


@dataclass(frozen=True)
class SignNearEnd:
    """The sign of a function near an end.

    Attributes:
        sign: its sign between the end and `boundary`, the end excluded; 0: it is 0 there.
        boundary: the point up to which the sign holds.
    """

    sign: int
    boundary: Any


def sign_near_end(tape: Tape, values: Sequence[Fraction], approach: Approach) -> SignNearEnd | None:
    """Determine the sign of the first output of a tape near an end of the unknown's range.

    Args:
        tape: its first input is the unknown.
        values: the values of its other inputs, exactly.
        approach: the parametrisation near the end.

    Returns:
        The sign and the point up to which it holds; None where that is not decided.
    """
    with precision(SERIES_BITS):
        # a small T first: the sign then holds on more of the range, and less is left to bisect
        for bits in HALF_LINE_BITS:
            ring = SeriesRing(HalfLine(bits))
            try:
                sign = ring.sign(expansion(ring, tape, values, approach))
            except Undecided:
                continue
            return SignNearEnd(sign, approach.point(ring.line.end))
    return None


def limit(tape: Tape, values: Sequence[Fraction], approach: Approach) -> Interval | None:
    """Compute the limit of the first output of a tape at an end of the unknown's range.

    Args:
        tape: its first input is the unknown.
        values: the values of its other inputs, exactly.
        approach: the parametrisation near the end.

    Returns:
        An enclosure of the limit, or an infinity; None where no limit exists or is decided.
    """
    with precision(SERIES_BITS):
        for bits in HALF_LINE_BITS:
            ring = SeriesRing(HalfLine(bits))
            try:
                return ring.limit(expansion(ring, tape, values, approach))
            except Undecided:
                continue
    return None


def expansion(
    ring: SeriesRing, tape: Tape, values: Sequence[Fraction], approach: Approach
) -> AsymptoticSeries:
    """Expand the first output of a tape in an asymptotic series.

    Args:
        ring: arithmetic on a half-line.
        tape: its first input is the unknown.
        values: the values of its other inputs, exactly.
        approach: the parametrisation near the end.

    Returns:
        The series.

    Raises:
        Undecided: an operation without a certain expansion.
    """
    inputs = [
        ring.unknown(approach.offset, approach.scale, inverse=approach.inverse),
        *(ring.constant(v) for v in values),
    ]
    results: list[AsymptoticSeries] = []
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


# Each function below expands one operation of the tape: (arithmetic on a half-line, series of the
# arguments) -> series. Where a sign or a bound is not certain, it raises `Undecided`.


def _power(
    ring: SeriesRing, base: AsymptoticSeries, exponent: AsymptoticSeries
) -> AsymptoticSeries:
    """base^exponent: the binomial series about the dominant term, or exp(exponent*log(base)).

    c^p m^p (1 + u)^p = c^p m^p sum_k binomial(p, k) u^k for a constant exponent p.
    """
    numbers = ring.numbers
    if exponent.rest is not None or any(m for m in exponent.terms):
        return _exp(ring, ring.multiply(exponent, _log(ring, base)))
    p = exponent.terms.get(CONSTANT, numbers.rational(0))
    if p.fraction == 0:
        return ring.constant(Fraction(1))
    is_integer = not p.constant and p.fraction.q == 1
    if not base.terms and base.rest is None:
        if numbers.sign(p) > 0:
            return base
        raise Undecided
    if is_integer and 1 <= p.fraction <= EXPANSION_ORDER + 1:
        return ring.multiply(*[base] * int(p.fraction))
    monomial, c, small = ring.factored(base)
    if numbers.sign(c) <= 0 and not is_integer:
        raise Undecided
    coefficients = [numbers.rational(1)]
    for k in range(1, EXPANSION_ORDER + 1):
        factor = numbers.add(p, numbers.rational(1 - k))
        factor = numbers.multiply(factor, numbers.rational(fmpq(1, k)))
        coefficients.append(numbers.multiply(coefficients[-1], factor))
    # the last coefficient belongs to the remainder
    last, value = numbers.value(coefficients.pop()), numbers.value(p)
    series = ring.taylor(
        coefficients, small, lambda u: last * _one_plus(u) ** (value - EXPANSION_ORDER)
    )
    return ring.scaled(series, numbers.power(c, p), ring.line.raised(monomial, p))


def _log(ring: SeriesRing, a: AsymptoticSeries) -> AsymptoticSeries:
    """log a = log(c) + log(m) + log(1 + u) for a = c m (1 + u)."""
    monomial, c, small = ring.factored(a)
    if ring.numbers.sign(c) <= 0:
        raise Undecided
    terms: dict[Monomial, Coefficient] = {}
    for generator, coefficient in monomial:
        exponent = ring.line.logarithm(generator) if isinstance(generator, int) else generator
        terms[exponent] = coefficient
    parts = [AsymptoticSeries(terms)]
    if c != (1, 0):
        parts.append(ring.of_number(ring.numbers.named(("log", c), ring.numbers.value(c).log())))
    exact = [fmpq(0)] + [fmpq((-1) ** (k + 1), k) for k in range(1, EXPANSION_ORDER)]
    last = arb((-1) ** (EXPANSION_ORDER + 1)) / EXPANSION_ORDER
    coefficients = [ring.numbers.rational(f) for f in exact]
    parts.append(ring.taylor(coefficients, small, lambda u: last / _one_plus(u) ** EXPANSION_ORDER))
    return ring.add(*parts)


def _one_plus(u: Any) -> Any:
    """1 + u; the remainders of log(1 + u) and (1 + u)^p are bounded only where it is positive."""
    if not 1 + u > 0:
        raise Undecided
    return 1 + u


def _exp(ring: SeriesRing, a: AsymptoticSeries) -> AsymptoticSeries:
    """exp a: terms that grow without bound become a monomial, the others a Taylor series."""
    big, constant, small = ring.parted(a)
    monomial = frozenset((ring.line.generator(m), c) for m, c in big.items())
    factorials = [fmpq(1)]
    for k in range(1, EXPANSION_ORDER + 1):
        factorials.append(factorials[-1] / k)
    last = arb(factorials.pop())
    exact = [ring.numbers.rational(f) for f in factorials]
    series = ring.taylor(exact, small, lambda u: last * u.exp())
    factor = ring.numbers.rational(1)
    if constant.fraction != 0:
        factor = ring.numbers.named(("exp", constant), ring.numbers.value(constant).exp())
    return ring.scaled(series, factor, monomial)


def _sine(ring: SeriesRing, a: AsymptoticSeries, phase: int = 0) -> AsymptoticSeries:
    """sin a about the limit of a, or cos a with phase 1; [-1, 1] where a is unbounded."""
    numbers = ring.numbers
    try:
        big, constant, small = ring.parted(a)
    except Undecided:
        big, constant, small = {CONSTANT: numbers.rational(1)}, numbers.rational(0), a
    if big:
        return AsymptoticSeries({}, (CONSTANT, arb(-1).union(arb(1))))
    if constant.fraction == 0:
        sine, cosine = numbers.rational(0), numbers.rational(1)
    else:
        value = numbers.value(constant)
        sine = numbers.named(("sin", constant), value.sin())
        cosine = numbers.named(("cos", constant), value.cos())
    derivatives = [sine, cosine, numbers.negative(sine), numbers.negative(cosine)]
    coefficients, factorial = [], fmpq(1)
    for k in range(EXPANSION_ORDER):
        factorial = factorial / max(k, 1)
        derivative = derivatives[(k + phase) % 4]
        coefficients.append(numbers.multiply(derivative, numbers.rational(factorial)))
    bound = arb(factorial) / EXPANSION_ORDER
    return ring.taylor(coefficients, small, lambda _: (-bound).union(bound))


def _cosine(ring: SeriesRing, a: AsymptoticSeries) -> AsymptoticSeries:
    return _sine(ring, a, phase=1)


def _tangent(ring: SeriesRing, a: AsymptoticSeries) -> AsymptoticSeries:
    return ring.multiply(_sine(ring, a), _inverse(ring, _cosine(ring, a)))


def _inverse(ring: SeriesRing, a: AsymptoticSeries) -> AsymptoticSeries:
    return _power(ring, a, ring.constant(Fraction(-1)))


def _tanh(ring: SeriesRing, a: AsymptoticSeries) -> AsymptoticSeries:
    """tanh a = 1 - 2/(exp(2a) + 1)."""
    one = ring.constant(Fraction(1))
    double = _exp(ring, ring.scaled(a, ring.numbers.rational(2)))
    quotient = _inverse(ring, ring.add(double, one))
    return ring.subtract(one, ring.scaled(quotient, ring.numbers.rational(2)))


def _atan(ring: SeriesRing, a: AsymptoticSeries) -> AsymptoticSeries:
    """atan a: at infinity as ±pi/2 - atan(1/a), else by two Taylor terms, or four at 0."""
    big, constant, small = ring.parted(a)
    if big:
        half_pi = Coefficient(fmpq(ring.sign(a), 2), ring.numbers.named("pi", arb.pi()).constant)
        return ring.subtract(AsymptoticSeries({CONSTANT: half_pi}), _atan(ring, _inverse(ring, a)))
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


def _absolute(ring: SeriesRing, a: AsymptoticSeries) -> AsymptoticSeries:
    """a or -a, by the sign of a near the end."""
    return ring.scaled(a, ring.numbers.rational(ring.sign(a) or 1))


def _extreme(ring: SeriesRing, series: Sequence[AsymptoticSeries], side: int) -> AsymptoticSeries:
    """The series that is largest near the end (side 1), or smallest (side -1)."""
    return reduce(lambda a, b: a if side * ring.sign(ring.subtract(a, b)) >= 0 else b, series)


def _step(ring: SeriesRing, a: AsymptoticSeries, before: int) -> AsymptoticSeries:
    """1 where a is positive near the end, `before` where it is negative."""
    sign = ring.sign(a)
    if not sign:
        raise Undecided
    return ring.constant(Fraction(1 if sign > 0 else before))


OPERATIONS: dict[str, Callable[..., AsymptoticSeries]] = {
    "add": SeriesRing.add,
    "multiply": SeriesRing.multiply,
    "power": _power,
    "exp": _exp,
    "log": _log,
    "sin": _sine,
    "cos": _cosine,
    "tan": _tangent,
    "atan": _atan,
    "tanh": _tanh,
    "abs": _absolute,
    "min": lambda ring, *series: _extreme(ring, series, -1),
    "max": lambda ring, *series: _extreme(ring, series, 1),
    "sign": lambda ring, a: _step(ring, a, -1),
    "step": lambda ring, a: _step(ring, a, 0),
}
