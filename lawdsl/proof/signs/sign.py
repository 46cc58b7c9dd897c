"""Sets of possible signs -> the possible signs of sums, products and maxima."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Flag

_SINGLE_SIGNS = (1, 2, 4)  # the bits of -, 0, +


class Sign(Flag):
    """A set of possible signs; UNDEFINED stands for having no finite real value."""

    NONE = 0
    NEGATIVE = 1
    ZERO = 2
    POSITIVE = 4
    UNDEFINED = 8
    NONNEGATIVE = 6
    NONPOSITIVE = 3
    NONZERO = 5
    REAL = 7
    UNKNOWN = 15

    def __neg__(self) -> Sign:
        swapped = self & (Sign.ZERO | Sign.UNDEFINED)
        if self & Sign.NEGATIVE:
            swapped |= Sign.POSITIVE
        if self & Sign.POSITIVE:
            swapped |= Sign.NEGATIVE
        return swapped

    def within(self, other: Sign) -> bool:
        """Whether every sign possible here is possible there."""
        return self & ~other == Sign.NONE

    @property
    def settled(self) -> bool:
        """Whether only one sign is possible."""
        return self in (Sign.POSITIVE, Sign.NEGATIVE, Sign.ZERO)

    @property
    def definite(self) -> bool:
        """Whether it is always positive or always negative."""
        return self in (Sign.POSITIVE, Sign.NEGATIVE)


DOMAINS = {
    "all": Sign.REAL,
    "positive": Sign.POSITIVE,
    "nonnegative": Sign.NONNEGATIVE,
    "nonzero": Sign.NONZERO,
}
"""Domain of a function (`lawdsl.core.functions`) -> the signs that its argument may have."""


def decided(sign: Sign) -> Sign | None:
    """The answer of a rule that yields this sign: None where it excludes no real number."""
    return None if Sign.REAL.within(sign) else sign


def above(limit: Sign, closed: bool) -> Sign:
    """The sign of a quantity greater than a limit of the given sign (or equal to it, if `closed`).

    Args:
        limit: the sign of the limit.
        closed: whether the limit itself is included.
    """
    if limit == Sign.POSITIVE:
        return Sign.POSITIVE
    if limit.within(Sign.NONNEGATIVE):
        return Sign.NONNEGATIVE if closed else Sign.POSITIVE
    return Sign.REAL


def below(limit: Sign, closed: bool) -> Sign:
    """The sign of a quantity less than a limit of the given sign (or equal to it, if `closed`).

    Args:
        limit: the sign of the limit.
        closed: whether the limit itself is included.
    """
    return -above(-limit, closed)


def add(terms: Sequence[Sign]) -> Sign:
    """The sign of a sum: terms of one sign do not cancel, and one strict term makes it strict."""
    if not all(term.within(Sign.REAL) for term in terms):
        return Sign.UNKNOWN
    if all(term.within(Sign.NONNEGATIVE) for term in terms):
        if any(term == Sign.POSITIVE for term in terms):
            return Sign.POSITIVE
        return Sign.ZERO if all(term == Sign.ZERO for term in terms) else Sign.NONNEGATIVE
    if all(term.within(Sign.NONPOSITIVE) for term in terms):
        return -add([-term for term in terms])
    return Sign.REAL


def multiply(one: Sign, other: Sign) -> Sign:
    """The sign of a product: the products of all pairs of possible signs.

    Zero times what may have no value may have no value.

    Args:
        one: the possible signs of one factor.
        other: those of the other factor.
    """
    if not (one.within(Sign.REAL) and other.within(Sign.REAL)):
        return Sign.UNKNOWN
    possible = Sign.NONE
    for a in map(Sign, _SINGLE_SIGNS):
        for b in map(Sign, _SINGLE_SIGNS):
            if a in one and b in other:
                if Sign.ZERO in (a, b):
                    possible |= Sign.ZERO
                else:
                    possible |= Sign.POSITIVE if a == b else Sign.NEGATIVE
    return possible


def largest(parts: Sequence[Sign]) -> Sign:
    """The sign of the largest of several: at least that of each, and equal to one of them."""
    if not all(part.within(Sign.REAL) for part in parts):
        return Sign.UNKNOWN
    if any(part == Sign.POSITIVE for part in parts):
        return Sign.POSITIVE
    possible = Sign.NONE
    for part in parts:
        possible |= part
    if any(part.within(Sign.NONNEGATIVE) for part in parts):
        possible &= Sign.NONNEGATIVE
    return possible
