"""Tapes on intervals of 50 digits: a sign read off here is certain.

The end points are rounded outwards (mpmath), so the exact value lies between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import mpmath
import sympy as sp

from lawdsl.compiling.tape import Instruction, Tape

DIGITS = 50

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
        value = _run(tape, [context.mpf(x.numerator) / x.denominator for x in inputs])
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


def _run(tape: Tape, inputs: list[Interval]) -> Interval:
    results: list[Interval] = []
    for step in tape.instructions:
        if step.op == "input":
            results.append(inputs[step.value])  # type: ignore[index]
        elif step.op == "constant":
            results.append(_constant(step))
        else:
            results.append(_OPERATIONS[step.op](*(results[i] for i in step.arguments)))
    return results[tape.outputs[0]]


def _constant(step: Instruction) -> Interval:
    number = step.value
    if isinstance(number, sp.Rational):
        return mpmath.iv.mpf(int(number.p)) / int(number.q)
    if number == sp.pi:
        return mpmath.iv.pi
    # other numbers (log 10, 2^(1/3)): SymPy's digits, widened by far more than their error
    value = sp.N(number, DIGITS + 10)
    around = mpmath.iv.mpf([str(value), str(value)])
    return around * (1 + mpmath.iv.mpf([-1, 1]) * mpmath.iv.mpf(10) ** (5 - DIGITS))


def _power(base: Interval, exponent: Interval) -> Interval:
    iv = mpmath.iv
    if exponent.a == exponent.b and exponent.a == int(exponent.a):
        whole = int(exponent.a)
        if whole < 0 and base.a <= 0 <= base.b:
            raise NoInterval
        return base**whole
    if base.a == base.b == 0 and exponent.a > 0:
        return iv.mpf(0)
    if base.a <= 0:
        raise NoInterval
    return iv.exp(exponent * iv.log(base))


def _log(x: Interval) -> Interval:
    if x.a <= 0:
        raise NoInterval
    return mpmath.iv.log(x)


def _tanh(x: Interval) -> Interval:
    return 1 - 2 / (mpmath.iv.exp(2 * x) + 1)


def _abs(x: Interval) -> Interval:
    return abs(x)


def _unknown(*x: Interval) -> Interval:
    raise NoInterval


_OPERATIONS: dict[str, Callable[..., Interval]] = {
    "add": lambda *x: reduce(lambda a, b: a + b, x),
    "multiply": lambda *x: reduce(lambda a, b: a * b, x),
    "power": _power,
    "exp": lambda x: mpmath.iv.exp(x),
    "log": _log,
    "sin": lambda x: mpmath.iv.sin(x),
    "cos": lambda x: mpmath.iv.cos(x),
    "tan": lambda x: mpmath.iv.sin(x) / mpmath.iv.cos(x),
    "atan": _unknown,
    "tanh": _tanh,
    "abs": _abs,
    "min": lambda *x: mpmath.iv.mpf([min(v.a for v in x), min(v.b for v in x)]),
    "max": lambda *x: mpmath.iv.mpf([max(v.a for v in x), max(v.b for v in x)]),
    "sign": _unknown,
    "step": _unknown,
}
