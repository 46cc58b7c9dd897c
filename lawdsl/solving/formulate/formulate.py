"""A question and fits -> a problem in algebra: what is made smallest, in what, subject to what.

Givens, settings and fitted parameters stay symbols, so that one problem is solved for many values
of them, and derived by them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import sympy as sp

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language import size_limits, tree
from lawdsl.language.constants import value as number
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.law_calls import LawValue
from lawdsl.language.printer import print_formula, with_subscripts
from lawdsl.language.questions import Question, QuestionConstraint
from lawdsl.language.symbols import Declarations, Objective, Symbol
from lawdsl.law.algebra import Building, bounded
from lawdsl.law.quantities import Quantity, unit_text
from lawdsl.solving.formulate.problem import (
    AlgebraicConstraint,
    FormulatedQuestion,
    LawInput,
    Relation,
    Unknown,
)
from lawdsl.solving.formulate.sources import FitSource, fit_sources, unit_factor


def formulate(question: Question, fits: Mapping[str, object]) -> FormulatedQuestion:
    """A question about fits.

    Args:
        question: as declared.
        fits: use -> a `Fit`, `Fits`, or parameter -> value of the law that the question names.

    Raises:
        LawdslError: a fit that is missing, is of a law that does not fit in, or has other labels.
    """
    found = fit_sources(question, fits)
    return _Formulation(question, found.labels, found.sources).posed()


@dataclass
class _BuildingContext:
    """What `Building` asks of a law."""

    declarations: Declarations
    symbols: Mapping[str, sp.Symbol]


class _Formulation:
    """A question in the making."""

    def __init__(
        self,
        question: Question,
        labels: Mapping[str, tuple[str, ...]],
        sources: tuple[FitSource, ...],
    ) -> None:
        self.question, self.labels, self.sources = question, labels, sources
        self.declared = _as_declarations(question)
        self.ground = Grounding(self.declared, Instance(labels))
        self.written = 0  # elements and constraints
        self.symbols: dict[str, sp.Symbol] = {}
        self.places: dict[str, sp.Expr] = {}
        self.begun: set[str] = set()  # laws at values
        self.taken: list[LawInput] = []
        self.domains: dict[sp.Expr, AlgebraicConstraint] = {}
        for symbol in question.symbols.values():
            for text, _ in self._elements(symbol):
                self.symbols[text] = sp.Symbol(text, **self._assumptions(symbol))

    def posed(self) -> FormulatedQuestion:
        """The question in algebra.

        Raises:
            LawdslError: it has no value, or takes too long or too much to write out.
        """
        with bounded(self.declared):
            goal = self._expression(self.question.goal, {})
            asked = [c for kept in self.question.constraints for c in self._conditions(kept)]
            asked += self._simplexes()
            return FormulatedQuestion(
                self.question,
                self.labels,
                tuple(self._unknowns()),
                -goal if self.question.maximize else goal,
                (*asked, *self.domains.values()),
                self._of_kind("given"),
                {
                    text: own
                    for s in self.question.of_kind("given")
                    for text, own in self._bounds(s)
                },
                self._of_kind("setting") | self._law_settings(),
                self._known(),
                self.sources,
                tuple(self.taken),
            )

    def _elements(self, symbol: Symbol) -> Iterator[tuple[str, dict[str, str]]]:
        """The elements of a name, as text, each with the labels of its indices."""
        for labels in self._labels(symbol.indices):
            yield (
                with_subscripts(symbol.name, labels),
                dict(zip(symbol.indices, labels, strict=True)),
            )

    def _labels(self, indices: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """All labels of some indices."""
        sets = [self.labels[self.question.indices[i].over] for i in indices]
        self.written += math.prod(map(len, sets))
        if self.written > size_limits.TERMS:
            message = (
                f"it has more than {size_limits.TERMS:,} elements and constraints at these labels"
            )
            help = "use fewer indices beside each other, or fewer labels"
            raise LawdslError(Diagnostic("L0105", message, text=self.question.text, help=help))
        return product(*sets)

    def _of_kind(self, kind: str) -> dict[str, sp.Symbol]:
        return {
            text: self.symbols[text]
            for s in self.question.of_kind(kind)
            for text, _ in self._elements(s)
        }

    def _law_settings(self) -> dict[str, sp.Symbol]:
        return {s.name: s for source in self.sources for s in source.settings}

    def _known(self) -> dict[sp.Symbol, float]:
        found: dict[sp.Symbol, float] = {}
        for symbol in self.question.of_kind("setting"):
            assert symbol.formula is not None
            for text, _ in self._elements(symbol):
                found[self.symbols[text]] = float(number(symbol.formula) or 0)
        for source in self.sources:
            found |= source.settings
            found |= {s: source.values[name] for name, s in source.symbols.items()}
        return found

    def _unknowns(self) -> Iterator[Unknown]:
        units = self.question.units
        for symbol in self.question.of_kind("unknown"):
            unit = units[symbol.name]
            shown = unit_text(unit.factors) if unit else ""
            for text, bounds in self._bounds(symbol):
                yield Unknown(text, self.symbols[text], bounds, shown, symbol.doc)

    def _bounds(self, symbol: Symbol) -> Iterator[tuple[str, tuple[Relation, ...]]]:
        for text, places in self._elements(symbol):
            own = [(r, self._expression(limit, places)) for r, limit in symbol.bounds]
            if symbol.simplex:
                own.append(("<=", sp.S.One))
            elif not own and self.symbols[text].is_nonnegative:  # as the variable it stands for
                own.append((">" if self.symbols[text].is_positive else ">=", sp.S.Zero))
            yield text, tuple(own)

    def _simplexes(self) -> Iterator[AlgebraicConstraint]:
        """Of what lies in a simplex, that it sums to 1."""
        for symbol in (*self.question.of_kind("unknown"), *self.question.of_kind("given")):
            groups: dict[tuple[str, ...], list[str]] = {}
            for text, places in self._elements(symbol) if symbol.simplex else ():
                groups.setdefault(tuple(places.values())[:-1], []).append(text)
            for before, texts in groups.items():
                shown = with_subscripts(symbol.name, (*before, symbol.indices[-1]))
                text = f"sum({shown} for {symbol.indices[-1]}) = 1"
                total = sp.Add(*(self.symbols[name] for name in texts)) - 1
                yield AlgebraicConstraint(text, None, total, equality=True, law=self.question.name)

    def _conditions(self, kept: QuestionConstraint) -> Iterator[AlgebraicConstraint]:
        for labels in self._labels(kept.indices):
            places = dict(zip(kept.indices, labels, strict=True))
            left, right = (self._expression(side, places) for side in (kept.lhs, kept.rhs))
            text = kept.text
            if labels:
                at = ", ".join(f"{index} = {label}" for index, label in places.items())
                text = f"{kept.text}  for {at}"
            margin = left - right if kept.relation in (">", ">=") else right - left
            equality = kept.relation == "="
            asked = self._asks(kept.lhs) or self._asks(kept.rhs)
            strict = kept.relation in "<>"
            yield AlgebraicConstraint(text, kept.doc, margin, equality, strict, of_unknowns=asked)

    def _asks(self, formula: tree.Formula) -> bool:
        """Whether a formula, or a law at values in it, is written with an unknown."""
        unknowns = {s.name for s in self.question.of_kind("unknown")}
        for node in tree.walk(formula):
            name = node.text if isinstance(node, tree.Name) else ""
            name = node.name if isinstance(node, tree.Element) else name
            value = self.question.values.get(name)
            if name in unknowns or (value and any(self._asks(at) for _, at in value.arguments)):
                return True
        return False

    def _expression(self, formula: tree.Formula, places: Mapping[str, str]) -> sp.Expr:
        """A formula of the question in symbols, laws at values written out."""
        plain = self.ground(formula, places)
        for name, of in list(self.ground.of.items()):
            if of in self.question.values and name not in self.begun:
                self.begun.add(name)
                value = self.question.values[of]
                labels = name.removeprefix(of).strip("[]").split(", ") if value.indices else []
                at = dict(zip(value.indices, labels, strict=True))
                self.places[name] = self._law_at(value, at)
        return self._built(plain)

    def _built(self, plain: tree.Formula) -> sp.Expr:
        """A formula without indices, of which the laws at values are known."""
        algebra = _BuildingContext(
            replace(self.declared, symbols=self.ground.symbols), self.symbols
        )
        return Building(algebra, frozenset(), {}, places=self.places)(plain)

    def _law_at(self, value: LawValue, places: Mapping[str, str]) -> sp.Expr:
        """A fitted law at values, in the question's symbols and its unit."""
        labels = tuple(places.get(label, label) for label in value.labels)
        source = self._source(value.use, labels)
        declared = self.question.uses[value.use]
        arguments = dict(value.arguments)
        at: dict[sp.Symbol, sp.Expr] = {}
        for quantity in source.law.variables:
            known = source.constant(quantity.name, labels)
            if known is not None:
                at[quantity.symbol] = sp.Rational(repr(known))
                continue
            name, _, _ = quantity.name.partition("[")
            if name not in arguments:
                raise _missing_value_error(source, quantity.name)
            formula = arguments[name]
            if declared.symbols[name].indices:
                argument: sp.Expr = self.symbols[quantity.name]
            else:
                argument = self._expression(formula, places)
            unit = declared.symbols[name].unit
            argument *= unit_factor(unit.factors if unit else None, quantity, source)
            at[quantity.symbol] = argument
            self.taken.append(LawInput(source, quantity, argument))
        at |= {source.law.symbols[name]: self.symbols[name] for name in source.rests}
        for quantity in source.law.variables:
            if quantity.symbol in at:
                self._domain(source, quantity, at, arguments)
        return source.expression(at)

    def _source(self, use: str, labels: tuple[str, ...]) -> FitSource:
        """The fit of some labels."""
        law = self.question.uses[use]
        for label, index in zip(labels, row_indices(law), strict=True):
            known = self.labels.get(law.indices[index].over, (label,))
            if label not in known:
                message = f"`{use}` is no fit for `{label}`"
                help = f"its labels are {', '.join(known[:12])}"
                raise LawdslError(Diagnostic("F0501", message, help=help))
        return next(s for s in self.sources if s.use == use and s.is_of(labels))

    def _domain(
        self,
        source: FitSource,
        quantity: Quantity,
        at: Mapping[sp.Symbol, sp.Expr],
        arguments: Mapping[str, tree.Formula],
    ) -> None:
        """What the law promises of a variable is a condition, unless it is plain from the domains
        of the question."""
        for bound in quantity.bounds:
            limit = bound.limit.xreplace(source.replacing(at))
            margin = at[quantity.symbol] - limit
            margin = margin if bound.lower else -margin
            formula = arguments.get(quantity.name.partition("[")[0])
            shown = quantity.name
            if formula is not None and not isinstance(formula, tree.Element):
                shown = print_formula(formula)
            text = f"{shown} {bound.relation} {bound.text}"
            own = AlgebraicConstraint(text, None, margin, strict=bound.strict, law=source.use)
            if not own.plain:
                self.domains.setdefault(margin, own)

    def _assumptions(self, symbol: Symbol) -> dict[str, bool]:
        """What SymPy may assume of a name: the sign that its domain gives, or that of the
        variable that it stands for."""
        signs = {"real": True}
        bounds = [(r, number(limit)) for r, limit in symbol.bounds]
        if not bounds:
            for value in self.question.values.values():
                variables = self.question.uses[value.use].symbols
                for name, formula in value.arguments:
                    if isinstance(formula, tree.Name) and formula.text == symbol.name:
                        bounds += [(r, number(limit)) for r, limit in variables[name].bounds]
        if symbol.kind == "setting" and symbol.formula is not None:
            bounds = [(">", 0)] if (number(symbol.formula) or 0) > 0 else []
        for relation, limit in bounds:
            if limit is not None and relation.startswith(">") and limit >= 0:
                strict = relation == ">" or limit > 0
                signs["positive" if strict else "nonnegative"] = True
        return signs


def _as_declarations(question: Question) -> Declarations:
    """A question in the form that is written out at labels: laws at values are variables."""
    span = next(iter(question.values.values())).span if question.values else tree.NOWHERE
    output = Symbol("", "output", span, formula=question.goal)
    symbols = {n: replace(s, simplex=False) for n, s in question.symbols.items()}
    for text, value in question.values.items():
        symbols[text] = Symbol(text, "variable", value.span, indices=value.indices)
    return Declarations(
        question.name,
        question.title,
        question.sources,
        symbols,
        output,
        (),
        Objective(),
        (),
        (),
        {},
        question.text,
        question.indices,
    )


def _missing_value_error(source: FitSource, name: str) -> LawdslError:
    message = f"`{source.law.name}`, of which `{source.use}` is a fit, needs a value of `{name}`"
    help = "use a fit of the law that the question names, or write a question of your own"
    return LawdslError(Diagnostic("F0501", message, help=help))
