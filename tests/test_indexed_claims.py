"""What is claimed of laws with index sets: proved for sets of any size, never wrongly."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import lawdsl
from lawdsl.language import tree
from lawdsl.language.instances.claims import claim_at
from lawdsl.language.instances.declarations import written_out
from lawdsl.language.instances.grounding import Grounding
from lawdsl.language.instances.instance import Instance, row_indices
from lawdsl.law.law import Law
from lawdsl.proof.domain import domain_of
from lawdsl.proof.goals import goal_of

HEAD = """\
law example
index i over validation
index j over training
variable r[j] in simplex
variable s[i] in simplex
parameter c[i] >= 0, k[i] > 0, A > 0, t[i, j]
"""
M4 = "L[i] = c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))"
OWN = """\
law example
index i over domain
variable r[i] in simplex
parameter A[i], alpha[i] > 0
"""
WHOLE = "L = sum(s[i]*(c[i] + k[i]*exp(sum(t[i, j]*r[j] for j))) for i)"

VERDICTS = [
    # what the sums are made of
    (HEAD + M4, "L[i] finite", "proved"),
    (HEAD + M4, "L[i] > c[i]", "proved"),
    (HEAD + M4, "∂L[i]/∂c[i] = 1", None),
    (HEAD + M4, "∂L[i]/∂t[i, j] >= 0", "proved"),
    (HEAD + M4, "∂L[i]/∂t[i, j] > 0", "inside"),
    (HEAD + M4, "∂L[i]/∂t[i, j] < 0", "refuted"),
    (HEAD + "L = sum(A*r[j]^2 for j)", "L >= 0", "proved"),
    (HEAD + "L = sum(A*t[i, j]*r[j] for i, j)", "L > 0", "refuted"),
    (HEAD + "L = log(sum(r[j] for j))", "L finite", "proved"),  # the shares are never all 0
    (HEAD + "L = sum(log(t[i, j]) for i, j)", "L finite", "refuted"),
    (HEAD + "L = sum(log(r[j]) for j)", "L finite for r[a] > 0", "refuted"),
    (HEAD + "L = prod(1 + r[j] for j)", "L > 0", "proved"),
    # what changes with every term
    (HEAD + WHOLE, "∂L/∂k[i] >= 0", "proved"),
    (HEAD + WHOLE, "L decreasing in r[a] against r[b] for t[i, a] < 0, t[i, b] > 0", "refuted"),
    (HEAD + "L = A*sum(k[i] for i)", "∂L/∂A > 0", "proved"),
    # shares that rise and fall
    (HEAD + M4, "L[i] decreasing in r[a] against r[b]", "refuted"),  # not in b against a too
    (HEAD + M4, "L[i] decreasing in r[a] against r[b] for t[i, a] < t[i, b]", "proved"),
    (HEAD + M4, "L[i] decreasing in r[a] against r[b] for t[i, a] < 0, t[i, b] > 0", "proved"),
    (HEAD + M4, "L[i] increasing in r[a] against r[b] for t[i, a] < 0, t[i, b] > 0", "refuted"),
    (HEAD + "L = A*sum(r[j] for j)", "L increasing in r[a] against r[b]", "refuted"),  # it is A
    # labels that are one and the same
    (
        OWN + "L[i] = A[i]/r[i]^alpha[i]",
        "L[i] decreasing in r[i] against r[b] for r[i] > 0",
        "proved",
    ),
    (
        OWN + "L[i] = A[i]/r[i]^alpha[i]",
        "L[i] decreasing in r[a] against r[b] for r[i] > 0",
        "refuted",
    ),
    (OWN + "L[i] = A[i]/(1 + r[i])^alpha[i]", "L[i] decreasing in r[i] against r[b]", "proved"),
]


def claimed(text: str, claim: str, folder: Path) -> Law:
    path = folder / "example.law"
    path.write_text(f"{text}\nrequire {claim}\n", encoding="utf-8")
    return lawdsl.load(path)


@pytest.mark.parametrize(("text", "claim", "verdict"), [v for v in VERDICTS if v[2]])
def test_claims_of_any_number_of_labels(text: str, claim: str, verdict: str, tmp_path: Path):
    (found,) = lawdsl.check(claimed(text, claim, tmp_path)).claims
    assert found.verdict == verdict, found
    assert found.claim == claim


def test_a_condition_names_the_elements(tmp_path: Path):
    law = claimed(HEAD + M4, "k[i]*(c[i] - t[i, a] - t[i, b]) > 0", tmp_path)
    (found,) = lawdsl.check(law).claims
    assert found.condition == "t[i, a] + t[i, b] < c[i]"


def test_a_refutation_is_a_point_of_a_law_with_few_labels(tmp_path: Path):
    law = claimed(HEAD + M4, "∂L[i]/∂t[i, j] < 0", tmp_path)
    (found,) = lawdsl.check(law).claims
    assert dict(found.witness)["r[j]"] != "0"


@pytest.mark.parametrize(
    ("claim", "blame"),
    [
        (" + ".join(f"t[i, a{k}]" for k in range(2_000)) + " > 0", "it names more than 24 labels"),
        (
            " + ".join(f"t[i, a{k}]*t[i, j]*t[i, m]" for k in range(5)) + " > 0",
            "its names stand for labels in more than 24 ways",
        ),
    ],
)
def test_a_claim_about_many_labels_is_undecided(claim: str, blame: str, tmp_path: Path):
    law = claimed(HEAD + "index m over training\n" + M4, claim, tmp_path)
    (found,) = lawdsl.check(law).claims
    assert (found.verdict, found.blame) == ("undecided", blame)


OF_SHARES = [
    # law, claim, verdict at labels: shares that sum to more than 1 refute nothing
    ("L = A*sum(sqrt(r[j]) for j)", "L finite", "proved"),
    ("L = A + prod(r[j] for j)", "L >= A", "proved"),
    ("L = A + sum(t[x, j]*r[j] for j)", "∂L/∂t[x, z] >= 0", "proved"),
    ("L = A", "1 - r[x] - r[y] >= 0", "proved"),
    ("L = A", "r[x] + r[y] <= 0.9", "refuted"),
    ("L = A", "r[x] + r[y] + r[z] <= 1", "proved"),
    ("L = A + r[x]*r[y]", "L <= A + 0.25", "proved"),
    ("L = A + r[x]*r[y]", "L <= A + 0.24", "refuted"),
]
LISTED = "law example\nindex j over {x, y, z}\nvariable r[j] in simplex\nparameter A > 0, t[j]\n"


@pytest.mark.parametrize(("text", "claim", "verdict"), OF_SHARES)
def test_claims_at_labels_are_of_shares_that_sum_to_one(
    text: str, claim: str, verdict: str, tmp_path: Path
):
    law = claimed(LISTED + text.replace("t[x, ", "t["), claim.replace("t[x, ", "t["), tmp_path)
    for found in (*lawdsl.check(law).claims, *lawdsl.check(law.sample).claims):
        assert found.verdict == verdict, found
        assert sum(Fraction(x) for name, x in found.witness if name.startswith("r")) <= 1


def test_shares_of_many_domains_are_found(tmp_path: Path):
    """Of numbers from 0 to 1 for twenty, none would sum to less than 1."""
    labels = ", ".join(f"x{k}" for k in range(20))
    law = claimed(
        LISTED.replace("x, y, z", labels) + "L = A + sum(r[j]^2 for j)", "L > A + 0.5", tmp_path
    )
    (found,) = lawdsl.check(law).claims
    assert found.verdict == "refuted"


def test_a_law_that_may_have_no_value_is_warned_of(tmp_path: Path):
    law = claimed(HEAD + "L = sum(log(t[i, j]) for i, j)", "A > 0", tmp_path)
    assert [d.code for d in lawdsl.check(law).warnings] == ["L0503"]


SHIPPED = ("m1", "m2", "m3", "m4", "explicit", "bimix", "additive", "joint")
LABELS = {"validation": ("v", "w"), "training": ("x", "y", "z"), "domain": ("x", "y", "z")}


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_proved_is_never_contradicted_by_sampling(name: str):
    """At labels, and at random points of the simplex and of the parameters."""
    law = lawdsl.load(f"mixing.{name}")
    rng = np.random.default_rng(2)
    tried = 0
    proved = [
        claim
        for claim, found in zip(law.claims, lawdsl.check(law).claims, strict=True)
        if found.verdict == "proved" and not isinstance(claim.claim, tree.Finite)
    ]
    for claim in proved:
        for places in ({"a": "x", "b": "y"}, {"a": "z", "b": "x"}, {"a": "y", "b": "z"}):
            declared = law.declarations
            at = {i: LABELS[declared.indices[i].over][0] for i in row_indices(declared)}
            ground = Grounding(declared, Instance(LABELS, at))
            assert declared.output.formula is not None
            ground(declared.output.formula, ground.rows)
            own = {"j": "y", "m": "x", "i": LABELS[declared.indices["i"].over][0]}
            stated = claim_at(ground, claim, {**own, **places})
            if stated is None:
                continue
            plain = Law(written_out(ground))
            box = domain_of(plain, stated)
            goal = goal_of(plain, stated.claim, box)  # type: ignore[arg-type]
            for _ in range(20):
                point = _point(plain, rng)
                if not _meets(plain, stated, point):
                    continue
                value = float(box.declared(goal.larger).evalf(30, subs=point))
                tried += 1
                assert value > 0 or (not goal.strict and value >= 0), (stated, point)
    assert tried > 20 or not proved


def _point(law: Law, rng: np.random.Generator) -> dict[sp.Symbol, float]:
    found = {}
    for q in law.parameters:
        value = float(rng.normal(0, 1.5))
        found[q.symbol] = abs(value) + 1e-3 if q.bounds else value
    for first in ("r[", "s[", "h["):
        own = [q.symbol for q in law.variables if q.name.startswith(first)]
        found |= dict(zip(own, rng.dirichlet(np.ones(len(own) + 1)), strict=False))
    for q in law.variables:
        found.setdefault(q.symbol, float(rng.uniform(0.1, 5)))
    return found | {q.symbol: float(q.value or 0) for q in law.settings}


def _meets(law: Law, claim: object, point: dict[sp.Symbol, float]) -> bool:
    """Whether the claim speaks of a point."""
    for name, relations in claim.conditions:  # type: ignore[attr-defined]
        value = float(law.to_sympy(tree.Name(str(name))).subs(point))
        for relation, limit in relations:
            at = float(law.to_sympy(limit).subs(point))
            if not {">": value > at, "<": value < at, ">=": value >= at, "<=": value <= at}[
                relation
            ]:
                return False
    return True


def test_a_condition_on_elements_is_one_without_a_bound_that_helps(tmp_path: Path):
    """`parameter e > k[m] - …` is no bound that a law can be given."""
    text = """\
law example
index j over training
variable x[j] >= 0
parameter k[j] >= 0
parameter e > 0
L = e + sum(k[j]*exp(-x[j]) for j)"""
    (found,) = lawdsl.check(claimed(text, "e > k[m]", tmp_path), seconds=5).claims

    assert (found.verdict, found.condition, found.remedy) == ("conditional", "k[m] < e", ())
