"""An answer -> its warnings: untrusted fits, inflections, missing intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum

import numpy as np
import sympy as sp

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.premises.findings import PREMISES
from lawdsl.solving.formulate.problem import FormulatedQuestion
from lawdsl.solving.formulate.sources import FitSource

MIN_ANSWERED_SHARE = 0.99  # share of the draws that must have an answer


class MissingInterval(Enum):
    """The reason why an answer has no interval, as text."""

    ERRORS = "the errors of the fits do not say how far off the answer is"
    DERIVATIVE = "the errors of the fits are known, but not how the answer changes with them"
    GOAL = "the goal has no derivative at the answer: it has no interval there"


MISSING_INTERVAL_HELP = {
    MissingInterval.ERRORS: "fit again with `lawdsl fit`, which keeps the errors, or measure what they "
    "depend on",
    MissingInterval.DERIVATIVE: "compare answers for values near the givens, which show how it changes",
    MissingInterval.GOAL: "several kinks or constraints meet there: ask for values near the givens",
}


def answer_warnings(
    formulated: FormulatedQuestion,
    values: Mapping[sp.Symbol, float],
    errors_known: bool,
    answered_share: float = 1.0,
    lacking: MissingInterval = MissingInterval.ERRORS,
) -> tuple[Diagnostic, ...]:
    """Collect the warnings about an answer.

    Args:
        formulated: the question.
        values: symbol -> value of all symbols, unknowns at the answer.
        errors_known: whether the errors of the fits give an interval.
        answered_share: the share of Monte Carlo draws that have an answer, 0 to 1.
        lacking: the reason why an interval is missing.

    Returns:
        Diagnostics without duplicates.
    """
    diagnostics = [
        *_fit_warnings(formulated),
        *_inflection_warnings(formulated, values),
        *_interval_warnings(formulated, errors_known, answered_share, lacking),
    ]
    return tuple(dict.fromkeys(diagnostics))


def _fit_warnings(formulated: FormulatedQuestion) -> Iterator[Diagnostic]:
    """Warnings about fits that are not trusted, and about given numbers that violate a bound."""
    for source in formulated.sources:
        named = formulated.question.uses[source.use].name
        if source.law.name != named:
            message = f"`{source.use}` is a fit of {source.law.name}; the question names {named}"
            without = _ignored_variables(formulated, source)
            if without:
                message += f", and what it says of {', '.join(without)} has no effect"
            help = "see that it predicts what the question asks about"
            yield Diagnostic("F0507", message, "warning", help=help)
        if source.fit is not None:
            yield from (_at_use(source.use, d) for d in source.fit.distrust())
            # what the rows of the fit presuppose is presupposed by the answer
            broken = [d for d in source.fit.diagnostics if d.code in PREMISES]
            yield from (replace(d, place=source.use) for d in broken)
            continue
        for bound in source.law.dropped:
            message = f"the parameters of `{source.use}` do not keep the bound {bound} of its law"
            help = "what the law claims because of it need not hold: `lawdsl check LAW --without`"
            yield Diagnostic("F0506", message, "warning", help=help)


def _ignored_variables(formulated: FormulatedQuestion, source: FitSource) -> list[str]:
    """The variables for which the question provides values and which the fitted law lacks."""
    names = (*source.rests, *(q.name for q in source.law.variables))
    law_variables = {name.partition("[")[0] for name in names}
    question_variables = [
        n
        for v in formulated.question.values.values()
        if v.use == source.use
        for n, _ in v.arguments
    ]
    return [name for name in dict.fromkeys(question_variables) if name not in law_variables]


def _inflection_warnings(
    formulated: FormulatedQuestion, values: Mapping[sp.Symbol, float]
) -> Iterator[Diagnostic]:
    """Warnings about shares below the inflection ratio of the fitted rows."""
    inputs = zip(formulated.law_inputs, formulated.law_input_values(values), strict=True)
    for law_input, value in inputs:
        fit, name = law_input.source.fit, law_input.quantity.name
        if fit is not None and name in fit.data.ranges and not math.isnan(value):
            found = fit.below_inflection({name: np.array([value])})
            yield from (_at_use(law_input.source.use, d) for d in found)


def _interval_warnings(
    formulated: FormulatedQuestion,
    errors_known: bool,
    answered_share: float,
    lacking: MissingInterval,
) -> Iterator[Diagnostic]:
    """Warnings about missing intervals, and about draws without an answer."""
    if any(s.fit is None for s in formulated.sources):
        message = "parameters were given as numbers: their errors are not known"
        help = "give a fit, USE=FIT.json, for intervals"
        yield Diagnostic("F0504", message, "warning", help=help)
    elif not errors_known:
        yield Diagnostic("F0504", lacking.value, "warning", help=MISSING_INTERVAL_HELP[lacking])
    elif answered_share < MIN_ANSWERED_SHARE:
        # rounded down, since a share below the limit must not be shown as the limit
        share = math.floor(100 * answered_share)
        message = f"within the errors of the fits there is an answer in {share} % of cases only"
        help = "the interval is of those; measure near the constraint, or relax it"
        yield Diagnostic("F0505", message, "warning", help=help)


def _at_use(use: str, diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, place=diagnostic.place or use)
