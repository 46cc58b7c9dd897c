"""A law + the table of the runs so far -> the rows to which it can be fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.binding import bind
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.read import read_table
from lawdsl.law.law import Law

Array = NDArray[np.float64]

NO_ROW = "D0103"


def measured_rows(
    law: Law, runs: Any, columns: Mapping[str, str], where: Sequence[str]
) -> tuple[Law, Array]:
    """The law with the settings of a table, and its variables at the rows that it would be fitted to.

    Args:
        law: that is going to be fitted.
        runs: the table of the runs so far, as `read_table` takes it; None for no runs.
        columns: variable or output -> column, where names differ.
        where: conditions that rows meet.

    Returns:
        Shape (variables, rows); no rows where none meets the conditions.

    Raises:
        LawdslError: a table that the law cannot use.
    """
    nothing = np.zeros((len(law.variables), 0))
    if runs is None:
        return law, nothing
    table = read_table(runs, columns)
    law = with_settings_of(law, table)
    try:
        return law, bind(law, table, columns, where=where, warn=False).columns
    except LawdslError as error:
        if {d.code for d in error.diagnostics} != {NO_ROW}:
            raise
        return law, nothing
