"""Rows that are no runs: units below the header, a header again, a summary -> one message each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.core.meant_units import meant_unit
from lawdsl.core.units import Dimension, is_unit
from lawdsl.data.bad_cells import SUMMARIES
from lawdsl.data.table import Table, bad_rows, number

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


def with_bad_lines(
    table: Table, dimensions: Mapping[str, Dimension | None], problems: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """The problems of the columns, those of whole rows as one message.

    Args:
        table: the table.
        dimensions: column that is read -> the dimension of its variable.
        problems: the problems of the columns.
    """
    about_cells = [p for p in problems if p.code == "D0106"]
    if not about_cells or table.typed:
        return list(problems)
    bad = {name: ~table.readable(name) for name in dimensions}
    rows = np.flatnonzero(np.any(list(bad.values()), axis=0))
    first = int(rows[0])
    about_row = _units_row(table, dimensions) if first == 0 else None
    about_row = about_row or _header_again(table, bad.keys(), rows) or _whole_row(table, bad, rows)
    if about_row is None:
        return list(problems)
    return [about_row, *(p for p in problems if p.code != "D0106")]


def _cells(table: Table, row: int, names: Iterable[str]) -> dict[str, str]:
    return {name: table.texts(name)[row] for name in names}


def _units_row(table: Table, dimensions: Mapping[str, Dimension | None]) -> Diagnostic | None:
    """The message about a second line of the header, with the units."""
    cells = _cells(table, 0, table.source_columns)
    read = [cells[name] for name in dimensions if name in cells]
    units = {name: _unit(cell, dimensions.get(name)) for name, cell in cells.items()}
    is_units = any(units[name] for name in dimensions if name in units)
    # the law gives these no unit, and would refuse one
    units |= {name: None for name, dimension in dimensions.items() if dimension is None}
    if any(number(cell) is not None for cell in read) or not is_units:
        return None
    header = ",".join(
        f"{name} [{table.units.get(name) or units[name]}]"
        if units[name] or table.units.get(name)
        else name
        for name in cells
    )
    line = int(table.rows[0])
    message = f"line {line} holds units, not numbers"
    own = ",".join(
        f"{name} [{table.units[name]}]" if table.units.get(name) else name for name in cells
    )
    help = "remove the line"
    if header != own:
        help += f", and write the header `{header}`"
    return Diagnostic("D0106", message, place=f"{table.name}:{line}", help=help)


def _unit(cell: str, dimension: Dimension | None) -> str | None:
    text = cell.strip("[]() ")
    return (meant_unit(text, dimension) or (text if is_unit(text) else None)) if text else None


def _header_again(table: Table, names: Iterable[str], rows: Rows) -> Diagnostic | None:
    """The message about a line that repeats the header, as between files that were joined."""
    for name in names:
        cells = table.texts(name) if name in table.source_columns else []
        if not cells or any(not _is_header(cells[row], name) for row in rows):
            return None
    name = next(iter(names))
    message = "the line repeats the names of the columns"
    help = "remove the line, or leave it out with --drop-bad"
    return bad_rows("D0106", table, name, np.asarray(rows), message, help)


def _is_header(cell: str, name: str) -> bool:
    return cell.partition("[")[0].strip() == name


def _whole_row(table: Table, bad: Mapping[str, Mask], rows: Rows) -> Diagnostic | None:
    """The message about rows in which several cells are no numbers, or that begin a summary."""
    names = [name for name, mask in bad.items() if np.any(mask)]
    everywhere = all(np.array_equal(np.flatnonzero(bad[name]), rows) for name in names)
    row = int(rows[0])
    cells = _cells(table, row, table.source_columns)
    summary = next((c for c in cells.values() if re.split(r"[\s:]", c.lower())[0] in SUMMARIES), "")
    if not everywhere or len(names) < 2 and not summary:
        return None
    shown = [f'"{table.texts(n)[row][:40]}"' if table.texts(n)[row] else "empty" for n in names]
    said = ", ".join(f"{name} is {cell}" for name, cell in zip(names, shown, strict=True))
    message = f"this row is not a run: {said}"
    help = "remove the row, or leave it out with --drop-bad"
    if len(rows) > 1:
        help = "correct the rows, or leave them out with --drop-bad"
        message = f"the row has no numbers: {said}"
    if len(rows) == 1 and not summary:
        message = f"the row has no numbers: {said}"
        help = "correct the row, or leave it out with --drop-bad"
    return bad_rows("D0106", table, names[0], np.asarray(rows), message, help)
