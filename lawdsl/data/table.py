"""A table as read: named columns of cells, and the number by which the user identifies each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import abridged
from lawdsl.core.lazy_modules import lazy_module
from lawdsl.core.units import Dimension
from lawdsl.data.arrow_arrays import to_arrow, to_numpy
from lawdsl.data.bad_cells import cell_advice, number as number
from lawdsl.data.number_columns import NumberColumns

if TYPE_CHECKING:
    import pyarrow as pa
else:  # it takes long to load, and values given as numbers need none of it
    pa = lazy_module("pyarrow")

MAX_ROWS_NAMED = 5  # bad rows named in one message


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes:
        name: the file's name, or a description of the data frame.
        columns: column name -> its cells, headers' units removed.
        units: column name -> the unit in its header, `N [Mparam]`.
        rows: the number by which the user identifies each row: the line of a file, else the row
            counted from 1.
        notes: the comment lines at the top of the file.
        typed: whether its columns have types, so that text is never a number; the cells of a CSV
            are all text, and are parsed as numbers where they are used.
        computed: the columns that bindings have added, which the source lacks.
    """

    name: str
    columns: Mapping[str, Any]
    units: Mapping[str, str] = field(default_factory=dict)
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    notes: tuple[str, ...] = ()
    typed: bool = True
    computed: frozenset[str] = frozenset()

    @property
    def source_columns(self) -> list[str]:
        """The columns of the source, as messages list them."""
        return [name for name in self.columns if name not in self.computed]

    def __len__(self) -> int:
        return len(self.rows)

    def keep(self, rows: NDArray[np.bool_]) -> Table:
        """The table with the marked rows only; `rows` has the shape (rows,)."""
        if rows.all():
            return self
        mask = to_arrow(rows)
        columns = {name: column.filter(mask) for name, column in self.columns.items()}
        return replace(self, columns=columns, rows=self.rows[rows])

    def at(self, numbers: NDArray[np.int64]) -> Table:
        """The rows with the given numbers, in this order."""
        positions_of_rows = to_arrow(positions_of(self.rows, numbers))
        columns = {name: column.take(positions_of_rows) for name, column in self.columns.items()}
        return replace(self, columns=columns, rows=numbers)

    def numbers(self, name: str, dimension: Dimension | None = None) -> NDArray[np.float64]:
        """A column as float64.

        Args:
            name: the column.
            dimension: the dimension of the variable that it is read as, for the advice on units;
                None if it is not known.

        Raises:
            LawdslError: a cell that is not a number, with its row; D0106.
        """
        if isinstance(self.columns, NumberColumns):
            return self.columns.numbers(name)
        column = self.columns[name]
        kind = column.type
        if _is_number(kind):
            if column.null_count:
                raise self._bad(name, to_numpy(column.is_null()), [""], dimension)
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
                # loads pyarrow.compute, for a tenth of the time of a prediction
                column = column.cast(pa.float64(), safe=False)
            # integers beyond 2^53 are rounded
            return np.ascontiguousarray(to_numpy(column), dtype=np.float64)
        if not _is_text(kind):
            message = f"column {name} holds {kind}, not numbers"
            column_place = f"{self.name} column {name}"
            raise LawdslError(
                Diagnostic("D0106", message, place=column_place, help="bind another column")
            )
        if not self.typed:
            try:
                return np.asarray(to_numpy(column.cast(pa.float64())), dtype=np.float64)
            except pa.ArrowInvalid:
                pass  # some cell is not a plain number: convert each cell separately
        cells = self.texts(name)
        values = [number(cell) for cell in cells]
        bad = np.array([value is None for value in values], dtype=bool)
        if bad.any():
            unread = [cell for cell, is_bad in zip(cells, bad.tolist(), strict=True) if is_bad]
            raise self._bad(name, bad, unread, dimension)
        if self.typed and len(self):
            help = "turn the column into numbers first"
            message = f'column {name}: "{cells[0][:40]}" is text, not a number'
            raise LawdslError(bad_rows("D0106", self, name, np.arange(len(self)), message, help))
        return np.array(values, dtype=np.float64)

    def readable(self, name: str) -> NDArray[np.bool_]:
        """The mask of the rows with a number in a column, shape (rows,)."""
        column = self.columns[name]
        if _is_text(column.type):
            if self.typed:
                return np.zeros(len(self), dtype=bool)
            try:
                column.cast(pa.float64())
                return to_numpy(column.is_valid())
            except pa.ArrowInvalid:
                pass  # some cell is not a plain number: cells are tested individually
            return np.array([number(c) is not None for c in self.texts(name)], dtype=bool)
        valid: NDArray[np.bool_] = to_numpy(column.is_valid())
        return valid

    def texts(self, name: str) -> list[str]:
        """A column as text, stripped of surrounding spaces."""
        return ["" if c is None else str(c).strip() for c in self.columns[name].to_pylist()]

    def _bad(
        self,
        name: str,
        bad: NDArray[np.bool_],
        cells: Sequence[str],
        dimension: Dimension | None,
    ) -> LawdslError:
        why = f'"{cells[0][:40]}" is not a number' if cells[0] else "the cell is empty"
        message, help = (
            f"column {name}: {why}",
            cell_advice(
                name, cells, dimension, header=self.units.get(name, ""), every=bool(bad.all())
            ),
        )
        return LawdslError(bad_rows("D0106", self, name, np.flatnonzero(bad), message, help))


def positions_of(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each requested number among the numbers of rows, shape of `numbers`.

    Args:
        rows: the numbers of all rows, shape (rows,).
        numbers: the requested ones.
    """
    order = np.argsort(rows)
    return order[np.searchsorted(rows, numbers, sorter=order)]


def bad_rows(
    code: str, table: Table, column: str, rows: NDArray[np.int64], message: str, help: str
) -> Diagnostic:
    """A diagnostic about some rows of a column, located at the first; the next ones are listed.

    Args:
        code: the code of the message.
        table: the table.
        column: the column.
        rows: positions of the rows, counted from 0.
        message: the problem.
        help: what to do about it.
    """
    lines = table.rows[rows[:MAX_ROWS_NAMED]].tolist()
    listed = abridged(lines, MAX_ROWS_NAMED, count=len(rows))
    notes = (f"rows {listed}",) if len(rows) > 1 else ()
    first_place = f"{table.name}:{lines[0]} column {column}"
    return Diagnostic(code, message, place=first_place, notes=notes, help=help)


def _is_number(kind: Any) -> bool:
    test = pa.types
    return bool(
        test.is_integer(kind)
        or test.is_floating(kind)
        or test.is_decimal(kind)
        or test.is_null(kind)
    )


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
