"""Fits and answers of steps, with their draws -> the records of the result."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.intervals.draw_quantiles import central_interval
from lawdsl.language.pipeline_records import PipelineStep
from lawdsl.language.printer import print_formula
from lawdsl.pipelines.branching.asked_steps import AskedGroup, AskedStep
from lawdsl.pipelines.branching.fitted_steps import FittedGroup, FittedStep
from lawdsl.pipelines.branching.result import (
    AnswerOfGroup,
    AnswersOfStep,
    DrawnCurve,
    Ends,
    FitOfGroup,
    FitsOfStep,
)

Array = NDArray[np.float64]

CURVE_POINTS = 81


def fits_of_step(step: FittedStep, declared: PipelineStep, level: float) -> FitsOfStep:
    """The record of a step that fits a law.

    Args:
        step: the step.
        declared: as declared.
        level: the level of the intervals.
    """
    law = step.task.law
    since = declared.since
    return FitsOfStep(
        name=step.name,
        law=law.name,
        parameters=len(law.parameters),
        variables=tuple(q.name for q in law.variables),
        output=law.output,
        where=step.where,
        at=dict(step.task.point),
        since=f"{since[0]} = {print_formula(since[1])}" if since else "",
        groups=tuple(_fit_of_group(group, level) for group in step.groups),
    )


def _fit_of_group(group: FittedGroup, level: float) -> FitOfGroup:
    if group.left_out:
        return FitOfGroup(group.labels, len(group.rows), left_out=group.left_out)
    errors, ends = {}, {}
    if group.drawn_already:
        for q, values in zip(group.law.parameters, group.draws.T, strict=True):
            central, deviation = central_interval(values, level), central_interval(values, 0.6827)
            if central is not None and deviation is not None:
                errors[q.name], ends[q.name] = (deviation[1] - deviation[0]) / 2, central
    predicted = predicted_ends = None
    if group.point is not None:
        at_point, drawn = group.at(group.point)
        predicted = float(at_point[0])
        predicted_ends = None if drawn is None else central_interval(drawn[:, 0], level)
    return FitOfGroup(
        labels=group.labels,
        rows=len(group.rows),
        parameters=group.values,
        errors=errors,
        ends=ends,
        predicted=predicted,
        predicted_ends=predicted_ends,
        scatter=group.scatter,
        curve=_curve(group, level),
    )


def _curve(group: FittedGroup, level: float) -> DrawnCurve | None:
    """The rows and the law of one variable; None for several."""
    assert group.problem is not None
    if len(group.problem.columns) != 1:
        return None
    x, y = group.problem.columns[0], group.problem.target
    most = max(float(np.max(x)), float(group.point[0, 0]) if group.point is not None else -np.inf)
    at = np.linspace(float(np.min(x)), most, CURVE_POINTS)
    value, drawn = group.at(at[None], draws=group.drawn_already)
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    if drawn is not None:
        bands = [central_interval(column, level) or (math.nan, math.nan) for column in drawn.T]
        low, high = tuple(b[0] for b in bands), tuple(b[1] for b in bands)
    x_ends: tuple[Ends, ...] = ()
    if group.row_errors is not None and group.row_errors[0].any():
        half = 1.96 * group.row_errors[0]
        x_ends = tuple(zip((x - half).tolist(), (x + half).tolist(), strict=True))
    return DrawnCurve(
        tuple(x.tolist()),
        tuple(y.tolist()),
        x_ends,
        tuple(at.tolist()),
        tuple(value.tolist()),
        low,
        high,
    )


def answers_of_step(step: AskedStep, level: float) -> AnswersOfStep:
    """The record of a step that asks a question.

    Args:
        step: the step.
        level: the level of the intervals.
    """
    question = step.step.question
    return AnswersOfStep(
        name=step.name,
        question=question.name,
        title=question.title,
        uses=tuple(question.uses),
        unknowns=tuple(s.name for s in question.of_kind("unknown")),
        maximize=question.maximize,
        groups=tuple(_answer_of_group(group, level) for group in step.groups),
    )


def _answer_of_group(group: AskedGroup, level: float) -> AnswerOfGroup:
    answer = group.answer
    if answer is None:
        return AnswerOfGroup(group.labels, group.values, reason=group.reason)
    ends: dict[str, Ends] = {}
    shares: dict[str, float] = {}
    unanswered = unfitted = 0.0
    if group.drawn is not None and group.estimates:
        interval = central_interval(group.drawn.values, level)
        unanswered = float(np.mean(np.isnan(group.drawn.values)))
        unfitted = group.drawn.unfitted
        (name,) = group.estimates
        if interval is not None:
            ends[name] = interval
        shares = {n: x for n, x in group.drawn.binding.items() if n}
    return AnswerOfGroup(
        labels=group.labels,
        values=group.values,
        status=answer.status,
        estimates=group.estimates,
        ends=ends,
        where=answer.where,
        binding=tuple(kept.name for kept in answer.active if not kept.law),
        binding_shares=shares,
        unanswered=unanswered,
        unfitted=unfitted,
        no_draws=group.no_draws,
        reason=group.reason,
    )
