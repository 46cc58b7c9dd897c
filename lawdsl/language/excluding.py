"""Bounds of several names -> a message where they leave an empty domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lawdsl.core.enumerations import conjunction
from lawdsl.language.constants import TooLarge
from lawdsl.language.differences import contradiction, stated
from lawdsl.language.formula_signs import KnownSigns
from lawdsl.language.implied_bounds import HOLDS, minus
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import Scope
from lawdsl.language.symbols import Declarations, Relation, Symbol

StatedBound = tuple[Symbol, Relation]


def check_together(scope: Scope, base: Declarations | None) -> None:
    """Report bounds that leave some names no value: a > 0, b > a, b < 0.

    Args:
        scope: the names of the file.
        base: the law that the file extends, if any.
    """
    known_signs = KnownSigns(scope.symbols, {})
    # the graph proves contradictions through several names; signs also judge limits that are
    # formulas, but two bounds at a time
    parts = _cycle(scope) or next(_pairs(scope.symbols.values(), known_signs), None)
    if not parts:
        return
    texts = [f"`{s.text} {relation} {print_formula(limit)}`" for s, (relation, limit) in parts]
    inherited = {n: set(s.bounds) for n, s in base.symbols.items()} if base else {}
    # the last bound of this file is the one that made the domain empty
    declared_here = [p for p in parts if p[1] not in inherited.get(p[0].name, ())]
    _, (_, last) = max(declared_here or parts, key=lambda part: part[1][1].span.start)
    message = f"{conjunction(texts)} exclude each other"
    help = "nothing lies in this domain: change one of these bounds, or leave it out"
    scope.report("L0406", message, last.span, help)


def _cycle(scope: Scope) -> Sequence[StatedBound] | None:
    """Bounds against numbers and names that go in a circle."""
    bounds = stated(scope.symbols.values())
    edges = list(bounds)
    cycle = contradiction(edges)
    if cycle is None:
        return None
    cycle_bounds = [bounds[edges[number]] for number in cycle]
    return [(symbol, (relation, limit)) for symbol, relation, limit in cycle_bounds]


def _pairs(symbols: Iterable[Symbol], known_signs: KnownSigns) -> Iterator[Sequence[StatedBound]]:
    """A lower and an upper bound of one name, where the upper one surely is the smaller."""
    for symbol in symbols:
        if symbol.kind not in ("variable", "parameter"):
            continue
        for lower in (b for b in symbol.bounds if b[0][0] == ">"):
            for upper in (b for b in symbol.bounds if b[0][0] == "<"):
                closed = lower[0] == ">=" and upper[0] == "<="
                try:
                    room = known_signs.sign(minus(upper[1], lower[1]))
                except TooLarge:
                    continue
                if not room & HOLDS[">=" if closed else ">"]:
                    yield (symbol, lower), (symbol, upper)
