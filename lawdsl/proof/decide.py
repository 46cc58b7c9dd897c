"""(law, claim) -> verdict: counterexamples first, then definedness, then proof."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import sympy as sp

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.time_limit import MIN_SECONDS, OutOfTime, TimeBudget, time_limit
from lawdsl.language import tree
from lawdsl.language.claim_texts import claim_text
from lawdsl.language.pieces import first_condition
from lawdsl.language.printer import print_formula
from lawdsl.language.symbols import Claim
from lawdsl.law.algebra import is_of_sympy
from lawdsl.law.law import Law
from lawdsl.law.text import text
from lawdsl.proof.box import Box, Relation, settings_sign
from lawdsl.proof.counterexample import WitnessQuery, find_point
from lawdsl.proof.definedness import AnyDoubt, ProvedParts, parts_of, unproved
from lawdsl.proof.domain import domain_of
from lawdsl.proof.goals import formulas, goal_of
from lawdsl.proof.implied_bounds import exclusion
from lawdsl.proof.inequalities import CounterexampleSearch, compare
from lawdsl.proof.piecewise import decide_piecewise
from lawdsl.proof.reduction import (
    ROUNDING_MARGIN,
    ParameterAssignment,
    reduce_to,
    structural_counterexample,
)
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.limits import limit
from lawdsl.proof.signs.sign import Sign
from lawdsl.proof.sufficient_bounds import sufficient_bounds
from lawdsl.proof.verdict import Failure, Verdict, proved, refuted, too_late, undecided

RELATIONS = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
CLAIM_SECONDS = 1.0  # for one claim, unless the caller says otherwise
# of the time that is left, for the bounds that make a conditional claim true
REMEDY_TIME_SHARE = 0.9
DEFINEDNESS_TIME_SHARE = 0.5  # of the time, for proofs that all parts of a claim have values


def check_claim(
    law: Law, claim: Claim, *, seconds: float = CLAIM_SECONDS, defined: ProvedParts | None = None
) -> Verdict:
    """Decide one claim of a law.

    Proved means: for every admissible value of the parameters and on the whole domain of the claim,
    all its formulas have values and the claim is true. Refuted means: a verified point of that
    domain contradicts it.

    Args:
        law: the law.
        claim: one of its claims, or any other claim about it.
        seconds: CPU time (s) allowed for all work on the claim.
        defined: parts of the law that earlier claims have proved to have a value; new proofs are
            added to it.
    """
    clock = TimeBudget(seconds)
    claim_as_text = claim_text(claim)
    counterexamples: list[Verdict] = []
    try:
        with time_limit(seconds):
            law = law.built()
            if first_condition((claim.claim,), law.declarations) is not None:
                verdict = decide_piecewise(law, claim, seconds, _decide_piece, counterexamples)
            else:
                verdict = _decide(law, claim, seconds, counterexamples, defined or ProvedParts())
            if verdict.needs is not None:
                bounds = _remedy(law, claim, verdict.needs, clock)
                verdict = replace(verdict, remedy=bounds)
    except OutOfTime:  # a counterexample holds whatever else remains unknown
        verdict = counterexamples[0] if counterexamples else undecided(too_late(seconds))
    except LawdslError as error:
        verdict = undecided(error.diagnostics[0].message)
    # SymPy raises these on numbers beyond its limits
    except (ArithmeticError, ValueError) as error:
        if not is_of_sympy(error):
            raise
        verdict = undecided("its numbers are too large for the algebra")
    line, _ = claim.text.position(claim.span.start)
    source_line = claim.text.name, line
    spent = clock.spent()
    return replace(
        verdict,
        claim=claim_as_text,
        expect=claim.expect,
        place=source_line,
        seconds=spent,
    )


def _decide_piece(law: Law, claim: Claim, seconds: float) -> Verdict:
    """The verdict on a claim about a law without piecewise formulas, in a time of its own."""
    try:
        with time_limit(max(seconds, MIN_SECONDS)):
            return _decide(law, claim, seconds, [], ProvedParts())
    except OutOfTime:
        return undecided(too_late(seconds))


def _remedy(law: Law, claim: Claim, needs: Relation, clock: TimeBudget) -> tuple[str, ...]:
    """The bounds under which a conditional claim is proved; empty where the time does not suffice
    to find any."""
    seconds = REMEDY_TIME_SHARE * clock.remaining()
    try:
        with time_limit(max(seconds, MIN_SECONDS)):
            signs = SignCalculus(domain_of(law, claim), valued=True)
            for changed in sufficient_bounds(law, signs, needs.positive, needs.strict):
                if _decide(changed, claim, seconds, [], ProvedParts()).verdict in (
                    "proved",
                    "inside",
                ):
                    return changed.added[len(law.added) :]
    except (OutOfTime, LawdslError):
        pass
    return ()


def _applies(law: Law, claim: Claim) -> bool:
    """Whether the law meets the claim's conditions on settings, on parameters that are fixed, and on
    what follows from these; only where one is certainly not met is the claim true without a proof."""
    values = {q.name: q for q in law.settings if q.value is not None}
    settings = {q.symbol: Fraction(repr(q.value)) for q in values.values()}
    for named, relations in claim.conditions:
        name = tree.name_of(named)
        symbol = law.declarations.symbols.get(name)
        is_let = symbol is not None and symbol.kind == "let"
        if name not in values and not is_let:
            continue
        left = law.to_sympy(tree.Name(name)) if is_let else values[name].symbol
        for relation, threshold in relations:
            sign = settings_sign(settings, left - law.to_sympy(threshold))
            if sign is not None and not RELATIONS[relation](sign, 0):
                return False
    return True


def _decide(
    law: Law, claim: Claim, seconds: float, counterexamples: list[Verdict], defined: ProvedParts
) -> Verdict:
    """The verdict on a claim; a refutation is appended to `counterexamples` at once, so that it
    survives a time limit.

    Points are tried before anything is proved: they cost little, and a proof may take long.
    """
    if not _applies(law, claim):
        return proved(["its condition does not hold for these values"], {}, (), "definedness")
    box = domain_of(law, claim)
    empty = box.contradiction()
    if empty is not None:
        return undecided(f"the domain is empty: there is no {box.facts[empty]}")
    signs = SignCalculus(box, valued=True)
    parts = parts_of(law, formulas(claim.claim), box)
    search = goal = None
    if isinstance(claim.claim, tree.ComparisonNode | tree.TrendNode):
        goal = goal_of(law, claim.claim, box)
        search = CounterexampleSearch(box, goal, parts)
        if search.witness is not None:
            counterexamples.append(search.refuted())
    undefined = unproved(parts, signs, DEFINEDNESS_TIME_SHARE * seconds, defined)
    match claim.claim:
        case tree.Finite() as stated:
            verdict = _finite(law, box, stated, undefined, signs)
        case tree.LimitNode() as stated:
            verdict = _limit(law, box, stated, signs)
        case tree.Reduction() as stated:
            verdict = _reduction(law, box, stated, signs)
        case _:
            assert search is not None and goal is not None
            verdict = compare(box, goal, undefined, search, seconds)
    if verdict.verdict == "refuted" and verdict.witness:
        return verdict
    if undefined:
        return undecided(undefined[0].blame)
    # on an empty domain every claim is true, and none says anything
    if box.tied and find_point(box, []) is None:
        contradiction = exclusion(box)
        if contradiction is not None:
            return undecided(f"the domain is empty: {contradiction}")
        return undecided("no point of the domain was found: it may be empty")
    return verdict


def _finite(
    law: Law, box: Box, stated: tree.Finite, undefined: Sequence[AnyDoubt], signs: SignCalculus
) -> Verdict:
    if not undefined:
        step = "every division, power, root and logarithm has a value"
        return proved([step], box.facts, signs.used(), "definedness")
    for doubt in undefined:
        counterexample = doubt.violation(box)
        if counterexample is not None:
            point, relation = counterexample
            # a figure needs all quantities, not only those that leave no value
            whole = find_point(box, [], near=point) or {}
            failure = None
            if point.items() <= whole.items():
                quantity, name = law.to_sympy(stated.formula), print_formula(stated.formula)
                failure = Failure(box.declared(quantity), name, 0, True, whole, box)
            return refuted(point, relation, failure=failure)
    return undecided(undefined[0].blame)


def _limit(law: Law, box: Box, stated: tree.LimitNode, signs: SignCalculus) -> Verdict:
    """The verdict on a limit: all symbols go to their targets at once."""
    targets = {
        law.symbols[tree.name_of(name)]: law.to_sympy(node) for name, node in stated.approaches
    }
    opaque = tuple(s.name for s in box.lets if s in targets)
    e = box.independent(law.to_sympy(stated.formula, opaque))
    target = box.independent(law.to_sympy(stated.target))
    approach = ", ".join(f"{s} -> {text(point)}" for s, point in targets.items())
    for symbol, point in targets.items():
        if symbol in target.free_symbols or not _is_limit_point(signs, symbol, point):
            return undecided(f"{symbol} -> {text(point)} is not known to lie within its domain")
    value = limit(signs, e, targets)
    if value is None:
        return undecided(f"the limit of {text(e)} as {approach} is not known")
    varying = [t for t in sp.Add.make_args(e) if t.free_symbols & set(targets)]
    used = SignCalculus(box, valued=True)
    pairs = [(t, to) for t in varying if (to := limit(used, t, targets)) is not None]
    term_limits = [
        (text(t.xreplace(box.meaning)), text(to.xreplace(box.meaning))) for t, to in pairs
    ]
    if not value.is_infinite and any(to.is_infinite for _, to in pairs):  # oo - oo says nothing
        term_limits = [(text(e.xreplace(box.meaning)), text(value.xreplace(box.meaning)))]
    steps = [f"{term} -> {to} as {approach}" for term, to in term_limits]
    if value == target or sp.expand(value - target) == 0:
        return proved(steps, box.facts, used.used(), "limits")
    description = f"the limit is {text(value.xreplace(box.meaning))}"
    if value.is_infinite or target.is_infinite:
        return refuted({}, description, "limits")
    witness = find_point(box, [WitnessQuery(value - target, (-1, 1), ROUNDING_MARGIN)])
    if witness is None:
        return undecided(f"whether {text(value)} is {text(target)} is not known")
    return refuted(witness, description)


def _reduction(law: Law, box: Box, stated: tree.Reduction, signs: SignCalculus) -> Verdict:
    target = Law(law.declarations.laws[stated.law])
    e = law.to_sympy(stated.formula)
    assignment = reduce_to(signs, e, law, target)
    if isinstance(assignment, ParameterAssignment):
        return proved([f"{stated.law} with {assignment.text()}"], box.facts, (), "reduction")
    counterexample = structural_counterexample(box, e, law, target)
    return refuted(*counterexample) if counterexample else undecided(assignment)


def _is_limit_point(signs: SignCalculus, symbol: sp.Symbol, to: sp.Expr) -> bool:
    """Whether a value is a limit point of a symbol's range."""
    domain = signs.box.range(symbol)
    if symbol in signs.box.slack:
        return False
    if to.is_infinite:
        return (domain.upper if to == sp.oo else domain.lower) is None
    distances = [domain.upper and domain.upper.value - to, domain.lower and to - domain.lower.value]
    return all(x is None or signs.sign(x).within(Sign.NONNEGATIVE) for x in distances)
