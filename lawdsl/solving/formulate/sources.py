"""A question and fits -> the laws, values and labels of the fits, checked against the question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import sympy as sp

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.units import size_and_dimension, unit_text
from lawdsl.fitting.preparation.build_problem import remaining_shares
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.storage import altered
from lawdsl.language.instances.instance import indicator, row_indices
from lawdsl.language.keywords import nearest
from lawdsl.language.law_changes import LawChanges
from lawdsl.language.questions import Question
from lawdsl.language.symbols import Declarations
from lawdsl.law.law import Law
from lawdsl.law.quantities import Quantity

BOUND_RTOL = 1e-9  # relative: tolerance for a fitted value beyond a bound


@dataclass(frozen=True)
class FitSource:
    """A fit, the fit of one label, or given values of a law's parameters.

    Attributes:
        use: its name in the question.
        law: the fitted law.
        values: the values of its parameters, in its units.
        fit: the source of the values; None if they were given as numbers.
        index_labels: index -> label, if the labels have separate fits.
        rows: the indices of the law's rows, in their order.
        measured: variable -> label -> value, for variables that the law measures.
    """

    use: str
    law: Law
    values: Mapping[str, float]
    fit: Fit | None = field(default=None, repr=False)
    index_labels: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[str, ...] = ()
    measured: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The labels of its rows, separated by commas; empty for a fit without labels."""
        return ", ".join(self.index_labels.values())

    @cached_property
    def symbols(self) -> dict[str, sp.Symbol]:
        """Parameter -> its symbol in the question."""
        return {q.name: self._prefixed_symbol(q) for q in self.law.parameters}

    @cached_property
    def settings(self) -> dict[sp.Symbol, float]:
        """The law's settings as symbols of the question, and their values."""
        return {self._prefixed_symbol(q): q.value for q in self.law.settings if q.value is not None}

    def _prefixed_symbol(self, quantity: Quantity) -> sp.Symbol:
        # with a prefix, since two fits of one law have parameters of the same names
        return sp.Symbol(f"{self.use}.{quantity.name}", **quantity.symbol.assumptions0)

    def replacing(self, variables: Mapping[sp.Symbol, sp.Expr]) -> dict[sp.Symbol, sp.Expr]:
        """The substitution of the law's symbols in the question, given its variables."""
        parameters = {q.symbol: self.symbols[q.name] for q in self.law.parameters}
        return {
            **variables,
            **parameters,
            **{q.symbol: self._prefixed_symbol(q) for q in self.law.settings},
        }

    def unprefixed(self, expression: sp.Expr) -> sp.Expr:
        """An expression of the question with parameters and settings named as in the law."""
        prefix = f"{self.use}."
        return expression.xreplace(
            {
                s: sp.Symbol(s.name.removeprefix(prefix), **s.assumptions0)
                for s in expression.free_symbols
                if s.name.startswith(prefix)
            }
        )

    @cached_property
    def rests(self) -> tuple[str, ...]:
        """Shares that the law expresses as 1 minus the others, for which a question has names, too."""
        return tuple(remaining_shares(self.law))

    def expression(self, variables: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
        """The law at values of its variables, and of the shares that are 1 minus the others."""
        formula = self.law.declarations.output.formula
        assert formula is not None
        law_expression = (
            self.law.to_sympy(formula, self.rests) if self.rests else self.law.expression
        )
        return law_expression.xreplace(self.replacing(variables))

    def is_of(self, labels: Sequence[str]) -> bool:
        """Whether it is the fit of rows with these labels."""
        return all(
            self.index_labels.get(index, label) == label
            for index, label in zip(self.rows, labels, strict=True)
        )

    def constant(self, variable: str, labels: Sequence[str]) -> float | None:
        """Return the value of a variable that is determined by the labels only.

        Args:
            variable: its name for given labels: an indicator `[index = label]`, or a measured
                `name[label]`.
            labels: the labels of the rows, in the order of `rows`.

        Returns:
            0 or 1 for an indicator, the measured value for a measured variable; else None.
        """
        label_of_index = dict(zip(self.rows, labels, strict=True))
        for index, label in label_of_index.items():
            if variable.startswith(f"[{index} = "):
                return float(variable == indicator(index, label))
        name, _, rest = variable.partition("[")
        if name in self.measured:
            label = rest.rstrip("]")
            return self.measured[name][label_of_index.get(label, label)]
        return None


@dataclass(frozen=True)
class FitSources:
    """All fits of a question, and the labels of its sets."""

    sources: tuple[FitSource, ...]
    labels: Mapping[str, tuple[str, ...]]


def fit_sources(question: Question, fits: Mapping[str, object]) -> FitSources:
    """Collect the fits that a question uses, and check that they agree on their labels.

    Args:
        question: as declared.
        fits: use -> a `Fit`, `Fits`, or parameter -> value.

    Returns:
        One source for each fit and label, and the labels of each set.

    Raises:
        LawdslError: a fit is missing, or has other labels than another one.
    """
    missing = [use for use in question.uses if use not in fits]
    if missing:
        names = ", ".join(f"`{use}`" for use in missing)
        law = question.uses[missing[0]].name
        message = f"the question has no fit for {names}"
        help = f"give it a fit of {law}: {missing[0]}=FIT.json"
        raise LawdslError(Diagnostic("F0501", message, help=help))
    labels = {s.over: s.labels for s in question.indices.values() if s.labels is not None}
    sources: list[FitSource] = []
    for use, declared in question.uses.items():
        fit = fits[use]
        if isinstance(fit, Fits):
            sources += _label_sources(use, fit)
            _merge_labels(labels, fit.labels, use)
        elif isinstance(fit, Fit):
            sources.append(_fit_source(use, fit))
        elif isinstance(fit, Mapping):
            sources.append(_numeric_source(use, declared, fit))
        else:
            message = f"what is given for `{use}` is not a fit: {type(fit).__name__}"
            help = "give a fit, the path of one, or parameter -> value"
            raise LawdslError(Diagnostic("F0501", message, help=help))
        if len(sources[-1].rows) != len(row_indices(declared)):
            message = f"`{use}` is a fit of {sources[-1].law.name}, whose rows have other labels than those of {declared.name}"
            help = f"give it a fit of {declared.name}: {use}=FIT.json"
            raise LawdslError(Diagnostic("F0501", message, help=help))
    lacking = [s.over for s in question.indices.values() if s.over not in labels]
    if lacking:
        message = f"no fit of the question has the labels of {lacking[0]}"
        help = "give it fits of laws with index sets"
        raise LawdslError(Diagnostic("F0501", message, help=help))
    return FitSources(tuple(sources), labels)


def _fit_source(use: str, fit: Fit, **labels: Any) -> FitSource:
    """A fit, or the fit of one label; if a parameter was chosen before the others and its errors
    are known, it is treated like these.
    """
    law = fit.read_law() if fit.spread is None else fit.law_of_spread()
    values = fit.values | {name: fixed.value for name, fixed in fit.held.items()}
    _check_fitted(law, values)
    return FitSource(use, law, {q.name: values[q.name] for q in law.parameters}, fit, **labels)


def _check_fitted(law: Law, values: Mapping[str, float]) -> None:
    """Raise an error for fitted values outside the numeric domains that the law declares.

    Raises:
        LawdslError: the fit has been altered.
    """
    settings = {q.symbol: sp.Float(q.value) for q in law.settings}
    for quantity in law.parameters:
        for bound in quantity.bounds:
            limit = bound.limit.xreplace(settings)
            if not limit.is_number:
                continue
            beyond = float(limit) - values[quantity.name]
            beyond = beyond if bound.lower else -beyond
            # solvers stop on a bound up to rounding
            if beyond > BOUND_RTOL * max(1.0, abs(float(limit))):
                raise altered(f"`{quantity.name}` lies outside its domain")


def _label_sources(use: str, fits: Fits) -> list[FitSource]:
    law = fits.read_law().declarations
    rows = (*law.output.indices, *law.output.rows)
    measured = fits.measured.values if fits.measured else {}
    sources = []
    for part in fits.parts:
        index_labels = dict(part.law.instance.at) if part.law.instance else {}
        sources.append(
            _fit_source(use, part, index_labels=index_labels, rows=rows, measured=measured)
        )
    return sources


def _merge_labels(
    labels: dict[str, tuple[str, ...]], more: Mapping[str, tuple[str, ...]], use: str
) -> None:
    """Add the labels of a fit; an error if two fits disagree on the labels of a set."""
    for over, set_labels in more.items():
        if over in labels and set(labels[over]) != set(set_labels):
            message = f"`{use}` was fitted for other labels of {over} than those before it"
            note = f"{', '.join(set_labels)}; before it {', '.join(labels[over])}"
            help = "give fits of the same domains"
            raise LawdslError(Diagnostic("F0501", message, notes=(note,), help=help))
        labels.setdefault(over, set_labels)


def _numeric_source(use: str, declared: Declarations, values: Mapping[str, object]) -> FitSource:
    """A law with parameters given as numbers, from a publication for example."""
    law = Law(declared)
    if law.indexed:
        message = f"`{use}` is a law with index sets: its values come from a fit"
        raise LawdslError(Diagnostic("F0501", message, help=f"give {use}=FIT.json"))
    numbers = {name: finite_number(f"{use}.{name}", value) for name, value in values.items()}
    settings = {n: v for n, v in numbers.items() if n in {q.name for q in law.settings}}
    law = LawChanges(settings=settings).apply(law)
    names = [q.name for q in law.parameters]
    unknown = [name for name in values if name not in names and name not in settings]
    lacking = [name for name in names if name not in values]
    if unknown or lacking:
        message = f"`{law.name}` has no parameter `{unknown[0]}`" if unknown else ""
        message = message or f"`{use}` lacks the parameter `{lacking[0]}` of {law.name}"
        help = f"give {use}=FIT.json, or each of " + ", ".join(f"{use}.{name}=…" for name in names)
        meant = nearest(unknown[0], [*names, *(q.name for q in law.settings)]) if unknown else None
        if meant is not None and meant not in values:
            help = f"did you mean {use}.{meant}?"
        raise LawdslError(Diagnostic("F0501", message, help=help))
    law = LawChanges(dropped=tuple(_check_domains(use, law, numbers))).apply(law)
    return FitSource(use, law, {name: numbers[name] for name in names})


def finite_number(name: str, value: object) -> float:
    """Convert a user's value to a finite float.

    Args:
        name: the name of the quantity, for the message.
        value: the given value.

    Returns:
        The number.

    Raises:
        LawdslError: the value is not a number, or not finite.
    """
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    # float() accepts True and "2", too
    if isinstance(value, (bool, str)) or not math.isfinite(number):
        message = f"`{name}` is {value!r}, which is not a number"
        raise LawdslError(Diagnostic("F0502", message, help=f"write {name}=2.5"))
    return number


def _check_domains(use: str, law: Law, values: Mapping[str, float]) -> list[str]:
    """Report parameters outside the domains that the law declares.

    Returns:
        The violated bounds that depend on other parameters, which can be omitted: C > C0.
    """
    values_of = {q.symbol: sp.Float(values[q.name]) for q in law.parameters}
    values_of |= {q.symbol: sp.Float(q.value) for q in law.settings}
    mistakes, without = [], []
    for quantity in law.parameters:
        for bound in quantity.bounds:
            value, limit = values_of[quantity.symbol], bound.limit.xreplace(values_of)
            # a limit that contains a symbol is undecided, which is not a violation
            if sp.Rel(value, limit, bound.relation) != sp.false:
                continue
            text = f"{quantity.name} {bound.relation} {bound.text}"
            if bound.limit.free_symbols & {q.symbol for q in law.parameters}:
                without.append(text)
                continue
            message = f"`{use}.{quantity.name}` is {float(value):g}, and its domain is {text}"
            help = f"correct the value, or give {use}=FIT.json"
            mistakes.append(Diagnostic("F0503", message, help=help))
    if mistakes:
        raise LawdslError(mistakes)
    return without


def unit_factor(
    unit: tuple[tuple[str, int], ...] | None, quantity: Quantity, source: FitSource
) -> sp.Expr:
    """Return the factor that converts a value from the unit of the question's law to that of the
    fit.

    Args:
        unit: the unit of the question's law: pairs of a unit and its power; None if none is
            declared.
        quantity: the quantity of the fitted law.
        source: the fit, for the message.

    Returns:
        f in value_fit = f * value_question; 1 if either has no unit.

    Raises:
        LawdslError: the units have different dimensions.
    """
    if unit is None or quantity.unit is None or unit == quantity.unit:
        return sp.S.One
    size, dimension = size_and_dimension(unit)
    fitted_size, fitted_dimension = size_and_dimension(quantity.unit)
    if dimension != fitted_dimension:
        message = (
            f"`{quantity.name}` of `{source.law.name}` is in {unit_text(quantity.unit)}, "
            f"that of the question in {unit_text(unit)}"
        )
        help = "use a fit of the law that the question names"
        raise LawdslError(Diagnostic("F0501", message, help=help))
    # exact, since algebra cannot simplify a rounded factor such as 1e9/1e6 in floats
    return sp.Rational(repr(size)) / sp.Rational(repr(fitted_size))
