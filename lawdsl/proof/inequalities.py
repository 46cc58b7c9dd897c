"""Goal, box -> verdict: whether an expression is positive, or nonnegative, on the whole box."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import sympy as sp

from lawdsl.core.time_limit import OutOfTime, time_limit
from lawdsl.law.text import text
from lawdsl.proof.box import Box, Relation
from lawdsl.proof.branch_and_bound.subdivision import MAX_CUT_SYMBOLS, Coverage, cover
from lawdsl.proof.counterexample import Point, WitnessQuery, certain_sign, find_point, value_text
from lawdsl.proof.definedness import AnyDoubt
from lawdsl.proof.goals import SignGoal
from lawdsl.proof.satisfiability import has_point
from lawdsl.proof.signs.boundary import equality_locus
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.conditions import condition_for
from lawdsl.proof.signs.sign import Sign
from lawdsl.proof.verdict import Failure, Verdict, proved, refuted, undecided

PIECES_PER_LOOK = 2000  # pieces of boxes in one attempt at a goal
MAX_PROOF_NOTES = 3  # lines of a proof between its goal and its assumptions


@dataclass(frozen=True)
class _GoalForm:
    """A form of a goal: `larger`, in independent symbols, on a box; `values_text` for proofs."""

    box: Box
    larger: sp.Expr
    quantity: sp.Expr
    valued: bool = False
    values_text: str | None = None

    def signs(self, *, pieces: int = 0, thorough: bool = True) -> SignCalculus:
        """The sign calculus on the box of the form."""
        explained = sp.Mul.make_args(self.larger)
        return SignCalculus(
            self.box, explained, valued=self.valued, pieces=pieces, thorough=thorough
        )


class CounterexampleSearch:
    """The search for a point that contradicts a goal.

    Attributes:
        witness: the point, at which all parts of the claim have values; None while none is known.
    """

    def __init__(self, box: Box, goal: SignGoal, parts: Sequence[AnyDoubt]) -> None:
        self.box, self.goal, self.parts = box, goal, parts
        self.queries = [WitnessQuery(goal.larger, (-1, 0) if goal.strict else (-1,))]
        self.rejected = False
        self.witness = find_point(box, self.queries, accept=self._accepts)

    def repeat(
        self, doubted: Sequence[AnyDoubt], near: Mapping[sp.Symbol, Fraction] | None = None
    ) -> None:
        """Search once more; only the parts in doubt must be verified to have a value at the point.

        Args:
            doubted: those parts.
            near: a point to be rounded and verified in place of a search.
        """
        self.parts = doubted
        if near is not None or self.rejected:
            self.witness = find_point(self.box, self.queries, accept=self._accepts, near=near)

    def _accepts(self, point: Point) -> bool:
        accepted = all(part.holds(self.box, point) for part in self.parts)
        self.rejected = self.rejected or not accepted
        return accepted

    def refuted(self) -> Verdict:
        """The refutation at the witness, with the certain value of the claim's quantity there."""
        assert self.witness is not None
        value = value_text(self.box, self.goal.quantity, self.witness)
        text = f"{self.goal.quantity_text} {value}"
        return refuted(self.witness, text, failure=self.failure())

    def failure(self) -> Failure | None:
        """The witness with the claim's quantity; None where there is no witness."""
        if self.witness is None:
            return None
        goal, quantity = self.goal, self.box.declared(self.goal.quantity)
        return Failure(
            quantity, goal.quantity_text, goal.sense, goal.strict, self.witness, self.box
        )


def compare(
    box: Box,
    goal: SignGoal,
    doubted: Sequence[AnyDoubt],
    search: CounterexampleSearch,
    seconds: float,
) -> Verdict:
    """Refute a goal by a point, or else prove it, by rules or by subdivision.

    A goal that fails may still hold inside the domain, hold for some parameters, or hold nowhere.

    Args:
        box: the domain.
        goal: the expression that must be positive.
        doubted: parts of the claim that may have no value; a witness is a point at which they have
            one.
        search: the search for a witness; its first points have been tried.
        seconds: CPU time (s) for all of it; each attempt receives a part.
    """
    forms = list(_goal_forms(box, goal))
    if forms[0].larger == 0 and goal.strict:
        text_of_zero = f"{goal.quantity_text} is 0 everywhere"
        return replace(refuted({}, text_of_zero, "signs"), never=True)
    blame = None
    if search.witness is None:
        search.repeat(doubted)
    if search.witness is None:
        verdict, blame, near = _proof(goal, forms, seconds)
        if verdict is not None:
            return verdict
        if near is not None:
            search.repeat(doubted, near)
    point = search.witness
    if point is not None and doubted:
        # other statements about the point presuppose that the claim has a value at it
        return search.refuted()
    if point is not None and certain_sign(box, goal.larger, point) == 0:
        verdict = _inside(goal, forms, point, seconds / 4)
        if verdict is not None:
            return verdict
    for form in forms:
        verdict = _under_condition(goal, form, seconds / 4)
        if verdict is not None:
            return replace(verdict, failure=search.failure())
    if point is not None:
        return replace(search.refuted(), never=_opposite_holds(goal, forms, seconds / 10))
    if goal.larger.has(sp.DiracDelta):
        return undecided(f"{goal.quantity_text} has no value at a kink")
    return undecided(f"the sign of {text(blame or forms[0].larger)} is not known")


def _proof(
    goal: SignGoal, forms: Sequence[_GoalForm], seconds: float
) -> tuple[Verdict | None, sp.Expr | None, Mapping[sp.Symbol, Fraction] | None]:
    """A proof; or the obstacle to one, and a point at which the claim seems to fail.

    The quick rules come first, then all rules, which give a readable proof, then all rules with
    subdivision, which get more time where the goal has too many symbols to be subdivided as a
    whole.
    """
    blame = near = None
    last = forms[-1]
    varying = last.larger.free_symbols - set(last.box.settings)
    # otherwise only parts of the goal can be subdivided, which needs more time
    numbers_help = len(varying) <= MAX_CUT_SYMBOLS
    rounds = (  # pieces, whether expensive rules are tried, share of the time
        (PIECES_PER_LOOK, False, 0.1),
        (0, True, 0.2),
        (PIECES_PER_LOOK, True, 0.1),
        (PIECES_PER_LOOK, True, 0.2 if numbers_help else 0.6),
    )
    for pieces, thorough, share in rounds:
        for form in forms:
            signs = form.signs(pieces=pieces, thorough=thorough)
            if _holds(signs, form.larger, goal.strict, share * seconds):
                notes = list(dict.fromkeys(signs.notes))[:MAX_PROOF_NOTES]
                steps = [*_stated(goal, form), *notes]
                verdict = proved(steps, form.box.facts, signs.used(), signs.method)
                return verdict, None, None
            blame = blame or signs.blame
        if near is None and pieces and thorough:
            coverage = _coverage(last, 0.4 * seconds)
            if coverage.sign.within(Sign.POSITIVE if goal.strict else Sign.NONNEGATIVE):
                step = f"its sign is certain on each of {coverage.pieces} pieces of the domain"
                used = last.larger.free_symbols
                steps = [*_stated(goal, last), step]
                return proved(steps, last.box.facts, used, "subdivision"), None, None
            near = coverage.point
        # negative at a point of the box: a proof is unlikely, a refutation is not
        if near is not None:
            break
    return None, blame, near


def _inside(
    goal: SignGoal, forms: Sequence[_GoalForm], point: Point, seconds: float
) -> Verdict | None:
    """The verdict for an expression that is 0 at a point, if it is positive except on a face."""
    for form in forms:
        signs: list[SignCalculus] = []

        def proves(box: Box, form: _GoalForm = form, signs: list[SignCalculus] = signs) -> bool:
            signs.append(replace(form, box=box).signs(pieces=PIECES_PER_LOOK))
            return _holds(signs[-1], form.larger, True, seconds)

        locus = equality_locus(form.box, form.larger, point, proves)
        if locus is not None:
            steps = [*_stated(goal, form), *signs[-1].notes[:MAX_PROOF_NOTES]]
            verdict = proved(steps, form.box.facts, signs[-1].used(), signs[-1].method)
            return replace(verdict, verdict="inside", face=locus)
    return None


def _opposite_holds(goal: SignGoal, forms: Sequence[_GoalForm], seconds: float) -> bool:
    """Whether the opposite of a claim is proved: it holds nowhere."""
    opposite = replace(goal, larger=-goal.larger, strict=not goal.strict)
    return any(_holds(form.signs(), -form.larger, opposite.strict, seconds) for form in forms)


def _goal_forms(box: Box, goal: SignGoal) -> Iterator[_GoalForm]:
    """The forms of a goal, the most general first: lets as symbols, lets expanded, settings at
    their values."""
    larger, quantity = goal.larger, goal.quantity
    yield _GoalForm(box, box.independent(larger), quantity)
    written = box.without_lets(larger)
    if written != larger:
        larger, quantity = written, box.without_lets(quantity)
        yield _GoalForm(box, box.independent(larger), quantity)
    relevant = larger.free_symbols | box.fixed()
    if relevant & set(box.settings):
        used = [(s, float(v)) for s, v in box.settings.items() if s in relevant]
        values = ", ".join(f"{s} = {v:g}" for s, v in used)
        yield _GoalForm(box, box.independent(larger), quantity, True, f"with {values}")


def _coverage(form: _GoalForm, seconds: float) -> Coverage:
    """The goal piece by piece; nothing is known where it takes too long."""
    try:
        with time_limit(seconds):
            return cover(form.signs(), form.larger)
    except OutOfTime:
        return Coverage(Sign.REAL, 0)


def _holds(signs: SignCalculus, e: sp.Expr, strict: bool, seconds: float) -> bool:
    """Whether the calculus of signs shows e > 0 (not strict: e >= 0) in the time given."""
    try:
        with time_limit(seconds):
            return signs.sign(e).within(Sign.POSITIVE if strict else Sign.NONNEGATIVE)
    except OutOfTime:
        return False


def _under_condition(goal: SignGoal, form: _GoalForm, seconds: float) -> Verdict | None:
    """Conditional, where some admissible parameters satisfy the condition; proved, where all do."""
    if not form.box.parameters & form.larger.free_symbols:
        return None
    signs = form.signs()
    try:
        with time_limit(seconds):
            condition = condition_for(signs, form.larger, goal.strict, sense=goal.sense)
    except OutOfTime:
        return None
    if condition is None:
        return None
    steps = [*_stated(goal, form), *condition.steps]
    if _holds(signs, condition.positive, condition.strict, seconds):
        return proved(
            [*steps, f"{condition.inequality} is always true"],
            form.box.facts,
            signs.used(),
            signs.method,
        )
    if not condition.positive.free_symbols - set(form.box.settings):
        return None  # settings have their values: there is nothing to choose
    needs = Relation(form.box.declared(condition.positive), condition.strict)
    if not has_point(form.box, [needs]):
        return None
    return Verdict(
        "",
        "conditional",
        proof=tuple(steps),
        condition=condition.inequality,
        exact=condition.exact,
        needs=needs,
        method=signs.method,
    )


def _stated(goal: SignGoal, form: _GoalForm) -> list[str]:
    """The quantity of a goal form, and the substitutions of its symbols, as lines of a proof."""
    lines = [f"{goal.quantity_text} = {text(form.quantity)}"]
    slack = form.box.slack
    coupled = [s for s in sorted(form.quantity.free_symbols, key=str) if s in slack]
    if coupled:
        lines.append("write " + ", ".join(f"{s} = {text(slack[s])}" for s in coupled))
    return lines + ([form.values_text] if form.values_text else [])
