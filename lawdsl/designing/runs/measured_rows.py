"""A law + the table of the runs so far -> the rows to which it can be fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import bind, chosen_rows
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.melt import labelled
from lawdsl.data.read import read_table
from lawdsl.data.table import Table
from lawdsl.fitting.fit_by_label import label_groups
from lawdsl.language.elements import without_elements
from lawdsl.law.law import Law

Array = NDArray[np.float64]

NO_ROW = "D0103"
STAND_IN = "stand-in"


def at_one_label(
    law: Law, table: Table, columns: Mapping[str, str], *, target: bool = True
) -> tuple[Law, Table, Mapping[str, str]]:
    """A law with index sets as the law of one loss, such as that on one validation set.

    Args:
        law: that is going to be fitted.
        table: of runs, or of candidates.
        columns: variable or output -> column, or a pattern of columns.
        target: whether the table has losses; those of candidates are not known.

    Returns:
        The law, its rows, and the columns of its variables.

    Raises:
        LawdslError: columns that are missing, or labels that differ from row to row (N0106).
    """
    if not law.indexed:
        return law, table, columns
    # those of single elements concern other labels, or tie the labels together
    law = replace(law, declarations=without_elements(law.declarations))
    count = len(table)
    if not target:
        shares = next(iter(table.columns.values()))
        table = replace(table, columns={**table.columns, f"{STAND_IN}_1": shares})
        columns = {**columns, law.output: f"{STAND_IN}_*"}
    rows = labelled(law.declarations, table, columns)
    labels = next(iter(label_groups(law, rows.instance)))
    part = rows.keep(labels)
    if len(part) != count:
        message = f"the rows of the candidates have different labels of `{law.name}`"
        help = "make a first fit to runs of each label, and give it in place of the law"
        raise LawdslError(Diagnostic("N0106", message, place=table.name, help=help))
    return law.at_labels(replace(rows.instance, at=labels)), part, rows.columns


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
        if law.indexed:
            table, _ = chosen_rows(table, where, False)
            law, table, columns = at_one_label(law, table, columns)
            where = ()
        return law, bind(law, table, columns, where=where, warn=False).columns
    except LawdslError as error:
        if {d.code for d in error.diagnostics} != {NO_ROW}:
            raise
        return law, nothing
