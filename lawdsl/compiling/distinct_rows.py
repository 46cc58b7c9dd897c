"""Columns of a table -> the distinct values of some of them, and the index of each row's value."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Support = frozenset[int] | None  # positions of variables; None: every row is a value of its own

# a table of distinct values pays only where it has far fewer entries than the data have rows
MAX_DISTINCT_PER_ROW = 0.5
MAX_DISTINCT = 20_000  # greatest number of distinct values in a table
MAX_CODES_PER_ROW = (
    16  # possible codes that are renumbered by counting; by sorting if there are more
)
EVERY_ROW = slice(None)


class DistinctRowTable:
    """The rows of a table, with the distinct values of sets of variables.

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
        """The number of distinct values up to which a table of them is used."""
        return int(min(MAX_DISTINCT_PER_ROW * self.rows, MAX_DISTINCT))

    @cached_property
    def codes(self) -> list[tuple[Index, int]]:
        """For each variable the index of the value in each row, and the number of values; for a
        column with too many values only that there are more."""
        codes = []
        for column in self.columns:
            # a first part often shows that there are too many, without sorting all rows
            few = column[: 2 * MAX_DISTINCT]
            values, code = np.unique(few, return_inverse=True)
            if len(values) <= self.most and len(few) < self.rows:
                values, code = np.unique(column, return_inverse=True)
            codes.append((code.astype(np.int64), len(values)))
        return codes

    def distinct(self, support: frozenset[int]) -> tuple[Array, Index | None]:
        """The distinct values of some variables, and which of these each row has.

        Args:
            support: positions of the variables.

        Returns:
            Columns, shape (variables, values), and an index for each row, shape (rows,); all rows
            and None where there are too many distinct values to be worth a table.
        """
        if support not in self._known:
            self._known[support] = self._distinct(sorted(support))
        return self._known[support]

    def _distinct(self, support: list[int]) -> tuple[Array, Index | None]:
        code, count = np.zeros(self.rows, dtype=np.int64), 1
        for number in support:
            column_code, values = self.codes[number]
            if values > self.most:
                return self.columns, None
            code, count = _numbered(code * values + column_code, count * values)
            if count > self.most:
                return self.columns, None
        first = np.zeros(count, dtype=np.int64)
        # backwards, as the last assignment to an entry counts: the first row of each value
        first[code[::-1]] = np.arange(self.rows - 1, -1, -1)
        return self.columns[:, first], code

    def size(self, support: Support) -> int:
        """The number of distinct values of a support."""
        if not support:
            return 1 if support is not None else self.rows
        return self.distinct(support)[0].shape[1]

    def index(self, support: Support) -> Index | None:
        """Which of the distinct values each row has; None for one in all, or one a row."""
        return self.distinct(support)[1] if support else None

    def between(self, support: frozenset[int], larger: Support) -> Index:
        """The index of a support's value at each distinct value of a larger support.

        Args:
            support: the support.
            larger: the larger support.
        """
        if (support, larger) not in self._between:
            rows = self.distinct(support)[1]
            assert rows is not None
            if larger is not None:
                index = np.zeros(self.size(larger), dtype=np.int64)
                index[self.distinct(larger)[1]] = rows
                rows = index
            self._between[support, larger] = rows
        return self._between[support, larger]

    def gather(self, factors: Array, support: Support, piece: slice = EVERY_ROW) -> Array:
        """Sum factors over the rows of each distinct value.

        Args:
            factors: shape (starts, rows of the piece).
            support: the variables whose values count.
            piece: the rows.

        Returns:
            Shape (starts, values).
        """
        if support is None:
            return factors
        if not support:
            return factors.sum(axis=-1, keepdims=True)
        index = self.distinct(support)[1]
        assert index is not None
        if piece != EVERY_ROW:
            # `reduceat` needs all rows in the stored order; a piece has some of them
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
        """The number of rows in a piece."""
        return self.rows if piece == EVERY_ROW else len(range(self.rows)[piece])


def _numbered(code: Index, count: int) -> tuple[Index, int]:
    """Codes below `count` renumbered without gaps, in their order, and how many there are."""
    if count > MAX_CODES_PER_ROW * len(code):
        values, numbers = np.unique(code, return_inverse=True)
        return numbers.astype(np.int64), len(values)
    occurs = np.zeros(count, dtype=bool)
    occurs[code] = True
    number = np.cumsum(occurs) - 1
    return number[code], int(number[-1]) + 1
