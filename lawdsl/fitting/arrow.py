"""Which parameters act on which rows -> an arrow: a few shared parameters, and blocks of the others.

`L[i] = E[i] + A[i]/N^alpha` has one block for each label i, of E[i] and A[i], and the shared
parameter alpha as a border. No row has parameters of two blocks, so the matrix of normal equations
JᵀWJ is an arrow: a small dense block for each label, and a border. Its equations are solved by
eliminating the blocks (Schur complement; Golub and Van Loan (2013), Matrix Computations, section
3.2.11), at a cost that grows with the number of blocks, and not with its cube.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

# numbers of rows, relative to all, above which a parameter may belong to the border
BORDER_SHARES = (0.7, 0.4, 0.2, 0.1, 0.05, 0.02)
# the cost of the equations by blocks, relative to that of dense ones, up to which they are used
WORTHWHILE_SHARE = 0.1
# padding of blocks to a common number of rows, relative to the rows, up to which they are one array
MAX_PADDING = 2.0


@dataclass(frozen=True, eq=False)
class Arrow:
    """The parameters and rows of a problem, by blocks.

    Attributes:
        parameters: the number of parameters; one that acts on no row is in no block.
        border: positions of the shared parameters, shape (border,).
        members: positions of the parameters of each block, shape (blocks, width); -1 for a place
            that a block does not use.
        order: the rows, one block after the other, shape (rows,).
        ends: the position in `order` behind the last row of each block, shape (blocks,).
        places: for each slot of each row, in `order`, its place among border and block: below the
            number of shared parameters for one of these; shape (slots, rows).
    """

    parameters: int
    border: Index
    members: Index
    order: Index
    ends: Index
    places: Index

    @property
    def used(self) -> Mask:
        """The places that a block uses, shape (blocks, width)."""
        return self.members >= 0

    @property
    def begins(self) -> Index:
        """The position in `order` of the first row of each block."""
        return np.concatenate([[0], self.ends[:-1]])

    @property
    def block_of_rows(self) -> Index:
        """The block of each row of the problem, shape (rows,)."""
        block = np.empty(len(self.order), dtype=np.int64)
        block[self.order] = np.repeat(np.arange(len(self.ends)), self.ends - self.begins)
        return block

    def compact(self, slopes: Array) -> Array:
        """Derivatives by slot, shape (starts, slots, rows), as derivatives by the shared parameters
        and by those of the row's block, shape (starts, border + width, rows in `order`).
        """
        starts, _, rows = slopes.shape
        compact = np.zeros((starts, len(self.border) + self.members.shape[1], rows))
        every = np.arange(rows)
        for slot, places in enumerate(self.places):
            ordered = slopes[:, slot, self.order]
            if places[0] == places[-1] and np.all(places == places[0]):
                compact[:, places[0]] += ordered
            else:
                compact[:, places, every] += ordered
        return compact

    def of_parameters(self, values: Array) -> tuple[Array, Array]:
        """Values by parameter, shape (starts, parameters), by place: shapes (starts, border) and
        (starts, blocks, width), with 0 at unused places.
        """
        in_blocks = np.where(self.used, values[:, np.maximum(self.members, 0)], 0.0)
        return values[:, self.border], in_blocks

    def to_parameters(self, shared: Array, in_blocks: Array) -> Array:
        """The inverse of `of_parameters`; 0 for a parameter that acts on no row."""
        values = np.zeros((len(shared), self.parameters))
        values[:, self.border] = shared
        values[:, self.members[self.used]] = in_blocks[:, self.used]
        return values

    def largest(self, compact: Array) -> Array:
        """The largest absolute derivative by each parameter, shape (starts, parameters).

        Args:
            compact: derivatives as `compact` returns them.
        """
        count, sizes = len(self.border), np.abs(compact)
        in_blocks = np.maximum.reduceat(sizes[:, count:], self.begins, axis=2).transpose(0, 2, 1)
        return self.to_parameters(sizes[:, :count].max(axis=2, initial=0.0), in_blocks)

    def products(self, left: Array, right: Array) -> Array:
        """The sums over the rows of each block of products of derivatives.

        Args:
            left, right: shape (starts, m, rows in `order`) and (starts, n, rows in `order`).

        Returns:
            Shape (starts, blocks, m, n).
        """
        sums = np.empty((len(left), len(self.ends), left.shape[1], right.shape[1]))
        lengths = self.ends - self.begins
        same = bool(np.all(lengths == lengths[0]))
        if same:
            shape = (len(self.ends), int(lengths[0]))
            first = left.reshape(*left.shape[:2], *shape).transpose(0, 2, 1, 3)
            second = right.reshape(*right.shape[:2], *shape).transpose(0, 2, 3, 1)
            return np.matmul(first, second, out=sums)
        for block, (begin, end) in enumerate(zip(self.begins, self.ends, strict=True)):
            second = right[:, :, begin:end].transpose(0, 2, 1)
            np.matmul(left[:, :, begin:end], second, out=sums[:, block])
        return sums


@dataclass(frozen=True, eq=False)
class ArrowMatrix:
    """Symmetric matrices with a border and a block for each label, one for each start.

    Attributes:
        arrow: the structure.
        border: shape (starts, border, border).
        cross: the rows of the border in the columns of each block, shape (starts, blocks, border,
            width).
        blocks: shape (starts, blocks, width, width); the identity at unused places.
    """

    arrow: Arrow
    border: Array
    cross: Array
    blocks: Array

    @property
    def diagonal(self) -> Array:
        """The diagonals, shape (starts, parameters)."""
        return self.arrow.to_parameters(
            np.einsum("sii->si", self.border), np.einsum("skii->ski", self.blocks)
        )

    def scaled(self, size: Array) -> ArrowMatrix:
        """Divide rows and columns by the sizes of the parameters, shape (starts, parameters)."""
        shared, in_blocks = self.arrow.of_parameters(size)
        in_blocks = np.where(self.arrow.used, in_blocks, 1.0)
        return ArrowMatrix(
            self.arrow,
            self.border / (shared[:, :, None] * shared[:, None]),
            self.cross / (shared[:, None, :, None] * in_blocks[:, :, None]),
            self.blocks / (in_blocks[..., None] * in_blocks[:, :, None]),
        )

    def plus(self, diagonal: Array) -> ArrowMatrix:
        """Add to the diagonals, shape (starts, parameters)."""
        shared, in_blocks = self.arrow.of_parameters(diagonal)
        border, blocks = self.border.copy(), self.blocks.copy()
        np.einsum("sii->si", border)[...] += shared
        np.einsum("skii->ski", blocks)[...] += in_blocks
        return ArrowMatrix(self.arrow, border, self.cross, blocks)

    def of(self, chosen: Mask) -> ArrowMatrix:
        """Select some of the starts by a mask of shape (starts,)."""
        return ArrowMatrix(self.arrow, self.border[chosen], self.cross[chosen], self.blocks[chosen])

    def solve(self, right: Array) -> Array:
        """Solve the equations for right sides of shape (starts, parameters).

        Raises:
            numpy.linalg.LinAlgError: a matrix is singular.
        """
        of_border, of_blocks = self.arrow.of_parameters(right)
        sides = np.concatenate([self.cross, of_blocks[:, :, None]], axis=2)
        solved = np.linalg.solve(self.blocks, sides.transpose(0, 1, 3, 2))
        across = np.einsum("skbm,skmn->sbn", self.cross, solved)
        count = self.border.shape[1]
        shared = np.zeros_like(of_border)
        if count:
            remaining = self.border - across[:, :, :count]
            remainder = (of_border - across[:, :, count])[:, :, None]
            shared = np.linalg.solve(remaining, remainder)[:, :, 0]
        in_blocks = solved[..., count] - np.einsum("skmb,sb->skm", solved[..., :count], shared)
        return self.arrow.to_parameters(shared, in_blocks)

    def inverse_diagonal(self) -> Array:
        """The diagonals of the inverses, shape (starts, parameters)."""
        inverse = np.linalg.inv(self.blocks)
        through = inverse @ self.cross.transpose(0, 1, 3, 2)
        remaining = self.border - np.einsum("skbm,skmc->sbc", self.cross, through)
        shared = np.linalg.inv(remaining) if remaining.shape[1] else remaining
        in_blocks = np.einsum("skii->ski", inverse)
        in_blocks = in_blocks + np.einsum("skmb,sbc,skmc->skm", through, shared, through)
        return self.arrow.to_parameters(np.einsum("sii->si", shared), in_blocks)


def normal_matrix(arrow: Arrow, compact: Array, weights: Array) -> ArrowMatrix:
    """The matrices JᵀWJ.

    Args:
        arrow: the structure.
        compact: J, as `Arrow.compact` returns it.
        weights: the weights of the rows in `order`, shape (starts, rows).
    """
    count = len(arrow.border)
    weighted = compact * weights[:, None]
    shared, in_blocks = weighted[:, :count], compact[:, count:]
    border = shared @ compact[:, :count].transpose(0, 2, 1)
    cross = arrow.products(shared, in_blocks)
    blocks = arrow.products(weighted[:, count:], in_blocks)
    np.einsum("skii->ski", blocks)[...] += ~arrow.used
    return ArrowMatrix(arrow, border, cross, blocks)


def gradient_of(arrow: Arrow, compact: Array, slopes: Array) -> Array:
    """Jᵀ·slopes, shape (starts, parameters).

    Args:
        arrow: the structure.
        compact: J, as `Arrow.compact` returns it.
        slopes: shape (starts, rows in `order`).
    """
    count = len(arrow.border)
    shared = (compact[:, :count] @ slopes[:, :, None])[:, :, 0]
    in_blocks = arrow.products(compact[:, count:], slopes[:, None])[..., 0]
    return arrow.to_parameters(shared, in_blocks)


def arrow_of(index: Index, parameters: int) -> Arrow | None:
    """Find the blocks of a problem.

    Args:
        index: the position of the parameter of each slot, shape (slots, rows).
        parameters: the number of parameters.

    Returns:
        The blocks with the cheapest equations; None if they are hardly cheaper than dense ones.
    """
    rows = index.shape[1]
    if not index.size:
        return None
    # a slot may repeat a parameter of the row: it acts on this row once
    ordered = np.sort(index, axis=0)
    first = np.vstack([np.ones((1, rows), dtype=bool), np.diff(ordered, axis=0) > 0])
    counts = np.bincount(ordered[first], minlength=parameters)
    best: tuple[float, Mask, Index] | None = None
    for is_border in _borders(counts, rows):
        blocks = _blocks(index, is_border, parameters)
        inner = (counts > 0) & ~is_border
        sizes = np.bincount(blocks[inner])
        width, border = float(sizes.max(initial=0)), float(is_border.sum())
        cost = border**3 + len(sizes[sizes > 0]) * (width + border) * width**2
        if best is None or cost < best[0]:
            best = cost, is_border, blocks
    if best is None or best[0] > WORTHWHILE_SHARE * float((counts > 0).sum()) ** 3:
        return None
    return _arranged(index, counts > 0, best[1], best[2])


def _borders(counts: Index, rows: int) -> Iterator[Mask]:
    """Sets of parameters that may be shared: those that act on many rows."""
    earlier = -1
    for share in BORDER_SHARES:
        is_border = counts > share * rows
        if is_border.sum() != earlier:
            earlier = int(is_border.sum())
            yield is_border


def _blocks(index: Index, is_border: Mask, parameters: int) -> Index:
    """The block of each parameter: those that act on one row belong to one block."""
    # a node for each row keeps the graph small: each row connects its parameters
    from scipy.sparse import coo_array  # predictions do not need it
    from scipy.sparse.csgraph import connected_components

    rows = index.shape[1]
    inner = ~is_border[index]
    slot_rows = np.broadcast_to(np.arange(rows), index.shape)[inner]
    pairs = (index[inner], parameters + slot_rows)
    shape = (parameters + rows, parameters + rows)
    graph = coo_array((np.ones(len(slot_rows)), pairs), shape=shape)
    labels = connected_components(graph, directed=False)[1][:parameters]
    return labels.astype(np.int64)


def _arranged(index: Index, acts: Mask, is_border: Mask, blocks: Index) -> Arrow:
    """The arrow of a border and blocks."""
    border = np.flatnonzero(is_border)
    inner = np.flatnonzero(acts & ~is_border)
    labels, block = np.unique(blocks[inner], return_inverse=True)
    by_block = np.argsort(block, kind="stable")
    begins = np.searchsorted(block[by_block], np.arange(len(labels)))
    place = np.empty(len(inner), dtype=np.int64)
    place[by_block] = np.arange(len(inner)) - begins[block[by_block]]
    members = np.full((len(labels), int(place.max(initial=-1)) + 1), -1, dtype=np.int64)
    members[block, place] = inner
    places = np.zeros(len(acts), dtype=np.int64)
    places[border] = np.arange(len(border))
    places[inner] = len(border) + place
    block_of = np.full(len(acts), -1, dtype=np.int64)
    block_of[inner] = block
    # a row without parameters of a block counts to the first
    row_block = np.maximum(block_of[index].max(axis=0), 0)
    order = np.argsort(row_block, kind="stable")
    ends = np.searchsorted(row_block[order], np.arange(len(labels)), side="right")
    return Arrow(len(acts), border, members, order, ends, places[index][:, order])
