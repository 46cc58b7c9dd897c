"""SymPy expressions -> text in the spelling of the language."""

from __future__ import annotations

import sympy as sp


def text(expression: sp.Expr) -> str:
    """An expression as the language writes it: A/N^alpha."""
    shown = sp.sstr(expression).replace("**", "^")
    return shown.replace("Abs(", "abs(").replace("Max(", "max(").replace("Min(", "min(")
