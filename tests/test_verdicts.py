"""The verdicts that the papers' own reasoning gives, law by law."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lawdsl

FIXTURES = Path(__file__).parent / "fixtures" / "proof"

# Que et al. 2024, the four requirements of section 3.1: (claim, verdict, condition), exact conditions.
TABLE = {
    "dcpt.l1": [
        ("L finite", "proved", None),
        ("∂L/∂N < 0", "proved", None),
        ("∂L/∂D < 0", "proved", None),
        ("∂L/∂r < 0", "proved", None),
        ("∂²L/∂D∂r < 0", "refuted", None),
        ("L(r = r0) is chinchilla", "proved", None),
    ],
    "dcpt.l2": [
        ("L finite", "proved", None),
        ("∂L/∂N < 0", "proved", None),
        ("∂L/∂D < 0", "proved", None),
        ("∂L/∂r < 0", "proved", None),
        ("∂²L/∂D∂r < 0", "conditional", "eta < 1"),
        ("L(r = r0) is chinchilla", "refuted", None),
    ],
    "dcpt.l3": [
        ("L finite", "proved", None),
        ("∂L/∂N < 0", "proved", None),
        ("∂L/∂D < 0 for r > 0", "proved", None),
        ("∂L/∂r < 0", "proved", None),
        ("∂²L/∂D∂r < 0 for r > 0", "proved", None),
        ("L(r = r0) is chinchilla for r > 0", "proved", None),
    ],
    "dcpt.l4": [
        ("L finite", "proved", None),
        ("∂L/∂N < 0", "proved", None),
        ("∂L/∂D < 0", "proved", None),
        ("∂L/∂r < 0", "conditional", "B*b*c*log(b) < C*D_min^beta*log(c)"),
        ("∂²L/∂D∂r < 0", "proved", None),
        ("L(r = r0) is chinchilla", "proved", None),
    ],
    "dcpt.l5": [
        ("L finite", "proved", None),
        ("∂L/∂N < 0", "proved", None),
        ("∂L/∂D < 0 for r > 0", "proved", None),
        ("∂L/∂r < 0", "conditional", "sigma < D_min"),
        ("∂²L/∂D∂r < 0", "refuted", None),
        ("L(r = r0) is chinchilla", "refuted", None),
    ],
    "chinchilla": [
        ("L finite", "proved", None),
        ("∂L/∂N < 0", "proved", None),
        ("∂L/∂D < 0", "proved", None),
        ("L convex in N", "proved", None),
        ("L convex in D", "proved", None),
        ("L -> E as N -> oo, D -> oo", "proved", None),
    ],
    "kaplan": [
        ("L finite", "proved", None),
        ("∂L/∂N < 0", "proved", None),
        ("∂L/∂D < 0", "proved", None),
        ("L convex in N", "proved", None),
        ("L convex in D", "proved", None),
        ("∂²L/∂N∂D < 0", "conditional", "alphaD < 1"),
        ("L -> 0 as N -> oo, D -> oo", "proved", None),
    ],
}


@pytest.mark.parametrize("name", TABLE)
def test_the_papers_table(name: str, record_property):
    check = lawdsl.check(name, seconds=5)
    assert [(v.claim, v.verdict, v.condition) for v in check.claims] == TABLE[name]
    assert all(v.exact for v in check.claims if v.verdict == "conditional")
    slowest = max(check.claims, key=lambda v: v.seconds)
    times = f"{sum(v.seconds for v in check.claims):.3f} s, slowest {slowest.seconds:.3f} s"
    record_property("figure", f"check {name}: {times} ({slowest.claim})")


def test_at_a_share_of_0_the_strict_trend_in_data_is_refuted(tmp_path: Path):
    """The paper's ∂L/∂D < 0 fails at r = 0, one of its own nine ratios."""
    law = tmp_path / "strict.law"
    law.write_text(
        "law strict\nextends dcpt.l3\nL = dcpt.l3\nrequire ∂L/∂D < 0\nrequire ∂L/∂D <= 0\n",
        encoding="utf-8",
    )
    strict, weak = lawdsl.check(str(law)).claims[-2:]
    assert (strict.verdict, weak.verdict) == ("refuted", "proved")
    assert dict(strict.witness)["r"] == "0"


def test_equation_26_is_found_where_the_bound_is_left_out():
    """Without C > C0 the trend in r is conditional, and the condition is the paper's C > C0."""
    law = lawdsl.load("dcpt.l3").without("C > C0")
    verdict = next(v for v in lawdsl.check(law).claims if v.claim == "∂L/∂r < 0")
    assert (verdict.verdict, verdict.exact) == ("conditional", True)
    left, right = verdict.condition.split(" < ")
    rng = np.random.default_rng(0)
    for _ in range(200):
        names = ("B", "eta", "epsilon", "gamma", "beta", "D_min", "C")
        at = dict(zip(names, np.exp(rng.uniform(-2, 2, len(names))), strict=True))
        at["eta"] += 1
        c0 = at["B"] * at["eta"] * (1 + at["epsilon"]) ** (at["gamma"] + 1)
        c0 /= at["gamma"] * at["D_min"] ** at["beta"]
        assert (_value(left, at) < _value(right, at)) == (at["C"] > c0)


def _value(formula: str, at: dict[str, float]) -> float:
    """A printed formula at a point, read by the language itself."""
    from lawdsl.compiling.arrays import evaluate
    from lawdsl.compiling.tape import compile_tape
    from lawdsl.language.parsing import parse

    law = lawdsl.load("dcpt.l3")
    document, mistakes = parse(f"let x = {formula}")
    assert not mistakes
    expression = law.to_sympy(document.statements[0].formula)
    symbols = sorted(expression.free_symbols, key=str)
    return float(evaluate(compile_tape([expression], symbols), [at[s.name] for s in symbols])[0])


def test_the_cross_domain_law_and_its_uniformity():
    """More K, more k2 or less k1 lowers the loss; at any K it is a D-CPT law."""
    check = lawdsl.check(str(FIXTURES / "cross.law"), seconds=5)
    own = check.claims[-4:]
    assert [v.claim for v in own] == [
        "∂L/∂K < 0",
        "∂L/∂k2 < 0",
        "∂L/∂k1 > 0",
        "L(K = K0) is dcpt.l3",
    ]
    inherited = {v.claim: v.verdict for v in check.claims[:-4]}
    assert len(inherited) == 5 and set(inherited.values()) == {"proved"}
    assert check.ok


def test_the_two_domain_mixing_law_falls_exactly_where_t_is_negative():
    verdicts = {v.claim: v for v in lawdsl.check("mixing.two_domain").claims}
    assert verdicts["∂L/∂r < 0"].condition == "t < 0" and verdicts["∂L/∂r < 0"].exact
