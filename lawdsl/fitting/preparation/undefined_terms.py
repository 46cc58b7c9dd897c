"""Law + a point -> the part of its formula that is undefined there, whatever the parameters."""

from __future__ import annotations

import cmath
from collections.abc import Mapping, Sequence

import sympy as sp

from lawdsl.law.functions import Choice
from lawdsl.law.law import Law
from lawdsl.law.text import text

INFINITE = (sp.zoo, sp.nan, sp.oo, -sp.oo)


def _taken(e: sp.Expr, values: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """The expression without the parts that a point does not take, as far as the point tells."""
    for piece in e.atoms(Choice):
        condition = piece.args[0].xreplace(values)
        if condition.is_positive or condition.is_nonpositive:
            return _taken(
                e.xreplace({piece: piece.args[1 if condition.is_positive else 2]}), values
            )
    return e.replace(Choice, lambda *_: sp.S.Zero)  # which part is taken is not known


def undefined_term(law: Law, point: Mapping[str, float]) -> str:
    """The innermost part without parameters that is not a finite real number at a point.

    Args:
        law: the law.
        point: variable -> value.

    Returns:
        Its text, `log(x)` for x = -1; empty if every such part has a value.
    """
    values = {law.symbols[name]: sp.Float(value) for name, value in point.items()}
    # arguments come before what is made of them: a tower of exponentials ends at its first overflow
    for part in sp.postorder_traversal(_taken(law.expression, values)):
        if part.args and part.free_symbols and part.free_symbols <= values.keys():
            try:
                value = complex(part.xreplace(values))
            except (TypeError, ValueError, OverflowError, ZeroDivisionError):
                return text(part)
            if not cmath.isfinite(value) or value.imag:
                return text(part)
    return ""


def infinite_part(law: Law, names: Sequence[str]) -> str:
    """The innermost part of the formula that is infinite where some symbols are 0; empty if the
    formula has a value there.

    Args:
        law: the law.
        names: the variables and parameters that are 0.
    """
    if law.expression.has(Choice):
        return ""  # which part is taken depends on the row
    at_zero = {law.symbols[name]: sp.Integer(0) for name in names}
    if not law.expression.xreplace(at_zero).has(*INFINITE):
        return ""
    for part in sp.postorder_traversal(law.expression):
        if (
            part.args
            and part.free_symbols & at_zero.keys()
            and part.xreplace(at_zero).has(*INFINITE)
        ):
            return text(part)
    return ""
