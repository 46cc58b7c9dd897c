"""A table in which domains are columns, or rows, as one long table with a column for each element.

A law with index sets has no columns of its own: `r[j]` is read from `r[web]`, `r[code]`, … or from
columns that a pattern names (`r=r_*`); the output from such columns too, or from one column beside
a column of labels (`validation=valid_domain`). What comes out has a row for each measured value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lawdsl.data.shares import checked_shares
from lawdsl.data.table import Table, bad_rows
from lawdsl.diagnostics import Diagnostic, LawdslError
from lawdsl.language.declared import Declarations, Symbol
from lawdsl.language.instances.instance import Instance, indicator, row_indices
from lawdsl.language.printing import with_subscripts
from lawdsl.language.words import nearest
from lawdsl.law import Law
from lawdsl.units import is_unit

STAR = "*"  # in a binding, what stands for the label


@dataclass(frozen=True)
class Labelled:
    """A long table: each row has one label of each index of the rows, and one measured value.

    Attributes:
        table: with a column for each element, named as it is written: `r[web]`.
        instance: the labels, and which variables each row says.
        columns: variable or output -> column, for those whose names differ.
        of_rows: index of the rows -> the label of each row.
        sets: index of the rows -> the labels that it runs over.
        warnings: what is odd but usable.
        dropped: how many rows were left out.
    """

    table: Table
    instance: Instance
    columns: Mapping[str, str]
    of_rows: Mapping[str, tuple[str, ...]]
    sets: Mapping[str, tuple[str, ...]]
    warnings: tuple[Diagnostic, ...] = ()
    dropped: int = 0

    def keep(self, labels: Mapping[str, str]) -> Table:
        """The rows with some labels, and the columns that say which label a row has."""
        rows = np.ones(len(self.table), dtype=bool)
        for index, label in labels.items():
            rows &= np.array(self.of_rows[index]) == label
        columns: dict[str, Any] = dict(self.table.columns)
        for index, own in self.of_rows.items():
            for label in self.sets[index] if index not in labels else ():
                marks = np.array(own) == label
                columns[indicator(index, label)] = pa.chunked_array([marks.astype(float)])
        return replace(self.table, columns=columns).keep(rows)


def labelled(
    declared: Declarations,
    table: Table,
    columns: Mapping[str, str],
    *,
    target: bool = True,
    known: Mapping[str, tuple[str, ...]] | None = None,
    drop_bad: bool = False,
) -> Labelled:
    """Read the labels of a law's index sets in a table.

    Args:
        declared: a law with index sets.
        table: the table.
        columns: variable, output or set -> column, or a pattern of columns: {"r": "r_*",
            "validation": "valid_domain"}.
        target: whether the output is read too.
        known: set -> labels that a fit has; other labels are refused, and those that no column
            names are not missed.
        drop_bad: leave out rows without a label, or whose shares are none, instead of refusing them.

    Raises:
        LawdslError: columns that are missing or do not fit each other, shares that are none.
    """
    advice = [
        "correct the table",
        "choose rows with --where",
        "leave such rows out with --drop-bad",
    ]
    advice = advice if target else advice[:1]  # only a fit can do without them
    reading = _Reading(declared, table, columns, known or {}, drop_bad, ", or ".join(advice))
    return reading.labelled(target)


class _Reading:
    """One reading of a table."""

    def __init__(
        self,
        declared: Declarations,
        table: Table,
        columns: Mapping[str, str],
        known: Mapping[str, tuple[str, ...]],
        drop_bad: bool,
        advice: str,
    ) -> None:
        self.declared, self.bound, self.known = declared, columns, known
        self.table = _with_labels(declared, table)
        self.drop_bad, self.advice = drop_bad, advice
        self.good = np.ones(len(table), dtype=bool)
        self.problems: list[Diagnostic] = []
        self.labels: dict[str, tuple[str, ...]] = {
            s.over: s.labels for s in declared.indices.values() if s.labels is not None
        }
        self.labels |= known
        self.wide: dict[str, dict[str, str]] = {}  # variable or output -> label -> column
        self.by_row: list[str] = []

    def labelled(self, target: bool) -> Labelled:
        declared, output = self.declared, self.declared.output
        rows = row_indices(declared)
        by_label = {name: self._column_of_labels(name) for name in rows}
        self._check_names(rows)
        for symbol in declared.symbols.values():
            if symbol.kind == "variable" and symbol.indices:
                self._variable(symbol, rows)
        if output.indices and target and by_label[output.indices[0]] is None:
            self._wide(output, needed=True)
        self._refuse()
        of_rows: dict[str, tuple[str, ...]] = {}
        long = self._elements()
        for name in rows:
            column = by_label[name]
            if column is not None:
                of_rows[name] = self._labels_of(name, column)
        warnings = tuple(self._shares())
        self._refuse()
        long, of_rows = self._without_bad(long, of_rows)
        stacked = [name for name in rows if by_label[name] is None]
        if not target:
            of_rows = {n: labels for n, labels in of_rows.items() if n not in stacked}
        elif stacked:
            long, of_rows = self._stacked(long, stacked, of_rows)
        self._refuse()
        left = {
            s.name: self._labels(s)[-1]
            for s in declared.symbols.values()
            if s.kind == "variable" and s.simplex
        }
        instance = Instance(dict(self.labels), {}, tuple(self.by_row), left)
        plain = {n: c for n, c in self.bound.items() if self._is_plain(n)}
        plain |= {declared.symbols[name].text: self.bound.get(name, name) for name in self.by_row}
        dropped = int(np.sum(~self.good))
        sets = {name: instance.of(declared, name) for name in of_rows}
        return Labelled(long, instance, plain, of_rows, sets, warnings, dropped)

    def _is_plain(self, name: str) -> bool:
        """Whether a binding is for a name without subscripts, or an output beside labels."""
        declared = self.declared
        if name == declared.output.name:
            return name not in self.wide
        symbol = declared.symbols.get(name)
        return symbol is not None and not symbol.indices

    def _refuse(self) -> None:
        if self.problems:
            raise LawdslError(self.problems)

    def _say(self, code: str, message: str, help: str) -> None:
        self.problems.append(Diagnostic(code, message, place=self.table.name, help=help))

    def _check_names(self, rows: tuple[str, ...]) -> None:
        """Refuse bindings of what is neither a variable, nor the output, nor a set."""
        declared = self.declared
        sets = [declared.indices[name].over for name in rows]
        known = [s.name for s in declared.symbols.values() if s.kind == "variable"]
        known += [declared.output.name, *(s for s in (*sets, *rows) if s not in known)]
        for name in self.bound:
            if name not in known:
                alike = nearest(name, known)
                help = f"did you mean `{alike}`?" if alike else f"it has {', '.join(known)}"
                message = f"`{declared.name}` has no variable and no set `{name}`"
                self._say("D0116", message, help)

    def _column_of_labels(self, index: str) -> str | None:
        """The column that says each row's label of an index; None where there is none."""
        over = self.declared.indices[index].over
        own = self.bound.get(index, called(self.declared, index))
        column = self.bound.get(over, own)
        if column in self.table.columns:
            return column
        if over in self.bound or index in self.bound:
            listed = f"the columns are {', '.join(self.table.columns)}"
            message = f"there is no column `{column}` for the labels of {over}"
            self._say("D0104", message, listed)
        return None

    def _variable(self, symbol: Symbol, rows: tuple[str, ...]) -> None:
        sets = [self.declared.indices[name].over for name in rows]
        own = [self.declared.indices[name].over for name in symbol.indices]
        column = self.bound.get(symbol.name, symbol.name)
        by_row = all(over in sets for over in own) and not symbol.simplex
        if by_row and STAR not in column and column in self.table.columns:
            self.by_row.append(symbol.name)
            return
        self._wide(symbol, needed=True)

    def _wide(self, symbol: Symbol, needed: bool) -> None:
        """The columns of the elements of a variable, or of the output."""
        if len(symbol.indices) != 1:
            message = (
                f"`{symbol.text}` has {len(symbol.indices)} subscripts, a column has one label"
            )
            self._say("D0120", message, "give such a variable one subscript")
            return
        over = self.declared.indices[symbol.indices[0]].over
        pattern = self.bound.get(symbol.name, f"{symbol.name}[{STAR}]")
        found = self._matching(pattern)
        if not found:
            self._missing(symbol, pattern)
            return
        known = self.labels.get(over)
        if known is None:
            self.labels[over] = tuple(found)
        elif set(known) != set(found):
            lacking = [label for label in known if label not in found]
            other = [label for label in found if label not in known]
            if lacking or over not in self.known:
                what = f"no `{lacking[0]}`" if lacking else f"also `{other[0]}`"
                message = f"the labels of {over} are {_some(known)}; `{pattern}` has {what}"
                help = "give all columns over one set the same labels"
                self._say("D0120", message, help)
                return
        self.wide[symbol.name] = found

    def _matching(self, pattern: str) -> dict[str, str]:
        """Label -> column, of the columns that a pattern names."""
        if pattern.count(STAR) != 1:
            return {}
        before, after = map(re.escape, pattern.split(STAR))
        spaced = before.replace(r"\[", r"\[\s*"), after.replace(r"\]", r"\s*\]")
        shape = re.compile(f"{spaced[0]}(.+?){spaced[1]}", re.DOTALL)
        found = {}
        for column in self.table.columns:
            match = shape.fullmatch(column)
            if match:
                found[match[1].strip()] = column
        return found

    def _missing(self, symbol: Symbol, pattern: str) -> None:
        listed = ", ".join(list(self.table.columns)[:12])
        more = ", …" if len(self.table.columns) > 12 else ""
        kind = "output" if symbol.kind == "output" else "variable"
        ways = f"name the columns by a pattern: {symbol.name}=PREFIX*"
        if symbol.kind == "output":
            ways += f", or say which column has the labels: {called(self.declared, symbol.indices[0])}=COLUMN"
        message = f"there are no columns `{pattern}` for the {kind} `{symbol.text}`"
        if STAR not in pattern:
            message = f"`{pattern}` is no pattern of columns for the {kind} `{symbol.text}`"
        self._say("D0104", message, f"{ways}; the columns are {listed}{more}")

    def _elements(self) -> Table:
        """The table with a column for each element of the variables."""
        columns = dict(self.table.columns)
        units = dict(self.table.units)
        for name, found in self.wide.items():
            if name == self.declared.output.name:
                continue
            for label, column in found.items():
                text = with_subscripts(name, (label,))
                columns[text] = self.table.columns[column]
                if column in self.table.units:
                    units[text] = self.table.units[column]
        return replace(self.table, columns=columns, units=units)

    def _labels_of(self, index: str, column: str) -> tuple[str, ...]:
        """Each row's label, and the labels of the set where they are not known yet."""
        over = self.declared.indices[index].over
        own = self.table.texts(column)
        empty = np.array([not label for label in own], dtype=bool)
        message = f"column {column} is empty: which of {over} is the row of?"
        self._bad(column, empty, message)
        known = self.labels.get(over)
        if known is None:
            self.labels[over] = tuple(sorted(set(own) - {""}))
            return tuple(own)
        other = np.array([bool(label) and label not in known for label in own], dtype=bool)
        named = own[int(np.argmax(other))]
        message = f"column {column}: `{named}` is none of {over}: {_some(known)}"
        self._bad(column, other, message)
        return tuple(own)

    def _bad(self, column: str, bad: NDArray[np.bool_], message: str) -> None:
        """Rows that cannot be used: refused, or left out."""
        if self.drop_bad:
            self.good &= ~bad
        elif bad.any():
            rows = np.flatnonzero(bad)
            found = bad_rows("D0120", self.table, column, rows, message, self.advice)
            self.problems.append(found)

    def _without_bad(
        self, table: Table, of_rows: dict[str, tuple[str, ...]]
    ) -> tuple[Table, dict[str, tuple[str, ...]]]:
        if self.good.all():
            return table, of_rows
        if not self.good.any():
            help = "correct the table: there is nothing left to use"
            message = "every row is bad"
            raise LawdslError(Diagnostic("D0103", message, place=self.table.name, help=help))
        kept = {n: tuple(np.array(own)[self.good].tolist()) for n, own in of_rows.items()}
        return table.keep(self.good), kept

    def _stacked(
        self, table: Table, stacked: list[str], of_rows: Mapping[str, tuple[str, ...]]
    ) -> tuple[Table, dict[str, tuple[str, ...]]]:
        """The table once for each column of the output, one below the other."""
        output = self.declared.output
        others = [name for name in stacked if name != (*output.indices, "")[0]]
        for name in others:
            self.problems.append(no_labels(self.declared, name, self.table))
        found = self.wide.get(output.name)
        if self.problems or found is None:
            return table, dict(of_rows)
        labels = self.labels[self.declared.indices[output.indices[0]].over]
        used = [label for label in labels if label in found]
        rows = np.tile(np.arange(len(table)), len(used))
        columns: dict[str, Any] = {n: c.take(pa.array(rows)) for n, c in table.columns.items()}
        values = [chunk for label in used for chunk in _chunks(table.columns[found[label]])]
        try:
            columns[output.name] = pa.chunked_array(values)
        except (pa.ArrowInvalid, TypeError):
            texts = [text for label in used for text in table.texts(found[label])]
            columns[output.name] = pa.chunked_array([pa.array(texts)])
        units = dict(table.units)
        own = {table.units[found[label]] for label in used if found[label] in table.units}
        if len(own) == 1:
            units[output.name] = own.pop()
        elif own:
            self._say("D0112", f"the columns of `{output.text}` have several units", "use one")
        long = replace(table, columns=columns, units=units, rows=table.rows[rows])
        repeated = {n: tuple(np.tile(np.array(own), len(used))) for n, own in of_rows.items()}
        each = tuple(np.repeat(np.array(used), len(table)).tolist())
        return long, {output.indices[0]: each, **repeated}

    def _shares(self) -> Iterator[Diagnostic]:
        """What is odd about shares; rows whose shares are none are refused, or left out."""
        for symbol in self.declared.symbols.values():
            if symbol.kind != "variable" or not symbol.simplex or symbol.name not in self.wide:
                continue
            rest = self._labels(symbol)[-1]
            found = checked_shares(
                symbol.text, self.table, self.wide[symbol.name], rest, self.drop_bad, self.advice
            )
            if self.drop_bad:
                self.good &= found.good
            else:
                self.problems += found.problems
            yield from found.warnings

    def _labels(self, symbol: Symbol) -> tuple[str, ...]:
        """The labels of the last subscript."""
        return self.labels[self.declared.indices[symbol.indices[-1]].over]


def called(declared: Declarations, index: str) -> str:
    """By which name a column of labels is bound: that of the set, or of the index of a set that is
    listed."""
    over = declared.indices[index].over
    return over if over.isidentifier() else index


def no_labels(declared: Declarations, index: str, table: Table) -> Diagnostic:
    """What is said where no column has the labels that rows need."""
    message = f"no column says the label of each row over {declared.indices[index].over}"
    help = f"name the column: {called(declared, index)}=COLUMN"
    return Diagnostic("D0104", message, place=table.name, help=help)


def refuse_indices(law: Law, what: str, help: str) -> None:
    """Refuse a law with index sets.

    Args:
        law: any law.
        what: cannot be done with one.
        help: what can.

    Raises:
        LawdslError: L0321.
    """
    if law.indexed:
        message = f"`{law.name}` has index sets: {what}"
        raise LawdslError(Diagnostic("L0321", message, help=help))


def _with_labels(declared: Declarations, table: Table) -> Table:
    """The table with `L[web]` for a lone column `L` of which `web` was taken to be the unit."""
    subscripted = {s.name for s in (*declared.symbols.values(), declared.output) if s.indices}
    lone = {
        name: with_subscripts(name, (unit,))
        for name, unit in table.units.items()
        if name in subscripted and not is_unit(unit)
    }
    columns = {lone.get(name, name): column for name, column in table.columns.items()}
    units = {name: unit for name, unit in table.units.items() if name not in lone}
    return replace(table, columns=columns, units=units)


def _chunks(column: Any) -> list[Any]:
    return list(column.chunks) if isinstance(column, pa.ChunkedArray) else [column]


def _some(labels: tuple[str, ...]) -> str:
    return ", ".join(labels[:8]) + (", …" if len(labels) > 8 else "")
