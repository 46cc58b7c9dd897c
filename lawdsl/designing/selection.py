"""Runs of many mixtures on a small model + law -> the mixtures whose fit is closest to all.

error(G) = mean over all rows i of |f(x_i; theta_G) - y_i|, with theta_G fitted to the rows of group
G; the group of least error is selected. Mixture selection of Ye et al. (2024), arXiv:2403.16952: 40
candidates are trained with the smallest model, groups of 20 are drawn, a law is fitted to each, and
the group whose fit is closest to all 40 is the one that larger models are trained on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl import __version__
from lawdsl.comparing.common_rows import CommonRows, common_rows
from lawdsl.comparing.cross_validation import best_fit
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import as_texts
from lawdsl.core.objectives import Objective
from lawdsl.data.binding import chosen_rows
from lawdsl.data.formats.csv import csv_text
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.melt import labelled
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.designing.groups import ErrorOfRows, Rows, group_errors, sample_groups
from lawdsl.designing.result import MIXTURE_COLUMN, one_line
from lawdsl.designing.size_ranks import size_rank_lines
from lawdsl.fitting.diagnostics.diagnose import insufficient_data_errors
from lawdsl.fitting.fit import in_one_step, without_priors
from lawdsl.fitting.fit_by_label import label_groups
from lawdsl.fitting.options import FitOptions, check_seed
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.problem import Problem
from lawdsl.law.law import Law, load

Array = NDArray[np.float64]
SELECTION_STARTS = 8  # starts of each fit


@dataclass(frozen=True)
class SelectedMixtures:
    """The group of mixtures whose fit is closest to all.

    Attributes:
        table: its rows, in the order of the table they are from.
        mixtures: the labels of the selected mixtures.
        of: the number of mixtures in the table.
        by: the columns that distinguish them.
        errors: the mean absolute error on all rows of the fit to each group, shape (groups,); inf
            for a group that could not be fitted.
        everything: the mean absolute error of the fit to all mixtures.
        law: the name of the fitted law.
        output: the output whose errors these are.
        how: the method of selection, as lines of text.
        ranks: a line on how far ranks of mixtures agree between the model sizes of the table; empty
            if it has one.
        warnings: warnings about the data.
    """

    table: Table
    mixtures: tuple[str, ...]
    of: int
    by: tuple[str, ...]
    errors: Array
    everything: float
    law: str
    output: str
    how: tuple[str, ...]
    ranks: str
    warnings: tuple[Diagnostic, ...]

    @property
    def error(self) -> float:
        """The error of the fit to the selected group."""
        return float(np.min(self.errors))

    @property
    def median(self) -> float:
        """The median error of the groups that could be fitted."""
        return float(np.median(self.errors[np.isfinite(self.errors)]))

    def to_csv(self) -> str:
        """The rows of the table that belong to the group, as CSV, below the notes of the table and
        of the selection.
        """
        return csv_text(*self.to_rows())

    def to_rows(self) -> tuple[list[str], list[str], list[list[Any]]]:
        """The notes, the headers and the rows of the table of `to_csv`."""
        table = self.table
        header = [f"{c} [{u}]" if (u := table.units.get(c)) else c for c in table.columns]
        rows = zip(*(table.texts(name) for name in table.columns), strict=True)
        return list(map(one_line, (*table.notes, *self.how))), header, list(map(list, rows))

    def to_json(self) -> dict[str, Any]:
        """The selection as plain data; the keys are stable."""
        return {
            "law": self.law,
            "output": self.output,
            "mixtures": list(self.mixtures),
            "of": self.of,
            "by": list(self.by),
            "rows": self.table.rows.tolist(),
            "groups": len(self.errors),
            "failed": int(np.sum(~np.isfinite(self.errors))),
            "measure": "mean absolute error on all rows",
            "error": self.error,
            "median": self.median,
            "all": self.everything,
            "how": list(self.how),
        }


def select(
    law: Law | str | Path,
    table: Any,
    /,
    *,
    count: int = 20,
    groups: int = 200,
    by: str | Sequence[str] = (),
    starts: int = SELECTION_STARTS,
    objective: str | None = None,
    delta: float | None = None,
    quantile: float | None = None,
    over: float | None = None,
    where: str | Sequence[str] = (),
    drop_bad: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    columns: Mapping[str, str] | None = None,
    **named_columns: str,
) -> SelectedMixtures:
    """Select the mixtures whose fit is closest to the measurements of all.

    Args:
        law: a law, or the name or path of one.
        table: a path (CSV, Parquet, SQLite), a data frame, an Arrow table or a mapping of arrays.
        count: the number of mixtures that are chosen.
        groups: the number of groups that are tried; all groups, if there are fewer.
        by: the column that distinguishes mixtures, or several; `mixture` if it exists, otherwise
            the variables of the law.
        starts: the starts of each fit.
        objective, delta, quantile, over: the objective of the fits, in place of the law's own.
        where: one condition that rows must meet, or several.
        drop_bad: exclude bad rows.
        seed: the seed of the groups and the starts.
        progress: called with the number of groups done, and their total.
        columns, named_columns: variable or output -> column, where the names differ: L="loss".

    Returns:
        The selected group, with the errors of all groups.

    Raises:
        LawdslError: a law or table that cannot be used; numbers for which no group exists, or no
            group that can be fitted, M0107.
    """
    check_seed(seed)
    bound = {**(columns or {}), **named_columns}
    runs = read_table(table, bound)
    law = with_settings_of(law if isinstance(law, Law) else load(law), runs)
    options = FitOptions(
        starts=starts,
        objective=objective,
        delta=delta,
        quantile=quantile,
        over=over,
        where=as_texts(where),
        drop_bad=drop_bad,
        seed=seed,
        progress=progress,
        columns=bound,
    )
    objective_of_fits = in_one_step(law, options)
    (law,), unused = without_priors([law], "choices of mixtures")
    selected = _select_group(law, runs, as_texts(by), objective_of_fits, options, count, groups)
    return replace(selected, warnings=(*unused, *selected.warnings))


def _select_group(
    law: Law,
    runs: Table,
    by: tuple[str, ...],
    objective: Objective,
    options: FitOptions,
    count: int,
    groups: int,
) -> SelectedMixtures:
    """The group of mixtures whose fit has the least error on the rows of all.

    Args:
        law: the law, with the settings of the table.
        runs: the measurements.
        by: the columns that distinguish mixtures; empty for the default.
        objective: the objective of all fits.
        options: the options of each fit.
        count: the number of mixtures in a group.
        groups: the number of groups that are tried.
    """
    seed = options.seed
    parts = list(_rows_by_label(law, runs, by, objective.log, options))
    mixture_columns = parts[0].mixture_columns
    names = sorted({name for part in parts for name in part.names})
    sampled = sample_groups(len(names), count, groups, seed, runs.name)
    number_of_mixture = {name: number for number, name in enumerate(names)}
    errors_of = [
        subset_error(
            part.law,
            problem_of(part.law, part.columns, part.target, objective),
            seed,
            options.starts,
        )
        for part in parts
    ]
    labels = [np.array([number_of_mixture[n] for n in part.names])[part.label] for part in parts]

    error = _mean_error(errors_of, labels)
    everything = error(np.arange(len(names)))
    errors, failed = group_errors(error, np.arange(len(names)), sampled, options.progress)
    best_group = sampled[int(np.argmin(errors))]
    rows = [
        part.data.table.rows[np.isin(label, best_group)]
        for part, label in zip(parts, labels, strict=True)
    ]
    warnings = dict.fromkeys(d for part in parts for d in part.data.warnings)
    ranks = size_rank_lines(law.declarations, runs, options.columns, mixture_columns, options.where)
    return SelectedMixtures(
        table=runs.at(np.unique(np.concatenate(rows))),
        mixtures=tuple(names[i] for i in best_group),
        of=len(names),
        by=mixture_columns,
        errors=errors,
        everything=everything,
        law=law.name,
        output=law.output,
        how=(
            f"lawdsl {__version__}: {count} of {len(names)} mixtures of {runs.name}, those that "
            f"{law.name} is best fitted to, seed {seed}",
            _error_summary(law.output, len(names), errors, everything),
            *ranks,
        ),
        ranks=", ".join(ranks),
        warnings=(*warnings, *failed),
    )


def _mean_error(errors_of: Sequence[ErrorOfRows], labels: Sequence[Rows]) -> ErrorOfRows:
    """The error of the fit to some mixtures, averaged over labels.

    Args:
        errors_of: for each label the error of a fit to some of its rows.
        labels: for each label the mixture of each row, shape (rows,).
    """

    def error(mixtures: Rows) -> float:
        label_errors = [
            error_of_rows(np.flatnonzero(np.isin(label, mixtures)))
            for error_of_rows, label in zip(errors_of, labels, strict=True)
        ]
        return float(np.mean(label_errors))

    return error


def _error_summary(output: str, mixtures: int, errors: Array, everything: float) -> str:
    """The errors of the selected group, of all groups and of the fit to all, in a line."""
    return (
        f"mean absolute error of {output} on all {mixtures}: fit to these "
        f"{errors.min():.4g}, median of {len(errors)} groups "
        f"{np.median(errors[np.isfinite(errors)]):.4g}, fit to all {everything:.4g}"
    )


@dataclass(frozen=True)
class _LabelRows:
    """The rows of one label, or all rows, each with the index of its mixture in `names`."""

    law: Law
    data: CommonRows
    mixture_columns: tuple[str, ...]
    label: Rows
    names: tuple[str, ...]

    @property
    def columns(self) -> Array:
        """The variables of the law, shape (variables, rows)."""
        return self.data.columns[0]

    @property
    def target(self) -> Array:
        """The measured output, shape (rows,)."""
        return self.data.target


def _rows_by_label(
    law: Law, runs: Table, group_by: tuple[str, ...], positive: bool, options: FitOptions
) -> Iterator[_LabelRows]:
    """Bind a law to a table; a law with index sets once per label that is fitted separately.

    `group_by` are the columns that distinguish mixtures; `positive` is whether the output must be
    above 0.
    """
    if not law.indexed:
        yield _label_rows(law, runs, group_by, positive, options)
        return
    rows, _ = chosen_rows(runs, options.where, options.drop_bad)
    melted = labelled(law.declarations, rows, options.columns, drop_bad=options.drop_bad)
    for label_part in label_groups(law, melted.instance):
        label_law = law.at_labels(replace(melted.instance, at=label_part))
        yield _label_rows(
            label_law,
            melted.keep(label_part),
            group_by,
            positive,
            replace(options, columns=melted.columns),
        )


def _label_rows(
    law: Law, table: Table, group_by: tuple[str, ...], positive: bool, options: FitOptions
) -> _LabelRows:
    data = common_rows((law,), table, options, positive=positive)
    mixture_columns = _mixture_columns(data, group_by)
    label, names = _mixture_labels(data, mixture_columns)
    return _LabelRows(law, data, mixture_columns, label, names)


def subset_error(law: Law, problem: Problem, seed: int, starts: int) -> ErrorOfRows:
    """Create a function that fits a law to some rows and returns its mean absolute error on all
    rows.

    Args:
        law: the law.
        problem: the objective with its data, all rows.
        seed: the seed of the starts.
        starts: the starts of each fit.

    Returns:
        Rows -> mean over all rows of |f(x; theta) - y|, in the unit of the output; inf where a
        prediction is not finite.

    Raises:
        LawdslError: by the function, for rows that cannot be fitted.
    """

    def error(rows: Rows) -> float:
        subset = problem.subset(rows)
        if impossible := insufficient_data_errors(prepare(law), subset):
            raise LawdslError(impossible)
        theta = best_fit(law, subset, seed, starts).theta
        absolute_errors = np.abs(problem.predictions(theta[None])[0] - problem.target)
        return float(np.mean(absolute_errors)) if np.isfinite(absolute_errors).all() else math.inf

    return error


def _mixture_columns(data: CommonRows, group_by: tuple[str, ...]) -> tuple[str, ...]:
    """The variables or columns that distinguish mixtures."""
    return group_by or (
        (MIXTURE_COLUMN,) if MIXTURE_COLUMN in data.table.columns else tuple(data.variables)
    )


def _mixture_labels(data: CommonRows, group_by: Sequence[str]) -> tuple[Rows, tuple[str, ...]]:
    """The index of each row's mixture, shape (rows,), and the label of each mixture."""
    groups = [data.groups(name) for name in group_by]
    distinct, label = np.unique([labels for labels, _ in groups], axis=1, return_inverse=True)
    names = [
        ", ".join(texts[i] for (_, texts), i in zip(groups, one, strict=True)) for one in distinct.T
    ]
    return label.reshape(-1), tuple(names)
