"""Fit, and the table it was fitted to -> the rows that a figure draws.

A fit stores at most 256 of its rows. Given the table, a figure draws all rows, or a part of a long
table: every k-th row, and those with the largest deviations from the law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import LawdslError
from lawdsl.figures.fitted_problem import (
    kept_rows_note,
    no_rows,
    other_table,
    other_table_notes,
    rows_of_table,
)
from lawdsl.fitting.diagnostics.goodness import metrics_of
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law

Array = NDArray[np.float64]

MAX_DRAWN = 2_000
"""Rows that a figure draws: more could not be distinguished on a page."""
MAX_OUTLIERS = 50


@dataclass(frozen=True)
class MeasuredRows:
    """Rows of a fit, or of another table, in the law's units.

    Attributes:
        names: the variables.
        columns: their values, shape (variables, rows).
        target: the measured output, shape (rows,).
        fitted: the fitted law there, shape (rows,).
        total: the number of rows of which these are a part.
        read: the number of rows read: all of a table, else those that the fit stores.
        off: the median of |measured/fitted - 1| over the rows read.
        r2: R² of all rows.
        other: the name of the table if it is not the fitted one, else "".
        note: a note on which rows these are; "" for all.
    """

    names: tuple[str, ...]
    columns: Array
    target: Array
    fitted: Array
    total: int
    read: int
    off: float
    r2: float
    other: str = ""
    note: str = ""

    def values(self, name: str) -> Array:
        """A variable's values, shape (rows,)."""
        return self.columns[self.names.index(name)]

    def at(self, rows: NDArray[Any]) -> MeasuredRows:
        """Select rows by a mask or by positions; statistics of all rows are unchanged."""
        columns, target, fitted = self.columns[:, rows], self.target[rows], self.fitted[rows]
        return replace(self, columns=columns, target=target, fitted=fitted)

    def thinned(self, most: int = MAX_DRAWN) -> MeasuredRows:
        """The rows that a figure draws, at most `most` of them."""
        kept, note = thinned(self.target - self.fitted, most)
        return replace(self.at(kept), note=note) if note else self

    @property
    def notes(self) -> list[str]:
        """Notes on which rows these are, if they are not all of the fitted ones."""
        return [*other_table_notes(self.other), *filter(None, [self.note])]

    @property
    def off_text(self) -> str:
        """The median deviation of the rows from the law, as text."""
        text = f"off by {100 * self.off:.2g} % in the median"
        return text if self.read == self.total else f"{text} of {self.read:,}"


def measured_rows(fit: Fit, law: Law, data: Any = None) -> MeasuredRows:
    """The rows of a fit, or of another table.

    Args:
        fit: the fit.
        law: its law.
        data: a table: a path, a data frame or a mapping of arrays; by default the rows that the fit
            stores.

    Raises:
        LawdslError: no table for a fit that stores no rows (G0103); a table that the fit cannot be
            applied to.
    """
    if data is not None:
        runs = rows_of_table(fit, law, data)
        assert runs.target is not None
        return rows_at(fit, law, runs.columns, runs.target, runs.weights, other_table(fit, runs))
    if fit.rows is None:
        raise LawdslError(no_rows(fit))
    columns, target = fit.rows.arrays(tuple(q.name for q in law.variables))
    note = kept_rows_note(len(target), fit.data.rows)
    return replace(rows_at(fit, law, columns, target), total=fit.data.rows, note=note)


def rows_at(
    fit: Fit,
    law: Law,
    columns: Array,
    target: Array,
    weights: Array | None = None,
    other: str = "",
) -> MeasuredRows:
    """Rows with their fitted values.

    Args:
        fit: the fit.
        law: its law.
        columns: its variables, shape (variables, rows).
        target: the measured output, shape (rows,).
        weights: the weights of the rows, shape (rows,); None where all are equal.
        other: the name of their table if it is not the fitted one.
    """
    names, count = tuple(q.name for q in law.variables), len(target)
    fitted = law_values(fit, law, columns)
    r2 = metrics_of(target, fitted, weights).r2 if other else fit.metrics.r2
    off = median_distance(target, fitted)
    return MeasuredRows(names, columns, target, fitted, count, count, off, r2, other)


def median_distance(target: Array, fitted: Array) -> float:
    """The median of |measured/fitted - 1|, which is 0 where both are 0; nan without rows."""
    with np.errstate(all="ignore"):
        distances = np.where(target == fitted, 0.0, np.abs(target / fitted - 1))
    return float(np.median(distances)) if len(target) else float("nan")


def law_values(fit: Fit, law: Law, columns: Array) -> Array:
    """The fitted law at points chosen by a figure, shape (variables, points): shape (points,).

    `Fit.predict` would warn about points beyond the trust horizon.
    """
    with np.errstate(all="ignore"):
        compiled, target = fit.compiled(law, law.objective.log), np.ones(columns.shape[1])
        problem = compiled.problem(columns, target, law.objective, None)
        return problem.predictions(fit.theta_of(law)[None])[0].copy()


def table_of(names: Sequence[str], columns: Array) -> tuple[dict[str, Array], dict[str, Any]]:
    """Points as a table, and the mapping from variables to its columns: a header such as `r[s]`
    would be read as a name with a unit.

    Args:
        names: the variables.
        columns: their values, shape (variables, points).
    """
    headers = [f"column {k}" for k in range(len(names))]
    return dict(zip(headers, columns, strict=True)), dict(zip(names, headers, strict=True))


def thinned(residual: Array, most: int = MAX_DRAWN) -> tuple[NDArray[np.int64], str]:
    """The rows of a table that are drawn: all, or a part if they are many.

    Args:
        residual: the residual of each row, shape (rows,).
        most: the largest number of rows.

    Returns:
        Their positions, and a note on which rows they are; "" for all.
    """
    count = len(residual)
    if count <= most:
        return np.arange(count), ""
    far = np.argpartition(-np.abs(residual), MAX_OUTLIERS)[:MAX_OUTLIERS]
    even = np.linspace(0, count - 1, most - MAX_OUTLIERS).round().astype(np.int64)
    kept = np.union1d(even, far)
    note = f"{len(kept):,} of {count:,} rows are drawn, the {len(far)} furthest from the law among them"
    return kept, note
