"""Predictions -> the series that a figure draws: their horizontal axis and their groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.figures.figure import refuse_own_columns
from lawdsl.figures.measured_rows import MAX_DRAWN
from lawdsl.figures.theme import MAX_GROUPS
from lawdsl.fitting.predicted_points import PREDICTED, PredictedPoints
from lawdsl.fitting.prediction_bands import BAND_ARRAYS

Array = NDArray[np.float64]

RESERVED = ("row", "group", "value", *BAND_ARRAYS)
"""Columns of the tidy table, whose names variables must not have."""


@dataclass(frozen=True)
class PredictedSeries:
    """Predictions in the order and the groups in which they are drawn.

    Attributes:
        points: the predictions.
        x: the variable of the horizontal axis; None where none varies.
        groups: the texts of the groups, at least one.
        is_scatter: whether there are too many groups to distinguish; points are not joined then.
        columns: the tidy table: the variables, `row`, `group`, and the arrays of the band.
        notes: what was left out.
    """

    points: PredictedPoints
    x: str | None
    groups: Sequence[str]
    is_scatter: bool
    columns: dict[str, list[Any]]
    notes: tuple[str, ...]

    @property
    def has_intervals(self) -> bool:
        """Whether the predictions have intervals."""
        return "low" in self.columns

    @property
    def finite(self) -> dict[str, list[Any]]:
        """The table with null in place of infinite ends."""
        return {
            name: [v if not isinstance(v, float) or np.isfinite(v) else None for v in values]
            for name, values in self.columns.items()
        }

    def is_dense(self, least: int) -> bool:
        """Whether each group has at least `least` points, so that a band is drawn."""
        counts = [self.columns["group"].count(group) for group in self.groups]
        return min(counts) >= least

    def title_of(self, name: str) -> str:
        """A variable or the output with its unit."""
        unit = self.points.units.get(name.removesuffix(PREDICTED), "")
        return f"{name} [{unit}]" if unit else name


def series_of(points: PredictedPoints, x: str | None, color: str | None) -> PredictedSeries:
    """Choose the horizontal axis and the groups of predictions.

    Args:
        points: the predictions.
        x: the variable of the horizontal axis, or None to choose it.
        color: the variable of the groups, or None for all others that vary.

    Raises:
        LawdslError: a name that the points do not have, or that does not vary in numbers (G0104); a
            variable with the name of a column of the table (G0107).
    """
    _check_names(points, x, color)
    refuse_own_columns("predictions", points.variables, RESERVED)
    given = dict(zip(points.names, zip(*points.points, strict=True), strict=True))
    # a table may have a column `run`, which is also an array of the band
    wanted = {*(points.variables or points.names), x, color} - {*RESERVED}
    cells = {name: values for name, values in given.items() if name in wanted}
    numbers = {n: values for n in cells if (values := _numbers(cells[n])) is not None}
    counts = {n: len(np.unique(values)) for n, values in numbers.items()}
    varying = [n for n in counts if counts[n] > 1]
    if x is not None and x not in varying:
        message = f"{x} does not vary in numbers"
        help = f"one of {', '.join(varying)}" if varying else "no variable does"
        raise LawdslError(Diagnostic("G0104", message, help=help))
    chosen = x or max((n for n in varying if n != color), key=lambda n: counts[n], default=None)
    groups = _groups(points, cells, numbers, chosen, color)
    return _sorted_series(points, cells, numbers, chosen, groups)


def _check_names(points: PredictedPoints, *names: str | None) -> None:
    for name in names:
        if name is not None and name not in points.names:
            message = f"the points have no {name!r}"
            help = f"they have {', '.join(points.names)}"
            raise LawdslError(Diagnostic("G0104", message, help=help))


def _numbers(values: Sequence[Any]) -> Array | None:
    """A column as finite numbers; None if it has other cells."""
    try:
        numbers = np.array([float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return numbers if np.all(np.isfinite(numbers)) else None


def _groups(
    points: PredictedPoints,
    cells: Mapping[str, Sequence[Any]],
    numbers: dict[str, Array],
    x: str | None,
    color: str | None,
) -> list[str]:
    """The text of the group of each point: the other varying values, unless they are a function of
    `x`.
    """
    if x is None:
        return [""] * len(points.points)
    others = [color] if color else [n for n in numbers if n != x]
    parts = [
        name
        for name in others
        if len(set(cells[name])) > 1
        and not (name in numbers and _follows(numbers[name], numbers[x]))
    ]
    return [
        ", ".join(f"{name} = {_text(cells[name][k])}" for name in parts)
        for k in range(len(points.points))
    ]


def _follows(values: Array, x: Array) -> bool:
    """Whether values are a monotone function of `x`, as the last share of a mixture is of another."""
    order = np.lexsort((values, x))
    at, ordered = x[order], values[order]
    steps = np.diff(ordered)
    same = np.diff(at) == 0
    return not np.any(steps[same]) and bool(np.all(steps >= 0) or np.all(steps <= 0))


def _text(cell: Any) -> str:
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _sorted_series(
    points: PredictedPoints,
    cells: Mapping[str, Sequence[Any]],
    numbers: dict[str, Array],
    x: str | None,
    groups: Sequence[str],
) -> PredictedSeries:
    """The tidy table, in the order of the horizontal axis."""
    order = np.argsort(numbers[x], kind="stable") if x is not None else np.arange(len(groups))
    notes: list[str] = []
    if len(order) > MAX_DRAWN:
        notes.append(f"{MAX_DRAWN:,} of {len(order):,} predictions are drawn")
        order = order[np.linspace(0, len(order) - 1, MAX_DRAWN).round().astype(np.int64)]
    labels = list(points.labels) or [""]
    arrays = points.arrays if points.labels else points.arrays[:, None, :]
    names = ("value", *BAND_ARRAYS[1 : arrays.shape[-1]])
    columns: dict[str, list[Any]] = {n: [] for n in (*cells, "row", "group", *names)}
    single = len(points.points) == 1
    for k in order.tolist():
        at = "" if single and points.labels else _row_text(points, k)
        for label, values in zip(labels, arrays[k], strict=True):
            for name in cells:
                columns[name].append(float(numbers[name][k]) if name in numbers else cells[name][k])
            columns["row"].append(", ".join(filter(None, (label, at))))
            columns["group"].append(", ".join(filter(None, (label, groups[k]))))
            for name, value in zip(names, values.tolist(), strict=True):
                columns[name].append(value)
    distinct = list(dict.fromkeys(columns["group"]))
    is_scatter = x is not None and len(distinct) > MAX_GROUPS
    if is_scatter:
        notes.append(f"points are not joined: they differ in more than {x}")
        columns["group"], distinct = [""] * len(columns["group"]), [""]
    return PredictedSeries(points, x, distinct, is_scatter, columns, tuple(notes))


def _row_text(points: PredictedPoints, k: int) -> str:
    named = zip(points.names, points.points[k], strict=True)
    return ", ".join(f"{name} = {_text(cell)}" for name, cell in named)
