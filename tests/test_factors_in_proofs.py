"""What a proof says of the factors of a quantity, evaluated at random points of the domain."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
import sympy as sp
from judging import claims_on, formula_of
from proving import decide

import lawdsl
from lawdsl.language.symbols import Claim
from lawdsl.law.law import Law
from lawdsl.proof import check_claim
from lawdsl.proof.box import Box
from lawdsl.proof.domain import domain_of
from lawdsl.proof.goals import goal_of
from lawdsl.proof.sampling import draw_wide

PRODUCT = re.compile(r"the product of all factors but (.+) is (positive|negative)")
POINTS = 40
FACTORS = ("(a - b)", "(b - 2)", "a", "(1 - b)", "x^b", "1/x", "-exp(-x)", "c", "-c", "log(1 + x)")
CLAIMS = ("L > 0", "L < 0", "L >= 0", "L <= 0", "0 < L", "∂L/∂x < 0", "∂L/∂x > 0", "∂L/∂c < 0")
CLAIMS += ("L increasing in x", "L decreasing in x", "L convex in x", "L concave in x", "L < E")


def points(box: Box, seed: int) -> dict[sp.Symbol, np.ndarray]:
    """Random values of the independent symbols of a domain."""
    rng = np.random.default_rng(seed)
    return {s: draw_wide(box, s, rng, POINTS) for s in sorted(box.ranges, key=str)}


def judged(law: Law, claim: Claim, seed: int) -> int:
    """How many points agree with the sentence about factors in a proof; 0 if it has none."""
    verdict = check_claim(law, claim, seconds=1)
    said = [match for step in verdict.proof if (match := PRODUCT.fullmatch(step))]
    if not said:
        return 0
    (sentence,) = said
    box = domain_of(law, claim)
    quantity = box.independent(box.declared(goal_of(law, claim.claim, box).quantity))
    inner = box.independent(law.to_sympy(formula_of(sentence[1])))
    columns = points(box, seed)
    names = sorted({*quantity.free_symbols, *inner.free_symbols} - set(box.settings), key=str)
    others = sp.lambdify(names, (quantity / inner).xreplace(dict(box.settings)), "mpmath")
    agreeing = 0
    for k in range(POINTS):
        try:
            value = others(*(sp.Float(columns[s][k], 40) for s in names))
        except (ZeroDivisionError, OverflowError):
            continue
        if not sp.Float(value).is_finite or value == 0:
            continue  # too small or too large
        assert (value > 0) == (sentence[2] == "positive"), (verdict, columns, k)
        agreeing += 1
    return agreeing


@pytest.mark.parametrize("seed", range(40))
def test_random_products(seed: int):
    rng = random.Random(seed)
    factors = "*".join(rng.sample(FACTORS, rng.randint(2, 4)))
    text = f"law test\nvariable x > 0\nparameter a, b\nparameter c, E > 0\nL = {factors}"
    for claim in rng.sample(CLAIMS, 4):
        law, (stated,) = claims_on(text, claim)
        judged(law, stated, seed)


def test_random_products_have_such_sentences():
    """The test above would pass without any."""
    text = "law test\nvariable x > 0\nparameter a, b\nparameter c > 0\nL = -c*(a - b)/x"
    for claim in ("L > 0", "L < 0", "∂L/∂x < 0", "∂L/∂x > 0", "L convex in x", "L concave in x"):
        law, (stated,) = claims_on(text, claim)
        assert judged(law, stated, 0) > POINTS / 2, claim


SHIPPED = (
    "dcpt.l5",
    "cmr.domain",
    "cmr.share",
    "mixing.two_domain",
    "chinchilla",
    "downstream.error",
)


def test_shipped_laws():
    agreeing = 0
    for law in map(lawdsl.load, SHIPPED):
        for claim in law.claims:
            if type(claim.claim).__name__ in ("ComparisonNode", "TrendNode"):
                agreeing += judged(law, claim, 1)
    assert agreeing > POINTS


@pytest.mark.parametrize(
    ("law", "claim", "sentence"),
    [
        (
            "variable r in (0, 1]\nparameter E, C, g > 0\nL = E + C*r^g",
            "L concave in r",
            "the product of all factors but g - 1 is positive",
        ),
        (
            "variable N > 0\nparameter E, A, B > 0\nL = E + (A - B)/N",
            "L < E",
            "the product of all factors but A - B is positive",
        ),
        (
            "variable N > 0\nparameter E, A, B > 0\nL = E + (A - B)/N",
            "∂L/∂N < 0",
            "the product of all factors but A - B is negative",
        ),
        (
            "variable x > 0\nparameter a\nL = 1 + a*x",
            "L > 0",
            "no term is negative but for the factor a",
        ),
        (
            "variable x > 0\nparameter a\nL = -1 - a*x",
            "L < 0",
            "no term is positive but for the factor a",
        ),
    ],
)
def test_the_sentence_is_about_the_quantity_that_the_proof_states(
    law: str, claim: str, sentence: str
):
    assert sentence in decide(law, claim).proof
