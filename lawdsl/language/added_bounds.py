"""A bound added to a law that is declared already: `C > B/gamma`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language import tree
from lawdsl.language.label_texts import with_quoted_labels, with_subscripts
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Declarations, ElementStatement, Symbol


def add_bound(declared: Declarations, bound: str) -> Declarations:
    """Return the declarations with one more bound of a parameter, in an order that allows it.

    Args:
        declared: the law.
        bound: the relation as text, `C > B/gamma`.

    Raises:
        LawdslError: the text is not a relation between a parameter and a formula of others, or the
            bounds form a circle.
    """
    named, relation, limit = _read(declared, bound)
    if isinstance(named, tree.Element) and named.subscripts != declared.symbols[named.name].indices:
        statement = ElementStatement(relation, named, limit)
        return replace(declared, elements=(*declared.elements, statement))
    name = tree.name_of(named)
    symbols = dict(declared.symbols)
    symbols[name] = replace(symbols[name], bounds=(*symbols[name].bounds, (relation, limit)))
    ordered = {s.name: s for s in _ordered(symbols, bound)}
    return replace(declared, symbols=ordered)


def leave_out(declared: Declarations, bound: str) -> Declarations | None:
    """Return the declarations in which some elements lack a bound of their parameter: `c[en] >= 0`.

    Args:
        declared: the law.
        bound: the bound as text; None is returned where the law has no such bound.
    """
    document, mistakes = parse(f"require {with_quoted_labels(bound)}\n", "a bound")
    match document.statements:
        case (
            tree.Require(tree.ComparisonNode(tree.Element() as named, relation, limit), (), None),
        ):
            symbol = declared.symbols.get(named.name)
            if mistakes or symbol is None or len(named.subscripts) != len(symbol.indices):
                return None
            if named.subscripts == symbol.indices:  # that of all elements
                return None
            if (relation, print_formula(limit)) in [
                (r, print_formula(x)) for r, x in symbol.bounds
            ]:
                statement = ElementStatement(f"without {relation}", named, limit)
                return replace(declared, elements=(*declared.elements, statement))
    return None


def _read(declared: Declarations, bound: str) -> tuple[tree.Named, str, tree.Formula]:
    text = Text("a bound", f"require {with_quoted_labels(bound)}\n")
    document, mistakes = parse(text.text, text.name)
    if mistakes:
        raise LawdslError(mistakes)
    match document.statements:
        case (tree.Require(tree.ComparisonNode(named, relation, limit), (), None),) if isinstance(
            named, (tree.Name, tree.Element)
        ):
            if declared.instance is not None:  # elements are names of their own
                named, limit = _as_name(named), _as_names(limit)
            name = named.text if isinstance(named, tree.Name) else named.name
            symbol = declared.symbols.get(name)
            if any(isinstance(node, tree.Aggregate) for node in tree.walk(limit)):
                raise _refused("it has a sum over an index", bound)
            for node in (named, *tree.walk(limit)):
                _check_subscripts(declared, node, bound)
            if symbol is not None and symbol.kind == "parameter":
                for used in sorted(_names(limit)):
                    used_symbol = declared.symbols.get(used)
                    if used_symbol is None or used_symbol.kind not in (
                        "parameter",
                        "setting",
                        "let",
                    ):
                        raise _refused(f"`{used}` is not a parameter, setting or let", bound)
                return named if isinstance(named, tree.Element) else name, relation, limit
    raise _refused("a bound is a relation between a parameter and a formula", bound)


def _as_name(node: tree.Name | tree.Element) -> tree.Name | tree.Element:
    """An element as the name that it is at given labels."""
    if isinstance(node, tree.Element):
        return tree.Name(with_subscripts(node.name, node.subscripts), span=node.span)
    return node


def _as_names(node: tree.Formula) -> tree.Formula:
    """A formula of elements as one of the names that they are at given labels."""
    match node:
        case tree.Name() | tree.Element():
            return _as_name(node)
        case tree.Conditional():
            return tree.with_parts(node, _as_names)
        case tree.Negative(operand):
            return tree.Negative(_as_names(operand), span=node.span)
        case tree.Sum(terms):
            return tree.Sum(tuple((s, _as_names(t)) for s, t in terms), span=node.span)
        case tree.Product(factors):
            return tree.Product(tuple((s, _as_names(f)) for s, f in factors), span=node.span)
        case tree.Power(base, exponent):
            return tree.Power(_as_names(base), _as_names(exponent), span=node.span)
        case tree.Call(function, arguments, keywords):
            parts = tuple(map(_as_names, arguments))
            return tree.Call(function, parts, keywords, span=node.span)
    return node


def _check_subscripts(declared: Declarations, node: tree.Node, bound: str) -> None:
    """Refuse a name that stands with another number of subscripts than it has."""
    if isinstance(node, tree.Element | tree.Name):
        name = node.name if isinstance(node, tree.Element) else node.text
        symbol = declared.symbols.get(name)
        count = len(node.subscripts) if isinstance(node, tree.Element) else 0
        if symbol is not None and count != len(symbol.indices):
            raise _refused(f"`{name}` has other subscripts, `{symbol.text}`", bound)


def _refused(why: str, bound: str) -> LawdslError:
    help = "write one as in a domain: `C > B/gamma`"
    return LawdslError(
        Diagnostic("L0301", f"the bound `{bound}` cannot be added: {why}", help=help)
    )


def _names(formula: tree.Formula) -> set[str]:
    names = {node.text for node in tree.walk(formula) if isinstance(node, tree.Name)}
    names |= {node.name for node in tree.walk(formula) if isinstance(node, tree.Element)}
    return names - {"pi", "oo"}


def _needs(symbol: Symbol) -> set[str]:
    formulas = [limit for _, limit in symbol.bounds]
    formulas += [symbol.formula] if symbol.formula is not None else []
    return set().union(*map(_names, formulas)) - {symbol.name} if formulas else set()


def _ordered(symbols: Mapping[str, Symbol], bound: str) -> Iterator[Symbol]:
    """Each after those that its formula and bounds name; otherwise as they were."""
    waiting = dict(symbols)
    while waiting:
        ready = next((s for s in waiting.values() if not _needs(s) & set(waiting)), None)
        if ready is None:
            raise _refused("it goes in a circle", bound)
        yield waiting.pop(ready.name)
