"""Table -> the rows that a measure needs: labels, identity of runs, numbers in the law's units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import conversion, readable_rows
from lawdsl.data.evaluations import (
    Array,
    Codes,
    Mask,
    constant_along_runs,
    rounded_to_six_digits,
    row_codes,
)
from lawdsl.data.missing_columns import no_column
from lawdsl.data.table import Table, bad_rows
from lawdsl.language.symbols import Declarations, Measure

RUN_COLUMNS = ("run", "seed")  # columns that identify runs by default


@dataclass(frozen=True)
class MeasureRequest:
    """The variables to be measured from a table, and the names of its columns.

    `columns` are as in `measured`; `labels` is the column of the labels, None for the one named
    after the index or its set; `run` are the columns that identify runs, by default `RUN_COLUMNS`.
    """

    declared: Declarations
    table: Table
    columns: Mapping[str, str]
    labels: str | None
    run: Sequence[str] | None
    drop_bad: bool

    def column(self, name: str) -> str:
        """The column bound to a name; a column of that name by default."""
        return self.columns.get(name, name)


@dataclass(frozen=True)
class MeasureRows:
    """The rows of a table as a measure uses them.

    Attributes:
        table: these rows.
        names: the labels, sorted.
        codes: the index of each row's label among them, shape (rows,).
        columns: name -> the column of a reading or of another variable, to six digits in the law's
            units, shape (rows,).
        open_variables: the variables that the readings do not fix.
        beside: codes of the other columns that identify runs, shape (rows,) each.
        output: the measured output in the law's unit, shape (rows,).
        output_column: the column it was read from.
    """

    table: Table
    names: tuple[str, ...]
    codes: Codes
    columns: Mapping[str, Array]
    open_variables: tuple[str, ...]
    beside: tuple[Codes, ...]
    output: Array
    output_column: str

    def still(self, measure: Measure) -> tuple[str, ...]:
        """The open variables of a measure that are constant along its runs."""
        variables = {name: self.columns[name] for name in self.open_variables}
        names = list(self.open_variables)
        for along in {reading.along for reading in measure.readings.values()}:
            staying = constant_along_runs(
                self.columns[along], variables, (self.codes, *self.beside)
            )
            names = [name for name in names if name in staying]
        return tuple(names)

    def meeting(self, conditions: Iterable[tuple[str, float]]) -> Mask:
        """The mask of the rows that have the given values, shape (rows,)."""
        met = np.ones(len(self.codes), dtype=bool)
        for name, number in conditions:
            # the columns are rounded to six digits too
            met &= self.columns[name] == float(f"{number:.6g}")
        return met


def label_column(request: MeasureRequest, measure: Measure) -> str:
    """The column of the labels: the given one, else that named after the index, else after its set.

    Args:
        request: the request.
        measure: the rule of measurement.

    Raises:
        LawdslError: the table has no such column.
    """
    index = request.declared.indices[measure.index]
    indices = request.declared.indices.values()
    names = (index.name, *(i.name for i in indices if i.over == index.over), index.over)
    bound_columns = (
        [request.labels] if request.labels else [c for n in names if (c := request.columns.get(n))]
    )
    for name in bound_columns or names:
        if name in request.table.columns:
            return name
    what = f"the labels of `{index.name}` over {index.over}"
    missing = bound_columns[0] if bound_columns else index.over
    raise LawdslError(no_column(request.table, missing, what, index.name))


def rows_with_labels(
    request: MeasureRequest, label: str, columns: Sequence[str]
) -> tuple[Table, list[str]]:
    """The rows with a label, and their labels.

    If the request drops bad rows, rows without a label or without a number in one of the columns
    are excluded.

    Args:
        request: the request.
        label: the column of the labels.
        columns: the columns of numbers.

    Raises:
        LawdslError: a row without a label; no remaining row.
    """
    table = request.table
    if request.drop_bad:
        table, _ = readable_rows(table, columns)
    labels = table.texts(label)
    has_label = np.array([bool(name) for name in labels], dtype=bool)
    if not has_label.all() and not request.drop_bad:
        message = f"column {label} is empty: which label has the row?"
        help = "fill it in, or leave such rows out with --drop-bad"
        rows = np.flatnonzero(~has_label)
        raise LawdslError(bad_rows("D0130", table, label, rows, message, help))
    if not has_label.any():
        help = "add the measurements"
        raise LawdslError(Diagnostic("D0103", "no row is left", place=table.name, help=help))
    return table.keep(has_label), [name for name in labels if name]


def rows_of(request: MeasureRequest, measure: Measure) -> MeasureRows:
    """The rows and columns that a measure needs.

    Args:
        request: the request.
        measure: the rule of measurement.

    Raises:
        LawdslError: a missing column, a cell that is not a number, a row without a label.
    """
    declared, table = request.declared, request.table
    readings = measure.readings.values()
    named = dict.fromkeys(name for reading in readings for name, _ in reading.conditions)
    variables = [
        s.name for s in declared.symbols.values() if s.kind == "variable" and not s.indices
    ]
    output = declared.output.name
    needed = {name: request.column(name) for name in (*named, output)}
    problems = [
        no_column(table, column, f"the {'output' if name == output else 'place'} `{name}`", name)
        for name, column in needed.items()
        if column not in table.columns
    ]
    if problems:
        raise LawdslError(problems)
    needed |= {
        name: request.column(name) for name in variables if request.column(name) in table.columns
    }
    label = label_column(request, measure)
    table, labels = rows_with_labels(request, label, list(needed.values()))
    units = {s.name: s.unit.factors for s in declared.symbols.values() if s.unit is not None}
    columns = {}
    for name, column in needed.items():
        has_unit = name in variables or name == output
        # a name that only readings use, such as `step`, has no unit in the law
        size = conversion(table, name, column, units.get(name)) if has_unit else 1.0
        columns[name] = table.numbers(column) * size
    # dtype object: in a NumPy array of text each cell has the length of the longest label
    names, codes = np.unique(np.array(labels, dtype=object), return_inverse=True)
    measurements = columns.pop(output)
    return MeasureRows(
        table=table,
        names=tuple(map(str, names)),
        codes=codes.reshape(-1),
        columns={name: rounded_to_six_digits(column) for name, column in columns.items()},
        open_variables=tuple(name for name in variables if name in columns and name not in named),
        beside=_other_column_codes(request, measure, table),
        output=measurements,
        output_column=needed[output],
    )


def _other_column_codes(
    request: MeasureRequest, measure: Measure, table: Table
) -> tuple[Codes, ...]:
    """Codes of the other columns that identify runs, unless the readings' conditions select
    different runs."""
    if len({reading.conditions[1:] for reading in measure.readings.values()}) > 1:
        return ()
    names = RUN_COLUMNS if request.run is None else request.run
    problems = [
        no_column(table, name, "the run", "run")
        for name in request.run or ()
        if name not in table.columns
    ]
    if problems:
        raise LawdslError(problems)
    texts = [np.array(table.texts(name), dtype=object) for name in names if name in table.columns]
    return tuple(row_codes([text], len(table)) for text in texts)
