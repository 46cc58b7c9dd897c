"""Law + a point -> the part of its formula that is undefined there, whatever the parameters."""

from __future__ import annotations

import cmath
from collections.abc import Mapping

import sympy as sp

from lawdsl.law.law import Law
from lawdsl.law.text import text


def undefined_term(law: Law, point: Mapping[str, float]) -> str:
    """The innermost part without parameters that is not a finite real number at a point.

    Args:
        law: the law.
        point: variable -> value.

    Returns:
        Its text, `log(x)` for x = -1; empty if every such part has a value.
    """
    values = {law.symbols[name]: sp.Float(value) for name, value in point.items()}
    # arguments before the expressions that contain them: a tower of exponentials stops at its first
    # overflow
    for part in sp.postorder_traversal(law.expression):
        if part.args and part.free_symbols and part.free_symbols <= values.keys():
            try:
                value = complex(part.xreplace(values))
            except (TypeError, ValueError, OverflowError, ZeroDivisionError):
                return text(part)
            if not cmath.isfinite(value) or value.imag:
                return text(part)
    return ""
