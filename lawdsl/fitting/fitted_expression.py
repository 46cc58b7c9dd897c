"""Law + values of its parameters -> the formula with numbers, in plain SymPy symbols."""

from __future__ import annotations

from collections.abc import Mapping

import sympy as sp

from lawdsl.law.algebra import bounded
from lawdsl.law.law import Law


def fitted_expression(law: Law, values: Mapping[str, float]) -> sp.Expr:
    """The right-hand side of a law with numbers for parameters and settings.

    Args:
        law: the law, without index sets or at given labels.
        values: parameter -> value, in the law's units.

    Returns:
        An expression in the variables, whose symbols have no assumptions, so that
        `sympy.Symbol("N")` equals its N.
    """
    numbers = {q.symbol: q.value for q in law.settings}
    numbers |= {q.symbol: values[q.name] for q in law.parameters}
    replacements = {s: sp.Float(x) for s, x in numbers.items() if x is not None}
    replacements |= {q.symbol: sp.Symbol(q.name) for q in law.variables}
    with bounded(law.declarations):
        return law.expression.xreplace(replacements)
