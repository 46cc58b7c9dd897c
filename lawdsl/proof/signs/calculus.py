"""(expression, box) -> the set of its possible signs, symbolically, for all parameters at once.

Each rule holds at every point of the box; where no rule applies, every sign is possible. A definite
sign implies that the expression is defined, finite and continuous on the whole box: rules require
that of each part. (Therefore 0^0, sign(0) and the step at 0 have no sign here.)
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
from lawdsl.proof.box import Box, Endpoint, SymbolRange
from lawdsl.proof.branch_and_bound.subdivision import sign_and_pieces
from lawdsl.proof.rules import AFFINE_RULES, MAX_RULE_DEPTH, RULES, Rule
from lawdsl.proof.rules.declared_inequalities import by_declared_inequalities, relations_of
from lawdsl.proof.rules.polynomials import by_simplex_shares
from lawdsl.proof.sign_sampling import SignSampler
from lawdsl.proof.signs.boundary import Face, closed_faces, without_faces
from lawdsl.proof.signs.sign import DOMAINS, Sign, above, add, below, largest, multiply
from lawdsl.proof.signs.trigonometry import PERIODIC, by_half_turns

MAX_EXPRESSIONS = 3000  # expressions examined for one claim
MAX_PIECES_OF_SUM = 400  # pieces of a box, for one sum
MAX_REMOVED_FACES = 2  # faces removed from a box, one after another
MAX_SUBDIVIDED_VARIABLES = 3  # symbols of a sum that is enclosed piece by piece


class SignCalculus:
    """The possible signs of expressions on one box; the implementation of `interface.Signs`.

    Attributes:
        box: the domain.
        evaluated: the symbols that have values: the settings, or none where only their signs count.
        explained: the expressions whose proofs are recorded in `notes`.
        notes: the steps that determined their signs, where the signs of parts did not suffice.
        blame: the smallest sub-expression whose sign is not known although those of its parts are.
        depth: the depth of the active rules on sums; at `MAX_RULE_DEPTH` no further rule is
            applied.
        pieces: how many pieces of boxes may still be enclosed where no rule applies.
        displacing: nesting depth of rules that evaluate points of the box outside the domain;
            relations between symbols (shares sum to 1) are not assumed while it is above 0.
        removed_faces: how many faces were removed from the box; their sets are exponentially many.
        thorough: whether expensive rules are tried too.
    """

    def __init__(
        self,
        box: Box,
        explained: Iterable[sp.Expr] = (),
        *,
        valued: bool = False,
        pieces: int = 0,
        depth: int = 0,
        removed_faces: int = 0,
        thorough: bool = True,
    ) -> None:
        self.box = box
        self.removed_faces = removed_faces
        self.thorough = thorough
        self.evaluated = frozenset(box.settings) if valued else frozenset()
        self.explained = frozenset(explained)
        self.notes: list[str] = []
        self.blame: sp.Expr | None = None
        self.depth = self._outermost = depth
        self.pieces = pieces
        self.displacing = 0
        # a sign proved with declared relations may be false at points outside the domain: these have
        # caches of their own
        self._signs: dict[sp.Expr, tuple[Sign, frozenset[sp.Symbol]]] = {}
        self._signs_anywhere = {} if box.tied else self._signs
        self._by_subdivision: dict[sp.Expr, Sign] = {}
        self._by_subdivision_anywhere = {} if box.tied else self._by_subdivision
        self._used: list[set[sp.Symbol]] = [set()]
        self._steps = 0
        self._fixed = box.fixed() | self.evaluated
        self._sampler = SignSampler(box)
        self._inequalities: list[tuple[sp.Expr, bool]] | None = None

    @property
    def method(self) -> str:
        """How signs were determined: by rules alone, or by subdivision of the box too."""
        known = [*self._by_subdivision.values(), *self._by_subdivision_anywhere.values()]
        by_pieces = any(sign != Sign.REAL for sign in known)
        return "signs and subdivision" if by_pieces else "signs"

    def sign(self, e: sp.Expr) -> Sign:
        """The possible signs of an expression on the box."""
        cache = self._signs_anywhere if self.displacing else self._signs
        if e in cache:
            sign, used = cache[e]
            self._used[-1] |= used
            return sign
        self._steps += 1
        if self._steps > MAX_EXPRESSIONS:
            return Sign.UNKNOWN
        self._used.append(set())
        try:
            sign = self._sign(e)
        finally:
            used = frozenset(self._used.pop())
        undetermined = sign in (Sign.REAL, Sign.UNKNOWN)
        if not undetermined or self.depth == self._outermost:
            cache[e] = sign, used  # a deeper failure may be due to the depth alone
        if undetermined and self.depth == self._outermost:
            self._blame(e)
        if sign != Sign.UNKNOWN:
            self._used[-1] |= used
        return sign

    def finite(self, e: sp.Expr) -> bool:
        """Whether the expression has a finite real value on the whole box."""
        if e.is_Add or e.is_Mul:
            # sums and products of finite parts are finite: no rule on sums is needed
            return all(map(self.finite, e.args))
        return _is_monomial(e) or self.sign(e).within(Sign.REAL)

    def use(self, symbol: sp.Symbol) -> None:
        """Record that the range of a symbol has been used."""
        self._used[-1].add(symbol)

    def with_used(self, question: Callable[[], bool]) -> tuple[bool, frozenset[sp.Symbol]]:
        """The answer to a question, and the symbols whose ranges it depends on.

        Args:
            question: a test that uses these signs.
        """
        self._used.append(set())
        try:
            answer = question()
        finally:
            used = frozenset(self._used.pop())
            self._used[-1] |= used
        return answer, used

    def inequalities(self) -> list[tuple[sp.Expr, bool]]:
        """(r, strict): declared inequalities r > 0 (not strict: r >= 0) on the box."""
        if self._inequalities is None:
            self._inequalities = list(relations_of(self))
        return self._inequalities

    def used(self) -> frozenset[sp.Symbol]:
        """The symbols whose ranges have led to the answers given so far."""
        return frozenset(self._used[0])

    def movable(self, e: sp.Expr) -> list[sp.Symbol]:
        """The symbols of an expression that may be varied through their ranges: variables first."""
        free = e.free_symbols - self._fixed
        return sorted(free, key=lambda s: (s not in self.box.variables, s.name))

    def at(self, e: sp.Expr, symbol: sp.Symbol, end: Endpoint) -> sp.Expr | None:
        """The value or limit, at an end of a range, of an expression that is finite on the box.

        A closed end is a point of the box. At an open one all parts that depend on the symbol must
        be finite at the end too, which makes the expression continuous there.

        Args:
            e: the expression.
            symbol: the symbol.
            end: the end of its range.

        Returns:
            The value or limit; None where it is not known.
        """
        self.use(symbol)
        if end.closed:
            return merge_powers(e.xreplace({symbol: end.value}))
        return self.limit_at(e, symbol, end.value)

    def limit_at(self, e: sp.Expr, symbol: sp.Symbol, to: sp.Expr) -> sp.Expr | None:
        """The limit of an expression as a symbol goes to an end of its range; None: not known.

        Each part is substituted separately, so that SymPy cannot simplify 0·(1/0) or x^0.

        Args:
            e: the expression.
            symbol: the symbol.
            to: the end, which may be oo or -oo.
        """
        limit = self._limit_at(e, symbol, to)
        return None if limit is None else merge_powers(limit)

    def _limit_at(self, e: sp.Expr, symbol: sp.Symbol, to: sp.Expr) -> sp.Expr | None:
        if e == symbol:
            return to
        if symbol not in e.free_symbols:
            return e if self.finite(e) else None
        parts: list[sp.Expr] = []
        for part in e.args:
            limit = self._limit_at(part, symbol, to)
            if limit is None:
                return None
            parts.append(limit)
        row = ROWS.get(type(e))
        if row is not None and row.steps and not self.sign(parts[0]).within(Sign.NONZERO):
            return None  # SymPy has values for sign(0) and for the step at 0
        # the limit of x^y at 0^0 depends on how x and y approach 0
        if e.is_Pow and parts[1].is_zero and not self.sign(parts[0]).within(Sign.NONZERO):
            return None
        # the parts were substituted separately; only their values at the end are combined
        value = e.func(*parts)
        return value if self.finite(value) else None

    def _blame(self, e: sp.Expr) -> None:
        if self.blame is None or e.count_ops() < self.blame.count_ops():
            self.blame = e

    def _sign(self, e: sp.Expr) -> Sign:
        if e.has(sp.zoo, sp.nan, sp.oo, sp.S.NegativeInfinity, sp.I):
            return Sign.UNKNOWN
        if not e.free_symbols - self.evaluated:
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
        """The sign by the ends of the range: x > a >= 0 is positive."""
        sign = Sign.REAL
        domain = self.box.range(e)
        if domain.lower is not None:
            sign &= above(self.sign(domain.lower.value), domain.lower.closed)
        if domain.upper is not None:
            sign &= below(self.sign(domain.upper.value), domain.upper.closed)
        if sign != Sign.REAL:
            self.use(e)
        return sign

    def _sum(self, e: sp.Expr) -> Sign:
        """The terms' signs, where they agree; else the rules on sums of terms that are finite."""
        sign = add([self.sign(term) for term in e.args])
        if sign.settled or sign == Sign.UNKNOWN or self.depth >= MAX_RULE_DEPTH:
            return sign
        if sign in (Sign.NONNEGATIVE, Sign.NONPOSITIVE):
            strict = Sign.POSITIVE if sign == Sign.NONNEGATIVE else Sign.NEGATIVE
            # N = r*M + s is above 0 for N > 0 too, although r*M and s may both be 0
            if by_declared_inequalities(self, e) == strict:
                return strict
            return by_simplex_shares(self, e) or self._off_its_faces(e, sign)
        self.depth += 1
        try:
            for rule in AFFINE_RULES:
                sign &= self._attempt(rule, e) or Sign.REAL
            # sampled points only show that no rule can succeed; they decide no sign
            if sign != Sign.REAL or self._sampler.both_signs(e):
                return sign
            for rule in RULES:
                if rule.expensive and not self.thorough:
                    continue
                stronger = self._attempt(rule, e) if self.depth <= rule.max_depth else None
                if stronger is not None:
                    return stronger
            # last, as it takes longest and its certificate explains nothing to a reader
            return self._by_pieces(e) if self.pieces > 0 else sign
        finally:
            self.depth -= 1

    def without_faces(self, faces: list[Face]) -> SignCalculus:
        """The signs on the box without some of its faces, by rules at the deepest level only."""
        box, removed_faces = without_faces(self.box, faces), self.removed_faces + len(faces)
        inner = SignCalculus(
            box,
            valued=bool(self.evaluated),
            depth=MAX_RULE_DEPTH - 1,
            removed_faces=removed_faces,
            thorough=self.thorough,
        )
        inner.displacing = self.displacing
        return inner

    def on_part(self, box: Box) -> SignCalculus:
        """The signs on a part of the box, with the rules available at this depth."""
        inner = SignCalculus(
            box, valued=bool(self.evaluated), depth=self.depth, thorough=self.thorough
        )
        inner.displacing = self.displacing
        return inner

    def deepest(self) -> SignCalculus:
        """Signs on the box with settings at their values, by rules at the deepest level only."""
        inner = SignCalculus(self.box, valued=True, depth=MAX_RULE_DEPTH - 1)
        inner.displacing = self.displacing
        return inner

    def _off_its_faces(self, e: sp.Expr, weak: Sign) -> Sign:
        """A sum of terms of one sign is not 0 if they vanish on different faces: x and 1 - x."""
        strict = Sign.POSITIVE if weak == Sign.NONNEGATIVE else Sign.NEGATIVE
        outermost = self.depth == self._outermost and self.removed_faces < MAX_REMOVED_FACES
        for face in closed_faces(self.box, e) if outermost else ():
            inner = self.without_faces([face])
            if inner.sign(e) == strict:
                self.depth += 1
                on_face = self.sign(merge_powers(e.xreplace({face.symbol: face.end.value})))
                self.depth -= 1
                if on_face == strict:
                    self.use(face.symbol)
                    for s in inner.used():
                        self.use(s)
                    return strict
        return weak

    def _by_pieces(self, e: sp.Expr) -> Sign:
        """The sign by branch and bound, where there are few symbols, all of which vary."""
        varying = e.free_symbols - self.evaluated
        max_symbols = MAX_SUBDIVIDED_VARIABLES if self.depth == 1 else 1
        ends = {s for r in map(self.box.range, varying) for s in _symbols_of(r)}
        if len(varying) > max_symbols or (varying | ends) & set(self.box.settings) - self.evaluated:
            return Sign.REAL
        signs = self._by_subdivision_anywhere if self.displacing else self._by_subdivision
        if e not in signs:
            # deeper sums are more numerous, and each of them contributes less to the proof
            limit = min(self.pieces, MAX_PIECES_OF_SUM // self.depth**2)
            sign, pieces = sign_and_pieces(self, e, limit=limit)
            self.pieces -= pieces
            signs[e] = sign
            if sign != Sign.REAL and e in self.explained:
                formula = text(e.xreplace(self.box.meaning))
                self.notes.append(f"{formula}: its sign is certain on each of {pieces} pieces")
        for symbol in varying:
            self.use(symbol)
        return signs[e]

    def _attempt(self, rule: Rule, e: sp.Expr) -> Sign | None:
        """A rule's sign; one that fails leaves no symbols recorded as used."""
        before = set(self._used[-1])
        self.displacing += rule.displaces
        try:
            sign = rule.sign(self, e)
        finally:
            self.displacing -= rule.displaces
        if sign is None:
            self._used[-1] = before
        return sign

    def _product(self, e: sp.Expr) -> Sign:
        sign = Sign.POSITIVE
        for factor in e.args:
            sign = multiply(sign, self.sign(factor))
        return sign

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Sign:
        """x^y is positive for x > 0; 0^y is 0 for y > 0; below 0, y must be a whole number.

        0^0 has no sign where y varies. Where y does not vary it comes from a derivative, d(x^1)/dx,
        and is 1, as x^0 is everywhere else (`definedness` checks that no law says 0^0).
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
        """The sign by the function's row: its domain, range, zero and monotonicity."""
        row, x = ROWS[type(e)], e.args[0]
        inside = Sign.REAL if row.domain == "all" and self.finite(x) else self.sign(x)
        if not inside.within(DOMAINS[row.domain]):
            return Sign.UNKNOWN
        if row.divides_by is not None:
            # a pole inside the box: tan(x) has no value where cos(x) is 0
            divisor = getattr(SYMPY, row.divides_by)(x)
            if not self.sign(divisor).within(Sign.NONZERO):
                return Sign.UNKNOWN
        if isinstance(e, PERIODIC):
            return by_half_turns(self, e)
        if row.steps is not None:
            sign = Sign.NONE
            for side, value in zip((Sign.NEGATIVE, Sign.POSITIVE), row.steps, strict=True):
                sign |= self._number(sp.Integer(value)) if side in inside else Sign.NONE
            return sign
        sign = Sign.REAL
        low, high = RANGES[type(e)]
        if low is not None:
            sign &= above(self._number(low), row.reached)
        if high is not None:
            sign &= below(self._number(high), row.reached)
        if row.zero is not None:
            offset = self.sign(x - row.zero)
            if row.monotone:
                sign &= offset if row.monotone > 0 else -offset
            elif offset.within(Sign.NONZERO):
                sign &= Sign.NONZERO
        return sign

    def _number(self, e: sp.Expr) -> Sign:
        """The sign of a number, or of settings at their values: exact, or certain by intervals."""
        if e.is_Rational:
            return Sign.POSITIVE if e > 0 else Sign.NEGATIVE if e < 0 else Sign.ZERO
        for s in e.free_symbols:
            self.use(s)
        symbols = sorted(e.free_symbols, key=str)
        try:
            certified = interval_sign(
                compile_tape([e], symbols), [self.box.settings[s] for s in symbols]
            )
        except LawdslError:
            return Sign.UNKNOWN
        if certified is not None:
            return {-1: Sign.NEGATIVE, 0: Sign.ZERO, 1: Sign.POSITIVE}[certified]
        return Sign.REAL if e.is_real and e.is_finite else Sign.UNKNOWN


def _symbols_of(domain: SymbolRange) -> set[sp.Symbol]:
    ends = (domain.lower, domain.upper)
    return {s for end in ends if end is not None for s in end.value.free_symbols}


def _is_monomial(e: sp.Expr) -> bool:
    """Whether the form alone shows that an expression is finite wherever its symbols are."""
    if e.is_Pow:
        return bool(e.exp.is_Integer and e.exp > 0 and e.base.is_Symbol)
    return bool(e.is_Symbol or e.is_Rational)
