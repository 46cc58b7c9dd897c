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

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import chosen_rows
from lawdsl.data.covariates import with_measured
from lawdsl.data.default_runs import requested_runs
from lawdsl.data.measured_variables import Measured
from lawdsl.data.melt import Labelled, labelled
from lawdsl.data.read import Table
from lawdsl.data.weights_and_runs import with_weights
from lawdsl.fitting.fit_single import fit_one
from lawdsl.fitting.options import AUTO, FitOptions, Progress
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits
from lawdsl.fitting.starts_by_label import starts_of_parts
from lawdsl.fitting.storage import fitted_law
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.language.keywords import nearest
from lawdsl.language.printer import with_subscripts
from lawdsl.language.symbols import Objective
from lawdsl.law.law import Law


@dataclass(frozen=True)
class LabelledTable:
    """The rows of a table with their labels, and the law at the labels of each part.

    Attributes:
        rows: the rows.
        parts: the labels of the rows of each part, and the law at them.
        dropped: the number of rows excluded before their labels were read.
        measures: the variables that the law measures for each domain.
        options: the options, with the weights of the rows.
    """

    rows: Labelled
    parts: tuple[tuple[dict[str, str], Law], ...]
    dropped: int
    measures: Measured | None
    options: FitOptions


def labelled_table(law: Law, table: Table, options: FitOptions) -> LabelledTable:
    """Read the labels of the rows of a table.

    Args:
        law: the law, after the changes in the options.
        table: the measurements of all labels.
        options: the options of the fit.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    table, weights = with_weights(table, options.weights)
    options = replace(options, weights=weights)
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
    parts = tuple(
        (labels, law.at_labels(replace(labelled_rows.instance, at=labels)))
        for labels in label_groups(law, labelled_rows.instance)
    )
    return LabelledTable(labelled_rows, parts, dropped, measures, options)


def fit_labels(law: Law, table: Table, objective: Objective, options: FitOptions) -> Fits:
    """Fit a law with index sets to a table.

    Args:
        law: the law, after the changes in the options.
        table: the measurements of all labels.
        objective: the objective to be minimised.
        options: the options of the fit.

    Raises:
        LawdslError: a law or table that cannot be used.
    """
    all_rows = labelled_table(law, table, options)
    options, labelled_rows, measures = all_rows.options, all_rows.rows, all_rows.measures
    labels_of_parts = [labels for labels, _ in all_rows.parts]
    laws_of_parts = [law_of_part for _, law_of_part in all_rows.parts]
    starts = [options.starts] * len(laws_of_parts)
    if isinstance(options.starts, Mapping):
        given = starts_of_parts(law, labelled_rows.instance, options.starts, laws_of_parts)
        starts = [part or AUTO for part in given]
    fits = []
    for number, (part_labels, law_of_part) in enumerate(
        zip(labels_of_parts, laws_of_parts, strict=True)
    ):
        part = replace(
            options,
            starts=starts[number],
            columns=labelled_rows.columns,
            progress=scaled_progress(options.progress, number, len(labels_of_parts)),
        )
        try:
            fits.append(fit_one(law_of_part, labelled_rows.keep(part_labels), objective, part))
        except LawdslError as error:
            labels = [
                ", ".join(other.values()) for other in labels_of_parts if other != part_labels
            ]
            raise LawdslError(
                [_with_label_as_place(d, part_labels, labels) for d in error.diagnostics]
            ) from None
    law, fits = _of_one_law(law, labelled_rows.instance, labels_of_parts, fits)
    return Fits(
        fitted_law(law),
        labelled_rows.instance.labels,
        tuple(fits),
        dict(options.columns),
        (*(measures.warnings if measures else ()), *labelled_rows.warnings),
        all_rows.dropped + labelled_rows.dropped,
        measures and replace(measures, warnings=()),
        _remaining_shares(labelled_rows),
    )


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
