"""The rows of a table as places in a grid of the law's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lawdsl.data.binding import Runs
from lawdsl.data.table import Table
from lawdsl.data.trends.exceptions import Axes
from lawdsl.data.trends.paired_differences import Array, Moves, numbered
from lawdsl.data.weights_and_runs import groups_of
from lawdsl.law.law import Law

LABELS = ("run", "seed")  # columns that tell runs apart, wherever a table has them


def labels_of(
    law: Law, table: Table, columns: Mapping[str, str], asked: Sequence[str]
) -> list[str]:
    """The columns that tell runs apart: those asked for, else `run` and `seed` where there are."""
    own = {columns.get(name, name) for name in (law.output, *(q.name for q in law.variables))}
    return list(asked) or [name for name in LABELS if name in table.columns and name not in own]


def placed(
    law: Law, table: Table, runs: Runs, labels: Sequence[str], error: Array, apart: int = 0
) -> tuple[Moves, Axes]:
    """The measurements as places in a grid; the first labels mean more than a repetition.

    Args:
        law: the law.
        table: the rows of `runs`, in their order.
        runs: the same as the law sees them.
        labels: columns of what else is held equal.
        error: the variance of each row, nan where it is not known, shape (rows,).
        apart: how many of the labels, the first ones, mean more than a repetition.
    """
    assert runs.target is not None
    pairs = [numbered(column) for column in runs.columns]
    codes = np.array([code for code, _ in pairs], dtype=np.int64).reshape(-1, len(table))
    held = np.array([groups_of(table, [name]) for name in labels], dtype=np.int64)
    held = held.reshape(-1, len(table))
    rows = Moves(runs.target, np.ones(len(table)), error, codes, codes, held, apart)
    return rows, Axes(tuple(q.name for q in law.variables), tuple(levels for _, levels in pairs))


def cells(table: Table, name: str) -> tuple[str, ...]:
    """The cells of a column by the number that `placed` gives them."""
    codes = groups_of(table, [name])
    first = np.unique(codes, return_index=True)[1]
    texts = table.texts(name)
    return tuple(texts[at] for at in first)
