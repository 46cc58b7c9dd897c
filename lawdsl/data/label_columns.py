"""Columns of a table -> the elements of a law with index sets that they contain.

`r[j]` is read from the columns `r[web]`, `r[code]`, … or from those that match a pattern (`r=r_*`);
the output from such columns too, or from one beside a column of labels (`validation=valid_domain`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.data.table import Table
from lawdsl.language.instances.instance import row_indices
from lawdsl.language.keywords import did_you_mean
from lawdsl.language.label_texts import without_quotes

if TYPE_CHECKING:
    from lawdsl.language.symbols import Declarations, Symbol

QUOTED = re.compile(r'"(?:[^"]|"")+"')
WILDCARD = "*"  # stands for the label in a binding
MAX_COLUMNS_LISTED = 12  # columns that a message lists
MAX_LABELS_LISTED = 8  # labels that a message lists


@dataclass(frozen=True)
class Elements:
    """The columns with the elements of a law's variables.

    Attributes:
        labels: set -> its labels, as given by the law, a fit or the columns.
        by_label: index of the rows -> the column of their labels; None where the table has none.
        wide: variable or output -> label -> column.
        by_row: variables with subscripts that have a single column with one value per row.
    """

    labels: Mapping[str, tuple[str, ...]]
    by_label: Mapping[str, str | None]
    wide: Mapping[str, Mapping[str, str]]
    by_row: tuple[str, ...]


def _without_quotes(label: str) -> str:
    """The label of a header, which may stand in quotes there: r["web, code"]."""
    return without_quotes(label) if QUOTED.fullmatch(label) else label


def elements(
    declared: Declarations,
    table: Table,
    columns: Mapping[str, str],
    fit_labels: Mapping[str, tuple[str, ...]],
    *,
    target: bool,
) -> Elements:
    """Find the columns of a law with index sets.

    Args:
        declared: the law.
        table: the table.
        columns: variable, output or set -> column, or pattern of columns.
        fit_labels: set -> the labels known to a fit.
        target: whether the output is searched for too.

    Raises:
        LawdslError: columns that are missing or do not fit each other; D0104, D0116, D0120.
    """
    search = _ColumnSearch(declared, table, columns, fit_labels)
    rows, output = row_indices(declared), declared.output
    by_label = {name: search.column_of_labels(name) for name in rows}
    search.check_names(rows)
    for symbol in declared.symbols.values():
        if symbol.kind == "variable" and symbol.indices:
            search.variable(symbol, rows)
    if output.indices and target and by_label[output.indices[0]] is None:
        search.wide_columns(output)
    if search.problems:
        raise LawdslError(search.problems)
    return Elements(search.labels, by_label, search.wide, tuple(search.by_row))


class _ColumnSearch:
    """The state of a search for columns."""

    def __init__(
        self,
        declared: Declarations,
        table: Table,
        columns: Mapping[str, str],
        fit_labels: Mapping[str, tuple[str, ...]],
    ) -> None:
        self.declared, self.table, self.bound, self.known = declared, table, columns, fit_labels
        self.problems: list[Diagnostic] = []
        self.labels: dict[str, tuple[str, ...]] = {
            s.over: s.labels for s in declared.indices.values() if s.labels is not None
        }
        self.labels |= fit_labels
        self.wide: dict[str, dict[str, str]] = {}
        self.by_row: list[str] = []

    def _report(self, code: str, message: str, help: str) -> None:
        self.problems.append(Diagnostic(code, message, place=self.table.name, help=help))

    def check_names(self, rows: tuple[str, ...]) -> None:
        """Report bindings of names that are not a variable, the output or a set."""
        declared = self.declared
        sets = [declared.indices[name].over for name in rows]
        names = [s.name for s in declared.symbols.values() if s.kind == "variable"]
        names += [declared.output.name, *(s for s in (*sets, *rows) if s not in names)]
        for name in self.bound:
            if name not in names:
                help = did_you_mean(name, names, f"it has {', '.join(names)}")
                message = f"`{declared.name}` has no variable and no set `{name}`"
                self._report("D0116", message, help)

    def column_of_labels(self, index: str) -> str | None:
        """The column with each row's label of an index; None where the table has none."""
        over = self.declared.indices[index].over
        by_index = self.bound.get(index, binding_name(self.declared, index))
        column = self.bound.get(over, by_index)
        if column in self.table.columns:
            return column
        if over in self.bound or index in self.bound:
            listed = f"the columns are {', '.join(self.table.columns)}"
            message = f"unknown column `{column}` for the labels of {over}"
            self._report("D0104", message, listed)
        return None

    def variable(self, symbol: Symbol, rows: tuple[str, ...]) -> None:
        """Find the columns of one variable: one column with a value per row, or one column per
        label.
        """
        sets = [self.declared.indices[name].over for name in rows]
        own_sets = [self.declared.indices[name].over for name in symbol.indices]
        column = self.bound.get(symbol.name, symbol.name)
        by_row = all(over in sets for over in own_sets) and not symbol.simplex
        if by_row and WILDCARD not in column and column in self.table.columns:
            self.by_row.append(symbol.name)
            return
        self.wide_columns(symbol)

    def wide_columns(self, symbol: Symbol) -> None:
        """Find the columns of the elements of a variable, or of the output."""
        if len(symbol.indices) != 1:
            message = (
                f"`{symbol.text}` has {len(symbol.indices)} subscripts, a column has one label"
            )
            self._report("D0120", message, "give such a variable one subscript")
            return
        over = self.declared.indices[symbol.indices[0]].over
        pattern = self.bound.get(symbol.name, f"{symbol.name}[{WILDCARD}]")
        by_label = self._matching(pattern)
        if not by_label:
            self._missing(symbol, pattern)
            return
        labels = self.labels.get(over)
        if labels is None:
            self.labels[over] = tuple(by_label)
        elif set(labels) != set(by_label):
            lacking = [label for label in labels if label not in by_label]
            other = [label for label in by_label if label not in labels]
            if lacking or over not in self.known:
                what = f"no `{lacking[0]}`" if lacking else f"also `{other[0]}`"
                message = (
                    f"the labels of {over} are {shortened_list(labels)}; `{pattern}` has {what}"
                )
                help = "give all columns over one set the same labels"
                self._report("D0120", message, help)
                return
        self.wide[symbol.name] = by_label

    def _matching(self, pattern: str) -> dict[str, str]:
        """Label -> column, of the columns that a pattern names."""
        if pattern.count(WILDCARD) != 1:
            return {}
        before, after = map(re.escape, pattern.split(WILDCARD))
        # headers are also written with spaces inside the brackets: r[ web ]
        spaced = before.replace(r"\[", r"\[\s*"), after.replace(r"\]", r"\s*\]")
        shape = re.compile(f"{spaced[0]}(.+?){spaced[1]}", re.DOTALL)
        by_label = {}
        for column in self.table.columns:
            match = shape.fullmatch(column)
            if match:
                by_label[_without_quotes(match[1].strip())] = column
        return by_label

    def _missing(self, symbol: Symbol, pattern: str) -> None:
        """Report a pattern that matches no column."""
        listed = ", ".join(list(self.table.columns)[:MAX_COLUMNS_LISTED])
        more = ", …" if len(self.table.columns) > MAX_COLUMNS_LISTED else ""
        kind = "output" if symbol.kind == "output" else "variable"
        advice = f"name the columns by a pattern: {symbol.name}=PREFIX*"
        if symbol.kind == "output":
            advice += f", or say which column has the labels: {binding_name(self.declared, symbol.indices[0])}=COLUMN"
        message = f"unknown columns `{pattern}` for the {kind} `{symbol.text}`"
        if WILDCARD not in pattern:
            message = f"`{pattern}` is not a pattern of columns for the {kind} `{symbol.text}`"
        self._report("D0104", message, f"{advice}; the columns are {listed}{more}")


def binding_name(declared: Declarations, index: str) -> str:
    """The name under which a column of labels is bound: the set, or the index if its set is listed.

    Args:
        declared: the law.
        index: the index.
    """
    over = declared.indices[index].over
    return over if over.isidentifier() else index


def shortened_list(labels: Sequence[str]) -> str:
    """The first labels as text, for messages."""
    return ", ".join(labels[:MAX_LABELS_LISTED]) + (
        ", …" if len(labels) > MAX_LABELS_LISTED else ""
    )
