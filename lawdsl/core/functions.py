"""What functions mean to the algebra: one row a function, read when laws are built and proved.

The names of the language are a closed table (`lawdsl.language.keywords`); nothing is ever looked up by
a name that a file brings in. How a function is computed stands beside the other operations, in
`lawdsl.compiling`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp


@dataclass(frozen=True)
class Function:
    """One function of one argument, continuous wherever it is defined.

    Attributes:
        build: SymPy expression -> SymPy expression.
        known_as: the SymPy class of what `build` returns; None where that is made of others.
        domain: where it is defined: all, positive, nonnegative or nonzero.
        divides_by: what it divides by, which must not be 0 either.
        increasing: whether it is strictly increasing on its whole domain.
        zero: the only argument at which its value is 0; None where it has none, or several.
        range: the least and the greatest value (None: unbounded); those of an increasing function
            are also its limits at the ends of its domain.
        reached: whether the bounds of the range are values themselves.
        steps: of a function that is constant on either side of 0, its values there.
    """

    build: Callable[[Any], Any]
    known_as: type[sp.Basic] | None = None
    domain: str = "all"
    divides_by: Callable[[Any], Any] | None = None
    increasing: bool = False
    zero: int | None = None
    range: tuple[sp.Expr | None, sp.Expr | None] = (None, None)
    reached: bool = False
    steps: tuple[int, int] | None = None


_ZERO, _ONE, _RIGHT = sp.S.Zero, sp.S.One, sp.pi / 2

FUNCTIONS: dict[str, Function] = {
    "exp": Function(sp.exp, sp.exp, increasing=True, range=(_ZERO, None)),
    "log": Function(sp.log, sp.log, "positive", increasing=True, zero=1),
    "log10": Function(lambda x: sp.log(x) / sp.log(10), None, "positive"),
    "sqrt": Function(sp.sqrt, None, "nonnegative"),
    "sin": Function(sp.sin, sp.sin, range=(-_ONE, _ONE), reached=True),
    "cos": Function(sp.cos, sp.cos, range=(-_ONE, _ONE), reached=True),
    "tan": Function(sp.tan, sp.tan, divides_by=sp.cos),
    "atan": Function(sp.atan, sp.atan, increasing=True, zero=0, range=(-_RIGHT, _RIGHT)),
    "tanh": Function(sp.tanh, sp.tanh, increasing=True, zero=0, range=(-_ONE, _ONE)),
    "abs": Function(sp.Abs, sp.Abs, zero=0, range=(_ZERO, None), reached=True),
}
"""The functions of the language. What is made of others (sqrt: a power) needs no more than a domain."""

DERIVED: dict[str, Function] = {
    "sign": Function(sp.sign, sp.sign, "nonzero", steps=(-1, 1)),
    "step": Function(sp.Heaviside, sp.Heaviside, "nonzero", steps=(0, 1)),
}
"""The derivatives of abs, min and max, which have no value at a kink."""

EXTREMA: dict[str, type[sp.Basic]] = {"min": sp.Min, "max": sp.Max}
"""The functions of several arguments."""

NAMES: dict[type[sp.Basic], str] = {
    **{f.known_as: name for name, f in (FUNCTIONS | DERIVED).items() if f.known_as is not None},
    **{known_as: name for name, known_as in EXTREMA.items()},
}
"""SymPy class -> name."""

ROWS: dict[type[sp.Basic], Function] = {
    f.known_as: f for f in (*FUNCTIONS.values(), *DERIVED.values()) if f.known_as is not None
}
"""SymPy class -> its row."""

CONSTANTS = {"pi": sp.pi, "oo": sp.oo}
