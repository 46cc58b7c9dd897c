"""Fit, and the table it was fitted to -> the rows that a figure draws.

A fit keeps at most 256 of its rows. Given the table, a figure draws all of them, or a part of a
long one: rows at even steps of their order, and those furthest from the law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import LawdslError
from lawdsl.figures.fitted_problem import kept_rows_note, no_rows, rows_of_table
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law

Array = NDArray[np.float64]

MAX_DRAWN = 2_000
"""Rows that a figure draws: more are not told from each other on a page."""
MAX_OUTLIERS = 50


@dataclass(frozen=True)
class MeasuredRows:
    """Rows of a fit, in the law's units.

    Attributes:
        names: the variables.
        columns: their values, shape (variables, rows).
        target: the measured output, shape (rows,).
        fitted: the fitted law there, shape (rows,).
        total: how many rows were fitted.
        note: which of them these are; "" for all.
    """

    names: tuple[str, ...]
    columns: Array
    target: Array
    fitted: Array
    total: int
    note: str = ""

    def values(self, name: str) -> Array:
        """A variable's values, shape (rows,)."""
        return self.columns[self.names.index(name)]


def measured_rows(fit: Fit, law: Law, data: Any = None) -> MeasuredRows:
    """The rows of a fit that a figure draws.

    Args:
        fit: the fit.
        law: its law.
        data: the table that was fitted: a path, a data frame or a mapping of arrays; by default the
            rows that the fit keeps.

    Raises:
        LawdslError: a fit that keeps no rows, without its table (G0103); a table that does not suit.
    """
    names = tuple(q.name for q in law.variables)
    if data is not None:
        runs = rows_of_table(fit, law, data)
        assert runs.target is not None
        columns, target = runs.columns, runs.target
        fitted = law_values(fit, names, columns)
        kept, note = thinned(target - fitted)
        return MeasuredRows(names, columns[:, kept], target[kept], fitted[kept], len(target), note)
    if fit.rows is None:
        raise LawdslError(no_rows(fit))
    columns, target = fit.rows.arrays(names)
    note = kept_rows_note(len(target), fit.data.rows)
    fitted = law_values(fit, names, columns)
    return MeasuredRows(names, columns, target, fitted, fit.data.rows, note)


def law_values(fit: Fit, names: tuple[str, ...], columns: Array) -> Array:
    """The fitted law at points, shape (variables, points): shape (points,)."""
    table, bound = table_of(names, columns)
    return fit.predict(table, **bound)


def table_of(names: Sequence[str], columns: Array) -> tuple[dict[str, Array], dict[str, Any]]:
    """Points as a table, and variable -> column: a header such as `r[s]` would have a unit in it.

    Args:
        names: the variables.
        columns: their values, shape (variables, points).
    """
    headers = [f"column {k}" for k in range(len(names))]
    return dict(zip(headers, columns, strict=True)), dict(zip(names, headers, strict=True))


def thinned(residual: Array, most: int = MAX_DRAWN) -> tuple[NDArray[np.int64], str]:
    """The rows of a table that are drawn: all, or a part where they are many.

    Args:
        residual: of each row, shape (rows,).
        most: how many are drawn.

    Returns:
        Their positions, and a note that says which they are; "" for all.
    """
    count = len(residual)
    if count <= most:
        return np.arange(count), ""
    far = np.argsort(-np.abs(residual), kind="stable")[:MAX_OUTLIERS]
    even = np.linspace(0, count - 1, most - MAX_OUTLIERS).round().astype(np.int64)
    kept = np.union1d(even, far)
    note = f"{len(kept):,} of {count:,} rows are drawn, the {len(far)} furthest from the law among them"
    return kept, note
