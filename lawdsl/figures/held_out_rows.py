"""Fit + the table it was fitted to -> the larger runs of the table, which a condition of the fit
excludes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.data.binding import bind
from lawdsl.data.read import read_table
from lawdsl.data.row_filter import parse_condition
from lawdsl.data.table import Table
from lawdsl.figures.measured_rows import MeasuredRows, rows_at
from lawdsl.fitting.extrapolation.run_size import RunSize
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

LARGER_RTOL = 1e-6  # sizes that differ by less are equal


def larger_runs(
    fit: Fit, law: Law, size: RunSize, largest: float, data: Any
) -> MeasuredRows | None:
    """The runs of a table that are larger than all fitted ones and are excluded by a condition on
    size.

    A condition such as `N < 6e5` holds larger runs out if it alone excludes some of them. These
    runs must satisfy the other conditions, such as `phase = end`.

    Args:
        fit: the fit.
        law: its law.
        size: the size of a run.
        largest: the decimal logarithm of the size of the largest fitted run.
        data: the table.

    Returns:
        The runs; None where there are none.

    Raises:
        LawdslError: a table that the fit cannot be applied to.
    """
    table = read_table(data, fit.data.columns)
    holds = [parse_condition(text, table).holds(table) for text in fit.data.where]
    limiting = []
    for k in range(len(holds)):
        others = _conjunction(holds[:k] + holds[k + 1 :], len(table))
        rows = _larger_rows(fit, law, size, largest, table.keep(others & ~holds[k]))
        limiting.append(rows is not None)
    kept = [mask for mask, limits in zip(holds, limiting, strict=True) if not limits]
    outside = _conjunction(kept, len(table)) & ~_conjunction(holds, len(table))
    found = _larger_rows(fit, law, size, largest, table.keep(outside)) if any(limiting) else None
    return None if found is None else rows_at(fit, law, *found)


def _conjunction(masks: Sequence[Mask], count: int) -> Mask:
    return np.logical_and.reduce([np.ones(count, dtype=bool), *masks])


def _larger_rows(
    fit: Fit, law: Law, size: RunSize, largest: float, table: Table
) -> tuple[Array, Array] | None:
    """The variables and the output of the larger runs among the rows of a table; None if there are
    none.
    """
    if not len(table):
        return None
    positive = fit.objective.of_logs
    runs = bind(law, table, dict(fit.data.columns), drop_bad=True, positive=positive)
    assert runs.target is not None
    logs = size.log10([q.name for q in law.variables], runs.columns)
    larger = logs > largest + LARGER_RTOL
    return (runs.columns[:, larger], runs.target[larger]) if larger.any() else None
