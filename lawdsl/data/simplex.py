"""Shares of a mixture as columns -> rows with r_j >= 0 and Σ r_j = 1, up to rounding; messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.data.table import Table, bad_rows

Mask = NDArray[np.bool_]

SILENT_SUM_ERROR = 1e-5  # largest |sum - 1| that raises no warning: shares of six decimals
MAX_SUM_ERROR = 0.02  # |sum - 1| up to which shares are accepted, as rounded ones


@dataclass(frozen=True)
class Shares:
    """The result of checking shares.

    Attributes:
        good: the mask of usable rows, shape (rows,).
        problems: messages about the others.
        warnings: suspicious but usable data.
    """

    good: Mask
    problems: tuple[Diagnostic, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()


def checked_shares(
    name: str,
    table: Table,
    columns: Mapping[str, str],
    rest: str,
    drop_bad: bool,
    advice: str,
) -> Shares:
    """Check that the shares of each row are nonnegative and sum to 1 within the tolerance.

    Args:
        name: the variable with its subscripts: `r[j]`.
        table: the table.
        columns: label -> column.
        rest: the label whose share is taken as 1 minus the others.
        drop_bad: exclude rows with cells that are not numbers, instead of refusing them.
        advice: what to do about bad rows.

    Raises:
        LawdslError: a cell that is not a number; D0106.
    """
    readable = np.logical_and.reduce([table.readable(column) for column in columns.values()])
    if not drop_bad:
        readable = np.ones(len(table), dtype=bool)
    usable = table.keep(readable)
    shares = np.array([usable.numbers(column) for column in columns.values()])
    total = shares.sum(axis=0)
    off = np.abs(total - 1)
    below = (shares < 0).any(axis=0)
    # negated, so that a sum of nan counts as wrong
    wrong = ~(off <= MAX_SUM_ERROR) & ~below
    fine = np.flatnonzero(readable)[~(below | wrong)]
    good = np.zeros(len(table), dtype=bool)
    good[fine] = True
    first = next(iter(columns.values()))
    problems = []
    if below.any():
        message = f"a share of `{name}` is {float(shares.min()):g}: none is below 0"
        problems.append(bad_rows("D0121", usable, first, np.flatnonzero(below), message, advice))
    if wrong.any():
        message = f"the shares `{name}` sum to {float(total[wrong][0]):g}, not to 1"
        told = bad_rows("D0121", usable, first, np.flatnonzero(wrong), message, advice)
        row, _, _ = told.place.partition(" column ")
        listed = list(columns.values())
        place = f"{row} columns {listed[0]} to {listed[-1]}" if len(listed) > 1 else told.place
        correct = "correct one of them, or divide each by their sum"
        help = (told.help or "").replace("correct the table", correct)
        problems.append(replace(told, place=place, help=help))
    worst = float(off[off <= MAX_SUM_ERROR].max(initial=0.0))
    warnings = []
    if worst > SILENT_SUM_ERROR:
        message = f"the shares `{name}` sum to 1 only within {worst:.2g}"
        help = f"they are taken as rounded, and `{rest}` as 1 minus the others"
        warnings.append(Diagnostic("D0122", message, "warning", place=table.name, help=help))
    return Shares(good, tuple(problems), tuple(warnings))
