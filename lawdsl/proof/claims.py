"""Claim on a law -> verdict: the order in which the ways to decide are tried."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import sympy as sp

from lawdsl.budget import OutOfTime, time_limit
from lawdsl.diagnostics import Diagnostic
from lawdsl.formulas import text
from lawdsl.language import tree
from lawdsl.language.printing import print_claim, print_formula, print_items
from lawdsl.language.resolving import Claim
from lawdsl.law import Law, Quantity, derivative, load
from lawdsl.proof.box import Box, domain_of
from lawdsl.proof.conditions import Condition, condition_for
from lawdsl.proof.definedness import breaking_point, doubts
from lawdsl.proof.limits import limit
from lawdsl.proof.reduction import Choice, never, reduce_to
from lawdsl.proof.sampling import Domain, Point, domain_for, find_point
from lawdsl.proof.signs import Sign, Signs
from lawdsl.proof.verdicts import Check, Verdict

CLAIM_SECONDS = 1.0  # for one claim, unless the caller says otherwise


@dataclass(frozen=True)
class _Goal:
    """`larger > 0` (not strict: `>= 0`) on the whole box is what the claim says.

    `shown` names the quantity that the claim speaks of, which is `sense * larger`.
    """

    larger: sp.Expr
    strict: bool
    shown: str
    sense: int

    @property
    def quantity(self) -> sp.Expr:
        return self.sense * self.larger


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
    claim speaks of. Refuted means: a verified point of that domain contradicts it.
    """
    shown = claim_text(claim)
    began = time.perf_counter()
    try:
        with time_limit(seconds):
            verdict = _decide(law, claim, shown, seconds)
    except OutOfTime:
        verdict = Verdict(shown, "undecided", blame=f"not decided within {seconds:g} s")
    return replace(verdict, expect=claim.expect, seconds=time.perf_counter() - began)


def claim_text(claim: Claim) -> str:
    """A claim as the language prints it, with its conditions."""
    shown = print_claim(claim.claim)
    for name, relations in claim.conditions:
        items = [tree.Item(name, tree.Bound(r, at)) for r, at in relations]
        shown += (", " if " for " in shown else " for ") + print_items(items)
    return shown


def _decide(law: Law, claim: Claim, shown: str, seconds: float) -> Verdict:
    match claim.claim:
        case tree.Finite(formula):
            return _finite(law, claim, formula, shown)
        case tree.Limit():
            return _limit(law, claim, claim.claim, shown)
        case tree.Reduction():
            return _reduction(law, claim, claim.claim, shown)
    box = domain_of(law, claim)
    return _sign(law, _goal(law, claim.claim), box, domain_for(law, box), shown, seconds)


def _goal(law: Law, claim: tree.Claim) -> _Goal:
    opaque = _opaque(law, claim)
    match claim:
        case tree.Comparison(left, relation, right):
            difference = law.to_sympy(left, opaque) - law.to_sympy(right, opaque)
            sense = 1 if relation in (">", ">=") else -1
            shown = print_formula(left)
            if right != tree.Number("0"):
                shown = print_formula(tree.Sum((("+", left), ("-", right))))
            return _Goal(sense * difference, relation in "<>", shown, sense)
        case tree.Trend(formula, word, name):
            order = 2 if word in ("convex", "concave") else 1
            slope = derivative(law.to_sympy(formula, opaque), *(law.symbols[name],) * order)
            sense = 1 if word in ("increasing", "convex") else -1
            named = formula if isinstance(formula, tree.Name) else tree.Name("()")
            shown = print_formula(tree.Derivative(named.text, (name,) * order, order))
            return _Goal(sense * slope, order == 1, shown, sense)
    raise AssertionError(claim)


def _opaque(law: Law, claim: tree.Claim) -> tuple[str, ...]:
    """The lets that the claim derives by: they vary on their own."""
    names = [n for node in tree.walk(claim) if isinstance(node, tree.Derivative) for n in node.by]
    names += [claim.name] if isinstance(claim, tree.Trend) else []
    return tuple(n for n in names if law.declarations.symbols[n].kind == "let")


def _sign(
    law: Law, goal: _Goal, box: Box, domain: Domain, shown: str, seconds: float
) -> Verdict:
    """Decide that an expression is positive (or not negative) on a box."""
    e = box.independent(goal.larger)
    if e == 0 and goal.strict:
        return Verdict(shown, "refuted", value=f"{goal.shown} is 0 everywhere")
    signs = Signs(box, telling=e)
    if _proved(signs, e, goal.strict, seconds / 2):
        return Verdict(shown, "proved", proof=_proof(goal, box, signs))
    found = find_point(
        domain,
        goal.larger,
        (lambda v: v <= 0) if goal.strict else (lambda v: v < 0),
        (-1, 0) if goal.strict else (-1,),
    )
    if found is None:
        settled = _with_settings(law, e)
        if settled != e and _proved(Signs(box), settled, goal.strict, seconds / 4):
            values = ", ".join(f"{q.name} = {q.value:g}" for q in law.settings)
            proof = _proof(goal, box, signs)
            return Verdict(shown, "proved", proof=(*proof[:1], f"with {values}", *proof[1:]))
    condition = _condition(Signs(box), e, goal.strict, seconds / 4)
    if condition is not None and _satisfiable(domain, condition):
        steps = (f"{goal.shown} = {text(goal.quantity)}", *condition.steps)
        return Verdict(
            shown, "conditional", proof=steps, condition=condition.shown, exact=condition.exact
        )
    if found is not None:
        point, larger = found
        value = f"{goal.shown} = {goal.sense * larger + 0.0:.4g}"
        return Verdict(shown, "refuted", witness=_witness(point), value=value)
    blame = signs.blame if signs.blame is not None else e
    return Verdict(shown, "undecided", blame=f"the sign of {text(blame)} is not known")


def _proved(signs: Signs, e: sp.Expr, strict: bool, seconds: float) -> bool:
    """Whether the calculus of signs shows e > 0 (not strict: e >= 0) in the time given."""
    try:
        with time_limit(seconds):
            return signs.sign(e).within(Sign.POSITIVE if strict else Sign.NONNEGATIVE)
    except OutOfTime:
        return False


def _condition(signs: Signs, e: sp.Expr, strict: bool, seconds: float) -> Condition | None:
    try:
        with time_limit(seconds):
            return condition_for(signs, e, strict)
    except OutOfTime:
        return None


def _with_settings(law: Law, e: sp.Expr) -> sp.Expr:
    values = {q.symbol: sp.Rational(repr(q.value)) for q in law.settings if q.value is not None}
    return e.xreplace(values)


def _satisfiable(domain: Domain, condition: Condition) -> bool:
    """Whether some admissible parameters satisfy a condition, at a verified point."""
    e = condition.positive
    if any(s.name.startswith("(") for s in e.free_symbols):
        return True  # in slacks, which range freely
    return find_point(domain, e, lambda v: v > 0, (1,)) is not None


def _proof(goal: _Goal, box: Box, signs: Signs) -> tuple[str, ...]:
    lines = [f"{goal.shown} = {text(goal.quantity)}"]
    used = sorted(goal.quantity.free_symbols, key=str)
    facts = [box.facts[s] for s in used if s in box.facts]
    slack = [f"{s} = {text(box.slack[s])}" for s in used if s in box.slack]
    if slack:
        lines.append("write " + ", ".join(slack))
    lines += list(dict.fromkeys(signs.notes))[:3]
    if facts:
        lines.append("because " + ", ".join(facts))
    return tuple(lines)


def _witness(point: Point) -> tuple[tuple[str, str], ...]:
    return tuple((s.name, str(v)) for s, v in sorted(point.items(), key=lambda p: str(p[0])))


def _finite(law: Law, claim: Claim, formula: tree.Formula, shown: str) -> Verdict:
    box = domain_of(law, claim)
    signs = Signs(box)
    found = list(doubts(law, formula, signs))
    if not found:
        facts = [box.facts[s] for s in sorted(law.to_sympy(formula).free_symbols, key=str)
                 if s in box.facts]
        steps = ("every division, power, root and logarithm has a value",)
        return Verdict(shown, "proved", proof=(*steps, "because " + ", ".join(facts)))
    domain = domain_for(law, box)
    for doubt in found:
        broken = breaking_point(domain, law, doubt)
        if broken is not None:
            return Verdict(shown, "refuted", witness=_witness(broken[0]), value=broken[1])
    return Verdict(shown, "undecided", blame=f"{found[0].shown} may have no value")


def _limit(law: Law, claim: Claim, stated: tree.Limit, shown: str) -> Verdict:
    box = domain_of(law, claim)
    signs = Signs(box)
    value: sp.Expr | None = box.independent(law.to_sympy(stated.formula))
    steps = []
    for name, place in stated.approaches:
        if value is None:
            break
        to = law.to_sympy(place)
        value = limit(signs, value, law.symbols[name], to)
        if value is not None:
            steps.append(f"as {name} -> {text(to)}: {text(value)}")
    target = box.independent(law.to_sympy(stated.target))
    if value is not None and (value == target or sp.expand(value - target) == 0):
        return Verdict(shown, "proved", proof=tuple(steps))
    if value is None:
        return Verdict(shown, "undecided", blame=f"the limit of {text(law.expression)}")
    if value.is_infinite or target.is_infinite:
        reached = f"the limit is {text(value)}"
        return Verdict(shown, "refuted", proof=tuple(steps), value=reached)
    gap = value - target
    found = find_point(domain_for(law, box), gap, lambda v: abs(v) > 1e-9, (-1, 1))
    if found is None:
        return Verdict(shown, "undecided", blame=f"whether {text(value)} is {text(target)}")
    reached = f"the limit is {text(value)}"
    return Verdict(shown, "refuted", proof=tuple(steps), witness=_witness(found[0]), value=reached)


def _reduction(law: Law, claim: Claim, stated: tree.Reduction, shown: str) -> Verdict:
    target = Law(law.declarations.laws[stated.law])
    extra: dict[str, sp.Expr] = {}
    e = law.to_sympy(stated.formula, extra=extra)
    box = domain_of(law, claim)
    fresh = tuple(_fresh(law, stated, extra, claim))
    box = replace(
        box,
        ranges={**box.ranges, **{q.symbol: box.range(law.symbols[of]) for q, of in fresh}},
        facts={**box.facts, **{q.symbol: box.facts.get(law.symbols[of], "").replace(of, q.name)
                               for q, of in fresh}},
    )
    mapping = reduce_to(Signs(box), e, law, target)
    if isinstance(mapping, Choice):
        return Verdict(shown, "proved", proof=(f"{stated.law} with {mapping.shown()}",))
    domain = domain_for(law, box, tuple(q for q, _ in fresh))
    broken = never(domain, e, law, target)
    if broken is not None:
        return Verdict(shown, "refuted", witness=_witness(broken[0]), value=broken[1])
    return Verdict(shown, "undecided", blame=mapping)


def _fresh(
    law: Law, stated: tree.Reduction, extra: dict[str, sp.Expr], claim: Claim
) -> Iterator[tuple[Quantity, str]]:
    """The names that `L(r = r0)` brings in, each with the domain of the variable it fixes."""
    for node in tree.walk(stated):
        for name, at in node.keywords if isinstance(node, tree.Call) else ():
            if isinstance(at, tree.Name) and at.text in extra:
                of = next((q for q in law.variables if q.name == name), None)
                bounds = of.bounds if of else ()
                symbol = extra[at.text]
                yield Quantity(at.text, symbol, bounds, None, None), name  # type: ignore[arg-type]


def _unclaimed_doubts(law: Law, seconds: float) -> Iterator[Diagnostic]:
    """Warnings about parts without a value, for a law that does not claim to be finite."""
    if any(isinstance(c.claim, tree.Finite) for c in law.claims):
        return
    formula = law.declarations.output.formula
    assert formula is not None
    try:
        with time_limit(seconds):
            found = list(doubts(law, formula, Signs(domain_of(law))))
    except OutOfTime:
        return
    for doubt in found[:3]:
        message = f"`{doubt.shown}` is not proved to have a value on the whole domain"
        help = "declare the domains it needs, or claim where it holds: `require L finite for …`"
        own = law.declarations.text
        inside = doubt.node.span.end <= len(own.text)
        span = doubt.node.span if inside else None
        yield Diagnostic("L0503", message, "warning", text=own, span=span, help=help)
