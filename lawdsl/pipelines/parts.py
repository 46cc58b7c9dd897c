"""Step + its table -> parts that are fitted separately: one, or one for each label of an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import Runs, bind, chosen_rows
from lawdsl.data.melt import labelled
from lawdsl.data.table import Table, positions_of
from lawdsl.fitting.fit_by_label import label_groups
from lawdsl.language.instances.instance import row_indices
from lawdsl.law.law import Law
from lawdsl.pipelines.plan import StepTask

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class StepPart:
    """Rows that are fitted without those of other parts, whatever their groups.

    Attributes:
        law: the law, without index sets.
        table: the rows.
        columns: variable or output -> column.
        runs: the rows, bound to the variables of the law.
        positions: the positions of the rows in the table of the step, shape (rows,).
        labels: column -> the label of an index that all rows have.
        bindings: variable, output or set -> column, or pattern of columns, as the user gave them.
    """

    law: Law
    table: Table
    columns: Mapping[str, str]
    runs: Runs
    positions: Rows
    labels: Mapping[str, str]
    bindings: Mapping[str, str]


def step_parts(
    task: StepTask, table: Table, where: Sequence[str], drop_bad: bool
) -> Iterator[StepPart]:
    """Iterate over the parts of a step.

    Args:
        task: the step.
        table: its table.
        where: conditions that rows must satisfy, in the names and units of the table.
        drop_bad: exclude bad rows.

    Raises:
        LawdslError: a table that cannot be used.
    """
    law = task.law
    rows, _ = chosen_rows(table, where, drop_bad)
    if not law.indexed:
        columns = {q.name: task.column(q.name) for q in law.variables}
        columns[law.output] = task.column(law.output)
        yield _build_part(law, rows, columns, table, drop_bad)
        return
    bindings = _bindings_of_step(task)
    melted = labelled(law.declarations, rows, bindings, drop_bad=drop_bad)
    if len(np.unique(melted.table.rows)) < len(melted.table):
        output = law.declarations.output
        over = law.declarations.indices[output.indices[0]].over
        message = f"the columns of `{output.text}` stand beside each other"
        help = f"in a pipeline each row has one value and its label: {output.name}=COLUMN {over}=COLUMN"
        raise LawdslError(Diagnostic("D0120", message, place=table.name, help=help))
    for label_part in label_groups(law, melted.instance):
        label_law = law.at_labels(replace(melted.instance, at=label_part))
        sets = {index: law.declarations.indices[index].over for index in label_part}
        labels = {task.column(sets[index]): label for index, label in label_part.items()}
        part = _build_part(label_law, melted.keep(label_part), melted.columns, table, drop_bad)
        yield replace(part, labels=labels, bindings=bindings)


def _bindings_of_step(task: StepTask) -> dict[str, str]:
    """The bindings of a law with index sets: of its variables, its output and its sets."""
    declarations = task.law.declarations
    names = [s.name for s in declarations.symbols.values() if s.kind == "variable"]
    names += [
        declarations.output.name,
        *(declarations.indices[i].over for i in row_indices(declarations)),
    ]
    return {name: task.columns[name] for name in names if name in task.columns}


def _build_part(
    law: Law, rows: Table, columns: Mapping[str, str], table: Table, drop_bad: bool
) -> StepPart:
    positive = law.objective.log
    runs = bind(law, rows, columns, drop_bad=drop_bad, positive=positive)
    return StepPart(law, rows, columns, runs, positions_of(table.rows, runs.rows), {}, columns)
