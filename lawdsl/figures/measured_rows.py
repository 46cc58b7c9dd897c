"""Fit, and the table it was fitted to -> the rows that a figure draws.

A fit keeps at most 256 of its rows. Given the table, a figure draws all of them, or a part of a
long one: rows at even steps of their order, and those furthest from the law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import bind
from lawdsl.data.read import read_table
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
        return _rows_of_table(fit, law, names, data)
    if fit.rows is None:
        message = f"this fit of {law.name} keeps no rows"
        help = "give the table that was fitted: --data TABLE, in Python data=table"
        raise LawdslError(Diagnostic("G0103", message, help=help))
    columns, target = fit.rows.arrays(names)
    fitted = law_values(fit, names, columns)
    note = ""
    if len(target) < fit.data.rows:
        note = f"{len(target):,} of {fit.data.rows:,} rows, those that the fit keeps"
    return MeasuredRows(names, columns, target, fitted, fit.data.rows, note)


def law_values(fit: Fit, names: tuple[str, ...], columns: Array) -> Array:
    """The fitted law at points, shape (variables, points): shape (points,)."""
    points = dict(zip(names, columns, strict=True))
    return fit.predict_with_warnings(points, **{name: name for name in names})[0]


def _rows_of_table(fit: Fit, law: Law, names: tuple[str, ...], data: Any) -> MeasuredRows:
    """The rows of a table that a fit was made of, thinned where they are many."""
    rows = bind(law, read_table(data), dict(fit.data.columns), where=fit.data.where, drop_bad=True)
    assert rows.target is not None
    fitted = law_values(fit, names, rows.columns)
    count = len(rows.target)
    if count <= MAX_DRAWN:
        return MeasuredRows(names, rows.columns, rows.target, fitted, count)
    far = np.argsort(-np.abs(rows.target - fitted), kind="stable")[:MAX_OUTLIERS]
    even = np.linspace(0, count - 1, MAX_DRAWN - MAX_OUTLIERS).round().astype(np.int64)
    kept = np.union1d(even, far)
    note = f"{len(kept):,} of {count:,} rows are drawn, the {len(far)} furthest from the law among them"
    return MeasuredRows(names, rows.columns[:, kept], rows.target[kept], fitted[kept], count, note)
