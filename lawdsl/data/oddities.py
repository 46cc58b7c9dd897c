"""Tables in which every cell is fine and the whole is not: two scales in a column, copied rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lawdsl.data.table import Table, bad_rows
from lawdsl.diagnostics import Diagnostic
from lawdsl.law import Law

Array = NDArray[np.float64]

GAP = 1e4  # two clouds of values further apart than this are two scales
REPEATS = 0.25  # of the rows: fewer may well be equal measurements


def two_scales(
    law: Law,
    table: Table,
    values: Mapping[str, Array],
    bound: Mapping[str, str],
    positive: bool,
) -> list[Diagnostic]:
    """Columns whose values lie in two clouds far apart: a unit changed on the way.

    Shares, and quantities that may be negative, come as near to 0 as they like: they are not
    looked at.
    """
    shares = {q.name for q in law.variables if any(not b.lower for b in q.bounds)}
    found = []
    for name, numbers in values.items():
        if name in shares or np.any(numbers < 0) or (name == law.output and not positive):
            continue
        sizes = np.unique(numbers[numbers > 0])
        if len(sizes) < 2:
            continue
        ratios = sizes[1:] / sizes[:-1]
        widest = int(np.argmax(ratios))
        if ratios[widest] < GAP:
            continue
        low, high = sizes[widest], sizes[widest + 1]
        above = numbers >= high
        rows = np.flatnonzero(above if 2 * np.sum(above) <= len(numbers) else ~above)
        message = f"column {bound[name]} has two scales: nothing lies between {low:g} and {high:g}"
        help = "give all rows one unit"
        found.append(bad_rows("D0113", table, bound[name], rows, message, help))
    return found


def duplicates(table: Table, data: Array, output: Array) -> list[Diagnostic]:
    """A warning where many rows repeat another row in all that the law sees of it.

    Args:
        table: for its name.
        data: the variables, shape (variables, rows).
        output: the measurements, shape (rows,).
    """
    cells = pa.table({str(i): column for i, column in enumerate((*data, output))})
    distinct = cells.group_by(cells.column_names).aggregate([]).num_rows
    count = cells.num_rows - distinct
    if count < REPEATS * cells.num_rows:
        return []
    message = f"{count:,} of {cells.num_rows:,} rows repeat another row exactly"
    help = "keep one of each: repeated rows count as new measurements, which they are not"
    return [Diagnostic("D0114", message, "warning", place=table.name, help=help)]
