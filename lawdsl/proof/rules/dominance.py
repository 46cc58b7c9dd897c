"""Sums with terms of both signs: a bad term is paid for by a good one.

Each term is a monomial: a number times powers of positive things, the exponents any expressions.
The ratio of a bad to a good term is such a monomial again; where it is monotone in each symbol, it
is largest at a corner of the box, and if it is at most 1 there, the good term outweighs the bad.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

from lawdsl.law.algebra import merge_powers
from lawdsl.law.text import text
from lawdsl.proof.rules.am_gm import am_gm
from lawdsl.proof.signs.limits import at_infinity, at_zero
from lawdsl.proof.signs.monomials import expanded, log_slope, merged
from lawdsl.proof.signs.sign import Sign

if TYPE_CHECKING:
    from lawdsl.proof.signs.calculus import Signs

MAX_AM_GM_DEPTH = 2  # depth of rules on sums down to which several good terms pay together

Terms = list[tuple[sp.Expr, Sign]]


@dataclass(frozen=True)
class Supremum:
    """The supremum of a ratio, as an expression in the symbols that did not have to be moved.

    `attained` says whether the ratio has that value at a point of the box: None where that is not
    known. `corner` is the place, symbol by symbol.
    """

    value: sp.Expr
    attained: bool | None
    corner: tuple[tuple[sp.Symbol, sp.Expr], ...]

    @property
    def location(self) -> str:
        return ", ".join(
            f"{s} {'->' if value.is_infinite else '='} {text(value)}" for s, value in self.corner
        )


def dominated(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of a sum whose terms pay for one another, or None.

    All is multiplied out; if that does not help, all but sums of parameters, 1 - a.
    """
    terms: list[sp.Expr] | None = None
    for keep_parameter_sums in (False, True):
        product_form = expanded(signs, e, keep_parameter_sums=keep_parameter_sums)
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
    """The sign of Σ good - Σ bad, if every bad term can be paid with a good one of its own.

    bad <= value·good <= good. It is less than good where good is not 0 and value < 1, or where the
    ratio stays below its supremum.
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
                free = [payer for payer in free if payer not in dominating]
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
    """Good terms that may pay for a bad one: who, their sum, and the ratio that must not exceed 1."""
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

    The logarithm of the ratio is monotone in a symbol where its derivative has one sign. That is
    asked where the ratio is not 0; on a face where it is, or where both terms are, bad <= value·good
    holds too, both sides being continuous.

    Args:
        signs: of the box.
        ratio: a product of powers.
        only: the symbols to move, all of which must go; all that may be moved when None.

    Returns:
        None where the ratio is not bounded, or not known to be.
    """
    ratio = merged(signs, ratio)
    corner: list[tuple[sp.Symbol, sp.Expr]] = []
    attained: bool | None = True
    for symbol in signs.movable(ratio):
        if (only is not None and symbol not in only) or symbol not in ratio.free_symbols:
            continue
        sign = signs.sign(log_slope(signs, ratio, symbol))
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
            limit = signs.tends(ratio, symbol, end.value)
            if limit is None and end.value.is_zero and not end.closed:
                limit = at_zero(signs, ratio, symbol)
        if limit is None:
            continue
        signs.use(symbol)
        ratio = merged(signs, limit)
        closed = end is not None and end.closed
        if not closed and sign.definite:
            attained = False  # it changes all the way, and does not get there
        elif not closed and sign != Sign.ZERO and attained:
            attained = None  # it may have stopped changing before the end
        coordinate = infinite_end if end is None else end.value
        corner.append((symbol, coordinate))
    required = set(only) if only is not None else set()
    if required & ratio.free_symbols or not signs.finite(ratio):
        return None
    return Supremum(ratio, attained, tuple(corner))
