"""Tape + rational or interval inputs -> values with certain signs and digits.

Fractions are computed exactly while they are short; intervals of Arb, rounded outwards, contain the
exact value (Moore, Kearfott and Cloud (2009), Introduction to Interval Analysis).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from typing import Any

import sympy as sp
from flint import arb

from lawdsl.compiling.intervals import (
    ONE,
    OPERATIONS,
    Interval,
    NoInterval,
    as_interval,
    hull,
    precision,
    sign_of,
)
from lawdsl.compiling.tape import Tape
from lawdsl.core.functions import CHOICE, FUNCTIONS

VERIFICATION_BITS = 170  # precision where a point is verified: about 50 digits
MAX_EXACT_FRACTION_BITS = 2000  # bits of a fraction that is kept exact
# tried in turn until the digits that are printed are certain
PRECISIONS = (VERIFICATION_BITS, 4 * VERIFICATION_BITS, 16 * VERIFICATION_BITS)
MAX_FLOAT_EXPONENT = 300  # decimal exponent up to which a float64 neither overflows nor underflows
FLOAT_RTOL = 1e-12  # relative width up to which an interval is given as one float
EXACT_DIGITS = 60  # of a number before it is rounded

Number = Fraction | Interval


def interval_sign(tape: Tape, inputs: Sequence[Fraction]) -> int | None:
    """The certain sign of the first output at rational inputs.

    Args:
        tape: what to compute.
        inputs: one fraction for each input.

    Returns:
        -1, 0 or 1, or None where it cannot be decided.
    """
    with precision(VERIFICATION_BITS):
        try:
            value = as_interval(_run(tape, inputs))
        except NoInterval:
            return None
    # an infinite end: the exact value may be undefined
    if not (value.low.is_finite() and value.high.is_finite()):
        return None
    return sign_of(value)


def exact_value(tape: Tape, inputs: Sequence[Fraction]) -> Fraction | None:
    """The first output at rational inputs as a fraction; None if it is irrational, undefined or too long.

    Args:
        tape: what to compute.
        inputs: one fraction for each input.
    """
    with precision(VERIFICATION_BITS):
        try:
            value = _run(tape, inputs)
        except NoInterval:
            return None
    return value if isinstance(value, Fraction) else None


def certain_floats(tape: Tape, inputs: Sequence[float]) -> list[float]:
    """All outputs at floats, each correct to 12 digits; NaN for one that is not.

    Floats lose all digits of 1 - cos(x) near 0; here Arb intervals of 170 bits are used.

    Args:
        tape: what to compute.
        inputs: one float for each input, taken as exact.
    """
    if not all(map(math.isfinite, inputs)):
        return [math.nan] * len(tape.outputs)
    with precision(VERIFICATION_BITS):
        results = evaluate(tape, [Interval(arb(x), arb(x)) for x in inputs])
        return [_as_float(results[position]) for position in tape.outputs]


def evaluate(tape: Tape, inputs: Sequence[Interval]) -> list[Interval | None]:
    """Enclose the result of each instruction on intervals; None where it has no certain value.

    Args:
        tape: what to compute.
        inputs: one interval for each input.
    """
    results: list[Interval | None] = []
    for step in tape.instructions:
        if step.op == "input":
            results.append(inputs[step.value])  # type: ignore[index]
        elif step.op == "constant":
            results.append(constant(step.value))
        else:
            results.append(apply(step.op, [results[k] for k in step.arguments]))
    return results


def apply(op: str, arguments: Sequence[Interval | None]) -> Interval | None:
    """Enclose the result of an operation on intervals; None where it has no certain value.

    Args:
        op: the operation.
        arguments: their intervals; None for an argument without a certain value.
    """
    arguments = _of_taken_part(op, arguments)
    if None in arguments or op not in OPERATIONS:
        return None
    try:
        result = OPERATIONS[op](*arguments)
    except NoInterval:
        return None
    return None if result.low.is_nan() or result.high.is_nan() else result


def constant(number: sp.Expr) -> Interval:
    """The interval of a constant of a tape."""
    return as_interval(_constant(number))


def _as_float(value: Interval | None) -> float:
    """The float in the middle of a narrow interval; NaN for a wide one."""
    if value is None or not (value.low.is_finite() and value.high.is_finite()):
        return math.nan
    low, high = float(value.low), float(value.high)
    return low if low == high or abs(high - low) <= FLOAT_RTOL * abs(low) else math.nan


def certain_text(tape: Tape, inputs: Sequence[Fraction], digits: int) -> str:
    """The first output at rational inputs, correctly rounded to a number of significant digits.

    Args:
        tape: what to compute.
        inputs: one fraction for each input.
        digits: how many significant digits.

    Returns:
        `= 2.5`; where the digits are not certain at the highest precision, `> 0` or `< 0` if the
        sign is, or that no digit is known.
    """
    sign: int | None = None
    for bits in PRECISIONS:
        with precision(bits):
            try:
                enclosure = as_interval(_run(tape, inputs))
            except NoInterval:
                break
            low, high = _rounded(enclosure.low, digits), _rounded(enclosure.high, digits)
            if low is not None and low == high:
                return f"= {_decimal(low, digits)}"
            sign = sign_of(enclosure)
    signs = {1: "> 0", -1: "< 0", 0: "= 0", None: "is not known to any digit"}
    return signs[sign]


def _decimal(number: Decimal, digits: int) -> str:
    """A decimal in Python's notation of floats, also beyond their range."""
    if not number or abs(number.adjusted()) < MAX_FLOAT_EXPONENT:
        return f"{float(number):.{digits}g}"
    sign, figures, _ = number.as_tuple()
    significant = "".join(map(str, figures)).rstrip("0")
    behind = f".{significant[1:]}" if significant[1:] else ""
    return f"{'-' * sign}{significant[0]}{behind}e{number.adjusted():+d}"


def _rounded(x: Any, digits: int) -> Decimal | None:
    """An Arb number rounded to a number of significant digits; None where it is infinite, or too
    near 0 for the exponents of decimals."""
    if not x.is_finite():
        return None
    mantissa, exponent = x.man_exp()
    # wide exponents: Arb has numbers far beyond the default range of decimals
    with localcontext(Context(prec=EXACT_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        exact = Decimal(int(mantissa)) * Decimal(2) ** int(exponent)
        rounded = Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN).plus(exact)
    return None if mantissa and not rounded else rounded


def _run(tape: Tape, inputs: Sequence[Fraction]) -> Number:
    """The first output of a tape, on fractions while these are exact and short.

    Raises:
        NoInterval: one of its operations has no value, or none that is certain.
    """
    results: list[Number | None] = []
    for step in tape.instructions:
        if step.op == "input":
            results.append(inputs[step.value])  # type: ignore[index]
        elif step.op == "constant":
            results.append(_constant(step.value))
        else:
            arguments = [results[i] for i in step.arguments]
            try:
                results.append(_operation(step.op, arguments))
            except NoInterval:
                results.append(None)  # which matters only where it is taken
    value = results[tape.outputs[0]]
    if value is None:
        raise NoInterval
    return value


def _operation(op: str, arguments: Sequence[Number | None]) -> Number:
    """An operation; None stands for an argument without a certain value.

    Raises:
        NoInterval: it has no value, or none that is certain.
    """
    known = [x for x in _of_taken_part(op, arguments) if x is not None]
    if len(known) < len(arguments):
        raise NoInterval
    exact = _exact(op, known)
    if exact is not None:
        return exact
    enclosure = OPERATIONS[op](*map(as_interval, known))
    if enclosure.low.is_nan() or enclosure.high.is_nan():
        raise NoInterval
    return enclosure


def _of_taken_part(op: str, arguments: Sequence[Any]) -> Sequence[Any]:
    """The arguments of an operation; of a choice with a certain condition, the part taken alone."""
    if op != CHOICE or arguments[0] is None:
        return arguments
    g = as_interval(arguments[0])
    if g.low > 0:
        return arguments[0], arguments[1], arguments[1]
    return (arguments[0], arguments[2], arguments[2]) if g.high <= 0 else arguments


class Prepared:
    """A tape for repeated evaluation: results that depend on fixed inputs only are computed once.

    Args:
        tape: its first output is computed.
        fixed: number of an input -> its value.

    Raises:
        NoInterval: a result has no value whatever the other inputs are.
    """

    def __init__(self, tape: Tape, fixed: Mapping[int, Interval]) -> None:
        self.results: list[Any] = [None] * len(tape.instructions)
        self.inputs: list[tuple[int, int]] = []
        self.steps: list[tuple[int, Callable[..., Interval], tuple[int, ...]]] = []
        self.output = tape.outputs[0]
        for i, step in enumerate(tape.instructions):
            if step.op == "input":
                number = int(step.value)  # type: ignore[arg-type]
                self.results[i] = fixed.get(number)
                if number not in fixed:
                    self.inputs.append((i, number))
            elif step.op == "constant":
                self.results[i] = constant(step.value)
            else:
                arguments = [self.results[k] for k in step.arguments]
                if None in arguments:
                    self.steps.append((i, OPERATIONS[step.op], step.arguments))
                else:
                    self.results[i] = OPERATIONS[step.op](*arguments)

    def run(self, inputs: Sequence[Interval | None], *, bounded: bool = False) -> Interval:
        """Enclose the output on intervals, one for each input that is not fixed.

        With `bounded` every intermediate result must be bounded. The expression is then continuous,
        and its value at an end outside the domain is its limit: 0·oo is 0 only for finite numbers.

        Args:
            inputs: one interval for each input; None for fixed ones.
            bounded: whether unbounded intermediate results are refused.

        Raises:
            NoInterval: one of its operations has no value, or none that is certain.
        """
        results = self.results
        for i, number in self.inputs:
            results[i] = inputs[number]
        for i, operation, arguments in self.steps:
            enclosure = results[i] = operation(*[results[k] for k in arguments])
            if enclosure.low.is_nan() or enclosure.high.is_nan():
                raise NoInterval
            if bounded and not (enclosure.low.is_finite() and enclosure.high.is_finite()):
                raise NoInterval
        return results[self.output]


def _constant(number: sp.Expr) -> Number:
    if number is sp.pi:
        return hull(arb.pi())
    if number is sp.E:
        return hull(ONE.exp())
    exact = sp.Rational(number)
    return Fraction(int(exact.p), int(exact.q))


def _exact(op: str, arguments: Sequence[Number]) -> Fraction | None:
    """The operation on fractions, where its result is a short fraction."""
    fractions = [x for x in arguments if isinstance(x, Fraction)]
    if op not in _EXACT or len(fractions) < len(arguments):
        return None
    result = _EXACT[op](*fractions)
    if (
        result is None
        or max(result.numerator.bit_length(), result.denominator.bit_length())
        > MAX_EXACT_FRACTION_BITS
    ):
        return None
    return result


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if base == 1 or base == 0 and exponent > 0:
        return base
    # larger powers soon exceed MAX_EXACT_FRACTION_BITS
    if exponent.denominator != 1 or abs(exponent) > 64 or base == 0 and exponent < 0:
        return None
    return Fraction(base ** int(exponent))


_EXACT: dict[str, Callable[..., Fraction | None]] = {
    "add": lambda *x: sum(x, Fraction(0)),
    "multiply": lambda *x: reduce(lambda a, b: a * b, x),
    "power": _power,
    "min": min,
    "max": max,
    CHOICE: lambda g, a, b: a if g > 0 else b,
    **{name: row.rational for name, row in FUNCTIONS.items() if row.rational is not None},
}
