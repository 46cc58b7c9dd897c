"""Table, laws -> the rows of fits with their training runs, also if no column of runs is named.

The rows of one run, its checkpoints, share the random effects of its seed and data; if they were
treated as independent, intervals would be too narrow. So a column that identifies runs is used by
default.
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
    """Read the rows of a fit, with the run of each: `bind_laws_with_runs` for one law."""
    return bind_laws_with_runs([law], table, [columns], run=run, **options)[0]


def bind_laws_with_runs(
    laws: Sequence[Law],
    table: Table,
    columns: Sequence[Mapping[str, str]],
    *,
    run: Sequence[str],
    **options: Any,
) -> list[Runs]:
    """Read the rows of fits of several laws, with the run of each row, which is the same for all
    laws.

    If no columns are requested, runs are identified by the first column of RUN_NAMES that no law
    uses, provided that it has no empty cell, no model size of any law changes within its runs, and
    some run has several rows. If all rows belong to one run they are treated as independent, with a
    warning.

    Args:
        laws: the laws.
        table: the table.
        columns: for each law, variable or output -> column, where the names differ.
        run: the columns that identify a run; NO_RUNS for none, none for the default.
        options: further options of `bind`.

    Raises:
        LawdslError: with every column and row that cannot be used.
    """
    each = list(zip(laws, columns, strict=True))
    if run:
        given = requested_runs(run)
        return [bind(law, table, bound, run=given, **options) for law, bound in each]
    for name in RUN_NAMES:
        if all(_may_identify_runs(law, table, bound, name) for law, bound in each):
            return _without_invalid_runs(
                laws, [bind(law, table, bound, run=(name,), **options) for law, bound in each]
            )
    return [bind(law, table, bound, **options) for law, bound in each]


def requested_runs(run: Sequence[str]) -> tuple[str, ...]:
    """The columns of runs that were requested: none after NO_RUNS."""
    return () if tuple(run) == NO_RUNS else tuple(run)


def _may_identify_runs(law: Law, table: Table, columns: Mapping[str, str], name: str) -> bool:
    """Whether a column may identify runs: it has no empty cells and is not read by the law."""
    declared = law.declarations
    sets = [*declared.indices, *(each.over for each in declared.indices.values())]
    used = {*declared.symbols, declared.output.name, *sets, *columns, *columns.values()}
    return name in table.columns and name not in used and "" not in table.texts(name)


def _without_invalid_runs(laws: Sequence[Law], read: Sequence[Runs]) -> list[Runs]:
    """The rows of each law, without their runs if the column does not identify the runs of all
    laws.
    """
    counts = [_count_of_runs(law, rows) for law, rows in zip(laws, read, strict=True)]
    without = [replace(rows, groups=None, run_columns=()) for rows in read]
    if 0 in counts:
        return without
    if min(counts) > 1:
        return list(read)
    message = f"all rows are of one training run (column {read[0].run_columns[0]})"
    help = "intervals are those of this run; measure another one to know how far runs differ"
    warning = Diagnostic("F0155", message, "warning", place=read[0].name, help=help)
    return [replace(rows, warnings=(*rows.warnings, warning)) for rows in without]


def _count_of_runs(law: Law, read: Runs) -> int:
    """The number of runs among the rows of a law; 0 if the column does not identify runs."""
    groups = read.groups
    assert groups is not None
    count = int(groups.max()) + 1
    sizes = [
        values for q, values in zip(law.variables, read.columns, strict=True) if is_model_size(q)
    ]
    is_other = count == len(groups) or any(_changes_within(groups, values) for values in sizes)
    return 0 if is_other else count


def is_model_size(q: Quantity) -> bool:
    """Whether a variable is the size of the model, which is constant within a run.

    Args:
        q: the variable.
    """
    parameters = size_and_dimension((("param", 1),))[1]
    return q.name == "N" or bool(q.unit and size_and_dimension(q.unit)[1] == parameters)


def _changes_within(groups: NDArray[np.int64], values: NDArray[np.float64]) -> bool:
    """Whether some group has different values."""
    first = np.unique(groups, return_index=True)[1]
    return bool(np.any(values != values[first][groups]))
