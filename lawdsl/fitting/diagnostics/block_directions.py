"""Problem with many parameters in blocks + parameters -> the effects of parameters, block by block.

A block's parameters act on its own rows, so their directions are those of a small Jacobian for each
block. The directions of the shared parameters are those of their columns after all blocks have been
projected out of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.arrow import Arrow
from lawdsl.fitting.problem import Problem

Array = NDArray[np.float64]

# relative to columns of length 1: smaller singular values are rounding
RANK_RTOL = 1e-12


@dataclass(frozen=True, eq=False)
class BlockJacobian:
    """The Jacobian of the residuals, by blocks.

    Attributes:
        arrow: the blocks.
        compact: the derivatives, shape (border + width, rows in the order of the arrow), finite.
    """

    arrow: Arrow
    compact: Array

    @classmethod
    def of(cls, problem: Problem, theta: Array) -> tuple[Array, BlockJacobian]:
        """The residuals, shape (rows,), and the Jacobian at parameters of shape (parameters,)."""
        arrow = problem.arrow
        assert arrow is not None
        (ordered,), (compact,) = problem.compact_slopes(theta[None])
        residual = np.empty_like(ordered)
        residual[arrow.order] = ordered
        return residual, cls(arrow, np.nan_to_num(compact))

    @property
    def lengths(self) -> Array:
        """The length of the column of each parameter, shape (parameters,)."""
        count, squares = len(self.arrow.border), self.compact**2
        in_blocks = np.add.reduceat(squares[count:], self.arrow.begins, axis=1).T
        shared = squares[:count].sum(axis=1)
        return np.sqrt(self.arrow.to_parameters(shared[None], in_blocks[None])[0])

    def blocks(self) -> Iterator[tuple[NDArray[np.int64], Array]]:
        """For each block the positions of its parameters, and its part of the Jacobian, shape (rows
        of the block, parameters of the block)."""
        count = len(self.arrow.border)
        ends = zip(self.arrow.begins, self.arrow.ends, self.arrow.members, strict=True)
        for begin, end, members in ends:
            used = members >= 0
            yield members[used], self.compact[count:, begin:end][used].T

    def shared(self, numbers: NDArray[np.int64], left_out: NDArray[np.bool_]) -> SharedColumns:
        """The columns of some shared parameters, and how those of the blocks follow them.

        Args:
            numbers: the positions of the shared parameters.
            left_out: parameters of blocks that do not follow, shape (parameters,).
        """
        places = np.searchsorted(self.arrow.border, numbers)
        columns = self.compact[places].T
        remaining, response = columns.copy(), np.zeros((self.arrow.parameters, len(numbers)))
        begins = self.arrow.begins
        for number, (members, jacobian) in enumerate(self.blocks()):
            rows = slice(begins[number], self.arrow.ends[number])
            length = np.linalg.norm(jacobian, axis=0)
            moving = (length > 0) & ~left_out[members]
            if not moving.any():
                continue
            scaled = jacobian[:, moving] / length[moving]
            solution = np.linalg.lstsq(scaled, columns[rows], rcond=RANK_RTOL)[0]
            remaining[rows] -= scaled @ solution
            response[members[moving]] = solution / length[moving, None]
        return SharedColumns(columns, remaining, response)

    def times(self, change: Array) -> Array:
        """The changes of the residuals by a change of the parameters, shape (rows,)."""
        shared, in_blocks = self.arrow.of_parameters(change[None])
        count = len(self.arrow.border)
        lengths = self.arrow.ends - self.arrow.begins
        by_row = np.repeat(in_blocks[0], lengths, axis=0)
        ordered = shared[0] @ self.compact[:count]
        ordered = ordered + np.sum(by_row.T * self.compact[count:], axis=0)
        result = np.empty_like(ordered)
        result[self.arrow.order] = ordered
        return result

    def flat_directions(self, width: float, left_out: NDArray[np.bool_]) -> list[Array]:
        """Directions without effect, each a vector of all parameters with columns of length 1.

        Args:
            width: the largest effect of a direction, relative to columns of length 1.
            left_out: parameters that do not move, shape (parameters,).
        """
        directions = []
        lengths = self.lengths
        unit = np.where(lengths > 0, lengths, 1.0)
        for numbers, jacobian in self.blocks():
            kept = ~left_out[numbers]
            directions += _flat(
                jacobian[:, kept] / unit[numbers[kept]], numbers[kept], len(lengths), width
            )
        border = self.arrow.border[~left_out[self.arrow.border]]
        columns = self.shared(border, left_out)
        # a column that the blocks reproduce has no effect of its own
        scaled = columns.remaining / unit[border]
        for direction in _flat(scaled, border, len(lengths), width):
            follows = columns.response @ (direction[border] / unit[border]) * unit
            whole = direction - np.where(lengths > 0, follows, 0.0)
            directions.append(whole / np.linalg.norm(whole))
        return directions


@dataclass(frozen=True, eq=False)
class SharedColumns:
    """Columns of shared parameters.

    Attributes:
        columns: the columns, shape (rows, shared).
        remaining: the same, after the parameters of the blocks have followed.
        response: by how much each parameter follows, shape (parameters, shared).
    """

    columns: Array
    remaining: Array
    response: Array


def _flat(scaled: Array, numbers: NDArray[np.int64], count: int, width: float) -> list[Array]:
    """Directions of some parameters, out of `count`, whose effect is below a width."""
    if not scaled.shape[1]:
        return []
    _, widths, rows = np.linalg.svd(scaled, full_matrices=len(scaled) < scaled.shape[1])
    widths = np.concatenate([widths, np.zeros(len(rows) - len(widths))])
    directions = []
    for row in rows[widths < width * max(float(widths[0]), 1.0)]:
        direction = np.zeros(count)
        direction[numbers] = row
        directions.append(direction)
    return directions
