"""Fits of a law with index sets -> the measured rows of each label, with the fitted values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import chosen_rows
from lawdsl.data.melt import labelled
from lawdsl.data.read import read_table
from lawdsl.figures.measured_rows import MAX_DRAWN, MeasuredRows, measured_rows, median_distance
from lawdsl.fitting.findings_by_label import label_of
from lawdsl.fitting.result import Fit
from lawdsl.fitting.result_by_label import Fits

Array = NDArray[np.float64]

MARK = "["  # first character of the names of label columns: `[d = code]`


@dataclass(frozen=True)
class LabelledRows:
    """The measured rows of a label.

    Attributes:
        label: the label of the rows.
        rows: the rows that are drawn.
        all_rows: all rows of the table, or all that the fit stores.
    """

    label: str
    rows: MeasuredRows
    all_rows: MeasuredRows


def labelled_rows(fits: Fits, data: Any = None) -> list[LabelledRows]:
    """The measured rows of each label, those with the largest deviations from the law first.

    Args:
        fits: the fits.
        data: the table that was fitted; by default the rows that the fits store.

    Raises:
        LawdslError: no table for fits that store no rows (G0103); a table that the fits cannot be
            applied to; a table for a law whose variables are measured for each domain (G0104).
    """
    groups: list[LabelledRows] = []
    most = max(100, MAX_DRAWN // len(fits.parts))
    for part, table in _parts(fits, data):
        for label, rows in _by_label(part, measured_rows(part, part.read_law(), table)):
            groups.append(LabelledRows(label, rows.thinned(most), rows))
    return sorted(groups, key=lambda group: -group.all_rows.off)


def _parts(fits: Fits, data: Any) -> Iterator[tuple[Fit, Any]]:
    """Each part, and the rows of the table that it was fitted to; None without a table."""
    if data is None:
        yield from ((part, None) for part in fits.parts)
        return
    if fits.measured is not None:
        message = "variables that are measured for each domain are not read from a table again"
        help = "leave the table out: the rows that the fit keeps are drawn"
        raise LawdslError(Diagnostic("G0104", message, help=help))
    declared = fits.read_law().declarations
    first = fits.parts[0]
    # the conditions have selected the rows of the table already; the parts' own are satisfied
    rows, _ = chosen_rows(read_table(data, fits.columns), first.data.where, drop_bad=True)
    table = labelled(declared, rows, fits.columns, fit_labels=fits.labels, drop_bad=True)
    for part in fits.parts:
        assert part.law.instance is not None
        yield part, table.keep(part.law.instance.at)


def _by_label(part: Fit, rows: MeasuredRows) -> Iterator[tuple[str, MeasuredRows]]:
    """The rows of a part by label, if several labels share its parameters."""
    marks = [name for name in rows.names if name.startswith(MARK)]
    if not marks:
        yield label_of(part) or "all rows", rows
        return
    for name in marks:
        mask = rows.values(name) > 0
        if mask.any():
            label = name.strip("[]").partition(" = ")[2]
            of_label = rows.at(mask)
            off = median_distance(of_label.target, of_label.fitted)
            count = int(np.sum(mask))
            yield label, replace(of_label, off=off, total=count, read=count)
