"""Step + its rows -> the fits of its groups, with draws of their parameters under noise.

Measurements are fitted group by group; noise of the estimated variance is added to the fitted
values, and every fit is repeated (parametric bootstrap, Efron and Tibshirani (1993), An Introduction
to the Bootstrap, section 6.5). What earlier steps computed has errors in every column, the
variables included: rows weigh by the effective variance var(y) + Σ (∂f/∂x)² var(x) (Orear (1982),
American Journal of Physics 50, 912), and a draw of the fit is the fit to a draw of all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.fitting.diagnostics.diagnose import insufficient_data_errors
from lawdsl.fitting.intervals.prediction_errors import problem_at
from lawdsl.fitting.options import FitOptions
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.multistart import optimum
from lawdsl.fitting.transforms import to_free, to_parameters
from lawdsl.language.printer import print_unit
from lawdsl.law.law import Law
from lawdsl.pipelines.bootstrap_fits import refit_from_several, refit_rows
from lawdsl.pipelines.branching.step_rows import StepRows, one_row_per_group
from lawdsl.pipelines.extrapolations import extrapolation_warnings, extrapolations
from lawdsl.pipelines.groups import floor_errors, prediction_point
from lawdsl.pipelines.parts import StepPart, step_parts
from lawdsl.pipelines.plan import StepTask
from lawdsl.pipelines.premises import broken_premises, once_each
from lawdsl.pipelines.step_tables import column_factor, conditions_of, labels_of, split_into_groups
from lawdsl.pipelines.steps import run_step

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

REWEIGHTED = 3  # fits with weights of the one before: effective variances need a slope
IMPROBABLE_SCATTER = 0.01  # scatter that noise exceeds less often is due to the law
SLOPE_STEP = 1e-5  # relative: step of the slopes of a law by its variables
# relative to the objective: fits of draws that differ by less are the same, compared with noise
DRAWN_LOSS_RTOL = 1e-7
# steps of a draw: valleys of flat laws are long, and their predictions change little along them
DRAWN_STEPS = 80
SEARCHED_DRAWS = 6  # draws of a fit to computed rows that are searched from many starts
FEW_ROWS_STEPS = 150  # steps of each local search of these
FEW_STARTS = 24  # starts of a searched draw
INSIDE = 0.0  # unconstrained parameter: a distance of 1 from a bound, the middle between two
LOW, HIGH = 0.1587, 0.8413  # the central 68 % of draws: a standard error either side


@dataclass(frozen=True)
class FittedGroup:
    """The fit of one group of a step.

    Attributes:
        law: the law.
        labels: column -> the value that all rows have.
        rows: the positions of its rows in the table of the step.
        theta: the parameters, shape (parameters,); empty where it is left out.
        refitted: the function that repeats the fit under noise; None without draws.
        problem: the objective with its data; None where it is left out.
        row_errors: standard errors of the variables of its rows, then of the output, 0 for what is
            exact, shape (variables + 1, rows); None where all are.
        scatter: the variance of rows about the law, as a multiple of what their errors explain;
            None where that is not known.
        excess: whether noise explains that scatter in less than 1 % of cases.
        point: the variables at its prediction, shape (variables, 1); None for none.
        stopped_early: the reason why the search stopped before it converged.
        left_out: the reason why it is not used.
    """

    law: Law
    labels: Mapping[str, str]
    rows: Rows
    theta: Array = field(default_factory=lambda: np.zeros(0))
    refitted: Callable[[], tuple[Array, NDArray[np.bool_]]] | None = None
    problem: Problem | None = None
    row_errors: Array | None = None
    scatter: float | None = None
    excess: bool = False
    point: Array | None = None
    stopped_early: str = ""
    left_out: str = ""

    @property
    def has_draws(self) -> bool:
        """Whether the fit is repeated under noise."""
        return self.refitted is not None

    @cached_property
    def draws(self) -> Array:
        """The parameters under noise, shape (draws, parameters); nan where a draw has none. They are
        computed when they are first asked for."""
        assert self.refitted is not None
        return self.refitted()[0]

    @property
    def drawn_already(self) -> bool:
        """Whether the draws have been asked for."""
        return "draws" in self.__dict__

    @property
    def values(self) -> dict[str, float]:
        """Parameter -> its value; empty where it is left out."""
        if self.left_out:
            return {}
        names = [q.name for q in self.law.parameters]
        return dict(zip(names, map(float, self.theta), strict=True))

    def at(self, columns: Array, *, draws: bool = True) -> tuple[Array, Array | None]:
        """The law at points, shape (points,), and its draws, shape (draws, points).

        Args:
            columns: the variables, shape (variables, points), in the law's units.
            draws: whether to return draws if there are some.
        """
        assert self.problem is not None
        elsewhere = problem_at(self.problem, columns)
        drawn = elsewhere.predictions(self.draws) if draws and self.has_draws else None
        return elsewhere.predictions(self.theta[None])[0], drawn


@dataclass(frozen=True)
class FittedStep:
    """A law fitted to the groups of a step, and what it hands on.

    Attributes:
        name: what later steps call it.
        task: its task.
        source: the rows that it was fitted to.
        where: the conditions, in the columns of the table.
        groups: the groups.
        handed_on: its predictions; None without a point.
        warnings: what its rows break that the law presupposes, and predictions beyond them.
    """

    name: str
    task: StepTask
    source: StepRows
    where: tuple[str, ...]
    groups: tuple[FittedGroup, ...]
    handed_on: StepRows | None = None
    warnings: tuple[Diagnostic, ...] = ()


def fit_measurements(
    name: str, task: StepTask, source: StepRows, options: FitOptions, draws: int, seed: int
) -> FittedStep:
    """Fit the law of a step to measurements, group by group.

    Args:
        name: what later steps call it.
        task: its task.
        source: the measurements.
        options: as for `run_step`.
        draws: the number of draws of the noise; 0 for none.
        seed: the seed of the draws.

    Raises:
        LawdslError: a table that cannot be used, or no group that can be fitted.
    """
    stage = run_step(task, source.table, options, first=True, last=False, lenient=True)
    rng = np.random.default_rng(seed)
    groups = []
    for number, group in enumerate(stage.groups):
        fitted = FittedGroup(group.law, group.labels, group.rows, left_out=group.left_out)
        if not group.left_out:
            assert group.problem is not None
            fitted = replace(
                fitted,
                theta=group.theta,
                problem=group.problem,
                point=group.point,
                stopped_early=group.stopped_early,
            )
            variance, freedom = stage.variance[number], stage.degrees_of_freedom[number]
            if draws and np.isfinite(variance) and freedom > 0:
                targets = _drawn_targets(group.problem, group.theta, variance, freedom, draws, rng)
                starts = [group.theta, *_inside(group.problem, group.theta, tuple(group.bounds))]
                refitted = partial(
                    refit_from_several, group.problem, starts, targets, DRAWN_LOSS_RTOL, DRAWN_STEPS
                )
                fitted = replace(fitted, refitted=refitted)
        groups.append(fitted)
    step = FittedStep(name, stage.task, source, stage.where, tuple(groups), None, stage.warnings)
    return _with_predictions(step)


def _inside(problem: Problem, theta: Array, bounds: Sequence[str]) -> list[Array]:
    """A start for draws of a fit with parameters on bounds: these moved inside; none without."""
    if not bounds:
        return []
    free = to_free(problem.transforms, theta[None])
    free[0, [transform.name in bounds for transform in problem.transforms]] = INSIDE
    return [to_parameters(problem.transforms, free)[0]]


def _drawn_targets(
    problem: Problem,
    theta: Array,
    variance: float,
    freedom: float,
    draws: int,
    rng: np.random.Generator,
) -> Array:
    """Measured values drawn about a fit, shape (draws, rows)."""
    # the estimated variance is itself uncertain
    deviation = np.sqrt(variance * freedom / rng.chisquare(freedom, size=(draws, 1)))
    noise = deviation * rng.normal(size=(draws, problem.rows))
    fitted = problem.predictions(theta[None])
    return np.asarray(fitted * np.exp(noise) if problem.objective.log else fitted + noise)


def fit_computed(
    name: str, task: StepTask, source: StepRows, options: FitOptions, draws: int, seed: int
) -> FittedStep:
    """Fit the law of a step to what earlier steps computed.

    Args:
        name: what later steps call it.
        task: its task.
        source: the rows, with draws of the columns that were computed.
        options: as for `run_step`.
        draws: the number of draws of the noise; 0 for none.
        seed: the seed of the draws.

    Raises:
        LawdslError: a table that cannot be used.
    """
    law = task.law
    if task.column(law.output) not in source.table.columns and source.output:
        task = replace(task, columns={**task.columns, law.output: source.output})
    where = conditions_of(task, source.table)
    if not len(source.table):
        reason = f"no row is left for `{law.name}`"
        empty = np.zeros(0, dtype=np.int64)
        return FittedStep(
            name, task, source, where, (FittedGroup(law, {}, empty, left_out=reason),)
        )
    rng = np.random.default_rng(seed)
    # rows that a law cannot take, such as a turning point at 0, are left out
    grouped = [
        (part, rows)
        for part in step_parts(task, source.table, where, drop_bad=True)
        for rows in split_into_groups(task, source.table, part.positions)
    ]
    groups = tuple(
        _fit_group(task, part, rows, source, options, rng, bool(draws)) for part, rows in grouped
    )
    warnings = once_each(broken_premises(grouped))
    return _with_predictions(FittedStep(name, task, source, where, groups, None, warnings))


def _fit_group(
    task: StepTask,
    part: StepPart,
    rows: Rows,
    source: StepRows,
    options: FitOptions,
    rng: np.random.Generator,
    drawn: bool,
) -> FittedGroup:
    law, positions = part.law, part.positions[rows]
    labels = {**labels_of(task, source.table, positions), **part.labels}
    assert part.runs.target is not None
    problem = problem_of(law, part.runs.columns, part.runs.target, law.objective).subset(rows)
    group = FittedGroup(law, labels, positions)
    too_few = insufficient_data_errors(prepare(law), problem)
    if too_few:
        return replace(group, left_out=too_few[0].message)
    names = [*(q.name for q in law.variables), law.output]
    columns = _drawn_columns(task, source, names, positions) if drawn else {}
    exact = np.zeros(problem.rows)
    spreads = [_spread(columns[n]) if n in columns else exact for n in names]
    errors = np.array(spreads) if columns else None
    problem, theta, early = _weighted_fit(law, problem, errors, options.seed)
    group = replace(group, problem=problem, theta=theta, stopped_early=early, row_errors=errors)
    if task.point:
        point = prediction_point(part, rows, task.point, labels)
        group = replace(group, point=point)
    if errors is None:
        return group
    scatter, excess = _scatter(problem, theta, errors)
    group = replace(group, scatter=scatter, excess=excess)
    count = len(next(iter(columns.values())))
    variables = np.array(
        [
            columns.get(q.name, np.broadcast_to(problem.columns[i], (count, problem.rows)))
            for i, q in enumerate(law.variables)
        ]
    ).reshape(-1, count, problem.rows)
    targets = columns.get(law.output, np.broadcast_to(problem.target, (count, problem.rows)))
    if excess and scatter is not None:
        deviation = np.sqrt(scatter - 1) * _effective_errors(problem, theta, errors)
        targets = targets + deviation * rng.normal(size=targets.shape)
    usable = np.isfinite(targets) & np.isfinite(variables).all(axis=0)
    for i, q in enumerate(law.variables):
        if q.name in columns and np.min(problem.columns[i]) > 0:
            usable &= variables[i] > 0
    refitted = partial(_refit_draws, law, problem, theta, variables, targets, usable)
    return replace(group, refitted=refitted)


def _refit_draws(
    law: Law,
    problem: Problem,
    theta: Array,
    variables: Array,
    targets: Array,
    usable: NDArray[np.bool_],
) -> tuple[Array, NDArray[np.bool_]]:
    """The fits of all draws, from the fit itself and from the optima of the few draws that fit worst.

    A local search does not cross a gap between parameters, such as the power 0 of a*x^s + b, beyond
    which the best fit of many draws may lie.
    """
    best, settled, losses = refit_rows(problem, theta, variables, targets, usable, FEW_ROWS_STEPS)
    open_draws = np.array(usable.all(axis=1))
    for _ in range(SEARCHED_DRAWS):
        if not open_draws.any():
            break
        # the draw that fits worst: its search is the most likely to have ended before a gap
        draw = int(np.argmax(np.where(open_draws, losses, -np.inf)))
        open_draws[draw] = False
        own = replace(problem, model=problem.model.on(variables[:, draw]), target=targets[draw])
        with np.errstate(all="ignore"):  # searches pass through points where a law overflows
            start = optimum(prepare(law), own, starts=FEW_STARTS, seed=draw).theta
        other, also, of_other = refit_rows(
            problem, start, variables, targets, usable, FEW_ROWS_STEPS
        )
        better = of_other < losses
        best[better], settled[better] = other[better], also[better]
        losses[better] = of_other[better]
    return best, settled


def _drawn_columns(
    task: StepTask, source: StepRows, names: Sequence[str], positions: Rows
) -> dict[str, Array]:
    """Variable or output -> its draws at some rows, in the law's units, shape (draws, rows)."""
    drawn = {}
    for name in names:
        column = task.column(name)
        if column in source.draws:
            factor = column_factor(task.law, source.table, name, column)
            drawn[name] = source.draws[column][:, positions] * factor
    return drawn


def _spread(draws: Array) -> Array:
    """Half the width of the central 68 % of draws, shape (rows,); inf where too many are infinite."""
    known = np.where(np.isnan(draws), np.inf, draws)
    with np.errstate(all="ignore"):
        low, high = np.quantile(known, [LOW, HIGH], axis=0, method="nearest")
        half = (high - low) / 2
    return np.asarray(np.where(np.isfinite(half), half, np.inf))


def _weighted_fit(
    law: Law, problem: Problem, errors: Array | None, seed: int
) -> tuple[Problem, Array, str]:
    """The problem with its weights, the parameters, and why the search stopped early."""
    with np.errstate(all="ignore"):  # searches pass through points where a law overflows
        best = optimum(prepare(law), problem, seed=seed)
        for _ in range(0 if errors is None else REWEIGHTED):
            assert errors is not None
            sigma = _effective_errors(problem, best.theta, errors)
            known = np.isfinite(sigma) & (sigma > 0)
            if not known.any():
                break
            # a row whose error is not known counts as ten times the worst that is
            sigma = np.where(known, sigma, 10 * np.max(sigma[known]))
            weights = 1 / floor_errors(sigma) ** 2
            problem = replace(problem, weights=weights / float(np.mean(weights)))
            best = optimum(prepare(law), problem, seed=seed)
    return problem, best.theta, "" if best.converged else best.reason


def _effective_errors(problem: Problem, theta: Array, errors: Array) -> Array:
    """sqrt(var(y) + Σ (∂f/∂x)² var(x)) of each row, in the scale of the output, shape (rows,)."""
    variance = errors[-1] ** 2
    for position, error in enumerate(errors[:-1]):
        if not error.any():
            continue
        step = np.zeros_like(problem.columns)
        step[position] = SLOPE_STEP * np.maximum(np.abs(problem.columns[position]), 1e-12)
        above = problem_at(problem, problem.columns + step).predictions(theta[None])[0]
        below = problem_at(problem, problem.columns - step).predictions(theta[None])[0]
        variance = variance + ((above - below) / (2 * step[position]) * error) ** 2
    return np.asarray(np.sqrt(variance))


def _scatter(problem: Problem, theta: Array, errors: Array) -> tuple[float | None, bool]:
    """The variance of rows about the law as a multiple of what their errors explain, and whether
    noise explains it in less than 1 % of cases."""
    freedom = problem.rows - problem.parameters
    sigma = _effective_errors(problem, theta, errors)
    if freedom < 1 or not (np.isfinite(sigma) & (sigma > 0)).all():
        return None, False
    residual = problem.predictions(theta[None])[0] - problem.target
    total = float(np.sum((residual / sigma) ** 2))
    return total / freedom, bool(chi2.sf(total, freedom) < IMPROBABLE_SCATTER)


def _with_predictions(step: FittedStep) -> FittedStep:
    """The step with the table of its predictions, if it has a point."""
    used = [g for g in step.groups if not g.left_out and g.point is not None]
    if not step.task.point or not used:
        return step
    values, drawn = [], []
    for group in used:
        assert group.point is not None
        at_point, draws = group.at(group.point)
        values.append(at_point[0])
        drawn.append(None if draws is None else draws[:, 0])
    law = step.task.law
    output = step.task.column(law.output)
    unit = law.declarations.output.unit
    columns = {output: np.array(values)}
    units = {output: print_unit(unit)} if unit else {}
    for variable, number in step.task.point.items():
        columns[step.task.column(variable)] = np.full(len(used), number)
    # in the units of the law, whatever those of the table
    table = one_row_per_group(step.source.table, [g.rows for g in used], columns, units)
    beyond = [
        e
        for g in used
        if g.problem is not None and g.point is not None
        for e in extrapolations(
            f"`{step.name or law.name}` predicts", law, g.problem.columns, g.point[:, 0], g.labels
        )
    ]
    warnings = extrapolation_warnings(beyond, len(step.groups), step.source.table.name)
    draws_of = {} if any(d is None for d in drawn) else {output: np.array(drawn).T}
    labels = tuple(g.labels for g in used)
    return replace(
        step,
        handed_on=StepRows(table, labels, draws_of, output),
        warnings=(*step.warnings, *warnings),
    )
