"""Formula and units of its names -> its unit, and the places where units do not agree.

A parameter without a unit takes the one that its place requires, as is usual in papers, and so does
a plain number; so only terms of variables, settings and declared units are compared. Formulas are
evaluated with the numbers in their declared units, without conversion, so Gparam and Mparam do not
add either. Units form an abelian group under multiplication, with rational exponents here (Kennedy
(1996), Programming Languages and Dimensions, PhD thesis, University of Cambridge).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from lawdsl.core import units
from lawdsl.core.functions import EXTREMA, FUNCTIONS
from lawdsl.language.constants import Value, value
from lawdsl.language.tree import (
    Aggregate,
    Call,
    Conditional,
    Element,
    Formula,
    Name,
    Negative,
    Power,
    Product,
    Sum,
)

Powers = dict[str, Fraction] | None  # None: any unit
UnitMistake = tuple[str, Formula, str]  # code, place, what is wrong

POWERS = {"same": Fraction(1), "root": Fraction(1, 2)}  # of the unit of the argument


def powers_in(
    formula: Formula, unit_of: Callable[[str], Powers], values: Mapping[str, Value]
) -> tuple[Powers, list[UnitMistake]]:
    """The unit of a formula, and the places where units in it contradict each other.

    Args:
        formula: what to look at.
        unit_of: the powers of units of a name, or None where it may have any.
        values: values of names, which may be exponents.
    """
    mistakes: list[UnitMistake] = []
    return _powers(formula, unit_of, values, mistakes), mistakes


def powers_of(factors: tuple[tuple[str, int], ...]) -> Powers:
    """A declared unit as powers of units; None where a unit in it is not in the table."""
    total: dict[str, Fraction] = {}
    for name, power in factors:
        unit = units.canonical(name)
        if unit is None:
            return None
        total[unit] = total.get(unit, Fraction(0)) + power
    return {unit: power for unit, power in total.items() if power}


def powers_text(powers: Powers) -> str:
    """The text of a unit that is given by powers."""
    if not powers:
        return "no unit"
    return "*".join(
        unit if p == 1 else f"{unit}^{p}" if p.denominator == 1 else f"{unit}^({p})"
        for unit, p in sorted(powers.items())
    )


def _powers(
    node: Formula,
    unit_of: Callable[[str], Powers],
    values: Mapping[str, Value],
    mistakes: list[UnitMistake],
) -> Powers:
    def inner(part: Formula) -> Powers:
        return _powers(part, unit_of, values, mistakes)

    match node:
        case Name(text) | Element(text):
            return unit_of(text)
        case Negative(operand):
            return inner(operand)
        case Sum(terms):
            return _same([(term, inner(term)) for _, term in terms], mistakes)
        # the power of a product over labels is their number, which only the data know
        case Aggregate(function, body):
            powers = inner(body)
            return powers if function == "sum" or not powers else None
        case Conditional(lhs, _, rhs, yes, no):
            _same([(part, inner(part)) for part in (lhs, rhs)], mistakes)
            return _same([(part, inner(part)) for part in (yes, no)], mistakes)
        case Call(function, arguments) if function in EXTREMA:
            return _same([(a, inner(a)) for a in arguments], mistakes)
        case Product(factors):
            return _product([(sign, inner(factor)) for sign, factor in factors])
        case Power(base, exponent):
            below = inner(base)
            _pure(exponent, inner(exponent), "an exponent is", mistakes)
            return _raised(below, value(exponent, values))
        case Call(function, arguments):
            unit = FUNCTIONS[function].unit if function in FUNCTIONS else "pure"
            if unit in POWERS and len(arguments) == 1:
                return _raised(inner(arguments[0]), POWERS[unit])
            for argument in arguments:
                _pure(argument, inner(argument), f"{function} is taken of", mistakes)
            return {} if arguments and unit != "shift" else None
    return None


def _same(terms: list[tuple[Formula, Powers]], mistakes: list[UnitMistake]) -> Powers:
    first: Powers = None
    for term, powers in terms:
        if powers is None:
            continue
        if first is None:
            first = powers
        elif powers != first:
            mistakes.append(
                ("L0410", term, f"{powers_text(powers)} here, {powers_text(first)} before it")
            )
            return None
    return first


def _pure(part: Formula, powers: Powers, what: str, mistakes: list[UnitMistake]) -> None:
    if powers:
        mistakes.append(("L0411", part, f"{what} a value in {powers_text(powers)}"))


def _raised(powers: Powers, exponent: Value) -> Powers:
    # a pure number to any power is one; a unit to a power that is fitted has no fixed unit
    if powers is None or powers == {}:
        return powers
    if not isinstance(exponent, Fraction):
        return None
    return {unit: power * exponent for unit, power in powers.items() if exponent}


def _product(factors: list[tuple[str, Powers]]) -> Powers:
    total: dict[str, Fraction] = {}
    for sign, powers in factors:
        if powers is None:
            return None
        for unit, power in powers.items():
            total[unit] = total.get(unit, Fraction(0)) + (power if sign == "*" else -power)
    return {unit: power for unit, power in total.items() if power}
