"""Table with domains as columns, or as rows -> one long table with a column for each element.

A law with index sets reads `r[j]` from `r[web]`, `r[code]`, … or from columns that match a pattern
(`r=r_*`); the output from such columns too, or from one column beside a column of labels
(`validation=valid_domain`). The result has one row per measured value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.units import is_unit
from lawdsl.data.label_columns import Elements, binding_name, elements, shortened_list
from lawdsl.data.simplex import Mask, checked_shares
from lawdsl.data.stacked_columns import stacked
from lawdsl.data.table import Table, bad_rows
from lawdsl.language import keywords
from lawdsl.language.elements import check_labels
from lawdsl.language.instances.instance import Instance, indicator
from lawdsl.language.label_texts import with_subscripts
from lawdsl.language.symbols import Declarations
from lawdsl.law.law import Law

CORRECT = "correct the table"
DO_WITHOUT = f"{CORRECT}, or choose rows with --where, or leave such rows out with --drop-bad"
"""Advice about bad rows, if they can be excluded, which is possible in a fit only."""


@dataclass(frozen=True)
class Labelled:
    """A long table: each row has one label for each index of the rows, and one measured value.

    Attributes:
        table: the table, with a column for each element, named as it is written: `r[web]`.
        instance: the labels, and the variables whose values are given by row.
        columns: variable or output -> column, for those whose names differ.
        of_rows: index of the rows -> the label of each row.
        sets: index of the rows -> the labels that it runs over.
        warnings: suspicious but usable data.
        dropped: the number of excluded rows.
    """

    table: Table
    instance: Instance
    columns: Mapping[str, str]
    of_rows: Mapping[str, tuple[str, ...]]
    sets: Mapping[str, tuple[str, ...]]
    warnings: tuple[Diagnostic, ...] = ()
    dropped: int = 0

    def keep(self, labels: Mapping[str, str]) -> Table:
        """The rows with the given labels, ready for the law of these rows.

        Each index that is not named gets indicator columns: 1 in the rows with a label, else 0.

        Args:
            labels: index -> label.
        """
        columns: dict[str, Any] = dict(self.table.columns)
        for index, row_labels in self.of_rows.items():
            labels_of_rows = np.array(row_labels)
            for label in self.sets[index] if index not in labels else ():
                marks = labels_of_rows == label
                columns[indicator(index, label)] = pa.chunked_array([marks.astype(float)])
        return replace(self.table, columns=columns).keep(self.rows_with(labels))

    def rows_with(self, labels: Mapping[str, str]) -> Mask:
        """The mask of the rows with the given labels, index -> label; shape (rows,)."""
        rows = np.ones(len(self.table), dtype=bool)
        for index, label in labels.items():
            rows &= np.array(self.of_rows[index]) == label
        return rows


def labelled(
    declared: Declarations,
    table: Table,
    columns: Mapping[str, str],
    *,
    target: bool = True,
    fit_labels: Mapping[str, tuple[str, ...]] | None = None,
    drop_bad: bool = False,
) -> Labelled:
    """Read the labels of a law's index sets in a table.

    Args:
        declared: a law with index sets.
        table: the table.
        columns: variable, output or set -> column, or a pattern of columns: {"r": "r_*",
            "validation": "valid_domain"}.
        target: whether to read the output, too.
        fit_labels: set -> the labels known to a fit; other labels are refused, and labels without a
            column are not required.
        drop_bad: exclude rows without a label, or with invalid shares, instead of refusing them.

    Raises:
        LawdslError: missing or inconsistent columns, invalid shares.
    """
    table = _with_labels(declared, table)
    columns_of = elements(declared, table, columns, fit_labels or {}, target=target)
    labels = dict(columns_of.labels)
    usable = _UsableRows(table, drop_bad, DO_WITHOUT if target else CORRECT)
    of_rows = {
        index: _labels_of_rows(declared.indices[index].over, column, labels, usable)
        for index, column in columns_of.by_label.items()
        if column is not None
    }
    check_labels(declared, labels)
    rest = {
        s.name: labels[declared.indices[s.indices[-1]].over][-1]
        for s in declared.symbols.values()
        if s.kind == "variable" and s.simplex
    }
    warnings = tuple(_share_warnings(declared, columns_of, rest, usable))
    long, of_rows = usable.kept(_with_element_columns(declared, table, columns_of), of_rows)
    if target:
        long, of_rows = _to_long_rows(declared, long, columns_of, labels, of_rows)
    instance = Instance(labels, {}, columns_of.by_row, rest)
    plain = {n: c for n, c in columns.items() if _has_no_subscripts(declared, columns_of, n)}
    plain |= {declared.symbols[name].text: columns.get(name, name) for name in columns_of.by_row}
    sets = {index: instance.of(declared, index) for index in of_rows}
    return Labelled(long, instance, plain, of_rows, sets, warnings, usable.dropped)


class _UsableRows:
    """The usable rows of a table; the other rows are reported together, or excluded.

    Attributes:
        good: the mask of usable rows, shape (rows,).
        problems: messages about the others.
    """

    def __init__(self, table: Table, drop_bad: bool, advice: str) -> None:
        self.table, self.drop_bad, self.advice = table, drop_bad, advice
        self.good = np.ones(len(table), dtype=bool)
        self.problems: list[Diagnostic] = []

    @property
    def dropped(self) -> int:
        """The number of excluded rows."""
        return int(np.sum(~self.good))

    def without(self, column: str, bad: Mask, message: str, help: str = "") -> None:
        """Exclude the marked rows, or report them, with help or the general advice."""
        if self.drop_bad:
            self.good &= ~bad
        elif bad.any():
            rows = np.flatnonzero(bad)
            diagnostic = bad_rows("D0120", self.table, column, rows, message, help or self.advice)
            self.problems.append(diagnostic)

    def kept(
        self, table: Table, of_rows: Mapping[str, tuple[str, ...]]
    ) -> tuple[Table, dict[str, tuple[str, ...]]]:
        """The usable rows, and their labels.

        Raises:
            LawdslError: unusable rows, unless they are excluded; no remaining row.
        """
        if self.problems:
            raise LawdslError(self.problems)
        if self.good.all():
            return table, dict(of_rows)
        if not self.good.any():
            help = "correct the table: there is nothing left to use"
            message = "every row is bad"
            raise LawdslError(Diagnostic("D0103", message, place=self.table.name, help=help))
        good_labels = {
            n: tuple(np.array(row_labels)[self.good].tolist()) for n, row_labels in of_rows.items()
        }
        return table.keep(self.good), good_labels


def _labels_of_rows(
    over: str, column: str, labels: dict[str, tuple[str, ...]], usable: _UsableRows
) -> tuple[str, ...]:
    """The label of each row; unknown labels of a set are added to `labels`."""
    row_labels = usable.table.texts(column)
    empty = np.array([not label for label in row_labels], dtype=bool)
    message = f"column {column} is empty: which of {over} is the row of?"
    usable.without(column, empty, message)
    set_labels = labels.get(over)
    if set_labels is None:
        # sorted, since the order of the rows must not determine which share is 1 minus the others
        labels[over] = tuple(sorted(set(row_labels) - {""}))
        return tuple(row_labels)
    other = np.array([bool(label) and label not in set_labels for label in row_labels], dtype=bool)
    if other.any():
        named = row_labels[int(np.argmax(other))]
        message = f"column {column}: `{named}` is none of {over}: {shortened_list(set_labels)}"
        near = keywords.nearest(named, set_labels)
        usable.without(column, other, message, f"did you mean `{near}`?" if near else "")
    return tuple(row_labels)


def _share_warnings(
    declared: Declarations, columns_of: Elements, rest: Mapping[str, str], usable: _UsableRows
) -> Iterator[Diagnostic]:
    """Warnings about shares; rows with invalid shares are reported or excluded."""
    for name, label in rest.items():
        if name not in columns_of.wide:
            continue
        shares = checked_shares(
            declared.symbols[name].text,
            usable.table,
            columns_of.wide[name],
            label,
            usable.drop_bad,
            usable.advice,
        )
        if usable.drop_bad:
            usable.good &= shares.good
        else:
            usable.problems += shares.problems
        yield from shares.warnings


def _with_element_columns(declared: Declarations, table: Table, columns_of: Elements) -> Table:
    """The table with a column for each element of the variables."""
    columns, units = dict(table.columns), dict(table.units)
    for name, by_label in columns_of.wide.items():
        if name == declared.output.name:
            continue
        for label, column in by_label.items():
            text = with_subscripts(name, (label,))
            columns[text] = table.columns[column]
            if column in table.units:
                units[text] = table.units[column]
    return replace(table, columns=columns, units=units)


def _to_long_rows(
    declared: Declarations,
    table: Table,
    columns_of: Elements,
    labels: Mapping[str, tuple[str, ...]],
    of_rows: dict[str, tuple[str, ...]],
) -> tuple[Table, dict[str, tuple[str, ...]]]:
    """A row for each measured value, and its labels.

    Raises:
        LawdslError: an index of the rows without a column of labels; columns in several units.
    """
    output = declared.output
    wide = columns_of.wide.get(output.name)
    silent = [index for index, column in columns_of.by_label.items() if column is None]
    problems = [
        no_labels(declared, index, table) for index in silent if index not in output.indices[:1]
    ]
    if problems:
        raise LawdslError(problems)
    if wide is None:
        return table, of_rows
    index = output.indices[0]
    used = {n: wide[n] for n in labels[declared.indices[index].over] if n in wide}
    long, stacked_labels = stacked(output, table, used)
    # `stacked` repeats the whole table once per label, so the labels of the rows are repeated
    # likewise
    return long, {
        index: stacked_labels,
        **{n: row_labels * len(used) for n, row_labels in of_rows.items()},
    }


def _has_no_subscripts(declared: Declarations, columns_of: Elements, name: str) -> bool:
    """Whether a binding is for a name without subscripts, or an output beside labels."""
    if name == declared.output.name:
        return name not in columns_of.wide
    symbol = declared.symbols.get(name)
    return symbol is not None and not symbol.indices


def no_labels(declared: Declarations, index: str, table: Table) -> Diagnostic:
    """The message where no column has the labels that rows need.

    Args:
        declared: the law.
        index: the index.
        table: the table.
    """
    message = f"no column says the label of each row over {declared.indices[index].over}"
    help = f"name the column: {binding_name(declared, index)}=COLUMN"
    return Diagnostic("D0104", message, place=table.name, help=help)


def refuse_indices(law: Law, what: str, help: str) -> None:
    """Raise an error for a law with index sets.

    Args:
        law: any law.
        what: the operation that is not possible with one.
        help: an alternative.

    Raises:
        LawdslError: L0321.
    """
    if law.indexed:
        message = f"`{law.name}` has index sets: {what}"
        raise LawdslError(Diagnostic("L0321", message, help=help))


def _with_labels(declared: Declarations, table: Table) -> Table:
    """The table with `L[web]` in place of a single column `L` whose label `web` was read as its
    unit.
    """
    subscripted = {s.name for s in (*declared.symbols.values(), declared.output) if s.indices}
    lone = {
        name: with_subscripts(name, (unit,))
        for name, unit in table.units.items()
        if name in subscripted and not is_unit(unit)
    }
    columns = {lone.get(name, name): column for name, column in table.columns.items()}
    units = {name: unit for name, unit in table.units.items() if name not in lone}
    return replace(table, columns=columns, units=units)
