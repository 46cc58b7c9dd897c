"""Formula of numbers -> its value, with a bound on the size of what is computed.

`1/0`, `0^0`, `log(0)` and `(0 - 8)^(1/3)` have no value, and `9^9^9` is too large to be useful;
they are rejected here, before computer algebra sees them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from lawdsl.core.functions import EXTREMA, FUNCTIONS, value_in
from lawdsl.language import size_limits
from lawdsl.language.tree import (
    Aggregate,
    Call,
    Conditional,
    Element,
    Formula,
    Name,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Sum,
)

MAX_EXACT_BITS = 4096  # a fraction with more is rounded to a float
MAX_POWER_BITS = 65_536  # a power of fractions with more is refused: algebra would write it out

Value = Fraction | float | None  # None: not a number alone, or not known


class Undefined(Exception):
    """The formula has no value; `node` is the part to blame."""

    def __init__(self, node: Node, why: str) -> None:
        self.node, self.why = node, why
        super().__init__(why)


class TooLarge(Exception):
    """The value, or an intermediate result, exceeds the limits; `node` is the part to blame."""

    def __init__(self, node: Node, why: str, help: str) -> None:
        self.node, self.why, self.help = node, why, help
        super().__init__(why)


def literal(text: str) -> Fraction:
    """The exact value of a number as written; 0 where its magnitude is below the smallest float."""
    return Fraction(text) if float(text) else Fraction(0)


def value(formula: Formula, values_of_names: Mapping[str, Value] | None = None) -> Value:
    """The value of a formula of numbers: exact where it is rational, a float otherwise.

    Parts without unknown names are evaluated even where the whole has none, so that their errors
    are reported.

    Args:
        formula: the formula to evaluate.
        values_of_names: values of names.

    Returns:
        The value; None where the formula contains a name without a known value.

    Raises:
        Undefined: 1/0, 0^0, or a root or logarithm outside its domain.
        TooLarge: the value exceeds the limits of this module.
    """
    values_of_names = values_of_names or {}

    def inner(part: Formula) -> Value:
        return value(part, values_of_names)

    match formula:
        case Number(text):
            return literal(text)
        case Name("pi"):
            return math.pi
        case Name(text) | Element(text):
            return values_of_names.get(text)
        case Negative(operand):
            operand_value = inner(operand)
            return None if operand_value is None else -operand_value
        case Sum(terms):
            return _total([(sign, term, inner(term)) for sign, term in terms])
        case Product(factors):
            return _product([(sign, factor, inner(factor)) for sign, factor in factors])
        case Power(base, exponent):
            return _power(formula, inner(base), inner(exponent))
        case Call(function, arguments):
            values = [number for part in arguments if (number := inner(part)) is not None]
            complete = values and len(values) == len(arguments)
            return _call(formula, function, values) if complete else None
        case Conditional(lhs, relation, rhs, yes, no):
            return _chosen(inner(lhs), relation, inner(rhs), lambda: inner(yes), lambda: inner(no))
        case Aggregate(_, body):
            inner(body)  # how many labels there are is not known
    return None


def _chosen(
    lhs: Value,
    relation: str,
    rhs: Value,
    yes: Callable[[], Value],
    no: Callable[[], Value],
) -> Value:
    """The part that a condition on numbers takes; the other needs no value."""
    if lhs is None or rhs is None:
        return None
    return yes() if RELATIONS[relation](lhs, rhs) else no()


RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _total(terms: list[tuple[str, Formula, Value]]) -> Value:
    total: Fraction | float = Fraction(0)
    for sign, term, number in terms:
        if number is None:
            return None
        total = _bounded(term, operator.add, total, number if sign == "+" else -number)
    return total


def _product(factors: list[tuple[str, Formula, Value]]) -> Value:
    """The product. Its numbers are bounded even where names stand between them."""
    total: Fraction | float = Fraction(1)
    for sign, factor, number in factors:
        if number is None:
            continue
        if sign == "*":
            total = _bounded(factor, operator.mul, total, number)
        elif number == 0:
            raise Undefined(factor, "this divides by 0")
        else:
            total = _bounded(factor, operator.truediv, total, number)
    return None if any(number is None for _, _, number in factors) else total


def _power(node: Power, base: Value, exponent: Value) -> Value:
    if exponent is not None and _magnitude(exponent) > size_limits.MAX_LITERAL_EXPONENT:
        why = f"numbers in exponents go up to {size_limits.MAX_LITERAL_EXPONENT:,}"
        raise TooLarge(node.exponent, why, "write a large number as 1e20")
    if base is None or exponent is None:
        return None
    if base == 0 and exponent == 0:
        raise Undefined(node, "0^0 has no value")
    if base == 0 and exponent < 0:
        raise Undefined(node, "this divides by 0")
    is_integer = isinstance(exponent, Fraction) and exponent.denominator == 1
    if base < 0 and not is_integer:
        raise Undefined(node, "a negative number has no real power that is not whole")
    if base == 0 or base == 1:
        return base
    if is_integer and isinstance(base, Fraction):
        bits = _magnitude(exponent) * _bits(base)
        if bits > MAX_POWER_BITS:
            raise _beyond(node)
        if bits <= MAX_EXACT_BITS:
            return _bounded(node, operator.pow, base, exponent)
    return _bounded(node, operator.pow, float(base), float(exponent))


def _call(node: Call, function: str, values: list[Fraction | float]) -> Value:
    if function in EXTREMA:
        return min(values) if function == "min" else max(values)
    if function not in FUNCTIONS or len(values) != 1:
        return None
    argument, row = values[0], FUNCTIONS[function]
    if row.rational:
        return row.rational(argument)
    outside = argument <= 0 if row.domain == "positive" else argument < 0
    if row.domain != "all" and outside:
        raise Undefined(node, row.outside)
    try:
        result: float = value_in(math, function)(float(argument))
    except OverflowError:
        raise _beyond(node) from None
    if result == row.range[0] == 0 and not row.reached:
        raise _beyond(node)
    return result


def _magnitude(number: Fraction | float) -> Fraction | float:
    return -number if number < 0 else number


def _bounded(
    node: Node,
    operation: Callable[[Any, Any], Fraction | float],
    first: Fraction | float,
    second: Fraction | float,
) -> Fraction | float:
    """The result of an operation where a float can hold it, rounded to one where it is long."""
    try:
        result = operation(first, second)
        rounded = float(result)
    except OverflowError:
        raise _beyond(node) from None
    vanished = result == 0 and first != 0 and second != 0 and operation is not operator.add
    if vanished or not math.isfinite(rounded) or (rounded == 0 and result != 0):
        raise _beyond(node)
    return result if isinstance(result, Fraction) and _bits(result) <= MAX_EXACT_BITS else rounded


def _bits(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def _beyond(node: Node) -> TooLarge:
    why = "a number here is too large or too small to be computed with"
    return TooLarge(node, why, "numbers go from 5e-324 to 1.8e308")
