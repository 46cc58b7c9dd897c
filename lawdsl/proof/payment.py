"""Sums with terms of both signs: a bad term is paid for by a good one.

Each term is a monomial: a number times powers of positive things, the exponents any expressions.
The ratio of a bad to a good term is such a monomial again; where it is monotone in each symbol, it
is largest at a corner of the box, and if it is at most 1 there, the good term outweighs the bad.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

from lawdsl.formulas import text
from lawdsl.law import derivative, merge_powers
from lawdsl.proof.monomials import expanded, merged, powers
from lawdsl.proof.sign import Sign

if TYPE_CHECKING:
    from lawdsl.proof.signs import Signs

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
        return ", ".join(f"{s} = {text(at)}" for s, at in self.corner)


def paid(signs: Signs, e: sp.Expr) -> Sign | None:
    """The sign of a sum whose terms pay for one another, or None."""
    found = expanded(signs, e)
    if found is None:
        return None
    _, terms = found  # the common factor is positive
    return _of_terms(signs, terms, telling=e in signs.telling)


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
    for term, _ in bad:
        for candidate in free:
            top = largest(signs, term / candidate[0])
            if top is None:
                continue
            left = signs.sign(merge_powers(1 - top.value))
            if left.within(Sign.NONNEGATIVE):
                over = left == Sign.POSITIVE or top.attained is False
                strict = strict or (over and candidate[1] == Sign.POSITIVE)
                free.remove(candidate)
                notes.append(_told(term, candidate[0], top, over))
                break
        else:
            return None
    if telling:
        signs.notes += notes
    strict = strict or any(f == Sign.POSITIVE for _, f in free)
    return Sign.POSITIVE if strict else Sign.NONNEGATIVE


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
        slope = _log_slope(ratio, symbol)
        if signs.sign(symbol).within(Sign.NONNEGATIVE):
            slope = _times(symbol, slope)  # so that it has a value where the symbol is 0
        sign = signs.sign(slope)
        domain = signs.box.range(symbol)
        if sign.within(Sign.NONNEGATIVE):
            end = domain.upper
        elif sign.within(Sign.NONPOSITIVE):
            end = domain.lower
        else:
            continue
        if end is None:
            continue
        moved = signs.tends(ratio, symbol, end.at)
        if moved is None:
            continue
        signs.use(symbol)
        ratio = merged(signs, moved)
        if not end.closed and sign.definite:
            attained = False  # it changes all the way, and does not get there
        elif not end.closed and sign != Sign.ZERO and attained:
            attained = None  # it may have stopped changing before the end
        corner.append((symbol, end.at))
    wanted = set(only) if only is not None else set()
    if wanted & ratio.free_symbols or not signs.finite(ratio):
        return None
    return Largest(ratio, attained, tuple(corner))


def _log_slope(ratio: sp.Expr, symbol: sp.Symbol) -> sp.Expr:
    """The derivative of log(ratio): of base^exponent, exponent'·log(base) + exponent·base'/base."""
    total = []
    for base, exponent in powers(ratio):
        if symbol in exponent.free_symbols:
            total.append(derivative(exponent, symbol) * sp.log(base))
        if symbol in base.free_symbols:
            total.append(merge_powers(exponent * derivative(base, symbol) / base))
    return sp.Add(*total)


def _times(symbol: sp.Symbol, e: sp.Expr) -> sp.Expr:
    return sp.Add(*(merge_powers(symbol * term) for term in sp.Add.make_args(e)))
