"""Rows that a step keeps, and answers of questions about the same inputs -> where they disagree.

`keep feasible … where T < T_max, dL_general <= tolerance` and a question for the largest R given T_max
and tolerance decide the same, row by row and by laws through all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.language import tree
from lawdsl.language.pipeline_records import KeepStep, Pipeline, QuestionStep
from lawdsl.pipelines.branching.result import (
    AnswerOfGroup,
    AnswersOfStep,
    RowsOfStep,
    StepOfPipeline,
)
from lawdsl.pipelines.branching.step_rows import KeptRow

MARGIN = 0.01  # relative: answers without intervals that are nearer to a row agree with it


def contradictions(
    pipeline: Pipeline, steps: Sequence[StepOfPipeline], columns: Mapping[str, str], place: str
) -> Iterator[Diagnostic]:
    """A warning (F0415) for each answer beyond which a row is kept, or before which one is not.

    Compared are a question whose goal is its only unknown, and a `keep` that depends on the same
    inputs of the pipeline, by the rows that have the unknown as a label.

    Args:
        pipeline: as declared.
        steps: its steps, as they were run.
        columns: name -> column, where the names differ.
        place: the name of the table.
    """
    declared = list(zip(pipeline.every_step, steps, strict=True))
    for keep, rows in declared:
        if not isinstance(keep, KeepStep) or not isinstance(rows, RowsOfStep):
            continue
        inputs = _names([c.value for c in keep.where], pipeline)
        for asked, answers in declared:
            if isinstance(asked, QuestionStep) and isinstance(answers, AnswersOfStep):
                same = inputs and inputs == _names([f for _, f in asked.point], pipeline)
                if same and _asks_for_itself(asked):
                    unknown = answers.unknowns[0]
                    column = columns.get(unknown, unknown)
                    yield from _of_answers(rows, answers, unknown, column, place)


def _names(formulas: Sequence[tree.Formula | tree.Label], pipeline: Pipeline) -> set[str]:
    """The givens and settings of a pipeline in formulas."""
    return {
        node.text
        for formula in formulas
        if not isinstance(formula, tree.Label)
        for node in tree.walk(formula)
        if isinstance(node, tree.Name) and node.text in pipeline.symbols
    }


def _asks_for_itself(step: QuestionStep) -> bool:
    unknowns = step.question.of_kind("unknown")
    goal = step.question.goal
    return len(unknowns) == 1 and isinstance(goal, tree.Name) and goal.text == unknowns[0].name


def _of_answers(
    rows: RowsOfStep, answers: AnswersOfStep, unknown: str, column: str, place: str
) -> Iterator[Diagnostic]:
    for group in answers.groups:
        value = group.found.get(unknown, math.nan)
        if not group.ok or not math.isfinite(value):
            continue
        margin = MARGIN * abs(value)
        low, high = group.ends.get(unknown, (value - margin, value + margin))
        placed = [(x, row) for row in rows.rows if (x := _place(row, group, column)) is not None]
        # beyond the answer in the direction of the goal, no row should be kept, before it each
        beyond = [
            x for x, row in placed if row.kept and (x > high if answers.maximize else x < low)
        ]
        before = [
            x for x, row in placed if not row.kept and (x < low if answers.maximize else x > high)
        ]
        where = "".join(f", {n} = {x}" for n, x in group.labels.items())
        answer = f"`{answers.question}` answers {unknown} = {value:.4g}{where}"
        least, most = (min, max) if answers.maximize else (max, min)
        if beyond:
            message = (
                f"{answer}, and {column} = {most(beyond):g} keeps all conditions of `{rows.name}`"
            )
        elif before:
            message = (
                f"{answer}, and {column} = {least(before):g} fails a condition of `{rows.name}`"
            )
        else:
            continue
        help = (
            "the laws smooth over the rows, and one of the two is wrong: look at the fits, and measure "
            f"near {unknown} = {value:.4g}"
        )
        yield Diagnostic("F0415", message, "warning", place=place, help=help)


def _place(row: KeptRow, group: AnswerOfGroup, column: str) -> float | None:
    """The value of the unknown in a row of the group of an answer; None for other rows."""
    if any(row.labels.get(name, text) != text for name, text in group.labels.items()):
        return None
    try:
        return float(row.labels[column])
    except (KeyError, ValueError):
        return None
