"""Readings of runs -> the value of a measured variable for each label, as a mean over common
points.

value(label) = mean over points of the mean over runs at that point of the measure's formula; the
points are those at which all labels have runs, or given ones, so that the values of labels are
comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.evaluations import Codes, RunReading, read_runs, row_codes
from lawdsl.data.means import Between, Means
from lawdsl.data.measure_findings import missing_points_finding, no_common_point, unread_labels
from lawdsl.data.measure_rows import MeasureRows
from lawdsl.data.measured_values import Point
from lawdsl.data.missing_columns import no_column
from lawdsl.data.table import bad_rows
from lawdsl.language import tree
from lawdsl.language.constants import literal
from lawdsl.language.symbols import Measure, Reading

Key = tuple[float, ...]


@dataclass(frozen=True)
class RunValue:
    """The value of a measure in one run, and the readings that were interpolated for it."""

    value: float
    between: tuple[Between, ...]


def means_of(measure: Measure, rows: MeasureRows, points: Sequence[Point] | None) -> Means:
    """The values of a measured variable.

    The formula is evaluated in each run, averaged over the runs at each point, and then averaged
    over the points that all labels have.

    Args:
        measure: the rule by which it is measured.
        rows: the runs.
        points: the required points; None for all points at which every label has runs.

    Raises:
        LawdslError: a label without a reading, or without runs at the points.
    """
    open_variables = rows.still(measure) if points is None else tuple(points[0])
    missing = [name for name in open_variables if name not in rows.columns]
    if missing:
        what = "the points at which others were measured"
        raise LawdslError([no_column(rows.table, name, what, name) for name in missing])
    by_label = _run_values_by_point(measure, rows, open_variables)
    keys = (
        None
        if points is None
        else [tuple(_six_digits(p[n]) for n in open_variables) for p in points]
    )
    common = _common_points(rows, by_label, open_variables, keys)
    every = (
        dict.fromkeys(key for by_key in by_label.values() for key in by_key) if keys is None else {}
    )
    lacking = {
        name: tuple(_point(open_variables, key) for key in sorted(every) if key not in by_key)
        for name, by_key in by_label.items()
    }
    between: dict[Between, dict[str, None]] = {}
    for name, by_key in by_label.items():
        for interval in (
            interval for key in common for one in by_key[key] for interval in one.between
        ):
            between.setdefault(interval, {})[name] = None
    return Means(
        measure,
        {
            name: float(np.mean([np.mean([one.value for one in by_key[key]]) for key in common]))
            for name, by_key in by_label.items()
        },
        tuple(_point(open_variables, key) for key in common),
        {name: points for name, points in lacking.items() if points},
        {interval: tuple(labels) for interval, labels in between.items()},
    )


def _run_values_by_point(
    measure: Measure, rows: MeasureRows, open_variables: Sequence[str]
) -> dict[str, dict[Key, list[RunValue]]]:
    """The values of a measure in the runs of each label, grouped by the open variables.

    Raises:
        LawdslError: a label without a run that has all readings.
    """
    columns = [rows.columns[name] for name in open_variables]
    runs = row_codes([rows.codes, *columns, *rows.beside], len(rows.codes))
    read = {call: _read_run(rows, runs, reading) for call, reading in measure.readings.items()}
    by_label: dict[str, dict[Key, list[RunValue]]] = {name: {} for name in rows.names}
    for run, first in enumerate(np.unique(runs, return_index=True)[1]):
        readings = {call: by_run[run] for call, by_run in read.items() if run in by_run}
        if len(readings) == len(read):
            key = tuple(float(column[first]) for column in columns)
            lines = [
                (call, one.neighbours)
                for call, one in readings.items()
                if one.neighbours is not None
            ]
            one = RunValue(_formula_value(measure, readings), tuple(lines))
            by_label[rows.names[rows.codes[first]]].setdefault(key, []).append(one)
    empty = [name for name, by_key in by_label.items() if not by_key]
    if empty:
        raise LawdslError(unread_labels(measure, rows, runs, read, empty))
    return by_label


def _six_digits(number: float) -> float:
    return float(f"{number:.6g}")


def _point(names: Iterable[str], key: Key) -> Point:
    return dict(zip(names, key, strict=True))


def _read_run(rows: MeasureRows, runs: Codes, reading: Reading) -> dict[int, RunReading]:
    """The reading of each run at a position; a loss of nan raises an error with its row."""
    met = rows.meeting(reading.conditions[1:])
    position = _six_digits(reading.conditions[0][1])
    along, output = rows.columns[reading.along][met], rows.output[met]
    readings = dict(read_runs(runs[met], along, output, position))
    if not all(np.isfinite(one.value) for one in readings.values()):
        bad = np.flatnonzero(met)[~np.isfinite(output)]
        message = f"column {rows.output_column}: the measured output is not a finite number"
        help = "correct it, choose rows with --where, or leave such rows out with --drop-bad"
        raise LawdslError(bad_rows("D0107", rows.table, rows.output_column, bad, message, help))
    return readings


def _formula_value(measure: Measure, readings: Mapping[tree.Call, RunReading]) -> float:
    """The formula of a measure, evaluated with the readings of one run; nan if it has no value."""

    def value(part: tree.Formula) -> float:
        match part:
            case tree.Call():
                return readings[part].value
            case tree.Negative(operand):
                return -value(operand)
            case tree.Sum(terms):
                return sum(value(t) if sign == "+" else -value(t) for sign, t in terms)
            case tree.Product(factors):
                product = 1.0
                for sign, factor in factors:
                    product = product * value(factor) if sign == "*" else product / value(factor)
                return product
            case tree.Number(text):
                return float(literal(text))
        raise AssertionError(part)

    try:
        return value(measure.formula)
    except ZeroDivisionError:
        return float("nan")


def _common_points(
    rows: MeasureRows,
    by_label: Mapping[str, Mapping[Key, object]],
    open_variables: tuple[str, ...],
    keys: Sequence[Key] | None,
) -> list[Key]:
    """The points at which every label has runs, or the required ones.

    Raises:
        LawdslError: no common point; a label without runs at a required point.
    """
    points = {
        label: [_point(open_variables, key) for key in sorted(by_key)]
        for label, by_key in by_label.items()
    }
    if keys is None:
        first, *others = by_label.values()
        common = [key for key in sorted(first) if all(key in by_key for by_key in others)]
        if not common:
            raise LawdslError(no_common_point(rows, points))
        return common
    lacking = {
        label: [_point(open_variables, key) for key in keys if key not in by_key]
        for label, by_key in by_label.items()
    }
    problems = [
        missing_points_finding(rows, label, no, points[label])
        for label, no in lacking.items()
        if no
    ]
    if problems:
        raise LawdslError(problems)
    return list(keys)
