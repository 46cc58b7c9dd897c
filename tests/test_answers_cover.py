"""How often the interval of an answer holds the true one, where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from planted import PLANTED, grid
from scipy.stats import binom

import lawdsl

# As D-CPT was measured: three sizes, nine shares, and some of the checkpoints
DESIGN = grid(
    N=[0.5, 1.8, 4.0],
    D=[0.5, 1.5, 4.0, 10.0, 25.0],
    r=[0.0, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.0],
)
NOISE = 0.005
GENERAL = dict(E=1.6, A=0.35, alpha=0.35, B=0.12, beta=0.3, eta=1.3, gamma=0.5, epsilon=0.1, C=1.2)
DOMAIN = dict(E=1.1, A=0.3, alpha=0.4, B=0.15, beta=0.35, eta=1.6, gamma=0.6, epsilon=0.12, C=1.5)
# its best share for 2B tokens of the domain is 0.55: C is where the slope there is 0, and below C0
LIMITED = {
    **dict(E=1.1, A=0.3, alpha=0.4, B=0.6, beta=0.35, eta=1.6, gamma=0.6, epsilon=0.12),
    "C": 0.6 * 1.95 * 0.55**0.95 / 2**0.35 * 0.67**1.6 / 0.6,
}
# at a share of 1/2 a model of 2B and 8B tokens are best for their compute: B is where that is so
ALLOCATED = {**DOMAIN, "B": 0.4 * 0.3 / 2**0.4 * 8**0.35 / (0.35 * 0.5**1.6), "C": 1.0}


def loss(values: Mapping[str, float], **at: object) -> np.ndarray:
    return PLANTED["dcpt.l3"].formula(**at, **values)


@dataclass(frozen=True)
class Simulated:
    """A question whose laws are known.

    Attributes:
        laws: use -> the true parameters.
        given: what it is asked with.
        unknown: whose true value is `truth`.
        without: a bound that the fits leave out.
    """

    laws: Mapping[str, Mapping[str, float]]
    given: Mapping[str, float]
    unknown: str
    truth: float
    without: tuple[str, ...] = ()


SIMULATED = {
    "dcpt.tradeoff": Simulated(
        {"general": GENERAL, "domain": DOMAIN},
        {"N": 1.8, "D": 10.0, "L0": float(loss(GENERAL, N=1.8, D=10.0, r=0.3)) / 1.03, "T": 0.03},
        "r_d",
        0.7,
    ),
    "dcpt.limited_data": Simulated(
        {"domain": LIMITED}, {"N": 1.8, "D_d": 2.0}, "r_d", 0.55, ("C > C0",)
    ),
    "dcpt.allocation": Simulated(
        {"domain": ALLOCATED}, {"r": 0.5, "C": 96.0}, "N", 2.0, ("C > C0",)
    ),
}


def fitted(
    values: Mapping[str, float], without: tuple[str, ...], rng: np.random.Generator
) -> lawdsl.Fit:
    exact = loss(values, **DESIGN)
    table = {**DESIGN, "L": exact * np.exp(NOISE * rng.normal(size=len(exact)))}
    kept: dict[str, Any] = {"claims": False, "rolled_check": False, "intervals": "delta"}
    fit = lawdsl.fit("dcpt.l3", table, starts=dict(values), without=without, **kept)
    assert isinstance(fit, lawdsl.Fit)
    return fit


def covering(question: str, simulations: int) -> np.ndarray:
    """Which intervals of 95 % hold the true answer, of so many tables with new noise."""
    s = SIMULATED[question]
    found = []
    for seed in range(simulations):
        rng = np.random.default_rng(7000 + seed)
        fits = {use: fitted(values, s.without, rng) for use, values in s.laws.items()}
        answer = lawdsl.solve(question, **fits, **s.given)
        ends = answer.ends(s.unknown)
        assert ends is not None and answer.certain
        found.append(ends[0] < s.truth < ends[1])
    return np.array(found)


@pytest.mark.parametrize("question", SIMULATED)
def test_the_true_laws_have_the_true_answer(question: str):
    s = SIMULATED[question]
    answer = lawdsl.solve(question, **s.laws, **s.given)
    assert answer[s.unknown] == pytest.approx(s.truth, rel=1e-9)


@pytest.mark.parametrize(
    "question",
    [pytest.param(q, marks=pytest.mark.slow if q != "dcpt.tradeoff" else ()) for q in SIMULATED],
)
def test_the_interval_of_an_answer_holds_the_true_one(question: str):
    assert covering(question, 4).sum() >= binom.ppf(1e-4, 4, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("question", SIMULATED)
def test_intervals_of_95_per_cent_cover_93_to_97(question: str, record_property):
    share = 100 * float(np.mean(covering(question, 500)))
    record_property("figure", f"coverage of answers, {question}: {share:.1f} %")

    assert 93 <= share <= 97
