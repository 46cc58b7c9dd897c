"""Declarations: variables, parameters, settings, lets and the law's own equation, in their order."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from lawdsl.core.diagnostics import Span, Text
from lawdsl.language import keywords, tree
from lawdsl.language.dimensions import powers_of
from lawdsl.language.formulas import (
    check_domain,
    check_formula,
    check_nonempty,
    check_same_unit,
    check_unit,
    number,
)
from lawdsl.language.indices import declared_subscripts
from lawdsl.language.scope import (
    DIGITS,
    GIVEN,
    IDENTITY,
    LET,
    OUTPUT,
    PARAMETER,
    SETTING,
    UNKNOWN,
    VARIABLE,
    FormulaContext,
    Scope,
)
from lawdsl.language.subscripts import free_in
from lawdsl.language.symbols import Declarations, Symbol
from lawdsl.language.tree import Formula

DECLARATIONS_BY_KEYWORD = {
    "variable": ("variable", VARIABLE),
    "parameter": ("parameter", PARAMETER),
    "given": ("given", GIVEN),
    "choose": ("unknown", UNKNOWN),
}
"""Keyword -> what it declares, and where the domain of that stands."""

VARYING_KINDS = ("variable", "law", "output", "unknown")


def declare(scope: Scope, statement: tree.Declaration) -> None:
    """Declare the names of a `variable`, `parameter`, `given` or `choose` line.

    Args:
        scope: the names of the file.
        statement: the statement.
    """
    kind, context = DECLARATIONS_BY_KEYWORD[statement.kind]
    unit = check_unit(scope, statement.unit)
    listed: dict[str, tree.Domain | None] = {}
    for item, domain in _with_domains(statement.items):
        name, subscripts = item.name, item.subscripts
        if name in listed and listed[name] is domain:  # a slip: no bound is added to a name
            help = f"name it once, or correct the spelling; `{name}` may have a second domain on a line of its own"
            scope.report("L0302", f"`{name}` stands twice in this line", item.span, help)
            continue
        listed[name] = domain
        earlier = scope.symbols.get(name)
        redeclared = earlier is not None and earlier.kind == kind and name in scope.declared_here
        if not redeclared:
            scope.units[name] = unit
        declared_subscripts(scope, subscripts, item.span)
        bounds = check_domain(scope, domain, context, name, subscripts)
        simplex = isinstance(domain, tree.Simplex)
        discrete = isinstance(domain, (tree.ChoicesNode, tree.IntegerNode))
        if discrete and kind != "unknown":
            assert domain is not None
            help = "a list of numbers, or whole numbers, are the domain of what a question asks for: `choose`"
            if kind in ("variable", "parameter"):
                help = f"write an interval, `{item.name} in [0, 1]`, or a bound; only a question chooses among numbers"
            message = f"the domain of {keywords.a(kind)} is an interval"
            scope.report("L0703", message, domain.span, help)
        if domain is not None and (simplex or (earlier and redeclared and earlier.simplex)):
            _check_simplex(scope, item, earlier if redeclared else None, domain.span)
            if not subscripts:
                scope.unread_names |= {name}  # with subscripts it would be another name
                continue
        if (
            earlier is not None and redeclared and bounds
        ):  # `parameter C > 0`, then `parameter C > C0`
            if subscripts != earlier.indices:
                message = f"`{name}` was declared as `{earlier.text}`"
                scope.report("L0314", message, item.span, f"write `{earlier.text}` again")
            scope.symbols[name] = replace(earlier, bounds=earlier.bounds + bounds)
        elif redeclared and domain is not None and scope.errors and not bounds:
            continue  # a bound that is none has its message
        else:
            scope.declare(
                Symbol(
                    name,
                    kind,
                    item.span,
                    bounds,
                    unit=statement.unit,
                    doc=statement.doc,
                    indices=subscripts,
                    simplex=simplex,
                    choices=domain.values if isinstance(domain, tree.ChoicesNode) else (),
                    integer=isinstance(domain, tree.IntegerNode),
                )
            )
        if domain is not None and name in scope.symbols:
            check_nonempty(scope, scope.symbols[name].bounds, domain.span)


def _check_simplex(scope: Scope, item: tree.Item, earlier: Symbol | None, span: Span) -> None:
    """`in simplex` is a whole domain, of what has subscripts."""
    if not item.subscripts:
        message = f"`{item.name}` has no subscript over which it could sum to 1"
        help = f"give it a subscript: `{item.name}[j] in simplex`"
        scope.report("L0318", message, span, help)
    elif earlier is not None and (earlier.bounds or earlier.simplex):
        help = "its elements are >= 0 and sum to 1: leave the other domain out"
        scope.report("L0318", "`in simplex` is a whole domain by itself", span, help)


def _with_domains(
    items: Sequence[tree.Item],
) -> Iterator[tuple[tree.Item, tree.Domain | None]]:
    """Each name with its domain: that of the next name with one; those at the end are free."""
    pairs: list[tuple[tree.Item, tree.Domain | None]] = []
    domain = None
    # backwards: in `a, b > 0` the domain is written behind the last name
    for item in reversed(items):
        domain = item.domain or domain
        pairs.append((item, domain))
    return reversed(pairs)


def define(
    scope: Scope,
    statement: tree.Definition,
    output: Symbol | None,
    let: FormulaContext = LET,
    *,
    labelled: bool = False,
) -> Symbol | None:
    """Define a setting, a let or the output, and return the output.

    Args:
        scope: the names declared so far.
        statement: the definition.
        output: the output of the law, if it already has one.
        let: the context in which the formula of a let is checked.
        labelled: whether a setting may be one number for each label.

    Returns:
        The output after this statement; None while the law has none.
    """
    name, kind, formula = statement.name, statement.kind, statement.formula
    if kind == "output" and output is not None:
        notes = (f"the first is `{output.text} = …`",)
        help = "name a part of the law with `let`"
        scope.report("L0403", "the law has a second equation", statement.span, help, notes)
        return None
    unit = check_unit(scope, statement.unit)
    subscripts = statement.subscripts
    if kind == "setting":
        powers = None
        _check_setting(scope, statement, labelled=labelled)
    else:
        declared_subscripts(scope, subscripts, statement.span)
        powers = check_formula(
            scope, formula, let if kind == "let" else OUTPUT, subscripts=subscripts
        )
        check_same_unit(scope, unit, powers, f"`{name}`", formula.span)
    free = free_in(scope, formula) if kind == "output" and not scope.errors else ()
    symbol = Symbol(
        name,
        kind,
        statement.span,
        formula=formula,
        unit=statement.unit,
        doc=statement.doc,
        indices=subscripts,
        rows=tuple(name for name in free if name not in subscripts),
    )
    if kind == "output":
        _warn_of_free_shares(scope, symbol.rows, formula)
    if not scope.declare(symbol):
        return None
    # a declared unit counts even where it differs from the formula's, which has its message
    scope.units[name] = powers if statement.unit is None else unit
    if kind == "let":
        remember(scope, symbol)
    return symbol if kind == "output" else None


def _warn_of_free_shares(scope: Scope, rows: Sequence[str], formula: Formula) -> None:
    """Warn about `t[j]*r[j]` without a sum: a row has all shares r, and no single label of j."""
    for node in tree.walk(formula):
        if not isinstance(node, tree.Element) or node.subscripts[-1] not in rows:
            continue
        if node.name in scope.symbols and scope.symbols[node.name].simplex:
            index = node.subscripts[-1]
            message = f"no sum runs over `{index}`: each row must then name its label of it"
            help = f"for all shares of a row write `sum(… for {index})`"
            scope.report("L0316", message, node.span, help, severity="warning")
            return


def _check_setting(scope: Scope, statement: tree.Definition, *, labelled: bool) -> None:
    formula = statement.formula
    if labelled:
        declared_subscripts(scope, statement.subscripts, statement.span)
    elif statement.subscripts:
        help = "what has a value for each label is a variable, or a parameter"
        scope.report("L0314", "a setting has no subscripts", statement.span, help)
    if list(names_in(formula)):
        help = "a setting is a number; what depends on others is a `let`"
        if isinstance(formula, tree.Name) and formula.text.translate(DIGITS).isdigit():
            help = f"did you mean the number `{formula.text.translate(DIGITS)}`?"
        scope.report("L0412", "this is not a number", formula.span, help)
    else:
        check_formula(scope, formula, SETTING)


def check_identity(scope: Scope, statement: tree.Identify) -> None:
    """Report mistakes in an `identify` line, `identify sum(t[i, j] for j) = 0`.

    Args:
        scope: the names declared so far.
        statement: the line.
    """
    before = len(scope.diagnostics)
    one = check_formula(scope, statement.lhs, IDENTITY)
    other = check_formula(scope, statement.rhs, IDENTITY)
    check_same_unit(scope, one, other, "the left side", statement.rhs.span)
    waiting = [*names_in(statement)]
    behind: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in scope.symbols and name not in behind:
            behind.add(name)
            waiting += names_used_by(scope.symbols[name])
    kinds = {scope.symbols[name].kind for name in behind}
    if any(scope.excused(n) or n in scope.unknown_told for n in names_in(statement)):
        return  # its line has a message
    if len(scope.diagnostics) == before and "parameter" not in kinds:
        help = "write a relation that one of the parameters that give the same law has"
        scope.report("L0319", "this is about no parameter", statement.span, help)


def remember(scope: Scope, symbol: Symbol) -> None:
    """Record the unit, value and other properties of a symbol that later formulas need.

    Args:
        scope: the names of the file.
        symbol: the name.
    """
    if symbol.unit is not None:
        scope.units[symbol.name] = powers_of(symbol.unit.factors)
    if symbol.kind == "let" and symbol.formula is not None:
        scope.numbers[symbol.name] = number(scope, symbol.formula)
        for name in names_in(symbol.formula):
            used = scope.symbols.get(name)
            if name in scope.varying or (used and used.kind in VARYING_KINDS):
                scope.varying.add(symbol.name)
            if name in scope.piecewise:
                scope.piecewise.add(symbol.name)
        if any(isinstance(node, tree.Conditional) for node in tree.walk(symbol.formula)):
            scope.piecewise.add(symbol.name)


def scope_of_options(text: Text, unread_names: frozenset[str], declared: Declarations) -> Scope:
    """The names that options of a law may use: those that it declares.

    Args:
        text: the options.
        unread_names: words of the lines that could not be parsed.
        declared: the law.
    """

    def no_law(name: str) -> Declarations:
        raise KeyError(name)  # formulas of numbers and parameters name no law

    scope = Scope(text, no_law, unread_names, symbols=dict(declared.symbols), options=True)
    scope.indices = dict(declared.indices)
    for symbol in declared.symbols.values():
        remember(scope, symbol)
    return scope


def names_used_by(symbol: Symbol) -> Iterator[str]:
    """The names that a symbol's bounds and formula use."""
    for formula in (*(limit for _, limit in symbol.bounds), symbol.formula):
        if formula is not None:
            yield from names_in(formula)


def sort_symbols(scope: Scope) -> None:
    """Sort the symbols topologically: each after those that its formula and bounds use.

    A second domain or a tie may have added such dependencies. Otherwise the declared order remains.
    """
    needs = {
        name: [part for part in names_used_by(symbol) if part in scope.symbols]
        for name, symbol in scope.symbols.items()
    }
    position = {name: i for i, name in enumerate(needs)}
    # the usual case, in which the order of declaration need not change
    if all(position[part] < position[name] for name in needs for part in needs[name]):
        return
    if scope.errors:
        return  # a circle of definitions, which has its message
    sorter = TopologicalSorter(needs)
    try:
        sorter.prepare()
    except CycleError as error:
        circle = error.args[1][::-1]
        first = next((name for name in circle if name in scope.declared_here), circle[0])
        message = f"`{first}` is bounded by itself: {' -> '.join(circle)}"
        help = "let the bound depend on other names only"
        scope.report("L0307", message, scope.symbols[first].span, help)
        return
    # of all names that may come next, the one declared first: the order is stable
    ready: list[tuple[int, str]] = []
    order: list[str] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, (position[name], name))
        _, first = heapq.heappop(ready)
        order.append(first)
        sorter.done(first)
    scope.symbols = {name: scope.symbols[name] for name in order}


def names_in(node: tree.Node) -> Iterator[str]:
    """The names used in the formulas of a node."""
    for part in tree.walk(node):
        if isinstance(part, tree.Name) and part.text not in keywords.CONSTANTS:
            yield part.text
        elif isinstance(part, tree.Element):
            yield part.name
