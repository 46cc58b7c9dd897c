"""Questions of the literature, answered at printed coefficients: the numbers that their sources print, or closed forms."""

from __future__ import annotations

import math

import pytest

import lawdsl
from lawdsl.language.library import shipped

BIASED = {
    "E": 2.7648,
    "A": 4299,
    "B": 18060,
    "alpha": 0.4965,
    "g_w": 2.6745,
    "n_w": 0.3037,
    "g_a": 2.2102,
    "n_a": 1.4072,
    "g_k": 0.9578,
    "n_k": 2.4185,
}
HOFFMANN = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.336, "beta": 0.283}
POST = {
    **{"E": 2.7648, "A": 4299, "alpha": 0.4965, "B": 18060, "beta": 0.4965},
    **{"C_T": 0.0598, "gD": 0.5068, "gN": 0.3439, "gP": 0.5907},
}
STUDENT = {
    **{"A": 2243, "alpha": 0.321, "B": 24181, "beta": 0.637, "gamma": 0.764, "c0": 2.549},
    **{"c1": 522.6, "d1": 1.315, "f1": 0.09},
}
SUPERVISED = {"E": 1.22, "A": 3355, "alpha": 0.408, "B": 18186, "beta": 0.431, "gamma": 0.452}
JOINT = {
    **{"a": 35.91, "alpha": -0.1889, "delta": -0.2285, "gamma": 0.0098, "b": 35.98},
    **{"beta": -0.1775, "omega": 0.5529, "zeta": -0.0259, "E_start": 2.0732},
    **{"E_max": 290.4521, "c": 1.3637},
}
STREAMS = {"E": 1.28859, "A": 0.197517e9, "alpha": 0.19628, "k": 0.33444}
RECIPES = {
    "recipe": {"R0": 0.2, "A": 0.61, "C_mid": 2000, "B": 1},
    "other": {"R0": 0.2, "A": 0.61, "C_mid": 4000, "B": 1},
}


def largest_ratio() -> float:
    """The larger root of a*M^eta + b*M^-eta = (3.3 - E)*C^eta."""
    size = 1.5 * 1e20**0.14
    return float(((size + math.sqrt(size**2 - 4 * 100 * 500)) / 200) ** (1 / 0.14))


# question: fits, inputs, unknown, number, relative tolerance
ANSWERS = {
    # Kumar et al.: 7 to 8 bits at any budget; 1.75e11 tokens at 220M and 4 bits
    "precision.allocation": ({"loss": BIASED}, {"C": 1e20}, "P", 7.0021, 1e-4),
    "precision.best_tokens": ({"loss": POST}, {"N": 220e6, "P": 4}, "D", 1.7532e11, 1e-3),
    # Sardana et al.: 13.6B parameters at the loss of the best 30B model, 1e13 tokens read
    "chinchilla.inference": (
        {"loss": HOFFMANN},
        {"target": 1.9583, "D_inf": 1e13},
        "N",
        1.36e10,
        1e-2,
    ),
    # Ludziejewski et al., Table 1: 2.85B active parameters at 1e21 FLOP of 32 experts, where memory allows
    "moe.experts": (
        {"loss": JOINT},
        {"F": 1e21, "memory": 1e12, "D_inf": 0},
        "N",
        2.85e9,
        0.015,
    ),
    # Busbridge et al., Table 6
    "distill.teacher": ({"student": STUDENT}, {"N": 1e9, "D": 2.56e11}, "L_T", 1.9909, 1e-4),
    # closed forms
    "forgetting.most_tokens": (
        {"kept": {"A": 0.02, "alpha": 0.4, "beta": 0.5, "B": 300}},
        {"N": 1e9, "p": 0.01, "L0": 2.5, "rise": 0.05},
        "D",
        (0.05 / 0.02) ** 2 * (4 * 1e9) ** 0.8,
        1e-6,
    ),
    "rl.speed_up": (RECIPES, {"C_other": 1e4}, "C", 5e3, 1e-6),
    "rl.stop_best_of_n": ({"reward": {"alpha": 0.6, "beta": 0.08}}, {}, "d", 0.6 / 0.16, 1e-6),
    "rl.stop_rl": (
        {"reward": {"alpha": 0.6, "beta": 0.2}},
        {},
        "d",
        math.exp(0.6 / 0.2 - 1),
        1e-6,
    ),
    "testtime.samples": (
        {"coverage": {"a": -1.9, "b": 0.4}},
        {"target": 0.9},
        "k",
        (-1.9 / math.log(0.9)) ** 2.5,
        1e-6,
    ),
    "context.shortest": (
        {"loss": {"alpha": 17.9, "beta": 0.51, "gamma": 1.35}},
        {"target": 1.5},
        "c",
        17.9 / 0.15 ** (1 / 0.51),
        1e-6,
    ),
    "kaplan.fewest_steps": (
        {"loss": {"Nc": 6.5e13, "alphaN": 0.077, "Sc": 2.1e3, "alphaS": 0.76}},
        {"N": 1e8, "target": 3.0},
        "S_min",
        2.1e3 / (3 - (6.5e13 / 1e8) ** 0.077) ** (1 / 0.76),
        1e-6,
    ),
    "parallel.smallest": (
        {"loss": STREAMS},
        {"target": 2.1},
        "N",
        0.197517e9 / (2.1 - 1.28859) ** (1 / 0.19628) / (0.33444 * math.log(8) + 1),
        1e-6,
    ),
    "diloco.replicas": (
        {"loss": {"A": 19.226, "alpha": 0.0985, "beta": 0.0116}},
        {"N": 1e9, "rise": 0.02},
        "M",
        4,
        1e-9,
    ),
    "batch.fewest_steps": (
        {"steps": {"S_min": 5000, "B_crit": 1e6}},
        {"B_max": 4e6, "D": 1e10},
        "B",
        1e6,
        1e-6,
    ),
    "finetune.crossing": (
        {
            "first": {"E": 0.6, "A": 100, "alpha": 0.2, "beta": 0.15},
            "second": {"E": 0.6, "A": 40, "alpha": 0.2, "beta": 0.08},
        },
        {"X": 1e9, "D_max": 1e12},
        "D",
        2.5 ** (1 / 0.07),
        1e-6,
    ),
    "overtrain.furthest": (
        {"loss": {"E": 1.8, "a": 100, "b": 500, "eta": 0.14}},
        {"C": 1e20, "target": 3.3},
        "M",
        largest_ratio(),
        1e-6,
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_question_has_its_answer(name: str):
    fits, inputs, unknown, number, within = ANSWERS[name]
    answer = lawdsl.solve(name, **fits, **inputs)
    assert answer.ok, answer.status
    value = answer[unknown]
    assert value == pytest.approx(number, rel=within)


def test_every_question_of_the_literature_can_be_asked():
    """Those without an answer here are asked on the pages of the docs or in the tests of index sets."""
    assert set(ANSWERS) <= set(shipped("question"))
    assert len(shipped("question")) >= 35
