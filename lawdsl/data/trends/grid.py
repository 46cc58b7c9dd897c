"""Rows of a table -> measurements at the cells of a grid of the law's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lawdsl.data.binding import Runs
from lawdsl.data.table import Table
from lawdsl.data.trends.exceptions import Axes
from lawdsl.data.trends.paired_differences import Array, PairedDifferences, distinct_codes
from lawdsl.data.weights_and_runs import run_numbers
from lawdsl.law.law import Law

RUN_COLUMNS = ("run", "seed")  # columns that identify runs by default


def run_columns(
    law: Law, table: Table, columns: Mapping[str, str], requested: Sequence[str]
) -> list[str]:
    """The columns that identify runs: the requested ones, else `run` and `seed` if the table has
    them.

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


def measurements_on_grid(
    law: Law, table: Table, runs: Runs, labels: Sequence[str], error: Array, unaveraged: int = 0
) -> tuple[PairedDifferences, Axes]:
    """The measurements at the cells of a grid, and the values of the variables along its axes.

    Args:
        law: the law.
        table: the rows of `runs`, in their order.
        runs: these rows as the law sees them.
        labels: further columns that are equal within a comparison.
        error: the variance of each row, nan where it is unknown, shape (rows,).
        unaveraged: the number of leading labels across which measurements are never averaged.
    """
    assert runs.target is not None
    coded = [distinct_codes(column) for column in runs.columns]
    codes = np.array([code for code, _ in coded], dtype=np.int64).reshape(-1, len(table))
    label_codes = np.array([run_numbers(table, [name]) for name in labels], dtype=np.int64)
    label_codes = label_codes.reshape(-1, len(table))
    # codes twice: the two ends of a measurement are one cell, until differences are taken
    rows = PairedDifferences(
        runs.target, np.ones(len(table)), error, codes, codes, label_codes, unaveraged
    )
    return rows, Axes(tuple(q.name for q in law.variables), tuple(levels for _, levels in coded))


def distinct_cells(table: Table, name: str) -> tuple[str, ...]:
    """The distinct cells of a column, indexed by the codes that `measurements_on_grid` assigns.

    Args:
        table: the table.
        name: the column.
    """
    codes = run_numbers(table, [name])
    first = np.unique(codes, return_index=True)[1]
    texts = table.texts(name)
    return tuple(texts[row] for row in first)
