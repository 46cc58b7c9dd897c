"""Law with index sets + table -> Fits: the rows of each label are fitted separately if the law
allows it.

`L[i] = c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))` defines a law for each label of i, without common
parameters: the objective is a sum of terms with separate parameters, so each label is a small
separate problem. Labels that share parameters are fitted together, with an indicator variable for
each label that is 1 in its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.objectives import Objective
from lawdsl.data.binding import chosen_rows
from lawdsl.data.covariates import with_measured
from lawdsl.data.default_runs import requested_runs
from lawdsl.data.measured_values import Measured
from lawdsl.data.melt import Labelled, labelled
from lawdsl.data.read import Table
from lawdsl.data.weights_and_runs import with_weights
from lawdsl.fitting.fit_single import fit_one
from lawdsl.fitting.fits_by_group import FailedGroup, FittedGroup, read_group
from lawdsl.fitting.options import AUTO, FitOptions, Progress
from lawdsl.fitting.processes import plain_table, request_of, run_processes
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.starts_by_label import starts_of_parts
from lawdsl.fitting.storage import fitted_law
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.keywords import nearest
from lawdsl.language.label_texts import with_subscripts
from lawdsl.law.law import Law


@dataclass(frozen=True)
class TableParts:
    """The parts of a table that share no parameter, and how each is fitted.

    Attributes:
        law: the law with index sets.
        labelled: the rows with their labels.
        labels: the labels of each part.
        laws: the law of each part.
        starts: the starts of each part.
        options: the options of the fit, with the columns of the labelled rows.
        given_columns: the columns as they were given.
        measures: the variables that were measured; None if there are none.
        dropped: the number of rows left out before labels were read.
        rows: the whole table, with its weights.
    """

    law: Law
    labelled: Labelled
    labels: tuple[Mapping[str, str], ...]
    laws: tuple[Law, ...]
    starts: tuple[Any, ...]
    options: FitOptions
    given_columns: Mapping[str, str]
    measures: Measured | None
    dropped: int
    rows: Table


def parts_of(law: Law, table: Table, options: FitOptions) -> TableParts:
    """Split a table into parts that share no parameter.

    Args:
        law: the law, after the changes in the options.
        table: the measurements of all labels.
        options: the options of the fit.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    table, weights = with_weights(table, options.weights)
    options = replace(options, weights=weights)
    whole = table
    table, columns, measures = with_measured(
        law.declarations,
        table,
        options.columns,
        run=requested_runs(options.run),
        drop_bad=options.drop_bad,
        settings={q.name: q.value for q in law.settings if q.value is not None},
    )
    rows, dropped = chosen_rows(table, options.where, options.drop_bad)
    labelled_rows = labelled(law.declarations, rows, columns, drop_bad=options.drop_bad)
    instance = labelled_rows.instance
    labels = tuple(label_groups(law, instance))
    laws = tuple(law.at_labels(replace(instance, at=each)) for each in labels)
    starts = [options.starts] * len(laws)
    if isinstance(options.starts, Mapping):
        given = starts_of_parts(law, instance, options.starts, laws)
        starts = [part or AUTO for part in given]
    return TableParts(
        law,
        labelled_rows,
        labels,
        laws,
        tuple(starts),
        replace(options, columns=labelled_rows.columns),
        options.columns,
        measures,
        dropped,
        whole,
    )


def fit_part(parts: TableParts, number: int, objective: Objective) -> FittedGroup | FailedGroup:
    """Fit one part of a table, or record why it cannot be fitted.

    Args:
        parts: the parts of the table.
        number: the part, from 0.
        objective: the objective to be minimised.
    """
    labels = parts.labels[number]
    options = replace(
        parts.options,
        starts=parts.starts[number],
        progress=scaled_progress(parts.options.progress, number, len(parts.labels)),
    )
    rows = parts.labelled.keep(labels)
    try:
        fit = fit_one(parts.laws[number], rows, objective, options)
    except LawdslError as error:
        others = [", ".join(other.values()) for other in parts.labels if other != labels]
        diagnostics = (_with_label_as_place(d, labels, others) for d in error.diagnostics)
        return FailedGroup(tuple(labels.values()), len(rows), tuple(diagnostics))
    return FittedGroup(tuple(labels.values()), fit)


def fit_labels(
    law: Law, table: Table, objective: Objective, options: FitOptions, processes: int = 1
) -> Fits:
    """Fit a law with index sets to a table.

    Args:
        law: the law, after the changes in the options.
        table: the measurements of all labels.
        objective: the objective to be minimised.
        options: the options of the fit.
        processes: the number of processes that share the parts; the result is the same for any.

    Raises:
        LawdslError: a law or table that cannot be used, or a process that failed (C0009).
        OutOfTime: as `run_processes` raises it.
    """
    parts = parts_of(law, table, options)
    fits = []
    for result in _results(parts, objective, options, processes):
        if isinstance(result, FailedGroup):
            raise LawdslError(result.diagnostics)
        assert isinstance(result.fit, Fit)
        fits.append(result.fit)
    instance, measures = parts.labelled.instance, parts.measures
    law, fits = _of_one_law(law, instance, parts.labels, fits)
    return Fits(
        fitted_law(law),
        instance.labels,
        tuple(fits),
        dict(options.columns),
        (*(measures.warnings if measures else ()), *parts.labelled.warnings),
        parts.dropped + parts.labelled.dropped,
        measures and replace(measures, warnings=()),
        _remaining_shares(parts.labelled),
    )


def _results(
    parts: TableParts, objective: Objective, options: FitOptions, processes: int
) -> Iterator[FittedGroup | FailedGroup]:
    """The fits of all parts, in their order."""
    numbers = range(len(parts.labels))
    if processes == 1 or len(numbers) == 1:
        yield from (fit_part(parts, number, objective) for number in numbers)
        return
    shares = [share for k in range(processes) if (share := numbers[k::processes])]
    sent = replace(parts.options, columns=parts.given_columns)
    table = plain_table(parts.rows)
    requests = [
        request_of(parts.law, sent, {"table": table, "parts": list(share)}) for share in shares
    ]
    answers = run_processes(requests, 0, len(numbers), options.progress)
    by_number = {
        number: content
        for share, answer in zip(shares, answers, strict=True)
        for number, content in zip(share, answer, strict=True)
    }
    yield from (read_group(by_number[number]) for number in numbers)


def _of_one_law(
    law: Law, instance: Instance, labels_of_parts: Sequence[Mapping[str, str]], fits: Sequence[Fit]
) -> tuple[Law, list[Fit]]:
    """The law with the bounds that were enforced in any part, and the fits as fits of it: a bound
    of one part concerns no parameter of another.
    """
    enforced = dict.fromkeys(bound for part in fits for bound in part.law.added)
    further = [bound for bound in enforced if bound not in law.added]
    for bound in further:
        law = law.with_bound(bound)
    if not further:
        return law, list(fits)
    return law, [
        replace(part, law=fitted_law(law.at_labels(replace(instance, at=labels))))
        for part, labels in zip(fits, labels_of_parts, strict=True)
    ]


def _remaining_shares(labelled_rows: Labelled) -> dict[str, tuple[float, float]]:
    """The shares that are 1 minus the others, and their ranges."""
    names = [with_subscripts(n, (label,)) for n, label in labelled_rows.instance.left_out.items()]
    values = {
        name: labelled_rows.table.numbers(name)
        for name in names
        if name in labelled_rows.table.columns
    }
    return {name: (float(shares.min()), float(shares.max())) for name, shares in values.items()}


def label_groups(law: Law, instance: Instance) -> Iterator[dict[str, str]]:
    """Yield the labels of the rows of each part of a table, where parts have no parameter in
    common.

    Args:
        law: a law with index sets.
        instance: the labels of each set.
    """
    declared = law.declarations
    alone = [index for index in row_indices(declared) if _have_own_parameters(law, instance, index)]
    yield from instance.assignments(declared, alone)


def _have_own_parameters(law: Law, instance: Instance, index: str) -> bool:
    """Whether rows with different labels of an index share no parameters."""
    earlier: set[str] = set()
    for label in instance.of(law.declarations, index):
        names = {q.name for q in law.at_labels(replace(instance, at={index: label})).parameters}
        if names & earlier:
            return False
        earlier |= names
    return True


def scaled_progress(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """Report the progress of one of several parts as progress of the whole.

    Args:
        progress: called with the number of steps done, and their total; None for no progress
            reports.
        number: the index of the part, from 0.
        parts: the number of parts.
    """
    if progress is None:
        return None
    return lambda done, of: progress(number * of + done, parts * of)


def _with_label_as_place(
    diagnostic: Diagnostic, labels_of_rows: Mapping[str, str], others: Sequence[str]
) -> Diagnostic:
    """A diagnostic located at the label of its rows. A label with few rows may be misspelt."""
    label = ", ".join(labels_of_rows.values())
    location = f"{diagnostic.place}, {label}" if diagnostic.place and label else diagnostic.place
    alike = nearest(label, others) if diagnostic.code == "D0110" else None
    help = f"is `{label}` meant to be `{alike}`? else " if alike else ""
    return replace(diagnostic, place=location or label, help=f"{help}{diagnostic.help}")
