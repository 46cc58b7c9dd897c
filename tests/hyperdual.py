"""Numbers that carry first and second derivatives (hyper-dual numbers), in several arithmetics.

Exact derivatives, no differences: on mpmath, in enclosures, in rational numbers or on float64. What has
no value raises `NoValue` on mpmath and is nan on float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np


class NoValue(Exception):
    """The formula has no finite real value here."""


class Kink(NoValue):
    """There is a value, but no derivative."""


class Border(Kink):
    """The two sides of a condition are equal: a piecewise formula has no derivative along it."""


class Exact:
    """Numbers of mpmath; what has no value raises."""

    def compared(self, x: Any, y: Any) -> int:
        """1, 0 or -1; numbers that agree in most of their digits are equal but for rounding."""
        near = mpmath.mpf(10) ** (-mpmath.mp.dps * 3 // 4) * (abs(x) + abs(y))
        return 0 if abs(x - y) <= near else 1 if x > y else -1

    def number(self, x: Fraction) -> Any:
        return mpmath.mpf(x.numerator) / x.denominator

    def inverse(self, x: Any) -> Any:
        if x == 0:
            raise NoValue
        return 1 / x

    def log(self, x: Any) -> Any:
        if x <= 0:
            raise NoValue
        return mpmath.log(x)

    def power(self, x: Any, y: Any) -> Any:
        """x^y; of numbers below 0 whole powers only, and no 0^0."""
        if x > 0:
            few = abs(y) < 10**6 and y == int(y)  # mpmath multiplies: 10^50 times takes for ever
            return x ** int(y) if few else self.exp(y * mpmath.log(x))
        if x == 0 and y > 0:
            return mpmath.mpf(0)
        if x < 0 and y == int(y):
            return x ** int(y)
        raise NoValue

    def slope(self, x: Any, y: Any, order: int) -> Any:
        """A derivative of x^y by x, y constant: that of x^1 and x^2 at 0 too."""
        factor = y if order == 1 else y * (y - 1)
        if factor == 0:
            return self.number(Fraction(0))
        return factor if y == order else factor * self.power(x, y - order)

    def kink(self, x: Any) -> Any:
        if x == 0:
            raise Kink
        return mpmath.sign(x)

    def exp(self, x: Any) -> Any:
        if abs(x) > 10**15:
            raise OverflowError  # mpmath could, in a long time
        return mpmath.exp(x)

    def sin(self, x: Any) -> Any:
        if mpmath.mag(x) > 10**5:
            raise OverflowError  # mpmath needs that many bits of pi
        return mpmath.sin(x)

    def cos(self, x: Any) -> Any:
        if mpmath.mag(x) > 10**5:
            raise OverflowError
        return mpmath.cos(x)

    pi = mpmath.pi
    tanh = staticmethod(mpmath.tanh)
    atan = staticmethod(mpmath.atan)
    absolute = staticmethod(abs)


class Unclear(Exception):
    """An interval is too wide to go on."""


class Enclosed(Exact):
    """Intervals of mpmath, which the exact value lies in: digits that cancel widen them."""

    @staticmethod
    @contextmanager
    def digits(count: int) -> Iterator[Enclosed]:
        before, mpmath.iv.dps = mpmath.iv.dps, count
        try:
            yield Enclosed()
        finally:
            mpmath.iv.dps = before

    def number(self, x: Fraction) -> Any:
        return mpmath.iv.mpf(x.numerator) / x.denominator

    def _side(self, x: Any) -> int:
        if x > 0 or x < 0:
            return 1 if x > 0 else -1
        if x == 0:
            return 0
        raise Unclear

    def compared(self, x: Any, y: Any) -> int:
        return self._side(x - y)

    def inverse(self, x: Any) -> Any:
        if self._side(x) == 0:
            raise NoValue
        return 1 / x

    def log(self, x: Any) -> Any:
        if self._side(x) <= 0:
            raise NoValue
        return mpmath.iv.log(x)

    def power(self, x: Any, y: Any) -> Any:
        whole = y.delta == 0 and y.a == int(y.a)
        side = self._side(x)
        if side > 0 and not whole:
            return self.exp(y * mpmath.iv.log(x))
        if side == 0 and y > 0:
            return mpmath.iv.mpf(0)
        if side != 0 and whole:
            return x ** int(y.a)
        raise Unclear

    def kink(self, x: Any) -> Any:
        if self._side(x) == 0:
            raise Kink
        return mpmath.iv.mpf(self._side(x))

    def exp(self, x: Any) -> Any:
        if not abs(x) < 10**15:
            raise OverflowError
        return mpmath.iv.exp(x)

    def tanh(self, x: Any) -> Any:
        return 1 - 2 / (1 + self.exp(2 * x))

    def atan(self, x: Any) -> Any:
        return mpmath.iv.atan2(x, mpmath.iv.mpf(1))

    pi = mpmath.iv.pi
    sin = staticmethod(mpmath.iv.sin)
    cos = staticmethod(mpmath.iv.cos)


class Irrational(Exception):
    """The value is no fraction."""


class Rationals:
    """Fractions; what is none raises."""

    def number(self, x: Fraction) -> Fraction:
        return x

    def compared(self, x: Fraction, y: Fraction) -> int:
        return (x > y) - (x < y)

    def inverse(self, x: Fraction) -> Fraction:
        if x == 0:
            raise NoValue
        return 1 / x

    def power(self, x: Fraction, y: Fraction) -> Fraction:
        if y.denominator != 1 or abs(y) > 20:
            raise Irrational
        if x == 0 and y <= 0:
            raise NoValue
        return x ** int(y)

    def __getattr__(self, name: str) -> Any:
        raise Irrational(name)


class Floats:
    """Arrays of float64; what has no value is nan."""

    def number(self, x: Fraction) -> Any:
        return np.float64(x)

    def inverse(self, x: Any) -> Any:
        return np.where(x == 0, np.nan, 1 / np.where(x == 0, 1, x))

    def log(self, x: Any) -> Any:
        return np.where(x > 0, np.log(np.where(x > 0, x, 1)), np.nan)

    def power(self, x: Any, y: Any) -> Any:
        bad = ((x == 0) & (y <= 0)) | ((x < 0) & (y != np.floor(y)))
        return np.where(bad, np.nan, np.power(np.where(bad, 1.0, x), y))

    def slope(self, x: Any, y: Any, order: int) -> Any:
        factor = y if order == 1 else y * (y - 1)
        inner = np.where(y == order, 1.0, self.power(x, np.where(y == order, 1.0, y - order)))
        return np.where(factor == 0, 0.0, factor * np.where(factor == 0, 0.0, inner))

    def kink(self, x: Any) -> Any:
        return np.where(x == 0, np.nan, np.sign(x))

    pi = np.pi
    exp = staticmethod(np.exp)
    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    tanh = staticmethod(np.tanh)
    atan = staticmethod(np.arctan)
    absolute = staticmethod(np.abs)


@dataclass
class Jet:
    """a + b·e1 + c·e2 + d·e1·e2 with e1² = e2² = 0; None stands for 0 that no path reaches."""

    a: Any
    b: Any = None
    c: Any = None
    d: Any = None


def _plus(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x + y


def _times(x: Any, y: Any) -> Any:
    return None if x is None or y is None else x * y


def jet_sum(x: Jet, y: Jet) -> Jet:
    return Jet(x.a + y.a, _plus(x.b, y.b), _plus(x.c, y.c), _plus(x.d, y.d))


def jet_product(x: Jet, y: Jet) -> Jet:
    mixed = _plus(_times(x.b, y.c), _times(x.c, y.b))
    return Jet(
        x.a * y.a,
        _plus(_times(x.a, y.b), _times(x.b, y.a)),
        _plus(_times(x.a, y.c), _times(x.c, y.a)),
        _plus(_plus(_times(x.a, y.d), _times(x.d, y.a)), mixed),
    )


def jet_image(x: Jet, value: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Jet:
    """f(x): derivatives are only computed where something depends on them."""
    slope = None if x.b is None and x.c is None and x.d is None else first()
    bent = None if x.b is None or x.c is None else second() * x.b * x.c
    return Jet(value, _times(slope, x.b), _times(slope, x.c), _plus(_times(slope, x.d), bent))
