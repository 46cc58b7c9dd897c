"""Claim on a law -> verdict: the order in which the ways to decide are tried."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import sympy as sp

from lawdsl.budget import OutOfTime, time_limit
from lawdsl.diagnostics import Diagnostic
from lawdsl.formulas import text
from lawdsl.language import tree
from lawdsl.language.declared import Claim
from lawdsl.law import Law, load
from lawdsl.proof.box import Box
from lawdsl.proof.conditions import Condition, condition_for
from lawdsl.proof.definedness import AnyDoubt, doubts
from lawdsl.proof.domain import domain_of
from lawdsl.proof.goals import Goal, claim_text, formulas, goal_of
from lawdsl.proof.limits import limit
from lawdsl.proof.reduction import MARGIN, Choice, never, reduce_to
from lawdsl.proof.sampling import Point, Wanted, find_point, value_at
from lawdsl.proof.sign import Sign
from lawdsl.proof.signs import Signs
from lawdsl.proof.verdicts import Check, Verdict

CLAIM_SECONDS = 1.0  # for one claim, unless the caller says otherwise
LINES = 5  # of a proof that is shown


def check(
    law: Law | str,
    *,
    seconds: float = CLAIM_SECONDS,
    on_verdict: Callable[[Verdict], None] | None = None,
) -> Check:
    """Decide every claim that a law makes.

    Args:
        law: the law, or the name or path of one.
        seconds: the time allowed for one claim; a claim that takes longer is undecided.
        on_verdict: called with each verdict as it is reached.
    """
    law = load(law) if isinstance(law, str) else law
    verdicts = []
    for claim in law.claims:
        verdict = check_claim(law, claim, seconds=seconds)
        verdicts.append(verdict)
        if on_verdict is not None:
            on_verdict(verdict)
    return Check(law.name, law.digest, tuple(verdicts), tuple(_unclaimed_doubts(law, seconds)))


def check_claim(law: Law, claim: Claim, *, seconds: float = CLAIM_SECONDS) -> Verdict:
    """Decide one claim of a law.

    Proved means: for every admissible value of the parameters and on the whole domain that the
    claim speaks of, all its formulas have values and the claim is true. Refuted means: a verified
    point of that domain contradicts it.
    """
    began = time.perf_counter()
    try:
        with time_limit(seconds):
            verdict = _Case(law, claim, seconds).decide()
    except OutOfTime:
        verdict = Verdict(claim_text(claim), "undecided", blame=f"not decided within {seconds:g} s")
    return replace(verdict, expect=claim.expect, seconds=time.perf_counter() - began)


@dataclass
class _Case:
    """One claim under decision."""

    law: Law
    claim: Claim
    seconds: float

    def __post_init__(self) -> None:
        self.shown = claim_text(self.claim)
        self.box = domain_of(self.law, self.claim)

    def decide(self) -> Verdict:
        empty = self.box.contradiction()
        if empty is not None:
            return self._undecided(f"the domain is empty: there is no {self.box.facts[empty]}")
        signs = Signs(self.box)
        doubted = doubts(self.law, formulas(self.claim.claim), signs)
        match self.claim.claim:
            case tree.Finite():
                verdict = self._finite(doubted, signs)
            case tree.Limit() as stated:
                verdict = self._limit(stated, signs)
            case tree.Reduction() as stated:
                verdict = self._reduction(stated, signs)
            case stated:
                verdict = self._sign(goal_of(self.law, stated, self.box), doubted)
        if verdict.verdict in ("proved", "conditional"):
            if doubted:
                return self._undecided(doubted[0].blame)
            if self.box.tied and find_point(self.box, []) is None:
                return self._undecided("no point of the domain was found: it may be empty")
        return verdict

    # Verdicts

    def _proved(self, proof: Iterable[str], used: Iterable[sp.Symbol]) -> Verdict:
        lines = tuple(proof)
        order = sorted(used, key=list(self.box.facts).index)
        facts = dict.fromkeys(self.box.facts[s] for s in order)
        if facts:
            lines = (*lines[: LINES - 1], "because " + ", ".join(facts))
        return Verdict(self.shown, "proved", proof=lines[:LINES])

    def _refuted(self, point: Point, value: str, proof: tuple[str, ...] = ()) -> Verdict:
        witness = tuple((s.name, str(v)) for s, v in sorted(point.items(), key=lambda p: str(p[0])))
        return Verdict(self.shown, "refuted", witness=witness, value=value, proof=proof)

    def _undecided(self, blame: str) -> Verdict:
        return Verdict(self.shown, "undecided", blame=blame)

    # Comparisons and trends

    def _sign(self, goal: Goal, doubted: list[AnyDoubt]) -> Verdict:
        """Decide that an expression is positive (or not negative) on the box."""
        e = self.box.independent(goal.larger)
        if e == 0 and goal.strict:
            return Verdict(self.shown, "refuted", value=f"{goal.shown} is 0 everywhere")
        blame = None
        for box, larger, said in self._readings(goal):
            signs = Signs(box, telling=sp.Mul.make_args(larger))
            if self._within(signs, larger, goal.strict, self.seconds / 4):
                return self._proved([*self._stated(goal, larger, said), *_notes(signs)], signs.used())
            blame = blame or signs.blame
        found = find_point(
            self.box,
            [Wanted(goal.larger, (-1, 0) if goal.strict else (-1,))],
            accept=lambda point: all(d.holds(self.box, point) for d in doubted),
        )
        for _, larger, _ in self._readings(goal)[:2]:
            condition = self._condition(larger, goal.strict)
            if condition is not None:
                proof = (*self._stated(goal, larger, None), *condition.steps)
                if condition.shown == "":
                    return self._proved(proof, ())
                return Verdict(
                    self.shown,
                    "conditional",
                    proof=proof[:LINES],
                    condition=condition.shown,
                    exact=condition.exact,
                )
        if found is not None:
            value = goal.sense * value_at(self.box, goal.larger, found) + 0.0
            return self._refuted(found, f"{goal.shown} = {value:.4g}")
        return self._undecided(f"the sign of {text(e if blame is None else blame)} is not known")

    def _readings(self, goal: Goal) -> list[tuple[Box, sp.Expr, str | None]]:
        """What may be proved instead, the most general first: lets as symbols, lets written out,
        settings at their values."""
        box, e = self.box, self.box.independent(goal.larger)
        found: list[tuple[Box, sp.Expr, str | None]] = [(box, e, None)]
        if e.free_symbols & set(box.lets):
            found.append((box, box.independent(goal.larger.xreplace(box.lets)), None))
        if e.free_symbols & set(box.settings):
            values = ", ".join(f"{s} = {float(v):g}" for s, v in box.settings.items())
            found.append((box.settled(), found[-1][1].xreplace(box.numbers), f"with {values}"))
        return found

    def _within(self, signs: Signs, e: sp.Expr, strict: bool, seconds: float) -> bool:
        """Whether the calculus of signs shows e > 0 (not strict: e >= 0) in the time given."""
        try:
            with time_limit(seconds):
                return signs.sign(e).within(Sign.POSITIVE if strict else Sign.NONNEGATIVE)
        except OutOfTime:
            return False

    def _condition(self, e: sp.Expr, strict: bool) -> Condition | None:
        """A condition that some admissible parameters satisfy."""
        try:
            with time_limit(self.seconds / 4):
                found = condition_for(Signs(self.box), e, strict)
        except OutOfTime:
            return None
        if found is None or find_point(self.box, [Wanted(found.positive, (1,))]) is None:
            return None
        return found

    def _stated(self, goal: Goal, e: sp.Expr, said: str | None) -> list[str]:
        """The quantity as it is looked at, and what its symbols stand for."""
        lines = [f"{goal.shown} = {text(goal.quantity)}"]
        slack = [s for s in sorted(goal.quantity.free_symbols, key=str) if s in self.box.slack]
        if slack:
            lines.append("write " + ", ".join(f"{s} = {text(self.box.slack[s])}" for s in slack))
        return lines + ([said] if said else [])

    # Values, limits, reductions

    def _finite(self, doubted: list[AnyDoubt], signs: Signs) -> Verdict:
        if not doubted:
            return self._proved(["every division, power, root and logarithm has a value"], signs.used())
        for doubt in doubted:
            broken = doubt.broken(self.box)
            if broken is not None:
                return self._refuted(*broken)
        return self._undecided(doubted[0].blame)

    def _limit(self, stated: tree.Limit, signs: Signs) -> Verdict:
        """All names go to their places at once."""
        law, box = self.law, self.box
        places = {law.symbols[name]: law.to_sympy(at) for name, at in stated.approaches}
        opaque = tuple(s.name for s in box.lets if s in places)
        e = box.independent(law.to_sympy(stated.formula, opaque))
        target = box.independent(law.to_sympy(stated.target))
        for symbol, at in places.items():
            if symbol in target.free_symbols or not _reached(signs, symbol, at):
                return self._undecided(f"{symbol} -> {text(at)} does not lie within its domain")
        value = limit(signs, e, places)
        ways = ", ".join(f"{s} -> {text(at)}" for s, at in places.items())
        if value is None:
            return self._undecided(f"the limit of {text(e)} as {ways} is not known")
        moving = [t for t in sp.Add.make_args(e) if t.free_symbols & set(places)]
        limits = [(box.declared(t), box.declared(limit(signs, t, places))) for t in moving]
        steps = [f"{text(term)} -> {text(to)} as {ways}" for term, to in limits]
        if value == target or sp.expand(value - target) == 0:
            return self._proved(steps, signs.used())
        reached = f"the limit is {text(box.declared(value))}"
        if value.is_infinite or target.is_infinite:
            return Verdict(self.shown, "refuted", proof=tuple(steps), value=reached)
        found = find_point(box, [Wanted(value - target, (-1, 1), MARGIN)])
        if found is None:
            return self._undecided(f"whether {text(value)} is {text(target)} is not known")
        return self._refuted(found, reached, tuple(steps[:LINES]))

    def _reduction(self, stated: tree.Reduction, signs: Signs) -> Verdict:
        target = Law(self.law.declarations.laws[stated.law])
        e = self.law.to_sympy(stated.formula)
        chosen = reduce_to(signs, e, self.law, target)
        if isinstance(chosen, Choice):
            return self._proved([f"{stated.law} with {chosen.shown()}"], ())
        broken = never(self.box, e, self.law, target)
        return self._refuted(*broken) if broken else self._undecided(chosen)


def _notes(signs: Signs) -> list[str]:
    return list(dict.fromkeys(signs.notes))[:3]


def _reached(signs: Signs, symbol: sp.Symbol, to: sp.Expr) -> bool:
    """Whether points of a symbol's range come as near to a place as one likes."""
    found = signs.box.range(symbol)
    if symbol in signs.box.slack:
        return False
    if to.is_infinite:
        return (found.upper if to == sp.oo else found.lower) is None
    room = [found.upper and found.upper.at - to, found.lower and to - found.lower.at]
    return all(x is None or signs.sign(x).within(Sign.NONNEGATIVE) for x in room)


def _unclaimed_doubts(law: Law, seconds: float) -> Iterator[Diagnostic]:
    """Warnings about parts without a value, for a law that does not claim to be finite."""
    if any(isinstance(c.claim, tree.Finite) for c in law.claims):
        return
    formula = law.declarations.output.formula
    assert formula is not None
    try:
        with time_limit(seconds):
            found = doubts(law, [formula], Signs(domain_of(law)))
    except OutOfTime:
        return
    for doubt in found[:3]:
        message = f"`{doubt.shown}` is not proved to have a value on the whole domain"
        help = "declare the domains it needs, or claim where it holds: `require L finite for …`"
        own = law.declarations.text
        inside = doubt.node.span.end <= len(own.text)
        span = doubt.node.span if inside else None
        yield Diagnostic("L0503", message, "warning", text=own, span=span, help=help)
