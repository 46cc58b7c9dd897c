"""Sums that start from 0 at an end of a range and rise from there, as the derivative does in turn.

If f(a) >= 0 and f' = p·g with p > 0 and g > 0, then f > 0 beyond a. The same is asked of g, down to
a g whose terms are of one sign: for e^x - 1 - x the rungs are e^x - 1 and e^x. What all terms have in
common is left out of each g; so a polynomial beside an exponential loses a degree on each rung, and
in the end it is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from lawdsl.law.algebra import derivative
from lawdsl.law.text import text
from lawdsl.proof.box import End
from lawdsl.proof.rules.monotone import between_bounds, isolated_zeros
from lawdsl.proof.rules.stationary_points import KINKED, without_content
from lawdsl.proof.signs.limits import at_infinity, limit
from lawdsl.proof.signs.monomials import expanded
from lawdsl.proof.signs.sign import Sign, add

if TYPE_CHECKING:
    from lawdsl.proof.signs.calculus import Signs

RUNGS = 10
LONG = 80  # operations of a sum
TERMS = 24  # of one rung


def by_ladder(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of a sum by those of its derivatives at one end of a symbol's range."""
    if e.count_ops() > LONG or e.has(*KINKED):
        return None
    start = _positive_multiple(signs, _without_tanh(e))
    if start is None:
        return None
    for symbol in signs.movable(start):
        domain = signs.box.range(symbol)
        for end, way in ((domain.lower, 1), (domain.upper, -1)):
            found = _climbed(signs, e, start, symbol, end, way)
            if found is not None:
                signs.use(symbol)
                return found
    return None


def _climbed(
    signs: Signs, e: sp.Expr, start: sp.Expr, symbol: sp.Symbol, end: End | None, way: int
) -> Sign | None:
    """The sign along the way from an end of the range; the infinite one for None."""
    rung = start
    values: list[Sign] = []  # at the end, of each rung
    while len(values) < RUNGS:
        value = _at_end(signs, rung, symbol, end, way)
        if not any(value.within(side) for side in _SIDES):
            return None
        values.append(value)
        if not any(all(v.within(side) for v in values) for side in _SIDES):
            return None
        after = _positive_multiple(signs, way * derivative(rung, symbol))
        if after is None:
            return None
        rung = after
        last = _plain(signs, rung, symbol)
        for side in _SIDES:
            if last.within(side) and all(v.within(side) for v in values):
                _tell(signs, e, symbol, end, rung, len(values))
                return _of(values, last, end)
    return None


def _without_tanh(e: sp.Expr) -> sp.Expr:
    """tanh(u) as (exp(2·u) - 1)/(exp(2·u) + 1): exponentials alone get simpler on each rung."""
    places = {
        t: (sp.exp(2 * t.args[0]) - 1) / (sp.exp(2 * t.args[0]) + 1) for t in e.atoms(sp.tanh)
    }
    return e.xreplace(places) if places else e


def _plain(signs: Signs, rung: sp.Expr, symbol: sp.Symbol) -> Sign:
    """The sign of a rung by those of its terms, or between the bounds of one: 1 - cos(x).

    Where it is not negative, and its zeros are isolated, it is taken for positive: what it is the
    slope of rises all the way.
    """
    found = add([signs.sign(term) for term in sp.Add.make_args(rung)])
    if rung.is_Add and not any(found.within(side) for side in _SIDES):
        found = between_bounds(signs, rung) or found
    if found in _SIDES and isolated_zeros(signs, rung, symbol):
        return found & ~Sign.ZERO
    return found


_SIDES = (Sign.NONNEGATIVE, Sign.NONPOSITIVE)


def _of(values: list[Sign], last: Sign, end: End | None) -> Sign:
    """The sign on the range: strict beyond the end if any of these is, at a closed end if the first
    value is."""
    strictly = any(sign.definite for sign in (*values, last))
    side = next(side for side in _SIDES if all(x.within(side) for x in (*values, last)))
    if not strictly or end is not None and end.closed and not values[0].definite:
        return side
    return side & ~Sign.ZERO


def _positive_multiple(signs: Signs, e: sp.Expr) -> sp.Expr | None:
    """The expression over a positive factor: what its terms have in common, and denominators."""
    if e.is_Mul:
        e = sp.Mul(*(f for f in e.args if signs.sign(f) != Sign.POSITIVE))
    if not e.is_Add:
        return e if signs.finite(e) else None
    found = expanded(signs, e)
    if found is None or len(found[1]) > TERMS:
        return None
    rest = sp.Add(*without_content(signs, found[1]))
    return rest if signs.finite(rest) else None


def _at_end(signs: Signs, e: sp.Expr, symbol: sp.Symbol, end: End | None, way: int) -> Sign:
    if symbol not in e.free_symbols:
        return signs.sign(e)
    if end is None:
        value = at_infinity(signs, e, symbol, -way)
    else:
        value = signs.at(e, symbol, end)
        if value is None:
            value = limit(signs, e, {symbol: end.at})
    return Sign.UNKNOWN if value is None or value.is_infinite else signs.sign(value)


def _tell(
    signs: Signs, e: sp.Expr, symbol: sp.Symbol, end: End | None, rung: sp.Expr, height: int
) -> None:
    if e in signs.telling:
        at = f"as {symbol} grows without bound" if end is None else f"at {symbol} = {text(end.at)}"
        count = (
            "the sum"
            if height == 1
            else f"the sum and {height - 1} derivatives, each over a positive factor,"
        )
        signs.notes.append(
            f"{count} start from one side of 0 {at}; the next derivative has the sign of {text(rung)}"
        )
