"""Laws with index sets + table -> Comparisons: one comparison for each label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from lawdsl.comparing.compare_laws import compare_one
from lawdsl.comparing.fold_measures import FoldMeasures
from lawdsl.comparing.protocol_options import ProtocolOptions
from lawdsl.comparing.result import Comparison, Comparisons
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.objectives import Objective
from lawdsl.data.binding import chosen_rows
from lawdsl.data.covariates import with_measured
from lawdsl.data.default_runs import requested_runs
from lawdsl.data.melt import Labelled, labelled
from lawdsl.data.table import Table
from lawdsl.fitting.fit_by_label import label_groups, scaled_progress
from lawdsl.fitting.options import FitOptions
from lawdsl.language.instances.instance import row_indices
from lawdsl.law.law import Law

DEFAULT_LABEL_PROTOCOLS = ("all", "splits")
"""The default protocols: those of Ye et al. 2024, Table 1."""


@dataclass(frozen=True)
class LabelPart:
    """The rows of one label, the laws of these rows, and what each law measures."""

    label: str
    laws: tuple[Law, ...]
    table: Table
    measures: tuple[FoldMeasures | None, ...] = ()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Add the label to the place of errors of the block."""
        try:
            yield
        except LawdslError as error:
            diagnostics = [
                replace(d, place=", ".join(filter(None, (self.label, d.place))))
                for d in error.diagnostics
            ]
            raise LawdslError(diagnostics) from None


@dataclass(frozen=True)
class LabelParts:
    """A table by label.

    Attributes:
        over: the set that the labels belong to; empty where all rows are fitted together.
        parts: the rows of each label.
        options: the options of the fits of these rows.
        warnings: about measured variables.
    """

    over: str
    parts: tuple[LabelPart, ...]
    options: FitOptions
    warnings: tuple[Diagnostic, ...]


def compare_many(
    laws: Sequence[Law],
    table: Table,
    objective: Objective,
    protocols: ProtocolOptions,
    options: FitOptions,
) -> Comparisons:
    """Compare laws with index sets on a table, label by label.

    Args:
        laws: the laws.
        table: the measurements of all labels.
        objective: the objective of all fits.
        protocols: the protocols, by default `all` and `splits`.
        options: the options of each fit; those for intervals and claims are ignored.

    Raises:
        LawdslError: laws that do not split the rows by the same labels, or a table or protocols
            that cannot be used.
    """
    labels = label_parts(laws, table, options)
    protocols = replace(protocols, names=protocols.names or DEFAULT_LABEL_PROTOCOLS)
    parts: dict[str, Comparison] = {}
    for number, part in enumerate(labels.parts):
        part_options = replace(
            labels.options, progress=scaled_progress(options.progress, number, len(labels.parts))
        )
        with part.place():
            parts[part.label] = compare_one(
                part.laws, part.table, objective, protocols, part_options, part.measures
            )
    first = next(iter(parts), None)
    if first is not None and labels.warnings:
        with_warnings = (*labels.warnings, *parts[first].diagnostics)
        parts[first] = replace(parts[first], diagnostics=with_warnings)
    return Comparisons(labels.over, parts)


def label_parts(laws: Sequence[Law], table: Table, options: FitOptions) -> LabelParts:
    """Divide a table into the parts on which laws with index sets have no parameter in common.

    Args:
        laws: the laws.
        table: the measurements of all labels.
        options: the options of each fit.

    Raises:
        LawdslError: laws that do not split the rows by the same labels, or a table that cannot be
            used.
    """
    for law in laws:
        if not law.indexed:
            message = f"`{law.name}` has no index sets, `{_first_indexed(laws).name}` has"
            help = "compare laws of the same labels; write the one with its output as `L[i]`"
            raise LawdslError(Diagnostic("F0203", message, help=help))
    measured = [_with_measured(law, table, options) for law in laws]
    labelled_tables = [
        labelled(
            law.declarations,
            chosen_rows(table_of_law, options.where, options.drop_bad)[0],
            bindings,
            drop_bad=options.drop_bad,
        )
        for law, (table_of_law, bindings, _, _) in zip(laws, measured, strict=True)
    ]
    labels_of_laws = [
        list(label_groups(law, labelled_table.instance))
        for law, labelled_table in zip(laws, labelled_tables, strict=True)
    ]
    _check_same_rows(
        laws,
        labelled_tables,
        [
            [tuple(label_part.values()) for label_part in laws_at_label]
            for laws_at_label in labels_of_laws
        ],
    )
    all_columns = {
        name: column
        for labelled_table in labelled_tables
        for name, column in labelled_table.columns.items()
    }
    parts = []
    for label_part in zip(*labels_of_laws, strict=True):
        laws_at_label = [
            law.at_labels(replace(labelled_table.instance, at=law_labels))
            for law, labelled_table, law_labels in zip(
                laws, labelled_tables, label_part, strict=True
            )
        ]
        rows_at_label = [
            labelled_table.keep(law_labels)
            for labelled_table, law_labels in zip(labelled_tables, label_part, strict=True)
        ]
        columns = {
            name: column
            for labelled_table in rows_at_label
            for name, column in labelled_table.columns.items()
        }
        rows = replace(rows_at_label[0], columns=columns)
        name = ", ".join(label_part[0].values())
        measures = tuple(of_law for _, _, _, of_law in measured)
        parts.append(LabelPart(name, tuple(laws_at_label), rows, measures))
    declarations = laws[0].declarations
    indices = labels_of_laws[0][0] if labels_of_laws[0] else ()
    over = ", ".join(declarations.indices[index].over for index in indices)
    warnings = dict.fromkeys(w for _, _, of_law, _ in measured for w in of_law)
    return LabelParts(over, tuple(parts), replace(options, columns=all_columns), tuple(warnings))


def _with_measured(
    law: Law, table: Table, options: FitOptions
) -> tuple[Table, Mapping[str, str], tuple[Diagnostic, ...], FoldMeasures | None]:
    """The table with the variables that a law measures, the bindings of the law, warnings, and what it
    measures."""
    bindings = _bindings_of(law, options)
    readings = {
        name: column
        for name, column in options.columns.items()
        if any(
            name == of
            for measure in law.declarations.measures.values()
            for reading in measure.readings.values()
            for of, _ in reading.conditions
        )
    }
    whole, given, run = table, {**readings, **bindings}, requested_runs(options.run)
    table, columns, measures = with_measured(
        law.declarations,
        table,
        given,
        run=run,
        drop_bad=options.drop_bad,
        settings={q.name: q.value for q in law.settings if q.value is not None},
    )
    if measures is None:
        return table, columns, (), None
    in_folds = FoldMeasures(law, whole, given, run, options.drop_bad, measures)
    return table, columns, measures.warnings, in_folds


def _first_indexed(laws: Sequence[Law]) -> Law:
    return next(law for law in laws if law.indexed)


def _bindings_of(law: Law, options: FitOptions) -> dict[str, str]:
    """The bindings that apply to a law, which may have only some of the variables."""
    declarations = law.declarations
    sets = [
        *declarations.indices,
        *(declarations.indices[index].over for index in row_indices(declarations)),
    ]
    bound_names = {
        *(s.name for s in declarations.symbols.values()),
        declarations.output.name,
        *sets,
    }
    return {name: column for name, column in options.columns.items() if name in bound_names}


def _check_same_rows(
    laws: Sequence[Law],
    labelled_tables: Sequence[Labelled],
    labels: Sequence[Sequence[tuple[str, ...]]],
) -> None:
    """Raise an error for laws that are not fitted to the same rows.

    Raises:
        LawdslError: F0203.
    """
    for law, labelled_table, law_labels in zip(laws, labelled_tables, labels, strict=True):
        if law_labels == labels[0] and list(labelled_table.table.rows) == list(
            labelled_tables[0].table.rows
        ):
            continue
        message = f"`{law.name}` is not fitted to the same rows as `{laws[0].name}`"
        help = "compare laws with the same output, and a fit of its own for the same labels"
        raise LawdslError(Diagnostic("F0203", message, help=help))
