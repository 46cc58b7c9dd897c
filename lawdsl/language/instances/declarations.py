"""A grounding -> declarations without index sets: its symbols in their order, what is held, starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from lawdsl.core.diagnostics import LawdslError, Text
from lawdsl.language import tree
from lawdsl.language.declarations import remember, sort_symbols
from lawdsl.language.fix_and_tie import hold
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.identities import Holding, identified
from lawdsl.language.objective import read_target
from lawdsl.language.printer import with_subscripts
from lawdsl.language.scope import Scope
from lawdsl.language.symbols import Declarations, Symbol
from lawdsl.language.tree import Formula


def written_out(ground: Grounding) -> Declarations:
    """The law of the rows that a grounding is about, without indices and without claims.

    Raises:
        LawdslError: an `identify` that is not linear in parameters.
    """
    declared, instance = ground.declared, ground.instance
    output = declared.output
    assert output.formula is not None
    formula = ground(output.formula, ground.rows)
    order = {name: place for place, name in enumerate(declared.symbols)}
    found = ground.symbols
    symbols = {n: found[n] for n in sorted(found, key=lambda n: order.get(ground.of[n], -1))}
    holds = [*ground.ties]
    if not instance.open:  # else other labels share in what is identified
        holds += identified(declared, instance, ground, symbols)
    symbols = _held(declared.text, symbols, holds)
    own = Symbol(output.name, "output", output.span, unit=output.unit, doc=output.doc)
    return replace(
        declared,
        symbols={**symbols, output.name: replace(own, formula=formula)},
        output=replace(own, formula=formula),
        claims=(),
        grids=() if instance.open else tuple(_grids(declared, ground, symbols)),
        points=() if instance.open else tuple(_points(declared, ground, symbols)),
        indices={},
        identities=(),
        instance=instance,
        schema=declared,
    )


def _held(text: Text, symbols: dict[str, Symbol], holds: Sequence[Holding]) -> dict[str, Symbol]:
    """The symbols in an order in which each follows those that it is made of, some held."""
    scope = Scope(text, _nothing, frozenset(), symbols=symbols)
    for symbol in symbols.values():
        remember(scope, symbol)
    sort_symbols(scope)
    hold(scope, [_hold(name, formula) for name, formula in holds])
    if scope.errors:
        raise LawdslError(scope.diagnostics)
    return scope.symbols


def _hold(name: str, formula: Formula) -> tree.Hold:
    number = formula.operand if isinstance(formula, tree.Negative) else formula
    kind = "fix" if isinstance(number, tree.Number) else "tie"
    return tree.Hold(kind, ((name, formula),))


def _nothing(name: str) -> Declarations:
    raise KeyError(name)  # formulas of parameters name no law


def _grids(
    declared: Declarations, ground: Grounding, symbols: Mapping[str, Symbol]
) -> list[tree.StartGrid]:
    """The grids of what has one element here: a grid of many would have too many points."""
    found = []
    for grid in declared.grids:
        targets = []
        for formula in grid.targets:
            target = read_target(formula)
            assert target is not None
            names = _elements(declared, ground, symbols, target.name)
            if len(names) == 1:
                places = dict(zip(target.subscripts, names[0][1], strict=True))
                targets.append(ground(formula, places))
        if targets:
            found.append(replace(grid, targets=tuple(targets)))
    return found


def _points(
    declared: Declarations, ground: Grounding, symbols: Mapping[str, Symbol]
) -> list[tree.StartPoint]:
    found = []
    for point in declared.points:
        values = [
            (name, ground(formula, {}))
            for named, formula in point.values
            for name, _ in _elements(declared, ground, symbols, tree.name_of(named))
        ]
        if values:
            found.append(replace(point, values=tuple(values)))
    return found


def _elements(
    declared: Declarations, ground: Grounding, symbols: Mapping[str, Symbol], of: str
) -> list[tuple[str, tuple[str, ...]]]:
    """The free parameters that are elements of a name, with their labels."""
    own = declared.symbols[of]
    sets = [ground.instance.of(declared, index) for index in own.indices]
    texts = ((with_subscripts(of, labels), labels) for labels in product(*sets))
    return [
        (text, labels)
        for text, labels in texts
        if text in symbols and symbols[text].kind == "parameter"
    ]
