"""Task + its table -> Stage: the law fitted to each group of rows, and the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.table import Table
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.pipelines.groups import GroupFit, fit_group, floor_errors, prediction_point
from lawdsl.pipelines.parts import StepPart, step_parts
from lawdsl.pipelines.plan import StepTask
from lawdsl.pipelines.pooled_noise import shrink_variances
from lawdsl.pipelines.premises import broken_premises, once_each
from lawdsl.pipelines.step_tables import (
    ERROR_COLUMN,
    check_groups,
    column_factor,
    conditions_of,
    labels_of,
    output_table,
    split_into_groups,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stage:
    """A completed step.

    Attributes:
        task: its task, the law with the settings of the table.
        table: its input.
        where: the conditions that rows satisfied, in the column names and units of the table.
        parts: its rows, bound to the law.
        groups: all groups, including excluded ones.
        variance: the variance of the noise of a row of weight 1 of each group, shape (groups,); nan
            if unknown.
        degrees_of_freedom: the degrees of freedom of that variance, shape (groups,).
        scatter: the ratio of the variance of rows about the law to that of their errors; at least
            1, shape (groups,).
        output_table: the table of its predictions; None without predictions.
        warnings: what its rows break that the law presupposes.
    """

    task: StepTask
    table: Table
    where: tuple[str, ...]
    parts: tuple[StepPart, ...]
    groups: tuple[GroupFit, ...]
    variance: Array
    degrees_of_freedom: Array
    scatter: Array
    output_table: Table | None = None
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def fitted_groups(self) -> list[tuple[int, GroupFit]]:
        """The groups that were fitted, with their numbers."""
        return [(i, g) for i, g in enumerate(self.groups) if not g.left_out]

    @property
    def to_law(self) -> float:
        """The factor that converts numbers in the column of the output to the law's unit."""
        law = self.task.law
        return column_factor(law, self.table, law.output, self.task.column(law.output))

    def error(self, number: int) -> float:
        """The standard error of a group's prediction, in the law's unit; nan where unknown."""
        ahead = self.groups[number].prediction
        assert ahead is not None
        return float(ahead.errors(self.variance[number])[0])


def run_step(
    task: StepTask,
    table: Table,
    options: FitOptions,
    *,
    first: bool,
    last: bool,
    lenient: bool = False,
) -> Stage:
    """Run one step of a pipeline.

    Args:
        task: its task.
        table: the measurements, or the predictions of the previous step.
        options: the options of the fits: `drop_bad`, `seed`, and `progress`, which is called with
            the number of groups fitted, and their total.
        first: whether the table contains measurements, whose errors are not known.
        last: whether the result of the step is its fits, which are then complete, instead of
            predictions.
        lenient: whether fits are used whose search stopped early.

    Raises:
        LawdslError: a table that cannot be used, or no group that can be fitted.
    """
    task = replace(task, law=with_settings_of(task.law, table))
    check_groups(task, table)
    where = conditions_of(task, table)
    all_parts = tuple(step_parts(task, table, where, options.drop_bad))
    grouped = [
        (part, rows)
        for part in all_parts
        for rows in split_into_groups(task, table, part.positions)
    ]
    sigma = None if first else _row_errors(task, table)
    groups = []
    previous_part, problem = None, None
    for part, rows in grouped:
        # all groups of a part share one compiled law
        if part is not previous_part or problem is None:
            assert part.runs.target is not None
            law = part.law
            problem = problem_of(law, part.runs.columns, part.runs.target, law.objective)
            previous_part = part
        group = _describe_group(task, table, part, rows, sigma)
        groups.append(fit_group(group, problem, part, rows, options, last=last, lenient=lenient))
        if options.progress is not None:
            options.progress(len(groups), len(grouped))
    stage = Stage(task, table, where, all_parts, tuple(groups), *_pooled_noise(groups))
    stage = replace(stage, warnings=once_each(broken_premises(grouped)))
    if not stage.fitted_groups:
        raise LawdslError(_no_group_fitted(stage))
    return (
        stage
        if not task.point or lenient
        else replace(stage, output_table=_predictions_table(stage))
    )


def _describe_group(
    task: StepTask, table: Table, part: StepPart, rows: NDArray[np.int64], sigma: Array | None
) -> GroupFit:
    """The group before its fit: rows, labels, errors and point."""
    positions = part.positions[rows]
    labels = {**labels_of(task, table, positions), **part.labels}
    errors = None
    if sigma is not None:
        assert part.runs.target is not None
        errors = (
            sigma[positions] / part.runs.target[rows]
            if part.law.objective.log
            else sigma[positions]
        )
        errors = floor_errors(errors)
    point = prediction_point(part, rows, task.point, labels) if task.point else None
    return GroupFit(part.law, positions, labels, errors, point)


def _row_errors(task: StepTask, table: Table) -> Array | None:
    """Standard errors of the rows in the law's unit, from the previous step; None where they are
    unknown.
    """
    law, column = task.law, task.column(task.law.output)
    if ERROR_COLUMN.format(column) not in table.columns:
        return None
    return table.numbers(ERROR_COLUMN.format(column)) * column_factor(
        law, table, law.output, column
    )


def _pooled_noise(groups: Sequence[GroupFit]) -> tuple[Array, Array, Array]:
    """The variance, its degrees of freedom and the scatter of each group, pooled over all groups;
    nan for excluded ones."""
    used_groups = [g for g in groups if not g.left_out]
    spare, variance = np.array([g.noise for g in used_groups]).reshape(-1, 2).T
    scatter = np.ones(len(used_groups))
    if used_groups and used_groups[0].sigma is not None:
        unit = np.array([g.unit_variance for g in used_groups])
        scatter, freedom = shrink_variances(variance / unit, spare)
        # nan without residual degrees of freedom: errors are trusted
        scatter = np.fmax(scatter, 1.0)
        variance = unit * scatter
    else:
        variance, freedom = shrink_variances(variance, spare)
    pooled = np.full((3, len(groups)), np.nan)
    pooled[:, [i for i, g in enumerate(groups) if not g.left_out]] = variance, freedom, scatter
    return pooled[0], pooled[1], pooled[2]


def _no_group_fitted(stage: Stage) -> Diagnostic:
    reasons = list(dict.fromkeys(g.left_out for g in stage.groups))
    message = f"no group of `{stage.task.law.name}` can be fitted: {reasons[0]}"
    help = "look at the columns behind `by`, the conditions, and the table"
    notes = tuple(f"also: {reason}" for reason in reasons[1:4])
    return Diagnostic("F0403", message, place=stage.table.name, notes=notes, help=help)


def _predictions_table(stage: Stage) -> Table:
    """One row per group: its prediction, and the error where all errors are known."""
    values = np.array([g.prediction.values[0] for _, g in stage.fitted_groups if g.prediction])
    errors = np.array([stage.error(number) for number, _ in stage.fitted_groups])
    finite_errors = errors if np.isfinite(errors).all() else None
    return output_table(
        stage.task, stage.table, [g.rows for _, g in stage.fitted_groups], values, finite_errors
    )
