"""Parsed rules of the grammar -> records of the syntax tree.

The parser calls one method for each rule, from the innermost rule outwards, so that nesting costs
no recursion (the bottom-up order of an LR parser; Aho, Lam, Sethi and Ullman (2006), Compilers:
Principles, Techniques, and Tools, 2nd ed., section 4.5). The methods only build records; `resolver`
examines names and meaning afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lark import Token, Transformer, v_args

from lawdsl.core.diagnostics import Span
from lawdsl.language import tree
from lawdsl.language.keywords import ORDERS, RELATIONS, ascii_name
from lawdsl.language.label_texts import without_quotes
from lawdsl.language.tree import NOWHERE, Node


def span_of(*parts: Any) -> Span:
    """The span from the first to the last character of tokens, records and lists of them."""
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


def _labels(subscripts: Iterable[Token]) -> tuple[str, ...]:
    """Indices, and labels without their quotes."""
    return tuple(
        without_quotes(str(t)) if t.type == "STRING" else ascii_name(t) for t in subscripts
    )


def _text(string: Token | None) -> str | None:
    return None if string is None else without_quotes(str(string))


def _named(name: Token | tree.Name | tree.Element) -> tree.Named:
    """A word, or a name in a formula, where a name alone is meant."""
    if isinstance(name, tree.Element):
        return name
    return name.text if isinstance(name, tree.Name) else ascii_name(name)


def _subscripts(name: Token | tree.Element) -> tuple[str, ...]:
    return name.subscripts if isinstance(name, tree.Element) else ()


@v_args(inline=True)
class Builder(Transformer):  # type: ignore[type-arg]
    """The transformer of the parser: one method for each rule of the grammar, named after the rule.

    The arguments of a method are the children of its rule in the order of the text: tokens, or the
    results of other methods. An optional child that the text lacks is None.
    """

    # Statements

    def section(self, kind: Token, path: tree.Name, title: Token | None) -> Node:
        """Build the record of the line that names the file's section: `law chinchilla "title"`."""
        span = span_of(kind, path, title)
        return tree.Section(str(kind), path.text, _text(title), span=span)

    def source(self, text: Token) -> Node:
        """Build the record of a `source` line; the quotes are removed."""
        return tree.SourceNode(without_quotes(str(text)), span=span_of(text))

    def note(self, _keyword: Token, text: Token) -> Node:
        """Build the record of a `note` line; the quotes are removed."""
        return tree.NoteNode(without_quotes(str(text)), span=span_of(text))

    def extends(self, path: tree.Name) -> Node:
        """Build the record of an `extends` line."""
        return tree.Extends(path.text, span=path.span)

    def variable(self, items: Any, unit: Any, doc: Any) -> Node:
        """Build the declaration of variables."""
        span = span_of(items, unit, doc)
        return tree.Declaration("variable", items, unit, _text(doc), span=span)

    def parameter(self, items: Any, unit: Any, doc: Any) -> Node:
        """Build the declaration of parameters."""
        span = span_of(items, unit, doc)
        return tree.Declaration("parameter", items, unit, _text(doc), span=span)

    def setting(self, name: Any, formula: Any, unit: Any, doc: Any) -> Node:
        """Build the definition of a setting."""
        return self._definition("setting", name, formula, unit, doc)

    def let(self, name: Any, formula: Any, unit: Any, doc: Any) -> Node:
        """Build the definition of a let."""
        return self._definition("let", name, formula, unit, doc)

    def output(self, name: Any, formula: Any, unit: Any, doc: Any) -> Node:
        """Build the definition of the law's output: `L = formula`."""
        return self._definition("output", name, formula, unit, doc)

    def _definition(self, kind: str, name: Any, formula: Any, unit: Any, doc: Any) -> Node:
        named, more = _named(name), _subscripts(name)
        parts = kind, tree.name_of(named), formula, unit, _text(doc), more
        return tree.Definition(*parts, span=span_of(name))

    def hold(self, kind: Token, *values: Any) -> Node:
        """Build the record of a `fix` or `tie` line from its (name, value) pairs."""
        return tree.Hold(str(kind), values, span=span_of(kind, [v for _, v in values]))

    def measure(self, name: Any, formula: Any) -> Node:
        """Build the record of a `measure` line."""
        return tree.MeasureNode(_named(name), formula, span=span_of(name, formula))

    def identify(self, lhs: Any, rhs: Any) -> Node:
        """Build the record of an `identify` line."""
        return tree.Identify(lhs, rhs, span=span_of(lhs, rhs))

    def require(self, claim: Any, conditions: Any, expect: Token | None) -> Node:
        """Build the record of a `require` line: claim, conditions and expected verdict."""
        span = span_of(claim, conditions or (), expect)
        word = None if expect is None else str(expect)
        return tree.Require(claim, conditions or (), word, span=span)

    def minimize(self, objective: Any) -> Node:
        """Build the record of a `minimize` line."""
        return tree.Minimize(objective, span=objective.span)

    def start_grid(self, targets: Any, values: Any) -> Node:
        """Build the record of a `start` line with a grid: `start log(A) in {-1, 0, ..., 5}`."""
        return tree.StartGrid(targets, values, span=span_of(targets))

    def prior(self, _keyword: Token, of: Any, center: Any, _sign: Token, deviation: Any) -> Node:
        """Build the record of a `prior` line."""
        return tree.PriorNode(of, center, deviation, span=span_of(of, deviation))

    def start_point(self, *values: Any) -> Node:
        """Build the record of a `start` line with one point: `start b1 = 500, b2 = 1e-4`."""
        return tree.StartPoint(values, span=span_of(*(v for _, v in values)))

    def given(self, _: Token, items: Any, unit: Any, doc: Any) -> Node:
        """Build the declaration of the givens of a question or pipeline."""
        span = span_of(items, unit, doc)
        return tree.Declaration("given", items, unit, _text(doc), span=span)

    def uses(self, word: Token, names: Any, law: tree.Name) -> Node:
        """Build the record of a `uses` line: names for fits of a law."""
        return tree.Uses(_words(names), law.text, span=span_of(word, names, law))

    def choose(self, _: Token, items: Any, unit: Any, doc: Any) -> Node:
        """Build the declaration of the unknowns of a question."""
        span = span_of(items, unit, doc)
        return tree.Declaration("choose", items, unit, _text(doc), span=span)

    def maximize(self, objective: Any) -> Node:
        """Build the record of a `maximize` line."""
        return tree.Maximize(objective, span=objective.span)

    def subject(self, word: Token, _: Token, *parts: Any) -> Node:
        """Build the record of a `subject to` line from its relations and its doc text."""
        *relations, doc = parts
        return tree.Subject(tuple(relations), _text(doc), span=span_of(word, relations))

    def equality(self, lhs: Any, rhs: Any) -> Node:
        """Build the equation of a constraint: `6*N*D = C`."""
        return tree.Equality(lhs, rhs, span=span_of(lhs, rhs))

    def step(
        self,
        word: Token,
        name: Token | None,
        law: tree.Name,
        origin: Any,
        baseline: Any,
        groups: Any,
        conditions: Any,
        point: Any,
    ) -> Node:
        """Build the record of a `step` line of a pipeline."""
        return tree.StepNode(
            law.text,
            groups or (),
            conditions or (),
            point or (),
            ascii_name(name) if name else "",
            origin or (),
            baseline,
            span=span_of(word, law, conditions or (), [v for _, v in point or ()]),
        )

    def keep(self, word: Token, name: Token, origins: Any, conditions: Any) -> Node:
        """Build the record of a `keep` line of a pipeline."""
        span = span_of(word, name, conditions or ())
        return tree.KeepNode(ascii_name(name), origins, conditions or (), span=span)

    def origin(self, _: Token, names: Any) -> Any:
        """Return the names after `from` in a step."""
        return _words(names)

    def baseline(self, _: Token, value: Any) -> Any:
        """Return the variable and its value after `since` in a step."""
        return value

    def grouping(self, _: Token, names: Any) -> Any:
        """Return the names after `by` in a step."""
        return _words(names)

    def choosing(self, _: Token, *choices: Any) -> Any:
        """Return the conditions after `where` in a step."""
        return choices

    def point(self, _: Token, *values: Any) -> Any:
        """Return the (name, value) pairs after `at` in a step."""
        return values

    def chosen(self, name: Token, relation: Token, value: Any) -> Node:
        """Build a condition of a step with an ordering relation: `S >= 10000`."""
        word = RELATIONS.get(relation, str(relation))
        return tree.ConditionNode(ascii_name(name), word, value, span=span_of(name, value))

    def equals(self, name: Token, value: Any) -> Node:
        """Build a condition of a step with an equality: `domain = "Github"`."""
        return tree.ConditionNode(ascii_name(name), "=", value, span=span_of(name, value))

    def label(self, text: Token) -> Node:
        """Build the record of a quoted label; the quotes are removed."""
        return tree.Label(without_quotes(str(text)), span=span_of(text))

    # Names, indices, domains and units

    def element(self, name: Token, subscripts: Any, closer: Token) -> Node:
        """Build the record of a name with subscripts: `t[i, j]`."""
        return tree.Element(ascii_name(name), _labels(subscripts), span=span_of(name, closer))

    def index(self, names: Any, _: Token, over: Any) -> Node:
        """Build the record of an `index` line."""
        span = span_of(names, over)
        word = ascii_name(over) if isinstance(over, Token) else over
        return tree.Index(_words(names), word, span=span)

    def range(self, first: Token, last: Token) -> Node:
        """Build the record of a numbered set of labels: `1..30`."""
        return tree.RangeNode(str(first), str(last), span=span_of(first, last))

    def listed(self, labels: Any, closer: Token) -> Node:
        """Build the record of a listed set of labels: `{web, code}`."""
        return tree.ListedNode(_words(labels), span=span_of(labels, closer))

    def items(self, *items: Any) -> Any:
        """Return the items of a list as a tuple."""
        return items

    names = subscripts = conditions = formulas = spread = items

    def item(self, name: Any, domain: Any) -> Node:
        """Build the record of one declared name, or of one condition, with its domain."""
        parts = tree.name_of(_named(name)), domain, _subscripts(name)
        return tree.Item(*parts, span=span_of(name))

    condition = item

    def bound(self, relation: Token, limit: Any) -> Node:
        """Build the record of a one-sided bound: `> formula`."""
        word = RELATIONS.get(relation, str(relation))
        return tree.BoundNode(word, limit, span=span_of(relation, limit))

    def interval(self, opening: Token, lower: Any, upper: Any, closing: Token) -> Node:
        """Build the record of an interval; the brackets say which ends it contains."""
        return tree.IntervalNode(
            str(opening), lower, upper, str(closing), span=span_of(opening, closing)
        )

    def simplex(self, word: Token) -> Node:
        """Build the record of the domain `in simplex`."""
        return tree.Simplex(span=span_of(word))

    def choices(self, values: Any, closing: Token) -> Node:
        """Build the record of the domain `in {4, 8, 16}`."""
        return tree.ChoicesNode(values, span=span_of(values, closing))

    def integer(self, word: Token, interval: Any) -> Node:
        """Build the record of the domain `integer in [1, 64]`."""
        return tree.IntegerNode(interval, span=span_of(word, interval))

    integers = interval

    def left(self, bracket: Token) -> Token:
        """Return the bracket of an interval unchanged."""
        return bracket

    right = left

    def unit_of(self, *parts: Any) -> Node:
        """Build the record of a unit: its factors, with negative powers after `/`."""
        factors, sign = [], 1
        for part in parts:
            if isinstance(part, Token):
                sign = -1 if part.type == "SLASH" else 1
            else:
                name, power, _ = part
                factors.append((str(name), sign * power))
        return tree.UnitOf(tuple(factors), span=span_of(parts))

    def unit_factor(self, name: Token, power: tuple[int, Token] | None) -> Any:
        """Return a unit's name, its power (1 if none is written), and the token of that power."""
        return name, *(power or (1, name))

    def unit_power(self, minus: Token | None, number: Token) -> Any:
        """Return a power and its token; 0, which is not a valid power, stands for one that is not
        an integer or has several digits."""
        value = int(number) if number.isdigit() and len(number) == 1 else 0
        return -value if minus else value, number

    # Claims

    def comparison(self, lhs: Any, relation: Token, rhs: Any) -> Node:
        """Build the record of a comparison of two formulas."""
        word = RELATIONS.get(relation, str(relation))
        return tree.ComparisonNode(lhs, word, rhs, span=span_of(lhs, rhs))

    def finite(self, formula: Any) -> Node:
        """Build the record of the claim `formula finite`."""
        return tree.Finite(formula, span=formula.span)

    def trend(self, formula: Any, word: Token, name: Any, _: Any, against: Any) -> Node:
        """Build the record of a claim about a trend: `L increasing in N`."""
        span = span_of(formula, name, against)
        other = None if against is None else _named(against)
        return tree.TrendNode(formula, str(word), _named(name), other, span=span)

    def limit(self, formula: Any, target: Any, *approaches: Any) -> Node:
        """Build the record of a claim about a limit: `L -> target as N -> value`."""
        span = span_of(formula, target, [value for _, value in approaches])
        return tree.LimitNode(formula, target, approaches, span=span)

    def approach(self, name: Any, value: Any) -> Any:
        """Return a variable and the value that it tends to, or a name and its assigned value."""
        return _named(name), value

    assignment = approach

    def reduction(self, formula: Any, path: tree.Name) -> Node:
        """Build the record of the claim that a law reduces to another one."""
        return tree.Reduction(formula, path.text, span=span_of(formula, path))

    # Formulas

    def conditional(
        self,
        word: Token,
        lhs: Any,
        relation: Token,
        rhs: Any,
        _: Token,
        yes: Any,
        __: Token,
        no: Any,
    ) -> Node:
        """Build the record of a piecewise formula."""
        sign = RELATIONS.get(relation, str(relation))
        return tree.Conditional(lhs, sign, rhs, yes, no, span=span_of(word, no))

    def sum(self, first: Any, *rest: Any) -> Node:
        """Build the record of a sum: its terms, each with its sign."""
        pairs = tuple(zip(map(str, rest[::2]), rest[1::2], strict=True))
        return tree.Sum((("+", first), *pairs), span=span_of(first, rest[-1]))

    def product(self, first: Any, *rest: Any) -> Node:
        """Build the record of a product: its factors, each with `*` or `/`."""
        pairs = tuple(zip(map(str, rest[::2]), rest[1::2], strict=True))
        return tree.Product((("*", first), *pairs), span=span_of(first, rest[-1]))

    def negative(self, minus: Token, operand: Any) -> Node:
        """Build the record of a formula with a minus sign."""
        return tree.Negative(operand, span=span_of(minus, operand))

    def power(self, base: Any, exponent: Any) -> Node:
        """Build the record of a power."""
        return tree.Power(base, exponent, span=span_of(base, exponent))

    def number(self, token: Token) -> Node:
        """Build the record of a number as it is written."""
        return tree.Number(str(token), span=span_of(token))

    def name(self, path: tree.Name) -> Node:
        """Return the record of a plain name."""
        return path

    def path(self, *parts: Token) -> tree.Name:
        """Build the record of a name from its dotted parts; Greek letters are written out."""
        return tree.Name(".".join(ascii_name(part) for part in parts), span=span_of(*parts))

    def call(self, function: Token, arguments: Any, closer: Token) -> Node:
        """Build the record of a function call; `diff(L, N, D)` becomes a derivative."""
        plain = tuple(a for a in arguments if not isinstance(a, tuple))
        keywords = tuple(a for a in arguments if isinstance(a, tuple))
        span = span_of(function, closer)
        names = [_named(a) for a in plain if isinstance(a, (tree.Name, tree.Element))]
        if function == "diff" and len(names) == len(arguments) > 1:
            return tree.Derivative(names[0], tuple(names[1:]), len(names) - 1, span=span)
        return tree.Call(ascii_name(function), plain, keywords, span=span)

    def call_of_element(self, of: tree.Element, arguments: Any, closer: Token) -> Node:
        """Build the record of a law of one label at given values: `loss[i](r[j])`."""
        plain = tuple(a for a in arguments if not isinstance(a, tuple))
        keywords = tuple(a for a in arguments if isinstance(a, tuple))
        span = span_of(of, closer)
        return tree.Call(of.name, plain, keywords, of.subscripts, span=span)

    def element_of_law(self, *parts: Any) -> Node:
        """Build the record of a dotted name with subscripts."""
        *names, subscripts, closer = parts
        name = ".".join(_words(names))
        return tree.Element(name, _words(subscripts), span=span_of(names, closer))

    def aggregate(self, function: Token, body: Any, over: Any, closer: Token) -> Node:
        """Build the record of a sum or product over indices."""
        span = span_of(function, closer)
        return tree.Aggregate(ascii_name(function), body, _words(over), span=span)

    def arguments(self, *arguments: Any) -> Any:
        """Return the arguments of a call as a tuple."""
        return arguments

    def argument(self, formula: Any) -> Any:
        """Return the formula of a positional argument."""
        return formula

    def keyword(self, name: Token, formula: Any) -> Any:
        """Return the name and formula of a keyword argument."""
        return ascii_name(name), formula

    def group(self, opener: Token, formula: Any, closer: Token) -> Any:
        """Return a formula in brackets, its span extended to include the brackets."""
        return replace(formula, span=span_of(opener, closer))

    def ellipsis(self) -> None:
        """Return None, which stands for `...` in a list of values."""
        return None

    def derivative(
        self, sign: Token, order: Token | None, of: Any, _: Token, *denominators: Any
    ) -> Node:
        """Build the record of a derivative written as ∂²L/∂N∂D."""
        names = tuple(name for part, _ in denominators for name in part)
        stated = ORDERS.get(str(order), 1) if order else 1
        span = span_of(sign, [tokens for _, tokens in denominators])
        return tree.Derivative(_named(of), names, stated, span=span)

    def partial(self, _: Token, name: Any, order: Token | None) -> Any:
        """The name in a denominator, once for each order, and the tokens of that denominator."""
        repeats = ORDERS.get(str(order), 1) if order else 1
        return (_named(name),) * repeats, [name, *([order] if order else [])]
