"""Formulas with index sets, labels -> formulas without: `t[i, j]` becomes the parameters `t[github,
web]`, `t[github, code]`, …, and a sum over an index becomes a sum of terms.

Only the parts of the law of those rows are expanded, so that the rows of one label require the
parameters of that label alone. The result is syntax, a law like any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language import keywords, size_limits, tree
from lawdsl.language.formula_signs import known_signs_of
from lawdsl.language.instances.instance import Differing, IndexValue, Instance, indicator
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Declarations, Relation, Symbol, Tie
from lawdsl.language.tree import Formula

ZERO, ONE = tree.Number("0"), tree.Number("1")
UNIT: tuple[Relation, ...] = ((">=", ZERO), ("<=", ONE))


@dataclass(frozen=True)
class Rest:
    """The sum (or product) of a body over all labels that are not named explicitly.

    Attributes:
        name: its text: `sum(t[i, j]*r[j] for other j)`.
        full_sum: the sum over all labels: `sum(t[i, j]*r[j] for j)`.
        body: the summand, as a formula of the index.
        index: the index of summation.
        depends: names in the body that do not have the index: the sum changes with them.
    """

    name: str
    full_sum: str
    body: Formula
    index: str
    depends: frozenset[str]


class Collected(NamedTuple):
    """The symbols and sums collected by a grounding; see `Grounding` for each field."""

    symbols: dict[str, Symbol]
    of: dict[str, str]
    ties: list[Tie]
    rests: dict[str, Rest]


class Grounding:
    """Formulas with index sets -> formulas without; collects the symbols that they need.

    Attributes:
        symbols: name -> symbol without subscripts.
        of: name -> the declared name that it is an element of.
        ties: parameters that others determine.
        rests: the remaining parts of sums, without the labels that are named.
        rows: what the indices of the rows stand for.
    """

    def __init__(self, declared: Declarations, instance: Instance) -> None:
        self.declared, self.instance = declared, instance
        self.symbols: dict[str, Symbol] = {}
        self.of: dict[str, str] = {}
        self.ties: list[Tie] = []
        self.rests: dict[str, Rest] = {}
        self.terms = 0  # expanded so far
        self.rows = instance.rows(declared)

    def __call__(self, node: Formula, assignment: Mapping[str, IndexValue]) -> Formula:
        """A formula in which indices stand for labels."""
        match node:
            case tree.Name(text):
                if text in self.declared.symbols:
                    self._declare(text, text, ())
                return node
            case tree.Element(name, subscripts):
                return self.element(name, [assignment.get(s, s) for s in subscripts])
            case tree.Aggregate(function, body, over):
                return self._written_out(function, body, over, assignment)
            case tree.Conditional():
                return tree.with_parts(node, lambda part: self(part, assignment))
            case tree.Negative(operand):
                return tree.Negative(self(operand, assignment), span=node.span)
            case tree.Sum(terms):
                return tree.Sum(tuple((s, self(t, assignment)) for s, t in terms), span=node.span)
            case tree.Product(factors):
                parts = tuple((s, self(f, assignment)) for s, f in factors)
                return tree.Product(parts, span=node.span)
            case tree.Power(base, exponent):
                return tree.Power(
                    self(base, assignment), self(exponent, assignment), span=node.span
                )
            case tree.Call(function, arguments, keywords):
                ground_arguments = tuple(self(a, assignment) for a in arguments)
                ground_keywords = tuple((name, self(value, assignment)) for name, value in keywords)
                return tree.Call(function, ground_arguments, ground_keywords, span=node.span)
        return node  # a number

    def collected(self) -> Collected:
        """A snapshot of the symbols and sums collected so far."""
        return Collected(dict(self.symbols), dict(self.of), list(self.ties), dict(self.rests))

    def back_to(self, before: Collected) -> None:
        """Restore an earlier snapshot."""
        self.symbols, self.of, self.ties, self.rests = before

    def element(self, name: str, labels: Sequence[IndexValue]) -> Formula:
        """The formula of one element of a name with subscripts.

        Where rows differ in the label, it is a sum over labels, each term multiplied by the
        indicator of the rows with that label.

        Args:
            name: the declared name.
            labels: a label, or an index that differs from row to row, for each subscript.
        """
        symbol = self.declared.symbols[name]
        if name in self.instance.by_row:
            self._declare(symbol.text, name, ())
            return tree.Name(symbol.text)
        differing = [x for x in labels if isinstance(x, Differing)]
        if not differing or symbol.formula is not None and not symbol.determined_by:
            text = with_subscripts(name, [str(x) for x in labels])
            self._declare(text, name, labels)
            return tree.Name(text)
        terms: list[tuple[str, Formula]] = []
        indices = [x.index for x in differing]
        for assignment in self.instance.assignments(self.declared, indices):
            chosen = [assignment[x.index] if isinstance(x, Differing) else x for x in labels]
            marks = [self._indicator(index, label) for index, label in assignment.items()]
            factors = (*marks, self.element(name, chosen))
            terms.append(("+", tree.Product(tuple(("*", f) for f in factors))))
        return tree.Sum(tuple(terms))

    def _indicator(self, index: str, label: str) -> Formula:
        name = indicator(index, label)
        if name not in self.symbols:
            doc = f"1 where {index} is {label}, else 0"
            span = self.declared.output.span
            self.symbols[name] = Symbol(name, "variable", span, UNIT, doc=doc)
            self.of[name] = ""
        return tree.Name(name)

    def _written_out(
        self,
        function: str,
        body: Formula,
        over: tuple[str, ...],
        assignment: Mapping[str, IndexValue],
    ) -> Formula:
        self.terms += math.prod(len(self.instance.of(self.declared, name)) for name in over)
        if self.terms > size_limits.MAX_TERMS:
            raise _too_many(self.declared)
        sets = [self.declared.indices[name].over for name in over]
        # a rest is a sum over one index, so that nested sums are expanded from the outside
        if len(over) > 1 and not set(sets).isdisjoint(self.instance.open):
            inner = tree.Aggregate(function, body, over[1:])
            return self._written_out(function, inner, over[:1], assignment)
        labels = self.instance.assignments(self.declared, over)
        parts = [self(body, {**assignment, **summed}) for summed in labels]
        if sets[0] in self.instance.open:
            parts.append(self._rest(function, body, over[0], assignment))
        if len(parts) == 1:
            return parts[0]
        if function == "sum":
            return tree.Sum(tuple(("+", part) for part in parts))
        return tree.Product(tuple(("*", part) for part in parts))

    def _rest(
        self, function: str, body: Formula, index: str, assignment: Mapping[str, IndexValue]
    ) -> Formula:
        """The sum over the labels that are not named, as a variable of its sign."""
        named = self.instance.of(self.declared, index)
        labelled_body = renamed(body, {n: str(p) for n, p in assignment.items() if n != index})
        template = f"{function}({print_formula(labelled_body)} for {{}}{index})"
        name = template.format("other " if named else "")
        known_signs = known_signs_of(self.declared.symbols, {})
        signs = known_signs.sign(tree.Aggregate(function, body, (index,)))
        if not named and function == "sum" and 0 in signs and len(signs) == 2:
            signs = self._without_all_shares_0(body, index, signs)
        if named:
            signs |= {0 if function == "sum" else 1}  # there may be no other label
        bounds: tuple[Relation, ...] = ()
        if -1 not in signs:
            bounds = ((">=" if 0 in signs else ">", ZERO),)
        elif 1 not in signs:
            bounds = (("<=" if 0 in signs else "<", ZERO),)
        if name not in self.symbols:
            span = self.declared.output.span
            self.symbols[name] = Symbol(name, "variable", span, bounds)
            self.of[name] = ""
            dependencies = frozenset(_depends(self.declared, self.instance, labelled_body, index))
            self.rests[name] = Rest(name, template.format(""), labelled_body, index, dependencies)
        return tree.Name(name)

    def _without_all_shares_0(
        self, body: Formula, index: str, signs: frozenset[int]
    ) -> frozenset[int]:
        """The signs of a sum over a whole simplex, where each term is 0 only if its share is: the
        shares sum to 1, so that one of them is not 0."""
        symbols = self.declared.symbols
        shares = {
            node.name
            for node in tree.walk(body)
            if isinstance(node, tree.Element)
            and symbols[node.name].simplex
            and symbols[node.name].indices[-1] == index == node.subscripts[-1]
        }
        for share in sorted(shares):
            above = replace(symbols[share], bounds=((">", ZERO),))
            body_signs = known_signs_of({**symbols, share: above}, {}).sign(body)
            if 0 not in body_signs:
                return body_signs
        return signs

    def _declare(self, text: str, name: str, labels: Sequence[IndexValue]) -> None:
        """Add a name, after those on which its formula and bounds depend."""
        if text in self.symbols or name in keywords.CONSTANTS:
            return
        symbol = self.declared.symbols[name]
        assignment = {**self.rows, **dict(zip(symbol.indices, labels, strict=bool(labels)))}
        bounds = tuple((relation, self(limit, assignment)) for relation, limit in symbol.bounds)
        formula = None if symbol.formula is None else self(symbol.formula, assignment)
        plain = Symbol(
            text,
            symbol.kind,
            symbol.span,
            bounds,
            formula,
            symbol.unit,
            symbol.doc,
            symbol.determined_by,
        )
        if symbol.simplex:
            self._simplex(plain, symbol, labels)
        else:
            self._add(plain, name)

    def _add(self, symbol: Symbol, of: str) -> None:
        self.symbols[symbol.name] = symbol
        self.of[symbol.name] = of

    def _simplex(self, plain: Symbol, symbol: Symbol, labels: Sequence[IndexValue]) -> None:
        """All elements that sum to 1 with this one: of one of them, 1 minus the others."""
        if self.declared.indices[symbol.indices[-1]].over in self.instance.open:
            self._add(replace(plain, bounds=UNIT), symbol.name)
            return
        last = self.instance.of(self.declared, symbol.indices[-1])
        left_out = self.instance.left_out.get(symbol.name, last[-1])
        names = {
            label: with_subscripts(symbol.name, [*map(str, labels[:-1]), label]) for label in last
        }
        others = [("-", tree.Name(name)) for label, name in names.items() if label != left_out]
        rest = tree.Sum((("+", ONE), *others))
        variable = symbol.kind == "variable"
        for label, name in names.items():
            element = replace(plain, name=name, bounds=UNIT if variable else UNIT[:1])
            if label == left_out and variable:
                continue
            self._add(element, symbol.name)
        if variable:
            element = replace(plain, name=names[left_out], kind="let", bounds=UNIT, formula=rest)
            self._add(element, symbol.name)
        else:
            self.ties.append((names[left_out], rest))


def renamed(node: Formula, labels: Mapping[str, str]) -> Formula:
    """The formula with labels substituted for indices; sums are not expanded.

    Args:
        node: the node.
        labels: index -> label.
    """
    match node:
        case tree.Element(_, subscripts):
            return replace(node, subscripts=tuple(labels.get(s, s) for s in subscripts))
        case tree.Aggregate(function, body, over):
            inner = {index: label for index, label in labels.items() if index not in over}
            return tree.Aggregate(function, renamed(body, inner), over)
        case tree.Conditional():
            return tree.with_parts(node, lambda part: renamed(part, labels))
        case tree.Negative(operand):
            return tree.Negative(renamed(operand, labels))
        case tree.Sum(terms):
            return tree.Sum(tuple((s, renamed(t, labels)) for s, t in terms))
        case tree.Product(factors):
            return tree.Product(tuple((s, renamed(f, labels)) for s, f in factors))
        case tree.Power(base, exponent):
            return tree.Power(renamed(base, labels), renamed(exponent, labels))
        case tree.Call(function, arguments, keywords):
            labelled_arguments = tuple(renamed(a, labels) for a in arguments)
            return tree.Call(
                function, labelled_arguments, tuple((n, renamed(v, labels)) for n, v in keywords)
            )
    return node


def _depends(
    declared: Declarations, instance: Instance, body: Formula, index: str
) -> Iterator[str]:
    """The names in a body, and in what they stand for, that do not have an index. Of a sum inside
    it, those of all labels that are named."""
    if isinstance(body, tree.Aggregate):
        for assignment in instance.assignments(declared, body.over):
            yield from _depends(declared, instance, renamed(body.body, assignment), index)
    if not isinstance(body, (tree.Name, tree.Element)):
        for part in tree.children(body):
            yield from _depends(declared, instance, cast(Formula, part), index)
        return
    name = body.text if isinstance(body, tree.Name) else body.name
    symbol = declared.symbols.get(name)
    if symbol is None:
        return
    subscripts = body.subscripts if isinstance(body, tree.Element) else ()
    if index not in subscripts:
        yield with_subscripts(name, subscripts)
    if symbol.formula is not None:
        labels = dict(zip(symbol.indices, subscripts, strict=False))
        yield from _depends(declared, instance, renamed(symbol.formula, labels), index)


def _too_many(declared: Declarations) -> LawdslError:
    message = f"its sums have more than {size_limits.MAX_TERMS:,} terms at these labels"
    help = "sum over fewer indices in each other, or over fewer labels"
    return LawdslError(Diagnostic("L0105", message, text=declared.text, help=help))
