"""Where a formula has a value, as it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from judging import law_of
from proving import decide

from lawdsl.proof import Verdict, check_claim
from lawdsl.proof.box import Box
from lawdsl.proof.check import check
from lawdsl.proof.definedness import AnyDoubt, Doubt, PowerDoubt
from lawdsl.proof.signs.calculus import SignCalculus

CASES = [
    # domain, formula, the verdict on `finite`, and at which of the names' values it breaks
    ("x > 0", "1/x", "proved", None),
    ("x >= 0", "1/x", "refuted", {"x": "0"}),
    ("x >= 0", "x/x", "refuted", {"x": "0"}),  # algebra would cancel it
    ("x", "x^0", "refuted", {"x": "0"}),
    ("x", "x^2/x", "refuted", {"x": "0"}),
    ("x", "sqrt(x)^2", "refuted", {"x": "-1"}),
    ("x", "exp(log(x))", "refuted", None),
    ("x", "x^(-2)", "refuted", {"x": "0"}),
    ("x", "x^2", "proved", None),
    ("x > 0; parameter a", "x^a", "proved", None),
    ("x >= 0; parameter a", "x^a", "refuted", {"a": "0", "x": "0"}),
    ("x >= 0; parameter a >= 0", "x^a", "refuted", {"a": "0", "x": "0"}),  # 0^0
    ("x >= 0; parameter a > 0", "x^a", "proved", None),
    ("x >= 0; parameter a > 0", "x^(-a)", "refuted", {"a": "1", "x": "0"}),
    ("x", "x^(1/3)", "refuted", {"x": "-1"}),
    ("x > 1", "log(x - 1)", "proved", None),
    ("x >= 1", "log(x - 1)", "refuted", {"x": "1"}),
    ("x >= 0", "log10(1 + x)", "proved", None),
    ("x >= 1", "sqrt(x - 1)", "proved", None),
    ("x > 0", "sqrt(x - 1)", "refuted", {"x": "1/2"}),
    ("x > 0", "x*log(x) - x*log(x)", "proved", None),
    ("x >= 0", "x*log(x) - x*log(x)", "refuted", {"x": "0"}),  # algebra would cancel it
    ("x", "tan(x)", "undecided", None),
    ("x", "max(x, 1/x)", "refuted", {"x": "0"}),
    ("x; let K = 1/x", "K*x", "refuted", {"x": "0"}),
    ("x > 0; let K = 1/x", "K*x", "proved", None),
    ("setting s = 0.5; x >= s", "1/x", "proved", None),
    ("setting s = -1; x >= s", "1/x", "refuted", {"x": "0"}),
    ("parameter a > 0; parameter b > a", "log(b - a)", "proved", None),
    ("parameter a > 0; parameter b >= a", "1/(b - a)", "refuted", {"a": "1", "b": "1"}),
]


def finite(where: str, formula: str) -> Verdict:
    """The verdict on `L finite` for a formula on a domain."""
    words = ("parameter", "setting", "let")
    lines = [part.strip() for part in where.split(";")]
    lines = [line if line.split()[0] in words else f"variable {line}" for line in lines]
    return decide("\n".join([*lines, f"L = {formula}"]), "L finite")


@pytest.mark.parametrize(("where", "formula", "verdict", "witness"), CASES)
def test_finite(where: str, formula: str, verdict: str, witness: dict[str, str] | None):
    found = finite(where, formula)

    assert found.verdict == verdict, found
    if witness is not None:
        assert dict(found.witness) == witness


@pytest.mark.parametrize(
    ("law", "claim"),
    [
        ("variable x\nL = x/x", "L > 0"),
        ("variable x\nL = exp(log(x))", "L increasing in x"),
        ("variable x\nL = sqrt(x)^2 + 1", "∂L/∂x > 0"),
        ("variable x >= 0\nparameter a > 0\nL = a*x^2/x", "∂L/∂x > 0"),
        ("variable x > 0\nvariable y\nL = x + y/y", "L -> 1 as x -> 0"),
        ("variable x\nparameter a\nL = a*x^0", "L > 0"),
        (
            "variable N > 0\nvariable x\nparameter E, A, alpha > 0\nL = E*x/x + A/N^alpha",
            "L is mixing.size",
        ),
    ],
)
def test_nothing_is_proved_of_what_may_have_no_value(law: str, claim: str):
    found = decide(law, claim)

    assert found.verdict == "undecided"
    assert "may have no value" in (found.blame or "")


@pytest.mark.parametrize("place", ["-2", "M - 1", "0"])
def test_a_place_outside_the_domain_proves_nothing(place: str):
    law = "variable M > 0\nvariable N > 0\nL = abs(M) + 1/N"
    found = decide(law, f"L(M = {place}) > 0")

    assert found.verdict == "undecided"
    assert found.blame == f"whether M = {place} lies in the domain is not known"


def test_a_place_inside_the_domain_is_as_good_as_a_name():
    law = "variable M > 0\nvariable N > 0\nL = abs(M) + 1/N"

    assert decide(law, "L(M = 2*M) > L").verdict == "proved"
    assert decide(law, "L(M = m, N = 3) > 0").verdict == "proved"


def test_a_witness_has_a_value_there():
    """log(x - 5) rises; below 5 its derivative is negative, but the law has no value."""
    found = decide("variable x > 0\nL = log(x - 5)", "∂L/∂x > 0")

    assert found.verdict == "undecided"


SEVERAL = (
    "L > 0",
    "L finite",
    "L > 0 for x > 1",
    "L > -1",
    "L > 0 for a > 2",
    "L(x = 0) finite",
)


def test_claims_on_one_domain_share_the_proof_that_parts_have_values(
    monkeypatch: pytest.MonkeyPatch,
):
    proofs: list[tuple[AnyDoubt, Box]] = []
    for kind in (Doubt, PowerDoubt):

        def counted(part: Any, signs: SignCalculus, proved: Any = kind.proved) -> bool:
            proofs.append((part, signs.box))
            return bool(proved(part, signs))

        monkeypatch.setattr(kind, "proved", counted)
    formula = "(1 + x)^(-a) + log(1 + b*x)/(2 + x)"
    text = f"law several\nvariable x >= 0\nparameter a, b > 0\nL = {formula}\n"
    law = law_of(text + "\n".join(f"require {claim}" for claim in SEVERAL))

    together = check(law).claims

    boxes = [box for i, (_, box) in enumerate(proofs) if box not in [b for _, b in proofs[:i]]]
    assert len(boxes) == 3  # x >= 0, x > 1, a > 2
    assert all(proofs.count(proof) == 1 for proof in proofs)
    for verdict, claim in zip(together, law.claims, strict=True):
        assert verdict == replace(check_claim(law, claim), seconds=verdict.seconds)
