"""Syntax tree -> declarations: every name knows what it is, every mistake is found.

What comes out is still syntax (no algebra library is loaded), so `lawdsl fmt` and an editor can
use it; `lawdsl.law` turns it into mathematics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from lawdsl.diagnostics import Diagnostic, Text
from lawdsl.language import limits, tree, words
from lawdsl.language.claims import read_claim
from lawdsl.language.declared import Claim, Declarations, Find, Objective, Symbol, Target
from lawdsl.language.declaring import declare, define, names_in, remember
from lawdsl.language.fits import (
    check_grid,
    check_objective,
    check_point,
    crossed,
    read_objective,
    read_target,
    spread,
)
from lawdsl.language.parsing import ANYTHING, long_name
from lawdsl.language.scope import Scope, TooManyMistakes
from lawdsl.language.tree import Span

__all__ = [
    "Claim",
    "Declarations",
    "Objective",
    "Symbol",
    "Target",
    "read_objective",
    "read_target",
    "resolve",
    "spread",
]


def resolve(
    document: tree.Document, text: Text, find: Find
) -> tuple[Declarations | None, list[Diagnostic]]:
    """Give every name of a file its meaning.

    Args:
        document: the parsed file.
        text: its text, for messages.
        find: finds the laws that it names.

    Returns:
        The declarations, or None where there is an error; and all mistakes.
    """
    scope = Scope(text, find, document.lost)
    try:
        return _resolved(scope, document.statements), scope.diagnostics
    except TooManyMistakes:
        return None, scope.diagnostics


def _resolved(scope: Scope, statements: Sequence[tree.Statement]) -> Declarations | None:
    header, body = _header(scope, statements)
    if len(body) > limits.DECLARATIONS:
        message = f"the file has more than {limits.DECLARATIONS:,} statements"
        scope.say("L0109", message, body[limits.DECLARATIONS].span, "split it into several laws")
        return None
    base = _extended(scope, body)
    _look_ahead(scope, body)
    output: Symbol | None = None
    for statement in body:
        match statement:
            case tree.Declaration():
                declare(scope, statement)
            case tree.Definition():
                output = define(scope, statement, output) or output
    _check_output(scope, header, output, base)
    _sort_symbols(scope)
    # claims and fits speak of the whole law, wherever they stand
    claims = [read_claim(scope, s) for s in body if isinstance(s, tree.Require)]
    objective = _objective(scope, body, output)
    for statement in body:
        match statement:
            case tree.StartGrid():
                check_grid(scope, statement)
            case tree.StartPoint():
                check_point(scope, statement)
    grids = crossed(
        scope, base.grids if base else (), [s for s in body if isinstance(s, tree.StartGrid)]
    )
    _check_sizes(scope, body)
    if header is None or output is None or scope.errors:
        return None
    _check_unused(scope, output)
    inherited = [
        c for c in (base.claims if base else ()) if not isinstance(c.claim, tree.Reduction)
    ]
    claims = [*inherited, *claims]  # to what the larger law reduces, it says itself
    sources = tuple(s.text for s in body if isinstance(s, tree.Source))
    return Declarations(
        name=header.name,
        title=header.title or header.name,
        sources=sources or (base.sources if base else ()),
        symbols=scope.symbols,
        output=output,
        claims=tuple({(c.claim, c.conditions): c for c in claims}.values()),
        objective=objective or (base.objective if base else Objective()),
        grids=grids,
        points=(
            *(base.points if base else ()),
            *(s for s in body if isinstance(s, tree.StartPoint)),
        ),
        laws=scope.laws,
        text=scope.text,
    )


# Structure


def _header(
    scope: Scope, statements: Sequence[tree.Statement]
) -> tuple[tree.Section | None, list[tree.Statement]]:
    """The `law` line, and the statements after it."""
    header: tree.Section | None = None
    body: list[tree.Statement] = []
    for statement in statements:
        if not isinstance(statement, tree.Section):
            body.append(statement)
        elif header is not None:
            help = "write it to a file of its own"
            scope.say("L0403", "the file has a second law", statement.span, help)
            break
        else:
            header = statement
            if body:
                message = "the `law` line is not the first"
                scope.say("L0401", message, statement.span, "move it to the top")
            if len(header.name) > limits.NAME:
                scope.add(long_name(header.span, scope.text))
    if header is None and not scope.lost.intersection((*words.SECTIONS, ANYTHING)):
        place = body[0].span if body else Span(0, 0)
        help = 'begin with a line as: law my_law "what it says"'
        scope.say("L0401", "the file names no law", place, help)
    return header, body


def _extended(scope: Scope, body: Sequence[tree.Statement]) -> Declarations | None:
    """Take over what the extended law declares."""
    extends = [s for s in body if isinstance(s, tree.Extends)]
    for second in extends[1:]:
        scope.say("L0403", "a law extends one law", second.span, "remove this line")
    if not extends:
        return None
    base = scope.law(extends[0].law, extends[0].span)
    if base is None:
        scope.lost |= {ANYTHING}
        return None
    for symbol in base.symbols.values():
        if symbol.kind != "output":
            scope.symbols[symbol.name] = symbol
            remember(scope, symbol)
    scope.symbols[base.name] = replace(base.output, name=base.name, kind="law")
    remember(scope, scope.symbols[base.name])
    return base


def _look_ahead(scope: Scope, body: Sequence[tree.Statement]) -> None:
    """Where each name of the file is declared, and what its definitions are made of."""
    later: dict[str, Span] = {}
    made_of: dict[str, list[str]] = {}
    for statement in body:
        match statement:
            case tree.Declaration(_, items):
                for item in items:
                    later.setdefault(item.name, item.span)
                    made_of.setdefault(item.name, []).extend(names_in(item))
            case tree.Definition(_, name, formula):
                later.setdefault(name, statement.span)
                made_of.setdefault(name, []).extend(names_in(formula))
    scope.later, scope.made_of = later, made_of


def _check_output(
    scope: Scope, header: tree.Section | None, output: Symbol | None, base: Declarations | None
) -> None:
    if output is None:
        if not scope.lost:
            place = header.span if header else Span(0, 0)
            scope.say("L0402", "the file has no equation", place, "write the law as `L = …`")
    elif base is not None and output.name != base.output.name:
        message = f"the equation is for `{output.name}`, that of the extended law for another name"
        help = f"write `{base.output.name} = …`"
        scope.say("L0408", message, output.span, help)


# Claims and fits


def _objective(
    scope: Scope, body: Sequence[tree.Statement], output: Symbol | None
) -> Objective | None:
    statements = [s for s in body if isinstance(s, tree.Minimize)]
    for second in statements[1:]:
        scope.say("L0403", "the law has a second objective", second.span, "remove one")
    if not statements or output is None:
        return None
    return check_objective(scope, statements[0], output.name)


# Afterwards


def _sort_symbols(scope: Scope) -> None:
    """Put each name behind those that it is made of, which a second domain may have changed."""
    needs = {
        name: [
            part
            for formula in (*(limit for _, limit in symbol.bounds), symbol.formula)
            if formula is not None
            for part in names_in(formula)
            if part in scope.symbols
        ]
        for name, symbol in scope.symbols.items()
    }
    place = {name: i for i, name in enumerate(needs)}
    if all(place[part] < place[name] for name in needs for part in needs[name]):
        return
    if scope.errors:
        return  # a circle of definitions, which has its message
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle = error.args[1][::-1]
        first = next((name for name in circle if name in scope.own), circle[0])
        message = f"`{first}` is bounded by itself: {' -> '.join(circle)}"
        help = "let the bound depend on other names only"
        scope.say("L0307", message, scope.symbols[first].span, help)
        return
    scope.symbols = {name: scope.symbols[name] for name in order}


def _check_sizes(scope: Scope, body: Sequence[tree.Statement]) -> None:
    """The size and depth of every formula with its lets and laws written out."""
    sizes: dict[str, tuple[int, int]] = {}
    for name, symbol in scope.symbols.items():
        if symbol.formula is not None:
            sizes[name] = _size(symbol.formula, sizes)
    own = [s for s in body if not isinstance(s, (tree.Section, tree.Source, tree.Extends))]
    for statement in own:
        size, depth = _size(statement, sizes)
        if size > limits.NODES:
            message = f"with its lets written out this has more than {limits.NODES:,} parts"
            scope.say("L0105", message, statement.span, "simplify it")
            return
        if depth > limits.DEPTH:
            message = f"with its lets written out this is nested more than {limits.DEPTH} deep"
            scope.say("L0104", message, statement.span, "simplify it")
            return


def _size(node: tree.Node, known: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    size = depth = 0
    stack = [(node, 1)]
    while stack:
        top, level = stack.pop()
        more = known.get(top.text, (1, 1)) if isinstance(top, tree.Name) else (1, 1)
        size += more[0]
        depth = max(depth, level + more[1] - 1)
        stack.extend((child, level + 1) for child in tree.children(top))
    return size, depth


def _check_unused(scope: Scope, output: Symbol) -> None:
    if scope.lost:
        return  # it may be used in a line that could not be read
    for name, span in scope.own.items():
        if name not in scope.used and name != output.name:
            kind = scope.symbols[name].kind
            message = f"the {kind} `{name}` is never used"
            scope.say("L0309", message, span, "remove it", severity="warning")
