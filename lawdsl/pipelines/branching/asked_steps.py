"""Question + fits of earlier steps -> its answer for each group, with intervals from the draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.language.pipeline_records import QuestionStep
from lawdsl.language.printer import print_unit
from lawdsl.pipelines.branching.draws_of_answers import (
    DrawnAnswers,
    draw_answers,
    needed_symbols,
)
from lawdsl.pipelines.branching.fitted_steps import FittedGroup, FittedStep
from lawdsl.pipelines.branching.step_rows import StepRows, one_row_per_group
from lawdsl.pipelines.extrapolations import (
    Extrapolation,
    extrapolation_warnings,
    extrapolations,
)
from lawdsl.solving.formulate.problem import FormulatedQuestion
from lawdsl.solving.inputs import symbol_values
from lawdsl.solving.result import Answer
from lawdsl.solving.solve import Asked

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class AskedGroup:
    """The answer for one group.

    Attributes:
        labels: column -> the value that all rows have.
        values: the values of the givens behind `at`.
        answer: the answer for the fitted parameters; None where a fit is missing.
        found: unknown -> its value; infinite where it is beyond every bound, 0 where the goal
            improves towards an open end at 0, nan where there is none.
        drawn: the only unknown in every draw, and what binds; None where it has no draws.
        reason: why there is no answer.
        rows: the positions of the rows of its first fit, in the table of that.
        far: the points, far beyond the rows of a fit, at which the givens have it evaluated.
    """

    labels: Mapping[str, str]
    values: Mapping[str, float]
    answer: Answer | None = None
    found: Mapping[str, float] = field(default_factory=dict)
    drawn: DrawnAnswers | None = None
    reason: str = ""
    rows: Rows | None = None
    far: tuple[Extrapolation, ...] = ()


@dataclass(frozen=True)
class AskedStep:
    """A question that was asked for each group.

    Attributes:
        name: what later steps call it; empty for none.
        step: the step as declared.
        groups: the answers, for each combination of several values of its givens.
        handed_on: the table of its answers; None where there is none.
        warnings: givens at which fits say nothing.
    """

    name: str
    step: QuestionStep
    groups: tuple[AskedGroup, ...]
    handed_on: StepRows | None = None
    warnings: tuple[Diagnostic, ...] = ()


def ask(
    step: QuestionStep,
    fitted: Mapping[str, FittedStep],
    points: Sequence[Mapping[str, float]],
    columns: Mapping[str, str],
    *,
    level: float,
    seed: int,
) -> AskedStep:
    """Ask the question of a step about the fits of earlier steps.

    Args:
        step: the step.
        fitted: name of a step -> its fits.
        points: for each time that it is asked, given or setting of the question -> its value.
        columns: name -> column, where the names differ.
        level: the level of the intervals.
        seed: the seed of the search.

    Raises:
        LawdslError: values that the question cannot have.
    """
    uses = {use: fitted[use] for use in step.question.uses}
    # the finest groups: those of the other fits are matched to them
    first = max(uses.values(), key=lambda s: len(s.groups[0].labels))
    groups = []
    for group in first.groups:
        fits = {use: _matching(group, fits_of) for use, fits_of in uses.items()}
        groups += [_asked_of(step, group, fits, given, level, seed) for given in points]
    far = [e for group in groups for e in group.far]
    return AskedStep(
        step.name,
        step,
        tuple(groups),
        _answers_table(step, first, groups, columns),
        tuple(extrapolation_warnings(far, len(groups), first.source.table.name)),
    )


def _matching(group: FittedGroup, step: FittedStep) -> FittedGroup | None:
    """The group of a step whose labels agree with those of another; None for none."""
    for other in step.groups:
        if all(group.labels.get(name, text) == text for name, text in other.labels.items()):
            return other
    return None


def _asked_of(
    step: QuestionStep,
    group: FittedGroup,
    fits: Mapping[str, FittedGroup | None],
    given: Mapping[str, float],
    level: float,
    seed: int,
) -> AskedGroup:
    labels = group.labels
    for use, fit in fits.items():
        if fit is None or fit.left_out:
            reason = f"`{use}` has no fit: {'no such group' if fit is None else fit.left_out}"
            return AskedGroup(labels, given, reason=reason)
    used = {use: fit for use, fit in fits.items() if fit is not None}
    asked = Asked(step.question, **{use: fit.values for use, fit in used.items()})
    try:
        answer = asked.answer(dict(given), level=level, seed=seed, proofs=False)
    except LawdslError as error:
        if error.diagnostics[0].code.startswith("F0502"):
            raise
        return AskedGroup(labels, given, reason=error.diagnostics[0].message)
    formulated = asked.formulated
    symbols = symbol_values(formulated, given)
    name = formulated.unknowns[0].name
    ranges = [
        (float(np.min(fit.problem.columns[i])), float(np.max(fit.problem.columns[i])))
        for fit in used.values()
        for i, q in enumerate(fit.law.variables)
        if q.name == name and fit.problem is not None
    ]
    drawn = estimate = None
    values_of = {
        source.symbols[parameter]: np.array([number])
        for source in formulated.sources
        for parameter, number in used[source.use].values.items()
    }
    estimate = draw_answers(formulated, symbols, values_of, ranges)
    needed = needed_symbols(formulated, symbols)
    sources = [s for s in formulated.sources if needed & set(s.symbols.values())]
    if sources and all(used[s.use].has_draws for s in sources):
        parameters = {}
        for source in sources:
            fit = used[source.use]
            for i, q in enumerate(fit.law.parameters):
                parameters[source.symbols[q.name]] = fit.draws[:, i]
        drawn = draw_answers(formulated, symbols, parameters, ranges)
    found = {u.name: u.value for u in answer.unknowns} if answer.ok else {}
    if not found and estimate is not None:
        found = {name: float(estimate.values[0])}
    return AskedGroup(
        labels,
        given,
        answer,
        found,
        drawn,
        _reason(answer, found),
        group.rows,
        tuple(_far_points(formulated, symbols, used, labels)),
    )


def _far_points(
    formulated: FormulatedQuestion,
    symbols: Mapping[sp.Symbol, float],
    used: Mapping[str, FittedGroup],
    labels: Mapping[str, str],
) -> Iterator[Extrapolation]:
    """The variables of fits that the givens alone place far beyond the fitted rows."""
    inputs = zip(formulated.law_inputs, formulated.law_input_values(symbols), strict=True)
    for law_input, number in inputs:
        use, fit = law_input.source.use, used[law_input.source.use]
        point = [
            number if q.name == law_input.quantity.name else math.nan for q in fit.law.variables
        ]
        if fit.problem is not None and not math.isnan(number):
            subject = f"`{formulated.question.name}` asks `{use}`"
            found = extrapolations(subject, fit.law, fit.problem.columns, point, labels)
            yield from (e for e in found if e.far)


def _reason(answer: Answer, found: Mapping[str, float]) -> str:
    """Why there is no answer; empty where there is one."""
    if any(not math.isnan(x) for x in found.values()):
        return ""
    lines = answer.proof or (answer.status,)
    return lines[0]


def _answers_table(
    step: QuestionStep, first: FittedStep, groups: Sequence[AskedGroup], columns: Mapping[str, str]
) -> StepRows | None:
    """One row per group with an answer; None without answers."""
    if not step.name:
        return None
    answered = [g for g in groups if g.rows is not None and g.found and not g.reason]
    names = [symbol.name for symbol in step.question.of_kind("unknown")]
    answered = [g for g in answered if all(name in g.found for name in names)]
    if not answered:
        return None
    values = {columns.get(n, n): np.array([g.found[n] for g in answered]) for n in names}
    units = {}
    for name in names:
        unit = step.question.units.get(name)
        if unit is not None:
            units[columns.get(name, name)] = print_unit(unit)
    rows = [g.rows for g in answered if g.rows is not None]
    table = one_row_per_group(first.source.table, rows, values, units)
    drawn = [g.drawn for g in answered]
    draws = {}
    if len(names) == 1 and all(d is not None for d in drawn):
        draws[columns.get(names[0], names[0])] = np.array(
            [d.values for d in drawn if d is not None]
        ).T
    labels = tuple(g.labels for g in answered)
    return StepRows(table, labels, draws, columns.get(names[0], names[0]))
