"""Where a law has a finite real value: each division, power, root and logarithm in it is looked at.

The formula is taken as it was written, before algebra can cancel what has no value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sympy as sp

from lawdsl.language import tree
from lawdsl.language.printing import print_formula
from lawdsl.law import Law
from lawdsl.proof.sampling import Domain, Point, find_point
from lawdsl.proof.signs import Signs


@dataclass(frozen=True)
class Doubt:
    """A part that is not proved to have a value, as syntax and as algebra."""

    node: tree.Formula
    of: sp.Expr
    why: str
    shown: str


def doubts(law: Law, formula: tree.Formula, signs: Signs) -> Iterator[Doubt]:
    """The parts of a formula (its lets included) that may have no finite real value."""
    seen: set[str] = set()
    stack: list[tree.Formula] = [formula]
    while stack:
        top = stack.pop()
        for node in tree.walk(top):
            match node:
                case tree.Name(name):
                    symbol = law.declarations.symbols.get(name)
                    if symbol and symbol.formula and name not in seen and symbol.kind != "setting":
                        seen.add(name)
                        stack.append(symbol.formula)
                case tree.Product(factors):
                    for operator, factor in factors:
                        if operator == "/":
                            yield from _doubt(law, signs, factor, "divides", "/ {}")
                case tree.Power():
                    yield from _doubt(law, signs, node, "power", "{}")
                case tree.Call("log" | "log10" | "sqrt" | "tan"):
                    yield from _doubt(law, signs, node, "function", "{}")


def _doubt(
    law: Law, signs: Signs, node: tree.Formula, why: str, shown: str
) -> Iterator[Doubt]:
    e = signs.box.independent(law.to_sympy(node))
    whole = sp.Pow(e, -1, evaluate=False) if why == "divides" else e
    if not signs.finite(whole):
        yield Doubt(node, law.to_sympy(node), why, shown.format(print_formula(node)))


def breaking_point(domain: Domain, law: Law, doubt: Doubt) -> tuple[Point, str] | None:
    """A verified point at which a doubtful part has no value, and why."""

    def zero(values: np.ndarray) -> np.ndarray:
        return np.abs(values) == 0

    def below(values: np.ndarray) -> np.ndarray:
        return values < 0

    match doubt.node, doubt.why:
        case _, "divides":
            found = find_point(domain, doubt.of, zero, (0,))
            return (found[0], f"{print_formula(doubt.node)} = 0") if found else None
        case tree.Power(base, exponent), "power":
            power = law.to_sympy(exponent)
            under = law.to_sympy(base)
            if power.is_Integer and power < 0:
                found = find_point(domain, under, zero, (0,))
                return (found[0], f"{print_formula(base)} = 0") if found else None
            if power.is_Rational and not power.is_Integer:
                found = find_point(domain, under, below, (-1,))
                return (found[0], f"{print_formula(base)} < 0") if found else None
        case tree.Call("log" | "log10", (argument,)), _:
            found = find_point(domain, law.to_sympy(argument), lambda v: v <= 0, (-1, 0))
            return (found[0], f"{print_formula(argument)} <= 0") if found else None
        case tree.Call("sqrt", (argument,)), _:
            found = find_point(domain, law.to_sympy(argument), below, (-1,))
            return (found[0], f"{print_formula(argument)} < 0") if found else None
    return None
