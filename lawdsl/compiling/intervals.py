"""Intervals with end points in Arb (python-flint) -> enclosures of the operations of tapes on them.

Each operation encloses the range of the exact one: end points are rounded outwards, and may be
infinite (Moore, Kearfott and Cloud (2009), Introduction to Interval Analysis).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

import flint
from flint import arb

from lawdsl.compiling.balls import BALLS, NoBall
from lawdsl.core.functions import CHOICE, Function, value_in
from lawdsl.core.time_limit import unstruck
from lawdsl.law.functions import NAMES, ROWS

ZERO, ONE = arb(0), arb(1)
INFINITY, MINUS_INFINITY = arb.pos_inf(), arb.neg_inf()


class Interval(NamedTuple):
    """All numbers between two end points, which are exact and may be infinite."""

    low: Any
    high: Any


class NoInterval(Exception):
    """An operation without a certain value: outside its domain, or not implemented."""


class precision:
    """A context with a number of bits as Arb's precision; its end restores the previous one.

    It is a class and not a generator, like `time_limit`: a limit that strikes while the precision
    is restored would leave it changed for all later code.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits

    @unstruck
    def __enter__(self) -> None:
        self.before, flint.ctx.prec = flint.ctx.prec, self.bits

    @unstruck
    def __exit__(self, *_: object) -> None:
        flint.ctx.prec = self.before


def as_interval(number: Fraction | Interval) -> Interval:
    """An interval of a fraction, rounded outwards; an interval is returned unchanged."""
    if isinstance(number, Interval):
        return number
    return hull(arb(flint.fmpq(number.numerator, number.denominator)))


def hull(ball: Any) -> Interval:
    """The interval that a ball of Arb covers."""
    return Interval(ball.lower(), ball.upper())


def sign_of(x: Interval) -> int | None:
    """The common sign of all numbers of an interval; None where they differ."""
    if x.low > 0:
        return 1
    if x.high < 0:
        return -1
    return 0 if x.low == 0 and x.high == 0 else None


def add(x: Interval, y: Interval) -> Interval:
    """Enclose the sum of two intervals; infinite end points of both signs make it unbounded.

    Args:
        x, y: the terms.
    """
    low, high = (x.low + y.low).lower(), (x.high + y.high).upper()
    return Interval(MINUS_INFINITY if low.is_nan() else low, INFINITY if high.is_nan() else high)


def multiply(x: Interval, y: Interval) -> Interval:
    """Enclose the product of two intervals. Members of unbounded intervals are finite, so that 0
    times any of them is 0.

    Args:
        x, y: the factors.
    """
    # the usual case: two products instead of four
    if x.low >= 0 and y.low >= 0:
        return Interval(_times(x.low, y.low).lower(), _times(x.high, y.high).upper())
    products = [_times(a, b) for a in x for b in y]
    return Interval(least([p.lower() for p in products]), most([p.upper() for p in products]))


def _times(a: Any, b: Any) -> Any:
    return ZERO if a == 0 or b == 0 else a * b


def least(numbers: Sequence[Any]) -> Any:
    """The smallest of some numbers of Arb."""
    return reduce(lambda a, b: b if b < a else a, numbers)


def most(numbers: Sequence[Any]) -> Any:
    """The largest of some numbers of Arb."""
    return reduce(lambda a, b: b if b > a else a, numbers)


def _power(base: Interval, exponent: Interval) -> Interval:
    """Enclose x^y: an integer y by products, so that x may be negative; else exp(y·log x) for x > 0.

    It is monotone in x and in y, so its extremes are at corners. 0^y is 0 for y > 0. 0^0 is 1, as
    in the derivative x^0 of x; whether a law may contain it is checked elsewhere.
    """
    if exponent.low == exponent.high and exponent.low.is_integer():
        return _integer_power(base, exponent.low)
    if base.low < 0 or (base.high == 0 and exponent.low <= 0):
        raise NoInterval
    corners = [_corner(x, y) for x in _ends(base) for y in _ends(exponent)]
    return Interval(least([c.lower() for c in corners]), most([c.upper() for c in corners]))


def _ends(x: Interval) -> tuple[Any, ...]:
    """The end points, a single one where they are equal."""
    return (x.low,) if x.low == x.high else (x.low, x.high)


def _corner(x: Any, y: Any) -> Any:
    if y == 0 or x == 1:
        return ONE
    if x == 0:
        return ZERO if y > 0 else INFINITY
    if y.is_finite():
        if x.is_finite():
            return x**y
        return INFINITY if y > 0 else ZERO
    return INFINITY if (x > 1) == (y > 0) else ZERO


def _integer_power(base: Interval, n: Any) -> Interval:
    if n == 0:
        return Interval(ONE, ONE)
    if n < 0:
        if base.low < 0 < base.high or base.low == base.high == 0:
            raise NoInterval
        power = _integer_power(base, -n)
        low, high = _inverse(power.high, -1), _inverse(power.low, 1 if power.low >= 0 else -1)
        return Interval(low.lower(), high.upper())
    low, high = _raised(base.low, n), _raised(base.high, n)
    if base.low >= 0 or not _even(n):
        return Interval(low.lower(), high.upper())
    if base.high <= 0:
        return Interval(high.lower(), low.upper())
    return Interval(ZERO, most([low.upper(), high.upper()]))


def _raised(x: Any, n: Any) -> Any:
    if x.is_finite():
        return x**n
    return INFINITY if x > 0 or _even(n) else MINUS_INFINITY


def _even(n: Any) -> bool:
    return bool((n / 2).is_integer())


def _inverse(x: Any, side: int) -> Any:
    """1/x; at 0 the infinity with the sign of one side."""
    return (INFINITY if side > 0 else MINUS_INFINITY) if x == 0 else 1 / x


def _of_row(name: str, row: Function) -> Callable[[Interval], Interval]:
    """A function without kinks and poles, restricted to its range if the ends are integers."""
    on_balls = value_in(BALLS, name)
    without_zero, everywhere = row.domain == "positive", row.domain == "all"
    low, high = (None if callable(end) or end is None else arb(end) for end in row.range)

    def value(x: Any) -> Any:
        try:
            return on_balls(x)
        except NoBall:  # a formula made of others may have none where its function has one
            raise NoInterval from None

    def cut(least: Any, greatest: Any) -> Interval:
        # outward rounding may leave the range; ends such as pi/2 are not exact, and do not cut
        least, greatest = least.lower(), greatest.upper()
        return Interval(
            low if low is not None and least < low else least,
            high if high is not None and greatest > high else greatest,
        )

    def bound(side: int) -> Any:
        end = row.range[side > 0]
        if end is None:
            return INFINITY if side > 0 else MINUS_INFINITY
        return end(BALLS) if callable(end) else arb(end)

    def at_end(x: Any) -> Any:
        if x.is_finite() and not (without_zero and x == 0):
            return value(x)
        return bound(row.monotone if x > 0 else -row.monotone)

    def monotone(x: Interval) -> Interval:
        if not everywhere and x.low < 0:
            raise NoInterval
        return (
            cut(at_end(x.low), at_end(x.high))
            if row.monotone > 0
            else cut(at_end(x.high), at_end(x.low))
        )

    def by_ball(x: Interval) -> Interval:
        if not everywhere and x.low < 0:
            raise NoInterval
        if not (x.low.is_finite() and x.high.is_finite()):
            return Interval(bound(-1), bound(1))
        # Arb encloses the function on the whole ball
        ball = value(x.low.union(x.high))
        return cut(ball, ball)

    return monotone if row.monotone else by_ball


def _tan(x: Interval) -> Interval:
    cosine = OPERATIONS["cos"](x)
    # a pole; between two of them tan increases
    if cosine.low <= 0 <= cosine.high:
        raise NoInterval
    return Interval(x.low.tan().lower(), x.high.tan().upper())


def _absolute(x: Interval) -> Interval:
    if x.low >= 0:
        return x
    return Interval(-x.high if x.high <= 0 else ZERO, most([-x.low, x.high]))


def middle(x: Interval) -> Any:
    """A number inside an interval, in the middle of its powers of ten; beyond the finite end of an
    unbounded one."""
    low, high = x
    if low == high:
        return low
    if low < 0 < high:
        return ZERO
    if low < 0:
        return -middle(Interval(-high, -low))
    if not high.is_finite():
        return ONE if low < 0.5 else (low * 16).mid()
    if low == 0:
        return (high / 16).mid()
    return (low * high).sqrt().mid() if high > 4 * low else ((low + high) / 2).mid()


def _step(before: int, after: int) -> Callable[[Interval], Interval]:
    def stepping(x: Interval) -> Interval:
        if x.low > 0:
            return Interval(arb(after), arb(after))
        if x.high < 0:
            return Interval(arb(before), arb(before))
        raise NoInterval

    return stepping


def _choice(g: Interval, a: Interval, b: Interval) -> Interval:
    """The part that is certainly taken, else the hull of both."""
    if g.low > 0:
        return a
    if g.high <= 0:
        return b
    return Interval(least([a.low, b.low]), most([a.high, b.high]))


def _of_function(name: str, row: Function) -> Callable[[Interval], Interval]:
    rules = {"abs": _absolute, "tan": _tan}
    if row.steps is not None:
        return _step(*row.steps)
    return rules[name] if name in rules else _of_row(name, row)


OPERATIONS: dict[str, Callable[..., Interval]] = {
    "add": lambda *x: reduce(add, x),
    "multiply": lambda *x: reduce(multiply, x),
    "power": _power,
    "min": lambda *x: Interval(least([v.low for v in x]), least([v.high for v in x])),
    "max": lambda *x: Interval(most([v.low for v in x]), most([v.high for v in x])),
    CHOICE: _choice,
    **{NAMES[function]: _of_function(NAMES[function], row) for function, row in ROWS.items()},
}
