"""Sum, piece of a box -> its possible signs, by enclosures, also after division by a term.

c + x = c·(1 + x/c): the ratios of terms are enclosed by their logarithms (`log_enclosures`), in
which common factors cancel and unbounded ranges stay bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from lawdsl.compiling.intervals import Interval, add, multiply
from lawdsl.law.algebra import merge_powers
from lawdsl.proof.branch_and_bound.log_enclosures import LogEnclosure
from lawdsl.proof.branch_and_bound.products import (
    REAL_LINE,
    UNIT_INTERVAL,
    Enclosure,
    Factors,
    Piece,
    PowerProduct,
    negative,
)
from lawdsl.proof.signs.monomials import expand_products, merge_bases
from lawdsl.proof.signs.sign import Sign

MAX_DIVIDED_TERMS = 60  # of a sum that is divided by its greatest term


@dataclass(frozen=True)
class SignedTerm:
    """sign·size·rest: a product of nonnegative factors, and a rest whose sign is not known.

    Where the rest has a sign on a piece, the term is `whole`, with the modulus of the rest as a
    part. `vanishes`: the size may be 0 somewhere on the box.
    """

    sign: Sign
    size: PowerProduct
    vanishes: bool
    rest: Enclosure | None = None
    with_rest: PowerProduct | None = None


class EnclosedSum:
    """An expression prepared once for enclosure on many pieces of one box."""

    def __init__(self, factors: Factors, e: sp.Expr) -> None:
        self.factors, self.e = factors, e
        self.enclosure = Enclosure(factors.box, e)

    def sign(self, logs: LogEnclosure, *, expected: Sign = Sign.REAL) -> Sign:
        """The possible signs on a piece; REAL also where the expected sign is unlikely: not tried.

        Args:
            logs: the enclosures on the piece.
            expected: the signs that the caller needs.
        """
        value = self.enclosure.on(logs.piece, bounded=logs.outside)
        sign = Sign.REAL if value is None else sign_within(value)
        # on an open end quotients may have no value; the direct enclosure is one of limits
        if logs.outside:
            return sign
        for terms in (self.terms, self.multiplied_out) if sign == Sign.REAL else ():
            if 1 < len(terms) <= MAX_DIVIDED_TERMS:
                sign = _divided(logs, [_on_piece(term, logs.piece) for term in terms], expected)
            if sign != Sign.REAL:
                break
        return sign

    @cached_property
    def terms(self) -> list[SignedTerm]:
        """The terms of the sum in its given form."""
        return [
            self._term(merge_bases(self.factors.signs, term)) for term in sp.Add.make_args(self.e)
        ]

    @cached_property
    def multiplied_out(self) -> list[SignedTerm]:
        """The expanded sum's terms without their positive common factor; none if equal to
        `terms`."""
        product_form = expand_products(self.factors.signs, self.e)
        terms = [merge_bases(self.factors.signs, term) for term in sp.Add.make_args(self.e)]
        if product_form is None or set(product_form[1]) == set(terms):
            return []
        return [self._term(term) for term in product_form[1]]

    def _term(self, term: sp.Expr) -> SignedTerm:
        size, sign, rest = self.factors.split(term)
        vanishes = self.factors.signs.sign(merge_powers(term / rest)) not in _DEFINITE
        if rest == 1:
            return SignedTerm(sign, size, vanishes)
        with_rest = self.factors.with_modulus(size, rest)
        return SignedTerm(sign, size, vanishes, Enclosure(self.factors.box, rest), with_rest)


_DEFINITE = (Sign.POSITIVE, Sign.NEGATIVE)
LocalTerm = tuple[Sign, PowerProduct, Interval | None, bool]


def _on_piece(term: SignedTerm, piece: Piece) -> LocalTerm:
    """A term on a piece: its sign, a product, an interval that it is multiplied by, and whether
    the product may be 0."""
    if term.rest is None or term.with_rest is None:
        return term.sign, term.size, None, term.vanishes
    rest = term.rest.on(piece)
    sign = Sign.REAL if rest is None else sign_within(rest)
    if sign.definite:
        sign = term.sign if sign == Sign.POSITIVE else -term.sign
        return sign, term.with_rest, None, term.vanishes
    return term.sign, term.size, REAL_LINE if rest is None else rest, term.vanishes


def _divided(logs: LogEnclosure, terms: list[LocalTerm], expected: Sign) -> Sign:
    """The possible signs of Σ t_i on a piece, those of t_m·Σ t_i/t_m for the greatest term t_m."""
    greatest = _greatest(logs, terms)
    if greatest is None or greatest[2] is not None:
        return Sign.REAL
    greatest_sign, below, _, vanishes = greatest
    # a sum with a negative greatest term is hardly ever nonnegative
    if expected == Sign.NONNEGATIVE and greatest_sign == Sign.NEGATIVE:
        return Sign.REAL
    possible = Sign.REAL
    # the second is tighter, but it needs the slopes of all ratios
    for at_monotone_ends in (False, True):
        total = UNIT_INTERVAL
        for term in terms:
            if term is not greatest:
                term_sign, size, rest, _ = term
                ratio = size.over(below)
                bounds = logs.at_monotone_ends(ratio) if at_monotone_ends else logs.value(ratio)
                bounds = bounds if rest is None else multiply(bounds, rest)
                total = add(total, bounds if term_sign == greatest_sign else negative(bounds))
        possible = sign_within(total)
        if possible != Sign.REAL:
            break
    if vanishes and not logs.value(below).low > 0:
        possible |= Sign.ZERO
    return possible if greatest_sign == Sign.POSITIVE else -possible


def _greatest(logs: LogEnclosure, terms: list[LocalTerm]) -> LocalTerm | None:
    """The term of greatest estimated modulus at the middle of a piece; None where all are 0."""
    best, greatest = None, -math.inf
    for term in terms:
        size = logs.log_estimate(term[1])
        if term[2] is not None:
            magnitude = max(abs(float(end.mid())) if end.is_finite() else 0.0 for end in term[2])
            size += math.log(magnitude) if magnitude > 0 else -math.inf
        if size > greatest:
            best, greatest = term, size
    return best


def sign_within(x: Interval) -> Sign:
    """The signs of the numbers in an interval."""
    if x.low.is_nan() or x.high.is_nan():
        return Sign.REAL
    sign = Sign.NEGATIVE if x.low < 0 else Sign.NONE
    sign |= Sign.POSITIVE if x.high > 0 else Sign.NONE
    return sign | (Sign.ZERO if x.low <= 0 <= x.high else Sign.NONE)
