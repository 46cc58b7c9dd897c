"""Fit a law to a table: the best parameters, and all that can be said of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.choices import OBJECTIVES, SHORT, check_seed
from lawdsl.data.binding import Runs, bind
from lawdsl.data.noted import with_settings_of
from lawdsl.data.tables import read_table
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting import diagnosis
from lawdsl.fitting.certificates import certificates, enforced, failures
from lawdsl.fitting.findings import residual_findings
from lawdsl.fitting.fitted import Fit
from lawdsl.fitting.held import held_values
from lawdsl.fitting.identifiability import unseen
from lawdsl.fitting.measures import metrics, objective_value, optimality
from lawdsl.fitting.optima import several_optima
from lawdsl.fitting.optimum import AUTO, LONG, Optimum, Starts, optimum
from lawdsl.fitting.problem import Problem, problem_of
from lawdsl.fitting.records import Agreement, FittedData, FittedLaw, Parameter
from lawdsl.fitting.starts import chosen_starts
from lawdsl.fitting.transforms import to_parameters
from lawdsl.fitting.uncertainty import Asked
from lawdsl.fitting.uncertainty import intervals as intervals_of
from lawdsl.language.resolving import Objective
from lawdsl.law import Law, load
from lawdsl.symmetries import Freedom, findings, freedom

Array = NDArray[np.float64]

ROUNDS = 3  # of fits, each with further bounds, to keep all claims
ELSEWHERE = 3  # points at which it is asked what the data can see at all


def fit(
    law: Law | str | Path,
    table: Any,
    /,
    *,
    starts: Starts = AUTO,
    objective: str | None = None,
    delta: float | None = None,
    where: str | Sequence[str] = (),
    settings: Mapping[str, float] | None = None,
    without: str | Sequence[str] = (),
    fix: Mapping[str, float] | None = None,
    tie: Mapping[str, str] | None = None,
    weights: str | Array | None = None,
    run: str | Sequence[str] = (),
    drop_bad: bool = False,
    enforce: bool = False,
    claims: bool = True,
    intervals: str = "delta",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    columns: Mapping[str, str] | None = None,
    **named_columns: str,
) -> Fit:
    """Fit a law to measurements.

    Args:
        law: a law, or the name or path of one.
        table: a path (CSV, Parquet, SQLite), a data frame, an Arrow table or a mapping of arrays.
        starts: how many starts the engine chooses, `"auto"`: as many as it takes until several
            agree; `"declared"` for those of the law's file;
            or one start, parameter -> value.
        objective: huber(log), huber(raw), squared(log) or squared(raw) in place of the law's own.
        delta: Huber's delta in place of the law's own.
        where: one condition that rows must meet, `"size = 70M"`, or several.
        settings: values in place of those of the law's settings, and of those that the table says.
        without: one bound of the law to leave out, `"C > C0"`, or several.
        fix: parameter -> value at which it is held, inside its domain.
        tie: parameter -> formula of others that it is held at, {"beta": "alpha"}.
        weights: the column that says how many rows a row stands for, or an array of that, shape
            (rows of the table,); rows of weight 0 are left out.
        run: the column whose values tell which training run a row comes from, or several.
        drop_bad: leave bad rows out, and count them, instead of refusing the table.
        enforce: where a claim of the law fails on the fitted values, fit again under bounds of the
            parameters that keep it.
        claims: decide what the law claims for the fitted values; a fit that is one of many may go
            without.
        intervals: how they are found: `delta` from the slopes at the fit, `profile` from how far
            each parameter can go, `bootstrap` from fits to rows, or runs, that are drawn again.
        level: of the intervals.
        resamples: how many fits of a bootstrap.
        seed: of the starts and the resamples; the same seed gives the same fit.
        progress: called with how many starts, or resamples, are done, and of how many.
        columns: variable or output of the law -> column, where the names differ.
        named_columns: the same in another form, L="loss"; a variable that is called like one of
            the options above is bound by `columns`.

    Returns:
        The fit. One that is not trusted is returned too; its `verdict` and `diagnostics` say why.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    law = law if isinstance(law, Law) else load(law)
    if settings:
        law = law.with_settings(**settings)
    for bound in (without,) if isinstance(without, str) else without:
        law = law.without(bound)
    law = law.with_held(fix or {}, tie or {})
    where = (where,) if isinstance(where, str) else tuple(where)
    bindings = {**(columns or {}), **named_columns}
    check_seed(seed)
    asked = Asked(intervals, level, resamples, int(seed))
    chosen = chosen_objective(law, objective, delta)
    read = read_table(table)
    law = with_settings_of(law, read)
    runs = bind(
        law,
        read,
        bindings,
        where=where,
        drop_bad=drop_bad,
        positive=chosen.log,
        weights=weights,
        run=(run,) if isinstance(run, str) else tuple(run),
    )
    assert runs.target is not None
    problem = problem_of(law, runs.columns, runs.target, chosen, runs.weights)
    impossible = diagnosis.too_little(law, problem)
    if impossible:
        raise LawdslError([replace(d, place=runs.name) for d in impossible])
    task = _Task(law, problem, runs, freedom(law), where, asked)
    for left in reversed(range(ROUNDS)):
        found = _fit_to(task, starts, claims or enforce, progress)
        changed = enforced(task.law, found.claims) if enforce and left else None
        if changed is None:
            break
        problem = problem_of(changed, runs.columns, runs.target, chosen, runs.weights)
        task = replace(task, law=changed, problem=problem)
    return replace(found, diagnostics=(*found.diagnostics, *failures(task.law, found.claims)))


@dataclass(frozen=True)
class _Task:
    """What is to be fitted.

    Attributes:
        law: the law.
        problem: its fit.
        runs: the data.
        unknowable: what no data could tell of the law.
        where: the conditions that rows met.
        asked: which intervals are asked for.
    """

    law: Law
    problem: Problem
    runs: Runs
    unknowable: Freedom
    where: tuple[str, ...]
    asked: Asked


def _fit_to(
    task: _Task, starts: Starts, claims: bool, progress: Callable[[int, int], None] | None
) -> Fit:
    """One fit, and what the law's claims are for it."""
    law, problem, seed = task.law, task.problem, task.asked.seed
    with np.errstate(all="ignore"):  # searches pass through places where a law overflows
        best = optimum(law, problem, starts, seed, progress)
        found, lower = _fitted(task, best, progress)
        if lower is not None:  # the way to the end of an interval led to a better minimum
            start = dict(zip((q.name for q in law.parameters), map(float, lower), strict=True))
            other = optimum(law, problem, start, seed)
            if other.loss < best.loss:
                best = replace(other, agreement=Agreement(best.agreement.starts + 1, 1))
                found, _ = _fitted(task, best, progress)
    return replace(found, claims=certificates(law, found.values)) if claims else found


def chosen_objective(law: Law, objective: str | None, delta: float | None) -> Objective:
    """The law's objective, or another one of the four kinds; `squared` alone is squared(raw).

    Raises:
        LawdslError: no such objective, or a delta that is not above 0.
    """
    found = law.objective
    if objective is not None:
        name = SHORT.get(objective, objective)
        if name not in OBJECTIVES:
            help = "the objectives are " + ", ".join(OBJECTIVES)
            raise LawdslError(Diagnostic("L0404", f"`{objective}` is no objective", help=help))
        loss, _, scale = name.rstrip(")").partition("(")
        found = replace(found, loss=loss, log=scale == "log")
    if delta is not None:
        if found.loss != "huber":
            help = "leave it out, or ask for a Huber loss: --objective 'huber(log)'"
            raise LawdslError(Diagnostic("L0404", "a squared loss has no delta", help=help))
        if not 0 < delta < np.inf:
            message = f"Huber's delta is a number above 0, not {delta:g}"
            raise LawdslError(Diagnostic("L0404", message, help="write --delta 1e-3"))
        found = replace(found, delta=float(delta))
    return found


def _fitted(
    task: _Task, best: Optimum, progress: Callable[[int, int], None] | None
) -> tuple[Fit, Array | None]:
    """What can be said of the best parameters; and better ones, if that has led to some."""
    law, problem, theta, asked = task.law, task.problem, best.theta, task.asked
    names = [q.name for q in law.parameters]
    bound_notes, bounds = diagnosis.at_bounds(law, problem, theta)
    flat, lost = unseen(law, problem, theta, bounds, _elsewhere(task), task.unknowable)
    on_bound = np.isin(names, list(bounds))
    groups = task.runs.groups
    open_ones = np.isin(names, list(lost)) & ~on_bound
    known, lower, doubts = intervals_of(
        law, problem, theta, on_bound, open_ones, asked, groups, progress
    )
    found = [*_of_the_search(task, best, bool(flat)), *flat, *bound_notes, *doubts]
    found += diagnosis.no_spare_rows(problem)
    found += diagnosis.worse_than_constant(problem, theta)
    if best.converged and "F0112" not in [d.code for d in found]:
        found += residual_findings(law, problem, theta, task.runs)
    fit = Fit(
        parameters={
            name: Parameter(float(x), bounds.get(name), name not in lost)
            for name, x in zip(names, theta, strict=True)
        },
        objective=objective_value(problem, law, theta, best.loss),
        metrics=metrics(problem, theta),
        agreement=best.agreement,
        converged=best.converged,
        stopped=best.reason,
        verdict=_verdict(found),
        diagnostics=tuple(found),
        law=FittedLaw(
            law.name, law.digest, law.texts, dict(law.given), law.dropped, law.added, law.held
        ),
        data=_data(task),
        seed=asked.seed,
        held=held_values(law, dict(zip(names, theta, strict=True))),
        optimality=optimality(problem, best.free, on_bound),
        intervals=known,
    )
    return fit, lower


def _of_the_search(task: _Task, best: Optimum, flat: bool) -> list[Diagnostic]:
    """What there is to say of the data, the law and the way to the minimum."""
    found = [*task.runs.warnings, *findings(task.law, task.unknowable, "error")]
    if best.outside:
        message = f"{best.outside:,} declared starts lie outside the domain and were left out"
        found.append(Diagnostic("F0106", message, "warning", help="correct the start lines"))
    first = min(best.reached, key=lambda d: d.loss)
    found += several_optima(task.law, best.searched, first, best.reached)
    found += diagnosis.agreement_findings(best.agreement.starts, best.agreement.agreed)
    if not best.converged:
        message = f"the search stopped early: {best.reason}"
        help = "start elsewhere, or ask for more starts"
        if flat:
            help = "it wanders where the data say nothing (F0101); measure there first"
        found.append(Diagnostic("F0105", message, help=help))
    return found


def _verdict(found: Sequence[Diagnostic]) -> str:
    if not found:
        return "trusted"
    return "not trusted" if any(d.severity == "error" for d in found) else "caution"


def _data(task: _Task) -> FittedData:
    runs = task.runs
    return FittedData(
        name=runs.name,
        digest=runs.digest,
        rows=task.problem.rows,
        dropped=runs.dropped,
        columns=dict(runs.bound),
        where=task.where,
        ranges=dict(runs.ranges),
        weights=runs.weighted,
        runs=runs.run_columns,
        groups=None if runs.groups is None else int(runs.groups.max()) + 1,
    )


def _elsewhere(task: _Task) -> Array:
    """Other parameters, at which it is asked what the data can see at all."""
    sample = task.problem.sample(LONG, task.asked.seed)
    starts = chosen_starts(task.law, sample, ELSEWHERE, task.asked.seed)
    return to_parameters(task.problem.transforms, starts)
