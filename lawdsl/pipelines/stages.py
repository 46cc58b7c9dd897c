"""One step of a pipeline: its law fitted to each group of rows, and its predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.data.binding import Runs, bind
from lawdsl.data.noted import with_settings_of
from lawdsl.data.table import Table, places
from lawdsl.data.tables import read_table
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.diagnosis import at_bounds, too_little, worse_than_constant
from lawdsl.fitting.fit import fit
from lawdsl.fitting.fitted import Fit
from lawdsl.fitting.intervals.noise import noise_of
from lawdsl.fitting.intervals.predictions import Predictions, predictions
from lawdsl.fitting.optimum import optimum
from lawdsl.fitting.problem import Problem, problem_of
from lawdsl.pipelines.handing import (
    ERROR,
    check_groups,
    conditions_of,
    factor,
    handed_on,
    in_groups,
    labels_of,
)
from lawdsl.pipelines.plan import Task
from lawdsl.pipelines.scatter import squeezed

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Report = Callable[[int, int], None] | None

FLOOR = 0.3  # of the usual error of the rows of a group: none counts as smaller
ROUNDING = 1e-9  # relative: errors that are nothing but rounding


@dataclass(frozen=True)
class Fitted:
    """The fit of a group.

    Attributes:
        rows: the places of its rows in the table of its stage.
        labels: what they have in common.
        problem: the fit, rows weighted by their errors; None where there can be none.
        theta: the fitted parameters, shape (parameters,).
        bounds: parameter -> the side of its domain on whose end it lies.
        sigma: errors of the rows in the scale of the residuals, shape (rows,); None where unknown.
        point: the variables where it predicts, shape (variables, 1); None for no point.
        ahead: the prediction there.
        fit: the whole fit, in the last step.
        left_out: why it is not used.
    """

    rows: Rows
    labels: Mapping[str, str]
    problem: Problem | None = None
    theta: Array = field(default_factory=lambda: np.zeros(0))
    bounds: Mapping[str, str] = field(default_factory=dict)
    sigma: Array | None = None
    point: Array | None = None
    ahead: Predictions | None = None
    fit: Fit | None = None
    left_out: str = ""

    @property
    def unit_variance(self) -> float:
        """The variance of a row of weight 1, if its error is all its noise."""
        assert self.sigma is not None
        return 1 / float(np.mean(1 / self.sigma**2))


@dataclass(frozen=True)
class Stage:
    """A step that was carried out.

    Attributes:
        task: what it was to do, the law with the settings of the table.
        table: its rows.
        origin: the place of each row in the table of the step before, shape (rows,).
        runs: the rows as the law sees them.
        where: the conditions that they met.
        groups: all groups, those left out too.
        variance: of the noise of a row of weight 1 of each group, shape (groups,); nan if unknown.
        freedom: the degrees of freedom with which it is known, shape (groups,).
        scatter: how many times more, in variance, rows scatter than their errors say; at least 1,
            shape (groups,).
        handed: the table that it hands on; None for none.
    """

    task: Task
    table: Table
    origin: Rows
    runs: Runs
    where: tuple[str, ...]
    groups: tuple[Fitted, ...]
    variance: Array
    freedom: Array
    scatter: Array
    handed: Table | None

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


def stage(
    task: Task, table: Table, *, first: bool, last: bool, drop_bad: bool, seed: int, report: Report
) -> Stage:
    """Carry out a step.

    Args:
        task: what it is to do.
        table: the measurements, or what the step before handed on.
        first: whether they are measurements, whose errors are not known.
        last: whether its fits are the answer: they are made whole.
        drop_bad: leave bad rows out.
        seed: of the starts.
        report: called with how many groups are fitted, and of how many.

    Raises:
        LawdslError: a table that cannot be used, or no group that can be fitted.
    """
    task = replace(task, law=with_settings_of(task.law, table))
    law = task.law
    check_groups(task, table)
    bindings = {q.name: task.column(q.name) for q in law.variables}
    bindings[law.output] = task.column(law.output)
    where = conditions_of(task, table)
    runs = bind(
        law, table, bindings, where=where, drop_bad=drop_bad, positive=law.objective.log
    )
    own = table.at(runs.rows)
    sigma = None if first else _sigma(task, own, runs)
    assert runs.target is not None
    problem = problem_of(law, runs.columns, runs.target, law.objective)
    groups = in_groups(task, own)
    found = []
    for number, rows in enumerate(groups):
        labels = labels_of(task, own, rows)
        group = Fitted(rows, labels, sigma=None if sigma is None else _floored(sigma[rows]))
        if task.at:
            group = replace(group, point=_point(task, runs, rows, labels))
        found.append(_fitted(task, problem, group, own, bindings, last=last, seed=seed))
        if report is not None:
            report(number + 1, len(groups))
    made = _with_noise(task, own, runs, where, found, places(table.rows, runs.rows))
    if not made.used:
        raise LawdslError(_none_fitted(made))
    if not task.at:
        return made
    values = np.array([g.ahead.values[0] for _, g in made.used if g.ahead])
    errors = np.array([made.error(i) for i, _ in made.used])
    known = errors if np.isfinite(errors).all() else None
    kept = [g.rows for _, g in made.used]
    return replace(made, handed=handed_on(task, own, kept, values, known))


def _sigma(task: Task, table: Table, runs: Runs) -> Array | None:
    """Errors of the rows in the scale of the residuals, as the step before handed them on."""
    law, column = task.law, task.column(task.law.output)
    if ERROR.format(column) not in table.columns:
        return None
    errors = table.numbers(ERROR.format(column)) * factor(law, table, law.output, column)
    assert runs.target is not None
    return errors / runs.target if law.objective.log else errors


def _floored(sigma: Array) -> Array:
    """Errors of which none is so small that its row would rule all others."""
    return np.maximum(sigma, max(FLOOR * float(np.median(sigma)), ROUNDING))


def _point(task: Task, runs: Runs, rows: Rows, labels: Mapping[str, str]) -> Array:
    """The variables at the point of a group: those behind `at`, and what its rows share.

    Raises:
        LawdslError: a variable that is neither, or a point outside the law's domain.
    """
    law = task.law
    values = {}
    for q, column in zip(law.variables, runs.columns, strict=True):
        if q.name not in task.at and np.ptp(column[rows]) > 0:
            group = ", ".join(f"{k} = {v}" for k, v in labels.items())
            message = f"`{law.name}` predicts at one point, and {q.name} has several values"
            message += f" where {group}" if group else ""
            help = f"say which: `at {q.name} = …`; or tell groups apart by it: `by {q.name}`"
            raise LawdslError(Diagnostic("F0402", message, place=runs.name, help=help))
        values[q.name] = [task.at.get(q.name, float(column[rows[0]]))]
    table = replace(read_table(values), name=f"the point of `{law.name}`")
    return bind(law, table, {}, target=False).columns


def _fitted(
    task: Task,
    whole: Problem,
    group: Fitted,
    table: Table,
    bindings: Mapping[str, str],
    *,
    last: bool,
    seed: int,
) -> Fitted:
    """The fit of a group, and its prediction; or why there is none."""
    law, weights = task.law, None
    if group.sigma is not None:
        weights = 1 / group.sigma**2
        weights /= np.mean(weights)
    problem = replace(whole.subset(group.rows), weights=weights)
    impossible = too_little(law, problem)
    if impossible:
        return replace(group, left_out=impossible[0].message)
    try:
        if last:
            some = table.at(table.rows[group.rows])
            made = fit(law, some, weights=weights, claims=False, seed=seed, columns=bindings)
            theta = np.array([made.values[q.name] for q in law.parameters])
            group = replace(group, fit=made)
        else:
            with np.errstate(all="ignore"):  # searches pass where a law overflows
                best = optimum(law, problem, seed=seed)
            theta = best.theta
            if not best.converged:
                return replace(group, left_out=f"the search stopped early: {best.reason}")
            worse = worse_than_constant(problem, theta)
            if worse:
                return replace(group, left_out=worse[0].message)
    except LawdslError as error:
        return replace(group, left_out=error.diagnostics[0].message)
    with np.errstate(all="ignore"):
        _, bounds = at_bounds(law, problem, theta)
    group = replace(group, problem=problem, theta=theta, bounds=bounds)
    return group if group.point is None else _ahead(problem, group)


def _ahead(problem: Problem, group: Fitted) -> Fitted:
    """The group with its prediction, unless its rows do not determine it."""
    assert group.point is not None
    ahead = predictions(problem, group.theta, group.point)
    value = float(ahead.values[0])
    if not np.isfinite(value):
        return replace(group, left_out="the law has no value at the point")
    if not np.isfinite(ahead.reach[0]):
        return replace(group, left_out="its rows do not determine the prediction")
    return replace(group, ahead=ahead)


def _with_noise(
    task: Task,
    table: Table,
    runs: Runs,
    where: tuple[str, ...],
    groups: Sequence[Fitted],
    origin: Rows,
) -> Stage:
    """The stage, and what all its groups together say of their noise."""
    used = [g for g in groups if not g.left_out]
    spare, variance = np.array([_noise(g) for g in used]).reshape(-1, 2).T
    scatter = np.ones(len(used))
    if used and used[0].sigma is not None:
        unit = np.array([g.unit_variance for g in used])
        scatter, freedom = squeezed(variance / unit, spare)
        scatter = np.fmax(scatter, 1.0)  # nan where no group has a spare row: errors are believed
        variance = unit * scatter
    else:
        variance, freedom = squeezed(variance, spare)
    return Stage(
        task,
        table,
        origin,
        runs,
        where,
        tuple(groups),
        *(_spread(groups, values) for values in (variance, freedom, scatter)),
        None,
    )


def _noise(group: Fitted) -> tuple[float, float]:
    """How many rows a group has beyond its parameters, and the variance of a row of weight 1."""
    problem = group.problem
    assert problem is not None
    free = problem.parameters - len(group.bounds)
    residual = problem.slopes(group.theta[None])[0][0]
    return float(problem.rows - free), noise_of(problem, residual, free).tau2


def _none_fitted(made: Stage) -> Diagnostic:
    reasons = dict.fromkeys(g.left_out for g in made.groups)
    message = f"no group of `{made.task.law.name}` can be fitted: {next(iter(reasons))}"
    help = "look at the columns behind `by`, the conditions, and the table"
    notes = tuple(f"also: {reason}" for reason in list(reasons)[1:4])
    return Diagnostic("F0403", message, place=made.table.name, notes=notes, help=help)


def _spread(groups: Sequence[Fitted], values: Array) -> Array:
    """Values of the groups that are used, each at its group's place; nan elsewhere."""
    found = np.full(len(groups), np.nan)
    found[[i for i, g in enumerate(groups) if not g.left_out]] = values
    return found
