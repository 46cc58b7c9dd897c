"""Tapes on fractions and on intervals of 50 digits: a sign read off here is certain.

Fractions are exact, and stay so while they are short. The end points of intervals are rounded
outwards (mpmath), so the exact value lies between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import mpmath
import sympy as sp

from lawdsl.compiling.tape import Tape

DIGITS = 50
BITS = 2000  # of a fraction that is kept exact

Interval = Any  # mpmath has no types


class NoInterval(Exception):
    """An operation that has no certain value here: outside its domain, or not implemented."""


def interval_sign(tape: Tape, inputs: Sequence[Fraction]) -> int | None:
    """The certain sign of the first output at rational inputs.

    Returns:
        -1, 0 or 1, or None where it cannot be decided.
    """
    context = mpmath.iv
    before, context.dps = context.dps, DIGITS
    try:
        value = _as_interval(_run(tape, inputs))
    except (NoInterval, ValueError, ZeroDivisionError, ArithmeticError):
        return None
    finally:
        context.dps = before
    low, high = mpmath.mpf(value.a), mpmath.mpf(value.b)
    if not (mpmath.isfinite(low) and mpmath.isfinite(high)):
        return None
    if low > 0:
        return 1
    if high < 0:
        return -1
    return 0 if low == high == 0 else None


def exact_value(tape: Tape, inputs: Sequence[Fraction]) -> Fraction | None:
    """The first output at rational inputs, where it is a short fraction; None otherwise."""
    try:
        value = _run(tape, inputs)
    except (NoInterval, ValueError, ArithmeticError):
        return None
    return value if isinstance(value, Fraction) else None


def _run(tape: Tape, inputs: Sequence[Fraction]) -> Fraction | Interval:
    results: list[Fraction | Interval] = []
    for step in tape.instructions:
        if step.op == "input":
            results.append(inputs[step.value])  # type: ignore[index]
        elif step.op == "constant":
            results.append(_constant(step.value))
        else:
            arguments = [results[i] for i in step.arguments]
            exact = _exact(step.op, arguments)
            if exact is None:
                exact = OPERATIONS[step.op](*map(_as_interval, arguments))
            results.append(exact)
    return results[tape.outputs[0]]


def _constant(number: sp.Expr) -> Fraction | Interval:
    if number is sp.pi:
        return mpmath.iv.pi
    if number is sp.E:
        return mpmath.iv.e
    exact = sp.Rational(number)
    return Fraction(int(exact.p), int(exact.q))


def _as_interval(number: Fraction | Interval) -> Interval:
    if isinstance(number, Fraction):
        return mpmath.iv.mpf(number.numerator) / number.denominator
    return number


def _exact(op: str, arguments: Sequence[Fraction | Interval]) -> Fraction | None:
    """The operation on fractions, where its result is one, and short."""
    if op not in _EXACT or not all(isinstance(x, Fraction) for x in arguments):
        return None
    if op == "power":
        base, exponent = arguments
        if exponent.denominator != 1 or abs(exponent) > 64 or (base == 0 and exponent < 0):
            return None
    found = Fraction(_EXACT[op](*arguments))
    return (
        found if max(found.numerator.bit_length(), found.denominator.bit_length()) < BITS else None
    )


_EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda *x: sum(x, Fraction(0)),
    "multiply": lambda *x: reduce(lambda a, b: a * b, x),
    "power": lambda x, y: x ** int(y),
    "abs": abs,
    "min": min,
    "max": max,
}


def _power(base: Interval, exponent: Interval) -> Interval:
    """x^y: a whole y as a product, so that x may be negative; else through the logarithm of x > 0.

    0^y is 0 for y > 0. 0^0 is 1, as in the derivative x^0 of x; whether a law may say it at all is
    looked at elsewhere.
    """
    iv = mpmath.iv
    if exponent.a == exponent.b and exponent.a == int(exponent.a):
        whole = int(exponent.a)
        if whole < 0 and base.a <= 0 <= base.b:
            raise NoInterval
        return base**whole
    if base.a == base.b == 0 and exponent.a > 0:
        return iv.mpf(0)
    if not base.a > 0:
        raise NoInterval
    return iv.exp(exponent * iv.log(base))


def _log(x: Interval) -> Interval:
    if not x.a > 0:
        raise NoInterval
    return mpmath.iv.log(x)


def _tan(x: Interval) -> Interval:
    cosine = mpmath.iv.cos(x)
    if cosine.a <= 0 <= cosine.b:
        raise NoInterval
    return mpmath.iv.sin(x) / cosine


def _atan(x: Interval) -> Interval:
    """Increasing, so its end points bound it; mpmath has it on numbers only: widened by far more
    than its error there."""
    with mpmath.workdps(DIGITS + 10):
        low, high = mpmath.atan(mpmath.mpf(x.a)), mpmath.atan(mpmath.mpf(x.b))
        error = mpmath.mpf(10) ** -DIGITS
        return mpmath.iv.mpf([low - error * abs(low), high + error * abs(high)])


def _tanh(x: Interval) -> Interval:
    return 1 - 2 / (mpmath.iv.exp(2 * x) + 1)


def _step(before: int, after: int) -> Callable[[Interval], Interval]:
    def stepping(x: Interval) -> Interval:
        if x.a > 0:
            return mpmath.iv.mpf(after)
        if x.b < 0:
            return mpmath.iv.mpf(before)
        raise NoInterval

    return stepping


OPERATIONS: dict[str, Callable[..., Interval]] = {
    "add": lambda *x: reduce(lambda a, b: a + b, x),
    "multiply": lambda *x: reduce(lambda a, b: a * b, x),
    "power": _power,
    "exp": lambda x: mpmath.iv.exp(x),
    "log": _log,
    "sin": lambda x: mpmath.iv.sin(x),
    "cos": lambda x: mpmath.iv.cos(x),
    "tan": _tan,
    "atan": _atan,
    "tanh": _tanh,
    "abs": abs,
    "min": lambda *x: mpmath.iv.mpf([min(v.a for v in x), min(v.b for v in x)]),
    "max": lambda *x: mpmath.iv.mpf([max(v.a for v in x), max(v.b for v in x)]),
    "sign": _step(-1, 1),
    "step": _step(0, 1),
}
