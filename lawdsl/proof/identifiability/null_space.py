"""Matrix of balls -> a basis of its null space, by Gauss-Jordan elimination with partial pivoting.

A·v = 0 for each basis vector v. Elimination stops where a pivot cannot be told from 0. (Golub and
Van Loan (2013), Matrix Computations, 4th ed., section 3.4; the entries are balls of Arb: Johansson
(2017), IEEE Transactions on Computers 66.)
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from lawdsl.compiling.balls import Ball

Vector = dict[int, Ball]  # column -> entry that is not 0


class Unclear(Exception):
    """An entry is neither certainly nonzero nor small enough to count as 0: too few digits."""


def null_vectors(
    rows: Sequence[Sequence[Ball]], order: Sequence[int], bits: int, *, first: bool = False
) -> list[Vector]:
    """A basis of the vectors v with A·v = 0.

    Columns that come first in the order become pivots; so each vector has one column of its own,
    with the entry 1, and is as sparse as the order allows. Independence is certain; an entry counts
    as 0 if it contains 0 and its radius is below 2^(-2·bits/3).

    Args:
        rows: A, shape (rows, columns).
        order: the columns to use, each once.
        bits: the precision of the numbers.
        first: stop at the first vector.

    Raises:
        Unclear: the digits do not suffice.
    """
    # rows of one size, as pivots of different rows are compared
    remaining = [_scaled({c: row[c] for c in order}) for row in rows]
    pivots: list[tuple[int, Vector]] = []
    basis: list[Vector] = []
    for c in order:
        if _eliminated(remaining, pivots, c, bits):
            continue
        dependent = {p: -row[c] for p, row in pivots if not _is_zero(row[c], bits)}
        basis.append({**dependent, c: arb(1)})
        if first:
            break
    return basis


def shortened(vectors: Sequence[Vector], order: Sequence[int], bits: int) -> list[Vector]:
    """Another basis of the same space, in which each vector has a column of its own.

    Args:
        vectors: a basis.
        order: the columns; the first ones are preferred as own columns.
        bits: the precision of the numbers.

    Raises:
        Unclear: the digits do not suffice.
    """
    remaining = [_scaled({c: vector.get(c, arb(0)) for c in order}) for vector in vectors]
    pivots: list[tuple[int, Vector]] = []
    for c in order:
        _eliminated(remaining, pivots, c, bits)
    return [{c: x for c, x in row.items() if not _is_zero(x, bits)} for _, row in pivots]


def _eliminated(
    remaining: list[Vector], pivots: list[tuple[int, Vector]], c: int, bits: int
) -> bool:
    """Eliminate a column from all rows but the pivot row, which moves to `pivots`; False if the
    column is 0."""
    pivot = _largest(remaining, c, bits)
    if pivot is None:
        return False
    row = remaining.pop(pivot)
    row = {k: x / row[c] for k, x in row.items()}
    row[c] = arb(1)
    for other in (*remaining, *(r for _, r in pivots)):
        factor = other[c]
        if not factor == 0:
            for k, x in row.items():
                other[k] = other[k] - factor * x
            other[c] = arb(0)
    pivots.append((c, row))
    return True


def _scaled(row: Vector) -> Vector:
    size = max((abs(x.mid()) for x in row.values()), default=arb(0))
    return row if size == 0 else {k: x / size for k, x in row.items()}


def _largest(rows: list[Vector], c: int, bits: int) -> int | None:
    """The index of the row with the largest entry in a column; None if the column is 0."""
    best, size = None, arb(0)
    for i, row in enumerate(rows):
        if row[c] != 0:
            if best is None or abs(row[c].mid()) > size:
                best, size = i, abs(row[c].mid())
    if best is None:
        # raises Unclear where an entry contains 0 but is too wide to count as 0
        for row in rows:
            _is_zero(row[c], bits)
    return best


def _is_zero(x: Ball, bits: int) -> bool:
    if x != 0:
        return False
    if not x.rad() < arb(2) ** (-2 * bits // 3):
        raise Unclear
    return True
