"""Limits by rules on the expression, for exponents and coefficients of known sign.

A value is a finite expression, or SymPy's oo or -oo, or None where no rule applies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from lawdsl.law import merge_powers

if TYPE_CHECKING:
    from lawdsl.proof.signs import Signs

Value = sp.Expr | None


def at_infinity(signs: Signs, e: sp.Expr, symbol: sp.Symbol, direction: int) -> Value:
    """The limit of e as the symbol goes to infinity, if it is finite; None otherwise."""
    value = limit(signs, e, symbol, sp.oo if direction > 0 else -sp.oo)
    return None if value is None or value.is_infinite else value


def limit(signs: Signs, e: sp.Expr, symbol: sp.Symbol, to: sp.Expr) -> Value:
    """The limit of e as the symbol goes to a value or to ±oo within its range."""
    if symbol not in e.free_symbols:
        return e
    if e == symbol:
        return to
    if e.is_Add:
        return _sum([limit(signs, term, symbol, to) for term in e.args])
    if e.is_Mul:
        return _product(signs, [limit(signs, factor, symbol, to) for factor in e.args])
    if e.is_Pow:
        base = limit(signs, e.base, symbol, to)
        exponent = limit(signs, e.exp, symbol, to)
        return _power(signs, base, exponent)
    if isinstance(e, sp.exp):
        inside = limit(signs, e.args[0], symbol, to)
        if inside is None:
            return None
        if inside.is_infinite:
            return sp.oo if inside == sp.oo else sp.S.Zero
        return sp.exp(inside)
    if isinstance(e, sp.log):
        inside = limit(signs, e.args[0], symbol, to)
        if inside is None or inside == sp.oo:
            return inside
        return sp.log(inside) if _is(signs, inside, "positive") else None
    if isinstance(e, sp.tanh):
        inside = limit(signs, e.args[0], symbol, to)
        if inside is None:
            return None
        if inside.is_infinite:
            return sp.S.One if inside == sp.oo else -sp.S.One
        return sp.tanh(inside)
    return None


def _is(signs: Signs, e: sp.Expr, what: str) -> bool:
    from lawdsl.proof.signs import Sign

    return signs.sign(e) == {"positive": Sign.POSITIVE, "negative": Sign.NEGATIVE}[what]


def _sum(terms: list[Value]) -> Value:
    if any(term is None for term in terms):
        return None
    infinite = {term for term in terms if term is not None and term.is_infinite}
    if len(infinite) > 1:
        return None
    return infinite.pop() if infinite else sp.Add(*terms)  # type: ignore[arg-type]


def _product(signs: Signs, factors: list[Value]) -> Value:
    if any(factor is None for factor in factors):
        return None
    finite = sp.Mul(*(f for f in factors if f is not None and not f.is_infinite))
    infinite = [f for f in factors if f is not None and f.is_infinite]
    if not infinite:
        return merge_powers(finite)
    direction = sp.Mul(*(sp.S.One if f == sp.oo else -sp.S.One for f in infinite))
    if _is(signs, finite, "positive"):
        return sp.oo * direction
    if _is(signs, finite, "negative"):
        return -sp.oo * direction
    return None


def _power(signs: Signs, base: Value, exponent: Value) -> Value:
    if base is None or exponent is None:
        return None
    if exponent.is_infinite:
        if base.is_infinite or base.is_zero:
            return None
        if _is(signs, base - 1, "positive"):
            return sp.oo if exponent == sp.oo else sp.S.Zero
        if _is(signs, base, "positive") and _is(signs, base - 1, "negative"):
            return sp.S.Zero if exponent == sp.oo else sp.oo
        return None
    if base == sp.oo:
        if _is(signs, exponent, "positive"):
            return sp.oo
        return sp.S.Zero if _is(signs, exponent, "negative") else None
    if base.is_infinite:
        return None
    if base.is_zero:
        return sp.S.Zero if _is(signs, exponent, "positive") else None
    if not _is(signs, base, "positive") and not exponent.is_Integer:
        return None
    if exponent.is_Integer and exponent < 0 and not _nonzero(signs, base):
        return None
    return sp.Pow(base, exponent)


def _nonzero(signs: Signs, e: sp.Expr) -> bool:
    return _is(signs, e, "positive") or _is(signs, e, "negative")
