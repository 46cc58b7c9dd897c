"""Results of measuring variables -> messages about missing readings, and warnings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.enumerations import abridged, conjunction
from lawdsl.data.evaluations import Codes, Mask
from lawdsl.data.means import Means, Read
from lawdsl.data.measure_rows import MeasureRows
from lawdsl.data.measured_values import Point
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Measure, Reading

PointGroup = tuple[
    Sequence[Point], list[tuple[str, tuple[Point, ...]]]
]  # common points, and excluded points

MAX_LISTED = 5  # elements of a list in a message


def unread_labels(
    measure: Measure, rows: MeasureRows, runs: Codes, read: Read, labels: Iterable[str]
) -> list[Diagnostic]:
    """Messages about labels without a value, each with the first reading that none of its runs
    provides.

    They do not depend on the variable, so each is reported once for all variables that need the
    reading.

    Args:
        measure: the rule of measurement.
        rows: the rows.
        runs: the run of each row, shape (rows,).
        read: reading -> run -> what was read.
        labels: the labels without a value.
    """
    labels_by_reason: dict[tuple[str, str, str], list[str]] = {}
    for label in labels:
        mine = rows.codes == rows.names.index(label)
        own_runs = set(runs[mine].tolist())
        first = next((call for call, by_run in read.items() if not own_runs & by_run.keys()), None)
        if first is None:
            what = conjunction([print_formula(call) for call in read])
            note = "rows are of one run where they agree in the variables that do not grow along it"
            help = "measure them in one run; --run names the columns that tell runs apart"
        else:
            what = print_formula(first)
            note, help = _nearest(rows, mine, measure.readings[first])
            help += "; a column of the variable's own name gives its values too"
        labels_by_reason.setdefault((what, note, help), []).append(f"`{label}`")
    return [
        Diagnostic(
            "D0132",
            f"no run of {conjunction(labels)} has {what}",
            place=rows.table.name,
            notes=(note,),
            help=help,
        )
        for (what, note, help), labels in labels_by_reason.items()
    ]


def no_common_point(rows: MeasureRows, points: Mapping[str, Sequence[Point]]) -> Diagnostic:
    """The message where no point is common to all labels.

    Args:
        rows: the rows.
        points: label -> the points that it has.
    """
    message = "what is measured cannot be compared: no point is common to the runs of all labels"
    notes = [
        f"`{label}` has runs at {listed_points(label_points)}"
        for label, label_points in points.items()
    ][:MAX_LISTED]
    names = conjunction(list(next(iter(points.values()))[0]))
    help = f"measure all labels at one {names}, or give the values in columns"
    table_name = rows.table.name
    return Diagnostic("D0133", message, place=table_name, notes=tuple(notes), help=help)


def missing_points_finding(
    rows: MeasureRows, label: str, lacking: Sequence[Point], label_points: Sequence[Point]
) -> Diagnostic:
    """The message about a label without runs at points where others were measured.

    Args:
        rows: the rows.
        label: the label.
        lacking: the points that it lacks.
        label_points: the points that it has.
    """
    message = f"`{label}` has no run at {listed_points(lacking)}, where others were measured"
    notes = (f"its runs are at {listed_points(label_points)}",)
    help = f"measure `{label}` there, or all at one point that the law names: `{_reading_at(label_points[-1])}`"
    return Diagnostic("D0133", message, place=rows.table.name, notes=notes, help=help)


def _reading_at(point: Point) -> str:
    """A reading at a point, as a law would write it: L(…, N = 1.8)."""
    return f"L(…, {listed_points([point])})"


def _nearest(rows: MeasureRows, mine: Mask, reading: Reading) -> tuple[str, str]:
    """The nearest available readings, and advice."""
    for name, number in reading.conditions[1:]:
        if not (mine & rows.meeting([(name, number)])).any():
            available = _numbers_text(np.unique(rows.columns[name][mine]).tolist())
            return f"its rows have {name} = {available}", f"choose one of these for {number:g}"
    along, position = reading.along, reading.conditions[0][1]
    positions = np.unique(rows.columns[along][mine & rows.meeting(reading.conditions[1:])])
    if not len(positions):
        where = ", ".join(f"{name} = {number:g}" for name, number in reading.conditions[1:])
        return f"none of its rows has {where}", f"measure a run with {where}"
    before, after = positions[positions < position], positions[positions > position]
    if not len(before):
        with_step_0 = " (`lawdsl collect --with-step-0`)" if position == 0 else ""
        help = f"keep the rows from {along} = {position:g} on{with_step_0}"
        return f"its rows begin at {along} = {positions[0]:g}", help
    if not len(after):
        return f"its rows end at {along} = {positions[-1]:g}", f"go on to {along} = {position:g}"
    available = f"{before[-1]:g} and {after[0]:g}, too far apart"
    return f"it was evaluated at {along} = {available}", f"evaluate at {along} = {position:g}"


def listed_points(points: Iterable[Point]) -> str:
    """Points in a message: `N = 0.5, r = 1; N = 1.8, r = 1 and 16 more`."""
    texts = [", ".join(f"{name} = {x:g}" for name, x in point.items()) for point in points]
    return abridged(texts, MAX_LISTED, "; ")


def _numbers_text(numbers: Sequence[float]) -> str:
    if len(numbers) <= MAX_LISTED:
        return ", ".join(f"{x:g}" for x in numbers)
    return f"{', '.join(f'{x:g}' for x in numbers[: MAX_LISTED - 1])}, …, {numbers[-1]:g}"


def averaging_warnings(means: Sequence[Means], table_name: str) -> list[Diagnostic]:
    """The warning that values are means over several points, one for variables of equal points.

    Args:
        means: the values of the variables.
        table_name: the table's name.
    """
    diagnostics = []
    for (points, lacking), group in _variables_by_points(means):
        if len(points) < 2 and not lacking:
            continue
        names = conjunction([f"`{m.measure.name}`" for m in group])
        ranges = (
            f"{name} = {_numbers_text(sorted({point[name] for point in points}))}"
            for name in points[0]
        )
        where = " and ".join(ranges)
        many = f"the mean over {len(points)} points, {where}" if len(points) > 1 else f"at {where}"
        verb = "is" if len(group) == 1 else "are each"
        message = f"{names} {verb} {many}" if len(points) > 1 else f"{names} {verb} measured {many}"
        notes = [
            f"`{label}` has no run at {listed_points(missing_points)}: left out"
            for label, missing_points in lacking[:MAX_LISTED]
        ]
        help = "a new label needs runs at all of them; choose one in the law: "
        help += f"`{_reading_at(points[-1])}`"
        if len(points) == 1:
            help = "measure all labels at the same points"
        diagnostics.append(
            Diagnostic("D0134", message, "warning", place=table_name, notes=tuple(notes), help=help)
        )
    return diagnostics


def _variables_by_points(means: Sequence[Means]) -> list[tuple[PointGroup, list[Means]]]:
    """Groups of variables with the same points and the same excluded points."""
    groups: list[tuple[PointGroup, list[Means]]] = []
    for one in means:
        key = (one.points, list(one.lacking.items()))
        for other, group in groups:
            if other == key:
                group.append(one)
                break
        else:
            groups.append((key, [one]))
    return groups


def interpolation_warnings(means: Sequence[Means], table_name: str) -> list[Diagnostic]:
    """The warning that values were interpolated between evaluations.

    Args:
        means: the values of the variables.
        table_name: the table's name.
    """
    lines: dict[str, dict[str, None]] = {}
    for one in means:
        for (call, (before, after)), labels in one.between.items():
            line = f"{print_formula(call)} between {before:g} and {after:g}"
            lines.setdefault(line, dict.fromkeys(labels)).update(dict.fromkeys(labels))
    if not lines:
        return []
    names = conjunction([f"`{one.measure.name}`" for one in means if one.between])
    message = f"{names}: not every reading was evaluated; some are interpolated along a line"
    notes = [
        f"{line} in {conjunction([f'`{n}`' for n in labels])}" for line, labels in lines.items()
    ]
    more = (f"and {len(notes) - MAX_LISTED} more",) if len(notes) > MAX_LISTED else ()
    help = "evaluate there, or read where there are evaluations"
    return [
        Diagnostic(
            "D0135",
            message,
            "warning",
            place=table_name,
            notes=(*notes[:MAX_LISTED], *more),
            help=help,
        )
    ]
