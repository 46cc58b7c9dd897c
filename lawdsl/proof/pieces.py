"""Law with piecewise formulas -> the laws without, each on its part of the domain.

A condition `greater > less` splits the domain in two. On either part the law is one without the
condition, and the part is a domain with one more bound where the condition can be solved for a
variable or parameter; else the part is not narrowed, and only proofs count, which hold on more than
the part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy as sp

from lawdsl.core.diagnostics import LawdslError
from lawdsl.language.formula_signs import known_signs_of
from lawdsl.language.implied_bounds import bound_of
from lawdsl.language.pieces import Condition, first_condition, settled, settled_law
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Claim
from lawdsl.language.tree import name_of
from lawdsl.law.law import Law
from lawdsl.proof.box import Box
from lawdsl.proof.counterexample import Point, WitnessQuery, find_point
from lawdsl.proof.domain import domain_of
from lawdsl.proof.implied_bounds import exclusion
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

MAX_PIECES = 16  # parts of the domain of one claim


class TooManyPieces(Exception):
    """A claim whose domain has more than `MAX_PIECES` parts."""


@dataclass(frozen=True)
class Settled:
    """A condition that holds on a part of the domain, or does not: `above > 0`, or `above <= 0`.

    Attributes:
        condition: the condition.
        holds: whether it holds.
        above: the difference of its sides, in the law's quantities.
    """

    condition: Condition
    holds: bool
    above: sp.Expr

    @property
    def text(self) -> str:
        """The relation that holds."""
        return self.condition.text(self.holds)

    def query(self, *, inside: bool) -> WitnessQuery:
        """What a point of the part meets; `inside` leaves out where both sides are equal."""
        signs = (1,) if self.holds else (-1,) if inside else (-1, 0)
        return WitnessQuery(self.above, signs)


@dataclass(frozen=True)
class Piece:
    """A part of the domain of a claim, with the law and the claim that hold there.

    Attributes:
        law: the law, as it is there.
        claim: the claim, as it is there, with the conditions that narrow the domain to the part.
        settled: the conditions that are settled.
    """

    law: Law
    claim: Claim
    settled: tuple[Settled, ...] = ()

    @property
    def text(self) -> str:
        """Its conditions."""
        return " and ".join(one.text for one in self.settled)

    @property
    def box(self) -> Box:
        """The domain of its claim."""
        return domain_of(self.law, self.claim)

    def condition(self) -> Condition | None:
        """A condition that is not settled yet; None where there is none."""
        found = first_condition((self.claim.claim,), self.law.declarations)
        return None if found is None else found[0]

    def above(self, condition: Condition) -> sp.Expr:
        """The difference of the sides of a condition, in the law's quantities."""
        return self.law.to_sympy(condition.greater) - self.law.to_sympy(condition.less)

    def split(self, condition: Condition) -> dict[bool, Piece]:
        """Whether a condition holds -> the part on which it does so, without one that is certainly
        empty."""
        above, box = self.above(condition), self.box
        sign = SignCalculus(box, valued=True).sign(box.independent(above))
        parts: dict[bool, Piece] = {}
        for holds in (True, False):
            if sign.within(Sign.NONPOSITIVE if holds else Sign.POSITIVE):
                continue
            certain = sign.within(Sign.POSITIVE if holds else Sign.NONPOSITIVE)
            part = self.where(condition, holds, certain=certain)
            if not _certainly_empty(part.box):
                parts[holds] = part
        return parts

    def where(self, condition: Condition, holds: bool, *, certain: bool = False) -> Piece:
        """The part on which a condition holds, or does not.

        Args:
            condition: the condition.
            holds: whether it holds.
            certain: whether it does so on the whole of this part.
        """
        law = replace(
            self.law, declarations=settled_law(self.law.declarations, condition, holds), root=None
        )
        claim = replace(self.claim, claim=settled(self.claim.claim, condition, holds))
        if certain:  # all of it: nothing to say
            return Piece(law, claim, self.settled)
        known = (*self.settled, Settled(condition, holds, self.above(condition)))
        return Piece(law, _narrowed(self.law, claim, condition, holds), known)

    def point(self, near: Point | None = None, *, inside: bool = False) -> Point | None:
        """A verified point of the part, with the quantities that its conditions are made of.

        Args:
            near: quantities that keep their values; None for any point.
            inside: whether points are left out at which both sides of a condition are equal.
        """
        queries = [one.query(inside=inside) for one in self.settled]
        if near is None:
            return find_point(self.box, queries)
        return find_point(
            self.box, queries, near=near, accept=lambda point: near.items() <= point.items()
        )

    def symbols_of(self, witness: Sequence[tuple[str, str]]) -> Point:
        """A witness as a verdict has it, as a point."""
        named = {s.name: s for s in self.law.symbols.values()}
        named |= {s.name: s for s in self.box.relations}
        return {named[name]: Fraction(number) for name, number in witness}


def pieces_of(law: Law, claim: Claim) -> Iterator[Piece]:
    """The parts of the domain of a claim on which no condition is left open.

    Args:
        law: the law.
        claim: the claim.

    Raises:
        TooManyPieces: more than `MAX_PIECES`.
    """
    waiting, count = [Piece(law, claim)], 0
    while waiting:
        piece = waiting.pop()
        condition = piece.condition()
        if condition is not None:
            waiting += reversed(piece.split(condition).values())
        else:
            count += 1
            yield piece
        if len(waiting) + count > MAX_PIECES:
            raise TooManyPieces


def _certainly_empty(box: Box) -> bool:
    return box.contradiction() is not None or (box.tied and exclusion(box) is not None)


def _narrowed(law: Law, claim: Claim, condition: Condition, holds: bool) -> Claim:
    """The claim on a part of its domain; unchanged where its bound is not that of one quantity."""
    known_signs = known_signs_of(law.declarations.symbols, dict(law.given))
    variables = [q.name for q in law.variables]
    parameters = [q.name for q in reversed(law.parameters)]
    for name in (*variables, *parameters):
        bound = bound_of(
            name, condition.greater, ">" if holds else "<=", condition.less, known_signs
        )
        if bound is None:
            continue
        try:
            used = {s.name for s in law.to_sympy(bound[1]).free_symbols}
        except LawdslError:
            continue
        # the limit of a parameter does not change with a variable, and no bounds go round in a circle
        if name in parameters and used & set(variables):
            continue
        if name in _behind(law, claim, used):
            continue
        return replace(claim, conditions=(*claim.conditions, (name, (bound,))))
    return claim


def _behind(law: Law, claim: Claim, names: set[str]) -> set[str]:
    """Some quantities, and those that their bounds and the conditions of a claim on them name."""
    limits: dict[str, set[str]] = {
        q.name: {s.name for b in q.bounds for s in b.limit.free_symbols}
        for q in (*law.variables, *law.parameters)
    }
    for named, relations in claim.conditions:
        for _, limit in relations:
            used = {s.name for s in law.to_sympy(limit).free_symbols}
            limits.setdefault(name_of(named), set()).update(used)
    behind: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in behind:
            behind.add(name)
            waiting += limits.get(name, ())
    return behind


def sides_text(condition: Condition) -> str:
    """Both sides of a condition as equal: where its parts meet."""
    return " = ".join(map(print_formula, condition.sides))
