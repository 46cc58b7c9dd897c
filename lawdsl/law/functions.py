"""Functions of the language -> SymPy classes, and their limits and ranges as SymPy numbers."""

from __future__ import annotations

from typing import Any

import sympy as sp

from lawdsl.core.functions import DERIVED, EXTREMA, FUNCTIONS, End, Function, named, value_in


class _SymPy:
    """SymPy as an arithmetic, for names that SymPy spells differently."""

    abs, step, min, max = sp.Abs, sp.Heaviside, sp.Min, sp.Max

    def __getattr__(self, name: str) -> Any:
        return named(sp, name)


SYMPY: Any = _SymPy()
CONSTANTS = {"pi": sp.pi, "oo": sp.oo}
BUILD = {name: value_in(SYMPY, name) for name in FUNCTIONS}
"""Name -> function from SymPy expressions to SymPy expressions."""

_CLASSES = {name: getattr(SYMPY, name, None) for name in (*FUNCTIONS, *DERIVED)}

ROWS: dict[type[sp.Basic], Function] = {
    function: (FUNCTIONS | DERIVED)[name]
    for name, function in _CLASSES.items()
    if isinstance(function, type)
}
"""SymPy class -> its row. Functions that SymPy rewrites as others (sqrt as a power) have no entry.
"""

NAMES: dict[type[sp.Basic], str] = {
    **{function: name for name, function in _CLASSES.items() if function in ROWS},
    **{getattr(SYMPY, name): name for name in EXTREMA},
}
"""SymPy class -> name."""


def _number(end: End) -> sp.Expr | None:
    if end is None:
        return None
    return end(SYMPY) if callable(end) else sp.Integer(end)


RANGES: dict[type[sp.Basic], tuple[sp.Expr | None, sp.Expr | None]] = {
    function: (_number(row.range[0]), _number(row.range[1])) for function, row in ROWS.items()
}
"""SymPy class -> the infimum and the supremum of its values; None where there is none."""

ANALYTIC = tuple(function for function, row in ROWS.items() if row.analytic)
"""The functions that are analytic on the whole real line."""

KINKED = (
    *(getattr(SYMPY, name) for name in EXTREMA),
    *(function for function, row in ROWS.items() if not row.smooth),
)
"""The functions without a derivative somewhere inside their domain: |x|, min, max, and the
derivatives of these, which jump."""

LIKE_ITS_ARGUMENT = tuple(
    function
    for function, row in ROWS.items()
    if function(0) == 0 and row.derivative(SYMPY, sp.S.Zero, sp.S.Zero) == 1
)
"""The functions with f(0) = 0 and f'(0) = 1: f(u) ~ u where u goes to 0."""


def limit_at(function: type[sp.Basic], side: int) -> sp.Expr:
    """The limit of a monotone function at an end of its domain.

    Args:
        function: the SymPy class.
        side: -1 for the lower end, 1 for the upper one.
    """
    low, high = RANGES[function]
    if ROWS[function].monotone == side:
        return sp.oo if high is None else high
    return -sp.oo if low is None else low


def _derived_by_row(function: type[sp.Basic]) -> tuple[type[sp.Basic], ...]:
    """SymPy methods for a function that is differentiated by its row: value, first and second
    derivative.
    """
    name = NAMES[function]
    second = type(f"{name}_second", (sp.Function,), {})
    first = type(f"{name}_first", (sp.Function,), {"fdiff": lambda e, _=1: second(*e.args)})
    return type(name, (function,), {"fdiff": lambda e, _=1: first(*e.args)}), first, second


BY_ROW = {
    function: _derived_by_row(function) for function, row in ROWS.items() if row.second is not None
}
"""SymPy class -> the same function, and its derivatives as functions of their own."""
