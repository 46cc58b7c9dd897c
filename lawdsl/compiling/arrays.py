"""Tapes on float64 arrays: values, and exact first derivatives carried forward beside them.

All values broadcast: variables of shape (rows,) with parameters of shape (starts, 1) give
(starts, rows). A result outside a function's domain is nan or inf, as in NumPy; the callers decide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lawdsl.compiling.tape import Tape

Array = NDArray[np.float64]
Gradient = dict[int, Array]  # number of the input -> derivative by it; absent means 0


TINY = np.finfo(np.float64).tiny

VALUES: dict[str, Callable[..., Array]] = {
    "add": lambda *x: reduce(np.add, x),
    "multiply": lambda *x: reduce(np.multiply, x),
    "power": np.power,
    "exp": np.exp,
    "log": np.log,
    "finite log": lambda x: np.log(np.maximum(x, TINY)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan": np.arctan,
    "tanh": np.tanh,
    "abs": np.abs,
    "min": lambda *x: reduce(np.minimum, x),
    "max": lambda *x: reduce(np.maximum, x),
    "sign": np.sign,
    "step": lambda x: np.heaviside(x, 0.5),
}

DERIVATIVES: dict[str, Callable[[Array, Array], Array]] = {
    "exp": lambda x, y: y,
    "log": lambda x, y: 1 / x,
    "sin": lambda x, y: np.cos(x),
    "cos": lambda x, y: -np.sin(x),
    "tan": lambda x, y: 1 + y * y,
    "atan": lambda x, y: 1 / (1 + x * x),
    "tanh": lambda x, y: 1 - y * y,
    "abs": lambda x, y: np.sign(x),
    "sign": lambda x, y: np.zeros_like(x),
    "step": lambda x, y: np.zeros_like(x),
}
"""Functions of one argument: derivative from the argument and the value."""


def evaluate(tape: Tape, inputs: Sequence[ArrayLike]) -> list[Array]:
    """The outputs of a tape.

    Args:
        tape: what to compute.
        inputs: one array or number for each input; their shapes broadcast.
    """
    with np.errstate(all="ignore"):
        results = _values(tape, inputs)
    return [results[i] for i in tape.outputs]


def evaluate_with_gradient(
    tape: Tape, inputs: Sequence[ArrayLike], by: Sequence[int]
) -> tuple[Array, Array]:
    """The first output of a tape and its exact derivatives.

    Args:
        tape: what to compute.
        inputs: one array or number for each input; their shapes broadcast to `shape`.
        by: the inputs to derive by.

    Returns:
        The value, of `shape`, and the derivatives, of `shape + (len(by),)`.
    """
    with np.errstate(all="ignore"):
        results = _values(tape, inputs)
        gradients: list[Gradient] = []
        wanted = set(by)
        for i, step in enumerate(tape.instructions):
            if step.op == "input":
                number = int(step.value)  # type: ignore[arg-type]
                gradients.append({number: np.ones(())} if number in wanted else {})
            elif step.op == "constant":
                gradients.append({})
            else:
                arguments = [results[k] for k in step.arguments]
                parts = [gradients[k] for k in step.arguments]
                gradients.append(_gradient(step.op, arguments, parts, results[i]))
    at = tape.outputs[0]
    shape = np.broadcast_shapes(results[at].shape, *(np.shape(x) for x in inputs))
    value = np.broadcast_to(results[at], shape)
    jacobian = np.zeros((*shape, len(by)))
    for column, number in enumerate(by):
        if number in gradients[at]:
            jacobian[..., column] = gradients[at][number]
    return value, jacobian


def _values(tape: Tape, inputs: Sequence[ArrayLike]) -> list[Array]:
    results: list[Array] = []
    for step in tape.instructions:
        if step.op == "input":
            results.append(np.asarray(inputs[step.value], dtype=np.float64))  # type: ignore[index]
        elif step.op == "constant":
            results.append(np.asarray(float(step.value)))  # type: ignore[arg-type]
        else:
            results.append(VALUES[step.op](*(results[i] for i in step.arguments)))
    return results


def _gradient(op: str, arguments: list[Array], parts: list[Gradient], value: Array) -> Gradient:
    """The chain rule for one operation."""
    if not any(parts):
        return {}
    if op == "add":
        return _combine([(np.ones(()), part) for part in parts])
    if op == "multiply":
        return _combine(list(zip(_others(arguments), parts, strict=True)))
    if op == "power":
        return _combine(_power_rule(arguments, parts, value))
    if op in ("min", "max"):
        chosen = [np.where(argument == value, 1.0, 0.0) for argument in arguments]
        count = reduce(np.add, chosen)  # equal arguments share the derivative
        return _combine([(c / count, part) for c, part in zip(chosen, parts, strict=True)])
    return _combine([(DERIVATIVES[op](arguments[0], value), parts[0])])


def _power_rule(
    arguments: list[Array], parts: list[Gradient], value: Array
) -> list[tuple[Array, Gradient]]:
    """x^y: by x it is y·x^(y - 1), by y it is x^y·log x, which goes to 0 with x for y > 0.

    x^0 is constant, at x = 0 too.
    """
    base, exponent = arguments
    rules = []
    if parts[0]:
        slope = np.where(exponent == 0, 0.0, exponent * np.power(base, exponent - 1))
        rules.append((slope, parts[0]))
    if parts[1]:
        slope = np.where((base == 0) & (exponent > 0), 0.0, value * np.log(base))
        rules.append((slope, parts[1]))
    return rules


def _others(factors: list[Array]) -> list[Array]:
    """For each factor the product of all others, without division: a factor may be 0."""
    before = [np.ones(())]
    for factor in factors[:-1]:
        before.append(before[-1] * factor)
    after = np.ones(())
    products = []
    for i in range(len(factors) - 1, -1, -1):
        products.append(before[i] * after)
        after = after * factors[i]
    return products[::-1]


def _combine(rules: list[tuple[Array, Gradient]]) -> Gradient:
    total: Gradient = {}
    for slope, gradient in rules:
        for number, part in gradient.items():
            term = slope * part
            total[number] = total[number] + term if number in total else term
    return total
