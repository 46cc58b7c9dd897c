"""Law or question, candidates, budget, runs so far -> which runs to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import as_texts
from lawdsl.data.binding import bind
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.read import read_table
from lawdsl.designing.runs.aim import Aim, aim_at_predictions
from lawdsl.designing.runs.answers_as_targets import aim_at_answer
from lawdsl.designing.runs.costs import inherited_conditions, on_other_columns, pool_of_table
from lawdsl.designing.runs.first_batch import first_runs, rows_of_first_fit
from lawdsl.designing.runs.hypotheses import columns_for, parts_of
from lawdsl.designing.runs.measured_rows import at_one_label, measured_rows
from lawdsl.designing.runs.next_runs import next_runs
from lawdsl.designing.runs.pool import Pool, done_candidates
from lawdsl.designing.runs.predictions_as_targets import check_point, with_left_out_shares
from lawdsl.designing.runs.records import Design
from lawdsl.fitting.extrapolation.discrepancy import DEFAULT_AMPLITUDE
from lawdsl.fitting.fit import fit
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.language.keywords import did_you_mean
from lawdsl.law.law import Law, load
from lawdsl.solving.solve import Asked


def design(
    law: Law | Fit | Fits | str | Path,
    candidates: Any,
    /,
    *,
    budget: float,
    runs: Any = None,
    target: Mapping[str, float] | Sequence[Mapping[str, float]] = (),
    stop: float | None = None,
    rivals: str | Sequence[str] = (),
    cost: str | None = None,
    discrepancy: float | None = None,
    most: int | None = None,
    repeats: bool = True,
    columns: Mapping[str, str] | None = None,
    where: str | Sequence[str] = (),
    fit_options: Mapping[str, Any] | None = None,
    **named_columns: str,
) -> Design:
    """Choose the runs that are to be done next, so that a prediction becomes more precise.

    The criterion is the expected drop of the variance of log L at the targets, under a law that may
    be wrong by 2 % per decade (Kennedy and O'Hagan 2001), relative to the present variance, for the
    square root of the cost: V-optimality (Atkinson, Donev and Tobias 2007) with a discrepancy. Where
    the runs determine no target yet, the batch is spread over the candidates.

    Args:
        law: a law, or the name or path of one; or a fit of it, for which `runs` are not needed.
        candidates: a table of runs, as `read_table` takes it, or a pool of them.
        budget: what all runs may cost together, those candidates included that are done.
        runs: the table of the runs so far; None before the first, unless a fit is given.
        target: variable -> value in the law's unit, of one prediction or several; not needed before
            the first runs.
        stop: half a 95 % interval of the targets that is precise enough, 0.01 for ± 1 %.
        rivals: names of other laws with these variables; the criterion is the mean over all.
        cost: the formula of what a run costs, a product of columns; by default its column `cost`,
            else 6·N·D.
        discrepancy: the error of the law per decade, 0.02 for 2 %; None for that, or more where the
            larger of the runs so far were missed by more.
        most: the largest number of runs in the batch.
        repeats: whether settings that were measured may be measured again.
        columns, named_columns: variable or output -> column of `runs`, where names differ.
        where: conditions that rows of `runs` and candidates meet.
        fit_options: further options of `lawdsl.fit`.

    Returns:
        The design: the batch, and how precise the targets are now and are expected to be after it.

    Raises:
        LawdslError: a table that the law cannot use, a target without some variable (N0103), a budget
            below the cheapest candidate (N0102), candidates on which the target does not depend
            (N0105), or too few of them for a first fit (N0106).
    """
    check_budget_and_stop(budget, stop)
    conditions = as_texts(where)
    bound = {**(columns or {}), **named_columns}
    points = _different(target)
    if most is not None and not (isinstance(most, int) and most > 0):
        help = "give a whole number above 0, or None for no limit"
        raise LawdslError(Diagnostic("N0103", f"`{most}` is not a number of runs", help=help))
    options = {"claims": False, **(fit_options or {})}
    if isinstance(law, Fit | Fits):
        own = law
    else:
        declared = law if isinstance(law, Law) else load(str(law))
        if not declared.indexed:  # its labels are known once there are rows
            for point in points:
                check_point(declared, point)
        # conditions on the law's own variables say which runs are fitted
        own_columns = [bound.get(q.name, q.name) for q in declared.variables]
        shared = conditions if runs is None else on_other_columns(conditions, own_columns)
        pool = as_pool(candidates, declared, bound, cost, shared)
        first = first_design(declared, pool, budget, runs, bound, conditions)
        if first is not None:
            return first
        own = fit(declared, runs, columns=bound, where=conditions, **options)
    part = parts_of(own)[0]
    read = part.read_law()
    _check_names(read, part, bound)
    if not points:
        message = "a design needs a target: the prediction that is to become precise"
        written = " ".join(f"{q.name}=…" for q in read.variables)
        help = f'name it: --target "{written}", or a question'
        raise LawdslError(Diagnostic("N0103", message, help=help))
    points = [with_left_out_shares(own, point) for point in points]
    for point in points:
        check_point(read, point)
    others = [_rival(name, own, runs, options) for name in as_texts(rivals)]
    aim = aim_at_predictions(own, points, others, discrepancy)
    pool = as_pool(
        candidates,
        read,
        {**part.data.columns, **bound},
        cost,
        conditions if conditions and own is law else inherited_conditions(part),
    )
    return _next(aim, pool, budget, stop, discrepancy, most, repeats)


def _different(
    target: Mapping[str, float] | Sequence[Mapping[str, float]],
) -> list[dict[str, float]]:
    """The targets, each once."""
    points = [dict(target)] if isinstance(target, Mapping) else [dict(point) for point in target]
    return [point for k, point in enumerate(points) if point not in points[:k]]


def _check_names(law: Law, part: Fit, bound: Mapping[str, str]) -> None:
    """Refuse columns of what is no variable of the law; N0103."""
    names = [*part.data.columns, *(q.name for q in law.variables), law.output]
    for name in bound:
        if name.partition("[")[0] not in {n.partition("[")[0] for n in names}:
            help = did_you_mean(name, names, f"`{law.name}` has {', '.join(dict.fromkeys(names))}")
            raise LawdslError(Diagnostic("N0103", f"unknown variable `{name}`", help=help))


def first_design(
    law: Law,
    pool: Pool,
    budget: float,
    runs: Any = None,
    columns: Mapping[str, str] | None = None,
    where: Sequence[str] = (),
    *,
    always: bool = False,
) -> Design | None:
    """The runs that the first fit of a law needs.

    Args:
        law: that is going to be fitted.
        pool: the candidates.
        budget: of all runs.
        runs: the table of the runs so far; None for none.
        columns: variable or output -> column.
        where: conditions that the rows meet.
        always: whether to propose runs even then: a quarter more rows than there are.

    Returns:
        The design; None where the runs so far have rows enough.

    Raises:
        LawdslError: a table that the law cannot use, or too few candidates (N0102, N0106).
    """
    bound = columns or {}
    law, measured = measured_rows(law, runs, bound, where)
    count, more = measured.shape[1], None
    if count >= rows_of_first_fit(law):
        if not always:
            return None
        more = max(2, count // 4)
    law, table, bound = at_one_label(
        with_settings_of(law, pool.table), pool.table, bound, target=False
    )
    bound = columns_for(law, bound, table)
    values = bind(law, table, bound, target=False, warn=False).columns
    if pool.done is None:
        pool = replace(pool, done=done_candidates(values, pool.rows, measured))
    # the columns that are bound may be those of one label alone
    return first_runs(law, replace(pool, table=table), bound, values, budget, more)


def design_for_question(
    asked: Asked,
    values: Mapping[str, Any],
    candidates: Any,
    /,
    *,
    budget: float,
    stop: float | None = None,
    cost: str | None = None,
    discrepancy: float | None = None,
    most: int | None = None,
    repeats: bool = True,
    seed: int = 0,
) -> Design:
    """Choose the runs that are to be done next, so that the answer to a question becomes more precise.

    Args:
        asked: the question with its fits.
        values: of its givens and settings.
        candidates: a table of runs, whose columns are called as those of the fitted tables; or a pool.
        budget, stop, cost, discrepancy, most, repeats: as `design` takes them.
        seed: of the draws of the laws.

    Raises:
        LawdslError: as `design` does; fits that were given as numbers (N0104), or a question without
            an answer (N0107).
    """
    check_budget_and_stop(budget, stop)
    for use, given in asked.fits.items():
        if not isinstance(given, Fit):
            message = f"`{use}` is not a fit of one law, from whose rows a design starts"
            help = f"fit the law to runs, and give {use}=FIT.json"
            raise LawdslError(Diagnostic("N0104", message, help=help))
    aim, _ = aim_at_answer(asked, values, discrepancy, seed)
    first = aim.fits[0]
    pool = as_pool(
        candidates, first.read_law(), first.data.columns, cost, inherited_conditions(first)
    )
    return _next(aim, pool, budget, stop, discrepancy, most, repeats)


def _next(
    aim: Aim,
    pool: Pool,
    budget: float,
    stop: float | None,
    discrepancy: float | None,
    most: int | None,
    repeats: bool,
) -> Design:
    amplitude = DEFAULT_AMPLITUDE if discrepancy is None else discrepancy
    return next_runs(aim, pool, budget, stop=stop, amplitude=amplitude, most=most, repeats=repeats)


def as_pool(
    candidates: Any,
    law: Law,
    columns: Mapping[str, str],
    cost: str | None,
    where: Sequence[str],
) -> Pool:
    """Candidates as a pool, with their costs.

    Args:
        candidates: a pool, or a table as `read_table` takes it.
        law: whose variables the default cost is of.
        columns: variable -> column.
        cost: the formula of the cost; None for the column `cost`, else 6·N·D.
        where: conditions that the rows meet.

    Raises:
        LawdslError: a table that cannot be used.
    """
    if isinstance(candidates, Pool):
        return candidates
    return pool_of_table(law, read_table(candidates), columns, cost, where)


def check_budget_and_stop(budget: object, stop: object) -> None:
    """Refuse a budget that is not positive, and an interval that is not between 0 and 1.

    Raises:
        LawdslError: N0102, N0103.
    """
    if not (isinstance(budget, int | float) and np.isfinite(budget) and budget > 0):
        help = "give the cost of all runs, in the unit of the candidates: --budget 1e21"
        raise LawdslError(Diagnostic("N0102", f"`{budget}` is not a budget", help=help))
    if stop is not None and not (isinstance(stop, int | float) and 0 < stop < 1):
        help = "give half the interval that is precise enough: --stop 1%"
        message = f"`{stop}` is not a precision"
        if isinstance(stop, int | float) and stop >= 1:
            message = f"a precision of {stop:g} is {100 * stop:g} %"
        raise LawdslError(Diagnostic("N0103", message, help=help))


def _rival(name: str, own: Fit | Fits, runs: Any, options: Mapping[str, Any]) -> Fit:
    """The fit of a further law to the same rows."""
    if isinstance(own, Fits):
        message = f"`{own.law.name}` has index sets: its runs are designed without rivals"
        help = "leave --rivals out; --wrong says how far the law itself may be off"
        raise LawdslError(Diagnostic("N0104", message, help=help))
    if runs is None:
        message = "rivals are fitted to the runs so far, which are not given"
        help = "give a law and --runs TABLE, or leave --rivals out"
        raise LawdslError(Diagnostic("N0104", message, help=help))
    law = load(name)
    names = {q.name for q in own.read_law().variables}
    if {q.name for q in law.variables} != names:
        message = f"the rival `{law.name}` has other variables than `{own.law.name}`"
        help = f"choose laws of {', '.join(sorted(names))}: `lawdsl laws`"
        raise LawdslError(Diagnostic("N0104", message, help=help))
    bound = dict(own.data.columns)
    output = bound.pop(own.read_law().output, None)
    if output is not None:
        bound[law.output] = output
    result = fit(law, runs, columns=bound, where=own.data.where, **options)
    assert isinstance(result, Fit)
    return result
