"""Law + table + `bag:30` -> Ensemble: the single fit, and the fits of the members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.objectives import Objective
from lawdsl.core.warning_categories import NotTrustedWarning, warn
from lawdsl.data.binding import Runs
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.read import read_table
from lawdsl.fitting.ensembles.ensemble import Ensemble, EnsemblePart
from lawdsl.fitting.ensembles.kinds import EnsembleKind, parse_ensemble
from lawdsl.fitting.ensembles.resampling import Fitted, Members, boosted, resampled, units_of
from lawdsl.fitting.ensembles.weighted_quantiles import quantile
from lawdsl.fitting.findings_by_label import label_of
from lawdsl.fitting.fit import fit_with, in_one_step, without_priors
from lawdsl.fitting.fit_by_label import parts_of
from lawdsl.fitting.fit_many import read_arguments
from lawdsl.fitting.fit_task import bind_columns
from lawdsl.fitting.options import AUTO, FitOptions
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.solvers.multistart import optimum
from lawdsl.law.law import Law

Array = NDArray[np.float64]

MEMBER_STARTS = 4
"""Starts of a member where their number is not given: the median forgives a search that ends early."""
# share of the samples: if more cannot be fitted, a warning is issued
MAX_FAILED_SHARE = 0.05


def fit_ensemble(law: Law | str | Path, table: Any, ensemble: str, /, **options: Any) -> Ensemble:
    """Fit a law many times to resampled rows, and combine the fits by their median.

    Args:
        law: a law, or the name or path of one.
        table: a table, as `fit` takes it.
        ensemble: the kind and the number of members: "bag:30" fits each to rows drawn with
            replacement, "subbag:30" to four fifths of them drawn without, "starts:30" to all rows
            from one random start each, "boost:30" to rows drawn by AdaBoost.R2. Runs are drawn
            instead of rows where the table has them.
        options: the other arguments of `fit`, and columns of the law: L="loss". `starts` is the
            number for each member, by default 4. Priors are not used.

    Returns:
        The ensemble. If the single fit is not trusted, a `NotTrustedWarning` is issued.

    Raises:
        LawdslError: a law or table that cannot be used, or another kind of ensemble (F0170).
    """
    kind = parse_ensemble(ensemble)
    read_law, fit_options = read_arguments(law, options, "fit_ensemble")
    result = ensemble_with(read_law, table, kind, fit_options)
    if result.verdict == "not trusted":
        errors = [d for d in result.diagnostics if d.severity == "error"]
        warn(errors or result.diagnostics, NotTrustedWarning)
    return result


def ensemble_with(law: Law, table: Any, kind: EnsembleKind, options: FitOptions) -> Ensemble:
    """Fit an ensemble, with the options as one record.

    Args:
        law: the law, after its changes.
        table: the table, as for `fit`.
        kind: the kind of the ensemble.
        options: the options of the single fit; its starts, objective and seed are those of the
            members, too.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    (law,), notes = without_priors([law], "ensembles")
    objective = in_one_step(law, options)
    table = read_table(table, options.columns)
    law = with_settings_of(law, table)
    single = fit_with(law, table, replace(options, progress=None))
    fits = single.parts if isinstance(single, Fits) else (single,)
    parts: list[EnsemblePart] = []
    scarce, members_fitted = 0, 0
    progress, total = options.progress, kind.members * len(fits)
    for number, (task, fit) in enumerate(zip(_tasks(law, table, options), fits, strict=True)):
        done = iter(range(number * kind.members + 1, total + 1))

        def report(done: Iterator[int] = done) -> None:
            if progress is not None:
                progress(next(done), total)

        members = _fit_members(task, objective, kind, options, report)
        parts.append(_part(task, kind, fit, members))
        scarce += int(np.sum(np.count_nonzero(members.counts, axis=1) < members.theta.shape[1]))
        members_fitted += len(members.theta)
    failed = sum(part.failed for part in parts)
    if failed > MAX_FAILED_SHARE * total:
        message = f"the law could not be fitted to {failed:,} of {total:,} samples of the rows"
        help = "use --ensemble subbag, whose samples have more different rows, or measure more"
        notes.append(Diagnostic("F0171", message, "warning", help=help))
    if scarce > MAX_FAILED_SHARE * members_fitted:
        message = (
            f"{scarce:,} of {members_fitted:,} members are fitted to fewer different rows than the law "
            "has parameters: they pass through their rows, and are arbitrary elsewhere"
        )
        help = (
            "measure more, or use subbag, whose samples have more different rows, or a smaller law"
        )
        notes.append(Diagnostic("F0172", message, "warning", help=help))
    return Ensemble(kind.name, kind.members, options.seed, single, tuple(parts), tuple(notes))


@dataclass(frozen=True, eq=False)
class _Task:
    """The law of a part, and its rows."""

    law: Law
    runs: Runs

    @property
    def target(self) -> Array:
        assert self.runs.target is not None
        return self.runs.target

    @property
    def weights(self) -> Array:
        return np.ones(len(self.target)) if self.runs.weights is None else self.runs.weights


def _tasks(law: Law, table: Any, options: FitOptions) -> Iterator[_Task]:
    """The law and the rows of each part, in the order of the parts of a fit."""
    objective = in_one_step(law, options)
    if not law.indexed:
        yield _Task(law, bind_columns(law, table, objective, options))
        return
    parts = parts_of(law, table, options)
    for labels, law_of_part in zip(parts.labels, parts.laws, strict=True):
        rows = parts.labelled.keep(labels)
        yield _Task(law_of_part, bind_columns(law_of_part, rows, objective, parts.options))


def _fit_members(
    task: _Task,
    objective: Objective,
    kind: EnsembleKind,
    options: FitOptions,
    report: Callable[[], None],
) -> Members:
    """The members of one part."""
    prepared, columns, target = prepare(task.law), task.runs.columns, task.target
    everywhere = prepared.problem(columns, target, objective, None)
    starts = options.starts
    if starts == AUTO:
        starts = MEMBER_STARTS
    if kind.name == "starts":
        starts = 1
    # the weights of rows are the chances with which boosting draws them
    row_weights = np.ones(len(target)) if kind.name == "boost" else task.weights

    @np.errstate(all="ignore")  # searches pass through points where a law overflows
    def fit_member(counts: Array, seed: int) -> Fitted | None:
        kept, weights = counts > 0, counts * row_weights
        equal = bool(np.all(weights[kept] == 1))
        problem = prepared.problem(
            columns[:, kept], target[kept], objective, None if equal else weights[kept]
        )
        try:
            theta = optimum(prepared, problem, starts, seed).theta
        except LawdslError:  # no value at these rows from any start
            return None
        return theta, everywhere.predictions(theta[None])[0].copy()

    units = units_of(columns, target, task.runs.groups)
    if kind.name == "boost":
        return boosted(kind.members, units, target, task.weights, options.seed, fit_member, report)
    return resampled(kind.name, kind.members, units, options.seed, fit_member, report)


def _part(task: _Task, kind: EnsembleKind, fit: Fit, members: Members) -> EnsemblePart:
    """The record of the members of a part.

    Raises:
        LawdslError: the law could not be fitted to any sample; F0171.
    """
    label = label_of(fit)
    if not len(members.theta):
        message = f"`{task.law.name}` could not be fitted to any of the {members.failed:,} samples"
        help = "use --ensemble subbag, whose samples have more different rows, or measure more"
        raise LawdslError(Diagnostic("F0171", message, place=label or fit.data.name, help=help))
    median = quantile(members.predictions, members.weights, 0.5)
    out_of_bag = _out_of_bag(task, members) if kind.name in ("bag", "subbag") else None
    return EnsemblePart(
        label,
        tuple(prepare(task.law).names),
        tuple(tuple(map(float, theta)) for theta in members.theta),
        tuple(map(float, members.weights)),
        members.failed,
        _mean_error(median, task),
        out_of_bag,
        fit.metrics.mae,
    )


def _mean_error(predicted: Array, task: _Task) -> float | None:
    """The weighted mean absolute error on the rows; None where it is infinite."""
    error = float(np.average(np.abs(predicted - task.target), weights=task.weights))
    return error if np.isfinite(error) else None


def _out_of_bag(task: _Task, members: Members) -> float | None:
    """The mean absolute error of the rows, each predicted by the members that were not fitted to it;
    None where a row lacks such members.
    """
    unseen = members.counts == 0
    if not np.all(unseen.any(axis=0)):
        return None
    predicted = np.array(
        [
            quantile(members.predictions[seen_not, row][:, None], members.weights[seen_not], 0.5)[0]
            for row, seen_not in enumerate(unseen.T)
        ]
    )
    return _mean_error(predicted, task)
