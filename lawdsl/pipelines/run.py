"""Pipeline + table -> PipelineResult: step after step, then the noise carried through all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.read import read_table
from lawdsl.fitting.options import FitOptions, check_level, check_seed, is_whole
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.result_parts import Intervals
from lawdsl.language import library
from lawdsl.pipelines.parametric_bootstrap import Drawn, drawn
from lawdsl.pipelines.plan import tasks_of
from lawdsl.pipelines.result import Group, PipelineResult, StepResult
from lawdsl.pipelines.steps import Stage, stage

Array = NDArray[np.float64]

DRAWS = 200
MOST_DRAWS = 100_000
FEWEST_DRAWS = 50
NAMED = 4  # groups that one message names
ENOUGH = 0.5  # of the draws: where fewer ended somewhere, there is no interval
FAILED = 0.05  # of the draws: more that end nowhere are worth a word


def run_pipeline(
    pipeline: str | Path,
    table: Any,
    /,
    *,
    settings: Mapping[str, float] | None = None,
    draws: int = DRAWS,
    level: float = 0.95,
    drop_bad: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    columns: Mapping[str, str] | None = None,
    **named_columns: str,
) -> PipelineResult:
    """Run a pipeline: fit the law of each step to its groups of rows, hand on what it predicts.

    A prediction's standard error is that of the noise of its group's rows, by the delta method; the
    groups of a step together say how large the noise is (Smyth 2004). The next fit weighs rows by
    the inverse squares of their errors, none of which counts as less than 0.3 times the median of
    its group. Where rows scatter more about the next law than their errors say, its errors grow by
    that much (Birge 1932). Intervals at the end are those of a parametric bootstrap through all
    steps; `lawdsl.pipelines.parametric_bootstrap` says what they cover and what they do not: above all not that
    checkpoints of a longer schedule are no finished runs.

    Args:
        pipeline: the name of a shipped one, or the path of its file.
        table: a path (CSV, Parquet, SQLite), a data frame, an Arrow table or a mapping of arrays.
        settings: values of its givens, in their units, and of settings of its own or its laws.
        draws: how often noise is drawn again; 0 for no intervals.
        level: of the intervals.
        drop_bad: leave bad rows out instead of refusing the table.
        seed: of starts and draws; the same seed gives the same result.
        progress: called with how many fits of a step are done, and of how many.
        columns: name of a variable, output or group -> column, where they differ.
        named_columns: the same in another form, L="loss", mixture="run".

    Returns:
        The tables of all steps and the fits of the last. Groups that could not be fitted are left
        out; `diagnostics` names them.

    Raises:
        LawdslError: a pipeline, value or table that cannot be used, or a step without any group
            that can be fitted.
    """
    declared, warnings = library.pipeline(str(pipeline))
    check_seed(seed)
    _check_draws(draws, level)
    bindings = {**(columns or {}), **named_columns}
    values, tasks = tasks_of(declared, settings or {}, bindings)
    read = read_table(table)
    options = FitOptions(seed=int(seed), progress=progress)
    stages: list[Stage] = []
    name, output = read.name, None
    for number, task in enumerate(tasks):
        if output is not None and task.law.output not in task.columns:
            task = replace(task, columns={**task.columns, task.law.output: output})
        last = number == len(tasks) - 1 and not task.at
        made = stage(
            task,
            read,
            replace(options, drop_bad=drop_bad and number == 0),
            first=number == 0,
            last=last,
        )
        stages.append(made)
        read, output = made.handed or read, task.column(task.law.output)
    known = len(stages) > 1 and all(_errors_known(s) for s in stages[:-1])
    found = drawn(stages, draws, int(seed), progress) if draws and known else None
    diagnostics = [*warnings, *_findings(stages, found, draws)]
    fits = _fits(stages[-1], found, level)
    return PipelineResult(
        name=declared.name,
        data=name,
        values=values,
        steps=tuple(_result(s, n, found, level) for n, s in enumerate(stages)),
        fits=fits,
        draws=draws if found else 0,
        failed=found.failed if found else 0,
        level=float(level),
        seed=int(seed),
        diagnostics=tuple(diagnostics),
        together=_together(stages[-1], fits),
        drawn=found.theta if found else (),
    )


def _check_draws(draws: int, level: float) -> None:
    """Refuse a number of draws or a level that is none.

    Raises:
        LawdslError: F0120.
    """
    if not is_whole(draws) or not (draws == 0 or FEWEST_DRAWS <= draws <= MOST_DRAWS):
        help = f"give 0 for none, or a whole number from {FEWEST_DRAWS} to {MOST_DRAWS:,}"
        raise LawdslError(
            Diagnostic("F0120", f"`{draws}` is not a valid number of draws", help=help)
        )
    check_level(level)


def _errors_known(made: Stage) -> bool:
    return all(np.isfinite(made.error(number)) for number, _ in made.used)


def _findings(stages: Sequence[Stage], found: Drawn | None, draws: int) -> Iterator[Diagnostic]:
    """What there is to say of the groups, the errors and the draws."""
    for made in stages:
        yield from _left_out(made)
        yield from _on_bounds(made)
    for made in stages[:-1]:
        if not _errors_known(made):
            message = f"no group of `{made.task.law.name}` has more rows than parameters"
            help = (
                "how far its predictions are off is not known: they count alike, without intervals"
            )
            yield Diagnostic("F0405", message, "warning", place=made.table.name, help=help)
            break
    if found is not None and found.failed > FAILED * draws:
        message = f"{found.failed} of {draws} draws did not end in a minimum everywhere"
        help = "believe the intervals less: look at the groups with the largest errors"
        yield Diagnostic("F0406", message, "warning", help=help)
    for _, group in stages[-1].used:
        if group.fit is not None:
            where = ", ".join(f"{k} = {v}" for k, v in group.labels.items())
            yield from (replace(d, place=d.place or where) for d in group.fit.diagnostics)


def _left_out(made: Stage) -> Iterator[Diagnostic]:
    """One warning a reason for which groups of a step are left out."""
    reasons: dict[str, list[str]] = {}
    for group in made.groups:
        if group.left_out:
            shown = ", ".join(f"{k} = {v}" for k, v in group.labels.items())
            reasons.setdefault(group.left_out, []).append(shown)
    for reason, groups in reasons.items():
        many = f"{len(groups)} of {len(made.groups)} groups of `{made.task.law.name}`"
        more = (f"and {len(groups) - NAMED} more",) if len(groups) > NAMED else ()
        yield Diagnostic(
            "F0404",
            f"{many} are left out: {reason}",
            "warning",
            place=made.table.name,
            notes=(*groups[:NAMED], *more),
            help="later steps go without their predictions: measure more there, or choose rows",
        )


def _on_bounds(made: Stage) -> Iterator[Diagnostic]:
    """One warning a parameter that lies on its bound in some groups, where there are several."""
    if made.handed is None:
        return  # the whole fits of the last step say it themselves
    sides: dict[tuple[str, str], int] = {}
    for _, group in made.used:
        for bound in group.bounds.items():
            sides[bound] = sides.get(bound, 0) + 1
    for (name, side), count in sides.items():
        message = f"{name} of `{made.task.law.name}` lies on its {side} bound"
        message += f" in {count} of {len(made.used)} groups"
        help = "their rows would take it further: question the law, or measure longer"
        yield Diagnostic("F0103", message, "warning", place=made.table.name, help=help)


def _result(made: Stage, number: int, found: Drawn | None, level: float) -> StepResult:
    task = made.task
    ahead = found.predicted if found else ()
    numbers = {i: k for k, (i, _) in enumerate(made.used)}
    groups = []
    for i, group in enumerate(made.groups):
        about = Group(group.labels, len(group.rows), left_out=group.left_out)
        if not group.left_out:
            names = [q.name for q in group.law.parameters]
            values = zip(names, map(float, group.theta), strict=True)
            about = replace(about, parameters=dict(values), at_bound=tuple(group.bounds))
        if group.ahead is not None:
            error = made.error(i)
            known = error if np.isfinite(error) else None
            about = replace(about, predicted=float(group.ahead.values[0]), error=known)
            if number < len(ahead):
                about = replace(about, ends=_ends(ahead[number][:, numbers[i]], level))
        groups.append(about)
    scatter = None
    if number and made.used and made.used[0][1].sigma is not None:
        scatter = float(np.nanmedian(made.scatter))
    return StepResult(
        law=task.law.name,
        output=task.law.output,
        by=tuple(task.column(name) for name in task.by),
        where=made.where,
        at=dict(task.at),
        ranges=_ranges(made),
        rows=sum(len(group.rows) for group in made.groups),
        groups=tuple(groups),
        scatter=scatter,
        table=made.handed,
    )


def _ranges(made: Stage) -> dict[str, tuple[float, float]]:
    """Variable or output -> its smallest and largest value in all parts."""
    found: dict[str, tuple[float, float]] = {}
    for part in made.parts:
        for name, (low, high) in part.runs.ranges.items():
            least, most = found.get(name, (low, high))
            found[name] = min(least, low), max(most, high)
    return found


def _ends(values: Array, level: float) -> tuple[float, float] | None:
    """The middle of what the draws led to; None where most led nowhere."""
    usable = values[np.isfinite(values)]
    if len(usable) < ENOUGH * len(values):
        return None
    low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _fits(made: Stage, found: Drawn | None, level: float) -> tuple[Fit, ...]:
    """The fits of the last step, with the intervals of the whole pipeline where there are some."""
    fits = []
    for number, (_, group) in enumerate(made.used):
        fit = group.fit
        if fit is None:
            return ()
        if found is not None:
            fit = replace(fit, intervals=_intervals(fit, found.theta[number], level))
        fits.append(fit)
    return tuple(fits)


def _together(made: Stage, fits: tuple[Fit, ...]) -> Fits | None:
    """The fits of all labels as those of one law, which predicts by itself."""
    law, task = made.task.law, made.task
    if not law.indexed or not fits or task.by or len(fits) < len(made.groups):
        return None
    known = fits[0].law
    assert known.instance is not None
    told = replace(known, digest=law.digest, instance=None)  # parts differ from it in these alone
    return Fits(told, known.instance.labels, fits, made.parts[0].given)


def _intervals(fit: Fit, theta: Array, level: float) -> Intervals:
    """Intervals of the parameters over the draws. Errors are those of the middle of the draws: a few
    that lead far off would make any standard deviation infinite."""
    usable = np.isfinite(theta).all(axis=1)
    errors, ends = {}, {}
    for (name, parameter), values in zip(fit.parameters.items(), theta[usable].T, strict=True):
        if parameter.at_bound or len(values) < ENOUGH * len(theta):
            continue
        tails = [(1 - level) / 2, (1 + level) / 2]
        low, below, above, high = np.quantile(values, [tails[0], 0.1587, 0.8413, tails[1]])
        errors[name], ends[name] = float(above - below) / 2, (float(low), float(high))
    failed = int(np.sum(~usable))
    return Intervals("bootstrap", float(level), "rows", errors, ends, len(theta), failed)
