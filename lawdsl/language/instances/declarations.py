"""Grounding -> declarations without index sets: symbols in order, fixed parameters, starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, product

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Span, Text
from lawdsl.language import tree
from lawdsl.language.declarations import remember, sort_symbols
from lawdsl.language.elements import selected
from lawdsl.language.fix_and_tie import fix_and_tie
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.identities import identified
from lawdsl.language.label_texts import split_element, with_subscripts
from lawdsl.language.objective import read_target
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import Scope
from lawdsl.language.symbols import Declarations, Prior, Relation, Symbol, Tie
from lawdsl.language.tree import Formula


def written_out(ground: Grounding, given: Mapping[str, float] | None = None) -> Declarations:
    """The law of the rows that a grounding is about, without indices and without claims.

    Args:
        ground: what writes formulas out.
        given: values that replace those of settings, by which bounds of elements are judged.

    Raises:
        LawdslError: an `identify` that is not linear in parameters.
    """
    declared, instance = ground.declared, ground.instance
    output = declared.output
    assert output.formula is not None
    formula = ground(output.formula, ground.rows)
    # elements take the place of their name; indicators and rests of sums, which the law does not
    # declare, come first
    order = {name: position for position, name in enumerate(declared.symbols)}
    selected_holds = _selected_holds(ground)
    bounds = _selected_bounds(ground)
    ground_symbols = ground.symbols
    symbols = {
        n: ground_symbols[n]
        for n in sorted(ground_symbols, key=lambda n: order.get(ground.of[n], -1))
    }
    # those of single elements first: what is identified depends on which of them are free
    symbols = {name: _with_bounds(symbol, bounds.get(name, ())) for name, symbol in symbols.items()}
    if selected_holds:
        symbols = _with_elements(symbols, selected_holds, given or {})
    holds = [*ground.ties]
    if not instance.open:  # else other labels share in what is identified
        holds += identified(declared, instance, ground, symbols)
    symbols = _with_fixed(declared.text, symbols, holds)
    bare_output = Symbol(output.name, "output", output.span, unit=output.unit, doc=output.doc)
    return replace(
        declared,
        symbols={**symbols, output.name: replace(bare_output, formula=formula)},
        output=replace(bare_output, formula=formula),
        claims=(),
        grids=() if instance.open else tuple(_grids(declared, ground, symbols)),
        points=() if instance.open else tuple(_points(declared, ground, symbols)),
        priors=_priors(declared, ground, symbols),
        indices={},
        identities=(),
        elements=(),
        instance=instance,
        schema=declared,
    )


def _selected_holds(ground: Grounding) -> dict[str, tuple[str, Formula]]:
    """Element that the law of these rows has -> fix or tie, and the formula at its labels.

    Raises:
        LawdslError: two statements about one element.
    """
    declared, instance = ground.declared, ground.instance
    holds: dict[str, tuple[str, Formula]] = {}
    of: dict[str, str] = {}
    waiting = True
    while waiting:  # a tie may name parameters that only other rows have, and which are tied too
        waiting = False
        for statement in declared.elements:
            for name, assignment in selected(declared, instance, statement.named):
                if statement.kind not in ("fix", "tie") or name not in ground.symbols:
                    continue
                if of.setdefault(name, statement.text) != statement.text:
                    message = f"`{name}` is determined twice: `{of[name]}`, `{statement.text}`"
                    raise LawdslError(Diagnostic("L0413", message, help="leave one of them out"))
                if name not in holds:
                    holds[name] = statement.kind, ground(statement.formula, assignment)
                    waiting = True
    return holds


def _selected_bounds(ground: Grounding) -> dict[str, list[Relation]]:
    """Element that the law of these rows has -> the bounds that are added to it, or left out."""
    declared, instance = ground.declared, ground.instance
    bounds: dict[str, list[Relation]] = {}
    for statement in declared.elements:
        for name, assignment in selected(declared, instance, statement.named):
            if statement.kind not in ("fix", "tie") and name in ground.symbols:
                limit = ground(statement.formula, assignment)
                bounds.setdefault(name, []).append((statement.kind, limit))
    return bounds


def _with_bounds(symbol: Symbol, changes: Sequence[Relation]) -> Symbol:
    """A symbol with bounds that are added, `>`, or left out, `without >`."""
    bounds = list(symbol.bounds)
    for kind, limit in changes:
        relation = kind.removeprefix("without ")
        if relation == kind:
            bounds.append((relation, limit))
        else:
            text = print_formula(limit)
            bounds = [b for b in bounds if (b[0], print_formula(b[1])) != (relation, text)]
    return replace(symbol, bounds=tuple(bounds))


def _with_elements(
    symbols: dict[str, Symbol],
    holds: Mapping[str, tuple[str, Formula]],
    given: Mapping[str, float],
) -> dict[str, Symbol]:
    """The symbols, some elements fixed or tied by statements of options, with values of settings."""
    lines = [
        f"{kind} {name} = {print_formula(formula)}\n" for name, (kind, formula) in holds.items()
    ]
    ends = list(accumulate(map(len, lines)))
    kinds = {kind for kind, _ in holds.values()}
    options = " and ".join(f"--{kind}" for kind in ("fix", "tie") if kind in kinds)
    scope = Scope(Text(options, "".join(lines)), _no_laws, frozenset(), symbols=symbols)
    for symbol in symbols.values():
        remember(scope, symbol)
    statements = [
        tree.Hold(kind, ((name, _at(formula, span)),), span=span)
        for (name, (kind, formula)), span in zip(
            holds.items(),
            (Span(end - len(line), end - 1) for line, end in zip(lines, ends, strict=True)),
            strict=True,
        )
    ]
    fix_and_tie(scope, statements, given)
    if scope.errors:
        raise LawdslError(scope.diagnostics)
    return scope.symbols


def _at(formula: Formula, span: Span) -> Formula:
    """A formula at the place of its statement, to which messages about it point."""
    return replace(formula, span=span)


def _with_fixed(text: Text, symbols: dict[str, Symbol], holds: Sequence[Tie]) -> dict[str, Symbol]:
    """The symbols, some of them fixed or tied, in an order in which each follows those it uses."""
    scope = Scope(text, _no_laws, frozenset(), symbols=symbols)
    for symbol in symbols.values():
        remember(scope, symbol)
    sort_symbols(scope)
    fix_and_tie(scope, [_fix_or_tie(name, formula) for name, formula in holds])
    if scope.errors:
        raise LawdslError(scope.diagnostics)
    return scope.symbols


def _fix_or_tie(name: str, formula: Formula) -> tree.Hold:
    number = formula.operand if isinstance(formula, tree.Negative) else formula
    kind = "fix" if isinstance(number, tree.Number) else "tie"
    return tree.Hold(kind, ((name, formula),))


def _no_laws(name: str) -> Declarations:
    raise KeyError(name)  # formulas of parameters name no law


def _grids(
    declared: Declarations, ground: Grounding, symbols: Mapping[str, Symbol]
) -> list[tree.StartGrid]:
    """The grids of what has one element here: a grid of many would have too many points."""
    grids = []
    for grid in declared.grids:
        targets = []
        for formula in grid.targets:
            target = read_target(formula)
            assert target is not None
            names = _elements(declared, ground, symbols, target.name)
            if len(names) == 1:
                assignment = dict(zip(target.subscripts, names[0][1], strict=True))
                targets.append(ground(formula, assignment))
        if targets:
            grids.append(replace(grid, targets=tuple(targets)))
    return grids


def _points(
    declared: Declarations, ground: Grounding, symbols: Mapping[str, Symbol]
) -> list[tree.StartPoint]:
    points = []
    for point in declared.points:
        values = [
            (name, ground(formula, {}))
            for named, formula in point.values
            for name, _ in _elements(declared, ground, symbols, tree.name_of(named))
        ]
        if values:
            points.append(replace(point, values=tuple(values)))
    return points


def _priors(
    declared: Declarations, ground: Grounding, symbols: Mapping[str, Symbol]
) -> dict[str, Prior]:
    """The prior of each element of a parameter that has one; that of some elements goes first."""
    priors: dict[str, Prior] = {}
    for of, prior in sorted(
        declared.priors.items(), key=lambda pair: _labels_named(declared, pair[0])
    ):
        base, subscripts = split_element(of)
        elements = [name for name, _ in _elements(declared, ground, symbols, base)]
        if subscripts:
            named = tree.Element(base, subscripts)
            chosen = {name for name, _ in selected(declared, ground.instance, named)}
            elements = [name for name in elements if name in chosen]
        priors |= {name: prior.at(name) for name in elements}
    return priors


def _labels_named(declared: Declarations, of: str) -> int:
    """How specific a name in an option is: 0 without subscripts, else 1 more than it has labels."""
    _, parts = split_element(of)
    return sum(part not in declared.indices for part in parts) + bool(parts)


def _elements(
    declared: Declarations, ground: Grounding, symbols: Mapping[str, Symbol], of: str
) -> list[tuple[str, tuple[str, ...]]]:
    """The free parameters that are elements of a name, with their labels."""
    symbol = declared.symbols[of]
    sets = [ground.instance.of(declared, index) for index in symbol.indices]
    texts = ((with_subscripts(of, labels), labels) for labels in product(*sets))
    return [
        (text, labels)
        for text, labels in texts
        if text in symbols and symbols[text].kind == "parameter"
    ]
