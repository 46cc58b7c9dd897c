"""Numbers computed from numbers, with a bound on what is computed.

`1/0`, `0^0`, `log(0)` and `(0 - 8)^(1/3)` have no value, and `9^9^9` none that anybody wants; they
are found here, before any algebra sees them.
"""

from __future__ import annotations

import math
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

_EXACT_BITS = 64 * limits.FOLD_BITS  # of a fraction's numerator and denominator

Value = Fraction | float | None  # None: not a number alone, or not known


class Undefined(Exception):
    """The formula has no value; `node` is the part to blame."""

    def __init__(self, node: Node, why: str) -> None:
        self.node, self.why = node, why
        super().__init__(why)


class TooLarge(Exception):
    """The value would need more than `limits.FOLD_BITS` bits."""

    def __init__(self, node: Node) -> None:
        self.node = node
        super().__init__("too large")


def value(formula: Formula) -> Value:
    """The value of a formula of numbers: exact where it is rational, a float otherwise.

    Returns None where a name stands in it; the parts without names are computed all the same.

    Raises:
        Undefined: 1/0, 0^0, a root or logarithm of what has none.
        TooLarge: the value is beyond what is computed.
    """
    match formula:
        case Number(text):
            return Fraction(text)
        case Negative(operand):
            inner = value(operand)
            return None if inner is None else -inner
        case Sum(terms):
            return _total([(sign, value(term)) for sign, term in terms])
        case Product(factors):
            return _product(factors)
        case Power(base, exponent):
            return _bounded(formula, _power(formula, value(base), value(exponent)))
        case Call(function, arguments):
            values = [value(argument) for argument in arguments]
            if function in _FLOAT and len(values) == 1 and values[0] is not None:
                return _call(formula, function, values[0])
            return None
        case Name("pi"):
            return math.pi
    return None


def _total(terms: list[tuple[str, Value]]) -> Value:
    total: Fraction | float = Fraction(0)
    for sign, term in terms:
        if term is None:
            return None
        total = total + term if sign == "+" else total - term
    return total


def _product(factors: tuple[tuple[str, Formula], ...]) -> Value:
    total: Value = Fraction(1)
    for operator, factor in factors:
        inner = value(factor)
        if operator == "/" and inner == 0:
            raise Undefined(factor, "this divides by 0")
        if inner is None or total is None:
            total = None
        else:
            total = total * inner if operator == "*" else total / inner
    return None if total is None else _bounded(factors[0][1], total)


def _power(node: Formula, base: Value, exponent: Value) -> Value:
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
    if abs(exponent) * abs(math.log2(abs(base))) > limits.FOLD_BITS:
        raise TooLarge(node)
    if whole and isinstance(base, Fraction):
        digits = max(abs(base.numerator), base.denominator).bit_length()
        if abs(exponent) * digits > _EXACT_BITS:
            raise TooLarge(node)
        return base ** int(exponent)
    return float(base) ** float(exponent)


def _bounded(node: Formula, result: Value) -> Value:
    if isinstance(result, Fraction):
        digits = max(abs(result.numerator), result.denominator).bit_length()
        if digits > _EXACT_BITS or abs(result) > 2**limits.FOLD_BITS:
            raise TooLarge(node)
    elif isinstance(result, float) and not math.isfinite(result):
        raise TooLarge(node)
    return result


_FLOAT = {
    "exp": math.exp,
    "log": math.log,
    "log10": math.log10,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "atan": math.atan,
    "tanh": math.tanh,
}


def _call(node: Formula, function: str, argument: Fraction | float) -> Value:
    if function in ("log", "log10") and argument <= 0:
        raise Undefined(node, "only numbers above 0 have a logarithm")
    if function == "sqrt" and argument < 0:
        raise Undefined(node, "a negative number has no real square root")
    try:
        return _FLOAT[function](float(argument))
    except OverflowError:
        raise TooLarge(node) from None
