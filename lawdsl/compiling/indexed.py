"""Law with index sets -> operations on arrays, with an axis for each index, and their derivatives.

`sum(s[i]*exp(sum(t[i, j]*r[j] for j)) for i)` is a handful of operations, whether i has 30 labels
or two. Derivatives are exact, by reverse accumulation for every row separately: each step v = f(a,
b) adds v̄·df/da to ā (Griewank and Walther (2008), Evaluating Derivatives, chapter 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from lawdsl.compiling.arrays import ARRAYS, chosen
from lawdsl.compiling.indexed_leaves import OUTER_AXES, Leaf, Leaves, Source
from lawdsl.core.functions import CHOICE, FUNCTIONS, value_in
from lawdsl.language import tree
from lawdsl.language.constants import literal
from lawdsl.language.instances.instance import IndexValue
from lawdsl.language.pieces import Condition
from lawdsl.language.tree import Formula

Array = NDArray[np.float64]
# operation, positions of its arguments, and its data: a number, a leaf or axes
Step = tuple[str, tuple[int, ...], object]

NUMBERS = {"pi": math.pi, "oo": math.inf}
VALUES = {name: value_in(ARRAYS, name) for name in FUNCTIONS}
EXTREMUM_UFUNCS = {"min": np.minimum, "max": np.maximum}


@dataclass
class StepBuilder:
    """Formulas with index sets -> steps; equal parts share one step.

    `named` has the positions of definitions: position -> name of a let. `guards` are the conditions of
    the piecewise formulas around the part that is read, each with whether it stands for its truth.
    """

    leaves: Leaves
    steps: list[Step] = field(default_factory=list)
    numbers: dict[Step, int] = field(default_factory=dict)
    named: dict[int, str] = field(default_factory=dict)
    guards: list[tuple[int, bool]] = field(default_factory=list)

    def add(self, op: str, arguments: tuple[int, ...] = (), parameter: object = None) -> int:
        """The position of a step, which is appended unless an equal one exists.

        Args:
            op: the operation.
            arguments: positions of earlier steps.
            parameter: its data: a number, a leaf or axes.
        """
        step = (op, arguments, parameter)
        if step not in self.numbers:
            self.numbers[step] = len(self.steps)
            self.steps.append(step)
        return self.numbers[step]

    def formula(self, node: Formula, bindings: Mapping[str, IndexValue | int]) -> int:
        """The position of the step that computes a formula.

        Args:
            node: the formula.
            bindings: index -> its label, or the position of its axis.
        """
        match node:
            case tree.Number(text):
                return self.add("number", (), float(literal(text)))
            case tree.Name(text) if text in NUMBERS:
                return self.add("number", (), NUMBERS[text])
            case tree.Name(text):
                return self._named(text, (), bindings)
            case tree.Element(name, subscripts):
                return self._named(name, tuple(bindings.get(s, s) for s in subscripts), bindings)
            case tree.Aggregate(function, body, over):
                axes = {index: self.leaves.axis(index) for index in over}
                inner = self.formula(body, {**bindings, **axes})
                return self._over(function, inner, tuple(axes.values()))
            case tree.Negative(operand):
                minus = self.add("number", (), -1.0)
                return self.add("multiply", (minus, self.formula(operand, bindings)))
            case tree.Sum(terms):
                return self._chained("add", [self._signed(s, t, bindings) for s, t in terms])
            case tree.Product(factors):
                return self._chained("multiply", [self._factor(s, f, bindings) for s, f in factors])
            case tree.Power(base, exponent):
                below = self._guarded(self.formula(base, bindings))
                return self.add("power", (below, self.formula(exponent, bindings)))
            case tree.Conditional():
                return self._choice(node, bindings)
            case tree.Call(function, arguments):
                operands = [self.formula(a, bindings) for a in arguments]
                return (
                    self._chained(function, operands)
                    if function in EXTREMUM_UFUNCS
                    else self.add(function, (self._guarded(operands[0]),))
                )
        raise AssertionError(node)

    def _named(
        self,
        name: str,
        labels: Sequence[IndexValue | int],
        bindings: Mapping[str, IndexValue | int],
    ) -> int:
        symbol = self.leaves.declared.symbols[name]
        if symbol.formula is None or self.leaves.is_leaf(name):
            return self.add("leaf", (), (name, tuple(labels)))
        subscripts = dict(zip(symbol.indices, labels, strict=True))
        position = self.formula(symbol.formula, {**self.leaves.rows, **subscripts})
        self.named.setdefault(position, name)
        return position

    def _choice(self, node: tree.Conditional, bindings: Mapping[str, IndexValue | int]) -> int:
        """choice(g, a, b): the part taken where g > 0, and elsewhere; a >= b is not b > a."""
        condition, straight = Condition.of(node)
        parts = (node.yes, node.no) if straight else (node.no, node.yes)
        above = self.formula(tree.Sum(tuple(zip("+-", condition.sides, strict=True))), bindings)
        positions = []
        for first, part in zip((True, False), parts, strict=True):
            self.guards.append((above, first))
            positions.append(self.formula(part, bindings))
            self.guards.pop()
        return self.add(CHOICE, (above, *positions))

    def _guarded(self, position: int) -> int:
        """An argument, but 1 where the part is not taken in which it stands: a function has a finite
        value and slope there, so that 0 times its slope is 0 in every library."""
        if self.steps[position][0] == "number":
            return position
        for above, first in self.guards:
            one = self.add("number", (), 1.0)
            parts = (position, one) if first else (one, position)
            position = self.add(CHOICE, (above, *parts))
        return position

    def _signed(self, sign: str, term: Formula, bindings: Mapping[str, IndexValue | int]) -> int:
        return self.formula(term if sign == "+" else tree.Negative(term), bindings)

    def _factor(self, sign: str, factor: Formula, bindings: Mapping[str, IndexValue | int]) -> int:
        step = self.formula(factor, bindings)
        if sign == "*":
            return step
        return self.add("power", (self._guarded(step), self.add("number", (), -1.0)))

    def _chained(self, op: str, arguments: Sequence[int]) -> int:
        result = arguments[0]
        for number in arguments[1:]:
            result = self.add(op, (result, number))
        return result

    def _over(self, function: str, inner: int, axes: tuple[int, ...]) -> int:
        op, arguments, _ = self.steps[inner]
        if function == "sum" and op == "multiply":
            return self.add("contract", arguments, axes)  # as a product of matrices
        return self.add(function, (inner,), axes)


class IndexedProgram:
    """A law with index sets, compiled to steps on arrays.

    Args:
        leaves: the parameters and columns in its formula.
    """

    def __init__(self, leaves: Leaves) -> None:
        builder = StepBuilder(leaves)
        formula = leaves.declared.output.formula
        assert formula is not None
        self.output = builder.formula(formula, dict(leaves.rows))
        self.steps = builder.steps
        self.leaves = leaves
        self.axes = OUTER_AXES + len(leaves.declared.indices)
        # a part that is not taken may have no value there
        self.guarded = any(op == CHOICE for op, _, _ in self.steps)
        self._moving: dict[frozenset[str] | None, tuple[bool, ...]] = {}

    def values(self, sources: Source) -> list[Array]:
        """The result of every step; the output has shape (starts, rows, 1, …)."""
        results: list[Array] = []
        for op, arguments, parameter in self.steps:
            operands = [results[k] for k in arguments]
            match op:
                case "number":
                    value = np.full((1,) * self.axes, parameter, dtype=np.float64)
                case "leaf":
                    value = sources.value(*cast(Leaf, parameter))
                case "add":
                    value = operands[0] + operands[1]
                case "multiply":
                    value = operands[0] * operands[1]
                case "power":
                    value = np.power(operands[0], operands[1])
                case "contract":
                    value = contracted(operands[0], operands[1], without=parameter)  # type: ignore[arg-type]
                case "sum":
                    value = np.sum(operands[0], axis=parameter, keepdims=True)  # type: ignore[call-overload]
                case "prod":
                    value = np.prod(operands[0], axis=parameter, keepdims=True)  # type: ignore[call-overload]
                case _ if op == CHOICE:
                    value = chosen(*operands)
                case _ if op in EXTREMUM_UFUNCS:
                    value = EXTREMUM_UFUNCS[op](operands[0], operands[1])
                case _:
                    value = VALUES[op](operands[0])
            results.append(value)
        return results

    def slopes(
        self,
        results: Sequence[Array],
        add_slope: Callable[[str, tuple[IndexValue | int, ...], Array], None],
        parameters: frozenset[str] | None = None,
    ) -> None:
        """Pass the adjoint of each step to its arguments, from the last step to the first.

        Args:
            results: the result of every step.
            add_slope: called with the name and subscripts of each leaf and the derivative by it, shape
                (starts, rows, …).
            parameters: the names, without subscripts, of the parameters whose derivatives are needed;
                by default all.
        """
        moving = self.moving(parameters)
        adjoints: list[Array | None] = [None] * len(results)
        adjoints[self.output] = np.ones((1,) * self.axes)
        for number in reversed(range(len(results))):
            adjoint = adjoints[number]
            if adjoint is None:
                continue
            op, arguments, parameter = self.steps[number]
            if op == "leaf":
                add_slope(*cast(Leaf, parameter), adjoint)
                continue
            operands = [results[k] for k in arguments]
            for place, k in enumerate(arguments):
                if moving[k] and not (op == CHOICE and place == 0):  # a condition has no slope
                    contribution = _argument_adjoint(
                        op, place, operands, results[number], adjoint, parameter, self.guarded
                    )
                    previous = adjoints[k]
                    adjoints[k] = contribution if previous is None else previous + contribution

    def moving(self, parameters: frozenset[str] | None = None) -> tuple[bool, ...]:
        """For each step, whether it depends on a parameter.

        Args:
            parameters: the names of the parameters that count, without subscripts; by default all.
        """
        if parameters not in self._moving:
            moving: list[bool] = []
            for op, arguments, leaf in self.steps:
                is_counted = op == "leaf" and self._counts(cast(Leaf, leaf)[0], parameters)
                moving.append(is_counted or any(moving[k] for k in arguments))
            self._moving[parameters] = tuple(moving)
        return self._moving[parameters]

    def _counts(self, name: str, parameters: frozenset[str] | None) -> bool:
        return self.leaves.is_parameter(name) if parameters is None else name in parameters


def _argument_adjoint(
    op: str,
    place: int,
    operands: Sequence[Array],
    result: Array,
    adjoint: Array,
    parameter: object,
    guarded: bool,
) -> Array:
    """The adjoint of one argument of a step: the adjoint of the step times the derivative by it.

    Args:
        op: the operation.
        place: which of the arguments.
        operands: the values of all arguments.
        result: the value of the step.
        adjoint: the adjoint of the step.
        parameter: the data of the operation.
        guarded: whether an infinite derivative counts as 0 where the output does not depend on the
            step.
    """
    times = _guarded_times if guarded else _times
    argument = operands[place]
    match op:
        case "add":
            return _summed(adjoint, argument)
        case "multiply" | "contract":
            return times(adjoint, operands[1 - place], argument)
        case "power" if place == 0:
            exponent = operands[1]
            return times(adjoint, exponent * np.power(argument, exponent - 1), argument)
        case "power":
            base = operands[0]
            # 0^p·log 0 counts as 0, its limit for p > 0
            return times(adjoint, result * np.log(np.where(base == 0, 1.0, base)), argument)
        case "sum":
            return np.broadcast_to(adjoint, np.broadcast_shapes(adjoint.shape, _inner(argument)))
        case "prod":
            return times(adjoint, _others(argument, parameter), argument)  # type: ignore[arg-type]
        case _ if op == CHOICE:
            is_taken = (operands[0] > 0) if place == 1 else ~(operands[0] > 0)
            return times(adjoint, is_taken.astype(np.float64), argument)
        case _ if op in EXTREMUM_UFUNCS:
            is_first = result == operands[0]
            return times(adjoint, (is_first if place == 0 else ~is_first) * 1.0, argument)
    return times(adjoint, FUNCTIONS[op].derivative(ARRAYS, argument, result), argument)


def _inner(x: Array) -> tuple[int, ...]:
    return (1,) * OUTER_AXES + x.shape[OUTER_AXES:]


def _others(x: Array, axes: tuple[int, ...]) -> Array:
    """For each factor the product of the other factors, exact where one of them is 0."""
    arranged = np.moveaxis(x, axes, range(-len(axes), 0))
    flat = arranged.reshape(*arranged.shape[: -len(axes)], -1)
    # without a division, which would fail where a factor is 0
    before = np.cumprod(np.concatenate([np.ones_like(flat[..., :1]), flat[..., :-1]], -1), -1)
    behind = np.cumprod(np.concatenate([np.ones_like(flat[..., :1]), flat[..., :0:-1]], -1), -1)
    products = (before * behind[..., ::-1]).reshape(arranged.shape)
    return np.moveaxis(products, range(-len(axes), 0), axes)


def _summed(adjoint: Array, x: Array) -> Array:
    """A derivative summed over the indices that an argument does not have; rows stay separate."""
    axes = tuple(
        k for k in range(OUTER_AXES, adjoint.ndim) if x.shape[k] == 1 and adjoint.shape[k] > 1
    )
    return adjoint.sum(axis=axes, keepdims=True) if axes else adjoint


def _times(adjoint: Array, factor: Array, x: Array) -> Array:
    """A derivative times a factor, summed over the indices that an argument does not have."""
    remaining = {*range(OUTER_AXES), *(k for k in range(OUTER_AXES, x.ndim) if x.shape[k] > 1)}
    return contracted(
        adjoint, factor, without=tuple(k for k in range(x.ndim) if k not in remaining)
    )


def _guarded_times(adjoint: Array, factor: Array, x: Array) -> Array:
    return _times(adjoint, np.where(adjoint == 0, 0.0, factor), x)


def contracted(a: Array, b: Array, without: tuple[int, ...]) -> Array:
    """Sum the product of two arrays over some axes, which are kept with length 1.

    Args:
        a, b: arrays whose shapes broadcast.
        without: the axes of the sum.
    """
    # nothing to sum: a plain product
    if not any(a.shape[k] > 1 or b.shape[k] > 1 for k in without):
        return a * b
    a_axes = [k for k in range(a.ndim) if a.shape[k] > 1]
    b_axes = [k for k in range(b.ndim) if b.shape[k] > 1]
    remaining = [k for k in range(a.ndim) if k not in without and (k in a_axes or k in b_axes)]
    total = np.einsum(
        a.reshape([a.shape[k] for k in a_axes]),
        a_axes,
        b.reshape([b.shape[k] for k in b_axes]),
        b_axes,
        remaining,
        optimize=True,
    )
    shape = [max(a.shape[k], b.shape[k]) if k in remaining else 1 for k in range(a.ndim)]
    return np.asarray(total).reshape(shape)
