"""Table of a step -> its rows in groups; predictions of groups -> the table of the next step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.arrow_arrays import to_arrow, to_numpy
from lawdsl.data.binding import conversion
from lawdsl.data.missing_columns import no_column
from lawdsl.data.table import Table, bad_rows, number
from lawdsl.data.weights_and_runs import run_numbers
from lawdsl.law.law import Law
from lawdsl.pipelines.plan import StepTask

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

ERROR_COLUMN = "{} error"  # the column of the standard errors of an output


def check_groups(task: StepTask, table: Table) -> None:
    """Refuse groups by columns that are missing from the table, or have empty cells.

    Args:
        task: the step.
        table: its table.

    Raises:
        LawdslError: with each such column.
    """
    problems = []
    for name in task.group_by:
        column = task.column(name)
        if column not in table.columns:
            problems.append(no_column(table, column, f"the groups of `{task.law.name}`", name))
            continue
        empty = np.flatnonzero([cell == "" for cell in table.texts(column)])
        if len(empty):
            message = f"column {column} is empty: to which group does the row belong?"
            help = "fill it in, or leave such rows out by a condition"
            problems.append(bad_rows("D0118", table, column, empty, message, help))
    if problems:
        raise LawdslError(problems)


def conditions_of(task: StepTask, table: Table) -> tuple[str, ...]:
    """The conditions of a step in the column names and units of its table.

    Args:
        task: the step.
        table: its table.
    """
    variables = variables_of(task.law)
    conditions = []
    for name, relation, compared in task.where:
        column = task.column(name)
        is_variable = name in variables and column in table.columns
        if isinstance(compared, float) and is_variable:
            compared /= conversion(table, name, column, variables[name])
        value_text = f"{compared!r}"
        if isinstance(compared, str):  # in quotes, a text of digits is no number
            value_text = f'"{compared}"' if number(compared) is not None else compared
        conditions.append(f"{column} {relation} {value_text}")
    return tuple(conditions)


def split_into_groups(task: StepTask, table: Table, positions: Rows) -> list[Rows]:
    """Split rows of a table into groups, in the order of the groups' labels.

    Args:
        task: the step.
        table: its table.
        positions: the positions of the rows in the table, shape (rows,).

    Returns:
        For each group the indices of its rows in `positions`.
    """
    if not task.group_by:
        return [np.arange(len(positions))]
    numbers = run_numbers(
        table.at(table.rows[positions]), [task.column(name) for name in task.group_by]
    )
    # stable: within a group rows stay in the order of the table
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def labels_of(task: StepTask, table: Table, rows: Rows) -> dict[str, str]:
    """The values that all rows of a group have: column -> value.

    Args:
        task: the step.
        table: its table.
        rows: positions of the group's rows in the table.
    """
    first = table.at(table.rows[rows[:1]])
    columns = [task.column(name) for name in task.group_by]
    return {column: first.texts(column)[0] for column in columns}


def column_factor(law: Law, table: Table, name: str, column: str) -> float:
    """The factor that converts numbers of a column to the law's unit of a variable or the output.

    Args:
        law: the law.
        table: the table, with the column.
        name: the name of the variable or output.
        column: the column of the table.
    """
    if name == law.output:
        unit = law.declarations.output.unit
        return conversion(table, name, column, unit.factors if unit else None)
    return conversion(table, name, column, variables_of(law)[name])


def variables_of(law: Law) -> dict[str, tuple[tuple[str, int], ...] | None]:
    """The variables of a law that have no subscripts, and their units."""
    symbols = law.declarations.symbols.values()
    plain = [s for s in symbols if s.kind == "variable" and not s.indices]
    return {s.name: s.unit.factors if s.unit else None for s in plain}


def output_table(
    task: StepTask, table: Table, groups: Sequence[Rows], values: Array, errors: Array | None
) -> Table:
    """The table for the next step, with one row per group.

    Args:
        task: the step.
        table: its rows.
        groups: the positions of the rows of each group that was fitted.
        values: predictions in the law's unit, shape (groups,).
        errors: their standard errors, shape (groups,); None where they are not known.
    """
    law, output = task.law, task.column(task.law.output)
    point_columns = {task.column(name): (name, number) for name, number in task.point.items()}
    columns: dict[str, Any] = {}
    firsts = to_arrow(np.array([rows[0] for rows in groups], dtype=np.int64))
    skipped = (output, ERROR_COLUMN.format(output), *point_columns)
    for column, cells in table.columns.items():
        if column in point_columns:
            name, number = point_columns[column]
            number /= column_factor(law, table, name, column)
            columns[column] = pa.chunked_array([np.full(len(groups), number)])
        elif column not in skipped and is_constant(cells, groups):
            columns[column] = cells.take(firsts)
    output_factor = column_factor(law, table, law.output, output)
    columns[output] = pa.chunked_array([values / output_factor])
    if errors is not None:
        columns[ERROR_COLUMN.format(output)] = pa.chunked_array([errors / output_factor])
    units = {name: unit for name, unit in table.units.items() if name in columns}
    name = f"{table.name}, predicted by {law.name}"
    rows = np.arange(1, len(groups) + 1)
    return replace(table, name=name, columns=columns, units=units, rows=rows)


def is_constant(cells: Any, groups: Sequence[Rows]) -> bool:
    """Whether a column is constant in each group."""
    # combined first: each chunk would get a dictionary, and so codes, of its own
    encoded = pc.dictionary_encode(cells.combine_chunks(), null_encoding="encode")
    codes = to_numpy(encoded.indices)
    return all(bool(np.all(codes[rows] == codes[rows[0]])) for rows in groups)
