"""Table + columns -> the rows of each group: those with equal cells in these columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.arrow_arrays import to_arrow
from lawdsl.data.table import Table, bad_rows
from lawdsl.language.keywords import did_you_mean

FRAME_INDEX = "__index_level_"  # how the name of an index of a pandas frame begins in Arrow

Labels = tuple[str, ...]
"""The cells that all rows of a group have, one for each column."""


def grouped(table: Table, by: Sequence[str]) -> dict[Labels, Table]:
    """Divide the rows of a table into groups.

    Args:
        table: the table.
        by: the columns; cells are compared as text.

    Returns:
        The cells of a group -> its rows, in the order in which the groups first occur.

    Raises:
        LawdslError: an unknown column, D0104; an empty cell, D0106.
    """
    for column in by:
        if column not in table.columns:
            message = f"no column `{column}` to tell groups apart by"
            names = [n for n in table.source_columns if not n.startswith(FRAME_INDEX)]
            help = did_you_mean(column, names, f"the columns are {', '.join(names)}")
            raise LawdslError(Diagnostic("D0104", message, place=table.name, help=help))
    cells = [table.texts(column) for column in by]
    for column, texts in zip(by, cells, strict=True):
        empty = np.flatnonzero([not text for text in texts])
        if len(empty):
            message = f"column {column}: the cell is empty: which group is the row of?"
            help = "fill the cells, or choose rows with --where"
            raise LawdslError(bad_rows("D0106", table, column, empty, message, help))
    numbers: dict[Labels, list[int]] = {}
    for row, labels in enumerate(zip(*cells, strict=True)):
        numbers.setdefault(labels, []).append(row)
    return {labels: _taken(table, np.array(each)) for labels, each in numbers.items()}


def _taken(table: Table, rows: NDArray[np.int64]) -> Table:
    """The rows at some positions; the time does not depend on the number of the other rows."""
    positions = to_arrow(rows)
    columns = {name: column.take(positions) for name, column in table.columns.items()}
    return replace(table, columns=columns, rows=table.rows[rows])
