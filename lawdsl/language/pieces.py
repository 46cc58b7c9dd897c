"""Piecewise formulas -> their conditions, and the formulas that hold where one is settled.

A piecewise law is a law without `if` on each part of its domain. Everything here is syntax.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from lawdsl.language import tree
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Declarations, Symbol
from lawdsl.language.tree import Formula

Syntax = TypeVar("Syntax", bound=tree.Node)


@dataclass(frozen=True)
class Condition:
    """`greater > less`; where it does not hold, `greater <= less` does."""

    greater: Formula
    less: Formula

    @classmethod
    def of(cls, node: tree.Conditional) -> tuple[Condition, bool]:
        """The condition of a piecewise formula, and whether its first part stands for its truth."""
        straight = node.relation in (">", "<=")
        sides = (node.lhs, node.rhs) if straight else (node.rhs, node.lhs)
        return cls(*sides), node.relation in "<>"

    @property
    def sides(self) -> tuple[Formula, Formula]:
        """Both of its formulas."""
        return self.greater, self.less

    def text(self, holds: bool) -> str:
        """The relation that holds, with a plain number on its right."""
        relation, sides = ">" if holds else "<=", self.sides
        if isinstance(self.greater, tree.Number):
            relation, sides = "<" if holds else ">=", (self.less, self.greater)
        lhs, rhs = map(print_formula, sides)
        return f"{lhs} {relation} {rhs}"


def conditionals(
    formulas: Iterable[tree.Node], symbols: Mapping[str, Symbol]
) -> Iterator[tree.Conditional]:
    """The piecewise formulas in some formulas and in what their names stand for.

    Args:
        formulas: formulas, or claims.
        symbols: name -> symbol.
    """
    seen: set[str] = set()
    waiting = list(formulas)
    while waiting:
        for node in tree.walk(waiting.pop()):
            if isinstance(node, tree.Conditional):
                yield node
            for name in _names(node):
                symbol = symbols.get(name)
                if symbol is not None and symbol.formula is not None and name not in seen:
                    seen.add(name)
                    waiting.append(symbol.formula)


def _names(node: tree.Node) -> Iterator[str]:
    """The names in a record itself, without those of the records in it."""
    match node:
        case tree.Name(text):
            yield text
        case tree.Element(name):
            yield name
        case tree.Call(function):
            yield function
        case tree.Derivative(of, derived_by):
            yield from map(tree.name_of, (of, *derived_by))
        case tree.TrendNode(_, _, name):
            yield tree.name_of(name)


def first_condition(
    formulas: Iterable[tree.Node], declared: Declarations
) -> tuple[Condition, tree.Conditional] | None:
    """A condition in some formulas that is not piecewise itself; None where there is none.

    Args:
        formulas: formulas, or claims.
        declared: the law.
    """
    symbols = _with_output(declared)
    for node in conditionals(formulas, symbols):
        if next(conditionals((node.lhs, node.rhs), symbols), None) is None:
            return Condition.of(node)[0], node
    return None


def depends_on(formulas: Iterable[tree.Node], names: Iterable[str], declared: Declarations) -> bool:
    """Whether formulas are made of some names, through definitions too.

    Args:
        formulas: the formulas.
        names: the names.
        declared: the law.
    """
    symbols, wanted = _with_output(declared), set(names)
    seen: set[str] = set()
    waiting = list(formulas)
    while waiting:
        for node in tree.walk(waiting.pop()):
            for name in set(_names(node)) - seen:
                seen.add(name)
                symbol = symbols.get(name)
                if symbol is not None and symbol.formula is not None:
                    waiting.append(symbol.formula)
    return bool(seen & wanted)


def _with_output(declared: Declarations) -> dict[str, Symbol]:
    return {**declared.symbols, declared.output.name: declared.output}


def settled(node: Syntax, condition: Condition, holds: bool) -> Syntax:
    """A formula or claim in which a condition holds, or does not.

    Args:
        node: the formula or claim.
        condition: the condition.
        holds: whether it holds.
    """
    if not any(isinstance(part, tree.Conditional) for part in tree.walk(node)):
        return node
    result: Syntax = _settled(node, condition, holds)
    return result


def _settled(node: Any, condition: Condition, holds: bool) -> Any:
    if isinstance(node, tuple):
        return tuple(_settled(part, condition, holds) for part in node)
    if not isinstance(node, tree.Node):
        return node
    if isinstance(node, tree.Conditional):
        own, straight = Condition.of(node)
        if own == condition:
            return _settled(node.yes if straight == holds else node.no, condition, holds)
    changed = {
        field.name: _settled(getattr(node, field.name), condition, holds)
        for field in fields(node)
        if field.name != "span"
    }
    return replace(node, **changed)


def settled_law(declared: Declarations, condition: Condition, holds: bool) -> Declarations:
    """A law in which a condition holds, or does not, wherever it is asked for.

    Args:
        declared: the law.
        condition: the condition.
        holds: whether it holds.
    """

    def changed(symbol: Symbol) -> Symbol:
        if symbol.formula is None:
            return symbol
        formula = settled(symbol.formula, condition, holds)
        return symbol if formula is symbol.formula else replace(symbol, formula=formula)

    symbols = {name: changed(symbol) for name, symbol in declared.symbols.items()}
    return replace(declared, symbols=symbols, output=changed(declared.output))
