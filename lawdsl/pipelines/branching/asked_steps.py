"""Question + fits of earlier steps -> its answer for each group, with intervals from the draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.table import Table
from lawdsl.language.pipeline_records import QuestionStep
from lawdsl.language.printer import print_unit
from lawdsl.pipelines.branching.draws_of_answers import (
    DrawnAnswers,
    draw_answers,
    needed_symbols,
)
from lawdsl.pipelines.branching.fitted_steps import FittedGroup, FittedStep
from lawdsl.pipelines.branching.label_join import JoinedLabels, agree, join_labels
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

CERTIFIED = ("answered", "approached")  # statuses with a certified value of the unknown
AGREEMENT_RTOL = 1e-4  # relative: within this the search over draws reproduces an answer
AGREEMENT_ATOL = 1e-12  # an answer of 0


@dataclass(frozen=True)
class AskedGroup:
    """The answer for one group.

    Attributes:
        labels: column -> the value that all rows have.
        values: the values of the givens behind `at`.
        answer: the answer for the fitted parameters; None where a fit is missing.
        estimates: unknown -> its value; infinite where it is beyond every bound, 0 where the goal
            improves towards an open end at 0, nan where there is none.
        drawn: the only unknown in every draw, and what binds; None where it has no draws.
        reason: why there is no answer.
        rows: for each fit, the positions of its rows in the table of that.
        no_draws: why the draws are not answered, although the fits have some.
        far: the points, far beyond the rows of a fit, at which the givens have it evaluated.
    """

    labels: Mapping[str, str]
    values: Mapping[str, float]
    answer: Answer | None = None
    estimates: Mapping[str, float] = field(default_factory=dict)
    drawn: DrawnAnswers | None = None
    reason: str = ""
    rows: tuple[Rows, ...] = ()
    no_draws: str = ""
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
    labels_of = [[group.labels for group in fits_of.groups] for fits_of in uses.values()]
    joined = join_labels(labels_of)
    groups = []
    for one in joined:
        fits = {
            use: fits_of.groups[position]
            for (use, fits_of), position in zip(uses.items(), one.positions, strict=True)
        }
        groups += [_asked_of(step, one.labels, fits, given, level, seed) for given in points]
    groups += _unmatched(uses, joined, points)
    far = [e for group in groups for e in group.far]
    place = next(iter(uses.values())).source.table.name
    return AskedStep(
        step.name,
        step,
        tuple(groups),
        _answers_table(step, uses, groups, columns),
        tuple(extrapolation_warnings(far, len(groups), place)),
    )


def _unmatched(
    uses: Mapping[str, FittedStep],
    joined: Sequence[JoinedLabels],
    points: Sequence[Mapping[str, float]],
) -> list[AskedGroup]:
    """The groups of fits for which another use has none."""
    groups = []
    for number, (use, fits_of) in enumerate(uses.items()):
        matched = {one.positions[number] for one in joined}
        for position, group in enumerate(fits_of.groups):
            if position in matched:
                continue
            lacking = [
                f"`{name}`"
                for name, others in uses.items()
                if name != use and not any(agree(group.labels, o.labels) for o in others.groups)
            ]
            reason = f"{' and '.join(lacking) or 'another use'} has no fit: no such group"
            groups += [AskedGroup(group.labels, given, reason=reason) for given in points]
    return groups


def _asked_of(
    step: QuestionStep,
    labels: Mapping[str, str],
    used: Mapping[str, FittedGroup],
    given: Mapping[str, float],
    level: float,
    seed: int,
) -> AskedGroup:
    for use, fit in used.items():
        if fit.left_out:
            return AskedGroup(labels, given, reason=f"`{use}` has no fit: {fit.left_out}")
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
    certified = {u.name: u.value for u in answer.unknowns} if answer.status in CERTIFIED else {}
    needed = needed_symbols(formulated, symbols)
    drawn_fits = [s for s in formulated.sources if needed & set(s.symbols.values())]
    draws = bool(drawn_fits) and all(used[s.use].has_draws for s in drawn_fits)
    estimates_of, draws_of = {}, {}
    for source in formulated.sources:
        fit = used[source.use]
        for i, q in enumerate(fit.law.parameters):
            symbol = source.symbols[q.name]
            estimates_of[symbol] = np.array([fit.values[q.name]])
            if draws and source in drawn_fits:
                draws_of[symbol] = fit.draws[:, i]
    near = certified.get(name, math.nan)
    estimate = draw_answers(formulated, symbols, estimates_of, ranges, near)
    drawn, no_draws = None, ""
    if estimate is not None:
        no_draws = _disagreement(answer, name, near, float(estimate.values[0]))
        if draws and not no_draws:
            drawn = draw_answers(formulated, symbols, draws_of, ranges, near)
    estimates = certified
    if not estimates and estimate is not None:
        none = answer.status == "infeasible" or no_draws
        estimates = {name: math.nan if none else float(estimate.values[0])}
    rows = tuple(fit.rows for fit in used.values())
    return AskedGroup(
        labels,
        given,
        answer,
        estimates,
        drawn,
        _reason(answer, estimates),
        rows,
        no_draws if draws else "",
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
            points = extrapolations(subject, fit.law, fit.problem.columns, point, labels)
            yield from (e for e in points if e.far)


def _disagreement(answer: Answer, name: str, certified: float, estimate: float) -> str:
    """How the answer of the search over draws differs from the certified one; empty where not."""
    if answer.status in CERTIFIED:
        if math.isclose(estimate, certified, rel_tol=AGREEMENT_RTOL, abs_tol=AGREEMENT_ATOL):
            return ""
        result = "none" if math.isnan(estimate) else f"{name} = {estimate:.6g}"
        return f"a search over draws finds {result} where the answer is {name} = {certified:.6g}"
    if answer.status == "infeasible" and not math.isnan(estimate):
        return f"a search over draws finds {name} = {estimate:.6g} where no choice is feasible"
    if answer.status == "unbounded" and math.isfinite(estimate) and estimate != 0:
        return f"a search over draws finds {name} = {estimate:.6g} where the goal is unbounded"
    return ""


def _reason(answer: Answer, estimates: Mapping[str, float]) -> str:
    """Why there is no answer; empty where there is one."""
    if any(not math.isnan(x) for x in estimates.values()):
        return ""
    lines = answer.proof or (answer.status,)
    return lines[0]


def _answers_table(
    step: QuestionStep,
    uses: Mapping[str, FittedStep],
    groups: Sequence[AskedGroup],
    columns: Mapping[str, str],
) -> StepRows | None:
    """One row per group with an answer; None without answers."""
    if not step.name:
        return None
    answered = [g for g in groups if g.rows and g.estimates and not g.reason]
    names = [symbol.name for symbol in step.question.of_kind("unknown")]
    answered = [g for g in answered if all(name in g.estimates for name in names)]
    if not answered:
        return None
    values = {columns.get(n, n): np.array([g.estimates[n] for g in answered]) for n in names}
    units = {}
    for name in names:
        unit = step.question.units.get(name)
        if unit is not None:
            units[columns.get(name, name)] = print_unit(unit)
    table: Table | None = None
    for number, use in enumerate(uses.values()):
        rows = [g.rows[number] for g in answered]
        of_use = one_row_per_group(use.source.table, rows, values, units)
        if table is None:
            table = of_use
            continue
        # labels that the groups of the first fit do not have
        names_of = {label for g in use.groups for label in g.labels} - set(table.columns)
        more = {n: of_use.columns[n] for n in of_use.columns if n in names_of}
        more_units = {n: of_use.units[n] for n in more if n in of_use.units}
        table = replace(
            table, columns={**table.columns, **more}, units={**table.units, **more_units}
        )
    assert table is not None
    drawn = [g.drawn for g in answered]
    draws = {}
    if len(names) == 1 and all(d is not None for d in drawn):
        draws[columns.get(names[0], names[0])] = np.array(
            [d.values for d in drawn if d is not None]
        ).T
    labels = tuple(g.labels for g in answered)
    return StepRows(table, labels, draws, columns.get(names[0], names[0]))
