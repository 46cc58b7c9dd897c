"""Law with `measure k1[d] = L(step = 1000)`, table of runs -> the measured values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.averaging import means_of
from lawdsl.data.binding import conversion
from lawdsl.data.evaluations import rounded_to_six_digits
from lawdsl.data.means import Means
from lawdsl.data.measure_findings import averaging_warnings, interpolation_warnings
from lawdsl.data.measure_rows import (
    MeasureRequest,
    label_column,
    rows_of,
    rows_with_labels,
)
from lawdsl.data.measured_values import Measured, Point
from lawdsl.data.missing_columns import no_column
from lawdsl.data.row_filter import ORDER_RELATIONS
from lawdsl.data.table import Table, bad_rows
from lawdsl.language.constants import Value, value
from lawdsl.language.keywords import did_you_mean
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Declarations, Measure


def measured(
    declared: Declarations,
    table: Table,
    columns: Mapping[str, str] | None = None,
    labels: str | None = None,
    *,
    run: Sequence[str] | None = None,
    points: Mapping[str, Sequence[Point]] | None = None,
    drop_bad: bool = False,
    settings: Mapping[str, float] | None = None,
) -> Measured:
    """Measure the variables of a law, for each label in a table of runs.

    The whole table is used, including rows outside the law's domain, such as those of step 0. A
    table of one new label suffices, with the `points` of earlier labels. The rules are those of Que
    et al. (2024), arXiv:2406.01375, appendix H, where the law states them.

    Args:
        declared: the law.
        table: its runs, one row for each evaluation.
        columns: variable, output, index or name in a reading -> column, where it differs.
        labels: the column of the labels; None for the one named after the index, or after its set.
        run: columns that identify a run; None for `run` and `seed`, where the table has them.
        points: variable -> the points at which it must be measured.
        drop_bad: exclude rows in which a needed cell has no number, or no label.
        settings: values of settings that replace the law's own.

    Raises:
        LawdslError: a column or a cell that cannot be used, a label without a reading, labels that
            were not measured at the same points, a value outside its domain.
    """
    request = MeasureRequest(declared, table, columns or {}, labels, run, drop_bad)
    values: dict[str, Mapping[str, float]] = {}
    read: list[Means] = []
    problems: list[Diagnostic] = []
    for name, measure in declared.measures.items():
        try:
            if name in request.columns or name in table.columns:
                values[name] = _from_column(request, measure)
            else:
                means = means_of(measure, rows_of(request, measure), (points or {}).get(name))
                values[name] = means.values
                read.append(means)
            problems += _outside_domain(request, measure, values[name], settings or {})
        except LawdslError as error:
            problems += error.diagnostics
    if problems:
        # a column that several variables need is reported once
        raise LawdslError(dict.fromkeys(problems))
    free = [one for one in read if one.measure.name not in (points or {})]
    warnings = (*averaging_warnings(free, table.name), *interpolation_warnings(read, table.name))
    return Measured(values, {one.measure.name: one.points for one in read}, warnings)


def check_names(declared: Declarations, names: Iterable[str]) -> None:
    """Raise an error for names to which no column can be bound.

    Args:
        declared: the law.
        names: the names.

    Raises:
        LawdslError: one that is not a variable, output, index or name in a reading; D0116.
    """
    symbols = declared.symbols.values()
    bindable = [s.name for s in symbols if s.kind in ("variable", "output")]
    bindable += [name for index in declared.indices.values() for name in (index.name, index.over)]
    readings = [r for measure in declared.measures.values() for r in measure.readings.values()]
    bindable += [name for reading in readings for name, _ in reading.conditions]
    problems = []
    for name in names:
        if name not in bindable:
            listed = ", ".join(dict.fromkeys(bindable))
            help = did_you_mean(name, bindable, f"bind {listed}")
            message = f"`{declared.name}` has no variable, index or place `{name}`"
            problems.append(Diagnostic("D0116", message, help=help))
    if problems:
        raise LawdslError(problems)


def _from_column(request: MeasureRequest, measure: Measure) -> dict[str, float]:
    """The value of each label from a column, which must be equal in all rows of the label."""
    column = request.column(measure.name)
    if column not in request.table.columns:
        raise LawdslError(no_column(request.table, column, f"`{measure.name}`", measure.name))
    table, labels = rows_with_labels(request, label_column(request, measure), [column])
    unit = request.declared.symbols[measure.name].unit
    size = conversion(table, measure.name, column, unit.factors if unit else None)
    numbers = table.numbers(column) * size
    by_label: dict[str, float] = {}
    for row, (label, number, six) in enumerate(
        zip(labels, numbers.tolist(), rounded_to_six_digits(numbers).tolist(), strict=True)
    ):
        # six digits, since the conversion of a unit rounds
        if six != float(f"{by_label.setdefault(label, number):.6g}"):
            name = with_subscripts(measure.name, (label,))
            message = f"column {column}: {name} is {by_label[label]:g} above, and here {number:g}"
            help = f"give all rows of `{label}` one value, or remove the column to have it measured"
            raise LawdslError(bad_rows("D0131", table, column, np.array([row]), message, help))
    return by_label


def _outside_domain(
    request: MeasureRequest,
    measure: Measure,
    values: Mapping[str, float],
    settings: Mapping[str, float],
) -> list[Diagnostic]:
    """The messages about values that are not numbers, or outside the domain of their variable."""
    symbols = request.declared.symbols
    setting_values: dict[str, Value] = {
        s.name: value(s.formula) for s in symbols.values() if s.kind == "setting" and s.formula
    }
    setting_values.update(settings)
    diagnostics = []
    for label, number in values.items():
        name = with_subscripts(measure.name, (label,))
        help = f"look at the rows of `{label}` from which it is: {measure.text}"
        if not np.isfinite(number):
            message = f"{name} is not a finite number"
            diagnostics.append(Diagnostic("D0107", message, place=request.table.name, help=help))
            continue
        for relation, formula in symbols[measure.name].bounds:
            limit = value(formula, setting_values)
            if limit is not None and not ORDER_RELATIONS[relation](number, float(limit)):
                domain = f"{symbols[measure.name].text} {relation} {print_formula(formula)}"
                message = f"{name} = {number:.6g} is outside the domain {domain}"
                diagnostics.append(
                    Diagnostic("D0108", message, place=request.table.name, help=help)
                )
    return diagnostics
