"""Claims that anybody would make of simple formulas: each has its verdict, in the default time."""

from __future__ import annotations

from pathlib import Path

import pytest
from claim_sampling import Case, contradiction
from judging import HERE
from quick import some

import lawdsl
from lawdsl.language import tree
from lawdsl.proof import Verdict
from lawdsl.proof.check import check

FOLDER = HERE / "fixtures" / "natural"
SLOWER = 5.0  # s of processor time a claim: machines that run tests are busy


def verdicts(path: Path) -> list[Verdict]:
    return list(check(path, seconds=SLOWER).claims)


@pytest.mark.parametrize("path", some(sorted(FOLDER.glob("*.law")), 14), ids=lambda p: p.stem)
def test_every_claim_has_the_expected_verdict(path: Path):
    for found in verdicts(path):
        assert found.verdict == found.expect, found
        assert found.verdict != "proved" or 0 < len(found.proof) <= 5
        assert not any(line.endswith(" ") for line in found.proof), found.proof


def test_logarithms_of_sums_of_exponentials_are_decided_at_once():
    found = check(FOLDER / "softplus.law", seconds=0.7).claims

    assert [v.verdict for v in found] == ["proved"] * len(found), found


SAMPLED = [
    Case(law, claim, law.declarations.text.text)
    for law in map(lawdsl.load, sorted(FOLDER.glob("*.law")))
    for claim in law.claims
    if not law.indexed and not isinstance(claim.claim, (tree.Reduction, tree.Finite))
]


@pytest.mark.slow  # minutes: some laws are costly to evaluate exactly
@pytest.mark.parametrize("case", SAMPLED, ids=[f"{c.law.name}: {c.shown}" for c in SAMPLED])
def test_what_is_proved_stands_up_to_sampling(case: Case):
    assert contradiction(case, Verdict("", case.claim.expect)) is None or (
        case.claim.expect == "refuted"
    )


def test_how_many_of_them_are_decided():
    """The score: of all claims, of which two in three must be decided, and none wrongly."""
    laws = map(lawdsl.load, sorted(FOLDER.glob("*.law")))
    expected = [claim.expect for law in laws for claim in law.claims]

    assert len(expected) >= 53
    assert expected.count("undecided") < len(expected) / 3
