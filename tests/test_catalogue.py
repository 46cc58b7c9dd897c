"""Laws of the literature beyond those that ship, every parameter free: each claim gets its verdict.

The laws say what is true, and why, beside each claim. The judge of the random laws looks at both:
at what is said there, whatever the proofs make of it, and at what the proofs find.
"""

from __future__ import annotations

import random
import re
from functools import cache

import mpmath
import pytest
from judging import HERE, Exact, Judge, formula_of
from random_laws import Case, contradiction, fails, sampled, suspicious

import lawdsl
from lawdsl.language import tree
from lawdsl.proof import Verdict, check_claim

LAWS = [lawdsl.load(path) for path in sorted((HERE / "fixtures" / "catalogue").glob("*.law"))]
CASES = {
    f"{law.name}: {case.shown}": case
    for law in LAWS
    for claim in law.claims
    for case in [Case(law, claim, law.declarations.text.text)]
}

every_claim = pytest.mark.parametrize("name", CASES)


@cache
def verdict_on(name: str) -> Verdict:
    return check_claim(CASES[name].law, CASES[name].claim, seconds=5)


def comment(case: Case) -> str:
    """What stands beside a claim."""
    after = case.text[case.claim.span.end :].partition("\n")[0]
    return after.partition("#")[2].strip()


def of_reduction(case: Case) -> str | None:
    """What is wrong with the choice that stands beside a reduction: `A0 = a + g/G0^gamma, B0 = b`.

    Parameters of the target that are not named there are called the same in both laws.
    """
    stated = case.claim.claim
    target = lawdsl.load(stated.law)
    chosen = re.findall(r"(\w+)0 = (.+?)(?=, \w+0 = |$)", comment(case))
    places = dict(stated.formula.keywords)
    rng = random.Random(0)
    with mpmath.workdps(40):
        for drawn in sampled(case, rng, 20):
            point = {k: Exact().number(v) for k, v in drawn.items()}
            fixed = {at.text: point[k] for k, at in places.items() if isinstance(at, tree.Name)}
            own = Judge(case.law, point | fixed, Exact())
            values = {name: own.value(formula_of(text)) for name, text in chosen}
            theirs = Judge(target, point | values, Exact()).value(tree.Name(target.output))
            if abs(own.value(stated.formula) - theirs) > abs(theirs) * mpmath.mpf(10) ** -30:
                return f"not with {values} at {drawn}"
    return None


@every_claim
def test_what_is_expected_stands_up_to_sampling(name: str):
    case = CASES[name]
    expected, said = case.claim.expect, comment(case)
    if expected == "refuted":
        assert said, "why?"
    if isinstance(case.claim.claim, tree.Reduction):
        wrong = of_reduction(case) if expected == "proved" else None
    elif expected == "refuted":
        points = sampled(case, random.Random(0), 400)
        failing = any(fails(case, point) for point in suspicious(case, points))
        wrong = None if failing else "no point was found where it fails"
    else:
        condition = said.removeprefix("exactly where ")
        wrong = contradiction(case, Verdict("", expected, condition=condition, exact=True))

    assert wrong is None


@every_claim
def test_the_verdict_is_the_expected_one(name: str):
    found = verdict_on(name)

    assert found.verdict == CASES[name].claim.expect, found
    assert found.exact == (found.condition is not None)
    assert len(found.proof) <= 5


@every_claim
def test_the_verdict_stands_up_to_sampling(name: str):
    if not isinstance(CASES[name].claim.claim, tree.Reduction):
        assert contradiction(CASES[name], verdict_on(name)) is None


def test_the_catalogue_is_large_and_decided():
    verdicts = [verdict_on(name) for name in CASES]

    assert len(LAWS) >= 16 and len(verdicts) >= 35
    assert [v for v in verdicts if v.verdict == "undecided"] == []
