"""The grammar's rules -> records of the syntax tree.

Called by the parser as it reads, from the innermost rule outwards, so that depth of nesting costs
no recursion. It only builds; names and meaning are looked at afterwards, by `checking`.
"""

from __future__ import annotations

from typing import Any

from lark import Token, Transformer, v_args

from lawdsl.language import tree
from lawdsl.language.tree import NOWHERE, Node, Span
from lawdsl.language.words import ORDERS, RELATIONS, ascii_name


def _span(*parts: Any) -> Span:
    """From the first to the last place among records, words and lists of them."""
    found = None
    for part in parts:
        if isinstance(part, Token):
            span = Span(part.start_pos or 0, part.end_pos or 0)
        elif isinstance(part, Node):
            span = part.span
        elif isinstance(part, (tuple, list)):
            span = _span(*part)
        else:
            continue
        if span != NOWHERE:
            found = span if found is None else found | span
    return found or NOWHERE


def _text(string: Token | None) -> str | None:
    return None if string is None else str(string)[1:-1]


@v_args(inline=True)
class Builder(Transformer):  # type: ignore[type-arg]
    """One method a rule, named as the rule is."""

    # Statements

    def section(self, kind: Token, path: tree.Name, title: Token | None) -> Node:
        span = _span(kind, path, title)
        return tree.Section(str(kind), path.text, _text(title), span=span)

    def source(self, text: Token) -> Node:
        return tree.Source(str(text)[1:-1], span=_span(text))

    def extends(self, path: tree.Name) -> Node:
        return tree.Extends(path.text, span=path.span)

    def variable(self, items: Any, unit: Any, doc: Any) -> Node:
        span = _span(items, unit, doc)
        return tree.Declaration("variable", items, unit, _text(doc), span=span)

    def parameter(self, items: Any, unit: Any, doc: Any) -> Node:
        span = _span(items, unit, doc)
        return tree.Declaration("parameter", items, unit, _text(doc), span=span)

    def setting(self, name: Token, formula: Any, unit: Any, doc: Any) -> Node:
        return self._definition("setting", name, formula, unit, doc)

    def let(self, name: Token, formula: Any, unit: Any, doc: Any) -> Node:
        return self._definition("let", name, formula, unit, doc)

    def output(self, name: Token, formula: Any, unit: Any, doc: Any) -> Node:
        return self._definition("output", name, formula, unit, doc)

    def _definition(self, kind: str, name: Token, formula: Any, unit: Any, doc: Any) -> Node:
        span = _span(name)
        return tree.Definition(kind, ascii_name(name), formula, unit, _text(doc), span=span)

    def require(self, claim: Any, conditions: Any, expect: Token | None) -> Node:
        span = _span(claim, conditions or (), expect)
        word = None if expect is None else str(expect)
        return tree.Require(claim, conditions or (), word, span=span)

    def minimize(self, objective: Any) -> Node:
        return tree.Minimize(objective, span=objective.span)

    def start_grid(self, targets: Any, values: Any) -> Node:
        return tree.StartGrid(targets, values, span=_span(targets))

    def start_point(self, *values: Any) -> Node:
        return tree.StartPoint(values, span=_span(*(v for _, v in values)))

    # Domains and units

    def items(self, *items: Any) -> Any:
        return items

    conditions = formulas = spread = items

    def item(self, name: Token, domain: Any) -> Node:
        return tree.Item(ascii_name(name), domain, span=_span(name))

    condition = item

    def bound(self, relation: Token, limit: Any) -> Node:
        word = RELATIONS.get(relation, str(relation))
        return tree.Bound(word, limit, span=_span(relation, limit))

    def interval(self, left: str, lower: Any, upper: Any, right: str) -> Node:
        return tree.Interval(left, lower, upper, right, span=_span(lower, upper))

    def left(self, bracket: Token) -> str:
        return str(bracket)

    right = left

    def unit_of(self, *parts: Any) -> Node:
        factors, sign = [], 1
        for part in parts:
            if isinstance(part, Token):
                sign = -1 if part.type == "SLASH" else 1
            else:
                name, power = part
                factors.append((name, sign * power))
        span = _span(*(name for name, _ in factors))
        return tree.UnitOf(tuple((str(name), power) for name, power in factors), span=span)

    def unit_factor(self, name: Token, power: int | None) -> Any:
        return name, 1 if power is None else power

    def unit_power(self, minus: Token | None, number: Token) -> int:
        value = int(number) if number.isdigit() and len(number) < 3 else 0
        return -value if minus else value

    # Claims

    def comparison(self, left: Any, relation: Token, right: Any) -> Node:
        word = RELATIONS.get(relation, str(relation))
        return tree.Comparison(left, word, right, span=_span(left, right))

    def finite(self, formula: Any) -> Node:
        return tree.Finite(formula, span=formula.span)

    def trend(self, formula: Any, word: Token, name: Token) -> Node:
        span = _span(formula, name)
        return tree.Trend(formula, str(word), ascii_name(name), span=span)

    def limit(self, formula: Any, target: Any, *approaches: Any) -> Node:
        span = _span(formula, target, [value for _, value in approaches])
        return tree.Limit(formula, target, approaches, span=span)

    def approach(self, name: Token, value: Any) -> Any:
        return ascii_name(name), value

    assignment = approach

    def reduction(self, formula: Any, path: tree.Name) -> Node:
        return tree.Reduction(formula, path.text, span=_span(formula, path))

    # Formulas

    def sum(self, first: Any, *rest: Any) -> Node:
        pairs = tuple(zip(map(str, rest[::2]), rest[1::2], strict=True))
        return tree.Sum((("+", first), *pairs), span=_span(first, rest[-1]))

    def product(self, first: Any, *rest: Any) -> Node:
        pairs = tuple(zip(map(str, rest[::2]), rest[1::2], strict=True))
        return tree.Product((("*", first), *pairs), span=_span(first, rest[-1]))

    def negative(self, minus: Token, operand: Any) -> Node:
        return tree.Negative(operand, span=_span(minus, operand))

    def power(self, base: Any, exponent: Any) -> Node:
        return tree.Power(base, exponent, span=_span(base, exponent))

    def number(self, token: Token) -> Node:
        return tree.Number(str(token), span=_span(token))

    def name(self, path: tree.Name) -> Node:
        return path

    def path(self, *parts: Token) -> tree.Name:
        return tree.Name(".".join(ascii_name(part) for part in parts), span=_span(*parts))

    def call(self, function: Token, arguments: Any) -> Node:
        plain = tuple(a for a in arguments if not isinstance(a, tuple))
        keywords = tuple(a for a in arguments if isinstance(a, tuple))
        span = _span(function, plain, [value for _, value in keywords])
        names = [a.text for a in plain if isinstance(a, tree.Name)]
        if function == "diff" and len(names) == len(arguments) > 1:
            return tree.Derivative(names[0], tuple(names[1:]), len(names) - 1, span=span)
        return tree.Call(ascii_name(function), plain, keywords, span=span)

    def arguments(self, *arguments: Any) -> Any:
        return arguments

    def argument(self, formula: Any) -> Any:
        return formula

    def keyword(self, name: Token, formula: Any) -> Any:
        return ascii_name(name), formula

    def group(self, formula: Any) -> Any:
        return formula

    def ellipsis(self) -> None:
        return None

    def derivative(self, sign: Token, order: Token | None, of: Token, _: Token, *by: Any) -> Node:
        names = tuple(name for part, _ in by for name in part)
        stated = ORDERS.get(str(order), 1) if order else 1
        span = _span(sign, [place for _, place in by])
        return tree.Derivative(ascii_name(of), names, stated, span=span)

    def partial(self, _: Token, name: Token, order: Token | None) -> Any:
        repeats = ORDERS.get(str(order), 1) if order else 1
        return (ascii_name(name),) * repeats, [name, *([order] if order else [])]
