"""Tape + inputs -> values and exact derivatives at many points, by reverse accumulation.

With the adjoint v̄_i = d(output)/d(v_i), each operation v = f(a, b, …) adds v̄·df/da to ā, from the
last instruction to the first (Griewank and Walther (2008), Evaluating Derivatives, chapter 3).
Operations of one kind that do not depend on each other run as one operation on arrays: a sum of 200
powers is a handful of steps, forwards and backwards.

Where the derivative is not unique or not finite:

- min and max have the slope of the first argument that reaches them;
- abs has slope 0 at 0, sign and step have slope 0 everywhere;
- choice(g, a, b) has the slopes of the part taken, and none by g;
- x^p has an infinite slope at x = 0 for 0 < p < 1. Outputs that do not depend on it do not get it,
  nor do products with a 0 that depends on no input; another 0 times infinity is nan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import ARRAYS, VALUES
from lawdsl.compiling.instructions import Tape
from lawdsl.core.functions import CHOICE, Function
from lawdsl.law.functions import NAMES, ROWS

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

Rule = Callable[[Array, Array], Array]
"""Arguments, shape (arity, …), and the result to the derivative by each argument, (arity, …)."""


def _others(x: Array, _: Array) -> Array:
    """For each factor the product of the other factors, without a division."""
    if len(x) == 2:
        return x[::-1]
    ones = np.ones_like(x[:1])
    before = np.cumprod(np.concatenate([ones, x[:-1]]), axis=0)
    behind = np.cumprod(np.concatenate([ones, x[:0:-1]]), axis=0)
    return before * behind[::-1]


def _of_power(x: Array, result: Array) -> Array:
    """The derivative of a power by base and exponent; at base 0 that by a positive exponent is 0,
    as 0^p does not change with p > 0."""
    base, exponent = x
    by_base = np.where(exponent == 0, 0.0, exponent * np.power(base, exponent - 1))
    by_exponent = np.where((base == 0) & (exponent > 0), 0.0, result * np.log(base))
    return np.stack([by_base, by_exponent])


def _first(x: Array, result: Array) -> Array:
    # of several equal arguments only the first has the slope, so that the slopes sum to 1
    reached = x == result
    return (reached & (np.cumsum(reached, axis=0) == 1)).astype(np.float64)


def _taken(x: Array, _: Array) -> Array:
    """1 for the part of a choice that is taken; where it changes there is no derivative."""
    first = x[0] > 0
    return np.stack([np.zeros_like(x[0]), first, ~first])


def _of_function(row: Function) -> Rule:
    return lambda x, y: row.derivative(ARRAYS, x, y[None])


RULES: dict[str, Rule] = {
    "add": lambda x, y: np.ones_like(x),
    "multiply": _others,
    "power": _of_power,
    "finite log": lambda x, y: np.where(x == 0, 0.0, 1 / np.where(x == 0, 1.0, x)),
    "min": _first,
    "max": _first,
    CHOICE: _taken,
    **{NAMES[function]: _of_function(row) for function, row in ROWS.items()},
}


@dataclass(frozen=True)
class _Batch:
    """Operations of one kind that do not depend on each other.

    Attributes:
        op: the operation.
        instructions: the numbers of their instructions, shape (k,).
        arguments: their arguments, shape (arity, k).
        back: which of the arguments take part in the derivatives, as flat indices sorted by
            instruction.
        targets: those instructions, without repetition.
        starts: where in `back` each of them begins; None where none is repeated.
    """

    op: str
    instructions: Index
    arguments: Index
    back: Index
    targets: Index
    starts: Index | None

    def add(self, slopes: Array, pulls: Array) -> None:
        """Add the adjoints of the arguments, shape (outputs, arity, k, points), to all adjoints."""
        flat = pulls.reshape(len(pulls), -1, pulls.shape[-1])[:, self.back]
        if self.starts is not None:
            flat = np.add.reduceat(flat, self.starts, axis=1)
        slopes[:, self.targets] += flat


class Slopes:
    """A tape prepared for its values and its derivatives by some of its inputs.

    Args:
        tape: what to compute.
        by: positions of the inputs to differentiate by; None for all.
    """

    def __init__(self, tape: Tape, wrt: Iterable[int] | None = None) -> None:
        self.tape = tape
        self.wrt = tuple(range(tape.inputs) if wrt is None else wrt)
        steps = tape.instructions
        self._reading = np.array([i for i, s in enumerate(steps) if s.op == "input"], dtype=np.intp)
        self._read = np.array([steps[i].value for i in self._reading], dtype=np.intp)
        self._constants = np.array([i for i, s in enumerate(steps) if s.op == "constant"], np.intp)
        self._numbers = np.array([float(steps[i].value) for i in self._constants])
        # input -> its instruction; an input that is not used has none, and slope 0
        reading = dict(zip(self._read.tolist(), self._reading.tolist(), strict=True))
        sources = [(row, reading[n]) for row, n in enumerate(self.wrt) if n in reading]
        self._rows, self._sources = np.array(sources, dtype=np.intp).reshape(-1, 2).T
        self._moving = self._which_vary()
        self._batches = self._scheduled()

    def _which_vary(self) -> Mask:
        """For each instruction whether it depends on an input of the derivatives."""
        wrt = set(self.wrt)
        moving: list[bool] = []
        for step in self.tape.instructions:
            differentiated = step.op == "input" and step.value in wrt
            moving.append(differentiated or any(moving[k] for k in step.arguments))
        return np.array(moving, dtype=bool)

    def _scheduled(self) -> tuple[_Batch, ...]:
        """The operations in batches, by depth, kind and number of arguments."""
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
        receivers = arguments.ravel()[back]
        # sorted, so that `reduceat` sums repeated receivers: `+=` would add only one of each
        order = np.argsort(receivers, kind="stable")
        targets, starts = np.unique(receivers[order], return_index=True)
        distinct = len(targets) == len(receivers)
        instructions = np.array(members, dtype=np.intp)
        return _Batch(
            op, instructions, arguments, back[order], targets, None if distinct else starts
        )

    def values(self, inputs: Array) -> Array:
        """The outputs, shape (outputs, points), at inputs of shape (inputs, points).

        Values outside a function's domain are nan or infinite, as in NumPy.
        """
        with np.errstate(all="ignore"):
            return self._forwards(inputs)[list(self.tape.outputs)]

    def values_and_gradients(self, inputs: Array) -> tuple[Array, Array]:
        """The outputs, shape (outputs, points), and their derivatives, shape (outputs, wrt, points),
        at inputs of shape (inputs, points)."""
        with np.errstate(all="ignore"):
            results = self._forwards(inputs)
            gradients = self._backwards(results)
            # 0·infinity: once more, without adjoints of what the outputs do not depend on
            if np.isnan(gradients).any():
                gradients = self._backwards(results, self._dependence(results))
        return results[list(self.tape.outputs)], gradients

    def _forwards(self, inputs: Array) -> Array:
        results = np.empty((len(self.tape.instructions), inputs.shape[1]))
        results[self._reading] = inputs[self._read]
        results[self._constants] = self._numbers[:, None]
        for batch in self._batches:
            results[batch.instructions] = VALUES[batch.op](*results[batch.arguments])
        return results

    def _backwards(self, results: Array, dependence: Array | None = None) -> Array:
        """The derivatives; instructions on which an output does not depend pass no adjoint on."""
        slopes = self._seeds(results)
        for batch in reversed(self._batches):
            if not len(batch.back):
                continue
            rule = RULES[batch.op](results[batch.arguments], results[batch.instructions])
            pulls = slopes[:, None, batch.instructions] * rule
            if dependence is not None:
                pulls[
                    dependence[:, None, batch.instructions] * _counts(batch, results, self._moving)
                    == 0
                ] = 0.0
            batch.add(slopes, pulls)
        return self._by_input(slopes)

    def _dependence(self, results: Array) -> Array:
        """Positive where an output depends on an instruction, shape (outputs, instructions,
        points): by a path without a factor of 0 that depends on no input."""
        dependence = self._seeds(results)
        for batch in reversed(self._batches):
            if len(batch.back):
                reached = np.sign(dependence[:, None, batch.instructions])
                batch.add(dependence, reached * _counts(batch, results, self._moving))
        return dependence

    def _seeds(self, results: Array) -> Array:
        slopes = np.zeros((len(self.tape.outputs), *results.shape))
        slopes[np.arange(len(slopes)), list(self.tape.outputs)] = 1.0
        return slopes

    def _by_input(self, slopes: Array) -> Array:
        gradients = np.zeros((len(slopes), len(self.wrt), slopes.shape[-1]))
        gradients[:, self._rows] = slopes[:, self._sources]
        return gradients


def _counts(batch: _Batch, results: Array, moving: Mask) -> Array:
    """1 where an argument of a batch has an effect, 0 where another factor is a constant 0 or
    another part is taken: shape (arity, k, points)."""
    x = results[batch.arguments]
    if batch.op == CHOICE:
        return _taken(x, x)
    if batch.op != "multiply":
        return np.ones_like(x)
    dead = (x == 0) & ~moving[batch.arguments][..., None]
    return _others((~dead).astype(np.float64), x)


def values(tape: Tape, inputs: Array) -> Array:
    """The outputs of a tape, shape (outputs, points).

    Args:
        tape: what to compute.
        inputs: shape (inputs, points).
    """
    return Slopes(tape).values(inputs)


def values_and_gradients(tape: Tape, inputs: Array) -> tuple[Array, Array]:
    """Outputs of a tape, shape (outputs, points), and their derivatives, (outputs, inputs, points).

    Args:
        tape: what to compute.
        inputs: shape (inputs, points).
    """
    return Slopes(tape).values_and_gradients(inputs)
