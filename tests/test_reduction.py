"""`L(r = r0) is chinchilla`: a choice of parameters, or a property that no choice has."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import HERE
from proving import decide

import lawdsl
from lawdsl.proof import check_claim

SIZE = "parameter E, A, alpha > 0\n"

CASES = [
    # law, claim, verdict, the choice
    ("variable N > 0\n" + SIZE + "L = E + A/N^alpha", "L is mixing.size", "proved", "the same parameters"),
    ("variable N > 0\n" + SIZE + "L = 2*E + A/(3*N)^alpha", "L is mixing.size", "proved", "E = 2*E, A = A/3^alpha"),
    ("variable N > 0\n" + SIZE + "L = E + 1 + A/N^(2*alpha)", "L is mixing.size", "proved", "E = E + 1, alpha = 2*alpha"),
    # the parameters are not those that the target admits
    ("variable N > 0\n" + SIZE + "L = E - A/N^alpha", "L is mixing.size", "undecided", None),
    ("variable N > 0\n" + SIZE + "L = E + A*N^alpha", "L is mixing.size", "undecided", None),
    ("variable N > 0\nparameter E >= 0\nparameter A, alpha > 0\nL = E + A/N^alpha", "L is mixing.size", "undecided", None),
    ("variable N > 0\n" + SIZE + "L = A/N^alpha + E - E", "L is mixing.size", "undecided", None),
    # the choice may not change with a variable, but with a name that fixes one
    ("variable N > 0, M > 0\n" + SIZE + "L = E + A*M/N^alpha", "L is mixing.size", "refuted", None),
    ("variable N > 0, M > 0\n" + SIZE + "L = E + A*M/N^alpha", "L(M = m) is mixing.size", "proved", "A = A*m"),
    ("variable N > 0\nvariable M >= 0\n" + SIZE + "L = E + A*M/N^alpha", "L(M = m) is mixing.size", "undecided", None),
    ("variable N > 0\nvariable M >= 0\n" + SIZE + "L = E + A*M/N^alpha", "L(M = m) is mixing.size for M > 0", "proved", "A = A*m"),
    # two powers of one variable, a sum under a power, a product of variables
    ("variable N > 0\n" + SIZE + "L = E + A/N^alpha + 1/N", "L is mixing.size", "refuted", None),
    ("variable N > 0\n" + SIZE + "L = E + A/(N + 1)^alpha", "L is mixing.size", "refuted", None),
    ("variable N > 0, D > 0\n" + SIZE + "L = E + A/(N*D)^alpha", "L is chinchilla", "refuted", None),
    # a target with two powers of one variable has no such property to break
    ("variable T > 0\nparameter a, p, q, r\nL = a*T^p + T^q + T^r", "L is cmr.general", "undecided", None),
]  # fmt: skip


@pytest.mark.parametrize(("law", "claim", "verdict", "choice"), CASES)
def test_is_it_a_member(law: str, claim: str, verdict: str, choice: str | None):
    found = decide(law, claim)

    assert found.verdict == verdict, found
    if choice is not None:
        assert found.proof[0] == f"{claim.split(' is ')[1].split()[0]} with {choice}"


def test_a_difference_with_too_many_terms_is_not_taken_for_none():
    """Hundreds of monomials are not multiplied out; that does not make them 0."""
    law = (
        "variable N > 0\n" + SIZE + "L = E + A*(N + 1)^3*(N + 2)^4*(N + 3)^4*(N + 5)^4 - A*N^alpha"
    )

    assert decide(law, "L is mixing.size").verdict in ("refuted", "undecided")


def test_settings_of_the_target_are_those_of_its_file():
    """dcpt.l3 asks C > C0 at D_min = 0.1311; a law with a smaller D_min asks for more, not less."""
    extended = HERE / "fixtures" / "proof" / "cross.law"
    law = lawdsl.load(str(extended))
    claim = next(c for c in law.claims if "dcpt.l3" in str(c.claim))

    assert check_claim(law, claim).verdict == "proved"
    assert check_claim(law.with_settings(D_min=1.84), claim).verdict == "undecided"


def test_a_parameter_of_the_target_that_has_no_value_is_named(tmp_path: Path):
    target = "law target\nvariable x > 0\nparameter E, q\nL = E + 1/x\n"
    (tmp_path / "target.law").write_text(target)
    path = tmp_path / "own.law"
    path.write_text("law own\nvariable x > 0\nparameter p\nL = p + 1/x\nrequire L is target\n")
    (found,) = lawdsl.check(lawdsl.load(str(path))).claims

    assert (found.verdict, found.blame) == ("undecided", "q of target")


TARGET = "law target\nvariable x > 0\nparameter E >= 0\nparameter A, a > 0\nL = E + A/x^a\n"
BOUNDS = [
    # a parameter's bound that the target admits too, and one that it does not
    ("p >= 0", "p + 1/x", "proved"),
    ("p > 0", "p + 1/x", "proved"),
    ("p > -1", "p + 1/x", "undecided"),
    ("p >= 0", "1 + p/x", "undecided"),
    ("p > 0", "1 + p/x", "proved"),
]


@pytest.mark.parametrize(("bound", "formula", "verdict"), BOUNDS)
def test_the_bounds_of_the_target_may_be_closed(
    bound: str, formula: str, verdict: str, tmp_path: Path
):
    (tmp_path / "target.law").write_text(TARGET)
    path = tmp_path / "own.law"
    path.write_text(
        f"law own\nvariable x > 0\nparameter {bound}\nL = {formula}\nrequire L is target\n"
    )

    assert [v.verdict for v in lawdsl.check(lawdsl.load(str(path))).claims] == [verdict]
