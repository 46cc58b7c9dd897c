"""Sums with terms of both signs: each negative term is dominated by a positive one.

For monomials g, b > 0 (numbers times powers of positive expressions, with any exponents): g - b >=
0 if sup b/g <= 1. The ratio is a monomial again; where x·∂log(b/g)/∂x has one sign for each symbol
x, the supremum is the value, or the limit, at a corner of the box. Several positive terms together
dominate a negative one by the inequality of means (`am_gm`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import sympy as sp

from lawdsl.law.algebra import merge_powers
from lawdsl.law.text import text
from lawdsl.proof.rules.am_gm import am_gm
from lawdsl.proof.rules.monotone import is_strictly_monotone
from lawdsl.proof.signs.interface import Signs
from lawdsl.proof.signs.limits import at_infinity, at_zero
from lawdsl.proof.signs.monomials import expand_products, log_slope, merge_bases
from lawdsl.proof.signs.sign import Sign

MAX_AM_GM_DEPTH = 2  # nesting of rules on sums down to which `am_gm` is tried: its systems are slow

Terms = list[tuple[sp.Expr, Sign]]


@dataclass(frozen=True)
class Supremum:
    """The supremum of a ratio over some symbols, as an expression in the others.

    Attributes:
        value: the supremum.
        attained: whether the ratio has that value at a point of the box; None: not known.
        corner: the value or limit of each symbol at which it is approached.
    """

    value: sp.Expr
    attained: bool | None
    corner: tuple[tuple[sp.Symbol, sp.Expr], ...]

    @property
    def location(self) -> str:
        """The corner as text: `x = 1, y -> oo`."""
        return ", ".join(
            f"{s} {'->' if value.is_infinite else '='} {text(value)}" for s, value in self.corner
        )


def dominated(signs: Signs, e: sp.Expr) -> Sign | None:
    """Σ g_i - Σ b_j >= 0 if every b_j is at most its own g, or set of them; None: not known.

    The sum is multiplied out; if that does not help, all but sums of parameters (1 - a).
    """
    terms: list[sp.Expr] | None = None
    for keep_parameter_sums in (False, True):
        product_form = expand_products(signs, e, keep_parameter_sums=keep_parameter_sums)
        if product_form is None or product_form[1] == terms:
            continue
        _, terms = product_form  # the common factor is positive
        sign = _of_terms(signs, terms, explain=e in signs.explained)
        if sign is not None:
            return sign
    return None


def _of_terms(signs: Signs, terms: list[sp.Expr], *, explain: bool) -> Sign | None:
    signed = [(term, signs.sign(term)) for term in terms]
    positive = [(t, f) for t, f in signed if f.within(Sign.NONNEGATIVE)]
    negative = [(-t, -f) for t, f in signed if f.within(Sign.NONPOSITIVE) and f != Sign.ZERO]
    if len(positive) + len(negative) < len(terms):
        return None
    sign = _sign_of_difference(signs, positive, negative, explain)
    if sign is None:
        sign = _sign_of_difference(signs, negative, positive, explain)
        sign = None if sign is None else -sign
    return sign


def _sign_of_difference(
    signs: Signs, positive: Terms, negative: Terms, explain: bool
) -> Sign | None:
    """The sign of Σ positive - Σ negative, if each negative term b has a dominating g of its own.

    b <= sup(b/g)·g <= g. It is strictly less where g is not 0 and sup(b/g) < 1, or where the
    supremum is not attained. Terms are assigned greedily, in the order of the sum.
    """
    free = list(positive)
    strict = False
    notes = []
    for term, sign in negative:
        for dominating, dominating_sum, ratio in _dominating_terms(signs, term, sign, free):
            bound = supremum(signs, ratio)
            if bound is None:
                continue
            margin = signs.sign(merge_powers(1 - bound.value))
            if margin.within(Sign.NONNEGATIVE):
                is_strict = margin == Sign.POSITIVE or bound.attained is False
                strict = strict or (is_strict and all(f == Sign.POSITIVE for _, f in dominating))
                # each positive term may dominate one negative term only
                free = [candidate for candidate in free if candidate not in dominating]
                notes.append(_note(term, dominating_sum, bound, is_strict))
                break
        else:
            return None
    if explain:
        signs.notes += notes
    strict = strict or any(f == Sign.POSITIVE for _, f in free)
    return Sign.POSITIVE if strict else Sign.NONNEGATIVE


def _dominating_terms(
    signs: Signs, negative: sp.Expr, sign: Sign, free: Terms
) -> Iterator[tuple[Terms, sp.Expr, sp.Expr]]:
    """Candidates that may dominate a negative term: the terms, their sum, and the ratio that must
    not exceed 1."""
    for candidate in free:
        yield [candidate], candidate[0], negative / candidate[0]
    candidates = [candidate for candidate in free if candidate[1] == Sign.POSITIVE]
    if sign == Sign.POSITIVE and len(candidates) > 1 and signs.depth <= MAX_AM_GM_DEPTH:
        for chosen, ratio in am_gm(signs, [term for term, _ in candidates], negative):
            dominating = [candidates[i] for i in chosen]
            yield dominating, sp.Add(*(term for term, _ in dominating)), ratio


def _note(negative: sp.Expr, positive: sp.Expr, top: Supremum, is_strict: bool) -> str:
    relation = "<" if is_strict else "<="
    comparison = "less than" if top.attained is False else "at most"
    where = f", its bound at {top.location}" if top.corner else ""
    return f"{text(negative)} {relation} {text(positive)}: the ratio is {comparison} {text(top.value)}{where}"


def supremum(
    signs: Signs, ratio: sp.Expr, only: Iterable[sp.Symbol] | None = None
) -> Supremum | None:
    """The supremum of the ratio of two terms, both finite and of one sign on the box.

    log(ratio) is monotone in a symbol x where x·∂log(ratio)/∂x has one sign. The derivative is
    taken where the ratio is not 0; on a face where it is 0, or where both terms are, b <= value·g
    holds by continuity.

    Args:
        signs: the signs on the box.
        ratio: a product of powers.
        only: the symbols over which the supremum is taken, all of which must be eliminated; None:
            as many as can be.

    Returns:
        None where the ratio is not bounded, or not known to be.
    """
    ratio = merge_bases(signs, ratio)
    corner: list[tuple[sp.Symbol, sp.Expr]] = []
    attained: bool | None = True
    for symbol in signs.movable(ratio):
        if (only is not None and symbol not in only) or symbol not in ratio.free_symbols:
            continue
        slope = log_slope(signs, ratio, symbol)
        sign = signs.sign(slope)
        domain = signs.box.range(symbol)
        if sign.within(Sign.NONNEGATIVE):
            end, infinite_end = domain.upper, sp.oo
        elif sign.within(Sign.NONPOSITIVE):
            end, infinite_end = domain.lower, -sp.oo
        else:
            continue
        if end is None:
            limit = at_infinity(signs, ratio, symbol, 1 if infinite_end == sp.oo else -1)
        else:
            limit = signs.limit_at(ratio, symbol, end.value)
            if limit is None and end.value.is_zero and not end.closed:
                limit = at_zero(signs, ratio, symbol)
        if limit is None:
            continue
        closed = end is not None and end.closed
        # it changes all the way, and does not get there; at x = 0, x·∂log(ratio)/∂x is 0
        if not closed and (sign.definite or is_strictly_monotone(signs, slope, symbol)):
            attained = False
        elif not closed and sign != Sign.ZERO and attained:
            attained = None  # it may have stopped changing before the end
        signs.use(symbol)
        ratio = merge_bases(signs, limit)
        coordinate = infinite_end if end is None else end.value
        corner.append((symbol, coordinate))
    required = set(only) if only is not None else set()
    if required & ratio.free_symbols or not signs.finite(ratio):
        return None
    return Supremum(ratio, attained, tuple(corner))
