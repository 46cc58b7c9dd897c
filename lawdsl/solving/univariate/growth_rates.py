"""How fast functions of t grow: monomials in exponentials, powers and iterated logarithms of t.

A monomial is exp(c1*g1 + c2*g2 + …), where each generator g is an iterated logarithm of t or a
monomial that itself grows without bound. Their order as t -> oo is decided by the coefficients
alone (a comparability class after Gruntz, 1996), and every ratio is bounded on a whole half-line
t >= T, so that what is concluded holds there and not only in the limit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from flint import arb, fmpq

LONG = 6000  # bits of a fraction that is kept exact
SHORT_POWER = 64  # whole exponents up to here are multiplied out


class Undecided(Exception):
    """Something that is needed is not certain here; it may be for a larger T."""


class Number(NamedTuple):
    """A fraction times an irrational constant, which has a number in a table; 0 stands for 1."""

    fraction: Any
    constant: int


# A generator is the number n of an iterated logarithm (1: log t, 2: log log t), or a monomial.
Generator = Any
Monomial = frozenset[tuple[Generator, Number]]
CONSTANT: Monomial = frozenset()


class Numbers:
    """Arithmetic on constants: exact on fractions, and equal expressions stay equal."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {"1": 0}
        self.balls: list[Any] = [arb(1)]

    def rational(self, value: Any) -> Number:
        return Number(fmpq(value), 0)

    def named(self, key: Any, ball: Any) -> Number:
        """The constant of an expression; the same key is the same constant."""
        if not ball.is_finite():
            raise Undecided
        if key not in self.known:
            self.known[key] = len(self.balls)
            self.balls.append(ball)
        return Number(fmpq(1), self.known[key])

    def value(self, a: Number) -> Any:
        return arb(a.fraction) * self.balls[a.constant]

    def add(self, a: Number, b: Number) -> Number:
        if a.fraction == 0 or b.fraction == 0:
            return b if a.fraction == 0 else a
        if a.constant == b.constant:
            return self._short(Number(a.fraction + b.fraction, a.constant))
        key = ("+", *sorted((a, b), key=lambda n: (n.constant, str(n.fraction))))
        return self.named(key, self.value(a) + self.value(b))

    def multiply(self, a: Number, b: Number) -> Number:
        fraction = a.fraction * b.fraction
        if not a.constant or not b.constant or fraction == 0:
            return self._short(Number(fraction, (a.constant or b.constant) if fraction else 0))
        key = ("*", *sorted((a.constant, b.constant)))
        made = self.named(key, self.balls[a.constant] * self.balls[b.constant])
        return self._short(Number(fraction, made.constant))

    def _short(self, a: Number) -> Number:
        p, q = int(a.fraction.p), int(a.fraction.q)
        if max(p.bit_length(), q.bit_length()) <= LONG:
            return a
        return self.named(("long", a), self.value(a))

    def negative(self, a: Number) -> Number:
        return Number(-a.fraction, a.constant)

    def inverse(self, a: Number) -> Number:
        if a.fraction == 0:
            raise Undecided
        if not a.constant:
            return Number(1 / a.fraction, 0)
        return self.multiply(
            Number(1 / a.fraction, 0), self.named(("/", a.constant), 1 / self.balls[a.constant])
        )

    def power(self, a: Number, exponent: Number) -> Number:
        """a^exponent of a positive number, or a whole power of any."""
        if exponent.fraction == 0 or a == (1, 0):
            return self.rational(1)
        if not exponent.constant and exponent.fraction.q == 1:
            n = int(exponent.fraction)
            if n == 1:
                return a
            if not a.constant and abs(n) <= SHORT_POWER:
                return self._short(Number(a.fraction**n, 0))
        value = self.value(a)
        whole = not exponent.constant and exponent.fraction.q == 1
        if not (value > 0 or whole and value < 0):
            raise Undecided
        return self.named(("^", a, exponent), value ** self.value(exponent))

    def sign(self, a: Number) -> int:
        """Its certain sign."""
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
        self.numbers = Numbers()
        self.end = arb(2) ** bits
        logs = [self.end]
        for _ in range(3):
            logs.append(logs[-1].log())
        self.logs = logs  # at T: t, log t, log log t, log log log t
        self._signs: dict[Monomial, int] = {}
        self._dominant: dict[Monomial, tuple[Generator, Number]] = {}

    def times(self, a: Monomial, b: Monomial) -> Monomial:
        if not a or not b:
            return a or b
        made = dict(a)
        for generator, coefficient in b:
            old = made.get(generator)
            made[generator] = self.numbers.add(old, coefficient) if old else coefficient
        return frozenset((g, c) for g, c in made.items() if c.fraction != 0)

    def raised(self, a: Monomial, exponent: Number) -> Monomial:
        scaled = ((g, self.numbers.multiply(c, exponent)) for g, c in a)
        return frozenset((g, c) for g, c in scaled if c.fraction != 0)

    def over(self, a: Monomial, b: Monomial) -> Monomial:
        return self.times(a, self.raised(b, self.numbers.rational(-1)))

    def power_of_t(self, exponent: int) -> Monomial:
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
        found: Monomial = generator
        return found

    def order(self, a: Monomial) -> int:
        """1 where a monomial tends to oo, -1 where it tends to 0, 0 where it is 1."""
        if not a:
            return 0
        if a not in self._signs:
            self._signs[a] = self.numbers.sign(self.dominant(a)[1])
        return self._signs[a]

    def dominant(self, a: Monomial) -> tuple[Generator, Number]:
        """The generator that grows fastest among those of an exponent, and its coefficient."""
        if a not in self._dominant:
            terms: list[tuple[Generator, Number]] = list(a)
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
            at = self.logs[h]  # log y/y falls from y = e on
            if not at > arb(1).exp():
                raise Undecided
            return at.log() / at
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
        """The most that a monomial that tends to 0 is for t >= T."""
        if not a:
            return arb(1)
        first, ball = self._factor(a)
        if not ball < 0:
            raise Undecided
        return (ball.upper() * self._least(first)).exp()
