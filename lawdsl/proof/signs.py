"""The sign of an expression on a box, symbolically, for all parameters at once.

The sign is a set of the possible ones among -, 0, +, and of "may be undefined". Each rule is true
on the whole box; where no rule says more, the answer is everything. A definite answer includes that
the expression is defined and finite everywhere on the box.
"""

from __future__ import annotations

from enum import Flag

import sympy as sp

from lawdsl.formulas import text
from lawdsl.law import derivative, merge_powers
from lawdsl.proof.box import Box, End
from lawdsl.proof.limits import at_infinity

STEPS = 3000  # rules applied for one claim
DEPTH = 3  # of end points within end points


class Sign(Flag):
    """A set of possible signs."""

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


class Signs:
    """Signs on one box.

    Attributes:
        box: the domain.
        telling: the expression of which the notes are to speak.
        notes: the steps that settled its sign, where they are more than its parts' signs.
        blame: the smallest sub-expression found whose sign is not known although its parts' are.
    """

    def __init__(self, box: Box, telling: sp.Expr | None = None) -> None:
        self.box = box
        self.telling = telling
        self.notes: list[str] = []
        self.blame: sp.Expr | None = None
        self.depth = 0
        self._known: dict[sp.Expr, Sign] = {}
        self._steps = 0
        self._fixed = box.fixed()

    def sign(self, e: sp.Expr) -> Sign:
        """The possible signs of an expression on the box."""
        if e in self._known:
            return self._known[e]
        self._steps += 1
        if self._steps > STEPS:
            return Sign.UNKNOWN
        found = self._sign(e)
        open_question = found in (Sign.REAL, Sign.UNKNOWN)
        if not open_question or self.depth == 0:
            self._known[e] = found  # deeper failures may only be for want of depth
        if open_question and self.depth == 0:
            self._blame(e)
        return found

    def finite(self, e: sp.Expr) -> bool:
        """Whether the expression has a finite real value on the whole box."""
        return self.sign(e).within(Sign.REAL)

    def _blame(self, e: sp.Expr) -> None:
        if self.blame is None or e.count_ops() < self.blame.count_ops():
            self.blame = e

    def _sign(self, e: sp.Expr) -> Sign:
        if e.has(sp.zoo, sp.nan, sp.oo, sp.S.NegativeInfinity, sp.I):
            return Sign.UNKNOWN
        if e.is_number:
            return _number(e)
        if e.is_Symbol:
            return self._symbol(e)
        if e.is_Add:
            return self._sum(e)
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(e.base, e.exp)
        if len(e.args) == 1 or isinstance(e, (sp.Min, sp.Max)):
            return self._function(e)
        return Sign.UNKNOWN

    def _symbol(self, e: sp.Expr) -> Sign:
        found = Sign.REAL
        domain = self.box.range(e)
        if domain.lower is not None:
            found &= _above(self.sign(domain.lower.at), domain.lower.closed)
        if domain.upper is not None:
            found &= -_above(-self.sign(domain.upper.at), domain.upper.closed)
        return found

    def _sum(self, e: sp.Expr) -> Sign:
        terms = [self.sign(term) for term in e.args]
        found = _add(terms)
        if found in (Sign.POSITIVE, Sign.NEGATIVE, Sign.ZERO, Sign.UNKNOWN) or self.depth >= DEPTH:
            return found
        self.depth += 1
        try:
            between = self._between_ends(e)
            if between is not None or found != Sign.REAL:
                return found if between is None else found & between
            from lawdsl.proof.payment import paid

            return paid(self, e) or self._by_end_points(e) or found
        finally:
            self.depth -= 1

    def _between_ends(self, e: sp.Expr) -> Sign | None:
        """If e is affine in a symbol with two finite ends, it lies between its values there."""
        for symbol in self.movable(e):
            domain = self.box.range(symbol)
            if domain.lower is None or domain.upper is None:
                continue
            if symbol in derivative(e, symbol).free_symbols:
                continue
            ends = [merge_powers(e.xreplace({symbol: x.at})) for x in (domain.lower, domain.upper)]
            one, other = (self.sign(end) for end in ends)
            for definite in (Sign.POSITIVE, Sign.NEGATIVE, Sign.NONNEGATIVE, Sign.NONPOSITIVE):
                if one.within(definite) and other.within(definite):
                    return definite
        return None

    def _product(self, e: sp.Expr) -> Sign:
        found = Sign.POSITIVE
        for factor in e.args:
            found = _multiply(found, self.sign(factor))
        return found

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Sign:
        below, above = self.sign(base), self.sign(exponent)
        if not (below.within(Sign.REAL) and above.within(Sign.REAL)):
            return Sign.UNKNOWN
        if below == Sign.POSITIVE:
            return Sign.POSITIVE
        if below.within(Sign.NONNEGATIVE):
            return below if above == Sign.POSITIVE else Sign.UNKNOWN
        if exponent.is_Integer:
            if exponent < 0 and not below.within(Sign.NONZERO):
                return Sign.UNKNOWN
            if exponent % 2:
                return below
            return (below & Sign.ZERO) | Sign.POSITIVE
        return Sign.UNKNOWN

    def _function(self, e: sp.Expr) -> Sign:
        parts = [self.sign(part) for part in e.args]
        if not all(part.within(Sign.REAL) for part in parts):
            return Sign.UNKNOWN
        x = parts[0]
        match e:
            case sp.exp():
                return Sign.POSITIVE
            case sp.log():
                if x != Sign.POSITIVE:
                    return Sign.UNKNOWN
                return self.sign(e.args[0] - 1)
            case sp.atan() | sp.tanh():
                return x
            case sp.sin() | sp.cos():
                return Sign.REAL
            case sp.Abs():
                return (x & Sign.ZERO) | (Sign.POSITIVE if x & Sign.NONZERO else Sign.NONE)
            case sp.sign():
                return x
            case sp.Heaviside():
                return {Sign.POSITIVE: Sign.POSITIVE, Sign.NEGATIVE: Sign.ZERO}.get(
                    x, Sign.NONNEGATIVE
                )
            case sp.Max():
                return _largest(parts)
            case sp.Min():
                return -_largest([-part for part in parts])
        return Sign.UNKNOWN

    def movable(self, e: sp.Expr) -> list[sp.Symbol]:
        """The symbols of an expression that may be moved through their ranges, by name."""
        free = e.free_symbols - self._fixed
        return sorted(free, key=lambda s: (s not in self.box.variables, s.name))

    def _by_end_points(self, e: sp.Expr) -> Sign | None:
        """If e only falls (or only rises) as one symbol moves, its values at the ends bound it."""
        for symbol in self.movable(e):
            slope = self.sign(derivative(e, symbol))
            domain = self.box.range(symbol)
            if slope.within(Sign.NONNEGATIVE):
                least, most = domain.lower, domain.upper
            elif slope.within(Sign.NONPOSITIVE):
                least, most = domain.upper, domain.lower
            else:
                continue
            strict = Sign.ZERO not in slope
            low = self._at_end(e, symbol, least, rising=slope.within(Sign.NONNEGATIVE), low=True)
            if low.within(Sign.NONNEGATIVE):
                open_end = least is None or not least.closed
                return self._tell(e, symbol, least, _beyond(low, strict and open_end))
            high = self._at_end(e, symbol, most, rising=slope.within(Sign.NONNEGATIVE), low=False)
            if high.within(Sign.NONPOSITIVE):
                open_end = most is None or not most.closed
                return self._tell(e, symbol, most, -_beyond(-high, strict and open_end))
        return None

    def _at_end(
        self, e: sp.Expr, symbol: sp.Symbol, end: End | None, *, rising: bool, low: bool
    ) -> Sign:
        """The sign of e where the symbol reaches an end of its range, infinite ones included."""
        if end is not None:
            return self.sign(merge_powers(e.xreplace({symbol: end.at})))
        toward_plus = rising != low
        value = at_infinity(self, e, symbol, 1 if toward_plus else -1)
        return Sign.UNKNOWN if value is None else self.sign(value)

    def _tell(self, e: sp.Expr, symbol: sp.Symbol, end: End | None, found: Sign) -> Sign:
        if e == self.telling:
            place = "its infinite end" if end is None else f"{symbol} = {text(end.at)}"
            self.notes.append(f"{text(e)} is monotone in {symbol}; its bound is at {place}")
        return found


def _number(e: sp.Expr) -> Sign:
    for sign, known in (
        (Sign.POSITIVE, e.is_positive),
        (Sign.NEGATIVE, e.is_negative),
        (Sign.ZERO, e.is_zero),
    ):
        if known:
            return sign
    return Sign.UNKNOWN if not e.is_real else Sign.REAL


def _above(limit: Sign, closed: bool) -> Sign:
    """The sign of what lies above a limit of this sign."""
    if limit == Sign.POSITIVE:
        return Sign.POSITIVE
    if limit.within(Sign.NONNEGATIVE):
        return Sign.NONNEGATIVE if closed else Sign.POSITIVE
    return Sign.REAL


def _beyond(limit: Sign, strictly: bool) -> Sign:
    """The sign of what is at least (strictly: more than) a nonnegative limit."""
    return Sign.POSITIVE if strictly or limit == Sign.POSITIVE else Sign.NONNEGATIVE


def _add(terms: list[Sign]) -> Sign:
    if not all(term.within(Sign.REAL) for term in terms):
        return Sign.UNKNOWN
    if all(term.within(Sign.NONNEGATIVE) for term in terms):
        if any(term == Sign.POSITIVE for term in terms):
            return Sign.POSITIVE
        return Sign.ZERO if all(term == Sign.ZERO for term in terms) else Sign.NONNEGATIVE
    if all(term.within(Sign.NONPOSITIVE) for term in terms):
        return -_add([-term for term in terms])
    return Sign.REAL


def _multiply(one: Sign, other: Sign) -> Sign:
    if not (one.within(Sign.REAL) and other.within(Sign.REAL)):
        return Sign.UNKNOWN
    found = Sign.NONE
    for a in (Sign.NEGATIVE, Sign.ZERO, Sign.POSITIVE):
        for b in (Sign.NEGATIVE, Sign.ZERO, Sign.POSITIVE):
            if a in one and b in other:
                if Sign.ZERO in (a, b):
                    found |= Sign.ZERO
                else:
                    found |= Sign.POSITIVE if a == b else Sign.NEGATIVE
    return found


def _largest(parts: list[Sign]) -> Sign:
    if any(part == Sign.POSITIVE for part in parts):
        return Sign.POSITIVE
    if all(part.within(Sign.NONPOSITIVE) for part in parts):
        return Sign.NEGATIVE if all(p == Sign.NEGATIVE for p in parts) else Sign.NONPOSITIVE
    return Sign.NONNEGATIVE if any(p.within(Sign.NONNEGATIVE) for p in parts) else Sign.REAL
