"""Claim on a law -> verdict: the order in which the ways to decide are tried."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import sympy as sp

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.time_limit import LEAST, Clock, OutOfTime, time_limit
from lawdsl.language import tree
from lawdsl.language.symbols import Claim
from lawdsl.law.algebra import is_of_sympy
from lawdsl.law.law import Law
from lawdsl.law.text import text
from lawdsl.proof.box import Box, order
from lawdsl.proof.counterexample import Wanted, find_point
from lawdsl.proof.definedness import AnyDoubt, Defined, parts_of, unproved
from lawdsl.proof.domain import domain_of
from lawdsl.proof.goals import claim_text as claim_text
from lawdsl.proof.goals import formulas, goal_of
from lawdsl.proof.implied_bounds import exclusion
from lawdsl.proof.inequalities import Search, compare
from lawdsl.proof.reduction import MARGIN, Choice, never, reduce_to
from lawdsl.proof.signs.calculus import Signs
from lawdsl.proof.signs.limits import limit
from lawdsl.proof.signs.sign import Sign
from lawdsl.proof.sufficient_bounds import remedies
from lawdsl.proof.verdict import Needs, Verdict, proved, refuted, too_late, undecided

RELATIONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
CLAIM_SECONDS = 1.0  # for one claim, unless the caller says otherwise
REMEDY = 0.9  # of the time that is left, for the bounds that make a conditional claim true
DEFINED = 0.5  # of the time, for showing that all parts of a claim have values


def check_claim(
    law: Law, claim: Claim, *, seconds: float = CLAIM_SECONDS, defined: Defined | None = None
) -> Verdict:
    """Decide one claim of a law.

    Proved means: for every admissible value of the parameters and on the whole domain that the
    claim speaks of, all its formulas have values and the claim is true. Refuted means: a verified
    point of that domain contradicts it.

    Args:
        law: the law.
        claim: one of its claims, or one stated by somebody else.
        seconds: CPU time (s) allowed for all work on the claim.
        defined: parts of the law that earlier claims have proved to have a value; new proofs are
            added to it.
    """
    clock = Clock(seconds)
    shown = claim_text(claim)
    seen: list[Verdict] = []
    try:
        with time_limit(seconds):
            law = law.built()
            verdict = _decide(law, claim, seconds, seen, defined or Defined())
            if verdict.needs is not None:
                bounds = _remedy(law, claim, verdict.needs, clock)
                verdict = replace(verdict, needs=None, remedy=bounds)
    except OutOfTime:  # a counter-example is one, even where what else may be said is not known
        verdict = seen[0] if seen else undecided(too_late(seconds))
    except LawdslError as error:
        verdict = undecided(error.diagnostics[0].message)
    except (ArithmeticError, ValueError) as error:
        if not is_of_sympy(error):
            raise
        verdict = undecided("its numbers are too large for the algebra")
    line, _ = claim.text.position(claim.span.start)
    place = claim.text.name, line
    took = clock.spent()
    return replace(verdict, claim=shown, expect=claim.expect, place=place, seconds=took, needs=None)


def _remedy(law: Law, claim: Claim, needs: Needs, clock: Clock) -> tuple[str, ...]:
    """The bounds under which a conditional claim is proved; none where none are found."""
    seconds = REMEDY * clock.left()
    try:
        with time_limit(max(seconds, LEAST)):
            signs = Signs(domain_of(law, claim), valued=True)
            for changed in remedies(law, signs, needs.positive, needs.strict):
                if _decide(changed, claim, seconds, [], Defined()).verdict in ("proved", "inside"):
                    return changed.added[len(law.added) :]
    except (OutOfTime, LawdslError):
        pass
    return ()


def _applies(law: Law, claim: Claim) -> bool:
    """Whether the law meets the claim's conditions on settings and on parameters that are fixed; only
    where one is certainly not met is the claim true without a proof."""
    values = {q.name: q for q in law.settings if q.value is not None}
    known = {q.symbol: Fraction(repr(q.value)) for q in values.values()}
    for named, relations in claim.conditions:
        own = values.get(tree.name_of(named))
        for relation, at in relations if own is not None else ():
            assert own is not None
            sign = order(known, own.symbol - law.to_sympy(at))
            if sign is not None and not RELATIONS[relation](sign, 0):
                return False
    return True


def _decide(
    law: Law, claim: Claim, seconds: float, seen: list[Verdict], defined: Defined
) -> Verdict:
    """The verdict on a claim; a counter-example is put into `seen` as soon as there is one.

    Points are tried before anything is proved: they cost little, and a proof may take long.
    """
    if not _applies(law, claim):
        return proved(["its condition does not hold for these values"], {}, ())
    box = domain_of(law, claim)
    empty = box.contradiction()
    if empty is not None:
        return undecided(f"the domain is empty: there is no {box.facts[empty]}")
    signs = Signs(box, valued=True)
    parts = parts_of(law, formulas(claim.claim), box)
    search = goal = None
    if isinstance(claim.claim, tree.ComparisonNode | tree.TrendNode):
        goal = goal_of(law, claim.claim, box)
        search = Search(box, goal, parts)
        if search.found is not None:
            seen.append(search.refuted())
    doubted = unproved(parts, signs, DEFINED * seconds, defined)
    match claim.claim:
        case tree.Finite():
            verdict = _finite(box, doubted, signs)
        case tree.LimitNode() as stated:
            verdict = _limit(law, box, stated, signs)
        case tree.Reduction() as stated:
            verdict = _reduction(law, box, stated, signs)
        case _:
            assert search is not None and goal is not None
            verdict = compare(box, goal, doubted, search, seconds)
    if verdict.verdict == "refuted" and verdict.witness:
        return verdict
    if doubted:
        return undecided(doubted[0].blame)
    if box.tied and find_point(box, []) is None:
        why = exclusion(box)
        if why is not None:
            return undecided(f"the domain is empty: {why}")
        return undecided("no point of the domain was found: it may be empty")
    return verdict


def _finite(box: Box, doubted: Sequence[AnyDoubt], signs: Signs) -> Verdict:
    if not doubted:
        step = "every division, power, root and logarithm has a value"
        return proved([step], box.facts, signs.used())
    for doubt in doubted:
        broken = doubt.broken(box)
        if broken is not None:
            return refuted(*broken)
    return undecided(doubted[0].blame)


def _limit(law: Law, box: Box, stated: tree.LimitNode, signs: Signs) -> Verdict:
    """All names go to their places at once."""
    places = {law.symbols[tree.name_of(name)]: law.to_sympy(at) for name, at in stated.approaches}
    opaque = tuple(s.name for s in box.lets if s in places)
    e = box.independent(law.to_sympy(stated.formula, opaque))
    target = box.independent(law.to_sympy(stated.target))
    ways = ", ".join(f"{s} -> {text(at)}" for s, at in places.items())
    for symbol, at in places.items():
        if symbol in target.free_symbols or not _reached(signs, symbol, at):
            return undecided(f"{symbol} -> {text(at)} is not known to lie within its domain")
    value = limit(signs, e, places)
    if value is None:
        return undecided(f"the limit of {text(e)} as {ways} is not known")
    moving = [t for t in sp.Add.make_args(e) if t.free_symbols & set(places)]
    used = Signs(box, valued=True)
    pairs = [(t, to) for t in moving if (to := limit(used, t, places)) is not None]
    shown = [(text(t.xreplace(box.meaning)), text(to.xreplace(box.meaning))) for t, to in pairs]
    if not value.is_infinite and any(to.is_infinite for _, to in pairs):  # oo - oo says nothing
        shown = [(text(e.xreplace(box.meaning)), text(value.xreplace(box.meaning)))]
    steps = [f"{term} -> {to} as {ways}" for term, to in shown]
    if value == target or sp.expand(value - target) == 0:
        return proved(steps, box.facts, used.used())
    reached = f"the limit is {text(value.xreplace(box.meaning))}"
    if value.is_infinite or target.is_infinite:
        return refuted({}, reached)
    found = find_point(box, [Wanted(value - target, (-1, 1), MARGIN)])
    if found is None:
        return undecided(f"whether {text(value)} is {text(target)} is not known")
    return refuted(found, reached)


def _reduction(law: Law, box: Box, stated: tree.Reduction, signs: Signs) -> Verdict:
    target = Law(law.declarations.laws[stated.law])
    e = law.to_sympy(stated.formula)
    chosen = reduce_to(signs, e, law, target)
    if isinstance(chosen, Choice):
        return proved([f"{stated.law} with {chosen.shown()}"], box.facts, ())
    broken = never(box, e, law, target)
    return refuted(*broken) if broken else undecided(chosen)


def _reached(signs: Signs, symbol: sp.Symbol, to: sp.Expr) -> bool:
    """Whether points of a symbol's range come as near to a place as one likes."""
    found = signs.box.range(symbol)
    if symbol in signs.box.slack:
        return False
    if to.is_infinite:
        return (found.upper if to == sp.oo else found.lower) is None
    room = [found.upper and found.upper.at - to, found.lower and to - found.lower.at]
    return all(x is None or signs.sign(x).within(Sign.NONNEGATIVE) for x in room)
