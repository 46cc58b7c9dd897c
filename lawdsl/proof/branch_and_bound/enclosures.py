"""The sign of an expression on pieces of a box: as it is, and divided by the greatest of its terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from lawdsl.compiling.intervals import Interval, add, multiply
from lawdsl.law.algebra import merge_powers
from lawdsl.proof.branch_and_bound.log_enclosures import View
from lawdsl.proof.branch_and_bound.products import (
    ANYTHING,
    UNIT,
    Enclosure,
    Parts,
    Piece,
    Product,
    negative,
)
from lawdsl.proof.signs.monomials import expanded, merged
from lawdsl.proof.signs.sign import Sign

TERMS = 60  # of a sum that is divided by one of them


@dataclass(frozen=True)
class Term:
    """sign·size·rest: a product of parts that are not negative, and what has no plain sign.

    Where the rest has a sign on a piece, the term is `whole`, with the modulus of the rest as a
    part. `vanishes`: the size may be 0 somewhere on the box.
    """

    sign: Sign
    size: Product
    vanishes: bool
    rest: Enclosure | None = None
    whole: Product | None = None


class EnclosedSum:
    """An expression whose sign is wanted on many pieces."""

    def __init__(self, parts: Parts, e: sp.Expr) -> None:
        self.parts, self.e = parts, e
        self.whole = Enclosure(parts.box, e)

    def sign(self, view: View, *, wanted: Sign = Sign.REAL) -> Sign:
        """The possible signs on a piece; REAL too where it does not seem to be the wanted one."""
        value = self.whole.on(view.piece, bounded=view.outside)
        found = Sign.REAL if value is None else sign_within(value)
        if view.outside:
            return found
        for terms in (self.terms, self.multiplied_out) if found == Sign.REAL else ():
            if 1 < len(terms) <= TERMS:
                found = _divided(view, [_here(term, view.piece) for term in terms], wanted)
            if found != Sign.REAL:
                break
        return found

    @cached_property
    def terms(self) -> list[Term]:
        """The sum as it is."""
        return [self._term(merged(self.parts.signs, term)) for term in sp.Add.make_args(self.e)]

    @cached_property
    def multiplied_out(self) -> list[Term]:
        """The sum multiplied out, but for a positive factor; nothing where that is the same."""
        found = expanded(self.parts.signs, self.e)
        own = [merged(self.parts.signs, term) for term in sp.Add.make_args(self.e)]
        if found is None or set(found[1]) == set(own):
            return []
        return [self._term(term) for term in found[1]]

    def _term(self, term: sp.Expr) -> Term:
        size, sign, rest = self.parts.split(term)
        vanishes = self.parts.signs.sign(merge_powers(term / rest)) not in _DEFINITE
        if rest == 1:
            return Term(sign, size, vanishes)
        whole = self.parts.with_modulus(size, rest)
        return Term(sign, size, vanishes, Enclosure(self.parts.box, rest), whole)


_DEFINITE = (Sign.POSITIVE, Sign.NEGATIVE)
Here = tuple[Sign, Product, Interval | None, bool]


def _here(term: Term, piece: Piece) -> Here:
    """A term on a piece: its sign, a product, an interval that it is multiplied by, and whether
    the product may be 0."""
    if term.rest is None or term.whole is None:
        return term.sign, term.size, None, term.vanishes
    rest = term.rest.on(piece)
    sign = Sign.REAL if rest is None else sign_within(rest)
    if sign.definite:
        sign = term.sign if sign == Sign.POSITIVE else -term.sign
        return sign, term.whole, None, term.vanishes
    return term.sign, term.size, ANYTHING if rest is None else rest, term.vanishes


def _divided(view: View, terms: list[Here], wanted: Sign) -> Sign:
    """The signs of a sum of terms on a piece, by the sum divided by its greatest term."""
    greatest = _greatest(view, terms)
    if greatest is None or greatest[2] is not None:
        return Sign.REAL
    own, below, _, vanishes = greatest
    if wanted == Sign.NONNEGATIVE and own == Sign.NEGATIVE:
        return Sign.REAL
    found = Sign.REAL
    for narrowly in (False, True):
        total = UNIT
        for term in terms:
            if term is not greatest:
                sign, size, rest, _ = term
                ratio = size.over(below)
                bounds = view.narrowly(ratio) if narrowly else view.value(ratio)
                bounds = bounds if rest is None else multiply(bounds, rest)
                total = add(total, bounds if sign == own else negative(bounds))
        found = sign_within(total)
        if found != Sign.REAL:
            break
    if vanishes and not view.value(below).low > 0:
        found |= Sign.ZERO
    return found if own == Sign.POSITIVE else -found


def _greatest(view: View, terms: list[Here]) -> Here | None:
    """The greatest term, about the middle of a piece; None where they are all 0."""
    best, greatest = None, -math.inf
    for term in terms:
        size = view.about(term[1])
        if term[2] is not None:
            far = max(abs(float(end.mid())) if end.is_finite() else 0.0 for end in term[2])
            size += math.log(far) if far > 0 else -math.inf
        if size > greatest:
            best, greatest = term, size
    return best


def sign_within(x: Interval) -> Sign:
    """The signs of the numbers in an interval."""
    if x.low.is_nan() or x.high.is_nan():
        return Sign.REAL
    found = Sign.NEGATIVE if x.low < 0 else Sign.NONE
    found |= Sign.POSITIVE if x.high > 0 else Sign.NONE
    return found | (Sign.ZERO if x.low <= 0 <= x.high else Sign.NONE)
