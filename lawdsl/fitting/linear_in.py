"""In which parameters a law, or its logarithm, is linear: found symbolically."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lawdsl.algebra import bounded
from lawdsl.language.resolving import Objective
from lawdsl.law import Law


def linear_parameters(law: Law, objective: Objective | None = None) -> tuple[int, ...]:
    """Numbers of the parameters in which what is compared with the data is linear all at once.

    Args:
        law: the law.
        objective: of a fit; where it is of logarithms, the logarithm of the law may serve.
    """
    logarithm = linear_logarithm(law) if objective is not None and objective.log else None
    symbols = [q.symbol for q in law.parameters]
    with bounded(law.declarations):
        return _linear(law.expression if logarithm is None else logarithm, symbols)


def linear_logarithm(law: Law) -> sp.Expr | None:
    """The logarithm of a law, where it is linear in more parameters than the law itself.

    exp(b1 - b2*x) is linear in neither, its logarithm in both.
    """
    symbols = [q.symbol for q in law.parameters]
    with bounded(law.declarations):
        logarithm = _logarithm(law.expression)
        if logarithm is None:
            return None
        more = len(_linear(logarithm, symbols)) > len(_linear(law.expression, symbols))
    return logarithm if more else None


def _linear(expression: sp.Expr, symbols: Sequence[sp.Symbol]) -> tuple[int, ...]:
    chosen: list[int] = []
    taken: set[sp.Symbol] = set()
    for i, symbol in enumerate(symbols):
        if not sp.diff(expression, symbol).free_symbols & {symbol, *taken}:
            chosen.append(i)
            taken.add(symbol)
    return tuple(chosen)


def _logarithm(expression: sp.Expr) -> sp.Expr | None:
    """The logarithm of a product of powers, all of them known to be positive."""
    if isinstance(expression, sp.exp):
        return expression.args[0]
    if expression.is_Pow and expression.base.is_positive:
        inner = _logarithm(expression.base)
        return expression.exp * (sp.log(expression.base) if inner is None else inner)
    if expression.is_Mul:
        parts = [_logarithm(f) if not f.is_Atom else None for f in expression.args]
        if all(f.is_positive for f in expression.args):
            pairs = zip(parts, expression.args, strict=True)
            return sp.Add(*(sp.log(f) if part is None else part for part, f in pairs))
    return None
