"""Bounds of several quantities -> the bounds that follow from them, and contradictions.

Bounds x > c and x > y + c are edges of a graph; consequences are longest paths and contradictions
are cycles of positive weight (difference constraints: Cormen, Leiserson, Rivest and Stein (2009),
Introduction to Algorithms, 3rd ed., section 24.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction

import sympy as sp

from lawdsl.core.enumerations import conjunction
from lawdsl.language.differences import ZERO, Difference, contradiction, implied
from lawdsl.law.quantities import Bound
from lawdsl.law.text import text
from lawdsl.proof.box import Box, Relation
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

Stated = Mapping[sp.Symbol, Iterable[Bound]]


def implied_bounds(stated: Stated) -> dict[sp.Symbol, list[Bound]]:
    """The numeric bounds of each symbol that follow from the bounds of all: a < 1 from a < b < 1.

    Only those that are tighter than the symbol's own are returned.
    """
    edges = [d for s, bounds in stated.items() for b in bounds if (d := _difference(s, b))]
    bounds_of: dict[sp.Symbol, list[Bound]] = {}
    names = {s.name: s for s in stated}
    # on a cycle of positive weight the longest paths are infinite
    if contradiction(edges):
        return bounds_of
    for name, (lower, upper) in implied(edges).items():
        lower_weights = [d.weight for d in edges if d.greater == name and d.less == ZERO]
        upper_weights = [d.weight for d in edges if d.less == name and d.greater == ZERO]
        bounds = []
        if (
            lower is not None
            and name in names
            and lower > max(lower_weights, default=(lower[0] - 1, 0))
        ):
            bounds.append(_bound(">", lower[0], lower[1]))
        if (
            upper is not None
            and name in names
            and upper > max(upper_weights, default=(upper[0] - 1, 0))
        ):
            bounds.append(_bound("<", -upper[0], upper[1]))
        if bounds:
            bounds_of[names[name]] = bounds
    return bounds_of


def _bound(relation: str, number: Fraction, strict: int) -> Bound:
    limit = sp.Rational(number.numerator, number.denominator)
    return Bound.of(relation if strict else f"{relation}=", limit, text(limit))


def _difference(symbol: sp.Symbol, bound: Bound) -> Difference | None:
    """`x > c` and `x > y + c` as edges; None for others."""
    number, rest = bound.limit.as_coeff_Add()
    if not number.is_Rational or not (rest == 0 or rest.is_Symbol):
        return None
    other = rest.name if rest != 0 else ZERO
    distance = Fraction(int(number.p), int(number.q))
    if bound.lower:
        return Difference(symbol.name, other, distance, bound.strict)
    return Difference(other, symbol.name, -distance, bound.strict)


def exclusion(box: Box) -> str | None:
    """Relations of a domain that contradict each other, as text; None where none certainly do."""
    stated = [(s, r) for s, relations in box.relations.items() for r in relations]
    bounds = [_as_bound(s, r) for s, r in stated]
    edges = {d: i for i, (s, _) in enumerate(stated) if (d := _difference(s, bounds[i]))}
    cycle = contradiction(list(edges))
    if cycle is not None:
        numbers = list(edges.values())
        return _exclusion_text([(stated[numbers[k]][0], bounds[numbers[k]]) for k in cycle])
    # by ranges alone: from relations that contradict each other every sign would follow
    signs = SignCalculus(replace(box, tied=False), valued=True)
    for i, (s, one) in enumerate(stated):
        for k in range(i):
            if stated[k][0] == s and bounds[i].lower != bounds[k].lower:
                width = signs.sign(box.independent(one.positive + stated[k][1].positive))
                strict = one.strict or stated[k][1].strict
                if width.within(Sign.NONPOSITIVE if strict else Sign.NEGATIVE):
                    return _exclusion_text([(s, bounds[k]), (s, bounds[i])])
    return None


def _as_bound(symbol: sp.Symbol, relation: Relation) -> Bound:
    """A relation as the bound that it comes from."""
    lower = relation.positive.coeff(symbol) == 1
    limit = symbol - relation.positive if lower else relation.positive + symbol
    sign = (">" if lower else "<") + ("" if relation.strict else "=")
    return Bound.of(sign, limit, text(limit))


def _exclusion_text(bounds: list[tuple[sp.Symbol, Bound]]) -> str:
    relations = [f"{s} {b.relation} {b.text}" for s, b in bounds]
    return f"{conjunction(relations)} exclude each other"
