"""Law with `measure` lines + fold -> the measured variables as the rows of the fold tell them.

Runs whose rows a fold holds out are not read, their first steps neither. Of a label without another run
the law needs its first steps, as for a prediction with --runs: they are read, and reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lawdsl.comparing.protocols import Fold
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged
from lawdsl.data.evaluations import row_codes
from lawdsl.data.measure_rows import MeasureRequest, label_column, rows_of
from lawdsl.data.measured_values import Measured, Point
from lawdsl.data.measured_variables import measured
from lawdsl.data.table import Table
from lawdsl.fitting.problem import Problem
from lawdsl.language.symbols import Declarations
from lawdsl.law.law import Law

Lines = NDArray[np.int64]
MAX_LISTED = 5  # labels in a message


@dataclass(frozen=True)
class FoldMeasures:
    """What a law measures, and from which table.

    Attributes:
        law: the law, before it is taken at labels.
        table: all rows, also those that are not compared.
        columns: variable, output, set or name in a reading -> column.
        run: columns that identify a run.
        drop_bad: whether unreadable rows are excluded.
        all_rows: the values from all rows.
    """

    law: Law
    table: Table
    columns: Mapping[str, str]
    run: Sequence[str]
    drop_bad: bool
    all_rows: Measured

    def of_table(
        self, table: Table, points: Mapping[str, Sequence[Point]] | None = None
    ) -> Measured:
        """The values from some rows, at given points or at those that all labels have.

        Raises:
            LawdslError: a label that they do not tell.
        """
        settings = {q.name: q.value for q in self.law.settings if q.value is not None}
        return measured(
            self.law.declarations,
            table,
            self.columns,
            run=self.run or None,
            points=points,
            drop_bad=self.drop_bad,
            settings=settings,
        )


@dataclass(frozen=True)
class MeasuredRows:
    """The measured variables of the compared rows.

    Attributes:
        measures: the law, and the table.
        lines: the line of each compared row, shape (rows,).
        labels: measured variable -> the label of each compared row.
        positions: measured variable -> its position among the variables of the law at its labels.
    """

    measures: FoldMeasures
    lines: Lines
    labels: Mapping[str, Sequence[str]]
    positions: Mapping[str, int]
    kept: dict[bytes, tuple[Measured, frozenset[str]]] = field(default_factory=dict)

    def in_fold(self, problem: Problem, fold: Fold) -> Problem:
        """A problem of all compared rows, with the variables as the fold tells them."""
        if np.isin(fold.test, fold.fit).all():  # nothing is held out
            return problem
        values = self.values(fold)[0].values
        columns = problem.model.columns.copy()
        for name, position in self.positions.items():
            columns[position] = [values[name][label] for label in self.labels[name]]
        return replace(problem, model=problem.model.on(columns))

    def table_in_fold(self, table: Table, bound: Mapping[str, str], fold: Fold) -> Table:
        """A table of all compared rows, with the variables as a fold tells them.

        Args:
            table: the rows.
            bound: variable -> column.
            fold: the fold.
        """
        values, columns = self.values(fold)[0].values, dict(table.columns)
        for name, labels in self.labels.items():
            numbers = np.array([values[name][label] for label in labels])
            columns[bound[self._declared.symbols[name].text]] = pa.chunked_array([numbers])
        return replace(table, columns=columns)

    def values(self, fold: Fold) -> tuple[Measured, frozenset[str]]:
        """The values of all labels, and the labels that are read from held-out rows."""
        key = fold.test.tobytes()
        if key not in self.kept:
            self.kept[key] = self._values(self.lines[fold.test])
        return self.kept[key]

    def _values(self, held_out: Lines) -> tuple[Measured, frozenset[str]]:
        measures = self.measures
        rest = measures.table.keep(~np.isin(measures.table.rows, self._unread(held_out)))
        labels = sorted({x for by_label in measures.all_rows.values.values() for x in by_label})
        measured: Measured | None = None
        try:
            measured = measures.of_table(rest) if len(rest) else None
        except LawdslError:
            single = [label for label in labels if self._determines(rest, label)]
            measured = measures.of_table(self._of(rest, single)) if single else None
        if measured is None:
            return measures.all_rows, frozenset(labels)
        values = {name: dict(by_label) for name, by_label in measured.values.items()}
        lacking = {x for x in labels if any(x not in values[name] for name in values)}
        for label in sorted(lacking):
            try:
                used = measures.of_table(self._of(measures.table, [label]), measured.points)
            except LawdslError:
                used = measures.all_rows
            for name, by_label in values.items():
                by_label[label] = used.values[name][label]
        return replace(measured, values=values), frozenset(lacking)

    def _of(self, table: Table, labels: Sequence[str]) -> Table:
        """The rows of some labels."""
        column = label_column(self._request(table), next(iter(self._declared.measures.values())))
        return table.keep(np.isin(np.array(table.texts(column)), labels))

    def _determines(self, table: Table, label: str) -> bool:
        """Whether rows determine the variables of a label."""
        rows = self._of(table, [label])
        try:
            return len(rows) > 0 and bool(self.measures.of_table(rows).values)
        except LawdslError:
            return False

    def _unread(self, held_out: Lines) -> Lines:
        """The lines that are not read: those held out, and the rest of runs of which no compared row
        is fitted."""
        unread = [held_out]
        for name, measure in self._declared.measures.items():
            if name not in self.measures.all_rows.points:  # a column gives its values
                continue
            rows = rows_of(self._request(self.measures.table), measure)
            still = (rows.columns[variable] for variable in rows.still(measure))
            runs = row_codes([rows.codes, *rows.beside, *still], len(rows.codes))
            is_held = np.isin(rows.table.rows, held_out)
            is_fitted = np.isin(rows.table.rows, self.lines) & ~is_held
            lost = np.setdiff1d(runs[is_held], runs[is_fitted])
            unread.append(rows.table.rows[np.isin(runs, lost)])
        return np.unique(np.concatenate(unread))

    @property
    def _declared(self) -> Declarations:
        return self.measures.law.declarations

    def _request(self, table: Table) -> MeasureRequest:
        measures = self.measures
        return MeasureRequest(
            self._declared, table, measures.columns, None, measures.run or None, measures.drop_bad
        )


def measured_rows(measures: FoldMeasures | None, law: Law, table: Table) -> MeasuredRows | None:
    """The measured variables of compared rows; None where a law measures none.

    Args:
        measures: what the law measures.
        law: the law at the labels of the rows.
        table: the rows.
    """
    if measures is None or not measures.all_rows.points:
        return None
    declared = measures.law.declarations
    names = [q.name for q in law.variables]
    request = MeasureRequest(declared, table, measures.columns, None, measures.run or None, False)
    positions, labels = {}, {}
    for name, measure in declared.measures.items():
        if name in measures.all_rows.points and declared.symbols[name].text in names:
            positions[name] = names.index(declared.symbols[name].text)
            labels[name] = table.texts(label_column(request, measure))
    return MeasuredRows(measures, table.rows, labels, positions) if positions else None


def held_out_findings(law: str, rows: MeasuredRows, folds: Sequence[Fold]) -> list[Diagnostic]:
    """The warning that held-out rows are read, of labels that no other run tells.

    Args:
        law: the name of the law.
        rows: its measured variables.
        folds: the folds of all protocols.
    """
    held_out = [fold for fold in folds if not np.isin(fold.test, fold.fit).all()]
    read = [labels for fold in held_out if (labels := rows.values(fold)[1])]
    if not read:
        return []
    listed = abridged(sorted(frozenset[str]().union(*read)), MAX_LISTED)
    names = ", ".join(rows.positions)
    message = (
        f"{names} of `{law}` are measured on held-out rows in {len(read)} of {len(held_out)} folds: no "
        f"other run tells them of {listed}"
    )
    help = "the law knows the first steps of the runs that it predicts there: read its errors so"
    return [Diagnostic("F0210", message, "warning", help=help)]
