"""Law + table + options -> Fit or Fits: the parameters that minimise the objective, with standard
errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import as_texts
from lawdsl.core.losses import can_be_asymmetric
from lawdsl.core.objectives import Objective
from lawdsl.core.warning_categories import NotTrustedWarning, warn
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.read import read_table
from lawdsl.fitting.fit_by_label import fit_labels, parts_of
from lawdsl.fitting.fit_single import fit_one
from lawdsl.fitting.fit_task import task_of
from lawdsl.fitting.options import AUTO, OBJECTIVES, SHORT, FitOptions
from lawdsl.fitting.processes import check_processes
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.solvers.multistart import Starts
from lawdsl.language.law_changes import LawChanges
from lawdsl.law.law import Law, load

Array = NDArray[np.float64]


def fit(
    law: Law | str | Path,
    table: Any,
    /,
    *,
    starts: Starts = AUTO,
    objective: str | None = None,
    delta: float | None = None,
    quantile: float | None = None,
    over: float | None = None,
    where: str | Sequence[str] = (),
    settings: Mapping[str, float] | None = None,
    without: str | Sequence[str] = (),
    fix: Mapping[str, float] | None = None,
    tie: Mapping[str, str] | None = None,
    priors: str | Sequence[str] = (),
    weights: str | Array | None = None,
    run: str | Sequence[str] = (),
    drop_bad: bool = False,
    enforce: bool = False,
    claims: bool = True,
    rolled_check: bool = True,
    horizon: float | None = None,
    intervals: str = AUTO,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    columns: Mapping[str, str] | None = None,
    processes: int = 1,
    **named_columns: str,
) -> Fit | Fits:
    """Fit a law to measurements.

    Args:
        law: a law, or the name or path of one.
        table: a path (CSV, Parquet, SQLite), a data frame, an Arrow table or a mapping of arrays.
        starts: the number of random starts; `"auto"` adds starts until several agree; `"declared"`
            uses those of the law's file; a mapping parameter -> value is a single start.
        objective: a loss and the scale of its residuals that replace the law's own: huber(log),
            squared(raw), absolute(log), quantile(log) and so on.
        delta: Huber's delta, replacing the law's own.
        quantile: the share of rows below the fit under a quantile loss, replacing the law's own.
        over: how many times an over-estimate counts, predicted above measured, relative to an
            under-estimate, replacing the law's own; 1 for equal sides.
        where: one condition that rows must satisfy, `"size = 70M"`, or several.
        settings: values of settings that replace those of the law and of the table.
        without: one bound of the law to omit, `"C > C0"`, or several.
        fix: parameter -> value at which it is fixed, inside its domain.
        tie: parameter -> formula of others that it equals, {"beta": "alpha"}.
        priors: one Gaussian prior or several, `"log(alpha) = log(0.35) ± 0.35"`, which replace the
            law's own priors of these parameters; `"none"` removes the law's own, `"published"`
            stands for published values.
        weights: the column with the weight of each row (the number of rows that it represents), or
            an array of weights, shape (rows of the table,); rows of weight 0 are excluded.
        run: the column that identifies the training run of a row, or several. By default `run`,
            `run_id` or `run_name`, if the law does not use it and its runs have several rows;
            "none" for independent rows.
        drop_bad: exclude bad rows, and count them, instead of refusing the table.
        enforce: if a claim fails at the fitted values, fit again under bounds that enforce it.
        claims: whether to decide the claims at the fitted values; can be disabled for speed.
        rolled_check: whether to predict the larger runs of the table from its smaller ones, and to
            compute the trust horizon; can be disabled for speed.
        horizon: the multiple of the largest fitted compute, such as 10, up to which predictions are
            needed within 2 %; the fit warns (F0141) if they are less precise.
        intervals: the method of intervals: `delta`, from the Jacobian at the fit; `profile`, from
            the profile of the objective; or `bootstrap`, from fits to resampled rows or runs;
            `"auto"` is `delta`, or `profile` if a parameter lies on or near a bound, or if the law
            is far from linear in its parameters.
        level: the confidence level of the intervals.
        resamples: the number of fits of a bootstrap.
        seed: the random seed of the starts and the resamples; the same seed gives the same fit.
        progress: called with the number of starts, or resamples, done, and their total.
        columns: variable or output of the law -> column, where the names differ; for a law with
            index sets also set -> column of labels, and patterns of columns: {"r": "r_*"}.
        processes: the number of processes that share the labels of a law with index sets, where
            labels share no parameters; the result is the same for any number. Each takes a second
            or two to start.
        named_columns: entries of `columns` as keywords, L="loss", except for names of options.

    Returns:
        The fit, or the fits of all labels of a law with index sets. A fit that is not trusted
        issues a `NotTrustedWarning`.

    Raises:
        LawdslError: a law or table that cannot be used.
        ValueError: a number of processes that is not a whole number from 1.
    """
    changes = LawChanges.of(settings=settings, without=without, fix=fix, tie=tie, priors=priors)
    law = changes.apply(law if isinstance(law, Law) else load(law))
    options = FitOptions(
        starts=starts,
        objective=objective,
        delta=delta,
        quantile=quantile,
        over=over,
        where=as_texts(where),
        weights=weights,
        run=as_texts(run),
        drop_bad=drop_bad,
        enforce=enforce,
        claims=claims,
        rolled_check=rolled_check,
        horizon=horizon,
        intervals=intervals,
        level=level,
        resamples=resamples,
        seed=seed,
        progress=progress,
        columns={**(columns or {}), **named_columns},
    )
    result = fit_with(law, table, options, processes)
    _warn_unless_trusted(result)
    return result


def _warn_unless_trusted(fit: Fit | Fits) -> None:
    """Warn the caller of `fit` of a fit that is not trusted, with the reasons."""
    if fit.verdict == "not trusted":
        worst = [d for d in fit.diagnostics if d.severity == "error"]
        warn(worst or fit.diagnostics, NotTrustedWarning, stacklevel=4)


def fit_with(law: Law, table: Any, options: FitOptions, processes: int = 1) -> Fit | Fits:
    """Fit a law to measurements, with the options as one record.

    Args:
        law: the law, after its changes.
        table: the table, as for `fit`.
        options: the options of the fit.
        processes: the number of processes that share the labels.

    Returns:
        The fit, or the fits of all labels of a law with index sets.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    check_processes(processes)
    chosen = objective_of(law, options)
    rows = read_table(table, options.columns)
    law = with_settings_of(law, rows)
    if law.indexed:
        return fit_labels(law, rows, chosen, options, processes)
    return fit_one(law, rows, chosen, options)


def check_inputs(law: Law, table: Any, options: FitOptions) -> None:
    """Find what would keep `fit_with` from fitting, without a fit: columns, cells, options.

    Args:
        law: the law, after its changes.
        table: the table, as for `fit`.
        options: the options of the fit.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    chosen = objective_of(law, options)
    rows = read_table(table, options.columns)
    law = with_settings_of(law, rows)
    if law.indexed:
        parts_of(law, rows, options)
    else:
        task_of(law, rows, chosen, options)


def without_priors(laws: Sequence[Law], what: str) -> tuple[list[Law], list[Diagnostic]]:
    """Laws for fits that do not use priors, with a warning (F0138) if any law declares some.

    Args:
        laws: the laws.
        what: the fits, for the message: "comparisons".
    """
    names = dict.fromkeys(law.name for law in laws if law.declarations.priors)
    if not names:
        return list(laws), []
    message = f"{what} do not use priors: those of {', '.join(names)} are left out"
    help = "`lawdsl fit` uses them"
    warning = Diagnostic("F0138", message, "warning", help=help)
    return [law.with_priors(["none"]) if law.name in names else law for law in laws], [warning]


def objective_of(law: Law, options: FitOptions) -> Objective:
    """The objective of a fit; see `chosen_objective`.

    Args:
        law: the law.
        options: the options of the fit.
    """
    return chosen_objective(law, options.objective, options.delta, options.quantile, options.over)


def in_one_step(law: Law, options: FitOptions) -> Objective:
    """The objective for fits to parts of a table, for which parameters cannot be chosen in a first
    step.

    Args:
        law: the law.
        options: the options of the fits.

    Raises:
        LawdslError: an unknown objective, a delta that is not above 0, or a law with a parameter
            that is chosen before the others are fitted.
    """
    chosen = objective_of(law, options)
    if chosen.choice is not None:
        message = f"`{law.name}` chooses {chosen.choice.name} before it fits the rest: that takes two steps"
        scale = "log" if chosen.log else "raw"
        help = f"choose an objective of one step: --objective '{chosen.loss}({scale})'"
        raise LawdslError(Diagnostic("F0124", message, help=help))
    return chosen


def chosen_objective(
    law: Law,
    objective: str | None,
    delta: float | None,
    quantile: float | None = None,
    over: float | None = None,
) -> Objective:
    """The law's objective, or the one that replaces it; `squared` alone is squared(raw).

    Args:
        law: the law.
        objective: huber(log), squared(raw) or another loss and scale; None for the law's own.
        delta: Huber's delta; None for the objective's own.
        quantile: of the loss quantile; None for the objective's own.
        over: how many times an over-estimate counts; None for the objective's own.

    Raises:
        LawdslError: an unknown objective, a delta or a factor that is not above 0, or a quantile
            that is not between 0 and 1.
    """
    chosen = law.objective
    if chosen.choice is not None and chosen.choice.name not in {q.name for q in law.parameters}:
        chosen = replace(chosen, choice=None)  # the parameter is fixed: there is nothing to choose
    if objective is not None:
        name = SHORT.get(objective, objective)
        if name not in OBJECTIVES:
            help = "the objectives are " + ", ".join(OBJECTIVES)
            raise LawdslError(Diagnostic("L0404", f"`{objective}` is not an objective", help=help))
        loss, _, scale = name.rstrip(")").partition("(")
        chosen = replace(chosen, loss=loss, log=scale == "log", choice=None, over=1.0)
    if delta is not None:
        if "delta" not in chosen.row.parameters:
            help = "leave it out, or ask for a Huber loss: --objective 'huber(log)'"
            raise LawdslError(
                Diagnostic("L0404", f"the loss {chosen.loss} has no delta", help=help)
            )
        if not 0 < delta < np.inf:
            message = f"{chosen.loss.capitalize()}'s delta is a number above 0, not {delta:g}"
            raise LawdslError(Diagnostic("L0404", message, help="write --delta 1e-3"))
        chosen = replace(chosen, delta=float(delta))
    if quantile is not None:
        if "quantile" not in chosen.row.parameters:
            help = "leave it out, or ask for that loss: --objective 'quantile(log)'"
            message = f"the loss {chosen.loss} has no quantile"
            raise LawdslError(Diagnostic("L0404", message, help=help))
        if not 0 < quantile < 1:
            message = f"a quantile is a number between 0 and 1, not {quantile:g}"
            raise LawdslError(Diagnostic("L0404", message, help="write --quantile 0.9"))
        chosen = replace(chosen, quantile=float(quantile))
    return chosen if over is None else _with_over(chosen, over)


def _with_over(chosen: Objective, over: float) -> Objective:
    """The objective with another factor of over-estimates."""
    if not can_be_asymmetric(replace(chosen, over=1.0).row):
        message = f"the loss {chosen.loss} says already what each side costs"
        help = "leave it out, or ask for --objective 'absolute(log)'"
        raise LawdslError(Diagnostic("L0404", message, help=help))
    if not 0 < over < np.inf:
        message = f"the factor of over-estimates is a number above 0, not {over:g}"
        raise LawdslError(Diagnostic("L0404", message, help="write --over 10"))
    return replace(chosen, over=float(over))
