"""`fix E = 1.69` and `tie beta = alpha` -> declarations in which those parameters are determined.

A fixed parameter becomes a setting, a tied one a let. Its declared domain still applies: either the
domains of the other parameters imply it, or they receive the bounds that do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Span, Text
from lawdsl.language import keywords, tree
from lawdsl.language.constants import TooLarge, Value
from lawdsl.language.declarations import names_in, remember, scope_of_options, sort_symbols
from lawdsl.language.elements import selects_some
from lawdsl.language.formula_signs import POSITIVE, KnownSigns, known_signs_of
from lawdsl.language.formulas import check_formula, check_same_unit
from lawdsl.language.implied_bounds import (
    HOLDS,
    ZERO,
    bounds_that_keep,
    minus,
    with_bounds,
    written_out,
)
from lawdsl.language.label_texts import with_quoted_labels
from lawdsl.language.objective import read_target
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import ANY, SETTING, TIE, Scope
from lawdsl.language.symbols import Declarations, ElementStatement, Relation, Symbol
from lawdsl.language.tree import Formula, Named

PAST_PARTICIPLES = {"fix": "fixed", "tie": "tied"}


def with_fixed_and_tied(
    declared: Declarations,
    statements: Sequence[str],
    overrides: Mapping[str, float] | None = None,
    dropped: Iterable[str] = (),
) -> Declarations:
    """Return the declarations with further `fix` and `tie` statements, applied simultaneously.

    Args:
        declared: a law as declared.
        statements: `fix E = 1.69` and `tie beta = alpha`, one parameter each.
        overrides: values that replace those of its settings.
        dropped: texts of bounds that are not enforced.

    Raises:
        LawdslError: a malformed statement, a name that is not a parameter, a circular definition,
            or a bound that is violated or cannot be enforced.
    """
    kinds = {statement.split(maxsplit=1)[0] for statement in statements if statement.strip()}
    options = " and ".join(f"--{kind}" for kind in PAST_PARTICIPLES if kind in kinds)
    text = Text(options, "".join(f"{with_quoted_labels(s)}\n" for s in statements))
    document, mistakes = parse(text.text, text.name)
    holds = [s for s in document.statements if isinstance(s, tree.Hold) and len(s.values) == 1]
    if not mistakes and len(holds) != len(statements):
        message = f"`{text.text.strip()}` does not hold one parameter a line"
        raise LawdslError(Diagnostic("L0413", message, help="write NAME = FORMULA for each"))
    scope = scope_of_options(text, document.unread_names, declared)
    fix_and_tie(scope, holds, overrides, dropped)
    mistakes += scope.diagnostics
    if any(d.severity == "error" for d in mistakes):
        raise LawdslError(mistakes)
    grids, points = starts_of_free(declared.grids, declared.points, scope.symbols)
    priors = {
        name: prior
        for name, prior in declared.priors.items()
        if not scope.symbols[name.partition("[")[0]].determined_by
    }
    return replace(
        declared,
        symbols=scope.symbols,
        grids=grids,
        points=points,
        priors=priors,
        elements=(*declared.elements, *scope.elements),
    )


def fix_and_tie(
    scope: Scope,
    statements: Iterable[tree.Hold],
    overrides: Mapping[str, float] | None = None,
    dropped: Iterable[str] = (),
) -> None:
    """Fix or tie the parameters that the statements name; report where that is impossible.

    Args:
        scope: the names of the file.
        statements: the `fix` and `tie` statements, applied simultaneously.
        overrides: values that replace those of settings.
        dropped: texts of bounds that are not enforced.
    """
    # all are applied before any bound is judged: they hold simultaneously, in any order
    before = scope.errors
    spans: dict[str, Span] = {}
    for statement in statements:
        for named, formula in statement.values:
            if _fix_or_tie(scope, statement.kind, named, formula, statement.span):
                spans[tree.name_of(named)] = formula.span
    sort_symbols(scope)
    if scope.errors > before or not spans:
        return
    settings = known_signs_of(scope.symbols, overrides or {}).settings
    for name, span in spans.items():
        _add_implied_bounds(scope, scope.symbols[name], settings, tuple(dropped), span)
    sort_symbols(scope)
    if scope.errors == before:
        _check_domains_nonempty(scope, settings, next(iter(spans.values())))


def _fix_or_tie(scope: Scope, kind: str, named: Named, formula: Formula, span: Span) -> bool:
    """Make a parameter a setting or a let; False, and a message, where it cannot be one."""
    before = scope.errors
    name = tree.name_of(named)
    symbol = _parameter(scope, kind, name, span)
    if symbol is None:
        return False
    subscripts = named.subscripts if isinstance(named, tree.Element) else ()
    some = selects_some(scope, symbol, subscripts, f"`{kind}` holds", scope.within(span, name))
    if scope.errors > before:
        return False
    if kind == "fix":
        _check_number(scope, name, formula)
    else:
        _check_tie(scope, symbol, subscripts, formula)
    if scope.errors > before:
        return False
    if some:
        # its place among the other parameters is known at the labels of a table
        scope.elements.append(ElementStatement(kind, tree.Element(name, subscripts), formula))
        return False
    became = "setting" if kind == "fix" else "let"
    scope.symbols[name] = replace(symbol, kind=became, formula=formula, determined_by=kind)
    remember(scope, scope.symbols[name])
    return True


def starts_of_free(
    grids: Iterable[tree.StartGrid],
    points: Iterable[tree.StartPoint],
    symbols: Mapping[str, Symbol],
) -> tuple[tuple[tree.StartGrid, ...], tuple[tree.StartPoint, ...]]:
    """The starting grids and points without parameters that are fixed or tied, which need no start.

    Args:
        grids: the starting grids.
        points: the starting points.
        symbols: name -> symbol.
    """

    def free(name: str) -> bool:
        return name not in symbols or not symbols[name].determined_by

    free_grids, free_points = [], []
    for grid in grids:
        targets = tuple(t for t in grid.targets if (of := read_target(t)) and free(of.name))
        if targets:
            free_grids.append(replace(grid, targets=targets))
    for point in points:
        values = tuple((named, value) for named, value in point.values if free(tree.name_of(named)))
        if values:
            free_points.append(replace(point, values=values))
    return tuple(free_grids), tuple(free_points)


def _parameter(scope: Scope, kind: str, name: str, span: Span) -> Symbol | None:
    """The parameter of that name; None, after a message, where it cannot be fixed or tied."""
    span = scope.within(span, name)
    symbol = scope.symbols.get(name)
    if symbol is None:
        scope.use(name, span, ANY)  # says that it is not known
    elif symbol.determined_by:
        message = f"`{name}` is {PAST_PARTICIPLES[symbol.determined_by]} already"
        scope.report("L0413", message, span, "hold a parameter once")
    elif symbol.kind != "parameter":
        message = (
            f"`{name}` is {keywords.a(symbol.kind)}; only parameters are {PAST_PARTICIPLES[kind]}"
        )
        help = "name a parameter"
        if symbol.kind == "setting":
            help = f"a setting has a value: give it another one, `--set {name}=…`"
        scope.report("L0413", message, span, help)
    else:
        return symbol
    return None


def _check_number(scope: Scope, name: str, formula: Formula) -> None:
    if any(names_in(formula)):
        help = f"a formula of others is a tie: `tie {name} = {print_formula(formula)}`"
        scope.report("L0413", f"`{name}` is fixed at what is not a number", formula.span, help)
    else:
        check_formula(scope, formula, SETTING)


def _check_tie(scope: Scope, symbol: Symbol, subscripts: tuple[str, ...], formula: Formula) -> None:
    name = symbol.name
    indices = tuple(subscript for subscript in subscripts if subscript in scope.indices)
    powers = check_formula(scope, formula, TIE, subscripts=indices)
    check_same_unit(scope, scope.units.get(name), powers, f"`{name}`", formula.span)
    # an element may be tied to others of its name: circles show at the labels
    is_whole = subscripts == symbol.indices
    circle = _cycle(scope.symbols, name, formula) if is_whole else []
    if circle:
        message = f"`{name}` is tied to itself: {' -> '.join(circle)}"
        scope.report("L0307", message, formula.span, "tie it to other parameters")


def _cycle(symbols: Mapping[str, Symbol], name: str, formula: Formula) -> list[str]:
    """The path by which a formula of a parameter comes back to it; empty where it does not."""
    came_from = {part: name for part in names_in(formula)}
    waiting = list(came_from)
    while waiting:
        reached = waiting.pop()
        if reached == name:
            path = [name, came_from[name]]
            while path[-1] != name:
                path.append(came_from[path[-1]])
            return path[::-1]
        symbol = symbols.get(reached)
        if symbol is not None and symbol.formula is not None:
            for part in names_in(symbol.formula):
                if part not in came_from:
                    came_from[part] = reached
                    waiting.append(part)
    return []


def remaining_bounds(
    symbol: Symbol, known_signs: KnownSigns, dropped: tuple[str, ...]
) -> Iterable[Relation]:
    """The bounds of a parameter without the removed ones; a removed one may leave `> 0`.

    Args:
        symbol: the parameter.
        known_signs: the signs of names.
        dropped: texts of the removed bounds.
    """
    for relation, limit in symbol.bounds:
        if f"{symbol.text} {relation} {print_formula(limit)}" not in dropped:
            yield relation, limit
        elif relation[0] == ">" and known_signs.sign(limit) == POSITIVE:
            yield ">", ZERO


def _add_implied_bounds(
    scope: Scope,
    symbol: Symbol,
    settings: Mapping[str, Value],
    dropped: tuple[str, ...],
    span: Span,
) -> None:
    """Give the other parameters the bounds that keep a fixed or tied parameter in its domain."""
    assert symbol.formula is not None
    for relation, limit in remaining_bounds(symbol, KnownSigns(scope.symbols, settings), dropped):
        known_signs = KnownSigns(scope.symbols, settings)
        added = bounds_that_keep(symbol.formula, relation, limit, known_signs)
        if added is None:
            _report_broken(scope, symbol, (relation, limit), known_signs, span)
        else:
            scope.symbols = with_bounds(scope.symbols, added)


def _check_domains_nonempty(scope: Scope, settings: Mapping[str, Value], span: Span) -> None:
    known_signs = KnownSigns(scope.symbols, settings)
    for symbol in scope.symbols.values():
        if symbol.kind == "parameter" and _is_empty(symbol, known_signs):
            message = f"with what is held nothing lies in the domain of `{symbol.name}`"
            scope.report("L0414", message, span, "choose other values, or change that domain")


def _report_broken(
    scope: Scope, symbol: Symbol, bound: Relation, known_signs: KnownSigns, span: Span
) -> None:
    assert symbol.formula is not None
    relation, limit = bound
    assignment = f"{symbol.text} = {print_formula(symbol.formula)}"
    text = f"{symbol.text} {relation} {print_formula(limit)}"
    try:
        difference = written_out(minus(symbol.formula, limit), known_signs)
        broken = not known_signs.sign(difference) & HOLDS[relation]
    except TooLarge:
        broken = False
    message = (
        f"{assignment} is outside the domain {text}" if broken else f"{assignment} may break {text}"
    )
    help = f'choose it inside, or leave the bound out: --without "{text}"'
    scope.report("L0414", message, span, help)


def _is_empty(symbol: Symbol, known_signs: KnownSigns) -> bool:
    """Whether two bounds of a parameter certainly contradict each other."""
    lower = [(r, limit) for r, limit in symbol.bounds if r[0] == ">"]
    upper = [(r, limit) for r, limit in symbol.bounds if r[0] == "<"]
    return any(
        not known_signs.sign(minus(high, low)) & HOLDS[">=" if r == ">=" and s == "<=" else ">"]
        for r, low in lower
        for s, high in upper
    )


def check_bounds_kept(declared: Declarations, overrides: Mapping[str, float]) -> None:
    """Check the bounds of the fixed and tied parameters of a law's file under other setting values.

    Args:
        declared: the law.
        overrides: setting -> value.

    Raises:
        LawdslError: a bound that was satisfied is violated.
    """
    known_signs = known_signs_of(declared.symbols, overrides)
    for symbol in declared.symbols.values():
        for relation, limit in symbol.bounds if symbol.determined_by and symbol.formula else ():
            assert symbol.formula is not None
            added = bounds_that_keep(symbol.formula, relation, limit, known_signs)
            if added is None or any(b not in declared.symbols[n].bounds for n, b in added):
                assignment = f"{symbol.text} = {print_formula(symbol.formula)}"
                text = f"{symbol.text} {relation} {print_formula(limit)}"
                message = f"with these settings {assignment} may break {text}"
                help = "choose other settings, or change the law"
                raise LawdslError(Diagnostic("L0414", message, help=help))


def without_bounds(
    declared: Declarations, dropped: tuple[str, ...], overrides: Mapping[str, float]
) -> Declarations:
    """The declarations without some bounds of what has subscripts, whose elements have other names.

    Args:
        declared: the law.
        dropped: texts of bounds, `c[i] >= 0`.
        overrides: values that replace those of settings.
    """
    if not dropped:
        return declared
    known_signs = known_signs_of(declared.symbols, overrides)
    symbols = {
        name: replace(symbol, bounds=tuple(remaining_bounds(symbol, known_signs, dropped)))
        if symbol.kind == "parameter" and symbol.indices
        else symbol
        for name, symbol in declared.symbols.items()
    }
    return replace(declared, symbols=symbols)
