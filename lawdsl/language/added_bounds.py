"""A bound added to a law that is declared already: `C > B/gamma`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text
from lawdsl.language import tree
from lawdsl.language.parser import parse
from lawdsl.language.symbols import Declarations, Symbol


def add_bound(declared: Declarations, bound: str) -> Declarations:
    """Return the declarations with one more bound of a parameter, in an order that allows it.

    Args:
        declared: the law.
        bound: the relation as text, `C > B/gamma`.

    Raises:
        LawdslError: the text is not a relation between a parameter and a formula of others, or the
            bounds form a circle.
    """
    name, relation, limit = _read(declared, bound)
    symbols = dict(declared.symbols)
    symbols[name] = replace(symbols[name], bounds=(*symbols[name].bounds, (relation, limit)))
    ordered = {s.name: s for s in _ordered(symbols, bound)}
    return replace(declared, symbols=ordered)


def _read(declared: Declarations, bound: str) -> tuple[str, str, tree.Formula]:
    text = Text("a bound", f"require {bound}\n")
    document, mistakes = parse(text.text, text.name)
    if mistakes:
        raise LawdslError(mistakes)
    match document.statements:
        case (tree.Require(tree.ComparisonNode(tree.Name(name), relation, limit), (), None),):
            symbol = declared.symbols.get(name)
            if any(isinstance(node, (tree.Element, tree.Aggregate)) for node in tree.walk(limit)):
                raise _refused("it names an element of what has subscripts", bound)
            if symbol is not None and symbol.kind == "parameter":
                for used in sorted(_names(limit)):
                    used_symbol = declared.symbols.get(used)
                    if used_symbol is None or used_symbol.kind not in (
                        "parameter",
                        "setting",
                        "let",
                    ):
                        raise _refused(f"`{used}` is not a parameter, setting or let", bound)
                return name, relation, limit
    raise _refused("a bound is a relation between a parameter and a formula", bound)


def _refused(why: str, bound: str) -> LawdslError:
    help = "write one as in a domain: `C > B/gamma`"
    return LawdslError(
        Diagnostic("L0301", f"the bound `{bound}` cannot be added: {why}", help=help)
    )


def _names(formula: tree.Formula) -> set[str]:
    return {node.text for node in tree.walk(formula) if isinstance(node, tree.Name)} - {"pi", "oo"}


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
