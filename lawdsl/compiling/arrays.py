"""Tapes on float64 arrays.

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


VALUES: dict[str, Callable[..., Array]] = {
    "add": lambda *x: reduce(np.add, x),
    "multiply": lambda *x: reduce(np.multiply, x),
    "power": np.power,
    "exp": np.exp,
    "log": np.log,
    "finite log": lambda x: np.log(np.where(x == 0, 1.0, x)),
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


def evaluate(tape: Tape, inputs: Sequence[ArrayLike]) -> list[Array]:
    """The outputs of a tape.

    Args:
        tape: what to compute.
        inputs: one array or number for each input; their shapes broadcast.
    """
    with np.errstate(all="ignore"):
        results = _values(tape, inputs)
    return [results[i] for i in tape.outputs]


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
