"""Claims decided for fitted values, on the whole domain: N in (0, oo), D in [D_min, oo), r in [0, 1]."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from claim_sampling import Case, contradiction
from judging import law_of
from numpy.random import Generator
from quick import without

from lawdsl.language import tree
from lawdsl.law.law import Law, load
from lawdsl.proof.check import check

LAWS = ("dcpt.l1", "dcpt.l2", "dcpt.l3", "dcpt.l4", "dcpt.l5")
SCALES = {"alpha": 0.35, "beta": 0.35, "gamma": 0.6, "eta": 1.3, "epsilon": 0.1, "sigma": 0.2}


def fitted(name: str, rng: Generator) -> tuple[Law, dict[str, float]]:
    """A law, half of the time without its coupled bound, and values that a fit might give."""
    law = load(name)
    if name == "dcpt.l3" and rng.random() < 0.5:
        law = law.without("C > C0")
    values: dict[str, float] = {}
    for q in law.parameters:
        value = SCALES.get(q.name, 0.7) * float(np.exp(rng.normal()))
        for bound in q.bounds:
            given = {law.symbols[n]: v for n, v in values.items()}
            given |= {s.symbol: s.value for s in law.settings}
            limit = float(bound.limit.subs(given))
            value = limit + value if bound.lower else limit * value / (1 + value)
        values[q.name] = float(f"{value:.{rng.integers(3, 17)}g}")
    return law, values


def spelled_out(law: Law, values: dict[str, float]) -> Law:
    """The same as a file whose parameters are settings, which the judge of random laws can read."""
    lines = law.declarations.text.text.splitlines()
    kept = [line for line in lines if not line.startswith(("parameter", "minimize", "start"))]
    settings = [f"setting {name} = {value!r}" for name, value in values.items()]
    return law_of("\n".join([kept[0], *settings, *kept[1:]]))


def certified(name: str, seed: int, count: int) -> tuple[Counter[str], list[float]]:
    """Verdicts on all claims for so many fitted values, each looked at by sampling."""
    rng = np.random.default_rng(seed)
    seen: Counter[str] = Counter()
    times = []
    for i in range(count):
        law, values = fitted(name, rng)
        judged = spelled_out(law, values)
        for claim, verdict in zip(judged.claims, check(law, values=values).claims, strict=True):
            seen[verdict.verdict] += 1
            times.append(verdict.seconds)
            assert verdict.verdict != "undecided", (values, verdict)
            if isinstance(claim.claim, tree.Reduction):
                continue
            if verdict.verdict == "certified":
                verdict = replace(verdict, verdict="inside" if verdict.face else "proved")
            wrong = contradiction(Case(judged, claim, name), verdict, seed=i)
            assert wrong is None, (values, verdict, wrong)
    return seen, times


@pytest.mark.parametrize("name", without(LAWS, ["dcpt.l3", "dcpt.l4", "dcpt.l5"]))
def test_all_claims_are_decided_for_fitted_values(name: str, record_property):  # type: ignore[no-untyped-def]
    seen, times = certified(name, seed=7, count=5)

    record_property(
        "figure", f"certificates of {name}: {dict(seen)}, median {np.median(times) * 1000:.0f} ms"
    )
    assert seen["certified"] > 12


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_all_claims_are_decided_for_1000_fitted_values(name: str, record_property):  # type: ignore[no-untyped-def]
    seen, times = certified(name, seed=8, count=1000)

    record_property(
        "figure", f"certificates of {name}: {dict(seen)}, median {np.median(times) * 1000:.0f} ms"
    )


def test_what_fails_for_fitted_values_names_a_point_where_it_does():
    values = dict.fromkeys(("E", "A", "alpha", "B", "beta", "gamma", "epsilon"), 0.5)
    law = load("dcpt.l3").without("C > C0")
    found = check(law, values={**values, "eta": 2, "C": 0.01}).claims[3]

    assert (found.claim, found.verdict, found.ok) == ("∂L/∂r < 0", "refuted", False)
    assert Fraction(dict(found.witness)["r"]) <= 1


@pytest.mark.parametrize(
    "condition, verdict",
    [
        ("K < 1/3", "refuted"),  # it is met: 1/3 and K are one float64
        ("K <= 1/3", "refuted"),
        ("K >= 1/3", "certified"),  # it is not
        ("K > a", "refuted"),
        ("K < a", "certified"),
    ],
)
def test_a_claim_is_vacuous_only_where_its_condition_is_certainly_not_met(condition, verdict):
    text = "law t\nvariable N > 0\nparameter K > 0\nparameter a > 0\nL = K/(1 + N)\n"
    law = law_of(f"{text}require L > 10 for {condition}")
    (found,) = check(law, values={"K": 0.3333333333333333, "a": 0.25}).claims

    assert found.verdict == verdict
