"""Functions of t -> how fast they grow: monomials in exponentials, powers and iterated logarithms.

A monomial is exp(c1*g1 + c2*g2 + …), where each generator g is an iterated logarithm of t or a
monomial that itself grows without bound. Their order as t -> oo is decided by the coefficients
alone (comparability classes: Gruntz (1996), On Computing Limits in a Symbolic Manipulation System),
and every ratio is bounded on a whole half-line t >= T, so that conclusions hold there and not only
in the limit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import arb, fmpq

MAX_FRACTION_BITS = 6000  # longest fraction that is represented exactly
MAX_EXPANDED_EXPONENT = 64  # greatest integer exponent that is multiplied out


class Undecided(Exception):
    """A sign or bound is not certain on this half-line; it may be on one with a larger T."""


class Coefficient(NamedTuple):
    """A fraction times an irrational constant, which has a number in a table; 0 stands for 1."""

    fraction: Any
    constant: int


# A generator is the number n of an iterated logarithm (1: log t, 2: log log t), or a monomial.
Generator = Any
Monomial = frozenset[tuple[Generator, Coefficient]]
CONSTANT: Monomial = frozenset()


class CoefficientArithmetic:
    """Arithmetic on constants: exact on fractions, and equal expressions stay equal."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {"1": 0}
        self.balls: list[Any] = [arb(1)]

    def rational(self, value: Any) -> Coefficient:
        """Convert a fraction to a coefficient."""
        return Coefficient(fmpq(value), 0)

    def named(self, key: Any, ball: Any) -> Coefficient:
        """Return the constant of an expression, which enters the table if it is new.

        Args:
            key: identifies the expression: equal keys give equal constants.
            ball: an enclosure of its value.

        Returns:
            One times that constant.

        Raises:
            Undecided: the ball is not finite.
        """
        if not ball.is_finite():
            raise Undecided
        if key not in self.known:
            self.known[key] = len(self.balls)
            self.balls.append(ball)
        return Coefficient(fmpq(1), self.known[key])

    def value(self, a: Coefficient) -> Any:
        """A number as a ball."""
        return arb(a.fraction) * self.balls[a.constant]

    def add(self, a: Coefficient, b: Coefficient) -> Coefficient:
        """Add two numbers.

        Args:
            a, b: the numbers.

        Returns:
            a + b, exactly where both have one constant.
        """
        if a.fraction == 0 or b.fraction == 0:
            return b if a.fraction == 0 else a
        if a.constant == b.constant:
            return self._short(Coefficient(a.fraction + b.fraction, a.constant))
        # sorted, so that a + b and b + a are one constant and their difference is exactly 0
        key = ("+", *sorted((a, b), key=lambda n: (n.constant, str(n.fraction))))
        return self.named(key, self.value(a) + self.value(b))

    def multiply(self, a: Coefficient, b: Coefficient) -> Coefficient:
        """Multiply two numbers.

        Args:
            a, b: the numbers.

        Returns:
            a * b; equal products have equal constants.
        """
        fraction = a.fraction * b.fraction
        if not a.constant or not b.constant or fraction == 0:
            return self._short(Coefficient(fraction, (a.constant or b.constant) if fraction else 0))
        key = ("*", *sorted((a.constant, b.constant)))
        product = self.named(key, self.balls[a.constant] * self.balls[b.constant])
        return self._short(Coefficient(fraction, product.constant))

    def _short(self, a: Coefficient) -> Coefficient:
        p, q = int(a.fraction.p), int(a.fraction.q)
        if max(p.bit_length(), q.bit_length()) <= MAX_FRACTION_BITS:
            return a
        # digits of fractions may double at every step; beyond the limit they become balls
        return self.named(("long", a), self.value(a))

    def negative(self, a: Coefficient) -> Coefficient:
        """Negate a number."""
        return Coefficient(-a.fraction, a.constant)

    def inverse(self, a: Coefficient) -> Coefficient:
        """1/a.

        Raises:
            Undecided: a is 0.
        """
        if a.fraction == 0:
            raise Undecided
        if not a.constant:
            return Coefficient(1 / a.fraction, 0)
        return self.multiply(
            Coefficient(1 / a.fraction, 0),
            self.named(("/", a.constant), 1 / self.balls[a.constant]),
        )

    def power(self, a: Coefficient, exponent: Coefficient) -> Coefficient:
        """Raise a number to a power.

        Args:
            a: a positive number, or any with an integer exponent.
            exponent: the power.

        Returns:
            a^exponent.

        Raises:
            Undecided: the power may not be real.
        """
        if exponent.fraction == 0 or a == (1, 0):
            return self.rational(1)
        if not exponent.constant and exponent.fraction.q == 1:
            n = int(exponent.fraction)
            if n == 1:
                return a
            if not a.constant and abs(n) <= MAX_EXPANDED_EXPONENT:
                return self._short(Coefficient(a.fraction**n, 0))
        value = self.value(a)
        is_integer = not exponent.constant and exponent.fraction.q == 1
        if not (value > 0 or is_integer and value < 0):
            raise Undecided
        return self.named(("^", a, exponent), value ** self.value(exponent))

    def sign(self, a: Coefficient) -> int:
        """The sign of a number.

        Raises:
            Undecided: its ball contains 0.
        """
        if a.fraction == 0:
            return 0
        value = self.value(a)
        if value > 0:
            return 1
        if value < 0:
            return -1
        raise Undecided


class HalfLine:
    """The numbers t >= T, T = 2^bits, and bounds of monomials there."""

    def __init__(self, bits: int) -> None:
        self.numbers = CoefficientArithmetic()
        self.end = arb(2) ** bits
        logs = [self.end]
        for _ in range(3):
            logs.append(logs[-1].log())
        self.logs = logs  # at T: t, log t, log log t, log log log t
        # orders are requested again and again by sorting
        self._signs: dict[Monomial, int] = {}
        self._dominant: dict[Monomial, tuple[Generator, Coefficient]] = {}

    def times(self, a: Monomial, b: Monomial) -> Monomial:
        """Multiply two monomials.

        Args:
            a, b: the monomials.

        Returns:
            a*b.
        """
        if not a or not b:
            return a or b
        exponents = dict(a)
        for generator, coefficient in b:
            old = exponents.get(generator)
            exponents[generator] = self.numbers.add(old, coefficient) if old else coefficient
        return frozenset((g, c) for g, c in exponents.items() if c.fraction != 0)

    def raised(self, a: Monomial, exponent: Coefficient) -> Monomial:
        """Raise a monomial to a power.

        Args:
            a: the monomial.
            exponent: the power.

        Returns:
            a^exponent.
        """
        scaled = ((g, self.numbers.multiply(c, exponent)) for g, c in a)
        return frozenset((g, c) for g, c in scaled if c.fraction != 0)

    def over(self, a: Monomial, b: Monomial) -> Monomial:
        """Divide two monomials.

        Args:
            a, b: the monomials.

        Returns:
            a/b.
        """
        return self.times(a, self.raised(b, self.numbers.rational(-1)))

    def power_of_t(self, exponent: int) -> Monomial:
        """The monomial t^exponent."""
        return frozenset([(1, self.numbers.rational(exponent))])

    def generator(self, a: Monomial) -> Generator:
        """A monomial as a generator: log t is the first iterated logarithm, not exp(log log t)."""
        if len(a) == 1:
            ((inner, coefficient),) = a
            if isinstance(inner, int) and inner > 1 and coefficient == (1, 0):
                return inner - 1
        return a

    def logarithm(self, generator: Generator) -> Monomial:
        """A generator as a monomial: log t is exp(log log t).

        Raises:
            Undecided: it needs more iterated logarithms than there are bounds for.
        """
        if isinstance(generator, int):
            if generator >= 3:
                raise Undecided
            return frozenset([(generator + 1, self.numbers.rational(1))])
        monomial: Monomial = generator
        return monomial

    def order(self, a: Monomial) -> int:
        """1 where a monomial tends to oo, -1 where it tends to 0, 0 where it is 1."""
        if not a:
            return 0
        if a not in self._signs:
            self._signs[a] = self.numbers.sign(self.dominant(a)[1])
        return self._signs[a]

    def dominant(self, a: Monomial) -> tuple[Generator, Coefficient]:
        """The generator that grows fastest among those of an exponent, and its coefficient."""
        if a not in self._dominant:
            terms: list[tuple[Generator, Coefficient]] = list(a)
            first = terms[0]
            for term in terms[1:]:
                first = term if self._faster(term[0], first[0]) > 0 else first
            self._dominant[a] = first
        return self._dominant[a]

    def _faster(self, g: Generator, h: Generator) -> int:
        if g == h:
            return 0
        if isinstance(g, int) and isinstance(h, int):
            return 1 if g < h else -1
        return self.order(self.over(self.logarithm(g), self.logarithm(h)))

    def _factor(self, a: Monomial) -> tuple[Generator, Any]:
        """The exponent of a monomial as its fastest generator times a ball, for all t >= T."""
        first, coefficient = self.dominant(a)
        ball = self.numbers.value(coefficient)
        for generator, c in a:
            if generator != first:
                ball += self.numbers.value(c) * arb(0).union(self._ratio(generator, first))
        return first, ball

    def _ratio(self, g: Generator, h: Generator) -> Any:
        """The most that g/h is for t >= T, h being the faster one."""
        if isinstance(g, int) and isinstance(h, int):
            slower_log = self.logs[h]  # log y/y falls from y = e on
            if not slower_log > arb(1).exp():
                raise Undecided
            return slower_log.log() / slower_log
        return self.most(self.over(self.logarithm(g), self.logarithm(h)))

    def _least(self, generator: Generator) -> Any:
        """A positive number that a generator does not fall below for t >= T."""
        if isinstance(generator, int):
            return self.logs[generator]
        first, ball = self._factor(generator)
        if not ball > 0:
            raise Undecided
        return (ball.lower() * self._least(first)).exp()

    def most(self, a: Monomial) -> Any:
        """The maximum over t >= T of a monomial that tends to 0.

        Raises:
            Undecided: its exponent is not certainly negative.
        """
        if not a:
            return arb(1)
        first, ball = self._factor(a)
        if not ball < 0:
            raise Undecided
        return (ball.upper() * self._least(first)).exp()
