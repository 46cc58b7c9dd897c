"""The sign of an expression on a box, symbolically, for all parameters at once.

Each rule is true at every point of the box; where no rule says more, the answer is every sign. A
definite answer includes that the expression is defined, finite and continuous on the whole box: a
rule asks that of each part. (That is why 0^0, sign(0) and the step at 0 have no sign here.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import sympy as sp

from lawdsl.compiling.interval_evaluation import interval_sign
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.law.algebra import merge_powers
from lawdsl.law.functions import RANGES, ROWS, SYMPY
from lawdsl.law.text import text
from lawdsl.proof.box import Box, End, Range
from lawdsl.proof.rules.cases import by_cases, by_order, by_sides
from lawdsl.proof.rules.declared_inequalities import by_relations, relations_of
from lawdsl.proof.rules.dominance import paid
from lawdsl.proof.rules.monotone import (
    between_bounds,
    between_ends,
    by_common_factor,
    by_end_points,
    by_end_points_of_one,
    by_exponential,
    by_logarithm,
    by_scale,
)
from lawdsl.proof.rules.polynomials import by_orders, by_shares
from lawdsl.proof.rules.squares import by_factors, by_square
from lawdsl.proof.rules.stationary_points import by_stationary
from lawdsl.proof.rules.taylor import by_ladder
from lawdsl.proof.sign_sampling import Glance
from lawdsl.proof.signs.boundary import Face, faces_of, without
from lawdsl.proof.signs.sign import DOMAINS, Sign, above, add, below, largest, multiply
from lawdsl.proof.signs.trigonometry import PERIODIC, by_half_turns

STEPS = 3000  # expressions looked at for one claim
DEPTH = 3  # of rules on sums within rules on sums
PIECES = 400  # of a box, for one sum
PEELED = 2  # faces that a box may be looked at without, one after another
WIDE = 3  # symbols of a sum that is looked at piece by piece

Rule = Callable[["Signs", sp.Expr], Sign | None]

AFFINE_RULES: tuple[Rule, ...] = (by_shares, by_relations, between_ends, between_bounds)
SUM_RULES: tuple[tuple[Rule, int], ...] = (
    (by_common_factor, 3),
    (by_cases, 3),
    (by_exponential, 2),
    (by_end_points_of_one, 3),
    (paid, 3),
    (by_end_points, 3),
    (by_scale, 2),
    (by_square, 2),
    (by_logarithm, 2),
    (by_factors, 1),
    (by_orders, 2),
    (by_stationary, 2),
    (by_ladder, 2),
    (by_order, 1),
    (by_sides, 1),
)
"""What is tried on a sum that is not of one sign already, and on one with terms of both signs, down
to which depth of rules within rules; each may say None."""

COSTLY = frozenset({by_orders, by_stationary, by_ladder, by_order, by_sides})
"""Rules on sums that may take most of a claim's time; a quick look goes without them."""

MOVING = {
    between_ends,
    paid,
    by_end_points,
    by_end_points_of_one,
    by_scale,
    by_stationary,
    by_ladder,
}
"""Rules that move a symbol through its range, whatever the others are."""


class Signs:
    """Signs on one box.

    Attributes:
        box: the domain.
        given: the symbols that have values: the settings, or none where only their signs count.
        telling: the expressions of which the notes are to speak.
        notes: the steps that settled their signs, where they are more than the signs of parts.
        blame: the smallest sub-expression found whose sign is not known although its parts' are.
        depth: of rules on sums that are under way; at `DEPTH` there are none.
        pieces: of boxes, that may still be looked at where no rule says more.
        moving: of rules under way that look at points beyond the domain, though in the box: what is
            declared of several symbols at once (shares sum to 1) may not hold there.
        peeled: faces that the box has been given without; there are exponentially many sets of them.
        thorough: whether costly rules are tried too.
    """

    def __init__(
        self,
        box: Box,
        telling: Iterable[sp.Expr] = (),
        *,
        valued: bool = False,
        pieces: int = 0,
        depth: int = 0,
        peeled: int = 0,
        thorough: bool = True,
    ) -> None:
        self.box = box
        self.peeled = peeled
        self.thorough = thorough
        self.given = frozenset(box.settings) if valued else frozenset()
        self.telling = frozenset(telling)
        self.notes: list[str] = []
        self.blame: sp.Expr | None = None
        self.depth = self._outermost = depth
        self.pieces = pieces
        self._cut: dict[sp.Expr, Sign] = {}
        self.moving = 0
        self._known: dict[sp.Expr, tuple[Sign, frozenset[sp.Symbol]]] = {}
        self._known_anywhere = {} if box.tied else self._known
        self._used: list[set[sp.Symbol]] = [set()]
        self._steps = 0
        self._fixed = box.fixed() | self.given
        self._glance = Glance(box)
        self._inequalities: list[tuple[sp.Expr, bool]] | None = None

    def sign(self, e: sp.Expr) -> Sign:
        """The possible signs of an expression on the box."""
        known = self._known_anywhere if self.moving else self._known
        if e in known:
            found, used = known[e]
            self._used[-1] |= used
            return found
        self._steps += 1
        if self._steps > STEPS:
            return Sign.UNKNOWN
        self._used.append(set())
        try:
            found = self._sign(e)
        finally:
            used = frozenset(self._used.pop())
        open_question = found in (Sign.REAL, Sign.UNKNOWN)
        if not open_question or self.depth == self._outermost:
            known[e] = found, used  # deeper failures may only be for want of depth
        if open_question and self.depth == self._outermost:
            self._blame(e)
        if found != Sign.UNKNOWN:
            self._used[-1] |= used
        return found

    def finite(self, e: sp.Expr) -> bool:
        """Whether the expression has a finite real value on the whole box."""
        if e.is_Add or e.is_Mul:
            return all(map(self.finite, e.args))
        return _polynomial(e) or self.sign(e).within(Sign.REAL)

    def use(self, symbol: sp.Symbol) -> None:
        """Remember that the range of a symbol has been looked at."""
        self._used[-1].add(symbol)

    def with_used(self, question: Callable[[], bool]) -> tuple[bool, frozenset[sp.Symbol]]:
        """The answer to a question, and the symbols whose ranges have led to it."""
        self._used.append(set())
        try:
            answer = question()
        finally:
            used = frozenset(self._used.pop())
            self._used[-1] |= used
        return answer, used

    def inequalities(self) -> list[tuple[sp.Expr, bool]]:
        """What is > 0 (False: >= 0) on the box because it is declared."""
        if self._inequalities is None:
            self._inequalities = list(relations_of(self))
        return self._inequalities

    def used(self) -> frozenset[sp.Symbol]:
        """The symbols whose ranges have led to the answers given so far."""
        return frozenset(self._used[0])

    def movable(self, e: sp.Expr) -> list[sp.Symbol]:
        """The symbols of an expression that may be moved through their ranges: variables first."""
        free = e.free_symbols - self._fixed
        return sorted(free, key=lambda s: (s not in self.box.variables, s.name))

    def at(self, e: sp.Expr, symbol: sp.Symbol, end: End) -> sp.Expr | None:
        """What an expression that is finite on the box has, or tends to, at an end of a range.

        A closed end is a point of the box. At an open one all that depends on the symbol must be
        finite at the end too: then it is continuous there.
        """
        self.use(symbol)
        if end.closed:
            return merge_powers(e.xreplace({symbol: end.at}))
        return self.tends(e, symbol, end.at)

    def tends(self, e: sp.Expr, symbol: sp.Symbol, to: sp.Expr) -> sp.Expr | None:
        """What an expression tends to as a symbol goes to the end of its range; None: not known.

        Every part is looked at by itself, so that nothing is lost where SymPy would simplify:
        0·(1/0), x^0.
        """
        found = self._tends(e, symbol, to)
        return None if found is None else merge_powers(found)

    def _tends(self, e: sp.Expr, symbol: sp.Symbol, to: sp.Expr) -> sp.Expr | None:
        if e == symbol:
            return to
        if symbol not in e.free_symbols:
            return e if self.finite(e) else None
        parts: list[sp.Expr] = []
        for part in e.args:
            found = self._tends(part, symbol, to)
            if found is None:
                return None
            parts.append(found)
        row = ROWS.get(type(e))
        if row is not None and row.steps and not self.sign(parts[0]).within(Sign.NONZERO):
            return None  # SymPy has values for sign(0) and for the step at 0
        if e.is_Pow and parts[1].is_zero and not self.sign(parts[0]).within(Sign.NONZERO):
            return None
        value = e.func(*parts)
        return value if self.finite(value) else None

    def _blame(self, e: sp.Expr) -> None:
        if self.blame is None or e.count_ops() < self.blame.count_ops():
            self.blame = e

    def _sign(self, e: sp.Expr) -> Sign:
        if e.has(sp.zoo, sp.nan, sp.oo, sp.S.NegativeInfinity, sp.I):
            return Sign.UNKNOWN
        if not e.free_symbols - self.given:
            return self._number(e)
        if e.is_Symbol:
            return self._symbol(e)
        if e.is_Add:
            return self._sum(e)
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(e.base, e.exp)
        if isinstance(e, sp.Max):
            return largest([self.sign(part) for part in e.args])
        if isinstance(e, sp.Min):
            return -largest([-self.sign(part) for part in e.args])
        return self._function(e) if type(e) in ROWS else Sign.UNKNOWN

    def _symbol(self, e: sp.Expr) -> Sign:
        """What lies above a positive number is positive, and so on."""
        found = Sign.REAL
        domain = self.box.range(e)
        if domain.lower is not None:
            found &= above(self.sign(domain.lower.at), domain.lower.closed)
        if domain.upper is not None:
            found &= below(self.sign(domain.upper.at), domain.upper.closed)
        if found != Sign.REAL:
            self.use(e)
        return found

    def _sum(self, e: sp.Expr) -> Sign:
        """The terms' signs, where they agree; else the rules on sums of terms that are finite."""
        found = add([self.sign(term) for term in e.args])
        if found.settled or found == Sign.UNKNOWN or self.depth >= DEPTH:
            return found
        if found in (Sign.NONNEGATIVE, Sign.NONPOSITIVE):
            return by_shares(self, e) or self._off_its_faces(e, found)
        self.depth += 1
        try:
            for rule in AFFINE_RULES:
                found &= self._attempt(rule, e) or Sign.REAL
            if found != Sign.REAL or self._glance.both_signs(e):
                return found
            for rule, deepest in SUM_RULES:
                if rule in COSTLY and not self.thorough:
                    continue
                more = self._attempt(rule, e) if self.depth <= deepest else None
                if more is not None:
                    return more
            return self._by_pieces(e) if self.pieces > 0 else found
        finally:
            self.depth -= 1

    def off(self, faces: list[Face]) -> Signs:
        """Signs on the box without some of its faces, by plain rules only."""
        box, peeled = without(self.box, faces), self.peeled + len(faces)
        inner = Signs(
            box,
            valued=bool(self.given),
            depth=DEPTH - 1,
            peeled=peeled,
            thorough=self.thorough,
        )
        inner.moving = self.moving
        return inner

    def inside(self, box: Box) -> Signs:
        """Signs on a part of the box, with the rules that are left at this depth."""
        inner = Signs(box, valued=bool(self.given), depth=self.depth, thorough=self.thorough)
        inner.moving = self.moving
        return inner

    def _off_its_faces(self, e: sp.Expr, found: Sign) -> Sign:
        """A sum of terms of one sign is not 0 where they vanish on different faces: x and 1 - x."""
        strictly = Sign.POSITIVE if found == Sign.NONNEGATIVE else Sign.NEGATIVE
        outermost = self.depth == self._outermost and self.peeled < PEELED
        for face in faces_of(self.box, e) if outermost else ():
            inner = self.off([face])
            if inner.sign(e) == strictly:
                self.depth += 1
                there = self.sign(merge_powers(e.xreplace({face.symbol: face.end.at})))
                self.depth -= 1
                if there == strictly:
                    self.use(face.symbol)
                    for s in inner.used():
                        self.use(s)
                    return strictly
        return found

    def _by_pieces(self, e: sp.Expr) -> Sign:
        """The sign by numbers, where there are few symbols, all of which vary."""
        from lawdsl.proof.branch_and_bound.subdivision import sign_and_pieces

        moving = e.free_symbols - self.given
        wide = WIDE if self.depth == 1 else 1
        ends = {s for r in map(self.box.range, moving) for s in _symbols_of(r)}
        if len(moving) > wide or (moving | ends) & set(self.box.settings) - self.given:
            return Sign.REAL
        if e not in self._cut:
            limit = min(self.pieces, PIECES // self.depth**2)
            found, used = sign_and_pieces(self.box, e, limit=limit)
            self.pieces -= used
            self._cut[e] = found
            if found != Sign.REAL and e in self.telling:
                shown = text(e.xreplace(self.box.meaning))
                self.notes.append(f"{shown}: its sign is certain on each of {used} pieces")
        for symbol in moving:
            self.use(symbol)
        return self._cut[e]

    def _attempt(self, rule: Rule, e: sp.Expr) -> Sign | None:
        """A rule's answer; one that fails has used nothing."""
        before = set(self._used[-1])
        moves = rule in MOVING
        self.moving += moves
        try:
            found = rule(self, e)
        finally:
            self.moving -= moves
        if found is None:
            self._used[-1] = before
        return found

    def _product(self, e: sp.Expr) -> Sign:
        found = Sign.POSITIVE
        for factor in e.args:
            found = multiply(found, self.sign(factor))
        return found

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Sign:
        """x^y is positive for x > 0; 0^y is 0 for y > 0; below 0, y must be a whole number.

        0^0 has no sign where y varies. Where y does not vary it comes from a derivative, d(x^1)/dx,
        and is 1, as x^0 is everywhere else (that a law says 0^0 itself is looked at elsewhere).
        """
        under = self.sign(base)
        if under == Sign.POSITIVE:
            return Sign.POSITIVE if self.finite(exponent) else Sign.UNKNOWN
        if not under.within(Sign.REAL):
            return Sign.UNKNOWN
        if exponent.is_Integer:
            if not exponent.is_positive and not under.within(Sign.NONZERO):
                return Sign.UNKNOWN
            if exponent % 2:
                return under
            return (under & Sign.ZERO) | (Sign.POSITIVE if under & Sign.NONZERO else Sign.NONE)
        if under.within(Sign.NONNEGATIVE):
            over = self.sign(exponent)
            if over == Sign.POSITIVE:
                return under
            if over.within(Sign.NONNEGATIVE) and not exponent.free_symbols & self.box.variables:
                return Sign.NONNEGATIVE
        return Sign.UNKNOWN

    def _function(self, e: sp.Expr) -> Sign:
        """What the function's row says: its domain, its range, its zero, that it is monotone."""
        row, x = ROWS[type(e)], e.args[0]
        inside = Sign.REAL if row.domain == "all" and self.finite(x) else self.sign(x)
        if not inside.within(DOMAINS[row.domain]):
            return Sign.UNKNOWN
        if row.divides_by is not None:
            divisor = getattr(SYMPY, row.divides_by)(x)
            if not self.sign(divisor).within(Sign.NONZERO):
                return Sign.UNKNOWN
        if isinstance(e, PERIODIC):
            return by_half_turns(self, e)
        if row.steps is not None:
            found = Sign.NONE
            for side, value in zip((Sign.NEGATIVE, Sign.POSITIVE), row.steps, strict=True):
                found |= self._number(sp.Integer(value)) if side in inside else Sign.NONE
            return found
        found = Sign.REAL
        low, high = RANGES[type(e)]
        if low is not None:
            found &= above(self._number(low), row.reached)
        if high is not None:
            found &= below(self._number(high), row.reached)
        if row.zero is not None:
            beyond = self.sign(x - row.zero)
            if row.monotone:
                found &= beyond if row.monotone > 0 else -beyond
            elif beyond.within(Sign.NONZERO):
                found &= Sign.NONZERO
        return found

    def _number(self, e: sp.Expr) -> Sign:
        """The sign of a number, or of settings at their values: exact, or certain by intervals."""
        if e.is_Rational:
            return Sign.POSITIVE if e > 0 else Sign.NEGATIVE if e < 0 else Sign.ZERO
        for s in e.free_symbols:
            self.use(s)
        known = sorted(e.free_symbols, key=str)
        try:
            certain = interval_sign(compile_tape([e], known), [self.box.settings[s] for s in known])
        except LawdslError:
            return Sign.UNKNOWN
        if certain is not None:
            return {-1: Sign.NEGATIVE, 0: Sign.ZERO, 1: Sign.POSITIVE}[certain]
        return Sign.REAL if e.is_real and e.is_finite else Sign.UNKNOWN


def _symbols_of(domain: Range) -> set[sp.Symbol]:
    ends = (domain.lower, domain.upper)
    return {s for end in ends if end is not None for s in end.at.free_symbols}


def _polynomial(e: sp.Expr) -> bool:
    """Whether it is finite wherever its symbols are, by its form alone."""
    if e.is_Pow:
        return bool(e.exp.is_Integer and e.exp > 0 and e.base.is_Symbol)
    return bool(e.is_Symbol or e.is_Rational)
