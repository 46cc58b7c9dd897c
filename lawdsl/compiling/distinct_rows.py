"""The rows of a table by the distinct values of some of its columns."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Support = frozenset[int] | None  # numbers of variables; None: every row is a value of its own

TABLE = 0.5  # a table of distinct values is used up to so many of them a row
LARGEST_TABLE = 20_000
MOST_CODES = 16  # times as many codes as rows are counted; more are sorted
EVERY_ROW = slice(None)


class Table:
    """The rows of a table as seen by a law: for some of the variables, their distinct values.

    Args:
        columns: the variables, shape (variables, rows).
    """

    def __init__(self, columns: Array) -> None:
        self.columns = columns
        self.rows = columns.shape[1]
        self._known: dict[frozenset[int], tuple[Array, Index | None]] = {}
        self._between: dict[tuple[frozenset[int], Support], Index] = {}
        self._orders: dict[frozenset[int], tuple[Index, Index]] = {}

    @property
    def most(self) -> int:
        """How many distinct values still make a table of them pay."""
        return int(min(TABLE * self.rows, LARGEST_TABLE))

    @cached_property
    def codes(self) -> list[tuple[Index, int]]:
        """For each variable a number of the value in each row, and how many values there are; of
        a column with too many only that there are more."""
        found = []
        for column in self.columns:
            few = column[: 2 * LARGEST_TABLE]
            values, code = np.unique(few, return_inverse=True)
            if len(values) <= self.most and len(few) < self.rows:
                values, code = np.unique(column, return_inverse=True)
            found.append((code.astype(np.int64), len(values)))
        return found

    def distinct(self, support: frozenset[int]) -> tuple[Array, Index | None]:
        """The variables at the distinct values of some of them, and which of these a row has.

        Returns:
            Columns, shape (variables, values), and a number for each row, shape (rows,); all
            rows and None where so many differ that a table of them does not pay.
        """
        if support not in self._known:
            self._known[support] = self._distinct(sorted(support))
        return self._known[support]

    def _distinct(self, support: list[int]) -> tuple[Array, Index | None]:
        code, count = np.zeros(self.rows, dtype=np.int64), 1
        for number in support:
            own, values = self.codes[number]
            if values > self.most:
                return self.columns, None
            code, count = _numbered(code * values + own, count * values)
            if count > self.most:
                return self.columns, None
        first = np.zeros(count, dtype=np.int64)
        first[code[::-1]] = np.arange(self.rows - 1, -1, -1)
        return self.columns[:, first], code

    def size(self, support: Support) -> int:
        """How many distinct values a support has."""
        if not support:
            return 1 if support is not None else self.rows
        return self.distinct(support)[0].shape[1]

    def index(self, support: Support) -> Index | None:
        """Which of the distinct values each row has; None where there is one, or one a row."""
        return self.distinct(support)[1] if support else None

    def between(self, own: frozenset[int], whole: Support) -> Index:
        """Which value of a support there is at each value of a larger one."""
        if (own, whole) not in self._between:
            rows = self.distinct(own)[1]
            assert rows is not None
            if whole is not None:
                index = np.zeros(self.size(whole), dtype=np.int64)
                index[self.distinct(whole)[1]] = rows
                rows = index
            self._between[own, whole] = rows
        return self._between[own, whole]

    def gather(self, factors: Array, support: Support, piece: slice = EVERY_ROW) -> Array:
        """The sums of (starts, rows) factors over the rows of each value of a support."""
        if support is None:
            return factors
        if not support:
            return factors.sum(axis=-1, keepdims=True)
        index = self.distinct(support)[1]
        assert index is not None
        if piece != EVERY_ROW:
            sums = np.zeros((self.size(support), len(factors)))
            np.add.at(sums, index[piece], factors.T)
            return sums.T
        if support not in self._orders:
            order = np.argsort(index, kind="stable")
            starts = np.flatnonzero(np.diff(index[order], prepend=-1))
            self._orders[support] = order, starts
        order, starts = self._orders[support]
        return np.add.reduceat(factors.take(order, -1), starts, axis=-1)

    def rows_in(self, piece: slice) -> int:
        """How many rows a piece has."""
        return self.rows if piece == EVERY_ROW else len(range(self.rows)[piece])


def _numbered(code: Index, count: int) -> tuple[Index, int]:
    """Codes below `count` as numbers without gaps, in their order, and how many there are."""
    if count > MOST_CODES * len(code):
        values, numbers = np.unique(code, return_inverse=True)
        return numbers.astype(np.int64), len(values)
    seen = np.zeros(count, dtype=bool)
    seen[code] = True
    number = np.cumsum(seen) - 1
    return number[code], int(number[-1]) + 1
