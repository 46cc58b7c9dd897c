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
from lawdsl.proof.rules.am_gm import means
from lawdsl.proof.signs.limits import at_infinity, at_zero
from lawdsl.proof.signs.monomials import expanded, log_slope, merged
from lawdsl.proof.signs.sign import Sign

if TYPE_CHECKING:
    from lawdsl.proof.signs.calculus import Signs

MEANS = 2  # depth of rules on sums down to which several good terms pay together

Terms = list[tuple[sp.Expr, Sign]]


@dataclass(frozen=True)
class Largest:
    """The supremum of a ratio, as an expression in the symbols that did not have to be moved.

    `attained` says whether the ratio has that value at a point of the box: None where that is not
    known. `corner` is the place, symbol by symbol.
    """

    value: sp.Expr
    attained: bool | None
    corner: tuple[tuple[sp.Symbol, sp.Expr], ...]

    @property
    def place(self) -> str:
        return ", ".join(
            f"{s} {'->' if at.is_infinite else '='} {text(at)}" for s, at in self.corner
        )


def paid(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of a sum whose terms pay for one another, or None.

    All is multiplied out; if that does not help, all but sums of parameters, 1 - a.
    """
    tried: list[sp.Expr] | None = None
    for whole in (False, True):
        found = expanded(signs, e, whole=whole)
        if found is None or found[1] == tried:
            continue
        _, tried = found  # the common factor is positive
        sign = _of_terms(signs, tried, telling=e in signs.telling)
        if sign is not None:
            return sign
    return None


def _of_terms(signs: Signs, terms: list[sp.Expr], *, telling: bool) -> Sign | None:
    signed = [(term, signs.sign(term)) for term in terms]
    good = [(t, f) for t, f in signed if f.within(Sign.NONNEGATIVE)]
    bad = [(-t, -f) for t, f in signed if f.within(Sign.NONPOSITIVE) and f != Sign.ZERO]
    if len(good) + len(bad) < len(terms):
        return None
    found = _settle(signs, good, bad, telling)
    if found is None:
        found = _settle(signs, bad, good, telling)
        found = None if found is None else -found
    return found


def _settle(signs: Signs, good: Terms, bad: Terms, telling: bool) -> Sign | None:
    """The sign of Σ good - Σ bad, if every bad term can be paid with a good one of its own.

    bad <= value·good <= good. It is less than good where good is not 0 and value < 1, or where the
    ratio stays below its supremum.
    """
    free = list(good)
    strict = False
    notes = []
    for term, sign in bad:
        for taken, share, ratio in _payers(signs, term, sign, free):
            top = largest(signs, ratio)
            if top is None:
                continue
            left = signs.sign(merge_powers(1 - top.value))
            if left.within(Sign.NONNEGATIVE):
                over = left == Sign.POSITIVE or top.attained is False
                strict = strict or (over and all(f == Sign.POSITIVE for _, f in taken))
                free = [payer for payer in free if payer not in taken]
                notes.append(_told(term, share, top, over))
                break
        else:
            return None
    if telling:
        signs.notes += notes
    strict = strict or any(f == Sign.POSITIVE for _, f in free)
    return Sign.POSITIVE if strict else Sign.NONNEGATIVE


def _payers(
    signs: Signs, bad: sp.Expr, sign: Sign, free: Terms
) -> Iterator[tuple[Terms, sp.Expr, sp.Expr]]:
    """Good terms that may pay for a bad one: who, their sum, and the ratio that must not exceed 1."""
    for payer in free:
        yield [payer], payer[0], bad / payer[0]
    able = [payer for payer in free if payer[1] == Sign.POSITIVE]
    if sign == Sign.POSITIVE and len(able) > 1 and signs.depth <= MEANS:
        for chosen, ratio in means(signs, [term for term, _ in able], bad):
            taken = [able[i] for i in chosen]
            yield taken, sp.Add(*(term for term, _ in taken)), ratio


def _told(bad: sp.Expr, good: sp.Expr, top: Largest, over: bool) -> str:
    relation = "<" if over else "<="
    bound = "less than" if top.attained is False else "at most"
    where = f", its bound at {top.place}" if top.corner else ""
    return f"{text(bad)} {relation} {text(good)}: the ratio is {bound} {text(top.value)}{where}"


def largest(
    signs: Signs, ratio: sp.Expr, only: Iterable[sp.Symbol] | None = None
) -> Largest | None:
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
            end, beyond = domain.upper, sp.oo
        elif sign.within(Sign.NONPOSITIVE):
            end, beyond = domain.lower, -sp.oo
        else:
            continue
        if end is None:
            moved = at_infinity(signs, ratio, symbol, 1 if beyond == sp.oo else -1)
        else:
            moved = signs.tends(ratio, symbol, end.at)
            if moved is None and end.at.is_zero and not end.closed:
                moved = at_zero(signs, ratio, symbol)
        if moved is None:
            continue
        signs.use(symbol)
        ratio = merged(signs, moved)
        closed = end is not None and end.closed
        if not closed and sign.definite:
            attained = False  # it changes all the way, and does not get there
        elif not closed and sign != Sign.ZERO and attained:
            attained = None  # it may have stopped changing before the end
        place = beyond if end is None else end.at
        corner.append((symbol, place))
    wanted = set(only) if only is not None else set()
    if wanted & ratio.free_symbols or not signs.finite(ratio):
        return None
    return Largest(ratio, attained, tuple(corner))
