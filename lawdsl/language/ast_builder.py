"""The grammar's rules -> records of the syntax tree.

Called by the parser as it reads, from the innermost rule outwards, so that depth of nesting costs
no recursion. It only builds; names and meaning are looked at afterwards, by `resolving`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lark import Token, Transformer, v_args

from lawdsl.core.diagnostics import Span
from lawdsl.language import tree
from lawdsl.language.keywords import ORDERS, RELATIONS, ascii_name
from lawdsl.language.tree import NOWHERE, Node


def span_of(*parts: Any) -> Span:
    """From the first to the last place among words of the text, records and lists of them."""
    combined = None
    for part in parts:
        if isinstance(part, Token):
            span = Span(part.start_pos or 0, part.end_pos or 0)
        elif isinstance(part, Node):
            span = part.span
        elif isinstance(part, (tuple, list)):
            span = span_of(*part)
        else:
            continue
        if span != NOWHERE:
            combined = span if combined is None else combined | span
    return combined or NOWHERE


def _words(names: Iterable[Token]) -> tuple[str, ...]:
    return tuple(map(ascii_name, names))


def _text(string: Token | None) -> str | None:
    return None if string is None else str(string)[1:-1]


def _named(name: Token | tree.Name | tree.Element) -> tree.Named:
    """A word, or a name in a formula, where a name alone is meant."""
    if isinstance(name, tree.Element):
        return name
    return name.text if isinstance(name, tree.Name) else ascii_name(name)


def _subscripts(name: Token | tree.Element) -> tuple[str, ...]:
    return name.subscripts if isinstance(name, tree.Element) else ()


@v_args(inline=True)
class Builder(Transformer):  # type: ignore[type-arg]
    """One method a rule, named as the rule is."""

    # Statements

    def section(self, kind: Token, path: tree.Name, title: Token | None) -> Node:
        span = span_of(kind, path, title)
        return tree.Section(str(kind), path.text, _text(title), span=span)

    def source(self, text: Token) -> Node:
        return tree.SourceNode(str(text)[1:-1], span=span_of(text))

    def extends(self, path: tree.Name) -> Node:
        return tree.Extends(path.text, span=path.span)

    def variable(self, items: Any, unit: Any, doc: Any) -> Node:
        span = span_of(items, unit, doc)
        return tree.Declaration("variable", items, unit, _text(doc), span=span)

    def parameter(self, items: Any, unit: Any, doc: Any) -> Node:
        span = span_of(items, unit, doc)
        return tree.Declaration("parameter", items, unit, _text(doc), span=span)

    def setting(self, name: Any, formula: Any, unit: Any, doc: Any) -> Node:
        return self._definition("setting", name, formula, unit, doc)

    def let(self, name: Any, formula: Any, unit: Any, doc: Any) -> Node:
        return self._definition("let", name, formula, unit, doc)

    def output(self, name: Any, formula: Any, unit: Any, doc: Any) -> Node:
        return self._definition("output", name, formula, unit, doc)

    def _definition(self, kind: str, name: Any, formula: Any, unit: Any, doc: Any) -> Node:
        named, more = _named(name), _subscripts(name)
        parts = kind, tree.name_of(named), formula, unit, _text(doc), more
        return tree.Definition(*parts, span=span_of(name))

    def hold(self, kind: Token, *values: Any) -> Node:
        return tree.Hold(str(kind), values, span=span_of(kind, [v for _, v in values]))

    def measure(self, name: Any, formula: Any) -> Node:
        return tree.MeasureNode(_named(name), formula, span=span_of(name, formula))

    def identify(self, lhs: Any, rhs: Any) -> Node:
        return tree.Identify(lhs, rhs, span=span_of(lhs, rhs))

    def require(self, claim: Any, conditions: Any, expect: Token | None) -> Node:
        span = span_of(claim, conditions or (), expect)
        word = None if expect is None else str(expect)
        return tree.Require(claim, conditions or (), word, span=span)

    def minimize(self, objective: Any) -> Node:
        return tree.Minimize(objective, span=objective.span)

    def start_grid(self, targets: Any, values: Any) -> Node:
        return tree.StartGrid(targets, values, span=span_of(targets))

    def start_point(self, *values: Any) -> Node:
        return tree.StartPoint(values, span=span_of(*(v for _, v in values)))

    def given(self, _: Token, items: Any, unit: Any, doc: Any) -> Node:
        span = span_of(items, unit, doc)
        return tree.Declaration("given", items, unit, _text(doc), span=span)

    def uses(self, word: Token, names: Any, law: tree.Name) -> Node:
        return tree.Uses(_words(names), law.text, span=span_of(word, names, law))

    def choose(self, _: Token, items: Any, unit: Any, doc: Any) -> Node:
        span = span_of(items, unit, doc)
        return tree.Declaration("choose", items, unit, _text(doc), span=span)

    def maximize(self, objective: Any) -> Node:
        return tree.Maximize(objective, span=objective.span)

    def subject(self, word: Token, _: Token, *parts: Any) -> Node:
        *relations, doc = parts
        return tree.Subject(tuple(relations), _text(doc), span=span_of(word, relations))

    def equality(self, lhs: Any, rhs: Any) -> Node:
        return tree.Equality(lhs, rhs, span=span_of(lhs, rhs))

    def step(self, word: Token, law: tree.Name, groups: Any, conditions: Any, point: Any) -> Node:
        parts = law.text, groups or (), conditions or (), point or ()
        return tree.StepNode(
            *parts, span=span_of(word, law, conditions or (), [v for _, v in point or ()])
        )

    def grouping(self, _: Token, names: Any) -> Any:
        return _words(names)

    def choosing(self, _: Token, *choices: Any) -> Any:
        return choices

    def point(self, _: Token, *values: Any) -> Any:
        return values

    def chosen(self, name: Token, relation: Token, value: Any) -> Node:
        word = RELATIONS.get(relation, str(relation))
        return tree.ConditionNode(ascii_name(name), word, value, span=span_of(name, value))

    def equals(self, name: Token, value: Any) -> Node:
        return tree.ConditionNode(ascii_name(name), "=", value, span=span_of(name, value))

    def label(self, text: Token) -> Node:
        return tree.Label(str(text)[1:-1], span=span_of(text))

    # Names, indices, domains and units

    def element(self, name: Token, subscripts: Any, closer: Token) -> Node:
        return tree.Element(ascii_name(name), _words(subscripts), span=span_of(name, closer))

    def index(self, names: Any, _: Token, over: Any) -> Node:
        span = span_of(names, over)
        word = ascii_name(over) if isinstance(over, Token) else over
        return tree.Index(_words(names), word, span=span)

    def range(self, first: Token, last: Token) -> Node:
        return tree.RangeNode(str(first), str(last), span=span_of(first, last))

    def listed(self, labels: Any, closer: Token) -> Node:
        return tree.ListedNode(_words(labels), span=span_of(labels, closer))

    def items(self, *items: Any) -> Any:
        return items

    names = conditions = formulas = spread = items

    def item(self, name: Any, domain: Any) -> Node:
        parts = tree.name_of(_named(name)), domain, _subscripts(name)
        return tree.Item(*parts, span=span_of(name))

    condition = item

    def bound(self, relation: Token, limit: Any) -> Node:
        word = RELATIONS.get(relation, str(relation))
        return tree.BoundNode(word, limit, span=span_of(relation, limit))

    def interval(self, opening: Token, lower: Any, upper: Any, closing: Token) -> Node:
        return tree.IntervalNode(
            str(opening), lower, upper, str(closing), span=span_of(opening, closing)
        )

    def simplex(self, word: Token) -> Node:
        return tree.Simplex(span=span_of(word))

    def left(self, bracket: Token) -> Token:
        return bracket

    right = left

    def unit_of(self, *parts: Any) -> Node:
        factors, sign = [], 1
        for part in parts:
            if isinstance(part, Token):
                sign = -1 if part.type == "SLASH" else 1
            else:
                name, power, _ = part
                factors.append((str(name), sign * power))
        return tree.UnitOf(tuple(factors), span=span_of(parts))

    def unit_factor(self, name: Token, power: tuple[int, Token] | None) -> Any:
        return name, *(power or (1, name))

    def unit_power(self, minus: Token | None, number: Token) -> Any:
        """0, which no power may be, stands for one that is not whole or has several digits."""
        value = int(number) if number.isdigit() and len(number) == 1 else 0
        return -value if minus else value, number

    # Claims

    def comparison(self, lhs: Any, relation: Token, rhs: Any) -> Node:
        word = RELATIONS.get(relation, str(relation))
        return tree.ComparisonNode(lhs, word, rhs, span=span_of(lhs, rhs))

    def finite(self, formula: Any) -> Node:
        return tree.Finite(formula, span=formula.span)

    def trend(self, formula: Any, word: Token, name: Any, _: Any, against: Any) -> Node:
        span = span_of(formula, name, against)
        other = None if against is None else _named(against)
        return tree.TrendNode(formula, str(word), _named(name), other, span=span)

    def limit(self, formula: Any, target: Any, *approaches: Any) -> Node:
        span = span_of(formula, target, [value for _, value in approaches])
        return tree.LimitNode(formula, target, approaches, span=span)

    def approach(self, name: Any, value: Any) -> Any:
        return _named(name), value

    assignment = approach

    def reduction(self, formula: Any, path: tree.Name) -> Node:
        return tree.Reduction(formula, path.text, span=span_of(formula, path))

    # Formulas

    def sum(self, first: Any, *rest: Any) -> Node:
        pairs = tuple(zip(map(str, rest[::2]), rest[1::2], strict=True))
        return tree.Sum((("+", first), *pairs), span=span_of(first, rest[-1]))

    def product(self, first: Any, *rest: Any) -> Node:
        pairs = tuple(zip(map(str, rest[::2]), rest[1::2], strict=True))
        return tree.Product((("*", first), *pairs), span=span_of(first, rest[-1]))

    def negative(self, minus: Token, operand: Any) -> Node:
        return tree.Negative(operand, span=span_of(minus, operand))

    def power(self, base: Any, exponent: Any) -> Node:
        return tree.Power(base, exponent, span=span_of(base, exponent))

    def number(self, token: Token) -> Node:
        return tree.Number(str(token), span=span_of(token))

    def name(self, path: tree.Name) -> Node:
        return path

    def path(self, *parts: Token) -> tree.Name:
        return tree.Name(".".join(ascii_name(part) for part in parts), span=span_of(*parts))

    def call(self, function: Token, arguments: Any, closer: Token) -> Node:
        plain = tuple(a for a in arguments if not isinstance(a, tuple))
        keywords = tuple(a for a in arguments if isinstance(a, tuple))
        span = span_of(function, closer)
        names = [_named(a) for a in plain if isinstance(a, (tree.Name, tree.Element))]
        if function == "diff" and len(names) == len(arguments) > 1:
            return tree.Derivative(names[0], tuple(names[1:]), len(names) - 1, span=span)
        return tree.Call(ascii_name(function), plain, keywords, span=span)

    def call_of_element(self, of: tree.Element, arguments: Any, closer: Token) -> Node:
        plain = tuple(a for a in arguments if not isinstance(a, tuple))
        keywords = tuple(a for a in arguments if isinstance(a, tuple))
        span = span_of(of, closer)
        return tree.Call(of.name, plain, keywords, of.subscripts, span=span)

    def element_of_law(self, *parts: Any) -> Node:
        *names, subscripts, closer = parts
        name = ".".join(_words(names))
        return tree.Element(name, _words(subscripts), span=span_of(names, closer))

    def aggregate(self, function: Token, body: Any, over: Any, closer: Token) -> Node:
        span = span_of(function, closer)
        return tree.Aggregate(ascii_name(function), body, _words(over), span=span)

    def arguments(self, *arguments: Any) -> Any:
        return arguments

    def argument(self, formula: Any) -> Any:
        return formula

    def keyword(self, name: Token, formula: Any) -> Any:
        return ascii_name(name), formula

    def group(self, opener: Token, formula: Any, closer: Token) -> Any:
        return replace(formula, span=span_of(opener, closer))

    def ellipsis(self) -> None:
        return None

    def derivative(
        self, sign: Token, order: Token | None, of: Any, _: Token, *denominators: Any
    ) -> Node:
        names = tuple(name for part, _ in denominators for name in part)
        stated = ORDERS.get(str(order), 1) if order else 1
        span = span_of(sign, [tokens for _, tokens in denominators])
        return tree.Derivative(_named(of), names, stated, span=span)

    def partial(self, _: Token, name: Any, order: Token | None) -> Any:
        repeats = ORDERS.get(str(order), 1) if order else 1
        return (_named(name),) * repeats, [name, *([order] if order else [])]
