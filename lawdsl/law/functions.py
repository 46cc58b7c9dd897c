"""Functions of the language -> SymPy classes, and their limits and ranges as SymPy numbers."""

from __future__ import annotations

from typing import Any

import sympy as sp

from lawdsl.core.functions import (
    CHOICE,
    DERIVED,
    EXTREMA,
    FUNCTIONS,
    End,
    Function,
    named,
    value_in,
)


class _SymPy:
    """SymPy as an arithmetic, for names that SymPy spells differently."""

    abs, step, min, max = sp.Abs, sp.Heaviside, sp.Min, sp.Max

    def __getattr__(self, name: str) -> Any:
        return named(sp, name)


SYMPY: Any = _SymPy()


class Choice(sp.Function):  # type: ignore[misc]
    """choice(g, a, b): a where g > 0, else b.

    Its derivative is that of the part taken, and where g = 0 the jump a - b times a Dirac delta: a
    rule that needs a derivative everywhere finds none, unless the condition does not change.
    """

    nargs = 3

    @classmethod
    def eval(cls, g: sp.Expr, a: sp.Expr, b: sp.Expr) -> sp.Expr | None:
        """One of the parts, where both are one or the sign of g is known."""
        if a == b or g.is_positive:
            return a
        return b if g.is_nonpositive else None

    def _eval_derivative(self, symbol: sp.Symbol) -> sp.Expr:
        g, a, b = self.args
        slope = Choice(g, a.diff(symbol), b.diff(symbol))
        return slope + (a - b) * g.diff(symbol) * sp.DiracDelta(g)

    def _either(self, name: str) -> bool | None:
        """What holds of both parts."""
        first, second = (getattr(part, name) for part in self.args[1:])
        return first if first == second else None

    def _eval_is_real(self) -> bool | None:
        return self._either("is_real")

    def _eval_is_extended_real(self) -> bool | None:
        return self._either("is_extended_real")

    def _eval_is_finite(self) -> bool | None:
        return self._either("is_finite")

    def _eval_is_positive(self) -> bool | None:
        return self._either("is_positive")

    def _eval_is_negative(self) -> bool | None:
        return self._either("is_negative")

    def _eval_is_nonnegative(self) -> bool | None:
        return self._either("is_nonnegative")

    def _eval_is_nonpositive(self) -> bool | None:
        return self._either("is_nonpositive")

    def _eval_is_zero(self) -> bool | None:
        return self._either("is_zero")


def without_impulses(e: sp.Expr) -> sp.Expr:
    """A derivative where it has a value: without the Dirac deltas of kinks and jumps."""
    return e.replace(sp.DiracDelta, lambda *_: sp.S.Zero) if e.has(sp.DiracDelta) else e


def choice(lhs: sp.Expr, relation: str, rhs: sp.Expr, yes: sp.Expr, no: sp.Expr) -> sp.Expr:
    """A piecewise formula as a choice: a >= b is not b > a.

    Args:
        lhs, relation, rhs: the condition; the relation is <, <=, > or >=.
        yes: what holds where the condition does.
        no: what holds elsewhere.
    """
    above = lhs - rhs if relation in (">", "<=") else rhs - lhs
    return Choice(above, *((yes, no) if relation in "<>" else (no, yes)))


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
    Choice: CHOICE,
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

PIECEWISE = (Choice, *KINKED)
"""These, and piecewise formulas, whose parts may have nothing in common."""

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
