"""Law -> the parameters in which it, or its logarithm, is linear, by symbolic differentiation."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from lawdsl.law.algebra import bounded
from lawdsl.law.law import Law


def compared_expression(
    law: Law, log: bool, opaque: tuple[str, ...] = ()
) -> tuple[sp.Expr, tuple[int, ...], bool]:
    """The expression that a fit evaluates: the law, or its logarithm if that is linear in more
    parameters.

    exp(b1 - b2*x) is linear in neither parameter, its logarithm in both.

    Args:
        law: the law.
        log: whether residuals are those of logarithms.
        opaque: names of definitions that stay symbols, since columns of their values exist.

    Returns:
        The expression; the positions of the parameters in which it is jointly linear, except for
        those bounded on both sides; and whether it is the logarithm.
    """
    symbols = [q.symbol for q in law.parameters if len({b.lower for b in q.bounds}) < 2]
    formula = law.declarations.output.formula
    assert formula is not None
    expression = law.to_sympy(formula, opaque) if opaque else law.expression
    with bounded(law.declarations):
        linear = _with_linear_bounds(law, _linear_symbols(expression, symbols))
        log_law = logarithm(expression) if log else None
        if log_law is not None:
            log_linear = _with_linear_bounds(law, _linear_symbols(log_law, symbols))
            if len(log_linear) > len(linear):
                return log_law, _numbers(law, log_linear), True
    return expression, _numbers(law, linear), False


def exponentials_as_factors(law: Law) -> tuple[sp.Expr, tuple[sp.Symbol, ...]] | None:
    """Replace S by e^S wherever that makes the law linear in more parameters: exp(S + t*x) is e^S
    times exp(t*x).

    The symbol S then stands for e^S, which is above 0. A parameter that also occurs outside of such
    exponentials, as in exp(S + t*x) + S*y, is not replaced, since it cannot stand for both.

    Returns:
        The expression, and the parameters that stand for their exponentials; None where no
        parameter can be replaced.
    """
    if not law.expression.has(sp.exp):
        return None
    bound = {s for q in law.parameters for b in q.bounds for s in b.limit.free_symbols}
    expression, replaced_symbols = law.expression, list[sp.Symbol]()
    symbols = [q.symbol for q in law.parameters if len({b.lower for b in q.bounds}) < 2]
    factor = sp.Dummy(positive=True)
    with bounded(law.declarations):
        for q in law.parameters:
            if q.bounds or q.symbol in bound:
                continue
            replaced = expression.replace(
                lambda node, s=q.symbol: (
                    isinstance(node, sp.exp) and _is_plain_term(node.args[0], s)
                ),
                lambda node, s=q.symbol: factor * sp.exp(node.args[0] - s),
            )
            if q.symbol in replaced.free_symbols:
                continue
            linear_form = replaced.xreplace({factor: q.symbol})
            if linear_form == expression:
                continue
            if {q.symbol, *replaced_symbols} <= _linear_symbols(linear_form, symbols):
                expression = linear_form
                replaced_symbols.append(q.symbol)
    return (expression, tuple(replaced_symbols)) if replaced_symbols else None


def _is_plain_term(argument: sp.Expr, symbol: sp.Symbol) -> bool:
    """Whether a symbol is a term of a sum, and does not occur elsewhere in it."""
    rest = argument - symbol
    return symbol not in rest.free_symbols


def linear_in(law: Law, expression: sp.Expr) -> tuple[int, ...]:
    """Positions of the parameters in which an expression of a law is jointly linear.

    Parameters that are bounded on both sides are excluded.

    Args:
        law: the law.
        expression: the expression in its symbols.
    """
    symbols = [q.symbol for q in law.parameters if len({b.lower for b in q.bounds}) < 2]
    with bounded(law.declarations):
        return _numbers(law, _with_linear_bounds(law, _linear_symbols(expression, symbols)))


def linear_parameters(law: Law) -> tuple[int, ...]:
    """Positions of the parameters in which a law is jointly linear."""
    with bounded(law.declarations):
        return _numbers(law, _linear_symbols(law.expression, [q.symbol for q in law.parameters]))


def names_of_slope(law: Law, name: str) -> frozenset[str]:
    """The names in the derivative of a law by a parameter.

    Args:
        law: the law.
        name: the name of the parameter.
    """
    return _names(sp.diff(law.expression, law.symbols[name]).free_symbols)


def names_of_merged_slope(law: Law, name: str) -> frozenset[str]:
    """The names in the derivative of the law by a parameter, once powers of one base are merged.

    Args:
        law: the law.
        name: the name of the parameter.
    """
    return _names(law.derivative(name).free_symbols)


def _names(symbols: set[sp.Symbol]) -> frozenset[str]:
    return frozenset(symbol.name for symbol in symbols)


def _numbers(law: Law, chosen: set[sp.Symbol]) -> tuple[int, ...]:
    return tuple(i for i, q in enumerate(law.parameters) if q.symbol in chosen)


def coefficients(law: Law) -> frozenset[int]:
    """Positions of the parameters of any sign in which a law, or its logarithm, is jointly linear:
    the coefficients of a regression, or of the exponential of one.
    """
    symbols = [q.symbol for q in law.parameters if not q.bounds]
    with bounded(law.declarations):
        linear_symbols = _linear_symbols(law.expression, symbols)
        log_law = logarithm(law.expression)
        log_linear_symbols = set() if log_law is None else _linear_symbols(log_law, symbols)
    return frozenset(_numbers(law, max(linear_symbols, log_linear_symbols, key=len)))


def _linear_symbols(expression: sp.Expr, symbols: Sequence[sp.Symbol]) -> set[sp.Symbol]:
    chosen: set[sp.Symbol] = set()
    for symbol in symbols:
        if not sp.diff(expression, symbol).free_symbols & {symbol, *chosen}:
            chosen.add(symbol)
    return chosen


def _with_linear_bounds(law: Law, chosen: set[sp.Symbol]) -> set[sp.Symbol]:
    """The parameters among `chosen` whose bounds are linear, too. Least squares for linear
    parameters cannot enforce a nonlinear bound, nor one on a parameter that is searched for.
    """
    remaining = set(chosen)
    for q in reversed(law.parameters):  # a bound depends on earlier parameters only
        for bound in q.bounds:
            bounding = bound.limit.free_symbols & remaining
            if q.symbol not in remaining or any(
                sp.diff(bound.limit, symbol).free_symbols & remaining for symbol in bounding
            ):
                remaining -= bounding
    return remaining


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
