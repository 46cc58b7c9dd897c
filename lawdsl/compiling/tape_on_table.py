"""Tape + table -> Program: every instruction runs on the distinct values of the variables in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import SLOPES, VALUES
from lawdsl.compiling.distinct_rows import EVERY_ROW, Index, Support, Table
from lawdsl.compiling.tape import Instruction, Tape

Array = NDArray[np.float64]

PAIRS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "multiply": np.multiply,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
}


@dataclass(frozen=True)
class Step:
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

    def __init__(self, tape: Tape, variables: int, table: Table) -> None:
        self.table = table
        self.steps: list[Step] = []
        at: list[int] = []
        for instruction in tape.instructions:
            at.append(self._step(instruction, at, variables))
        self.outputs = [at[i] for i in tape.outputs]
        self.supports = [self.steps[k].support for k in self.outputs]
        self._make_ready()

    def _make_ready(self) -> None:
        """Compute the results that depend on no parameter, except whole columns."""
        known: list[Array | None] = [None] * len(self.steps)
        self.inputs: list[tuple[int, int]] = []
        self.columns: list[tuple[int, Array]] = []
        self.work: list[tuple[int, Callable[..., Array], int, Index | None, int, Index | None]] = []
        for at, step in enumerate(self.steps):
            if step.apply is None:
                if isinstance(step.value, int):
                    self.inputs.append((at, step.value))
                elif step.support is None:
                    self.columns.append((at, step.value))
                else:
                    known[at] = step.value
                continue
            own = [known[k] for k, _ in step.arguments]
            if step.support is not None and all(x is not None for x in own):
                spread = zip(own, step.arguments, strict=True)
                values = [_spread(x, index) for x, (_, index) in spread if x is not None]
                with np.errstate(all="ignore"):
                    known[at] = step.apply(*values)
                continue
            (first, index), *rest = step.arguments
            other, other_index = rest[0] if rest else (-1, None)
            self.work.append((at, step.apply, first, index, other, other_index))
        self.known = known

    def _step(self, instruction: Instruction, at: list[int], variables: int) -> int:
        value = instruction.value
        if instruction.op == "constant":
            return self._add(Step(None, (), np.asarray(float(value)), frozenset()))  # type: ignore[arg-type]
        if instruction.op != "input":
            return self._operation(instruction.op, [at[k] for k in instruction.arguments])
        assert isinstance(value, int)
        if value >= variables:
            return self._add(Step(None, (), value - variables, frozenset()))
        columns, index = self.table.distinct(frozenset({value}))
        support = None if index is None else frozenset({value})
        return self._add(Step(None, (), columns[value], support))

    def _add(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _operation(self, op: str, arguments: list[int]) -> int:
        """One result of several arguments, two at a time: those with one support first, small ones
        first."""
        if len(arguments) <= 2:
            return self._applied(op, arguments)
        groups: dict[Support, list[int]] = {}
        for k in arguments:
            groups.setdefault(self.steps[k].support, []).append(k)
        left = [self._chained(op, members) for members in groups.values()]
        left.sort(key=lambda k: self.table.size(self.steps[k].support))
        return self._chained(op, left)

    def _chained(self, op: str, arguments: list[int]) -> int:
        made = arguments[0]
        for k in arguments[1:]:
            made = self._applied(op, [made, k])
        return made

    def _applied(self, op: str, arguments: list[int]) -> int:
        supports = [self.steps[k].support for k in arguments]
        whole: Support = None
        if None not in supports:
            whole = frozenset().union(*(s for s in supports if s))
            whole = whole if self.table.distinct(whole)[1] is not None else None
        spread = tuple((k, self._index(self.steps[k].support, whole)) for k in arguments)
        apply = PAIRS[op] if len(arguments) == 2 else (VALUES.get(op) or SLOPES[op])
        return self._add(Step(apply, spread, 0, whole))

    def _index(self, own: Support, whole: Support) -> Index | None:
        return None if own == whole or not own else self.table.between(own, whole)

    def run(self, theta: Array, piece: slice) -> list[Array]:
        """Compute the outputs, each a number or of shape (starts or 1, values of its support or 1).

        Args:
            theta: parameters, shape (starts, parameters).
            piece: the rows.
        """
        results: list[Array] = self.known.copy()  # type: ignore[assignment]
        for at, number in self.inputs:
            results[at] = theta[:, number, None]
        for at, column in self.columns:
            results[at] = column[piece]
        for at, apply, first, index, other, other_index in self.work:
            x = results[first]
            if index is not None:
                x = self._taken(x, index, at, piece)
            if other < 0:
                results[at] = apply(x)
                continue
            y = results[other]
            if other_index is not None:
                y = self._taken(y, other_index, at, piece)
            results[at] = apply(x, y)
        return [results[k] for k in self.outputs]

    def _taken(self, values: Array, index: Index, at: int, piece: slice) -> Array:
        if piece != EVERY_ROW and self.steps[at].support is None:
            index = index[piece]
        return values.take(index, -1)


def _spread(values: Array, index: Index | None) -> Array:
    return values if index is None else values.take(index, -1)
