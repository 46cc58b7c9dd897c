"""Table of runs of mixtures at several model sizes -> how far their ranks agree between sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.binding import chosen_rows
from lawdsl.data.drafts.column_names import read_name
from lawdsl.data.row_filter import parse_condition
from lawdsl.data.size_ranks import agreement_text, rank_agreement
from lawdsl.data.table import Table
from lawdsl.language.symbols import Declarations


def size_rank_lines(
    declared: Declarations,
    table: Table,
    columns: Mapping[str, str],
    by: Sequence[str],
    where: Sequence[str],
) -> tuple[str, ...]:
    """One line about the ranks of mixtures between model sizes; none if the table has one size, or
    it is not sure which column it is.

    Conditions on the size are left out, since they choose the small model of the selection.

    Args:
        declared: the law.
        table: all runs.
        columns: variable, output or set -> column.
        by: the columns that distinguish mixtures.
        where: the conditions on rows.
    """
    by = [columns.get(name, name) for name in by]
    output = columns.get(declared.output.name, declared.output.name)
    sets = [columns.get(index.over, index.over) for index in declared.indices.values()]
    labels = [name for name in dict.fromkeys(sets) if name in table.columns]
    sizes = [name for name in table.source_columns if _is_size(table, name)]
    sizes = ["N"] if "N" in sizes else sizes  # beside counts with embeddings
    if output not in table.columns or len(sizes) != 1 or not set(by) <= table.columns.keys():
        return ()
    (size,) = sizes
    others = [text for text in where if parse_condition(text, table).column != size]
    try:
        rows, _ = chosen_rows(table, others, drop_bad=True)
        numbers, losses = rows.numbers(size), rows.numbers(output)
    except LawdslError:
        return ()  # sizes as texts have no order
    mixtures = list(zip(*(rows.texts(name) for name in by), strict=True))
    names = list(zip(*(rows.texts(name) for name in labels), strict=True)) or [()] * len(rows)
    found = rank_agreement(mixtures, names, numbers, losses)
    return () if found is None else (agreement_text(found, size),)


def _is_size(table: Table, name: str) -> bool:
    """Whether a column is a model size by its name."""
    return read_name(name).quantity == "N" and bool(table.readable(name).any())
