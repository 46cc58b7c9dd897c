"""Equations in one unknown that algebra solves: sums of two terms, and one term that is turned round.

What comes out is a candidate: a root may be of another branch. It is used where it agrees with a
root that was found and certified by numbers.
"""

from __future__ import annotations

from collections.abc import Iterable

import sympy as sp

from lawdsl.algebra import merge_powers

DEEP = 30  # operations around an unknown that are turned round


def isolated(equation: sp.Expr, unknown: sp.Symbol) -> sp.Expr | None:
    """The unknown at which an expression is 0, as a formula; None where none is found."""
    found = _zero(equation, unknown, DEEP)
    if found is None or found.has(sp.nan, sp.zoo, sp.oo, sp.I):
        return None
    return found


def flat(expression: sp.Expr) -> sp.Expr:
    """Powers of products and quotients as products of powers, each base once."""
    return merge_powers(sp.expand_power_base(expression))


def _zero(equation: sp.Expr, x: sp.Symbol, deep: int) -> sp.Expr | None:
    if not deep:
        return None
    groups: dict[sp.Expr, sp.Expr] = {}
    for term in sp.Add.make_args(flat(sp.expand(equation) if _is_polynomial(equation, x) else equation)):
        factor, own = term.as_independent(x, as_Add=False)
        groups[own] = groups.get(own, sp.S.Zero) + factor
    rest = groups.pop(sp.S.One, sp.S.Zero)
    groups = {own: factor for own, factor in groups.items() if factor != 0}
    if len(groups) == 1:
        ((own, factor),) = groups.items()
        return _turned(own, -rest / factor, x, deep - 1)
    if len(groups) == 2 and rest == 0:
        (one, a), (other, b) = groups.items()
        return _turned(flat(one / other), -b / a, x, deep - 1)
    return None


def _is_polynomial(equation: sp.Expr, x: sp.Symbol) -> bool:
    return bool(equation.is_polynomial(x))


def _turned(own: sp.Expr, value: sp.Expr, x: sp.Symbol, deep: int) -> sp.Expr | None:
    """The unknown at which a term that has it has a value."""
    if own == x:
        return value
    if not deep:
        return None
    if own.is_Add:
        return _zero(own - value, x, deep - 1)
    if isinstance(own, sp.exp):
        return _turned(own.args[0], sp.log(value), x, deep - 1)
    if isinstance(own, sp.log):
        return _turned(own.args[0], sp.exp(value), x, deep - 1)
    if own.is_Pow:
        base, exponent = own.args
        if not exponent.has(x):
            return _turned(base, sp.Pow(value, 1 / exponent), x, deep - 1)
        if not base.has(x):
            return _turned(exponent, sp.log(value) / sp.log(base), x, deep - 1)
    return None


def tidied(formula: sp.Expr, first: Iterable[sp.Symbol] = ()) -> sp.Expr:
    """A product of powers with what has one exponent under one: G·(C/k)^a.

    Args:
        formula: what to write.
        first: symbols that stand apart from the others: the givens.
    """
    apart = set(first)
    groups: dict[tuple[sp.Expr, bool], sp.Expr] = {}
    for base, exponent in flat(formula).as_powers_dict().items():
        if base.is_Add or not base.is_positive:
            base, exponent = sp.Pow(base, exponent), sp.S.One
        given = bool(base.free_symbols & apart)
        own = sp.factor(exponent)
        if own.could_extract_minus_sign():
            base, own = 1 / base, -own
        groups[own, given] = groups.get((own, given), sp.S.One) * base
    constant = next((key for key in groups if not groups[key].free_symbols and key[0] != 1), None)
    if constant is not None and (constant[0], True) in groups:
        groups[constant[0], True] *= groups.pop(constant)
    return sp.Mul(*(sp.Pow(base, own) for (own, _), base in groups.items()))
