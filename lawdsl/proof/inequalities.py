"""Comparisons and trends: is an expression positive, or not negative, on the whole box?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy as sp

from lawdsl.core.time_limit import OutOfTime, time_limit
from lawdsl.law.text import text
from lawdsl.proof.box import Box
from lawdsl.proof.branch_and_bound.subdivision import SYMBOLS, Covered, cover
from lawdsl.proof.counterexample import Point, Wanted, certain_sign, find_point, shown_value
from lawdsl.proof.definedness import AnyDoubt
from lawdsl.proof.goals import Goal
from lawdsl.proof.signs.boundary import place_of_equality
from lawdsl.proof.signs.calculus import Signs
from lawdsl.proof.signs.conditions import condition_for
from lawdsl.proof.signs.sign import Sign
from lawdsl.proof.verdict import Needs, Verdict, proved, refuted, undecided

PIECES = 2000  # of boxes, that one look at a goal may take
NOTES = 3  # lines of a proof between what is shown and what it rests on


@dataclass(frozen=True)
class _Reading:
    """One way to look at a goal: `larger`, in independent symbols, on a box; `said` for the proof.

    `valued`: with settings at their values, not only of their signs.
    """

    box: Box
    larger: sp.Expr
    quantity: sp.Expr
    valued: bool = False
    said: str | None = None

    def signs(self, *, pieces: int = 0, thorough: bool = True) -> Signs:
        telling = sp.Mul.make_args(self.larger)
        return Signs(self.box, telling, valued=self.valued, pieces=pieces, thorough=thorough)


class Search:
    """The search for a point that contradicts a goal.

    Attributes:
        found: the point, where all parts of the claim have values; None where there is none yet.
    """

    def __init__(self, box: Box, goal: Goal, parts: Sequence[AnyDoubt]) -> None:
        self.box, self.goal, self.parts = box, goal, parts
        self.wanted = [Wanted(goal.larger, (-1, 0) if goal.strict else (-1,))]
        self.rejected = False
        self.found = find_point(box, self.wanted, accept=self._accepts)

    def again(
        self, doubted: Sequence[AnyDoubt], near: Mapping[sp.Symbol, Fraction] | None = None
    ) -> None:
        """Search once more: only the parts that are in doubt need a certain value at the point."""
        self.parts = doubted
        if near is not None or self.rejected:
            self.found = find_point(self.box, self.wanted, accept=self._accepts, near=near)

    def _accepts(self, point: Point) -> bool:
        accepted = all(part.holds(self.box, point) for part in self.parts)
        self.rejected = self.rejected or not accepted
        return accepted

    def refuted(self) -> Verdict:
        """The verdict at the point, with the certain value of what the claim speaks of there."""
        assert self.found is not None
        value = shown_value(self.box, self.goal.quantity, self.found)
        return refuted(self.found, f"{self.goal.shown} {value}")


def compare(
    box: Box, goal: Goal, doubted: Sequence[AnyDoubt], search: Search, seconds: float
) -> Verdict:
    """Find a point that contradicts it; else prove it, by rules or by numbers.

    What fails may hold inside the domain, or for some parameters, or nowhere.

    Args:
        box: the domain.
        goal: what is to be positive.
        doubted: parts of the claim that may have no value; a witness is a point where they have.
        search: for a witness; its first points have been tried.
        seconds: the time for the whole; each attempt takes a part of it.
    """
    readings = list(_readings(box, goal))
    if readings[0].larger == 0 and goal.strict:
        return replace(refuted({}, f"{goal.shown} is 0 everywhere"), never=True)
    blame = None
    if search.found is None:
        search.again(doubted)
    if search.found is None:
        verdict, blame, near = _proof(goal, readings, seconds)
        if verdict is not None:
            return verdict
        if near is not None:
            search.again(doubted, near)
    found = search.found
    if found is not None and doubted:
        return search.refuted()  # what else is said of it supposes that it has a value
    if found is not None and certain_sign(box, goal.larger, found) == 0:
        verdict = _inside(goal, readings, found, seconds / 4)
        if verdict is not None:
            return verdict
    for reading in readings:
        verdict = _under_condition(goal, reading, seconds / 4)
        if verdict is not None:
            return verdict
    if found is not None:
        return replace(search.refuted(), never=_never(goal, readings, seconds / 10))
    if goal.larger.has(sp.DiracDelta):
        return undecided(f"{goal.shown} has no value at a kink")
    return undecided(f"the sign of {text(blame or readings[0].larger)} is not known")


def _proof(
    goal: Goal, readings: Sequence[_Reading], seconds: float
) -> tuple[Verdict | None, sp.Expr | None, Mapping[sp.Symbol, Fraction] | None]:
    """A proof; or what is to blame that there is none, and a point where the claim seems to fail.

    The quick rules come first, then all rules, for a proof that can be followed, then rules that may
    look at pieces; they get more time where numbers fail.
    """
    blame = near = None
    numbers_help = len(readings[-1].larger.free_symbols - set(readings[-1].box.settings)) <= SYMBOLS
    rounds = (
        (PIECES, False, 0.1),
        (0, True, 0.2),
        (PIECES, True, 0.1),
        (PIECES, True, 0.2 if numbers_help else 0.6),
    )
    for pieces, thorough, share in rounds:
        for reading in readings:
            signs = reading.signs(pieces=pieces, thorough=thorough)
            if _holds(signs, reading.larger, goal.strict, share * seconds):
                notes = list(dict.fromkeys(signs.notes))[:NOTES]
                steps = [*_stated(goal, reading), *notes]
                return proved(steps, reading.box.facts, signs.used()), None, None
            blame = blame or signs.blame
        if near is None and pieces and thorough:
            last = readings[-1]
            covered = _covered(last, 0.4 * seconds)
            if covered.sign.within(Sign.POSITIVE if goal.strict else Sign.NONNEGATIVE):
                step = f"its sign is certain on each of {covered.pieces} pieces of the domain"
                used = last.larger.free_symbols
                return proved([*_stated(goal, last), step], last.box.facts, used), None, None
            near = covered.point
        if near is not None:
            break
    return None, blame, near


def _inside(
    goal: Goal, readings: Sequence[_Reading], found: Point, seconds: float
) -> Verdict | None:
    """The verdict on what is 0 at a point, if it is positive but for a face of the domain."""
    for reading in readings:
        signs: list[Signs] = []

        def proves(box: Box, reading: _Reading = reading, signs: list[Signs] = signs) -> bool:
            signs.append(replace(reading, box=box).signs(pieces=PIECES))
            return _holds(signs[-1], reading.larger, True, seconds)

        place = place_of_equality(reading.box, reading.larger, found, proves)
        if place is not None:
            steps = [*_stated(goal, reading), *signs[-1].notes[:NOTES]]
            verdict = proved(steps, reading.box.facts, signs[-1].used())
            return replace(verdict, verdict="inside", face=place)
    return None


def _never(goal: Goal, readings: Sequence[_Reading], seconds: float) -> bool:
    """Whether the opposite of a claim is proved: it holds nowhere."""
    opposite = replace(goal, larger=-goal.larger, strict=not goal.strict)
    return any(
        _holds(reading.signs(), -reading.larger, opposite.strict, seconds) for reading in readings
    )


def _readings(box: Box, goal: Goal) -> Iterator[_Reading]:
    """The most general first: lets as symbols, lets written out, settings at their values."""
    larger, quantity = goal.larger, goal.quantity
    yield _Reading(box, box.independent(larger), quantity)
    written = box.without_lets(larger)
    if written != larger:
        larger, quantity = written, box.without_lets(quantity)
        yield _Reading(box, box.independent(larger), quantity)
    within = larger.free_symbols | box.fixed()
    if within & set(box.settings):
        used = [(s, float(v)) for s, v in box.settings.items() if s in within]
        values = ", ".join(f"{s} = {v:g}" for s, v in used)
        yield _Reading(box, box.independent(larger), quantity, True, f"with {values}")


def _covered(reading: _Reading, seconds: float) -> Covered:
    """The goal piece by piece; nothing is known where it takes too long."""
    try:
        with time_limit(seconds):
            return cover(reading.box, reading.larger)
    except OutOfTime:
        return Covered(Sign.REAL, 0)


def _holds(signs: Signs, e: sp.Expr, strict: bool, seconds: float) -> bool:
    """Whether the calculus of signs shows e > 0 (not strict: e >= 0) in the time given."""
    try:
        with time_limit(seconds):
            return signs.sign(e).within(Sign.POSITIVE if strict else Sign.NONNEGATIVE)
    except OutOfTime:
        return False


def _under_condition(goal: Goal, reading: _Reading, seconds: float) -> Verdict | None:
    """Conditional, where some admissible parameters satisfy the condition; proved, where all do."""
    if not reading.box.parameters & reading.larger.free_symbols:
        return None
    signs = reading.signs()
    try:
        with time_limit(seconds):
            found = condition_for(signs, reading.larger, goal.strict)
    except OutOfTime:
        return None
    if found is None:
        return None
    steps = [*_stated(goal, reading), *found.steps]
    if _holds(signs, found.positive, found.strict, seconds):
        return proved([*steps, f"{found.shown} is always true"], reading.box.facts, signs.used())
    if not found.positive.free_symbols - set(reading.box.settings):
        return None  # settings have their values: there is nothing to choose
    if find_point(reading.box, [Wanted(found.positive, (1,))]) is None:
        return None
    needs = Needs(reading.box.declared(found.positive), found.strict)
    return Verdict(
        "",
        "conditional",
        proof=tuple(steps),
        condition=found.shown,
        exact=found.exact,
        needs=needs,
    )


def _stated(goal: Goal, reading: _Reading) -> list[str]:
    """The quantity as it is looked at, and what its symbols stand for."""
    lines = [f"{goal.shown} = {text(reading.quantity)}"]
    slack = reading.box.slack
    coupled = [s for s in sorted(reading.quantity.free_symbols, key=str) if s in slack]
    if coupled:
        lines.append("write " + ", ".join(f"{s} = {text(slack[s])}" for s in coupled))
    return lines + ([reading.said] if reading.said else [])
