"""Claims that are strict inside the domain, with equality on a face of it that is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import HERE, claims_on
from proving import decide

import lawdsl
from lawdsl.proof import check_claim
from lawdsl.proof.indexed_claims import check_indexed

CASES = [
    # law, claim, the face
    ("variable x in [0, 1]\nL = x", "L > 0", "x = 0"),
    ("variable x in [0, 1]\nL = 1 - x^2", "L > 0", "x = 1"),
    ("variable x >= 0\nL = exp(x) - 1 - x", "L > 0", "x = 0"),
    ("variable x >= 0\nparameter a > 1\nL = x^a", "L increasing in x", "x = 0"),
    ("variable x in [0, 1]\nvariable y > 0\nL = -x*y", "L < 0", "x = 0"),
    ("setting s = 0.5\nvariable x >= s\nL = x - s", "L > 0", "x = s"),
    # faces of parameters
    ("variable x > 0\nparameter a >= 0\nL = a*x", "L > 0", "a = 0"),
    ("parameter a > 0\nparameter b >= a\nL = b - a", "L > 0", "b = a"),
    ("parameter a > 0\nparameter b in [0, a]\nL = b", "L > 0", "b = 0"),
    ("parameter a > 0\nparameter b in [0, a]\nL = a - b", "L > 0", "b = a"),
    ("parameter a > 0\nparameter b in [a, 2*a]\nL = b - a", "L > 0", "b = a"),
    ("parameter a > 0\nlet C0 = 2*a\nparameter C >= C0\nL = C - 2*a", "L > 0", "C = C0"),
    ("variable x > 0\nparameter a >= 0\nparameter b > a\nL = a*x", "L > 0", "a = 0"),
    ("variable x > 0\nparameter a >= 0\nparameter b in (a, a + 1]\nL = a*x", "L > 0", "a = 0"),
    ("parameter a >= 0\nparameter b >= a\nL = b", "L > 0", "b = a, a = 0"),
    # faces of conditions
    ("variable x > 0\nparameter c > 0\nL = x - c", "L > 0 for x >= c", "x = c"),
    ("variable x in [0, 1]\nL = x - 0.5", "L > 0 for x >= 0.5", "x = 1/2"),
    ("variable x in [0, 1]\nL = x", "L(x = x0) > 0", "x0 = 0"),
    # one face or another; two at once
    ("variable x in [0, 1], y in [0, 1]\nL = x*y", "L > 0", "x = 0 or y = 0"),
    ("variable x in [0, 1], y in [0, 1]\nL = x*(1 - y)", "L > 0", "x = 0 or y = 1"),
    ("variable x in [0, 1]\nL = x*(1 - x)", "L > 0", "x = 0 or x = 1"),
    ("variable x in [0, 1], y in [0, 1]\nL = x + y", "L > 0", "x = 0, y = 0"),
    ("variable x in [0, 1], y in [0, 1]\nL = 2 - x - y", "L > 0", "x = 1, y = 1"),
    ("variable x in [0, 1], y >= 2\nL = y - x - 1", "L > 0", "y = 2, x = 1"),
    # not all over the face
    ("variable x in [0, 1], y in [0, 2]\nL = y + (x - 0.5)^2", "L > 0", "y = 0"),
]


def sides(face: str) -> set[frozenset[str]]:
    """The faces of which one holds, each as what holds on it at once."""
    return {frozenset(one.split(", ")) for one in face.split(" or ")}


@pytest.mark.parametrize(("law", "claim", "face"), CASES)
def test_the_face_of_equality(law: str, claim: str, face: str):
    found = decide(law, claim)

    assert (found.verdict, sides(found.face or "")) == ("inside", sides(face)), found
    assert not found.witness and not found.never


CROSS = HERE / "fixtures" / "extends" / "cross_k3.law"  # of one domain
PAPERS = [
    # law, claim, the face
    ("dcpt.l3", "∂L/∂D < 0", "r = 0"),
    ("dcpt.l3", "∂²L/∂D∂r < 0", "r = 0"),
    ("dcpt.l5", "∂L/∂D < 0", "r = 0"),
    (CROSS, "∂L/∂D < 0", "r = 0"),
]


@pytest.mark.parametrize(("name", "claim", "face"), PAPERS)
def test_the_faces_of_the_papers(name: str | Path, claim: str, face: str):
    _, (stated,) = claims_on(lawdsl.load(name).declarations.text.text, claim)
    found = check_claim(lawdsl.load(name), stated, seconds=5)

    assert (found.verdict, found.face) == ("inside", face)


def test_the_face_of_a_law_with_index_sets():
    """Of any domain, as the claim of a law without."""
    law, (stated,) = claims_on(lawdsl.load("dcpt.cross_k3").declarations.text.text, "∂L/∂D < 0")
    found = check_indexed(law, stated, seconds=5)

    assert (found.verdict, found.face) == ("inside", "r = 0")


def test_the_corner_of_l3_without_its_strict_bound():
    """With C >= C0 the loss is flat in r where all three hold, and nowhere else."""
    text = lawdsl.load("dcpt.l3").declarations.text.text
    weak, (stated,) = claims_on(text.replace("parameter C > C0", "parameter C >= C0"), "∂L/∂r < 0")
    found = check_claim(weak, stated, seconds=5)

    assert (found.verdict, sides(found.face or "")) == ("inside", sides("C = C0, D = D_min, r = 1"))


NONE = [
    # equality inside; off the face too; on a face, and less than 0 elsewhere
    ("variable x in [0, 2]\nL = (x - 1)^2", "L > 0", "refuted"),
    ("variable x in [0, 2]\nL = x*(x - 1)^2", "L > 0", "refuted"),
    ("variable x in [0, 1]\nL = x - 2*x^2", "L > 0", "refuted"),
    ("variable x in [0, 1], y in [-1, 1]\nL = x*y", "L > 0", "refuted"),
    ("variable x in [0, 1], y in [0, 1]\nL = (x - y)^2", "L > 0", "refuted"),
    ("variable x in [0, 1]\nL = 0*x", "L > 0", "refuted"),
    # no equality at all: an open face, a claim that allows it
    ("variable x in (0, 1]\nL = x", "L > 0", "proved"),
    ("variable x in [0, 1]\nL = x", "L > 0 for x > 0", "proved"),
    ("variable x in [0, 1]\nL = x", "L >= 0", "proved"),
    ("variable x in [0, 1], y in [0, 1]\nL = x + 1 - y + x*y", "L > 0 for x > 0", "proved"),
]


@pytest.mark.parametrize(("law", "claim", "verdict"), NONE)
def test_no_face(law: str, claim: str, verdict: str):
    found = decide(law, claim)

    assert (found.verdict, found.face) == (verdict, None)


NEVER = [
    # law, claim, whether it holds nowhere
    ("variable x > 0\nL = -x", "L > 0", True),
    ("variable x >= 0\nL = -x", "L > 0", True),
    ("variable x >= 0\nL = -x", "L >= 0", False),
    ("variable x > 0\nL = -x", "L >= 0", True),
    ("variable x in [0, 1]\nL = 0*x", "L > 0", True),
    ("variable x in [0, 1]\nL = x - 0.5", "L > 0", False),
    ("variable x in [0, 2]\nL = -(x - 1)^2", "L >= 0", False),
    ("variable x > 0\nparameter a\nL = a*x", "L > 0 for a < 0", True),
]


@pytest.mark.parametrize(("law", "claim", "never"), NEVER)
def test_what_is_refuted_may_hold_nowhere(law: str, claim: str, never: bool):
    found = decide(law, claim)

    assert (found.verdict, found.never) == ("refuted", never), found


def test_a_law_may_expect_it():
    law, _ = claims_on("law test\nvariable x >= 0\nL = x", "L > 0 expect inside", "2*L > 0")
    first, second = lawdsl.check(law).claims

    assert first.ok and not second.ok and first.word == "proved inside"
