"""Subscripted names, and sums over indices, `sum(t[i, j]*r[j] for j)` -> messages on their use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.language import keywords, tree
from lawdsl.language.indices import another, is_index
from lawdsl.language.label_texts import quoted, with_subscripts
from lawdsl.language.printer import print_named
from lawdsl.language.scope import FormulaContext, Scope
from lawdsl.language.symbols import Symbol
from lawdsl.language.tree import Formula, Named

ORDINALS = ("first", "second", "third")


def check_named(
    scope: Scope,
    named: Named,
    span: Span,
    context: FormulaContext,
    fresh: frozenset[str] = frozenset(),
) -> Symbol | None:
    """The symbol of a name in use; mistakes in it or in its subscripts are reported.

    Args:
        scope: the names declared so far.
        named: the name, or an element.
        span: its place in the text.
        context: where the formula stands.
        fresh: names that a claim introduces.
    """
    before = len(scope.diagnostics)
    name = tree.name_of(named)
    name_span = span
    if isinstance(named, tree.Element):
        name_span = Span(span.start, min(span.start + len(name), span.end))
    symbol = scope.use(name, name_span, context, fresh)
    if len(scope.diagnostics) > before:
        return symbol
    if symbol is None:
        constant = name in keywords.CONSTANTS  # a fresh name may have a message already
        if isinstance(named, tree.Element) and (constant or name in fresh and not scope.errors):
            what = "is a constant" if constant else "stands for one number"
            message = f"`{name}` {what} and has no subscripts"
            scope.report("L0314", message, span, f"write `{name}`")
        return None
    subscripts = named.subscripts if isinstance(named, tree.Element) else ()
    if len(subscripts) != len(symbol.indices):
        help = f"write `{symbol.text}`"
        if name in keywords.GRADIENTS and len(subscripts) > 1 and not symbol.indices:
            help = f"write a derivative as `diff({', '.join(subscripts)})`"
        scope.report("L0314", _miscounted(symbol, subscripts), span, help)
    elif isinstance(named, tree.Element) and _are_swapped(scope, symbol, subscripts):
        message = f"the subscripts of `{name}` stand in another order"
        written = with_subscripts(name, subscripts[::-1])
        edits = [Edit(span, written)] if scope.text.text[span.start] == name[:1] else []
        scope.report("L0315", message, span, f"write `{written}`", edits=edits)
    else:
        for i, subscript in enumerate(subscripts):
            _check_subscript(scope, subscript, symbol, i, context, span)
    return symbol


def _are_swapped(scope: Scope, symbol: Symbol, subscripts: Sequence[str]) -> bool:
    """Whether two subscripts are indices over the sets of each other's places."""
    if len(subscripts) != 2:
        return False
    places = [scope.indices.get(name) for name in symbol.indices]
    used = [scope.indices.get(name) for name in subscripts]
    if None in places or None in used:
        return False
    (one, two), (first, second) = ([s.over for s in sets if s] for sets in (places, used))
    return one != two and (first, second) == (two, one)


def _miscounted(symbol: Symbol, subscripts: Sequence[str]) -> str:
    if not symbol.indices:
        return f"the {symbol.kind} `{symbol.name}` has no subscripts"
    if not subscripts:
        return f"`{symbol.name}` stands without its subscripts"
    count = len(symbol.indices)
    has = "1 subscript" if count == 1 else f"{count} subscripts"
    return f"`{symbol.name}` has {has}, not {len(subscripts)}"


def _check_subscript(
    scope: Scope, name: str, symbol: Symbol, i: int, context: FormulaContext, span: Span
) -> None:
    index_set = scope.indices.get(symbol.indices[i])
    index = scope.indices.get(name)
    if index_set is None or (index is None and name in index_set.listed):
        return
    lists = (s.over for s in scope.indices.values() if name in s.listed)
    over = index.over if index is not None else next(lists, None)
    if index is not None:
        scope.used.add(name)
    if over is not None and over != index_set.over:
        runs = f"runs over {over}" if index is not None else f"is a label of {over}"
        which = "subscript" if len(symbol.indices) == 1 else f"{ORDINALS[i]} subscript"
        message = f"`{name}` {runs}, the {which} of `{symbol.name}` over {index_set.over}"
        fitting = [s.name for s in scope.indices.values() if s.over == index_set.over]
        help = f"write an index over {index_set.over}: {' or '.join(f'`{n}`' for n in fitting)}"
        scope.report("L0315", message, scope.within(span, name, last=True), help)
    # only claims have names for any label, and options those of a table; elsewhere such a name is a
    # mistyped index, and a text in quotes is a label, which must be listed
    elif (
        over is None
        and (not context.claims or quoted(name) != name)
        and not (scope.options and not index_set.listed)
    ):
        is_index(scope, name, span, index_set.listed)
    elif over is None and name in scope.symbols:
        message = f"`{name}` is {keywords.a(scope.symbols[name].kind)}, not a label"
        help = "for any label write a name that is nothing else"
        scope.report("L0315", message, scope.within(span, name, last=True), help)


def check_as_declared(
    scope: Scope, symbol: Symbol, subscripts: tuple[str, ...], what: str, span: Span
) -> None:
    """Report subscripts that select some elements in a statement about all: `fix c[i] = 0`.

    Args:
        scope: the names of the file.
        symbol: the declared name.
        subscripts: the subscripts in the statement.
        what: the statement, for the message.
        span: the place of the name.
    """
    if subscripts == symbol.indices:
        return
    message = f"{what} all elements of `{symbol.name}` at once"
    if not symbol.indices:
        message = f"the {symbol.kind} `{symbol.name}` has no subscripts"
    help = f"write `{symbol.text}`"
    if scope.options and symbol.indices and len(subscripts) not in (0, len(symbol.indices)):
        message = f"`{symbol.text}` has another number of subscripts than {len(subscripts)}"
        help += " with an index or a label for each; a label with a comma stands in quotes"
    scope.report("L0314", message, span, help)


def check_indices(
    scope: Scope, formula: Formula, context: FormulaContext, subscripts: tuple[str, ...]
) -> None:
    """Report indices that are bound or free where that is not allowed.

    Args:
        scope: the names declared so far.
        formula: the formula.
        context: where it stands.
        subscripts: the subscripts of the name that it defines or bounds.
    """
    # an index may have one meaning in a formula, even where scopes would make two unambiguous
    before = len(scope.diagnostics)
    bound: dict[str, Span] = {}
    free = _free(scope, formula, frozenset(), bound)
    if len(scope.diagnostics) > before:
        return
    for name, span in bound.items():
        if name in subscripts or name in free:
            role = "a subscript of what is defined" if name in subscripts else "free in the formula"
            message = f"`{name}` is bound here, and {role}"
            scope.report(
                "L0316", message, scope.within(span, name, last=True), another(scope, name)
            )
    for name, span in free.items():
        if name not in subscripts and name not in bound and not context.free:
            help = f"sum over it, `sum(… for {name})`, or give what is declared this subscript"
            message = f"{context.text} leaves the index `{name}` free"
            scope.report("L0316", message, scope.within(span, name, last=True), help)


def free_in(scope: Scope, formula: Formula) -> tuple[str, ...]:
    """The indices in a checked formula that no sum binds.

    Args:
        scope: the names of the file.
        formula: the formula.
    """
    return tuple(_free(scope, formula, frozenset(), {}))


def _free(
    scope: Scope, node: tree.Node, bound_outside: frozenset[str], bound: dict[str, Span]
) -> dict[str, Span]:
    """The indices that a part of a formula leaves free, each with a place.

    Mistakes in its sums are reported. `bound_outside` are bound by sums around it; those that it
    binds itself are added to `bound`, each with the place of its sum.
    """
    if isinstance(node, (tree.Name, tree.Element)):
        name = node.name if isinstance(node, tree.Element) else node.text
        symbol = scope.symbols.get(name)
        subscripts = node.subscripts if isinstance(node, tree.Element) else ()
        # the output stands for its formula, whose free indices are free here too
        names = (*subscripts, *(symbol.rows if symbol else ()))
        return {name: node.span for name in names if name in scope.indices}
    free: dict[str, Span] = {}
    inside: dict[str, Span] = {}
    over = node.over if isinstance(node, tree.Aggregate) else ()
    around = bound_outside.union(over) if over else bound_outside
    for child in tree.children(node):
        for name, span in _free(scope, child, around, inside).items():
            free.setdefault(name, span)
    mine: dict[str, Span] = {}
    for name in over:
        if not is_index(scope, name, node.span):
            continue
        if name in bound_outside or name in mine:
            name_span = scope.within(node.span, name, last=True)
            scope.report("L0316", f"`{name}` is bound already", name_span, another(scope, name))
            break
        if name not in free and name not in inside:
            name_span = scope.within(node.span, name, last=True)
            help = f"write it as a subscript of what it runs over, or leave `{name}` out"
            scope.report("L0316", f"`{name}` is bound and does not occur", name_span, help)
        mine[name] = node.span
    for name, span in (inside | mine).items():
        bound.setdefault(name, span)
    return {name: span for name, span in free.items() if name not in mine}


def check_labels(scope: Scope, statement: tree.Require) -> None:
    """Report a name in a claim that would stand for labels of two sets.

    Args:
        scope: the names of the file.
        statement: the statement.
    """
    sets: dict[str, str] = {}
    for node in (*tree.walk(statement), *_elements(statement)):
        symbol = scope.symbols.get(node.name) if isinstance(node, tree.Element) else None
        if not isinstance(node, tree.Element) or symbol is None:
            continue
        for name, index in zip(node.subscripts, symbol.indices, strict=False):
            if index not in scope.indices or name in scope.indices or name in scope.symbols:
                continue
            over = scope.indices[index].over
            if sets.setdefault(name, over) != over:
                message = f"`{name}` stands for a label of {sets[name]} and for one of {over}"
                help = "write two names"
                scope.report("L0315", message, scope.within(node.span, name, last=True), help)
                return


def _elements(statement: tree.Require) -> Iterator[tree.Element]:
    for item in statement.conditions:
        if isinstance(item.named, tree.Element):
            yield item.named


def check_exchange(scope: Scope, trend: tree.TrendNode) -> None:
    """Report mistakes in a claim about an exchange: `L[i] decreasing in r[a] against r[b]`.

    Args:
        scope: the names of the file.
        trend: the claim.
    """
    name, against = trend.name, trend.against
    assert against is not None
    both = isinstance(name, tree.Element) and isinstance(against, tree.Element)
    symbol = scope.symbols.get(tree.name_of(name))
    if symbol is None and scope.excused(tree.name_of(name)):
        return  # its line has a message
    if trend.word not in ("increasing", "decreasing"):
        message, help = f"`{trend.word}` is said of one name", "leave the `against` out"
    elif not both or symbol is None or not symbol.simplex or symbol.name != tree.name_of(against):
        message = (
            f"`{print_named(name)}` and `{print_named(against)}` are not two shares of one whole"
        )
        help = "name two elements of one variable in a simplex: `in r[a] against r[b]`"
    elif name.subscripts[:-1] != against.subscripts[:-1]:  # type: ignore[union-attr]
        message = f"`{print_named(name)}` and `{print_named(against)}` are shares of two wholes"
        help = "let them differ in the last subscript only"
    elif name == against:
        message, help = f"`{print_named(name)}` stands against itself", "name two labels"
    else:
        return
    scope.report("L0318", message, trend.span, help)
