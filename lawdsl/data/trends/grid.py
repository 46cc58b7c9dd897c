"""Rows of a table -> measurements at the cells of a grid of the law's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lawdsl.data.binding import Runs
from lawdsl.data.table import Table
from lawdsl.data.trends.paired_differences import Array, GridValues, distinct_codes
from lawdsl.data.weights_and_runs import run_numbers
from lawdsl.law.law import Law

RUN_COLUMNS = ("run", "seed")  # columns that identify runs by default


@dataclass(frozen=True)
class Axes:
    """The law's variables: their names, and the distinct values of each in ascending order."""

    names: tuple[str, ...]
    levels: tuple[Array, ...]

    def text(self, i: int, low: int, *high: int) -> str:
        """A value or range of a variable as text: `0.1`, `0.1 to 0.2`, or `from 0.1` with several
        upper ends.

        Args:
            i: the index of the variable.
            low: the index of its value at the lower end.
            high: the indices of its values at the upper ends.
        """
        first, *more = (f"{self.levels[i][code]:.6g}" for code in dict.fromkeys((low, *high)))
        return f"from {first}" if len(more) > 1 else " to ".join((first, *more))

    def place(self, pairs: GridValues, number: int) -> str:
        """The location of one difference as text: `N = 1, r = 0.1 to 0.2`.

        Args:
            pairs: the differences.
            number: the index of the difference.
        """
        ends = zip(pairs.low[:, number], pairs.high[:, number], strict=True)
        return ", ".join(f"{self.names[i]} = {self.text(i, *both)}" for i, both in enumerate(ends))


def run_columns(
    law: Law, table: Table, columns: Mapping[str, str], requested: Sequence[str]
) -> list[str]:
    """The columns that identify runs: the requested ones, else `run` and `seed` where present.

    Args:
        law: the law.
        table: the table.
        columns: variable or output -> column.
        requested: the requested columns.
    """
    variable_columns = {
        columns.get(name, name) for name in (law.output, *(q.name for q in law.variables))
    }
    return list(requested) or [
        name for name in RUN_COLUMNS if name in table.columns and name not in variable_columns
    ]


def grid_values(
    law: Law, table: Table, runs: Runs, labels: Sequence[str], error: Array, unaveraged: int = 0
) -> tuple[GridValues, Axes]:
    """The measurements at the cells of a grid, and the values of the variables along its axes.

    Args:
        law: the law.
        table: the rows of `runs`, in their order.
        runs: these rows, bound to the law.
        labels: further columns that are equal within a comparison.
        error: the variance of each row, nan where it is unknown, shape (rows,).
        unaveraged: the number of leading labels across which measurements are never averaged.
    """
    assert runs.target is not None
    coded = [distinct_codes(column) for column in runs.columns]
    codes = np.array([code for code, _ in coded], dtype=np.int64).reshape(-1, len(table))
    label_codes = np.array([run_numbers(table, [name]) for name in labels], dtype=np.int64)
    label_codes = label_codes.reshape(-1, len(table))
    # the codes are given twice, for the two ends: a measurement is one cell, until differences are
    # taken
    rows = GridValues(
        runs.target, np.ones(len(table)), error, codes, codes, label_codes, unaveraged
    )
    return rows, Axes(tuple(q.name for q in law.variables), tuple(levels for _, levels in coded))


def distinct_cells(table: Table, name: str) -> tuple[str, ...]:
    """The distinct cells of a column, indexed by the codes that `grid_values` assigns.

    Args:
        table: the table.
        name: the column.
    """
    codes = run_numbers(table, [name])
    first = np.unique(codes, return_index=True)[1]
    texts = table.texts(name)
    return tuple(texts[row] for row in first)
