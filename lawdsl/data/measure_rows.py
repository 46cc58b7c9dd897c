"""The rows of a table that a measure needs: their labels, what tells runs apart, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import conversion, readable_rows
from lawdsl.data.evaluations import Array, Codes, Mask, coded, rounded, still
from lawdsl.data.table import Table, bad_rows
from lawdsl.language.keywords import nearest
from lawdsl.language.symbols import Declarations, Measure

RUN_COLUMNS = ("run", "seed")  # tell runs apart where a table has them


@dataclass(frozen=True)
class Asked:
    """What is to be measured from a table, and how its columns are called.

    `columns` are as in `measured`; `labels` the column of the labels, None for that of the index
    or its set; `run` the columns that tell runs apart, None for those of `RUN_COLUMNS`.
    """

    declared: Declarations
    table: Table
    columns: Mapping[str, str]
    labels: str | None
    run: Sequence[str] | None
    drop_bad: bool

    def column(self, name: str) -> str:
        return self.columns.get(name, name)


@dataclass(frozen=True)
class Rows:
    """The rows of a table as a measure sees them.

    Attributes:
        table: those rows.
        names: the labels, sorted.
        codes: for each row the place of its label among them.
        columns: what its readings name, and other variables, to six digits in the law's units.
        left: the variables that its readings do not name.
        beside: codes of what else tells runs apart.
        output: the measured output in the law's unit.
        output_column: the column that it is from.
    """

    table: Table
    names: tuple[str, ...]
    codes: Codes
    columns: Mapping[str, Array]
    left: tuple[str, ...]
    beside: tuple[Codes, ...]
    output: Array
    output_column: str

    def still(self, measure: Measure) -> tuple[str, ...]:
        """Of the variables that a measure leaves open, those that do not grow along its runs."""
        variables = {name: self.columns[name] for name in self.left}
        kept = list(self.left)
        for along in {reading.along for reading in measure.readings.values()}:
            staying = still(self.columns[along], variables, (self.codes, *self.beside))
            kept = [name for name in kept if name in staying]
        return tuple(kept)

    def meeting(self, conditions: Iterable[tuple[str, float]]) -> Mask:
        """The rows that have these values."""
        met = np.ones(len(self.codes), dtype=bool)
        for name, number in conditions:
            met &= self.columns[name] == float(f"{number:.6g}")
        return met


def no_column(table: Table, column: str, what: str, name: str) -> Diagnostic:
    """The message for a column that is not there; it is needed for `what`, and bound as `name`."""
    alike = nearest(column, table.columns)
    meant = f"did you mean `{alike}`? " if alike else ""
    listed = ", ".join(table.columns) or "none"
    help = f"{meant}the columns are {listed}; bind one: {name}={alike or 'COLUMN'}"
    message = f"there is no column `{column}` for {what}"
    return Diagnostic("D0104", message, place=table.name, help=help)


def label_column(asked: Asked, measure: Measure) -> str:
    """The column of the labels: as given, else called as the index, else as its set.

    Raises:
        LawdslError: there is none.
    """
    index = asked.declared.indices[measure.index]
    indices = asked.declared.indices.values()
    names = (index.name, *(i.name for i in indices if i.over == index.over), index.over)
    given = [asked.labels] if asked.labels else [c for n in names if (c := asked.columns.get(n))]
    for name in given or names:
        if name in asked.table.columns:
            return name
    what = f"the labels of `{index.name}` over {index.over}"
    wanted = given[0] if given else index.over
    raise LawdslError(no_column(asked.table, wanted, what, index.name))


def rows_with_labels(asked: Asked, label: str, columns: Sequence[str]) -> tuple[Table, list[str]]:
    """The rows that say their label, and their labels.

    Bad rows are left out where that is asked for: those without a label, and those without a
    number in one of the columns.

    Raises:
        LawdslError: a row without a label; no row.
    """
    table = asked.table
    if asked.drop_bad:
        table, _ = readable_rows(table, columns)
    labels = table.texts(label)
    known = np.array([bool(name) for name in labels], dtype=bool)
    if not known.all() and not asked.drop_bad:
        message = f"column {label} is empty: which label has the row?"
        help = "fill it in, or leave such rows out with --drop-bad"
        rows = np.flatnonzero(~known)
        raise LawdslError(bad_rows("D0130", table, label, rows, message, help))
    if not known.any():
        help = "add the measurements"
        raise LawdslError(Diagnostic("D0103", "no row is left", place=table.name, help=help))
    return table.keep(known), [name for name in labels if name]


def rows_of(asked: Asked, measure: Measure) -> Rows:
    """The rows and columns that a measure needs.

    Raises:
        LawdslError: a column that is not there, a cell that is not a number, a row without a label.
    """
    declared, table = asked.declared, asked.table
    readings = measure.readings.values()
    named = dict.fromkeys(name for reading in readings for name, _ in reading.conditions)
    variables = [
        s.name for s in declared.symbols.values() if s.kind == "variable" and not s.indices
    ]
    output = declared.output.name
    wanted = {name: asked.column(name) for name in (*named, output)}
    problems = [
        no_column(table, column, f"the {'output' if name == output else 'place'} `{name}`", name)
        for name, column in wanted.items()
        if column not in table.columns
    ]
    if problems:
        raise LawdslError(problems)
    wanted |= {
        name: asked.column(name) for name in variables if asked.column(name) in table.columns
    }
    label = label_column(asked, measure)
    table, labels = rows_with_labels(asked, label, list(wanted.values()))
    units = {s.name: s.unit.factors for s in declared.symbols.values() if s.unit is not None}
    columns = {}
    for name, column in wanted.items():
        own = name in variables or name == output
        size = conversion(table, name, column, units.get(name)) if own else 1.0
        columns[name] = table.numbers(column) * size
    names, codes = np.unique(np.array(labels, dtype=object), return_inverse=True)
    measurements = columns.pop(output)
    return Rows(
        table=table,
        names=tuple(map(str, names)),
        codes=codes.reshape(-1),
        columns={name: rounded(column) for name, column in columns.items()},
        left=tuple(name for name in variables if name in columns and name not in named),
        beside=_beside(asked, measure, table),
        output=measurements,
        output_column=wanted[output],
    )


def _beside(asked: Asked, measure: Measure, table: Table) -> tuple[Codes, ...]:
    """What else tells runs apart, unless the readings are of different runs by their conditions."""
    if len({reading.conditions[1:] for reading in measure.readings.values()}) > 1:
        return ()
    names = RUN_COLUMNS if asked.run is None else asked.run
    problems = [
        no_column(table, name, "the run", "run")
        for name in asked.run or ()
        if name not in table.columns
    ]
    if problems:
        raise LawdslError(problems)
    texts = [np.array(table.texts(name), dtype=object) for name in names if name in table.columns]
    return tuple(coded([text], len(table)) for text in texts)
