"""Calls of functions that the language does not have -> messages with the formula that is meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from lawdsl.core.diagnostics import Edit
from lawdsl.language import keywords, tree
from lawdsl.language.foreign.functions import PRODUCTS, filled, renamed
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.printer import print_formula
from lawdsl.language.scope import CLAIM, TARGET, FormulaContext, Scope
from lawdsl.language.tree import Formula

Advice = tuple[str, tuple[Edit, ...]]


def unknown_function(
    scope: Scope,
    node: tree.Call,
    context: FormulaContext,
    formula: Formula,
    subscripts: tuple[str, ...],
) -> None:
    """Report the call of a function that the language does not have.

    Args:
        scope: the names declared so far.
        node: the call.
        context: where the formula stands.
        formula: the formula in which it stands.
        subscripts: the subscripts of the name that the formula defines or bounds.
    """
    function = node.function
    message = f"unknown function `{function}`"
    stem = function.partition("_")[0]
    if function in PRODUCTS and (summed := _sum_of_products(scope, node)) is not None:
        message = f"`{function}` is a sum over an index"
        edits: tuple[Edit, ...] = (Edit(node.span, summed),)
        scope.report("L0304", message, node.span, f"write `{summed}`", edits=edits)
        return
    if stem in keywords.AGGREGATES:
        message = f"`{stem}` runs over an index"
        help, edits = _sum_without_index(scope, node, formula, subscripts)
    elif (advice := _advice(scope, node, context)) is not None:
        help, edits = advice
    else:
        uses = [s.name for s in scope.symbols.values() if s.kind == "use"]
        listed = f"the functions are {', '.join(keywords.FUNCTIONS)}"
        listed += ", and sums over an index, `sum(… for j)`" if scope.indices else ""
        listed = f"the laws are {', '.join(uses)}, {listed}" if uses else listed
        known = (*uses, *keywords.FUNCTIONS)
        scope.unknown_word("L0304", message, node.span, function, known, listed)
        return
    scope.report("L0304", message, node.span, help, edits=edits)


def _advice(scope: Scope, node: tree.Call, context: FormulaContext) -> Advice | None:
    """Advice on a function as other languages name it; None for an unknown name."""
    function = node.function
    arguments = [print_formula(argument) for argument in node.arguments]
    if function in scope.declaration_spans:
        return f"write `{function}*(…)` for a product", ()
    if function in keywords.GRADIENTS and len(arguments) > 1:
        span = scope.within(node.span, function)
        edits = (Edit(span, "diff"),) if context in (CLAIM, TARGET) else ()
        return f"write `diff({', '.join(arguments)})`", edits
    name = renamed(function)
    if name is not None:
        help = f"write `{name}({', '.join(arguments)})`"
        return help, (Edit(scope.within(node.span, function), name),)
    written = filled(function, arguments) if not node.keywords else None
    if written is not None:
        if written.startswith("if "):
            return f"write `{written}`", ()  # where the argument is 0 others have another value
        alone = re.fullmatch(r"\w+\(([^()]|\([^()]*\))*\)", written)
        return f"write `{written}`", (Edit(node.span, written if alone else f"({written})"),)
    if function.startswith("log") and function[3:].isdigit() and len(arguments) == 1:
        return f"write `log({arguments[0]})/log({function[3:]})`", ()
    if function in keywords.INSTEAD:
        meant = keywords.INSTEAD[function]
        if len(arguments) == 1:
            meant = re.sub(r"\bx\b", lambda _: arguments[0], meant)
        return f"write `{meant}`", ()
    return None


def with_base(node: tree.Call) -> Advice | None:
    """Advice on `log(N, 10)` and `log(N, base = 2)`; None for another call.

    Args:
        node: the call.
    """
    parts = [*node.arguments, *(value for name, value in node.keywords if name == "base")]
    if node.function != "log" or len(parts) != 2:
        return None
    of, base = map(print_formula, parts)
    written = f"log10({of})" if base == "10" else f"log({of})/log({base})"
    # in some languages the base is the first argument
    certain = isinstance(parts[1], tree.Number) and not isinstance(parts[0], tree.Number)
    edit = Edit(node.span, written if base == "10" else f"({written})")
    return f"write `{written}`", (edit,) if certain else ()


def _indices_of(scope: Scope, formula: tree.Node, but: Sequence[tree.Node] = ()) -> list[str]:
    """The indices in a formula that no sum in it binds, in the order in which they stand."""
    if any(formula is part for part in but):
        return []
    if isinstance(formula, tree.Element):
        return [name for name in formula.subscripts if name in scope.indices]
    found = [name for child in tree.children(formula) for name in _indices_of(scope, child, but)]
    bound = formula.over if isinstance(formula, tree.Aggregate) else ()
    return list(dict.fromkeys(name for name in found if name not in bound))


def _sum_without_index(
    scope: Scope, node: tree.Call, formula: Formula, subscripts: tuple[str, ...]
) -> Advice:
    """`sum(t[i, j]*r[j])`: the index that is not one of what is defined, nor stands outside."""
    name = node.function.partition("_")[0]
    if not scope.indices:
        if len(node.arguments) > 1:
            sign = " + " if name == "sum" else "*"
            return f"write `{sign.join(print_formula(a) for a in node.arguments)}`", ()
        return f"declare an index, then write `{name}(… for j)`", ()
    listed = [a.text for a in node.arguments if isinstance(a, tree.Name)]
    listed = [n for n in listed if n in scope.indices]
    bodies = [a for a in node.arguments if not (isinstance(a, tree.Name) and a.text in listed)]
    body = _with_all_subscripts(scope, bodies[0]) if bodies else None
    if body is None:
        return f"write `{name}(… for {next(iter(scope.indices))})`", ()
    inner = [
        part
        for part in tree.walk(body)
        if isinstance(part, tree.Call) and part.function in keywords.AGGREGATES
    ]
    own = _indices_of(scope, body, inner)
    outside = [*subscripts, *_indices_of(scope, formula, [node])]
    free = listed or [n for n in own if n not in outside] or [n for n in own if n not in subscripts]
    if not free:
        shown = next((n for n in scope.indices if n not in subscripts), next(iter(scope.indices)))
        return f"write `{name}(… for {shown})`", ()
    written = f"{name}({print_formula(body)} for {', '.join(free)})"
    certain = len(free) == 1 and not inner and len(node.arguments) == 1 + len(listed)
    return f"write `{written}`", (Edit(node.span, written),) if certain else ()


def _with_all_subscripts(scope: Scope, formula: Formula) -> Formula:
    """A formula with the declared subscripts of names that stand without them."""
    if isinstance(formula, tree.Name):
        symbol = scope.symbols.get(formula.text)
        bare = symbol is not None and symbol.indices
        return tree.Element(formula.text, symbol.indices) if symbol and bare else formula
    match formula:
        case tree.Product(factors):
            return tree.Product(tuple((s, _with_all_subscripts(scope, f)) for s, f in factors))
        case tree.Sum(terms):
            return tree.Sum(tuple((s, _with_all_subscripts(scope, t)) for s, t in terms))
    return formula


def _sum_of_products(scope: Scope, node: tree.Call) -> str | None:
    """`dot(t[i], r)`: the sum over the index that both have."""
    if len(node.arguments) != 2 or node.keywords:
        return None
    factors, shared = [], Counter[str]()
    for argument in node.arguments:
        if not isinstance(argument, (tree.Name, tree.Element)):
            return None
        name = argument.text if isinstance(argument, tree.Name) else argument.name
        symbol = scope.symbols.get(name)
        if symbol is None or not symbol.indices:
            return None
        own = argument.subscripts if isinstance(argument, tree.Element) else ()
        full = (*own, *symbol.indices[len(own) :])
        if len(full) != len(symbol.indices):
            return None
        factors.append(with_subscripts(name, full))
        shared.update(set(full))
    over = [index for index, count in shared.items() if count == 2]
    return f"sum({'*'.join(factors)} for {over[0]})" if len(over) == 1 else None
