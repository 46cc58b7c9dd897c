"""Function + interval -> an enclosure of its derivative, by the formula of its table row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import arb

from lawdsl.compiling.balls import BALLS
from lawdsl.compiling.intervals import (
    INFINITY,
    MINUS_INFINITY,
    OPERATIONS,
    Interval,
    NoInterval,
    add,
    hull,
    multiply,
    sign_of,
)
from lawdsl.law.functions import NAMES, ROWS

DERIVATIVES = {NAMES[function]: row.derivative for function, row in ROWS.items() if not row.steps}


def derivative(op: str, argument: Interval, value: Interval) -> Interval:
    """Enclose the derivative of a function of one argument.

    Args:
        op: the name of the function.
        argument: the interval of its argument.
        value: the interval of the function there.

    Raises:
        NoInterval: the function has no derivative, or none that is certain.
    """
    if op not in DERIVATIVES:
        raise NoInterval
    return _operand(DERIVATIVES[op](_INTERVALS, _Operand(*argument), _Operand(*value)))


class _Operand(Interval):
    """An interval with arithmetic operators, in place of those of tuples."""

    __slots__ = ()

    def __neg__(self) -> _Operand:
        return _Operand(-self.high, -self.low)

    def __add__(self, other: Any) -> _Operand:
        return _Operand(*add(self, _operand(other)))

    def __sub__(self, other: Any) -> _Operand:
        return self + -_operand(other)

    def __mul__(self, other: Any) -> _Operand:
        return _Operand(*multiply(self, _operand(other)))

    def __truediv__(self, other: Any) -> _Operand:
        # the power -1 raises NoInterval where the divisor may be 0
        return self * _operand(other) ** -1

    def __pow__(self, exponent: int) -> _Operand:
        return _Operand(*OPERATIONS["power"](self, _operand(exponent)))

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: Any) -> _Operand:
        return -self + other

    def __rtruediv__(self, other: Any) -> _Operand:
        return _operand(other) * self**-1


def _operand(number: Any) -> _Operand:
    return _Operand(*(number if isinstance(number, Interval) else hull(arb(number))))


class _Intervals:
    """Intervals as an arithmetic."""

    @property
    def pi(self) -> _Operand:
        return _operand(BALLS.pi)

    def sign(self, x: Interval) -> _Operand:
        sign = sign_of(x)
        if sign is None:
            raise NoInterval
        return _operand(sign)

    def sqrt(self, x: Interval) -> _Operand:
        return _Operand(*OPERATIONS["power"](_operand(x), _operand(0.5)))

    def sinh(self, x: Interval) -> _Operand:
        """Increasing; x is between 0 and sinh(x), which may exceed the range of Arb."""
        low, high = x.low.sinh().lower(), x.high.sinh().upper()
        if not low.is_finite():
            low = x.low if x.low > 0 else MINUS_INFINITY
        if not high.is_finite():
            high = x.high if x.high < 0 else INFINITY
        return _Operand(low, high)

    def __getattr__(self, name: str) -> Callable[[Any], _Operand]:
        return lambda x: _Operand(*OPERATIONS[name](_operand(x)))


_INTERVALS = _Intervals()
