"""Law -> the parameters in which it, or its logarithm, is linear, by symbolic differentiation."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lawdsl.language.resolver import Objective
from lawdsl.law.algebra import bounded
from lawdsl.law.law import Law


def compared(
    law: Law, objective: Objective, opaque: tuple[str, ...] = ()
) -> tuple[sp.Expr, tuple[int, ...], bool]:
    """The expression that a fit computes: the law, or its logarithm where that is linear in more.

    exp(b1 - b2*x) is linear in neither parameter, its logarithm in both.

    Args:
        law: the law.
        objective: what is minimised.
        opaque: names of definitions that stay symbols, because columns of their values exist.

    Returns:
        The expression; the numbers of the parameters in which it is jointly linear, except for
        those bounded on both sides; and whether it is the logarithm.
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


def with_factors(law: Law) -> tuple[sp.Expr, tuple[sp.Symbol, ...]] | None:
    """Replace S by e^S wherever that makes the law linear in more: exp(S + t*x) is e^S times
    exp(t*x).

    The symbol S then stands for e^S, which is above 0. A parameter that also occurs outside of such
    exponentials, as in exp(S + t*x) + S*y, is kept: it cannot stand for both.

    Returns:
        The expression, and the parameters that stand for their exponentials; None where no
        parameter can be replaced.
    """
    if not law.expression.has(sp.exp):
        return None
    bound = {s for q in law.parameters for b in q.bounds for s in b.limit.free_symbols}
    expression, found = law.expression, list[sp.Symbol]()
    symbols = [q.symbol for q in law.parameters if len({b.lower for b in q.bounds}) < 2]
    factor = sp.Dummy(positive=True)
    with bounded(law.declarations):
        for q in law.parameters:
            if q.bounds or q.symbol in bound:
                continue
            replaced = expression.replace(
                lambda node, s=q.symbol: isinstance(node, sp.exp) and _adds(node.args[0], s),
                lambda node, s=q.symbol: factor * sp.exp(node.args[0] - s),
            )
            if q.symbol in replaced.free_symbols:
                continue
            linear_form = replaced.xreplace({factor: q.symbol})
            if linear_form != expression and {q.symbol, *found} <= _linear(linear_form, symbols):
                expression = linear_form
                found.append(q.symbol)
    return (expression, tuple(found)) if found else None


def _adds(argument: sp.Expr, symbol: sp.Symbol) -> bool:
    """Whether a symbol is a term of a sum, and nowhere else in it."""
    rest = argument - symbol
    return symbol not in rest.free_symbols


def linear_in(law: Law, expression: sp.Expr) -> tuple[int, ...]:
    """Numbers of the parameters in which an expression of a law is jointly linear, except for those
    that are bounded on both sides.

    Args:
        law: the law.
        expression: in its symbols.
    """
    symbols = [q.symbol for q in law.parameters if len({b.lower for b in q.bounds}) < 2]
    with bounded(law.declarations):
        return _numbers(law, _with_bounds(law, _linear(expression, symbols)))


def linear_parameters(law: Law) -> tuple[int, ...]:
    """Numbers of the parameters in which a law is jointly linear."""
    with bounded(law.declarations):
        return _numbers(law, _linear(law.expression, [q.symbol for q in law.parameters]))


def _numbers(law: Law, chosen: set[sp.Symbol]) -> tuple[int, ...]:
    return tuple(i for i, q in enumerate(law.parameters) if q.symbol in chosen)


def coefficients(law: Law) -> frozenset[int]:
    """Numbers of the parameters of any sign in which a law, or its logarithm, is jointly linear:
    those of a regression, and of the exponential of one."""
    symbols = [q.symbol for q in law.parameters if not q.bounds]
    with bounded(law.declarations):
        own = _linear(law.expression, symbols)
        of = logarithm(law.expression)
        logarithmic = set() if of is None else _linear(of, symbols)
    return frozenset(_numbers(law, max(own, logarithmic, key=len)))


def _linear(expression: sp.Expr, symbols: Sequence[sp.Symbol]) -> set[sp.Symbol]:
    chosen: set[sp.Symbol] = set()
    for symbol in symbols:
        if not sp.diff(expression, symbol).free_symbols & {symbol, *chosen}:
            chosen.add(symbol)
    return chosen


def _with_bounds(law: Law, chosen: set[sp.Symbol]) -> set[sp.Symbol]:
    """The parameters among `chosen` whose bounds are linear too. Least squares for linear
    parameters cannot enforce a nonlinear bound, nor one on a parameter that is not solved for."""
    left = set(chosen)
    for q in reversed(law.parameters):  # a bound depends on earlier parameters only
        for bound in q.bounds:
            moved = bound.limit.free_symbols & left
            if q.symbol not in left or any(
                sp.diff(bound.limit, symbol).free_symbols & left for symbol in moved
            ):
                left -= moved
    return left


def has_logarithm(law: Law) -> bool:
    """Whether a law is a product of powers and exponentials, all of them known to be positive."""
    with bounded(law.declarations):
        return logarithm(law.expression) is not None


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
