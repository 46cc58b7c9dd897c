"""Pipeline + table -> PipelineResult: step after step, then noise propagated through all steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import as_texts
from lawdsl.data.binding import chosen_rows
from lawdsl.data.read import read_table
from lawdsl.fitting.fit import without_priors
from lawdsl.fitting.options import FitOptions, check_level, check_seed, is_whole
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.result_parts import Intervals
from lawdsl.language import library
from lawdsl.language.pipeline_records import Pipeline
from lawdsl.language.printer import print_unit
from lawdsl.pipelines.branching.result import PipelineAnswers
from lawdsl.pipelines.branching.run import run_branching
from lawdsl.pipelines.extrapolations import extrapolation_warnings, extrapolations
from lawdsl.pipelines.parametric_bootstrap import BootstrapDraws, propagate_noise
from lawdsl.pipelines.plan import step_tasks
from lawdsl.pipelines.premises import once_each
from lawdsl.pipelines.ranks import ranks_by_size
from lawdsl.pipelines.result import Group, PipelineResult, StepResult
from lawdsl.pipelines.steps import Stage, run_step
from lawdsl.pipelines.wide_tables import long_table

Array = NDArray[np.float64]

PIPELINE_DRAWS = 200
MAX_PIPELINE_DRAWS = 100_000
MIN_PIPELINE_DRAWS = 50
MAX_NAMED_GROUPS = 4  # groups that one message names
MIN_USABLE_SHARE = 0.5  # share of the draws: if fewer converged, there is no interval
MAX_FAILED_SHARE = 0.05  # share of the draws: if more did not converge, there is a warning


def run_pipeline(
    pipeline: str | Path,
    table: Any,
    /,
    *,
    settings: Mapping[str, float | Sequence[float]] | None = None,
    by: Sequence[str] = (),
    where: str | Sequence[str] = (),
    draws: int = PIPELINE_DRAWS,
    level: float = 0.95,
    drop_bad: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    columns: Mapping[str, str] | None = None,
    **named_columns: str,
) -> PipelineResult | PipelineAnswers:
    """Run a pipeline: fit the law of each step to its groups of rows, and pass on its predictions.

    A prediction's standard error is that of the noise of its group's rows, by the delta method; the
    groups of a step are pooled to estimate the noise (Smyth (2004)). The next fit weighs rows by
    the inverse squares of their errors, none of which counts as less than 0.3 times the median of
    its group. Where the rows of the next step have a larger variance about its law than their
    errors explain, that variance is multiplied by their ratio, the square of the Birge ratio (Birge
    (1932), Physical Review 40). Intervals at the end are those of a parametric bootstrap through
    all steps; `lawdsl.pipelines.parametric_bootstrap` describes what they account for. In
    particular they do not account for the bias of checkpoints of a longer schedule, which are not
    finished runs.

    Args:
        pipeline: the name of a shipped one, or the path of its file.
        table: a path (CSV, Parquet, SQLite), a data frame, an Arrow table or a mapping of arrays.
        settings: values of its givens, in their units, and of its own settings or those of its
            laws; several values of one if only questions depend on it.
        by: columns of groups that all steps treat apart, such as the size of the model.
        where: conditions on the rows of the table, "size = 1B", "step > 0", before the first step.
        draws: the number of draws of the noise; 0 for no intervals.
        level: the level of the intervals.
        drop_bad: exclude bad rows instead of refusing the table.
        seed: the seed of starts and draws; the same seed gives the same result.
        progress: called with the number of fits of a step done, and their total.
        columns: name of a variable, output or group -> column, where the names differ.
        named_columns: further entries of `columns` as keywords, L="loss", mixture="run".

    Returns:
        The tables of all steps and the fits of the last; of a pipeline that branches or asks
        questions its fits, answers and kept rows. Groups that could not be fitted are excluded;
        `diagnostics` lists them.

    Raises:
        LawdslError: a pipeline, value or table that cannot be used, or a step in which no group can
            be fitted.
    """
    declared, warnings = library.pipeline(str(pipeline))
    check_seed(seed)
    _check_draws(draws, level)
    bindings = {**(columns or {}), **named_columns}
    by = [by] if isinstance(by, str) else list(by)
    if declared.branches:
        answers = run_branching(
            declared,
            chosen_rows(read_table(table, bindings), as_texts(where), drop_bad)[0],
            settings or {},
            bindings,
            by,
            draws=draws,
            level=level,
            options=FitOptions(seed=int(seed), drop_bad=drop_bad, progress=progress),
        )
        diagnostics = (*warnings, *answers.diagnostics)
        return replace(answers, diagnostics=diagnostics, where=as_texts(where))
    numbers = _single_values(declared, settings or {})
    values, tasks = step_tasks(declared, numbers, bindings)
    step_table, _ = chosen_rows(read_table(table, bindings), as_texts(where), drop_bad)
    step_table, long_bindings = long_table(tasks, step_table, bindings)
    if long_bindings != bindings:
        values, tasks = step_tasks(declared, numbers, long_bindings)
    laws, unused = without_priors([task.law for task in tasks], "pipelines")
    tasks = tuple(
        replace(task, law=law, group_by=(*by, *task.group_by))
        for task, law in zip(tasks, laws, strict=True)
    )
    options = FitOptions(seed=int(seed), progress=progress)
    stages: list[Stage] = []
    name, output = step_table.name, None
    for number, task in enumerate(tasks):
        if output is not None and task.law.output not in task.columns:
            task = replace(task, columns={**task.columns, task.law.output: output})
        last = number == len(tasks) - 1 and not task.point
        stage = run_step(
            task,
            step_table,
            replace(options, drop_bad=drop_bad and number == 0),
            first=number == 0,
            last=last,
        )
        stages.append(stage)
        step_table, output = stage.output_table or step_table, task.column(task.law.output)
    errors_known = len(stages) > 1 and all(_errors_known(s) for s in stages[:-1])
    bootstrap = (
        propagate_noise(stages, draws, int(seed), progress) if draws and errors_known else None
    )
    diagnostics = once_each([*warnings, *unused, *_findings(stages, bootstrap, draws)])
    fits = _last_fits(stages[-1], bootstrap, level)
    return PipelineResult(
        name=declared.name,
        data=name,
        values=values,
        steps=tuple(
            replace(_step_result(s, n, bootstrap, level), **ranks_by_size(stages, n))
            for n, s in enumerate(stages)
        ),
        fits=fits,
        draws=draws if bootstrap else 0,
        failed=bootstrap.failed if bootstrap else 0,
        level=float(level),
        seed=int(seed),
        diagnostics=diagnostics,
        together=_combined_fits(stages[-1], fits),
        drawn=bootstrap.theta if bootstrap else (),
        where=as_texts(where),
    )


def _single_values(
    pipeline: Pipeline, settings: Mapping[str, float | Sequence[float]]
) -> dict[str, float]:
    """The values of givens and settings, of which each has one."""
    for name, value in settings.items():
        if isinstance(value, Sequence) and len(value) != 1:
            message = f"{name} has {len(value)} values, and the steps of `{pipeline.name}` take one"
            help = "run the pipeline once for each"
            raise LawdslError(Diagnostic("F0401", message, help=help))
    return {n: float(x[0]) if isinstance(x, Sequence) else float(x) for n, x in settings.items()}


def _check_draws(draws: int, level: float) -> None:
    """Refuse a number of draws or a level outside its limits.

    Raises:
        LawdslError: F0120.
    """
    if not is_whole(draws) or not (draws == 0 or MIN_PIPELINE_DRAWS <= draws <= MAX_PIPELINE_DRAWS):
        help = f"give 0 for none, or a whole number from {MIN_PIPELINE_DRAWS} to {MAX_PIPELINE_DRAWS:,}"
        raise LawdslError(
            Diagnostic("F0120", f"`{draws}` is not a valid number of draws", help=help)
        )
    check_level(level)


def _errors_known(stage: Stage) -> bool:
    return all(np.isfinite(stage.error(number)) for number, _ in stage.fitted_groups)


def _findings(
    stages: Sequence[Stage], bootstrap: BootstrapDraws | None, draws: int
) -> Iterator[Diagnostic]:
    """Warnings about the groups, the errors and the draws."""
    for stage in stages:
        yield from stage.warnings
        yield from _far_predictions(stage)
        yield from _excluded_groups(stage)
        yield from _parameters_on_bounds(stage)
    for stage in stages[:-1]:
        if not _errors_known(stage):
            message = f"no group of `{stage.task.law.name}` has more rows than parameters"
            help = (
                "how far its predictions are off is not known: they count alike, without intervals"
            )
            yield Diagnostic("F0405", message, "warning", place=stage.table.name, help=help)
            break
    if bootstrap is not None and bootstrap.failed > MAX_FAILED_SHARE * draws:
        message = f"{bootstrap.failed} of {draws} draws did not end in a minimum everywhere"
        help = "believe the intervals less: look at the groups with the largest errors"
        yield Diagnostic("F0406", message, "warning", help=help)
    for _, group in stages[-1].fitted_groups:
        if group.fit is not None:
            where = ", ".join(f"{k} = {v}" for k, v in group.labels.items())
            yield from (replace(d, place=d.place or where) for d in group.fit.diagnostics)


def _far_predictions(stage: Stage) -> Iterator[Diagnostic]:
    """A warning where a step predicts far beyond its rows."""
    subject = f"`{stage.task.law.name}` predicts"
    found = [
        e
        for _, g in stage.fitted_groups
        if g.point is not None and g.problem is not None
        for e in extrapolations(subject, g.law, g.problem.columns, g.point[:, 0], g.labels)
        if e.far
    ]
    yield from extrapolation_warnings(found, len(stage.groups), stage.table.name)


def _excluded_groups(stage: Stage) -> Iterator[Diagnostic]:
    """A warning for each reason why groups of a step are excluded."""
    reasons: dict[str, list[str]] = {}
    for group in stage.groups:
        if group.left_out:
            group_text = ", ".join(f"{k} = {v}" for k, v in group.labels.items())
            reasons.setdefault(group.left_out, []).append(group_text)
    for reason, groups in reasons.items():
        count_text = f"{len(groups)} of {len(stage.groups)} groups of `{stage.task.law.name}`"
        rest_text = (
            (f"and {len(groups) - MAX_NAMED_GROUPS} more",)
            if len(groups) > MAX_NAMED_GROUPS
            else ()
        )
        yield Diagnostic(
            "F0404",
            f"{count_text} are left out: {reason}",
            "warning",
            place=stage.table.name,
            notes=(*groups[:MAX_NAMED_GROUPS], *rest_text),
            help="later steps go without their predictions: measure more there, or choose rows",
        )


def _parameters_on_bounds(stage: Stage) -> Iterator[Diagnostic]:
    """A warning for each parameter on its bound in some groups of a step with predictions."""
    if stage.output_table is None:
        return  # the complete fits of the last step have this diagnostic themselves
    sides: dict[tuple[str, str], int] = {}
    for _, group in stage.fitted_groups:
        for bound in group.bounds.items():
            sides[bound] = sides.get(bound, 0) + 1
    for (name, side), count in sides.items():
        message = f"{name} of `{stage.task.law.name}` lies on its {side} bound"
        message += f" in {count} of {len(stage.fitted_groups)} groups"
        help = "the objective still decreases towards the bound: check the law, or measure longer"
        yield Diagnostic("F0103", message, "warning", place=stage.table.name, help=help)


def _step_result(
    stage: Stage, number: int, draws: BootstrapDraws | None, level: float
) -> StepResult:
    task = stage.task
    predicted_draws = draws.predicted if draws else ()
    numbers = {i: k for k, (i, _) in enumerate(stage.fitted_groups)}
    groups = []
    for i, group in enumerate(stage.groups):
        group_result = Group(group.labels, len(group.rows), left_out=group.left_out)
        if not group.left_out:
            names = [q.name for q in group.law.parameters]
            values = zip(names, map(float, group.theta), strict=True)
            group_result = replace(
                group_result, parameters=dict(values), at_bound=tuple(group.bounds)
            )
        if group.prediction is not None:
            error = stage.error(i)
            finite_error = error if np.isfinite(error) else None
            group_result = replace(
                group_result, predicted=float(group.prediction.values[0]), error=finite_error
            )
            if number < len(predicted_draws):
                group_result = replace(
                    group_result,
                    ends=_central_interval(predicted_draws[number][:, numbers[i]], level),
                )
        groups.append(group_result)
    scatter = None
    if number and stage.fitted_groups and stage.fitted_groups[0][1].sigma is not None:
        scatter = float(np.nanmedian(stage.scatter))
    return StepResult(
        law=task.law.name,
        output=task.law.output,
        by=tuple(task.column(name) for name in task.group_by),
        where=stage.where,
        at=dict(task.point),
        ranges=_ranges(stage),
        rows=sum(len(group.rows) for group in stage.groups),
        groups=tuple(groups),
        scatter=scatter,
        table=stage.output_table,
        unit=print_unit(declared) if (declared := task.law.declarations.output.unit) else "",
    )


def _ranges(stage: Stage) -> dict[str, tuple[float, float]]:
    """Variable or output -> its smallest and largest value in all parts."""
    ranges: dict[str, tuple[float, float]] = {}
    for part in stage.parts:
        for name, (low, high) in part.runs.ranges.items():
            least, most = ranges.get(name, (low, high))
            ranges[name] = min(least, low), max(most, high)
    return ranges


def _central_interval(values: Array, level: float) -> tuple[float, float] | None:
    """The central interval of the draws; None where most did not converge."""
    usable = values[np.isfinite(values)]
    if len(usable) < MIN_USABLE_SHARE * len(values):
        return None
    low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _last_fits(stage: Stage, bootstrap: BootstrapDraws | None, level: float) -> tuple[Fit, ...]:
    """The fits of the last step, with intervals of the pipeline if noise was propagated."""
    fits = []
    for number, (_, group) in enumerate(stage.fitted_groups):
        fit = group.fit
        if fit is None:
            return ()
        if bootstrap is not None:
            fit = replace(fit, intervals=_bootstrap_intervals(fit, bootstrap.theta[number], level))
        fits.append(fit)
    return tuple(fits)


def _combined_fits(stage: Stage, fits: tuple[Fit, ...]) -> Fits | None:
    """The fits of all labels as those of one law with index sets; None if not combinable."""
    law, task = stage.task.law, stage.task
    if not law.indexed or not fits or task.group_by or len(fits) < len(stage.groups):
        return None
    instance_law = fits[0].law
    assert instance_law.instance is not None
    # the laws of labels differ from the law with index sets in these fields alone
    combined_law = replace(instance_law, digest=law.digest, instance=None)
    return Fits(combined_law, instance_law.instance.labels, fits, stage.parts[0].bindings)


def _bootstrap_intervals(fit: Fit, theta: Array, level: float) -> Intervals:
    """Intervals of the parameters over the draws. Standard errors are half the width of the central
    68 % of the draws, since a few divergent draws would make the standard deviation infinite.
    """
    usable = np.isfinite(theta).all(axis=1)
    errors, ends = {}, {}
    for (name, parameter), values in zip(fit.parameters.items(), theta[usable].T, strict=True):
        if parameter.at_bound or len(values) < MIN_USABLE_SHARE * len(theta):
            continue
        tail_shares = [(1 - level) / 2, (1 + level) / 2]
        low, below, above, high = np.quantile(
            values, [tail_shares[0], 0.1587, 0.8413, tail_shares[1]]
        )
        errors[name], ends[name] = float(above - below) / 2, (float(low), float(high))
    failed = int(np.sum(~usable))
    return Intervals("bootstrap", float(level), "rows", errors, ends, len(theta), failed)
