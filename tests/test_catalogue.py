"""Laws of the literature beyond those that ship, every parameter free: each claim has its verdict.

Beside each claim stands what makes it true or false. The judge of the random laws looks at what is
said there, whatever the proofs make of it, and at what the proofs find.
"""

from __future__ import annotations

import random
import re
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
from claim_sampling import Case, contradiction, fails, sampled, suspicious
from hyperdual import Exact
from judging import HERE, Judge, formula_of

import lawdsl
from lawdsl.language import tree
from lawdsl.law.law import Law
from lawdsl.proof import Verdict, check_claim

LAWS = [lawdsl.load(path) for path in sorted((HERE / "fixtures" / "catalogue").glob("*.law"))]
ALL = [Case(law, claim, law.declarations.text.text) for law in LAWS for claim in law.claims]

OPEN = sorted((HERE / "fixtures" / "open").glob("*.law"))

COSTLY = (  # a second each, or several
    *("rate_drop: ∂²L/∂S∂eta > 0", "farseer: ∂L/∂N < 0", "bounded: ∂L/∂N < 0"),
    "broken_twice: L convex in x for f1 >= 1, f2 >= 1",
    *("routed_saturated: ∂L/∂E < 0", "routed_saturated: ∂²E_worth/∂E² < 0"),
)


def _named(case: Case) -> str:
    return f"{case.law.name}: {case.shown}"


# test_laws checks the verdicts on all claims
some_claims = pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            c, id=_named(c), marks=[pytest.mark.slow] if i % 4 or _named(c) in COSTLY else []
        )
        for i, c in enumerate(ALL)
    ],
)


def beside(case: Case) -> str:
    """The comment beside a claim."""
    line = case.text[case.claim.span.end :].partition("\n")[0]
    return line.partition("#")[2].strip()


def misfit(case: Case) -> str | None:
    """What is wrong with the choice beside a reduction: `# A0 = a + g/G0^gamma, B0 = b`.

    Parameters of the target that are not named there are called the same in both laws.
    """
    stated = case.claim.claim
    target = Law(case.law.declarations.laws[stated.law])
    chosen = re.findall(r"(\w+)0 = (.+?)(?=, \w+0 = |$)", beside(case))
    fresh = {at.text: k for k, at in stated.formula.keywords if isinstance(at, tree.Name)}
    with mpmath.workdps(40):
        for drawn in sampled(case, random.Random(0), 20):
            point = {k: Exact().number(v) for k, v in drawn.items()}
            own = Judge(case.law, point | {new: point[k] for new, k in fresh.items()}, Exact())
            try:
                value = own.value(stated.formula)
                choice = {name: own.value(formula_of(text)) for name, text in chosen}
                theirs = Judge(target, point | choice, Exact()).value(tree.Name(target.output))
            except OverflowError:
                continue
            if abs(value - theirs) > abs(theirs) * mpmath.mpf(10) ** -30:
                return f"it is another law with {choice} at {drawn}"
    return None


@some_claims
def test_what_is_said_of_a_claim_stands_up_to_sampling(case: Case):
    expected, said = case.claim.expect, beside(case)
    if isinstance(case.claim.claim, tree.Reduction):
        wrong = misfit(case) if expected == "proved" else None
    elif expected == "refuted":
        place = {k: Fraction(v) for k, v in re.findall(r"(\w+) = (\d+)", said)}
        points = sampled(case, random.Random(0), 400, place)
        found = any(fails(case, point) for point in suspicious(case, points))
        wrong = None if found else "it fails nowhere"
    else:
        condition = said.removeprefix("exactly where ")
        wrong = contradiction(case, Verdict("", expected, condition=condition, exact=True))

    assert wrong is None


@some_claims
def test_the_verdict_is_the_expected_one_and_stands_up_to_sampling(case: Case):
    found = check_claim(
        case.law, case.claim, seconds=60
    )  # CPU of the whole process, all of its threads

    assert found.verdict == case.claim.expect, found
    assert found.exact == (found.condition is not None)
    assert len(found.proof) <= 5
    # proved is nothing but the claim itself, which the test above samples at the same points
    if found.verdict != "proved" and not isinstance(case.claim.claim, tree.Reduction):
        assert contradiction(case, found) is None


@pytest.mark.slow
@pytest.mark.parametrize("path", OPEN, ids=lambda path: path.stem)
def test_claims_that_are_true_and_not_yet_proved(path: Path):
    """What the proofs cannot do yet; one that is decided belongs into the catalogue."""
    found = lawdsl.check(path)

    assert {verdict.verdict for verdict in found.claims} == {"undecided"}


def test_the_catalogue_is_large_and_nothing_in_it_is_undecided():
    assert len(LAWS) >= 16 and len(ALL) >= 35
    assert {case.claim.expect for case in ALL} >= {"proved", "conditional", "refuted"}
    assert not any(case.claim.expect == "undecided" for case in ALL)
    assert all(beside(case) for case in ALL if case.claim.expect != "proved")
