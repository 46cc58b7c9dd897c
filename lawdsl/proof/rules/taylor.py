"""Sums that are nonnegative at an end of a range, and whose derivatives are, too.

If f(a) >= 0 and f' = p·g with p > 0 and g >= 0 on (a, b), then f >= 0 there (the mean value theorem
applied repeatedly; Rudin (1976), Principles of Mathematical Analysis, 3rd ed., theorem 5.11). The
condition on g is shown in the same manner, down to a g whose terms are of one sign: for e^x - 1 - x
these are e^x - 1 and e^x. Common positive factors p are removed from each derivative, so a
polynomial beside an exponential loses a degree each time, and in the end it vanishes.
"""

from __future__ import annotations

import sympy as sp

from lawdsl.law.algebra import derivative
from lawdsl.law.functions import KINKED
from lawdsl.law.text import text
from lawdsl.proof.box import Endpoint
from lawdsl.proof.rules.monotone import between_bounds, has_isolated_zeros
from lawdsl.proof.rules.stationary_points import without_content
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.limits import at_infinity, limit
from lawdsl.proof.signs.monomials import expand_products
from lawdsl.proof.signs.sign import Sign, add

MAX_DERIVATIVES = 10  # a polynomial beside an exponential may have one degree less
MAX_TAYLOR_OPERATIONS = 80  # operations of a sum
MAX_DERIVATIVE_TERMS = 24  # of one reduced derivative


def by_repeated_derivatives(signs: Signs, e: sp.Expr) -> Sign | None:
    """f >= 0 on (a, b) if f(a), g_1(a), …, g_n >= 0, where g_k' = p_k·g_(k+1) and p_k > 0.

    Tried from both ends of the range of each symbol, and for -f.
    """
    if e.count_ops() > MAX_TAYLOR_OPERATIONS or e.has(*KINKED):
        return None
    start = _positive_multiple(signs, _without_tanh(e))
    if start is None:
        return None
    for symbol in signs.movable(start):
        domain = signs.box.range(symbol)
        for end, direction in ((domain.lower, 1), (domain.upper, -1)):
            sign = _sign_by_derivatives(signs, e, start, symbol, end, direction)
            if sign is not None:
                signs.use(symbol)
                return sign
    return None


def _sign_by_derivatives(
    signs: Signs,
    e: sp.Expr,
    start: sp.Expr,
    symbol: sp.Symbol,
    end: Endpoint | None,
    direction: int,
) -> Sign | None:
    """The sign on the range by the values at one of its ends; None: the infinite one."""
    reduced = start
    values: list[Sign] = []  # of each reduced derivative at the end
    while len(values) < MAX_DERIVATIVES:
        value = _at_end(signs, reduced, symbol, end, direction)
        if not any(value.within(side) for side in _SIDES):
            return None
        values.append(value)
        # values on both sides of 0: later derivatives cannot change that
        if not any(all(v.within(side) for v in values) for side in _SIDES):
            return None
        next_reduced = _positive_multiple(signs, direction * derivative(reduced, symbol))
        if next_reduced is None:
            return None
        reduced = next_reduced
        last = _sign_of_last(signs, reduced, symbol)
        for side in _SIDES:
            if last.within(side) and all(v.within(side) for v in values):
                _add_note(signs, e, symbol, end, reduced, len(values))
                return _of(values, last, end)
    return None


def _without_tanh(e: sp.Expr) -> sp.Expr:
    """tanh(u) = (exp(2·u) - 1)/(exp(2·u) + 1): reduced derivatives of exponentials get simpler."""
    replacements = {
        t: (sp.exp(2 * t.args[0]) - 1) / (sp.exp(2 * t.args[0]) + 1) for t in e.atoms(sp.tanh)
    }
    return e.xreplace(replacements) if replacements else e


def _sign_of_last(signs: Signs, reduced: sp.Expr, symbol: sp.Symbol) -> Sign:
    """The sign of a reduced derivative by its terms, or between the bounds of one: 1 - cos(x).

    Where it is nonnegative with isolated zeros, it counts as positive: its antiderivative is
    strictly increasing.
    """
    sign = add([signs.sign(term) for term in sp.Add.make_args(reduced)])
    if reduced.is_Add and not any(sign.within(side) for side in _SIDES):
        sign = between_bounds(signs, reduced) or sign
    if sign in _SIDES and has_isolated_zeros(signs, reduced, symbol):
        return sign & ~Sign.ZERO
    return sign


_SIDES = (Sign.NONNEGATIVE, Sign.NONPOSITIVE)


def _of(values: list[Sign], last: Sign, end: Endpoint | None) -> Sign:
    """The sign on the range: strict inside if any of these signs is, at a closed end if the first
    value is."""
    strictly = any(sign.definite for sign in (*values, last))
    side = next(side for side in _SIDES if all(x.within(side) for x in (*values, last)))
    if not strictly or end is not None and end.closed and not values[0].definite:
        return side
    return side & ~Sign.ZERO


def _positive_multiple(signs: Signs, e: sp.Expr) -> sp.Expr | None:
    """The expression divided by a positive factor: common powers of its terms, and denominators."""
    if e.is_Mul:
        e = sp.Mul(*(f for f in e.args if signs.sign(f) != Sign.POSITIVE))
    if not e.is_Add:
        return e if signs.finite(e) else None
    product_form = expand_products(signs, e)
    if product_form is None or len(product_form[1]) > MAX_DERIVATIVE_TERMS:
        return None
    rest = sp.Add(*without_content(signs, product_form[1]))
    return rest if signs.finite(rest) else None


def _at_end(
    signs: Signs, e: sp.Expr, symbol: sp.Symbol, end: Endpoint | None, direction: int
) -> Sign:
    if symbol not in e.free_symbols:
        return signs.sign(e)
    if end is None:
        value = at_infinity(signs, e, symbol, -direction)
    else:
        value = signs.at(e, symbol, end)
        if value is None:
            value = limit(signs, e, {symbol: end.value})
    return Sign.UNKNOWN if value is None or value.is_infinite else signs.sign(value)


def _add_note(
    signs: Signs, e: sp.Expr, symbol: sp.Symbol, end: Endpoint | None, reduced: sp.Expr, order: int
) -> None:
    if e in signs.explained:
        location = (
            f"as {symbol} grows without bound"
            if end is None
            else f"at {symbol} = {text(end.value)}"
        )
        count = (
            "the sum"
            if order == 1
            else f"the sum and {order - 1} derivatives, each over a positive factor,"
        )
        signs.notes.append(
            f"{count} start from one side of 0 {location}; the next derivative has the sign of {text(reduced)}"
        )
