"""Problem + parameters in which the model is nonlinear -> the model, evaluated once for its linear
parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.model import EVERY_ROW, Model, Values, combined

if TYPE_CHECKING:
    from lawdsl.compiling.indexed_model import ArrayModel, ArrayValues

Array = NDArray[np.float64]


class ModelOfRows(Protocol):
    """What an evaluation reads of a `Problem`: the model on the rows, taken in pieces."""

    @property
    def model(self) -> Model | ArrayModel: ...

    @property
    def rows(self) -> int: ...

    @property
    def parameters(self) -> int: ...

    def pieces(self, starts: int) -> Iterator[slice]: ...


class Evaluation:
    """The model at given values of the parameters in which it is nonlinear.

    Args:
        problem: the objective to be minimised, with its data.
        theta: parameters, shape (starts, parameters); the values of the linear ones are not used.
        order: the highest order of derivatives needed.
    """

    def __init__(self, problem: ModelOfRows, theta: Array, order: int) -> None:
        self.problem, self.theta, self.order = problem, theta, order
        # a Jacobian has a number for each start, row and parameter
        self.slices = list(problem.pieces(len(theta) * problem.parameters))
        self.all_values: Values | ArrayValues | None = None
        if len(self.slices) == 1:
            self.all_values = problem.model.at(theta, order)
        self._columns: Array | None = None
        self._offset: Array | None = None
        self._is_evaluated = False

    def pieces(self) -> Iterator[tuple[slice, Values | ArrayValues]]:
        """Iterate over the rows in pieces that fit into memory."""
        if self.all_values is not None:
            yield EVERY_ROW, self.all_values
            return
        for piece in self.slices:
            yield piece, self.problem.model.at(self.theta, self.order, piece)

    @property
    def columns(self) -> Array:
        """The functions that the linear parameters multiply, shape (starts, linear, rows)."""
        self._evaluate()
        assert self._columns is not None
        return self._columns

    @property
    def offset(self) -> Array | None:
        """The model with the linear parameters at 0, shape (starts, rows); None if that is 0."""
        self._evaluate()
        return self._offset

    def value(self, theta: Array) -> Array:
        """The model for values of the linear parameters, shape (starts, rows)."""
        linear = self.problem.model.linear
        if not linear:
            assert self.offset is not None
            return self.offset
        return combined(theta.take(linear, 1), self.columns, self.offset)

    def _evaluate(self) -> None:
        if self._is_evaluated:
            return
        self._is_evaluated = True
        model = self.problem.model
        if self.all_values is not None:
            self._columns, self._offset = self.all_values.linear_columns(), self.all_values.offset()
            return
        starts, rows = len(self.theta), self.problem.rows
        self._columns = np.empty((starts, len(model.linear), rows))
        self._offset = np.empty((starts, rows)) if model.has_offset else None
        for piece in self.slices:
            values = model.at(self.theta, 0, piece)
            self._columns[:, :, piece] = values.linear_columns()
            part = values.offset()
            if self._offset is not None and part is not None:
                self._offset[:, piece] = part
