"""A measured variable as the mean over the points at which all labels have runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.evaluations import Codes, Found, coded, read_runs
from lawdsl.data.measure_findings import Point, apart, elsewhere, unread
from lawdsl.data.measure_rows import Rows, no_column
from lawdsl.data.table import bad_rows
from lawdsl.language import tree
from lawdsl.language.constants import literal
from lawdsl.language.symbols import Measure, Reading

Key = tuple[float, ...]
Between = tuple[tree.Call, tuple[float, float]]  # a reading, and the evaluations beside it
Read = Mapping[tree.Call, Mapping[int, Found]]  # reading -> run -> what was read


@dataclass(frozen=True)
class One:
    """What one run has for a measure, and the readings in it that were interpolated."""

    value: float
    between: tuple[Between, ...]


@dataclass(frozen=True)
class Means:
    """The values of one variable.

    Attributes:
        measure: its rule.
        values: label -> value.
        points: what each value is the mean over.
        lacking: label -> points of other labels at which it has no runs, which were left out.
        between: reading and evaluations between which it was interpolated -> labels.
    """

    measure: Measure
    values: Mapping[str, float]
    points: tuple[Point, ...]
    lacking: Mapping[str, tuple[Point, ...]]
    between: Mapping[Between, tuple[str, ...]]


def means_of(measure: Measure, rows: Rows, points: Sequence[Point] | None) -> Means:
    """The values of a variable: the formula in each run, its mean over the runs of a point, and
    the mean of these over the points that all labels have.

    Args:
        measure: how it is measured.
        rows: the runs.
        points: where it must be measured; None for wherever all labels have runs.

    Raises:
        LawdslError: a label without a reading, or without runs at the points.
    """
    left = rows.still(measure) if points is None else tuple(points[0])
    missing = [name for name in left if name not in rows.columns]
    if missing:
        what = "the points at which others were measured"
        raise LawdslError([no_column(rows.table, name, what, name) for name in missing])
    at = _by_point(measure, rows, left)
    wanted = None if points is None else [tuple(_six(p[n]) for n in left) for p in points]
    common = _common(rows, at, left, wanted)
    every = dict.fromkeys(key for by in at.values() for key in by) if wanted is None else {}
    lacking = {
        name: tuple(_point(left, key) for key in sorted(every) if key not in by)
        for name, by in at.items()
    }
    between: dict[Between, dict[str, None]] = {}
    for name, by in at.items():
        for place in (place for key in common for one in by[key] for place in one.between):
            between.setdefault(place, {})[name] = None
    return Means(
        measure,
        {
            name: float(np.mean([np.mean([one.value for one in by[key]]) for key in common]))
            for name, by in at.items()
        },
        tuple(_point(left, key) for key in common),
        {name: points for name, points in lacking.items() if points},
        {place: tuple(labels) for place, labels in between.items()},
    )


def _by_point(measure: Measure, rows: Rows, left: Sequence[str]) -> dict[str, dict[Key, list[One]]]:
    """What the runs of each label have for a measure, by the values of the variables left open.

    Raises:
        LawdslError: a label none of whose runs has all readings.
    """
    columns = [rows.columns[name] for name in left]
    runs = coded([rows.codes, *columns, *rows.beside], len(rows.codes))
    read = {call: _read(rows, runs, reading) for call, reading in measure.readings.items()}
    at: dict[str, dict[Key, list[One]]] = {name: {} for name in rows.names}
    for run, first in enumerate(np.unique(runs, return_index=True)[1]):
        found = {call: by_run[run] for call, by_run in read.items() if run in by_run}
        if len(found) == len(read):
            key = tuple(float(column[first]) for column in columns)
            lines = [(call, one.between) for call, one in found.items() if one.between is not None]
            one = One(_computed(measure, found), tuple(lines))
            at[rows.names[rows.codes[first]]].setdefault(key, []).append(one)
    empty = [name for name, by in at.items() if not by]
    if empty:
        raise LawdslError(unread(measure, rows, runs, read, empty))
    return at


def _six(number: float) -> float:
    return float(f"{number:.6g}")


def _point(names: Iterable[str], key: Key) -> Point:
    return dict(zip(names, key, strict=True))


def _read(rows: Rows, runs: Codes, reading: Reading) -> dict[int, Found]:
    """What each run measured at a place. A loss that is not a number is refused with its row."""
    met = rows.meeting(reading.conditions[1:])
    place = _six(reading.conditions[0][1])
    along, output = rows.columns[reading.along][met], rows.output[met]
    found = dict(read_runs(runs[met], along, output, place))
    if not all(np.isfinite(one.value) for one in found.values()):
        bad = np.flatnonzero(met)[~np.isfinite(output)]
        message = f"column {rows.output_column}: the measured output is not a finite number"
        help = "correct it, choose rows with --where, or leave such rows out with --drop-bad"
        raise LawdslError(bad_rows("D0107", rows.table, rows.output_column, bad, message, help))
    return found


def _computed(measure: Measure, found: Mapping[tree.Call, Found]) -> float:
    """The formula of a measure with what one run has for its readings; nan where it has no value."""

    def value(part: tree.Formula) -> float:
        match part:
            case tree.Call():
                return found[part].value
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


def _common(
    rows: Rows,
    at: Mapping[str, Mapping[Key, object]],
    left: tuple[str, ...],
    wanted: Sequence[Key] | None,
) -> list[Key]:
    """The points at which every label has runs, or those that are wanted.

    Raises:
        LawdslError: there are none; a label lacks one that is wanted.
    """
    points = {label: [_point(left, key) for key in sorted(by)] for label, by in at.items()}
    if wanted is None:
        first, *others = at.values()
        common = [key for key in sorted(first) if all(key in by for by in others)]
        if not common:
            raise LawdslError(apart(rows, points))
        return common
    lacking = {
        label: [_point(left, key) for key in wanted if key not in by] for label, by in at.items()
    }
    problems = [elsewhere(rows, label, no, points[label]) for label, no in lacking.items() if no]
    if problems:
        raise LawdslError(problems)
    return list(wanted)
