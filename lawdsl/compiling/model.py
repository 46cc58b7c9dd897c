"""A compiled law on one table: every instruction on the distinct values that reach it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import VALUES
from lawdsl.compiling.parts import Outputs, Parts
from lawdsl.compiling.tape import Instruction, Tape

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Support = frozenset[int] | None  # numbers of variables; None: every row is a value of its own

TABLE = 0.5  # a table of distinct values is used up to so many of them a row
LARGEST_TABLE = 20_000
EVERY_ROW = slice(None)
BINARY: dict[str, Callable[..., Array]] = {"add": np.add, "multiply": np.multiply}


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

    @cached_property
    def codes(self) -> list[tuple[Index, int]]:
        """For each variable a number of the value in each row, and how many values there are."""
        found = []
        for column in self.columns:
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
        most = min(TABLE * self.rows, LARGEST_TABLE)
        code = first = np.zeros(self.rows, dtype=np.int64)
        for number in support:
            own, values = self.codes[number]
            if values > most:
                return self.columns, None
            _, first, code = np.unique(code * values + own, return_index=True, return_inverse=True)
            if len(first) > most:
                return self.columns, None
        return self.columns[:, first if support else first[:1]], code.astype(np.int64)

    def size(self, support: Support) -> int:
        """How many distinct values a support has."""
        if not support:
            return 1 if support is not None else self.rows
        return self.distinct(support)[0].shape[1]

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

    def rows_in(self, piece: slice) -> range:
        """The numbers of the rows of a piece."""
        return range(self.rows)[piece]


@dataclass(frozen=True)
class _Step:
    """One instruction: its results have one value for each distinct value of its support."""

    apply: Callable[..., Array] | None
    arguments: tuple[tuple[int, Index | None], ...]  # earlier results, and how each is spread
    value: int | Array
    support: Support


class _Program:
    """A tape made ready for one table."""

    def __init__(self, tape: Tape, variables: int, table: Table) -> None:
        self.table = table
        self.steps: list[_Step] = []
        at: list[int] = []
        for instruction in tape.instructions:
            self.steps.append(self._step(instruction, at, variables))
            at.append(len(self.steps) - 1)
        self.outputs = [at[i] for i in tape.outputs]

    def _step(self, instruction: Instruction, at: list[int], variables: int) -> _Step:
        value = instruction.value
        if instruction.op == "constant":
            return _Step(None, (), np.asarray(float(value)), frozenset())  # type: ignore[arg-type]
        if instruction.op != "input":
            return self._operation(instruction.op, [at[k] for k in instruction.arguments])
        assert isinstance(value, int)
        if value >= variables:
            return _Step(None, (), value - variables, frozenset())
        columns, index = self.table.distinct(frozenset({value}))
        return _Step(None, (), columns[value], None if index is None else frozenset({value}))

    def _operation(self, op: str, arguments: list[int]) -> _Step:
        if len(arguments) > 2 and op in ("add", "multiply"):
            arguments = self._brought_together(op, arguments)
        supports = [self.steps[k].support for k in arguments]
        whole: Support = None
        if None not in supports:
            whole = frozenset().union(*(s for s in supports if s))
            whole = whole if self.table.distinct(whole)[1] is not None else None
        spread = tuple((k, self._index(self.steps[k].support, whole)) for k in arguments)
        apply = BINARY[op] if op in BINARY and len(spread) == 2 else VALUES[op]
        return _Step(apply, spread, 0, whole)

    def _brought_together(self, op: str, arguments: list[int]) -> list[int]:
        """The arguments of a long sum or product, with those of one support made into one."""
        groups: dict[Support, list[int]] = {}
        for k in arguments:
            groups.setdefault(self.steps[k].support, []).append(k)
        if len(groups) == 1:
            return arguments
        found = []
        for support, members in groups.items():
            if len(members) > 1:
                self.steps.append(_Step(VALUES[op], tuple((k, None) for k in members), 0, support))
                members = [len(self.steps) - 1]
            found += members
        found.sort(key=lambda k: self.table.size(self.steps[k].support))
        while len(found) > 2:  # the small ones first
            self.steps.append(self._operation(op, found[:2]))
            found = [len(self.steps) - 1, *found[2:]]
        return found

    def _index(self, own: Support, whole: Support) -> Index | None:
        return None if own == whole or not own else self.table.between(own, whole)

    def support(self, output: int) -> Support:
        return self.steps[self.outputs[output]].support

    def run(self, theta: Array, piece: slice) -> list[Array]:
        """The outputs, each of shape (starts or 1, values of its support or 1) or a number."""
        results: list[Array] = []
        for step in self.steps:
            if step.apply is not None:
                arguments = [
                    results[k]
                    if index is None
                    else results[k].take(index[piece] if step.support is None else index, -1)
                    for k, index in step.arguments
                ]
                results.append(step.apply(*arguments))
            elif isinstance(step.value, int):
                results.append(theta[:, step.value, None])
            else:
                results.append(step.value[piece] if step.support is None else step.value)
        return [results[k] for k in self.outputs]


class Model:
    """A law on a table, at many parameter vectors at once.

    Args:
        parts: the compiled law.
        columns: its variables, shape (variables, rows).
    """

    def __init__(self, parts: Parts, columns: Array) -> None:
        self.parts = parts
        self.table = Table(columns)
        self.count = len(parts.gradient)
        self._programs: dict[int, _Program] = {}
        self._second: list[tuple[Support, list[int], list[int], list[int]]] = []

    def _bends(self, program: _Program) -> list[tuple[Support, list[int], list[int], list[int]]]:
        """By support: the outputs of the Hessian, and where in it each belongs, no place twice."""
        assert self.parts.hessian is not None
        if not self._second:
            places: dict[tuple[Support, int], dict[tuple[int, int], int]] = {}
            for k, other, outputs in self.parts.hessian:
                for o in outputs:
                    layer, support = 0, program.support(o)
                    while (k, other) in places.setdefault((support, layer), {}):
                        layer += 1
                    places[support, layer][k, other] = o
            for (support, _), found in places.items():
                rows, columns = (list(side) for side in zip(*found, strict=True))
                self._second.append((support, list(found.values()), rows, columns))
        return self._second

    def _run(self, order: int, theta: Array, piece: slice) -> tuple[_Program, list[Array]]:
        if order not in self._programs:
            tape = self.parts.tapes[order]
            self._programs[order] = _Program(tape, self.parts.variables, self.table)
        program = self._programs[order]
        with np.errstate(all="ignore"):
            return program, program.run(theta, piece)

    def value(self, theta: Array, piece: slice = EVERY_ROW) -> Array:
        """The law at parameters of shape (starts, parameters): shape (starts, rows)."""
        program, results = self._run(0, theta, piece)
        made = np.empty((len(theta), len(self.table.rows_in(piece))))
        self._sum(program, results, self.parts.value, piece, made)
        return made

    def slopes(
        self, theta: Array, piece: slice = EVERY_ROW, only: tuple[int, ...] | None = None
    ) -> tuple[Array, Array]:
        """The law, (starts, rows), and its derivatives by (some) parameters, (starts, p, rows)."""
        return self._slopes(*self._run(1, theta, piece), len(theta), piece, only)

    def curvature(
        self, theta: Array, piece: slice = EVERY_ROW
    ) -> tuple[Array, Array, Callable[[Array], Array]]:
        """Value and derivatives, and a function: factors c of shape (starts, rows) to the sum over
        rows of c times the Hessian, of shape (starts, p, p)."""
        program, results = self._run(2, theta, piece)
        value, slopes = self._slopes(program, results, len(theta), piece, None)
        bends = self._bends(program)

        def contracted(factors: Array) -> Array:
            total = np.zeros((len(theta), self.count, self.count))
            with np.errstate(all="ignore"):
                for support, outputs, rows, columns in bends:
                    gathered = self.table.gather(factors, support, piece)
                    parts = np.empty((len(outputs), *gathered.shape))
                    for part, o in zip(parts, outputs, strict=True):
                        part[...] = results[o]
                    total[:, rows, columns] += np.einsum("msg,sg->sm", parts, gathered)
            upper = np.triu(total, 1)
            return total + np.swapaxes(upper, 1, 2)

        return value, slopes, contracted

    def _slopes(
        self,
        program: _Program,
        results: list[Array],
        starts: int,
        piece: slice,
        only: tuple[int, ...] | None,
    ) -> tuple[Array, Array]:
        rows = len(self.table.rows_in(piece))
        chosen = range(self.count) if only is None else only
        value, slopes = np.empty((starts, rows)), np.empty((starts, len(chosen), rows))
        with np.errstate(all="ignore"):
            self._sum(program, results, self.parts.value, piece, value)
            for at, k in enumerate(chosen):
                self._sum(program, results, self.parts.gradient[k], piece, slopes[:, at])
        return value, slopes

    def _sum(
        self, program: _Program, results: list[Array], outputs: Outputs, piece: slice, into: Array
    ) -> None:
        """Write the sum of some outputs, spread over the rows."""
        if not outputs:
            into[...] = 0.0
        for number, o in enumerate(outputs):
            part, support = results[o], program.support(o)
            index = self.table.distinct(support)[1] if support else None
            if index is not None:
                part = part.take(index[piece], -1)
            if number:
                into += part
            else:
                into[...] = part
