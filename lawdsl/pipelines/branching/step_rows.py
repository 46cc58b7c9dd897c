"""Rows between steps that branch: a table, the draws of its columns under noise, and their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.arrow_arrays import to_arrow
from lawdsl.data.row_filter import ORDER_RELATIONS
from lawdsl.data.table import Table
from lawdsl.pipelines.branching.label_join import ambiguous, join_labels
from lawdsl.pipelines.plan import StepTask
from lawdsl.pipelines.step_tables import is_constant

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class StepRows:
    """The table that a step hands on.

    Attributes:
        table: its rows.
        labels: for each row, column -> the value that all rows of its group had.
        draws: column -> its values under noise, shape (draws, rows), in the units of the table.
        output: the column that the step computed; empty for the measurements.
    """

    table: Table
    labels: tuple[Mapping[str, str], ...] = ()
    draws: Mapping[str, Array] = field(default_factory=dict)
    output: str = ""


@dataclass(frozen=True)
class KeptRow:
    """A row of several tables, and which conditions it meets.

    Attributes:
        labels: column -> value.
        values: column that a condition compares -> its value.
        holds: condition -> whether it is met.
        shares: condition -> the share of the draws in which it is met; empty without draws.
        kept: whether all conditions are met.
        share: the share of the draws in which all are met; None without draws.
    """

    labels: Mapping[str, str]
    values: Mapping[str, Any]
    holds: Mapping[str, bool]
    shares: Mapping[str, float]
    kept: bool
    share: float | None


def one_row_per_group(
    table: Table, groups: Sequence[Rows], values: Mapping[str, Array], units: Mapping[str, str]
) -> Table:
    """The columns that are constant in each group, and computed ones.

    Args:
        table: the rows of the groups.
        groups: the positions of the rows of each group.
        values: computed column -> its values, shape (groups,).
        units: computed column -> its unit; none for a number without unit.
    """
    firsts = to_arrow(np.array([rows[0] for rows in groups], dtype=np.int64))
    columns: dict[str, Any] = {
        name: cells.take(firsts)
        for name, cells in table.columns.items()
        if name not in values and is_constant(cells, groups)
    }
    columns |= {name: pa.chunked_array([numbers]) for name, numbers in values.items()}
    kept_units = {name: unit for name, unit in table.units.items() if name in columns}
    kept_units = {n: u for n, u in kept_units.items() if n not in values} | dict(units)
    numbers = np.arange(1, len(groups) + 1)
    return replace(table, columns=columns, units=kept_units, rows=numbers)


def changes(
    task: StepTask, table: Table, by: Sequence[str], variable: str, start: float
) -> tuple[StepTask, Table, tuple[Diagnostic, ...]]:
    """Subtract from the output of a step what each group has at a value of a variable.

    Args:
        task: the step.
        table: the measurements.
        by: the columns in which the rows of a group are alike.
        variable: the column of the variable.
        start: its value; rows that have it are left out afterwards.

    Returns:
        The step, whose output is bound to the changes, the table with a column of these, and
        warnings. Where no row at all has the value, the output is taken as a change already.

    Raises:
        LawdslError: some groups without a row there, F0407.
    """
    output = task.column(task.law.output)
    missing = [c for c in (output, variable, *by) if c not in table.columns]
    if missing:
        return task, table, ()  # the step reports it
    numbers, places = table.numbers(output), table.numbers(variable)
    keys = list(zip(*(table.texts(c) for c in by), strict=True)) if by else [()] * len(table)
    at_start: dict[tuple[str, ...], list[float]] = {}
    for key, number, place in zip(keys, numbers, places, strict=True):
        if place == start:
            at_start.setdefault(key, []).append(float(number))
    if not at_start:
        message = f"no row has {variable} = {start:g}: {output} is taken as the change since then"
        help = f"else add rows with {variable} = {start:g} and the {output} of the base model"
        return (
            task,
            table,
            (Diagnostic("F0412", message, "warning", place=table.name, help=help),),
        )
    lacking = [key for key in dict.fromkeys(keys) if key not in at_start]
    if lacking:
        named = [", ".join(f"{c} = {x}" for c, x in zip(by, key, strict=True)) for key in lacking]
        message = f"no row has {variable} = {start:g} in {len(lacking)} of {len(set(keys))} groups"
        help = (
            f"add a row with {variable} = {start:g} for each, with the {output} of the base model"
        )
        notes = tuple(name for name in named[:4] if name)
        raise LawdslError(Diagnostic("F0407", message, place=table.name, notes=notes, help=help))
    base = np.array([np.mean(at_start[key]) for key in keys])
    name = f"change of {output}" if task.law.output != output else output
    columns = {**table.columns, name: pa.chunked_array([numbers - base])}
    units = dict(table.units)
    if output in units:
        units[name] = units[output]
    table = replace(table, columns=columns, units=units).keep(places != start)
    return replace(task, columns={**task.columns, task.law.output: name}), table, ()


def kept_rows(
    origins: Sequence[StepRows],
    where: Sequence[tuple[str, str, float | str]],
    columns: Mapping[str, str],
) -> tuple[StepRows, tuple[KeptRow, ...]]:
    """The rows of several steps beside each other, of which those are kept that meet conditions.

    Args:
        origins: what the steps handed on.
        where: name, relation, and the number or label that it is compared with.
        columns: name -> column, where the names differ.

    Returns:
        The kept rows, and for every row which conditions it meets.

    Raises:
        LawdslError: a condition on a column that no table has, D0104.
    """
    joined = _beside(origins)
    table = joined.table
    draws = len(next(iter(joined.draws.values()))) if joined.draws else 0
    holds: dict[str, NDArray[np.bool_]] = {}
    drawn: dict[str, NDArray[np.bool_]] = {}
    compared_columns = []
    for name, relation, compared in where:
        column = _column_of(name, columns, origins, table)
        value_text = f"{compared:.6g}" if isinstance(compared, float) else f'"{compared}"'
        text = f"{column} {relation} {value_text}"
        compared_columns.append(column)
        holds[text] = _compare(table, column, relation, compared)
        if draws:
            drawn[text] = (
                ORDER_RELATIONS[relation](joined.draws[column], compared)
                if column in joined.draws and relation in ORDER_RELATIONS
                else np.repeat(holds[text][None], draws, axis=0)
            )
    every = np.all(list(holds.values()), axis=0)
    every_drawn = np.all(list(drawn.values()), axis=0) if drawn else None
    rows = tuple(
        KeptRow(
            labels=joined.labels[i],
            values={c: _cell(table, c, i) for c in compared_columns},
            holds={text: bool(mask[i]) for text, mask in holds.items()},
            shares={text: float(np.mean(mask[:, i])) for text, mask in drawn.items()},
            kept=bool(every[i]),
            share=None if every_drawn is None else float(np.mean(every_drawn[:, i])),
        )
        for i in range(len(table))
    )
    kept = np.flatnonzero(every)
    labels = tuple(joined.labels[i] for i in kept)
    draws_of_kept = {name: array[:, kept] for name, array in joined.draws.items()}
    kept_table = replace(table.keep(every), rows=np.arange(1, len(kept) + 1))
    return StepRows(kept_table, labels, draws_of_kept, origins[0].output), rows


def _beside(origins: Sequence[StepRows]) -> StepRows:
    """The rows of all tables whose labels agree, beside each other."""
    joined = join_labels([origin.labels for origin in origins])
    shared = ambiguous(joined)
    if shared is not None:
        where = ", ".join(f"{n} = {x}" for n, x in shared.items())
        message = f"several rows of two tables have {where or 'no labels'}: nothing says which belong together"
        help = "keep rows of one of them, or give each input one value"
        raise LawdslError(Diagnostic("F0416", message, place=origins[0].table.name, help=help))
    columns: dict[str, Any] = {}
    units: dict[str, str] = {}
    draws: dict[str, Array] = {}
    for number, origin in enumerate(origins):
        rows = np.array([one.positions[number] for one in joined], dtype=np.int64)
        for name, cells in origin.table.columns.items():
            if name not in columns and name in origin.table.units:
                units[name] = origin.table.units[name]
            columns.setdefault(name, cells.take(to_arrow(rows)))
        for name, array in origin.draws.items():
            draws.setdefault(name, array[:, rows])
    first = origins[0]
    rows = np.arange(1, len(joined) + 1)
    table = replace(first.table, columns=columns, units=units, rows=rows)
    return StepRows(table, tuple(one.labels for one in joined), draws, first.output)


def _column_of(
    name: str, columns: Mapping[str, str], origins: Sequence[StepRows], table: Table
) -> str:
    """The column of a name: as bound, or computed by a step as the change of it."""
    column = columns.get(name, name)
    for candidate in (column, f"change of {column}"):
        if any(candidate in origin.draws or candidate == origin.output for origin in origins):
            return candidate
    if column in table.columns:
        return column
    message = f"no step hands on a column {column}"
    help = f"there are {', '.join(table.columns)}"
    raise LawdslError(Diagnostic("D0104", message, place=table.name, help=help))


def _compare(table: Table, column: str, relation: str, compared: float | str) -> NDArray[np.bool_]:
    if isinstance(compared, str) or relation not in ORDER_RELATIONS:
        texts = np.array(table.texts(column))
        same = texts == compared if isinstance(compared, str) else table.numbers(column) == compared
        return np.asarray(same if relation == "=" else ~same)
    return np.asarray(ORDER_RELATIONS[relation](table.numbers(column), compared))


def _cell(table: Table, column: str, row: int) -> Any:
    return table.columns[column][row].as_py()
