"""One step of a pipeline: its law fitted to each group of rows, and what it hands on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.table import Table
from lawdsl.fitting.build_problem import problem_of
from lawdsl.fitting.options import FitOptions
from lawdsl.pipelines.groups import Fitted, fitted, floored, point_of
from lawdsl.pipelines.parts import Part, parts
from lawdsl.pipelines.plan import Task
from lawdsl.pipelines.pooled_noise import squeezed
from lawdsl.pipelines.step_tables import (
    ERROR,
    check_groups,
    conditions_of,
    factor,
    handed_on,
    in_groups,
    labels_of,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stage:
    """A step that was carried out.

    Attributes:
        task: what it was to do, the law with the settings of the table.
        table: the table that it was given.
        where: the conditions that rows met, in the words of the table.
        parts: its rows as the law sees them.
        groups: all groups, those left out too.
        variance: of the noise of a row of weight 1 of each group, shape (groups,); nan if unknown.
        freedom: the degrees of freedom with which it is known, shape (groups,).
        scatter: how many times more, in variance, rows scatter than their errors say; at least 1,
            shape (groups,).
        handed: the table that it hands on; None for none.
    """

    task: Task
    table: Table
    where: tuple[str, ...]
    parts: tuple[Part, ...]
    groups: tuple[Fitted, ...]
    variance: Array
    freedom: Array
    scatter: Array
    handed: Table | None = None

    @property
    def used(self) -> list[tuple[int, Fitted]]:
        """The groups that were fitted, with their numbers."""
        return [(i, g) for i, g in enumerate(self.groups) if not g.left_out]

    @property
    def to_law(self) -> float:
        """What turns numbers of the output's column into the law's unit."""
        law = self.task.law
        return factor(law, self.table, law.output, self.task.column(law.output))

    def error(self, number: int) -> float:
        """The standard error of a group's prediction, in the law's unit; nan where unknown."""
        ahead = self.groups[number].ahead
        assert ahead is not None
        return float(ahead.errors(self.variance[number])[0])


def stage(task: Task, table: Table, options: FitOptions, *, first: bool, last: bool) -> Stage:
    """Carry out a step.

    Args:
        task: what it is to do.
        table: the measurements, or what the step before handed on.
        options: of the fits: `drop_bad`, `seed`, and `progress`, which is called with how many
            groups are fitted, and of how many.
        first: whether they are measurements, whose errors are not known.
        last: whether its fits, and no predictions, are the answer: they are made whole.

    Raises:
        LawdslError: a table that cannot be used, or no group that can be fitted.
    """
    task = replace(task, law=with_settings_of(task.law, table))
    check_groups(task, table)
    where = conditions_of(task, table)
    own = tuple(parts(task, table, where, options.drop_bad))
    grouped = [(part, rows) for part in own for rows in in_groups(task, table, part.places)]
    sigma = None if first else _sigma(task, table)
    groups = []
    before, problem = None, None
    for part, rows in grouped:
        if part is not before or problem is None:
            assert part.runs.target is not None
            law = part.law
            problem = problem_of(law, part.runs.columns, part.runs.target, law.objective)
            before = part
        group = _group(task, table, part, rows, sigma)
        groups.append(fitted(group, problem, part, rows, options, last=last))
        if options.progress is not None:
            options.progress(len(groups), len(grouped))
    made = Stage(task, table, where, own, tuple(groups), *_noise(groups))
    if not made.used:
        raise LawdslError(_none_fitted(made))
    return made if not task.at else replace(made, handed=_handed(made))


def _group(
    task: Task, table: Table, part: Part, rows: NDArray[np.int64], sigma: Array | None
) -> Fitted:
    """What is known of a group before it is fitted."""
    own = part.places[rows]
    labels = {**labels_of(task, table, own), **part.labels}
    errors = None
    if sigma is not None:
        assert part.runs.target is not None
        errors = sigma[own] / part.runs.target[rows] if part.law.objective.log else sigma[own]
        errors = floored(errors)
    point = point_of(part, rows, task.at, labels) if task.at else None
    return Fitted(part.law, own, labels, errors, point)


def _sigma(task: Task, table: Table) -> Array | None:
    """Errors of the rows in the law's unit, as the step before handed them on."""
    law, column = task.law, task.column(task.law.output)
    if ERROR.format(column) not in table.columns:
        return None
    return table.numbers(ERROR.format(column)) * factor(law, table, law.output, column)


def _noise(groups: Sequence[Fitted]) -> tuple[Array, Array, Array]:
    """Variance, its degrees of freedom and the scatter of each group, from all of them together;
    nan for those left out."""
    used = [g for g in groups if not g.left_out]
    spare, variance = np.array([g.noise for g in used]).reshape(-1, 2).T
    scatter = np.ones(len(used))
    if used and used[0].sigma is not None:
        unit = np.array([g.unit_variance for g in used])
        scatter, freedom = squeezed(variance / unit, spare)
        scatter = np.fmax(scatter, 1.0)  # nan where no group has a spare row: errors are believed
        variance = unit * scatter
    else:
        variance, freedom = squeezed(variance, spare)
    found = np.full((3, len(groups)), np.nan)
    found[:, [i for i, g in enumerate(groups) if not g.left_out]] = variance, freedom, scatter
    return found[0], found[1], found[2]


def _none_fitted(made: Stage) -> Diagnostic:
    reasons = list(dict.fromkeys(g.left_out for g in made.groups))
    message = f"no group of `{made.task.law.name}` can be fitted: {reasons[0]}"
    help = "look at the columns behind `by`, the conditions, and the table"
    notes = tuple(f"also: {reason}" for reason in reasons[1:4])
    return Diagnostic("F0403", message, place=made.table.name, notes=notes, help=help)


def _handed(made: Stage) -> Table:
    """A row a group: its prediction, and the error where all are known."""
    values = np.array([g.ahead.values[0] for _, g in made.used if g.ahead])
    errors = np.array([made.error(number) for number, _ in made.used])
    known = errors if np.isfinite(errors).all() else None
    return handed_on(made.task, made.table, [g.rows for _, g in made.used], values, known)
