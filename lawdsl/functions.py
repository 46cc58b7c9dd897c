"""What the language's functions mean: one row a function, read by algebra and proofs.

The names themselves are a closed table of the language (`lawdsl.language.words`); nothing is ever
looked up by a name that a file brings in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sympy as sp

Number = sp.Expr


@dataclass(frozen=True)
class Function:
    """One function of one argument.

    Attributes:
        build: SymPy expression -> SymPy expression.
        domain: where it is defined: all, positive, nonnegative.
        increasing: whether it is strictly increasing on its whole domain.
        zero: where an increasing function changes sign, or None where it has no zero.
        range: bounds of its values (None: unbounded); strict, as all bounds of these functions are,
            but for sine and cosine.
    """

    build: Callable[[Any], Any]
    domain: str = "all"
    increasing: bool = False
    zero: int | None = None
    range: tuple[int | None, int | None] = (None, None)


FUNCTIONS: dict[str, Function] = {
    "exp": Function(sp.exp, increasing=True, range=(0, None)),
    "log": Function(sp.log, "positive", True, zero=1),
    "log10": Function(lambda x: sp.log(x) / sp.log(10), "positive", True, zero=1),
    "sqrt": Function(sp.sqrt, "nonnegative", True, zero=0, range=(0, None)),
    "sin": Function(sp.sin, range=(-1, 1)),
    "cos": Function(sp.cos, range=(-1, 1)),
    "tan": Function(sp.tan),
    "atan": Function(sp.atan, increasing=True, zero=0, range=(-2, 2)),
    "tanh": Function(sp.tanh, increasing=True, zero=0, range=(-1, 1)),
    "abs": Function(sp.Abs, range=(0, None)),
}

EXTREMA: dict[str, Callable[..., Any]] = {"min": sp.Min, "max": sp.Max}
"""The functions of several arguments."""

CONSTANTS = {"pi": sp.pi, "oo": sp.oo}
