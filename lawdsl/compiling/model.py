"""Compiled law + columns -> Model: its values, gradients and Hessians at many parameter vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.distinct_rows import EVERY_ROW, DistinctRowTable, Index, Support
from lawdsl.compiling.instructions import NO_FACTOR, Parts, Sum
from lawdsl.compiling.tape_on_table import Program
from lawdsl.core.functions import CHOICE

Array = NDArray[np.float64]

MAX_ROWS_AT_ONCE = 20_000  # rows up to which several sums share one index

__all__ = ["EVERY_ROW", "Model", "Values"]


class Model:
    """A law on a table, at many parameter vectors at once.

    Args:
        parts: the compiled law.
        columns: its variables, shape (variables, rows).
    """

    def __init__(self, parts: Parts, columns: Array) -> None:
        self.parts = parts
        self.table = DistinctRowTable(columns)
        self.count = len(parts.gradient)
        self.linear = list(parts.linear)
        self._programs: dict[int, Program] = {}
        self._expanded_sums: dict[tuple[int, str], _ExpandedSums] = {}
        self._hessian_sums: _HessianSums | None = None

    @property
    def columns(self) -> Array:
        """The variables, shape (variables, rows)."""
        return self.table.columns

    @property
    def piecewise(self) -> bool:
        """Whether conditions decide which part of it holds."""
        return any(step.op == CHOICE for step in self.parts.tapes[0].instructions)

    @property
    def curved(self) -> bool:
        """Whether it has second derivatives."""
        return self.parts.hessian is not None

    def on(self, columns: Array) -> Model:
        """Return the model of this law on other rows, shape (variables, rows)."""
        return Model(self.parts, columns)

    def at(self, theta: Array, order: int = 0, piece: slice = EVERY_ROW) -> Values:
        """Evaluate the parts of the law that depend on the nonlinear parameters only.

        Floating-point errors are not suppressed here: the caller does that.

        Args:
            theta: shape (starts, parameters).
            order: the highest order of derivatives, 0, 1 or 2.
            piece: the rows.
        """
        return Values(self, order, self.program(order).run(theta, piece), len(theta), piece)

    def value(self, theta: Array, piece: slice = EVERY_ROW) -> Array:
        """The law at parameters.

        Args:
            theta: shape (starts, parameters).
            piece: the rows.

        Returns:
            Shape (starts, rows).
        """
        with np.errstate(all="ignore"):
            return self.at(theta, 0, piece).value(theta)

    def slopes(self, theta: Array, piece: slice = EVERY_ROW) -> tuple[Array, Array]:
        """The law, shape (starts, rows), and its derivatives by parameters, (starts, p, rows).

        Args:
            theta: shape (starts, parameters).
            piece: the rows.
        """
        with np.errstate(all="ignore"):
            values = self.at(theta, 1, piece)
            return values.value(theta), values.slopes(theta)

    def curvature(
        self, theta: Array, piece: slice = EVERY_ROW
    ) -> tuple[Array, Array, Callable[[Array], Array]]:
        """The law with its first and second derivatives.

        Args:
            theta: shape (starts, parameters).
            piece: the rows.

        Returns:
            Values, shape (starts, rows); derivatives, shape (starts, p, rows); and a function from
            factors c, shape (starts, rows), to Σ c_i·∇²f(x_i) over the rows, shape (starts, p, p).
        """
        with np.errstate(all="ignore"):
            values = self.at(theta, 2, piece)

            # called after the outer context has ended
            def contracted(factors: Array) -> Array:
                with np.errstate(all="ignore"):
                    return values.contracted(theta, factors)

            return values.value(theta), values.slopes(theta), contracted

    @property
    def has_offset(self) -> bool:
        """Whether the law has terms without a linear parameter."""
        return bool(self.parts.offset) or not self.linear

    def program(self, order: int) -> Program:
        """The tape for derivatives up to an order, prepared for the table."""
        if order not in self._programs:
            tape = self.parts.tapes[order]
            self._programs[order] = Program(tape, self.parts.variables, self.table)
        return self._programs[order]

    def expanded_sums(self, order: int, what: str) -> _ExpandedSums:
        """The sums that turn the outputs of an order into the offset, the columns, or all slopes.

        Args:
            order: the order of the derivatives.
            what: offset, columns or slopes.
        """
        if (order, what) not in self._expanded_sums:
            parts = self.parts
            sums = {"offset": (parts.offset,), "columns": parts.columns, "slopes": parts.gradient}
            self._expanded_sums[order, what] = _ExpandedSums(self.program(order), sums[what])
        return self._expanded_sums[order, what]

    @property
    def hessian_sums(self) -> _HessianSums:
        """The sums that turn the outputs of the second order into a Hessian."""
        if self._hessian_sums is None:
            assert self.parts.hessian is not None
            self._hessian_sums = _HessianSums(self.program(2), self.parts.hessian, self.count)
        return self._hessian_sums


class Values:
    """A law at given values of its nonlinear parameters.

    Args:
        model: the law on its table.
        order: the highest order of derivatives computed.
        results: the outputs of its program.
        starts: the number of parameter vectors.
        piece: the rows.
    """

    def __init__(
        self, model: Model, order: int, results: Sequence[Array], starts: int, piece: slice
    ) -> None:
        self.model, self.order, self.results = model, order, results
        self.starts, self.piece = starts, piece

    def offset(self) -> Array | None:
        """The law with the linear parameters at 0, shape (starts, rows); None where that is 0 and
        there are linear parameters."""
        return self._expanded("offset")[:, 0] if self.model.has_offset else None

    def linear_columns(self) -> Array:
        """The factors of the linear parameters, shape (starts, linear parameters, rows)."""
        return self._expanded("columns")

    def value(self, theta: Array) -> Array:
        """The law, shape (starts, rows), at parameters, shape (starts, p), with the same nonlinear
        ones: they are those of `at`."""
        offset = self.offset()
        if not self.model.linear:
            assert offset is not None
            return offset
        return combined(theta[:, self.model.linear], self.linear_columns(), offset)

    def slopes(self, theta: Array) -> Array:
        """Derivatives by all parameters, shape (starts, p, rows); `theta` has shape (starts, p)."""
        return self._expanded("slopes", theta)

    def contracted(self, theta: Array, factors: Array) -> Array:
        """The sum Σ c_i·∇²f(x_i) of Hessians over the rows, shape (starts, p, p).

        Args:
            theta: parameters, shape (starts, parameters).
            factors: c, shape (starts, rows).
        """
        return self.model.hessian_sums.contracted(self.results, theta, factors, self.piece)

    def _expanded(self, what: str, theta: Array | None = None) -> Array:
        sums = self.model.expanded_sums(self.order, what)
        return sums.summed(self.results, self.starts, theta, self.piece)


def combined(factors: Array, columns: Array, offset: Array | None) -> Array:
    """Offset + Σ factor·column: shape (starts, rows).

    Args:
        factors: shape (starts, linear parameters).
        columns: shape (starts, linear parameters, rows).
        offset: shape (starts, rows), or None for 0.
    """
    value: Array = (factors[:, None] @ columns)[:, 0]
    if offset is not None:
        value += offset
    return value


class _ExpandedSums:
    """Sums of outputs at the distinct values of their variables, expanded to every row."""

    def __init__(self, program: Program, sums: Sequence[Sum]) -> None:
        self.table, self.count = program.table, len(sums)
        self.groups = [_by_support(program, terms) for terms in sums]
        every = [support for groups in self.groups for support in groups]
        self.at_once = None not in every and self.table.rows <= MAX_ROWS_AT_ONCE
        if not self.at_once:
            return
        self.fill: list[tuple[int, int, Sum]] = []
        self.more: list[tuple[int, Index]] = []
        first: list[Index] = []
        one = np.zeros(self.table.rows, dtype=np.int64)
        width = 1  # the first entry is the 0 of empty sums
        for number, groups in enumerate(self.groups):
            indices = [one] if not groups else []
            for support, terms in groups.items():
                size, index = self.table.size(support), self.table.index(support)
                self.fill.append((width, width + size, terms))
                indices.append(width + (one if index is None else index))
                width += size
            first.append(indices[0])
            self.more += [(number, index) for index in indices[1:]]
        self.width = width
        self.first = np.array(first, dtype=np.int64).reshape(self.count, self.table.rows)

    def summed(
        self, results: Sequence[Array], starts: int, theta: Array | None, piece: slice
    ) -> Array:
        """The sums: shape (starts, sums, rows)."""
        if not self.at_once:
            return self._one_by_one(results, starts, theta, piece)
        flat = np.empty((starts, self.width))
        flat[:, 0] = 0.0
        for begin, end, terms in self.fill:
            _write(flat[:, begin:end], results, terms, theta)
        if piece == EVERY_ROW:
            into = flat.take(self.first, 1)
            for number, index in self.more:
                into[:, number] += flat.take(index, 1)
            return into
        into = flat.take(self.first[:, piece], 1)
        for number, index in self.more:
            into[:, number] += flat.take(index[piece], 1)
        return into

    def _one_by_one(
        self, results: Sequence[Array], starts: int, theta: Array | None, piece: slice
    ) -> Array:
        into = np.empty((starts, self.count, self.table.rows_in(piece)))
        for number, groups in enumerate(self.groups):
            if not groups:
                into[:, number] = 0.0
            for position, (support, terms) in enumerate(groups.items()):
                index = self.table.index(support)
                if index is None and not position:
                    _write(into[:, number], results, terms, theta)
                    continue
                part = np.empty(
                    (starts, into.shape[2] if support is None else self.table.size(support))
                )
                _write(part, results, terms, theta)
                part = part if index is None else part.take(index[piece], 1)
                if position:
                    into[:, number] += part
                else:
                    into[:, number] = part
        return into


def _by_support(program: Program, terms: Sum) -> dict[Support, Sum]:
    groups: dict[Support, Sum] = {}
    for factor, o in terms:
        support = program.supports[o]
        groups[support] = (*groups.get(support, ()), (factor, o))
    return groups


def _write(into: Array, results: Sequence[Array], terms: Sum, theta: Array | None) -> None:
    """Write Σ parameter·output."""
    for number, (factor, o) in enumerate(terms):
        part = results[o]
        if factor != NO_FACTOR:
            assert theta is not None
            part = part * theta[:, factor, None]
        if number:
            into += part
        else:
            into[...] = part


class _HessianSums:
    """The Hessian as sums of outputs, summed over the rows."""

    def __init__(
        self, program: Program, hessian: Sequence[tuple[int, int, Sum]], count: int
    ) -> None:
        self.table, self.count = program.table, count
        outputs: dict[Support, list[int]] = {}
        for _, _, terms in hessian:
            for _, o in terms:
                members = outputs.setdefault(program.supports[o], [])
                if o not in members:
                    members.append(o)
        self.groups = list(outputs.items())
        position_of = {
            o: i for i, o in enumerate(o for members in outputs.values() for o in members)
        }
        self.width = len(position_of)
        layers: list[dict[tuple[int, int], tuple[int, int]]] = []
        for k, other, terms in hessian:
            for layer, (factor, o) in enumerate(terms):
                if layer == len(layers):
                    layers.append({})
                # a layer has each entry once, so that `+=` with these indices adds all of it
                for entry in {(k, other), (other, k)}:
                    layers[layer][entry] = factor, position_of[o]
        self.layers = []
        for entries in layers:
            rows, columns = zip(*entries, strict=True)
            factors, positions = zip(*entries.values(), strict=True)
            free = np.array([f for f in factors if f != NO_FACTOR])
            scaled = np.array([i for i, f in enumerate(factors) if f != NO_FACTOR])
            self.layers.append(
                (np.array(rows), np.array(columns), np.array(positions), scaled, free)
            )

    def contracted(
        self, results: Sequence[Array], theta: Array, factors: Array, piece: slice
    ) -> Array:
        starts = len(theta)
        sums = np.empty((starts, self.width))
        start = 0
        for support, outputs in self.groups:
            gathered = self.table.gather(factors, support, piece)
            if support is None:
                for o in outputs:
                    sums[:, start] = np.einsum(
                        "sn,sn->s", np.broadcast_to(results[o], factors.shape), factors
                    )
                    start += 1
                continue
            stacked = np.empty((starts, len(outputs), gathered.shape[1]))
            for number, o in enumerate(outputs):
                stacked[:, number] = results[o]
            sums[:, start : start + len(outputs)] = (stacked @ gathered[:, :, None])[:, :, 0]
            start += len(outputs)
        total = np.zeros((starts, self.count, self.count))
        for rows, columns, positions, scaled, free in self.layers:
            part = sums.take(positions, 1)
            if len(free):
                part[:, scaled] *= theta.take(free, 1)
            total[:, rows, columns] += part
        return total
