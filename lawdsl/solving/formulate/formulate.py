"""A question and fits -> a problem in algebra: minimise a goal subject to constraints.

Givens, settings and fitted parameters remain symbols, so that one problem can be solved for many of
their values and differentiated with respect to them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import sympy as sp

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import disjunction
from lawdsl.core.objectives import Objective
from lawdsl.core.units import unit_text
from lawdsl.language import size_limits, tree
from lawdsl.language.constants import value as number
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.label_texts import split_element, with_subscripts
from lawdsl.language.law_calls import LawValue
from lawdsl.language.printer import print_formula
from lawdsl.language.questions import Question, QuestionConstraint
from lawdsl.language.symbols import Declarations, Symbol
from lawdsl.law.algebra import ExpressionBuilder, bounded
from lawdsl.law.quantities import Quantity
from lawdsl.solving.formulate.problem import (
    AlgebraicConstraint,
    FormulatedQuestion,
    LawCall,
    LawInput,
    Relation,
    Unknown,
)
from lawdsl.solving.formulate.sources import FitSource, fit_sources, unit_factor


def formulate(
    question: Question, fits: Mapping[str, object], *, calls_as_symbols: bool = False
) -> FormulatedQuestion:
    """Turn a question about fits into a minimisation problem in algebra.

    Args:
        question: the question as declared.
        fits: use -> a `Fit`, `Fits`, or parameter -> value of the law that the question names.
        calls_as_symbols: whether each call of a law is replaced by a symbol; `law_calls` are these
            calls.

    Returns:
        The problem: minimise goal(x; s) subject to margin_k(x; s) >= 0 or = 0, where x are the
        unknowns and s the givens, settings and fitted parameters.

    Raises:
        LawdslError: a fit that is missing, belongs to another law, or has other labels.
    """
    sources = fit_sources(question, fits)
    formulation = _Formulation(question, sources.labels, sources.sources)
    formulation.calls_as_symbols = calls_as_symbols
    return formulation.formulated()


@dataclass
class _BuildingContext:
    """The interface of a law that `ExpressionBuilder` requires."""

    declarations: Declarations
    symbols: Mapping[str, sp.Symbol]


class _Formulation:
    """The construction of a question in algebra."""

    def __init__(
        self,
        question: Question,
        labels: Mapping[str, tuple[str, ...]],
        sources: tuple[FitSource, ...],
    ) -> None:
        self.question, self.labels, self.sources = question, labels, sources
        self.declared = _as_declarations(question)
        self.ground = Grounding(self.declared, Instance(labels))
        self.element_count = 0  # number of elements and constraints
        self.symbols: dict[str, sp.Symbol] = {}
        self.law_values: dict[str, sp.Expr] = {}
        self.expanded: set[str] = set()  # calls of laws that have been expanded
        self.law_inputs: list[LawInput] = []
        self.call_count = 0
        self.law_calls: list[LawCall] = []
        self.calls_as_symbols = False
        self.domains: dict[sp.Expr, AlgebraicConstraint] = {}
        for symbol in question.symbols.values():
            for text, _ in self._elements_with_labels(symbol):
                self.symbols[text] = sp.Symbol(text, **self._assumptions(symbol))

    def formulated(self) -> FormulatedQuestion:
        """The question in algebra.

        Raises:
            LawdslError: it is undefined, or its expansion takes too long or is too large.
        """
        with bounded(self.declared):
            goal = self._expression(self.question.goal, {})
            constraints = [
                c for declared in self.question.constraints for c in self._conditions(declared)
            ]
            constraints += self._simplexes()
            self._check_choices()
            return FormulatedQuestion(
                self.question,
                self.labels,
                tuple(self._unknowns()),
                -goal if self.question.maximize else goal,
                (*constraints, *self.domains.values()),
                self._symbols_of_kind("given"),
                {
                    text: bounds
                    for s in self.question.of_kind("given")
                    for text, bounds in self._bounds(s)
                },
                self._symbols_of_kind("setting") | self._law_settings(),
                self._default_values(),
                self.sources,
                tuple(self.law_inputs),
                tuple(self.law_calls),
            )

    def _check_choices(self) -> None:
        """Raise an error for a fit whose law lacks every variable through which the question makes it
        depend on a choice: whatever is chosen, it predicts the same.

        Raises:
            LawdslError: F0501.
        """
        names_of_unknowns = [s.name for s in self.question.of_kind("unknown")]
        chosen = {unknown.symbol for unknown in self._unknowns()}
        for source in self.sources:
            inputs = [each for each in self.law_inputs if each.source.use == source.use]
            if source.rests or any(each.expression.free_symbols & chosen for each in inputs):
                continue
            names = {q.name.partition("[")[0] for q in source.law.variables}
            arguments = [
                argument
                for value in self.question.values.values()
                if value.use == source.use
                for argument in value.arguments
            ]
            lacking = [n for n, a in arguments if n not in names and self._uses_unknown(a)]
            if lacking:
                raise _no_effect_error(source, list(dict.fromkeys(lacking)), names_of_unknowns)

    def _elements_with_labels(self, symbol: Symbol) -> Iterator[tuple[str, dict[str, str]]]:
        """The elements of a name as text, each with the labels of its indices."""
        for labels in self._labels(symbol.indices):
            yield (
                with_subscripts(symbol.name, labels),
                dict(zip(symbol.indices, labels, strict=True)),
            )

    def _labels(self, indices: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """All labels of some indices."""
        sets = [self.labels[self.question.indices[i].over] for i in indices]
        # counted before anything is built, since a file of a few lines may define billions
        self.element_count += math.prod(map(len, sets))
        if self.element_count > size_limits.MAX_TERMS:
            message = f"it has more than {size_limits.MAX_TERMS:,} elements and constraints at these labels"
            help = "use fewer indices beside each other, or fewer labels"
            raise LawdslError(Diagnostic("L0105", message, text=self.question.text, help=help))
        return product(*sets)

    def _symbols_of_kind(self, kind: str) -> dict[str, sp.Symbol]:
        """The elements of all names of a kind, as text -> symbol."""
        return {
            element: self.symbols[element]
            for quantity in self.question.of_kind(kind)
            for element, _ in self._elements_with_labels(quantity)
        }

    def _law_settings(self) -> dict[str, sp.Symbol]:
        return {s.name: s for source in self.sources for s in source.settings}

    def _default_values(self) -> dict[sp.Symbol, float]:
        values: dict[sp.Symbol, float] = {}
        for symbol in self.question.of_kind("setting"):
            assert symbol.formula is not None
            for text, _ in self._elements_with_labels(symbol):
                values[self.symbols[text]] = float(number(symbol.formula) or 0)
        for source in self.sources:
            values |= source.settings
            values |= {s: source.values[name] for name, s in source.symbols.items()}
        return values

    def _unknowns(self) -> Iterator[Unknown]:
        units = self.question.units
        for symbol in self.question.of_kind("unknown"):
            unit = units[symbol.name]
            unit_name = unit_text(unit.factors) if unit else ""
            choices = tuple(float(number(formula) or 0) for formula in symbol.choices)
            for text, bounds in self._bounds(symbol):
                yield Unknown(
                    text,
                    self.symbols[text],
                    bounds,
                    unit_name,
                    symbol.doc,
                    choices,
                    symbol.integer,
                )

    def _bounds(self, symbol: Symbol) -> Iterator[tuple[str, tuple[Relation, ...]]]:
        for text, index_labels in self._elements_with_labels(symbol):
            bounds = [(r, self._expression(limit, index_labels)) for r, limit in symbol.bounds]
            if symbol.simplex:
                bounds.append(("<=", sp.S.One))
            # like the variable whose value it is
            elif not bounds and self.symbols[text].is_nonnegative:
                bounds.append((">" if self.symbols[text].is_positive else ">=", sp.S.Zero))
            yield text, tuple(bounds)

    def _simplexes(self) -> Iterator[AlgebraicConstraint]:
        """The conditions that the shares of a simplex sum to 1."""
        for symbol in (*self.question.of_kind("unknown"), *self.question.of_kind("given")):
            groups: dict[tuple[str, ...], list[str]] = {}
            for text, index_labels in self._elements_with_labels(symbol) if symbol.simplex else ():
                groups.setdefault(tuple(index_labels.values())[:-1], []).append(text)
            for before, texts in groups.items():
                element = with_subscripts(symbol.name, (*before, symbol.indices[-1]))
                text = f"sum({element} for {symbol.indices[-1]}) = 1"
                total = sp.Add(*(self.symbols[name] for name in texts)) - 1
                yield AlgebraicConstraint(text, None, total, equality=True, law=self.question.name)

    def _conditions(self, constraint: QuestionConstraint) -> Iterator[AlgebraicConstraint]:
        """The constraints of a question, one per label."""
        for labels in self._labels(constraint.indices):
            index_labels = dict(zip(constraint.indices, labels, strict=True))
            left_side, right_side = (
                self._expression(side, index_labels) for side in (constraint.lhs, constraint.rhs)
            )
            text = constraint.text
            if labels:
                labels_text = ", ".join(
                    f"{index} = {label}" for index, label in index_labels.items()
                )
                text = f"{constraint.text}  for {labels_text}"
            margin = (
                left_side - right_side
                if constraint.relation in (">", ">=")
                else right_side - left_side
            )
            equality = constraint.relation == "="
            of_unknowns = self._uses_unknown(constraint.lhs) or self._uses_unknown(constraint.rhs)
            strict = constraint.relation in "<>"
            yield AlgebraicConstraint(
                text,
                constraint.doc,
                margin,
                equality,
                strict,
                of_unknowns=of_unknowns,
                sides=(left_side, right_side),
            )

    def _uses_unknown(self, formula: tree.Formula) -> bool:
        """Whether a formula, or a call of a law in it, contains an unknown."""
        unknowns = {s.name for s in self.question.of_kind("unknown")}
        for node in tree.walk(formula):
            name = node.text if isinstance(node, tree.Name) else ""
            name = node.name if isinstance(node, tree.Element) else name
            value = self.question.values.get(name)
            if name in unknowns or (
                value and any(self._uses_unknown(argument) for _, argument in value.arguments)
            ):
                return True
        return False

    def _expression(self, formula: tree.Formula, index_labels: Mapping[str, str]) -> sp.Expr:
        """A formula of the question in symbols, with calls of laws expanded."""
        plain = self.ground(formula, index_labels)
        for name, of in list(self.ground.of.items()):
            if of in self.question.values and name not in self.expanded:
                self.expanded.add(name)
                value = self.question.values[of]
                labels = split_element(name)[1] if value.indices else ()
                value_labels = dict(zip(value.indices, labels, strict=True))
                self.law_values[name] = self._law_at(value, value_labels)
        return self._built(plain)

    def _built(self, plain: tree.Formula) -> sp.Expr:
        """A formula without indices, whose calls of laws have been expanded."""
        algebra = _BuildingContext(
            replace(self.declared, symbols=self.ground.symbols), self.symbols
        )
        return ExpressionBuilder(algebra, frozenset(), {}, substitution=self.law_values)(plain)

    def _law_at(self, value: LawValue, index_labels: Mapping[str, str]) -> sp.Expr:
        """A fitted law evaluated at arguments, in the question's symbols and its unit."""
        labels = tuple(index_labels.get(label, label) for label in value.labels)
        source = self._source(value.use, labels)
        declared = self.question.uses[value.use]
        arguments = dict(value.arguments)
        inputs: list[tuple[Quantity, sp.Expr]] = []
        substitution: dict[sp.Symbol, sp.Expr] = {}
        for quantity in source.law.variables:
            constant = source.constant(quantity.name, labels)
            if constant is not None:
                # the decimal that the float displays, exactly
                substitution[quantity.symbol] = sp.Rational(repr(constant))
                continue
            name, _, _ = quantity.name.partition("[")
            if name not in arguments:
                raise _missing_value_error(source, quantity.name)
            formula = arguments[name]
            if declared.symbols[name].indices:
                argument: sp.Expr = self.symbols[quantity.name]
            else:
                argument = self._expression(formula, index_labels)
            unit = declared.symbols[name].unit
            argument *= unit_factor(unit.factors if unit else None, quantity, source)
            substitution[quantity.symbol] = argument
            inputs.append((quantity, argument))
        substitution |= {source.law.symbols[name]: self.symbols[name] for name in source.rests}
        for quantity in source.law.variables:
            if quantity.symbol in substitution:
                self._domain(source, quantity, substitution, arguments)
        # after the arguments, which may contain calls of other laws
        self.law_inputs += [LawInput(source, *each, self.call_count) for each in inputs]
        self.call_count += 1
        if not self.calls_as_symbols:
            return source.expression(substitution)
        # a dummy, whose name differs from those of all symbols of the question
        symbol = sp.Dummy(f"{value.use}{len(self.law_calls)}", real=True)
        called_at = tuple(substitution[q.symbol] for q in source.law.variables)
        self.law_calls.append(LawCall(symbol, source, called_at))
        return symbol

    def _source(self, use: str, labels: tuple[str, ...]) -> FitSource:
        """The fit of some labels."""
        law = self.question.uses[use]
        for label, index in zip(labels, row_indices(law), strict=True):
            set_labels = self.labels.get(law.indices[index].over, (label,))
            if label not in set_labels:
                message = f"`{use}` has no fit for `{label}`"
                help = f"its labels are {', '.join(set_labels[:12])}"
                raise LawdslError(Diagnostic("F0501", message, help=help))
        return next(s for s in self.sources if s.use == use and s.is_of(labels))

    def _domain(
        self,
        source: FitSource,
        quantity: Quantity,
        substitution: Mapping[sp.Symbol, sp.Expr],
        arguments: Mapping[str, tree.Formula],
    ) -> None:
        """Turn bounds of a law's variable into constraints, unless the question's domains imply
        them.
        """
        for bound in quantity.bounds:
            limit = bound.limit.xreplace(source.replacing(substitution))
            margin = substitution[quantity.symbol] - limit
            margin = margin if bound.lower else -margin
            formula = arguments.get(quantity.name.partition("[")[0])
            variable_text = quantity.name
            if formula is not None and not isinstance(formula, tree.Element):
                variable_text = print_formula(formula)
            text = f"{variable_text} {bound.relation} {bound.text}"
            constraint = AlgebraicConstraint(
                text, None, margin, strict=bound.strict, law=source.use
            )
            if not constraint.always_holds:
                # a law that is called twice with one argument has its domain checked once
                self.domains.setdefault(margin, constraint)

    def _assumptions(self, symbol: Symbol) -> dict[str, bool]:
        """The SymPy assumptions on a name: the sign implied by its domain, or by that of the
        variable for which it is an argument.
        """
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
    """A question in the form required for expansion at labels: calls of laws are variables."""
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


def _no_effect_error(
    source: FitSource, lacking: Sequence[str], unknowns: Sequence[str]
) -> LawdslError:
    message = (
        f"`{source.use}` is a fit of {source.law.name}, which has no {disjunction(lacking)}: it predicts"
        f" the same for every {disjunction(unknowns)}"
    )
    help = "fit a law that has it, or write a question of your own"
    return LawdslError(Diagnostic("F0501", message, help=help))


def _missing_value_error(source: FitSource, name: str) -> LawdslError:
    message = f"`{source.law.name}`, of which `{source.use}` is a fit, needs a value of `{name}`"
    help = "use a fit of the law that the question names, or write a question of your own"
    return LawdslError(Diagnostic("F0501", message, help=help))
