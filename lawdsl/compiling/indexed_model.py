"""Law with index sets + columns -> ArrayModel: values and derivatives at many parameter vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.indexed import IndexedProgram
from lawdsl.compiling.indexed_leaves import OUTER_AXES, Leaf, Source
from lawdsl.compiling.model import EVERY_ROW, combined
from lawdsl.compiling.row_slopes import Slots, row_slopes, slots_of
from lawdsl.language.instances.instance import IndexValue
from lawdsl.language.label_texts import split_element

Array = NDArray[np.float64]
MAX_COPIES = 2  # of what is computed of all rows that a model keeps
Positions = dict[Leaf, NDArray[np.int64]]
Arrays = dict[Leaf, Array]


class ArrayModel:
    """A law with index sets on a table; the counterpart of `Model` for laws without them.

    It has no second derivatives, so fits use Gauss-Newton steps.

    Args:
        law: compiled to steps on arrays.
        columns: its variables, shape (variables, rows).
        linear: positions of the parameters in which it is jointly linear.
    """

    curved = False

    def __init__(self, law: IndexedProgram, columns: Array, linear: tuple[int, ...]) -> None:
        self.law, self.columns, self.linear = law, columns, list(linear)
        self.count = len(law.leaves.parameters)
        self.has_offset = True
        self._known: dict[tuple[int | None, int | None], tuple[Positions, Arrays]] = {}

    @property
    def piecewise(self) -> bool:
        """Whether conditions decide which part of it holds."""
        return self.law.guarded

    def on(self, columns: Array) -> ArrayModel:
        """Return the model of this law on other rows, shape (variables, rows)."""
        return ArrayModel(self.law, columns, tuple(self.linear))

    def at(self, theta: Array, order: int = 0, piece: slice = EVERY_ROW) -> ArrayValues:
        """Fix the nonlinear parameters; the law is evaluated when the linear ones are given.

        Floating-point errors are not suppressed here: the caller does that.

        Args:
            theta: shape (starts, parameters).
            order: the order of derivatives; at most 1.
            piece: the rows.
        """
        return ArrayValues(self, theta, piece)

    def value(self, theta: Array, piece: slice = EVERY_ROW) -> Array:
        """The law at parameters.

        Args:
            theta: shape (starts, parameters).
            piece: the rows.

        Returns:
            Shape (starts, rows).
        """
        with np.errstate(all="ignore"):
            return _value(self.law, self.source(theta, piece))

    def slopes(self, theta: Array, piece: slice = EVERY_ROW) -> tuple[Array, Array]:
        """The law, shape (starts, rows), and its derivatives by parameters, (starts, p, rows).

        Args:
            theta: shape (starts, parameters).
            piece: the rows.
        """
        with np.errstate(all="ignore"):
            return _with_slopes(self.law, self.source(theta, piece))

    @cached_property
    def linear_names(self) -> frozenset[str]:
        """The names, without subscripts, of the parameters that depend on the linear ones."""
        matrix, _ = self.law.leaves.affine_map
        depending = set(matrix[:, self.linear].nonzero()[0].tolist())
        numbers = self.law.leaves.numbers
        return frozenset(split_element(n)[0] for n, k in numbers.items() if k in depending)

    @cached_property
    def slots(self) -> Slots:
        """Which parameters each row depends on."""
        return slots_of(self.law, self.columns)

    def row_slopes(self, theta: Array, piece: slice = EVERY_ROW) -> tuple[Array, Array]:
        """The law, shape (starts, rows), and its derivatives by the parameters of each row, shape
        (starts, slots, rows): `slots` tells which these are.

        Args:
            theta: shape (starts, parameters).
            piece: the rows.
        """
        with np.errstate(all="ignore"):
            return row_slopes(self.law, self.slots, self.source(theta, piece), piece)

    def source(self, theta: Array, piece: slice) -> Source:
        """The leaves of the law; what does not depend on parameters is computed once."""
        matrix, added = self.law.leaves.affine_map
        everything = np.asarray((matrix @ theta.T).T) + added
        positions, arrays = self._known_of(piece)
        return Source(self.law.leaves, self.columns[:, piece], everything, positions, arrays)

    def _known_of(self, piece: slice) -> tuple[Positions, Arrays]:
        """What was computed of a piece of the rows; pieces that were used longest ago are
        forgotten, since each way to cut the table needs a copy of all rows."""
        key = piece.start, piece.stop
        known = self._known.pop(key, ({}, {}))
        self._known[key] = known  # the last of them
        rows = self.columns.shape[1]
        kept = sum(len(range(*slice(*each).indices(rows))) for each in self._known)
        while kept > MAX_COPIES * rows and len(self._known) > 1:
            oldest = next(iter(self._known))
            kept -= len(range(*slice(*oldest).indices(rows)))
            del self._known[oldest]
        return known


class ArrayValues:
    """A law with index sets at given values of its nonlinear parameters."""

    def __init__(self, model: ArrayModel, theta: Array, piece: slice) -> None:
        self.model, self.theta, self.piece = model, theta, piece
        self._at_zero: tuple[Array, Array] | None = None

    def _values_at_zero(self) -> tuple[Array, Array]:
        """The law and its derivatives by the linear parameters, with these at 0; computed once."""
        if self._at_zero is None:
            model = self.model
            nonlinear = self.theta.copy()
            nonlinear[:, model.linear] = 0.0
            source = model.source(nonlinear, self.piece)
            self._at_zero = _with_slopes(model.law, source, model.linear, model.linear_names)
        return self._at_zero

    def offset(self) -> Array:
        """The law with the linear parameters at 0, shape (starts, rows)."""
        return self._values_at_zero()[0]

    def linear_columns(self) -> Array:
        """The factors of the linear parameters, shape (starts, linear parameters, rows)."""
        return self._values_at_zero()[1]

    def value(self, theta: Array) -> Array:
        """The law, shape (starts, rows), at parameters, shape (starts, p), with the same nonlinear
        ones: they are those of `at`."""
        if not self.model.linear:
            return self.offset()
        return combined(theta[:, self.model.linear], self.linear_columns(), self.offset())

    def slopes(self, theta: Array) -> Array:
        """Derivatives by all parameters, shape (starts, p, rows); `theta` has shape (starts, p)."""
        return _with_slopes(self.model.law, self.model.source(theta, self.piece))[1]


def _value(law: IndexedProgram, source: Source) -> Array:
    value = law.values(source)[law.output]
    shape = (len(source.everything), source.columns.shape[1])
    return np.broadcast_to(_flat(value), shape).copy()


def _with_slopes(
    law: IndexedProgram,
    source: Source,
    chosen: Sequence[int] | None = None,
    names: frozenset[str] | None = None,
) -> tuple[Array, Array]:
    """The law, shape (starts, rows), and its derivatives, shape (starts, chosen, rows).

    Args:
        law: the law, compiled to steps on arrays.
        source: its leaves at the parameters.
        chosen: the positions of the free parameters by which it is differentiated; by default all.
        names: the names, without subscripts, of the parameters on which these have an influence.
    """
    results = law.values(source)
    starts, rows = len(source.everything), source.columns.shape[1]
    matrix, _ = law.leaves.affine_map
    slopes = np.zeros((len(law.leaves.numbers), starts, rows))

    def add_slope(name: str, labels: tuple[IndexValue | int, ...], adjoint: Array) -> None:
        """Add the derivative by one leaf to the slopes of its elements."""
        positions = source.numbers(name, labels)
        if positions.shape[0] > 1:  # each row has the element of its label
            for number in np.unique(positions):
                has_element = positions == number
                part = np.where(
                    has_element[None], np.broadcast_to(adjoint, (starts, *has_element.shape)), 0.0
                )
                slopes[number] += part.reshape(starts, rows, -1).sum(-1)
            return
        adjoints = np.broadcast_to(adjoint, (starts, rows, *positions.shape[1:])).reshape(
            starts, rows, -1
        )
        slopes[positions.ravel()] += np.moveaxis(adjoints, -1, 0)  # each element once

    law.slopes(results, add_slope, names)
    value = results[law.output]
    flat = np.broadcast_to(_flat(value), (starts, rows)).copy()
    free = (matrix if chosen is None else matrix[:, chosen]).T @ slopes.reshape(len(slopes), -1)
    gradients = np.asarray(free).reshape(-1, starts, rows)
    return flat, np.ascontiguousarray(np.swapaxes(gradients, 0, 1))


def _flat(value: Array) -> Array:
    """A value without the axes of indices, along which the output has length 1."""
    return value.reshape(value.shape[:OUTER_AXES])
