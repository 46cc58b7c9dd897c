"""Law with measured variables, table of runs -> a table with a column for each such variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.measure_rows import MeasureRequest, label_column
from lawdsl.data.measured_values import Measured
from lawdsl.data.measured_variables import measured
from lawdsl.data.melt import no_labels
from lawdsl.data.table import Table, bad_rows
from lawdsl.language.symbols import Declarations, Measure


def with_measured(
    declared: Declarations,
    table: Table,
    columns: Mapping[str, str],
    *,
    run: Sequence[str] = (),
    drop_bad: bool = False,
    settings: Mapping[str, float] | None = None,
) -> tuple[Table, Mapping[str, str], Measured | None]:
    """Add a column for each variable that the law measures, unless the table has it.

    Args:
        declared: the law.
        table: the whole table, including rows of step 0.
        columns: variable, output, set or name in a reading -> column.
        run: columns that identify a run.
        drop_bad: exclude unreadable rows.
        settings: values of settings that replace the law's own.

    Returns:
        The table, the bindings without those that only readings need, and the measured values.

    Raises:
        LawdslError: as for `measured`.
    """
    if not declared.measures:
        return table, columns, None
    variables = measured(
        declared, table, columns, run=run or None, drop_bad=drop_bad, settings=settings
    )
    return (
        with_columns(declared, table, columns, variables.values),
        without_readings(declared, columns),
        variables,
    )


def without_readings(declared: Declarations, columns: Mapping[str, str]) -> dict[str, str]:
    """The column bindings without those of names that only readings use, such as `step`.

    Args:
        declared: the law.
        columns: name -> column.
    """
    readings = [r for m in declared.measures.values() for r in m.readings.values()]
    only = {name for reading in readings for name, _ in reading.conditions}
    only -= declared.symbols.keys()
    return {name: column for name, column in columns.items() if name not in only}


def with_columns(
    declared: Declarations,
    table: Table,
    columns: Mapping[str, str],
    values: Mapping[str, Mapping[str, float]],
) -> Table:
    """A table with a column for each variable, filled with the values of the rows' labels.

    Columns that the table already has are kept. A table without labels receives the values of the
    only label.

    Args:
        declared: the law.
        table: the table.
        columns: variable, output or set -> column.
        values: variable -> label -> value.

    Raises:
        LawdslError: a label without a value; D0137.
    """
    added = {}
    for name, measure in declared.measures.items():
        if columns.get(name, name) in table.columns:
            continue
        by_label = values.get(name, {})
        labels = _labels(declared, table, columns, measure, by_label)
        unknown = np.array([label not in by_label for label in labels], dtype=bool)
        if unknown.any():
            rows = np.flatnonzero(unknown)
            label = labels[int(rows[0])]
            message = f"nothing was measured of `{label}`: its `{name}` is not known"
            help = f"give runs of it (`--runs RUNS.csv`), or a column `{name}`"
            raise LawdslError(bad_rows("D0137", table, name, rows, message, help))
        added[name] = pa.chunked_array([np.array([by_label[label] for label in labels])])
    return replace(table, columns={**table.columns, **added})


def _labels(
    declared: Declarations,
    table: Table,
    columns: Mapping[str, str],
    measure: Measure,
    by_label: Mapping[str, float],
) -> list[str]:
    """The label of each row."""
    try:
        column = label_column(MeasureRequest(declared, table, columns, None, None, False), measure)
    except LawdslError:
        # in a table of one domain the rows need no label
        if len(by_label) == 1:
            return list(by_label) * len(table)
        raise LawdslError(no_labels(declared, measure.index, table)) from None
    return table.texts(column)
