"""Numbers computed from numbers, with a bound on what is computed.

`1/0`, `0^0`, `log(0)` and `(0 - 8)^(1/3)` have no value, and `9^9^9` none that anybody wants; they
are found here, before any algebra sees them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from lawdsl.language import limits
from lawdsl.language.tree import (
    Call,
    Formula,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Sum,
)

EXACT_BITS = 4096  # a fraction with more is rounded to a float
POWER_BITS = 65_536  # a power of fractions with more is refused: algebra would write it out

Value = Fraction | float | None  # None: not a number alone, or not known


class Undefined(Exception):
    """The formula has no value; `node` is the part to blame."""

    def __init__(self, node: Node, why: str) -> None:
        self.node, self.why = node, why
        super().__init__(why)


class TooLarge(Exception):
    """The value, or a number on the way to it, is beyond what is computed; `node` is to blame."""

    def __init__(self, node: Node, why: str, help: str) -> None:
        self.node, self.why, self.help = node, why, help
        super().__init__(why)


def literal(text: str) -> Fraction:
    """What a number in a file means: exactly what is written, or 0 where no float is so small."""
    return Fraction(text) if float(text) else Fraction(0)


def value(formula: Formula, known: Mapping[str, Value] | None = None) -> Value:
    """The value of a formula of numbers: exact where it is rational, a float otherwise.

    Returns None where a name without a known value stands in it; the parts without such names are
    computed all the same.

    Args:
        formula: what to compute.
        known: values of names.

    Raises:
        Undefined: 1/0, 0^0, a root or logarithm of what has none.
        TooLarge: the value is beyond what is computed.
    """
    known = known or {}

    def inner(part: Formula) -> Value:
        return value(part, known)

    match formula:
        case Number(text):
            return literal(text)
        case Name("pi"):
            return math.pi
        case Name(text):
            return known.get(text)
        case Negative(operand):
            found = inner(operand)
            return None if found is None else -found
        case Sum(terms):
            return _total([(sign, term, inner(term)) for sign, term in terms])
        case Product(factors):
            return _product([(operator, factor, inner(factor)) for operator, factor in factors])
        case Power(base, exponent):
            return _power(formula, inner(base), inner(exponent))
        case Call(function, arguments):
            values = [number for part in arguments if (number := inner(part)) is not None]
            complete = values and len(values) == len(arguments)
            return _call(formula, function, values) if complete else None
    return None


def _total(terms: list[tuple[str, Formula, Value]]) -> Value:
    total: Fraction | float = Fraction(0)
    for sign, term, number in terms:
        if number is None:
            return None
        total = _bounded(term, lambda a, b: a + b, total, number if sign == "+" else -number)
    return total


def _product(factors: list[tuple[str, Formula, Value]]) -> Value:
    """The product; its numbers are bounded even where names stand between them."""
    total: Fraction | float = Fraction(1)
    for operator, factor, number in factors:
        if number is None:
            continue
        if operator == "*":
            total = _bounded(factor, lambda a, b: a * b, total, number)
        elif number == 0:
            raise Undefined(factor, "this divides by 0")
        else:
            total = _bounded(factor, lambda a, b: a / b, total, number)
    return None if any(number is None for _, _, number in factors) else total


def _power(node: Power, base: Value, exponent: Value) -> Value:
    if exponent is not None and abs(exponent) > limits.EXPONENT:
        why = f"the numbers in exponents go up to {limits.EXPONENT:,}"
        raise TooLarge(node.exponent, why, "write the number itself, as 1e20, or a parameter")
    if base is None or exponent is None:
        return None
    if base == 0 and exponent == 0:
        raise Undefined(node, "0^0 has no value")
    if base == 0 and exponent < 0:
        raise Undefined(node, "this divides by 0")
    whole = isinstance(exponent, Fraction) and exponent.denominator == 1
    if base < 0 and not whole:
        raise Undefined(node, "a negative number has no real power that is not whole")
    if base == 0 or base == 1:
        return base
    if whole and isinstance(base, Fraction):
        bits = abs(exponent) * max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits <= EXACT_BITS:
            return _bounded(node, lambda a, b: a ** int(b), base, exponent)
        if bits > POWER_BITS:
            raise _beyond(node)
    return _bounded(node, lambda a, b: float(a) ** float(b), base, exponent)


def _bounded(node: Node, operation: object, a: Fraction | float, b: Fraction | float) -> object:
    raise NotImplementedError
