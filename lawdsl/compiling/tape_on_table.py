"""Tape + table -> Program: every instruction runs on the distinct values of the variables in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import SLOPES, VALUES
from lawdsl.compiling.distinct_rows import EVERY_ROW, DistinctRowTable, Index, Support
from lawdsl.compiling.instructions import Instruction, Tape
from lawdsl.core.functions import CHOICE

Array = NDArray[np.float64]

PAIRS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "multiply": np.multiply,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
    "choice, first": lambda g, a: np.where(np.isnan(g), np.nan, np.where(g > 0, a, 0.0)),
    "choice, second": lambda g, b: np.where(g > 0, 0.0, b),
}


@dataclass(frozen=True)
class TapeStep:
    """One result, with one value for each distinct value of its support.

    Attributes:
        apply: the operation on one or two earlier results; None for an input or a constant.
        arguments: these results, each with the index that expands it to this support.
        value: the number of a parameter, or a column or constant.
        support: the variables it depends on.
    """

    apply: Callable[..., Array] | None
    arguments: tuple[tuple[int, Index | None], ...]
    value: int | Array
    support: Support


class Program:
    """A tape prepared for one table."""

    def __init__(self, tape: Tape, variables: int, table: DistinctRowTable) -> None:
        self.table = table
        self.steps: list[TapeStep] = []
        positions: list[int] = []
        for instruction in tape.instructions:
            positions.append(self._step(instruction, positions, variables))
        self.outputs = [positions[i] for i in tape.outputs]
        self.supports = [self.steps[k].support for k in self.outputs]
        self._fold_constants()

    def _fold_constants(self) -> None:
        """Compute the results that depend on no parameter, except whole columns."""
        ready: list[Array | None] = [None] * len(self.steps)
        self.inputs: list[tuple[int, int]] = []
        self.columns: list[tuple[int, Array]] = []
        self.work: list[tuple[int, Callable[..., Array], int, Index | None, int, Index | None]] = []
        for position, step in enumerate(self.steps):
            if step.apply is None:
                if isinstance(step.value, int):
                    self.inputs.append((position, step.value))
                elif step.support is None:
                    self.columns.append((position, step.value))
                else:
                    ready[position] = step.value
                continue
            operands = [ready[k] for k, _ in step.arguments]
            if step.support is not None and all(x is not None for x in operands):
                pairs = zip(operands, step.arguments, strict=True)
                values = [_expanded(x, index) for x, (_, index) in pairs if x is not None]
                with np.errstate(all="ignore"):
                    ready[position] = step.apply(*values)
                continue
            (first, index), *rest = step.arguments
            other, other_index = rest[0] if rest else (-1, None)
            self.work.append((position, step.apply, first, index, other, other_index))
        self.ready = ready

    def _step(self, instruction: Instruction, positions: list[int], variables: int) -> int:
        value = instruction.value
        if instruction.op == "constant":
            number = np.asarray(float(value))  # type: ignore[arg-type]
            return self._add(TapeStep(None, (), number, frozenset()))
        if instruction.op != "input":
            return self._operation(instruction.op, [positions[k] for k in instruction.arguments])
        assert isinstance(value, int)
        if value >= variables:
            return self._add(TapeStep(None, (), value - variables, frozenset()))
        columns, index = self.table.distinct(frozenset({value}))
        support = None if index is None else frozenset({value})
        return self._add(TapeStep(None, (), columns[value], support))

    def _add(self, step: TapeStep) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _operation(self, op: str, arguments: list[int]) -> int:
        """One result of several arguments, combined two at a time: first those with equal supports,
        then the results, those with few distinct values first."""
        if len(arguments) <= 2:
            return self._applied(op, arguments)
        if op == CHOICE:  # two at a time: either part, 0 where it is not taken
            g, a, b = arguments
            parts = [
                self._applied("choice, first", [g, a]),
                self._applied("choice, second", [g, b]),
            ]
            return self._applied("add", parts)
        # arguments with one support are combined at its few distinct values, not at every row
        groups: dict[Support, list[int]] = {}
        for k in arguments:
            groups.setdefault(self.steps[k].support, []).append(k)
        partials = [self._chained(op, members) for members in groups.values()]
        partials.sort(key=lambda k: self.table.size(self.steps[k].support))
        return self._chained(op, partials)

    def _chained(self, op: str, arguments: list[int]) -> int:
        result = arguments[0]
        for k in arguments[1:]:
            result = self._applied(op, [result, k])
        return result

    def _applied(self, op: str, arguments: list[int]) -> int:
        supports = [self.steps[k].support for k in arguments]
        support: Support = None
        if None not in supports:
            support = frozenset().union(*(s for s in supports if s))
            # too many distinct combinations: one value for each row is cheaper than a table
            support = support if self.table.distinct(support)[1] is not None else None
        indexed = tuple((k, self._index(self.steps[k].support, support)) for k in arguments)
        apply = PAIRS[op] if len(arguments) == 2 else (VALUES.get(op) or SLOPES[op])
        return self._add(TapeStep(apply, indexed, 0, support))

    def _index(self, support: Support, larger: Support) -> Index | None:
        return None if support == larger or not support else self.table.between(support, larger)

    def run(self, theta: Array, piece: slice) -> list[Array]:
        """Compute the outputs, each a number or of shape (starts or 1, values of its support or 1).

        Args:
            theta: parameters, shape (starts, parameters).
            piece: the rows.
        """
        results: list[Array] = self.ready.copy()  # type: ignore[assignment]
        for position, number in self.inputs:
            results[position] = theta[:, number, None]
        for position, column in self.columns:
            results[position] = column[piece]
        for position, apply, first, index, other, other_index in self.work:
            x = results[first]
            if index is not None:
                x = self._gathered(x, index, position, piece)
            if other < 0:
                results[position] = apply(x)
                continue
            y = results[other]
            if other_index is not None:
                y = self._gathered(y, other_index, position, piece)
            results[position] = apply(x, y)
        return [results[k] for k in self.outputs]

    def _gathered(self, values: Array, index: Index, position: int, piece: slice) -> Array:
        if piece != EVERY_ROW and self.steps[position].support is None:
            index = index[piece]
        return values.take(index, -1)


def _expanded(values: Array, index: Index | None) -> Array:
    return values if index is None else values.take(index, -1)
