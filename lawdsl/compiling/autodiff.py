"""Values of a tape and their exact derivatives, many operations at once, for many points.

No formula is differentiated. Operations of one kind that do not need each other run as one
operation on arrays: a sum of 200 powers is a handful of steps, forwards and backwards. Backwards,
each passes on how the outputs change with its result (reverse accumulation).

Where a slope is not one number:

- min and max have the slope of the first argument that reaches them;
- abs has slope 0 at 0, sign and step have it everywhere;
- x^p has an infinite slope at x = 0 for 0 < p < 1. What does not depend on it has none of it, nor
  has what multiplies it by a 0 that does not move; another 0 times infinity is nan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import ARRAYS, VALUES
from lawdsl.compiling.tape import Tape
from lawdsl.core.functions import Function
from lawdsl.law.functions import NAMES, ROWS

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

Rule = Callable[[Array, Array], Array]
"""Arguments, shape (arity, …), and the result to the derivative by each argument, (arity, …)."""


def _others(x: Array, _: Array) -> Array:
    """For each factor the product of the others, without a division."""
    if len(x) == 2:
        return x[::-1]
    ones = np.ones_like(x[:1])
    before = np.cumprod(np.concatenate([ones, x[:-1]]), axis=0)
    behind = np.cumprod(np.concatenate([ones, x[:0:-1]]), axis=0)
    return before * behind[::-1]


def _of_power(x: Array, result: Array) -> Array:
    """At base 0 the slope by a positive exponent is 0, as 0^p does not change with p > 0."""
    base, exponent = x
    by_base = np.where(exponent == 0, 0.0, exponent * np.power(base, exponent - 1))
    by_exponent = np.where((base == 0) & (exponent > 0), 0.0, result * np.log(base))
    return np.stack([by_base, by_exponent])


def _first(x: Array, result: Array) -> Array:
    reached = x == result
    return (reached & (np.cumsum(reached, axis=0) == 1)).astype(np.float64)


def _of_function(row: Function) -> Rule:
    return lambda x, y: row.derivative(ARRAYS, x, y[None])


RULES: dict[str, Rule] = {
    "add": lambda x, y: np.ones_like(x),
    "multiply": _others,
    "power": _of_power,
    "finite log": lambda x, y: np.where(x == 0, 0.0, 1 / np.where(x == 0, 1.0, x)),
    "min": _first,
    "max": _first,
    **{NAMES[function]: _of_function(row) for function, row in ROWS.items()},
}


@dataclass(frozen=True)
class _Batch:
    """Operations of one kind that do not need each other.

    Attributes:
        op: the operation.
        at: the instructions, shape (k,).
        arguments: what they take, shape (arity, k).
        back: which of the arguments, flat and in the order of the instructions they are, take part
            in the derivatives.
        targets: those instructions, each once.
        starts: where in `back` each of them begins; None where each is there once.
    """

    op: str
    at: Index
    arguments: Index
    back: Index
    targets: Index
    starts: Index | None

    def add(self, slopes: Array, pulls: Array) -> None:
        """Add what the arguments get, shape (outputs, arity, k, points), to the slopes."""
        flat = pulls.reshape(len(pulls), -1, pulls.shape[-1])[:, self.back]
        if self.starts is not None:
            flat = np.add.reduceat(flat, self.starts, axis=1)
        slopes[:, self.targets] += flat


class Slopes:
    """A tape, ready for its values and its derivatives by some of its inputs.

    Args:
        tape: what to compute.
        by: numbers of the inputs to derive by; all where none are given.
    """

    def __init__(self, tape: Tape, by: Iterable[int] | None = None) -> None:
        self.tape = tape
        self.by = tuple(range(tape.inputs) if by is None else by)
        steps = tape.instructions
        self._reading = np.array([i for i, s in enumerate(steps) if s.op == "input"], dtype=np.intp)
        self._read = np.array([steps[i].value for i in self._reading], dtype=np.intp)
        self._constants = np.array([i for i, s in enumerate(steps) if s.op == "constant"], np.intp)
        self._numbers = np.array([float(steps[i].value) for i in self._constants])
        reading = dict(zip(self._read.tolist(), self._reading.tolist(), strict=True))
        known = [(place, reading[n]) for place, n in enumerate(self.by) if n in reading]
        self._places, self._sources = np.array(known, dtype=np.intp).reshape(-1, 2).T
        self._moving = self._which_move()
        self._batches = self._scheduled()

    def _which_move(self) -> Mask:
        """For each instruction whether it depends on an input to derive by."""
        by = set(self.by)
        moving: list[bool] = []
        for step in self.tape.instructions:
            own = step.op == "input" and step.value in by
            moving.append(own or any(moving[k] for k in step.arguments))
        return np.array(moving, dtype=bool)

    def _scheduled(self) -> tuple[_Batch, ...]:
        """The operations by their depth, their kind and how many arguments they have."""
        depth = [0] * len(self.tape.instructions)
        groups: dict[tuple[int, str, int], list[int]] = defaultdict(list)
        for i, step in enumerate(self.tape.instructions):
            if step.arguments:
                depth[i] = 1 + max(depth[k] for k in step.arguments)
                groups[depth[i], step.op, len(step.arguments)].append(i)
        return tuple(self._batch(key[1], groups[key]) for key in sorted(groups))

    def _batch(self, op: str, members: list[int]) -> _Batch:
        steps = self.tape.instructions
        arguments = np.array([steps[i].arguments for i in members], dtype=np.intp).T
        back = np.flatnonzero(self._moving[arguments.ravel()])
        own = arguments.ravel()[back]
        order = np.argsort(own, kind="stable")
        targets, starts = np.unique(own[order], return_index=True)
        once = len(targets) == len(own)
        at = np.array(members, dtype=np.intp)
        return _Batch(op, at, arguments, back[order], targets, None if once else starts)

    def values(self, inputs: Array) -> Array:
        """The outputs, shape (outputs, points), at inputs of shape (inputs, points).

        What has no value is nan or infinite, as in NumPy.
        """
        with np.errstate(all="ignore"):
            return self._forwards(inputs)[list(self.tape.outputs)]

    def values_and_gradients(self, inputs: Array) -> tuple[Array, Array]:
        """The outputs, (outputs, points), and their derivatives, (outputs, by, points)."""
        with np.errstate(all="ignore"):
            results = self._forwards(inputs)
            found = self._backwards(results)
            if np.isnan(found).any():
                found = self._backwards(results, self._felt(results))
        return results[list(self.tape.outputs)], found

    def _forwards(self, inputs: Array) -> Array:
        results = np.empty((len(self.tape.instructions), inputs.shape[1]))
        results[self._reading] = inputs[self._read]
        results[self._constants] = self._numbers[:, None]
        for batch in self._batches:
            results[batch.at] = VALUES[batch.op](*results[batch.arguments])
        return results

    def _backwards(self, results: Array, felt: Array | None = None) -> Array:
        """The derivatives; those that are not felt by an output pass nothing on."""
        slopes = self._seeds(results)
        for batch in reversed(self._batches):
            if not len(batch.back):
                continue
            rule = RULES[batch.op](results[batch.arguments], results[batch.at])
            pulls = slopes[:, None, batch.at] * rule
            if felt is not None:
                pulls[felt[:, None, batch.at] * _counts(batch, results, self._moving) == 0] = 0.0
            batch.add(slopes, pulls)
        return self._by_input(slopes)

    def _felt(self, results: Array) -> Array:
        """Positive where an output depends on an instruction, (outputs, instructions, points): by
        a way along which no factor is a 0 that does not move."""
        felt = self._seeds(results)
        for batch in reversed(self._batches):
            if len(batch.back):
                there = np.sign(felt[:, None, batch.at])
                batch.add(felt, there * _counts(batch, results, self._moving))
        return felt

    def _seeds(self, results: Array) -> Array:
        slopes = np.zeros((len(self.tape.outputs), *results.shape))
        slopes[np.arange(len(slopes)), list(self.tape.outputs)] = 1.0
        return slopes

    def _by_input(self, slopes: Array) -> Array:
        found = np.zeros((len(slopes), len(self.by), slopes.shape[-1]))
        found[:, self._places] = slopes[:, self._sources]
        return found


def _counts(batch: _Batch, results: Array, moving: Mask) -> Array:
    """1 where an argument of a batch counts, 0 where a fixed factor beside it is 0: shape (arity,
    k, points)."""
    x = results[batch.arguments]
    if batch.op != "multiply":
        return np.ones_like(x)
    dead = (x == 0) & ~moving[batch.arguments][..., None]
    return _others((~dead).astype(np.float64), x)


def values(tape: Tape, inputs: Array) -> Array:
    """The outputs of a tape, shape (outputs, points), at inputs of shape (inputs, points)."""
    return Slopes(tape).values(inputs)


def values_and_gradients(tape: Tape, inputs: Array) -> tuple[Array, Array]:
    """The outputs, (outputs, points), and their derivatives, (outputs, inputs, points)."""
    return Slopes(tape).values_and_gradients(inputs)
