"""Table, law -> the rows of a fit with their training runs, also where no column of runs is named.

Rows of one run, its checkpoints, have the luck of its seed and data in common: counted as
independent they make intervals too narrow. So a column that names the runs is used by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.units import size_and_dimension
from lawdsl.data.binding import Runs, bind
from lawdsl.data.table import Table
from lawdsl.law.law import Law, Quantity

RUN_NAMES = ("run", "run_id", "run_name")
"""Columns that name the training run of a row."""

NO_RUNS = ("none",)
"""What is given in place of columns so that rows count as independent."""


def bind_with_runs(
    law: Law, table: Table, columns: Mapping[str, str], *, run: Sequence[str], **options: Any
) -> Runs:
    """Read the rows of a fit, with the run of each.

    Without columns that were asked for, the run is that of the first column of RUN_NAMES that the
    law does not use, if it has no empty cell, no model size changes within its runs, and some run
    has several rows. Where all rows are of one run they count as independent, with a warning.

    Args:
        law: the law.
        table: the table.
        columns: variable or output -> column, where the names differ.
        run: the columns that identify a run; NO_RUNS for none, none for the default.
        options: further ones of `bind`.

    Raises:
        LawdslError: with every column and row that cannot be used.
    """
    if run:
        return bind(law, table, columns, run=requested_runs(run), **options)
    for name in RUN_NAMES:
        if _names_runs(law, table, columns, name):
            return _if_they_are_runs(law, bind(law, table, columns, run=(name,), **options))
    return bind(law, table, columns, **options)


def requested_runs(run: Sequence[str]) -> tuple[str, ...]:
    """The columns of runs that were asked for: none after NO_RUNS."""
    return () if tuple(run) == NO_RUNS else tuple(run)


def _names_runs(law: Law, table: Table, columns: Mapping[str, str], name: str) -> bool:
    """Whether a column may name runs: a full one that the law does not read."""
    declared = law.declarations
    sets = [*declared.indices, *(each.over for each in declared.indices.values())]
    used = {*declared.symbols, declared.output.name, *sets, *columns, *columns.values()}
    return name in table.columns and name not in used and "" not in table.texts(name)


def _if_they_are_runs(law: Law, runs: Runs) -> Runs:
    """The rows, without their runs where the column tells nothing, or something else."""
    groups = runs.groups
    assert groups is not None
    count, rows = int(groups.max()) + 1, len(groups)
    without = replace(runs, groups=None, run_columns=())
    sizes = [
        values for q, values in zip(law.variables, runs.columns, strict=True) if _is_model_size(q)
    ]
    if count == rows or any(_changes_within(groups, values) for values in sizes):
        return without
    if count > 1:
        return runs
    message = f"all rows are of one training run (column {runs.run_columns[0]})"
    help = "intervals are those of this run; measure another one to know how far runs differ"
    warning = Diagnostic("F0155", message, "warning", place=runs.name, help=help)
    return replace(without, warnings=(*runs.warnings, warning))


def _is_model_size(q: Quantity) -> bool:
    """Whether a variable is the size of the model, which no run changes."""
    parameters = size_and_dimension((("param", 1),))[1]
    return q.name == "N" or bool(q.unit and size_and_dimension(q.unit)[1] == parameters)


def _changes_within(groups: NDArray[np.int64], values: NDArray[np.float64]) -> bool:
    """Whether some group has different values."""
    first = np.unique(groups, return_index=True)[1]
    return bool(np.any(values != values[first][groups]))
