"""In which parameters a law, or its logarithm, is linear: found symbolically."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lawdsl.algebra import bounded
from lawdsl.language.resolving import Objective
from lawdsl.law import Law


def compared(
    law: Law, objective: Objective, opaque: tuple[str, ...] = ()
) -> tuple[sp.Expr, tuple[int, ...], bool]:
    """What a fit computes of a law: the law, or its logarithm where that is linear in more.

    exp(b1 - b2*x) is linear in neither parameter, its logarithm in both.

    Args:
        law: the law.
        objective: what is minimised.
        opaque: lets that stay symbols: columns are known of them.

    Returns:
        The expression, the numbers of the parameters in which it is linear all at once (but for
        those that are bounded on both sides), and whether it is the logarithm.
    """
    symbols = [q.symbol for q in law.parameters if len({b.lower for b in q.bounds}) < 2]
    formula = law.declarations.output.formula
    assert formula is not None
    expression = law.to_sympy(formula, opaque) if opaque else law.expression
    with bounded(law.declarations):
        linear = _with_bounds(law, _linear(expression, symbols))
        of = logarithm(expression) if objective.log else None
        if of is not None:
            more = _with_bounds(law, _linear(of, symbols))
            if len(more) > len(linear):
                return of, _numbers(law, more), True
    return expression, _numbers(law, linear), False


def linear_parameters(law: Law) -> tuple[int, ...]:
    """Numbers of the parameters in which a law is linear all at once."""
    with bounded(law.declarations):
        return _numbers(law, _linear(law.expression, [q.symbol for q in law.parameters]))


def _numbers(law: Law, chosen: set[sp.Symbol]) -> tuple[int, ...]:
    return tuple(i for i, q in enumerate(law.parameters) if q.symbol in chosen)


def _linear(expression: sp.Expr, symbols: Sequence[sp.Symbol]) -> set[sp.Symbol]:
    chosen: set[sp.Symbol] = set()
    for symbol in symbols:
        if not sp.diff(expression, symbol).free_symbols & {symbol, *chosen}:
            chosen.add(symbol)
    return chosen


def _with_bounds(law: Law, chosen: set[sp.Symbol]) -> set[sp.Symbol]:
    """Those of which bounds of other parameters are linear functions too: of a bound that moves
    another way, or bounds a parameter that is not solved for, the least squares know nothing."""
    left = set(chosen)
    for q in reversed(law.parameters):  # a bound is made of parameters before its own
        for bound in q.bounds:
            moved = bound.limit.free_symbols & left
            if q.symbol not in left or any(
                sp.diff(bound.limit, symbol).free_symbols & left for symbol in moved
            ):
                left -= moved
    return left


def logarithm(expression: sp.Expr) -> sp.Expr | None:
    """The logarithm of a product of powers, all of them known to be positive."""
    if isinstance(expression, sp.exp):
        return expression.args[0]
    if expression.is_Pow and expression.base.is_positive:
        inner = logarithm(expression.base)
        return expression.exp * (sp.log(expression.base) if inner is None else inner)
    if expression.is_Mul and all(factor.is_positive for factor in expression.args):
        parts = [(logarithm(factor), factor) for factor in expression.args]
        return sp.Add(*(sp.log(factor) if part is None else part for part, factor in parts))
    return None
