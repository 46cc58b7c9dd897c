"""A table of candidates -> a pool: what each run costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.binding import bind, chosen_rows
from lawdsl.data.computed_columns import with_computed_columns
from lawdsl.data.header_settings import with_settings_of
from lawdsl.data.table import Table
from lawdsl.designing.runs.hypotheses import columns_for
from lawdsl.designing.runs.measured_rows import at_one_label
from lawdsl.designing.runs.pool import Pool, runs_of_table
from lawdsl.fitting.extrapolation.fitted_surface import size_variables
from lawdsl.fitting.extrapolation.run_size import run_size
from lawdsl.fitting.result import Fit
from lawdsl.law.law import Law, Quantity

Array = NDArray[np.float64]

COST_COLUMN = "cost"


def pool_of_table(
    law: Law, table: Table, columns: Mapping[str, str], cost: str | None, where: Sequence[str]
) -> Pool:
    """The runs of a table as candidates.

    Args:
        law: whose variables the default cost is of.
        table: the candidates.
        columns: variable -> column of the fitted table.
        cost: a product of columns; None for the column `cost`, else 6·N·D of the law's variables.
        where: conditions that the rows meet, of which those on columns that the table lacks are left
            out.

    Raises:
        LawdslError: no row is left (N0101), rows outside of the law's domain, or a cost that is not
            known or not positive (N0108).
    """
    known = [text for text in where if names_column(text, table.columns)]
    table, _ = chosen_rows(table, known, False)
    if not len(table):
        message = "no candidate meets the conditions of the fit"
        help = (
            f"the fit has the conditions {', '.join(known)}" if known else "the table has no rows"
        )
        raise LawdslError(Diagnostic("N0101", message, place=table.name, help=help))
    of_rows, unit = _costs(law, table, columns, cost)
    bad = ~(np.isfinite(of_rows) & (of_rows > 0))
    if bad.any():
        line = table.rows[int(np.argmax(bad))]
        message = f"the cost of row {line} is {of_rows[bad][0]:g}"
        help = "a cost is a finite number above 0: correct the row, or leave it out with --where"
        raise LawdslError(Diagnostic("N0108", message, place=table.name, help=help))
    labels, rows = runs_of_table(table)
    costs = np.array([np.max(of_rows[row[row >= 0]]) for row in rows])
    return Pool(table.name, table, labels, rows, costs, unit)


def inherited_conditions(fit: Fit) -> tuple[str, ...]:
    """The conditions of a fit that candidates have to meet: those on what is no variable of its law.

    `phase = end` says which rows are of its kind; `N < 1e9` only which of them were fitted.

    Args:
        fit: with its conditions.
    """
    return on_other_columns(fit.data.where, list(fit.data.columns.values()))


def on_other_columns(where: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """The conditions that are on none of some columns.

    Args:
        where: conditions such as `phase = end`.
        columns: of the variables of a law.
    """
    return tuple(text for text in where if not names_column(text, dict.fromkeys(columns)))


def names_column(condition: str, columns: Mapping[str, object]) -> bool:
    """Whether a condition on rows is on one of some columns.

    Args:
        condition: such as `size = 70M`.
        columns: by name.
    """
    name = condition
    for sign in "<>=!":
        name = name.partition(sign)[0]
    return name.strip().strip('"') in columns


def _is_share(quantity: Quantity) -> bool:
    """Whether a variable is a share of a mixture: a number without unit from 0 to 1."""
    limits = {b.limit for b in quantity.bounds}
    return quantity.unit is None and limits == {0, 1}


def _costs(
    law: Law, table: Table, columns: Mapping[str, str], cost: str | None
) -> tuple[Array, str]:
    """The cost of each row, shape (rows,), and its unit."""
    if cost is not None:
        plain = replace(table, units={})  # a cost computes with the numbers as they stand
        computed = with_computed_columns(plain, {COST_COLUMN: cost})
        if cost in computed.columns:
            return computed.numbers(cost), ""
        message = f"`{cost}` is neither a column nor a formula of columns"
        help = f"the columns are {', '.join(table.columns)}: --cost 6*N*D"
        raise LawdslError(Diagnostic("N0108", message, place=table.name, help=help))
    if COST_COLUMN in table.columns:
        return table.numbers(COST_COLUMN), table.units.get(COST_COLUMN, "")
    law = with_settings_of(law, table)
    law, table, columns = at_one_label(law, table, columns, target=False)
    values = bind(law, table, columns_for(law, columns, table), target=False, warn=False).columns
    size = run_size(size_variables(law), values)
    names = [q.name for q in law.variables]
    if size.is_compute:
        return 10 ** size.log10(names, values), "FLOP"
    if {"N", "D"} <= set(names):
        return 6 * values[names.index("N")] * values[names.index("D")], ""
    if all(map(_is_share, law.variables)):
        return np.ones(len(table)), "runs"  # of one size: only the mixture differs
    message = "what a run costs is not known: the law has no model size and tokens"
    help = "say it with --cost, a product of columns such as 6*N*D, or give the table a column cost"
    raise LawdslError(Diagnostic("N0108", message, place=table.name, help=help))
