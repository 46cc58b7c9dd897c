"""Bounds of the form x > y + c -> contradictions among them, and the bounds that they imply.

Each bound is an edge of a graph. An implied bound is a longest path, and a contradiction is a cycle
of positive weight: x > x + c with c >= 0. (Systems of difference constraints, in their dual form:
Cormen, Leiserson, Rivest and Stein (2022), Introduction to Algorithms, 4th ed., section 22.4.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lawdsl.language.constants import TooLarge, Undefined, value
from lawdsl.language.keywords import CONSTANTS
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Symbol
from lawdsl.language.tree import Element, Formula, Name

ZERO = ""  # the node that stands for the number 0
MAX_BOUNDS_TOGETHER = 400  # the Bellman-Ford search takes time proportional to the square
Weight = tuple[Fraction, int]  # a distance, and how many of its bounds are strict


@dataclass(frozen=True)
class Difference:
    """`greater > less + distance`, or `>=` if it is not strict. Nodes are names; `ZERO` is the
    number 0.
    """

    greater: str
    less: str
    distance: Fraction
    strict: bool

    @property
    def weight(self) -> Weight:
        """The weight of the edge: its distance, then 1 if it is strict and 0 if not."""
        return self.distance, int(self.strict)


def contradiction(bounds: Sequence[Difference]) -> list[int] | None:
    """The indices of bounds that cannot hold together, in increasing order; None where no
    contradiction is found, or there are more than MAX_BOUNDS_TOGETHER bounds.
    """
    if len(bounds) > MAX_BOUNDS_TOGETHER:
        return None
    best: dict[str, Weight] = {
        node: (Fraction(0), 0) for b in bounds for node in (b.greater, b.less)
    }
    came: dict[str, int] = {}
    for _ in range(len(best) + 1):
        changed = None
        for number, bound in enumerate(bounds):
            through = _sum(best[bound.less], bound.weight)
            if through > best[bound.greater]:
                best[bound.greater], came[bound.greater] = through, number
                changed = bound.greater
        if changed is None:
            return None
    assert changed is not None
    for _ in best:  # back onto the cycle
        changed = bounds[came[changed]].less
    cycle, node = set[int](), changed
    while came[node] not in cycle:
        cycle.add(came[node])
        node = bounds[came[node]].less
    return sorted(cycle)


def implied(bounds: Sequence[Difference]) -> dict[str, tuple[Weight | None, Weight | None]]:
    """The numeric lower and upper bound of each name that follow from consistent bounds.

    Args:
        bounds: bounds without a contradiction (see `contradiction`).

    Returns:
        Name -> (lower, upper); None for a side without a bound. Empty where there are more than
        MAX_BOUNDS_TOGETHER bounds.
    """
    if len(bounds) > MAX_BOUNDS_TOGETHER:
        return {}
    lower = _longest([(b.less, b.greater, b.weight) for b in bounds])
    upper = _longest([(b.greater, b.less, b.weight) for b in bounds])
    names = {node for b in bounds for node in (b.greater, b.less)} - {ZERO}
    return {name: (lower.get(name), upper.get(name)) for name in sorted(names)}


def _longest(edges: Sequence[tuple[str, str, Weight]]) -> dict[str, Weight]:
    """The longest distance from 0 to each node that can be reached."""
    best: dict[str, Weight] = {ZERO: (Fraction(0), 0)}
    for _ in edges:
        changed = False
        for start, end, weight in edges:
            if start in best and (end not in best or _sum(best[start], weight) > best[end]):
                best[end] = _sum(best[start], weight)
                changed = True
        if not changed:
            break
    return best


def _sum(one: Weight, other: Weight) -> Weight:
    return one[0] + other[0], one[1] + other[1]


def stated(symbols: Iterable[Symbol]) -> dict[Difference, tuple[Symbol, str, Formula]]:
    """Bounds of variables and parameters by numbers or names -> symbol, relation and limit."""
    edges: dict[Difference, tuple[Symbol, str, Formula]] = {}
    for symbol in symbols:
        for relation, limit in symbol.bounds if symbol.kind in ("variable", "parameter") else ():
            edge = _edge(symbol.text, relation, limit)
            if edge is not None:
                edges.setdefault(edge, (symbol, relation, limit))
    return edges


def _edge(name: str, relation: str, limit: Formula) -> Difference | None:
    other, number = ZERO, Fraction(0)
    if isinstance(limit, Name | Element):
        other = print_formula(limit)
        # pi is no node of the graph, and has no exact value as a distance
        if other in CONSTANTS:
            return None
    else:
        exact = _number(limit)
        if exact is None:
            return None
        number = exact
    strict = relation in "<>"
    if relation[0] == ">":
        return Difference(name, other, number, strict)
    return Difference(other, name, -number, strict)


def _number(formula: Formula) -> Fraction | None:
    try:
        number = value(formula)
    except (Undefined, TooLarge):
        return None
    return number if isinstance(number, Fraction) else None
