"""Do the units of a formula add up?

A parameter without a unit takes the one its place needs, as papers leave it, and so does a plain
number; so only terms made of variables, settings and declared units are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from lawdsl import units
from lawdsl.language.numbers import value
from lawdsl.language.tree import Call, Formula, Name, Negative, Number, Power, Product, Sum

Powers = dict[str, Fraction] | None  # None: any unit
Found = tuple[str, Formula, str]  # code, place, what is wrong


def unit_mistakes(formula: Formula, unit_of: Callable[[str], Powers]) -> Iterator[Found]:
    """The places of a formula whose units contradict each other.

    Args:
        formula: what to look at.
        unit_of: the powers of base units of a name, or None where it may have any.
    """
    mistakes: list[Found] = []
    _powers(formula, unit_of, mistakes)
    yield from mistakes


def powers_of(factors: tuple[tuple[str, int], ...]) -> Powers:
    """A declared unit as powers of base units."""
    return {base: Fraction(p) for base, p in units.size_and_dimension(factors)[1]}


def shown(powers: Powers) -> str:
    """Powers of base units as text."""
    if not powers:
        return "no unit"
    return "*".join(b if p == 1 else f"{b}^{p}" for b, p in sorted(powers.items()))


def _powers(node: Formula, unit_of: Callable[[str], Powers], mistakes: list[Found]) -> Powers:
    def inner(part: Formula) -> Powers:
        return _powers(part, unit_of, mistakes)

    match node:
        case Number():
            return None
        case Name(text):
            return unit_of(text)
        case Negative(operand):
            return inner(operand)
        case Sum(terms):
            return _same(node, [(term, inner(term)) for _, term in terms], mistakes)
        case Call("min" | "max", arguments):
            return _same(node, [(a, inner(a)) for a in arguments], mistakes)
        case Product(factors):
            return _product([(op, inner(f)) for op, f in factors])
        case Power(base, exponent):
            below = inner(base)
            inner(exponent)
            number = value(exponent)
            if below == {}:
                return {}
            if below is None or not isinstance(number, Fraction):
                return None
            return {unit: p * number for unit, p in below.items()}
        case Call("abs", (argument,)):
            return inner(argument)
        case Call("sqrt", (argument,)):
            found = inner(argument)
            return None if found is None else {u: p / 2 for u, p in found.items()}
        case Call(function, arguments):
            for argument in arguments:
                found = inner(argument)
                if found:
                    why = f"{function} is taken of a value in {shown(found)}"
                    mistakes.append(("L0411", argument, why))
            return {} if arguments and function not in ("log", "log10") else None
    return None


def _same(node: Formula, terms: list[tuple[Formula, Powers]], mistakes: list[Found]) -> Powers:
    first: Powers = None
    for term, powers in terms:
        if powers is None:
            continue
        if first is None:
            first = powers
        elif powers != first:
            why = f"{shown(powers)} is added to {shown(first)}"
            mistakes.append(("L0410", term, why))
            return None
    return first


def _product(factors: list[tuple[str, Powers]]) -> Powers:
    total: dict[str, Fraction] = {}
    for operator, powers in factors:
        if powers is None:
            return None
        for base, power in powers.items():
            total[base] = total.get(base, Fraction(0)) + (power if operator == "*" else -power)
    return {base: power for base, power in total.items() if power}
