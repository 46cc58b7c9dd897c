"""Columns of the output, one for each label -> one column of a longer table (wide to long)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.arrow_arrays import texts_to_arrow, to_arrow
from lawdsl.data.table import Table
from lawdsl.language.symbols import Symbol


def stacked(
    output: Symbol, table: Table, columns: Mapping[str, str]
) -> tuple[Table, tuple[str, ...]]:
    """Repeat a table once for each column of the output, and stack these columns.

    Args:
        output: the measured output.
        table: the table, with a column of the output for each label.
        columns: label -> column.

    Returns:
        The long table, with a column named after the output, and the label of each row.

    Raises:
        LawdslError: columns in several units; D0112.
    """
    rows = np.tile(np.arange(len(table)), len(columns))
    columns_of_long: dict[str, Any] = {n: c.take(to_arrow(rows)) for n, c in table.columns.items()}
    values = [chunk for name in columns.values() for chunk in _chunks(table.columns[name])]
    try:
        columns_of_long[output.name] = pa.chunked_array(values)
    except (pa.ArrowInvalid, TypeError):  # numbers in one column, text in another
        texts = [text for name in columns.values() for text in table.texts(name)]
        columns_of_long[output.name] = pa.chunked_array([texts_to_arrow(texts)])
    units = dict(table.units)
    output_units = {table.units[name] for name in columns.values() if name in table.units}
    if len(output_units) > 1:
        message = f"the columns of `{output.text}` have several units"
        raise LawdslError(Diagnostic("D0112", message, place=table.name, help="use one"))
    if output_units:
        units[output.name] = output_units.pop()
    labels = tuple(np.repeat(np.array(list(columns)), len(table)).tolist())
    return replace(table, columns=columns_of_long, units=units, rows=table.rows[rows]), labels


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]
