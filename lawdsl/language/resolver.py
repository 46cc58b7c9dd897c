"""Syntax tree -> declarations with all names resolved, and all mistakes of the file.

The result is still syntax (no algebra library is loaded), so `lawdsl fmt` and an editor can use it;
`lawdsl.law` converts it to mathematics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, Span, Text
from lawdsl.core.objectives import Objective
from lawdsl.language import tree
from lawdsl.language.claims import read_claim
from lawdsl.language.declarations import check_identity, declare, define, remember, sort_symbols
from lawdsl.language.excluding import check_together
from lawdsl.language.fix_and_tie import fix_and_tie, starts_of_free
from lawdsl.language.formula_sizes import check_sizes, sizes_of
from lawdsl.language.indices import declare_indices
from lawdsl.language.measures import check_measures
from lawdsl.language.mistakes.misdeclared import corrected
from lawdsl.language.objective import (
    check_grid,
    check_objective,
    check_point,
    crossed,
    read_objective,
    read_target,
    spread,
)
from lawdsl.language.parser import ANYTHING
from lawdsl.language.priors import check_priors, still_free
from lawdsl.language.scope import Scope, TooManyMistakes
from lawdsl.language.sections import check_unused, header_and_body, look_ahead
from lawdsl.language.symbols import Claim, Declarations, Find, Symbol, Target

__all__ = [
    "Claim",
    "Declarations",
    "Symbol",
    "Target",
    "read_objective",
    "read_target",
    "resolve",
    "spread",
]


def resolve(
    document: tree.SyntaxTree, text: Text, find: Find
) -> tuple[Declarations | None, list[Diagnostic]]:
    """Resolve every name of a law.

    Args:
        document: the parsed file.
        text: its text, for messages.
        find: the function that loads the laws that it names.

    Returns:
        The declarations, or None where there is an error; and all mistakes.
    """
    scope = Scope(text, find, document.unread_names)
    try:
        return _resolved(scope, document.statements), scope.diagnostics
    except TooManyMistakes:
        return None, scope.diagnostics


def _resolved(scope: Scope, statements: Sequence[tree.Statement]) -> Declarations | None:
    header, body = header_and_body(scope, statements, "law")
    if body is None:
        return None
    extends = any(isinstance(s, tree.Extends) for s in body)
    body = corrected(scope, body, extends=extends)
    base = _extended(scope, body)
    look_ahead(scope, body)
    output: Symbol | None = None
    for statement in body:
        match statement:
            case tree.Index():
                declare_indices(scope, statement)
            case tree.Declaration():
                declare(scope, statement)
            case tree.Definition():
                output = define(scope, statement, output) or output
    defined = any(isinstance(s, tree.Definition) and s.kind == "output" for s in body)
    if output is not None or not defined:  # else the equation has its message
        _check_output(scope, header, output, base)
    sort_symbols(scope)
    # the graph of bounds needs every name in them
    if not scope.errors:
        check_together(scope, base)
    identities = [s for s in body if isinstance(s, tree.Identify)]
    for identity in identities:
        check_identity(scope, identity)
    measures = check_measures(scope, [s for s in body if isinstance(s, tree.MeasureNode)], output)
    fix_and_tie(scope, [s for s in body if isinstance(s, tree.Hold)])
    priors = check_priors(scope, [s for s in body if isinstance(s, tree.PriorNode)])
    # claims and fits refer to the whole law, whatever their position in the file
    claims = [read_claim(scope, s) for s in body if isinstance(s, tree.Require)]
    _warn_of_repeated(scope, claims)
    objective = _objective(scope, body, output)
    for statement in body:
        match statement:
            case tree.StartGrid():
                check_grid(scope, statement)
            case tree.StartPoint():
                check_point(scope, statement)
    inherited_starts = starts_of_free(
        base.grids if base else (), base.points if base else (), scope.symbols
    )
    grids = crossed(scope, inherited_starts[0], [s for s in body if isinstance(s, tree.StartGrid)])
    own_statements = [
        s
        for s in body
        if not isinstance(s, (tree.Section, tree.SourceNode, tree.NoteNode, tree.Extends))
    ]
    check_sizes(scope, own_statements, sizes_of(scope.symbols, {}))
    if header is None or output is None or scope.errors:
        return None
    check_unused(scope, output.name)
    inherited = [
        c for c in (base.claims if base else ()) if not isinstance(c.claim, tree.Reduction)
    ]
    claims = [*inherited, *claims]  # to what the larger law reduces, it says itself
    sources = tuple(s.text for s in body if isinstance(s, tree.SourceNode))
    notes = tuple(s.text for s in body if isinstance(s, tree.NoteNode))
    return Declarations(
        name=header.name,
        title=header.title or header.name,
        sources=sources or (base.sources if base else ()),
        notes=notes,
        inherited_notes=(*base.inherited_notes, *base.notes) if base else (),
        symbols={n: s for n, s in scope.symbols.items() if s.kind != "index"},
        output=output,
        claims=tuple({(c.claim, c.conditions): c for c in claims}.values()),
        objective=objective or (base.objective if base else Objective()),
        grids=grids,
        points=(*inherited_starts[1], *(s for s in body if isinstance(s, tree.StartPoint))),
        laws=scope.laws,
        text=scope.text,
        indices=scope.indices,
        identities=(*(base.identities if base else ()), *identities),
        measures={**(base.measures if base else {}), **measures},
        priors={**still_free(base.priors if base else {}, scope.symbols), **priors},
        elements=(*(base.elements if base else ()), *scope.elements),
    )


# Structure


def _warn_of_repeated(scope: Scope, claims: Sequence[Claim]) -> None:
    """Warn about claims that the file makes twice; they are decided once."""
    first: dict[Any, Claim] = {}
    for claim in claims:
        earlier = first.setdefault((claim.claim, claim.conditions), claim)
        if earlier is not claim:
            message = f"line {scope.line(earlier.span)} makes this claim already"
            help = "remove one of them, or correct the one that should be another"
            scope.report("L0323", message, claim.span, help, severity="warning")


def _extended(scope: Scope, body: Sequence[tree.Statement]) -> Declarations | None:
    """Take over what the extended law declares."""
    extends = [s for s in body if isinstance(s, tree.Extends)]
    for second in extends[1:]:
        scope.report("L0403", "a law extends one law", second.span, "remove this line")
    if not extends:
        return None
    base = scope.law(extends[0].law, extends[0].span)
    if base is None:
        scope.unread_names |= {ANYTHING}
        return None
    scope.indices = dict(base.indices)
    scope.symbols = {name: Symbol(name, "index", extends[0].span) for name in base.indices}
    for symbol in base.symbols.values():
        if symbol.kind != "output":
            scope.symbols[symbol.name] = symbol
            remember(scope, symbol)
    scope.symbols[base.name] = replace(base.output, name=base.name, kind="law")
    remember(scope, scope.symbols[base.name])
    return base


def _check_output(
    scope: Scope, header: tree.Section | None, output: Symbol | None, base: Declarations | None
) -> None:
    if output is None:
        if scope.unread_names:
            scope.equation_unread = True
        else:
            span = header.span if header else Span(0, 0)
            help = "write the law as `L = …`"
            if base is not None:
                help = (
                    f"write `{base.output.text} = …`, where `{base.name}` is the extended formula"
                )
                scope.unread_names |= {base.output.name}  # one message is enough
            scope.report("L0402", "the file has no equation", span, help)
    elif base is not None and output.name != base.output.name:
        message = f"the equation is for `{output.name}`, that of the extended law for another name"
        help = f"write `{base.output.text} = …`"
        scope.report("L0408", message, output.span, help)
    elif base is not None and output.indices != base.output.indices:
        message = f"the equation is for `{output.text}`, that of the extended law for `{base.output.text}`"
        scope.report("L0408", message, output.span, f"write `{base.output.text} = …`")


# Claims and fits


def _objective(
    scope: Scope, body: Sequence[tree.Statement], output: Symbol | None
) -> Objective | None:
    statements = [s for s in body if isinstance(s, tree.Minimize)]
    for second in statements[1:]:
        span = scope.keyword(second.span)
        scope.report("L0403", "the law has a second objective", span, "remove one of them")
    if not statements or output is None:
        return None
    return check_objective(scope, statements[0], output.name)
