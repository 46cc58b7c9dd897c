"""Tape + arrays -> outputs in float64.

All values broadcast: variables of shape (rows,) with parameters of shape (starts, 1) give (starts,
rows). A result outside a function's domain is nan or inf, as in NumPy; the callers interpret it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lawdsl.compiling.instructions import Tape
from lawdsl.core.functions import CHOICE, DERIVED, FUNCTIONS, Formula, named, value_in

Array = NDArray[np.float64]


class _Arrays:
    """NumPy as an arithmetic, with SciPy for functions that NumPy lacks."""

    def step(self, x: Array) -> Array:
        return np.heaviside(x, 0.5)

    def __getattr__(self, name: str) -> Any:
        if name in FUNCTIONS and not hasattr(np, name):
            # imported late: SciPy loads slowly, and NumPy has the usual functions
            from scipy import special

            return named(special, name)
        return named(np, name)


ARRAYS: Any = _Arrays()
ROWS = FUNCTIONS | DERIVED


def _slope(name: str, formula: Formula) -> Callable[[Array], Array]:
    value = value_in(ARRAYS, name)
    return lambda x: formula(ARRAYS, x, value(x))


def chosen(g: Array, a: Array, b: Array) -> Array:
    """a where g > 0, b elsewhere, and nan where g has no value."""
    return np.where(np.isnan(g), np.nan, np.where(g > 0, a, b))


VALUES: dict[str, Callable[..., Array]] = {
    "add": lambda *x: reduce(np.add, x),
    "multiply": lambda *x: reduce(np.multiply, x),
    "power": np.power,
    "finite log": lambda x: np.log(np.where(x == 0, 1.0, x)),
    "min": lambda *x: reduce(np.minimum, x),
    "max": lambda *x: reduce(np.maximum, x),
    CHOICE: chosen,
    **{name: value_in(ARRAYS, name) for name in ROWS},
}

SLOPES: dict[str, Callable[[Array], Array]] = {
    f"{name}{mark}": _slope(name, formula)
    for name, row in ROWS.items()
    for mark, formula in (("'", row.derivative), ("''", row.second))
    if row.second is not None and formula is not None
}
"""First and second derivatives, where a law is not derived by SymPy's own formulas."""


def evaluate(tape: Tape, inputs: Sequence[ArrayLike]) -> list[Array]:
    """Compute the outputs of a tape.

    Args:
        tape: what to compute.
        inputs: one array or number for each input; their shapes broadcast.

    Returns:
        One array for each output.
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
