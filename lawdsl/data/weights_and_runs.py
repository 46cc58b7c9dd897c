"""Columns of a table -> the weight of each row, and the training run it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.data.table import Table, bad_rows, number
from lawdsl.language.keywords import nearest

if TYPE_CHECKING:
    import pyarrow as pa
else:  # it takes long to load, and values given as numbers need none of it
    pa = lazy_module("pyarrow")

Array = NDArray[np.float64]

WEIGHTS_COLUMN = "(weights)"  # the column for weights that are given as an array


def with_weights(table: Table, weights: str | Array | None) -> tuple[Table, str | None]:
    """The table with the weights of its rows in a column, and that column's name.

    Args:
        table: the table.
        weights: a column, an array of shape (rows,), or None for equal weights.

    Raises:
        LawdslError: a missing column, or an array of another length.
    """
    if weights is None:
        return table, None
    if isinstance(weights, str):
        check_columns(table, [weights], "weights")
        return table, weights
    try:
        column = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        # a shape that no table has, which is refused below like every other wrong shape
        column = np.zeros((0, 0))
    if column.shape != (len(table),):
        message = f"the weights are not an array of {len(table):,} numbers, one a row"
        help = "give the name of a column, or one number for each row of the table"
        raise LawdslError(Diagnostic("D0117", message, place=table.name, help=help))
    columns: Mapping[str, object] = {**table.columns, WEIGHTS_COLUMN: pa.chunked_array([column])}
    return replace(table, columns=columns), WEIGHTS_COLUMN


def other_columns(table: Table, name: str, what: str) -> str:
    """The advice about a column that the table lacks: a similar one, or all; for a number, that a
    column holds it.
    """
    if number(name.removesuffix("%").strip()) is not None:
        return f"name a column: for one number in all rows, add a column with {name} in each row"
    listed = f"the columns are {', '.join(table.source_columns)}"
    alike = nearest(name, table.source_columns)
    return f"did you mean `{alike}`? {listed}" if alike else listed


def check_columns(table: Table, names: Sequence[str], what: str) -> None:
    """Raise an error for columns that the table lacks.

    Args:
        table: the table.
        names: the columns.
        what: what they are needed for.

    Raises:
        LawdslError: with each such name.
    """
    problems = []
    for name in names:
        if name not in table.columns:
            help = other_columns(table, name, what)
            message = f"unknown column `{name}` for the {what}"
            problems.append(Diagnostic("D0104", message, place=table.name, help=help))
    if problems:
        raise LawdslError(problems)


def rows_of_positive_weight(table: Table, column: str, drop_bad: bool) -> tuple[Table, int]:
    """The rows of positive weight, and the number of invalid rows that were excluded.

    Args:
        table: the table.
        column: the column of the weights.
        drop_bad: exclude rows whose weight is negative or not a finite number.

    Raises:
        LawdslError: a weight that is negative or not finite, with its row; no positive weight.
    """
    dropped = 0
    if drop_bad:
        readable = table.readable(column)
        dropped += int(np.sum(~readable))
        table = table.keep(readable)
    weights = table.numbers(column)
    is_valid = np.isfinite(weights) & (weights >= 0)
    if drop_bad:
        dropped += int(np.sum(~is_valid))
    elif not is_valid.all():
        rows = np.flatnonzero(~is_valid)
        message = f"column {column}: {weights[rows[0]]:g} is not a weight"
        help = "a weight is a finite number from 0 on; leave such rows out with --drop-bad"
        raise LawdslError(bad_rows("D0117", table, column, rows, message, help))
    is_positive = is_valid & (weights > 0)
    if len(table) and not is_positive.any():
        help = "give the rows that count a weight above 0"
        message = f"column {column}: no row has a weight above 0"
        raise LawdslError(Diagnostic("D0117", message, place=table.name, help=help))
    return table.keep(is_positive), dropped


def rows_of_known_runs(table: Table, columns: Sequence[str], drop_bad: bool) -> tuple[Table, int]:
    """The rows with a known training run, and the number of other rows that were excluded.

    Args:
        table: the table.
        columns: the columns that identify a run.
        drop_bad: exclude rows without a value in these columns.

    Raises:
        LawdslError: a row without such a value.
    """
    dropped = 0
    for name in columns:
        has_label = np.array([label != "" for label in table.texts(name)], dtype=bool)
        if drop_bad:
            table = table.keep(has_label)
            dropped += int(np.sum(~has_label))
        elif not has_label.all():
            message = f"column {name} is empty: which run is the row of?"
            help = "fill it in, or leave such rows out with --drop-bad"
            rows = np.flatnonzero(~has_label)
            raise LawdslError(bad_rows("D0118", table, name, rows, message, help))
    return table, dropped


def run_numbers(table: Table, columns: Sequence[str]) -> NDArray[np.int64]:
    """The number of each row's run, shape (rows,), independent of the order of the rows.

    Rows belong to one run if they agree in all columns; numbers compare as numbers, 70 = 70.0.

    Args:
        table: the table.
        columns: the columns that identify a run.
    """
    labels = list(zip(*(map(_label, table.texts(name)) for name in columns), strict=True))
    numbers = {label: i for i, label in enumerate(sorted(set(labels)))}
    return np.array([numbers[label] for label in labels], dtype=np.int64)


def _label(cell: str) -> tuple[float, str]:
    value = number(cell)
    # text sorts after all numbers, so that mixed labels have a defined order
    return (np.inf, cell) if value is None or not np.isfinite(value) else (value, "")
