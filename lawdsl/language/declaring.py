"""Declarations: variables, parameters, settings, lets and the law's own equation, in their order."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from lawdsl.language import tree, words
from lawdsl.language.checking import (
    check_domain,
    check_formula,
    check_nonempty,
    check_same_unit,
    check_unit,
    number,
)
from lawdsl.language.declared import Symbol
from lawdsl.language.dimensions import powers_of
from lawdsl.language.scope import LET, OUTPUT, PARAMETER, SETTING, VARIABLE, Scope


def declare(scope: Scope, statement: tree.Declaration) -> None:
    """`variable` or `parameter`."""
    place = VARIABLE if statement.kind == "variable" else PARAMETER
    unit = check_unit(scope, statement.unit)
    for item, domain in _with_domains(statement.items):
        name = item.name
        earlier = scope.symbols.get(name)
        again = earlier is not None and earlier.kind == statement.kind and name in scope.own
        if not again:
            scope.units[name] = unit
        bounds = check_domain(scope, domain, place, name)
        if earlier is not None and again and bounds:  # `parameter C > 0`, then `parameter C > C0`
            scope.symbols[name] = replace(earlier, bounds=earlier.bounds + bounds)
        else:
            scope.declare(
                Symbol(
                    name,
                    statement.kind,
                    item.span,
                    bounds,
                    unit=statement.unit,
                    doc=statement.doc,
                )
            )
        if domain is not None and name in scope.symbols:
            check_nonempty(scope, scope.symbols[name].bounds, domain.span)


def _with_domains(
    items: Sequence[tree.Item],
) -> Iterator[tuple[tree.Item, tree.Domain | None]]:
    """Each name with its domain: that of the next name with one; those at the end are free."""
    found: list[tuple[tree.Item, tree.Domain | None]] = []
    domain = None
    for item in reversed(items):
        domain = item.domain or domain
        found.append((item, domain))
    return reversed(found)


def define(scope: Scope, statement: tree.Definition, output: Symbol | None) -> Symbol | None:
    """A setting, a let or the output; returns the output."""
    name, kind, formula = statement.name, statement.kind, statement.formula
    if kind == "output" and output is not None:
        notes = (f"the first is `{output.name} = …`",)
        help = "name a part of the law with `let`"
        scope.say("L0403", "the law has a second equation", statement.span, help, notes)
        return None
    unit = check_unit(scope, statement.unit)
    if kind == "setting":
        powers = None
        _check_setting(scope, formula)
    else:
        powers = check_formula(scope, formula, LET if kind == "let" else OUTPUT)
        check_same_unit(scope, unit, powers, f"`{name}`", formula.span)
    symbol = Symbol(
        name, kind, statement.span, formula=formula, unit=statement.unit, doc=statement.doc
    )
    if not scope.declare(symbol):
        return None
    scope.units[name] = powers if statement.unit is None else unit
    if kind == "let":
        remember(scope, symbol)
    return symbol if kind == "output" else None


def _check_setting(scope: Scope, formula: tree.Formula) -> None:
    if list(names_in(formula)):
        help = "a setting is a number; what depends on others is a `let`"
        scope.say("L0412", "this is not a number", formula.span, help)
    else:
        check_formula(scope, formula, SETTING)


def remember(scope: Scope, symbol: Symbol) -> None:
    """What later formulas must know of a name that stands for a formula or has a unit."""
    if symbol.unit is not None:
        scope.units[symbol.name] = powers_of(symbol.unit.factors)
    if symbol.kind == "let" and symbol.formula is not None:
        scope.numbers[symbol.name] = number(scope, symbol.formula)
        for name in names_in(symbol.formula):
            used = scope.symbols.get(name)
            if name in scope.varying or (used and used.kind in ("variable", "law", "output")):
                scope.varying.add(symbol.name)


def made_of(symbol: Symbol) -> Iterator[str]:
    """The names that a symbol's bounds and formula use."""
    for formula in (*(limit for _, limit in symbol.bounds), symbol.formula):
        if formula is not None:
            yield from names_in(formula)


def sort_symbols(scope: Scope) -> None:
    """Put each name behind those that it is made of, which a second domain or a tie may have
    changed; otherwise they stay as they were."""
    needs = {
        name: [part for part in made_of(symbol) if part in scope.symbols]
        for name, symbol in scope.symbols.items()
    }
    place = {name: i for i, name in enumerate(needs)}
    if all(place[part] < place[name] for name in needs for part in needs[name]):
        return
    if scope.errors:
        return  # a circle of definitions, which has its message
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = error.args[1][::-1]
        first = next((name for name in circle if name in scope.own), circle[0])
        message = f"`{first}` is bounded by itself: {' -> '.join(circle)}"
        help = "let the bound depend on other names only"
        scope.say("L0307", message, scope.symbols[first].span, help)
        return
    ready: list[tuple[int, str]] = []
    order: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, (place[name], name))
        _, first = heapq.heappop(ready)
        order.append(first)
        sorter.done(first)
    scope.symbols = {name: scope.symbols[name] for name in order}


def names_in(node: tree.Node) -> Iterator[str]:
    """The names that formulas in it use."""
    for part in tree.walk(node):
        if isinstance(part, tree.Name) and part.text not in words.CONSTANTS:
            yield part.text
