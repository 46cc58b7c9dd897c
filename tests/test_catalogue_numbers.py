"""Shipped laws of the literature: with printed coefficients each gives a number that its source prints.

A number marked `computed` follows from printed coefficients, and is compared with a calculation by hand: no number of the
source is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
import sympy as sp

import lawdsl

Values = Mapping[str, float]


@dataclass(frozen=True)
class Printed:
    """A value of a law: its parameters, its variables, the number and its tolerance."""

    law: str
    parameters: Values
    variables: Values
    number: float
    within: float  # relative


FLOAT = {
    "B": 68973.0621,
    "alpha": 0.2368,
    "beta": 0.5162,
    "gamma": 11334.5197,
    "delta": 3.1926,
    "nu": 2.9543,
}
KUMAR = {
    "B": 18060,
    "beta": 0.4965,
    "C_T": 0.0598,
    "gD": 0.5068,
    "gN": 0.3439,
    "gP": 0.5907,
}
SUPERVISED = {
    "E": 1.22,
    "A": 3355,
    "alpha": 0.408,
    "B": 18186,
    "beta": 0.431,
    "gamma": 0.452,
}
STUDENT = {
    "A": 2243,
    "alpha": 0.321,
    "B": 24181,
    "beta": 0.637,
    "gamma": 0.764,
    "c0": 2.549,
    "c1": 522.6,
    "d1": 1.315,
    "f1": 0.09,
}
GRANULAR = {
    "a": 18.1,
    "alpha": 0.115,
    "b": 30.8,
    "beta": 0.147,
    "g": 2.1,
    "gamma": 0.58,
    "c": 0.47,
}
JOINT = {
    "a": 35.91,
    "alpha": -0.1889,
    "delta": -0.2285,
    "gamma": 0.0098,
    "b": 35.98,
    "beta": -0.1775,
    "omega": 0.5529,
    "zeta": -0.0259,
    "E_start": 2.0732,
    "E_max": 290.4521,
    "c": 1.3637,
}
SPARSITY = {
    "e": 0.94,
    "a": 16612.5,
    "alpha": 0.5962,
    "b": 5455.67,
    "beta": 0.3954,
    "c": 0.4598,
    "lambda": -0.1666,
    "d": 17.26,
    "delta": 0.1603,
    "gamma": 0.1595,
}
DILOCO = {"A": 19.226, "alpha": 0.0985, "beta": 0.0116}
LANGUAGES = {"E": 0.0, "A": 1.0, "alpha": 0.11 / 0.243, "B": 1.0, "beta": 0.04 / 0.272}
QAT = {"E": 1.9279, "A": 237.7042, "alpha": 0.3022, "B": 596.249, "beta": 0.3022}
W4A4 = {"k": 0.1582, "gN": 0.2186, "gD": 0.0745, "gG": 0.7779}
VOCABULARY = {
    "E": 5.533,
    "A1": 1.831,
    "alpha1": 0.447,
    "A2": 0.196,
    "alpha2": 0.671,
    "B": 2.124,
    "beta": 0.447,
}

ROWS = (
    # Sun et al., Section 4.3: 1730T, 27T and .4T tokens at 1B parameters and blocks of 128
    Printed(
        "precision.float_critical", FLOAT, {"N": 1e9, "X": 8, "M": 7, "S": 128}, 1.730e15, 1e-3
    ),
    Printed("precision.float_critical", FLOAT, {"N": 1e9, "X": 4, "M": 3, "S": 128}, 2.7e13, 0.02),
    Printed("precision.float_critical", FLOAT, {"N": 1e9, "X": 2, "M": 1, "S": 128}, 4e11, 0.02),
    # Kumar et al., Table 2: tokens a parameter at 30M and 3, 4 and 5 bits
    Printed("precision.post_critical", KUMAR, {"N": 30e6, "P": 3}, 546 * 30e6, 1e-3),
    Printed("precision.post_critical", KUMAR, {"N": 30e6, "P": 4}, 2950 * 30e6, 1e-3),
    Printed("precision.post_critical", KUMAR, {"N": 220e6, "P": 4}, 1.75e11, 2e-3),
    # Chen et al., Table 1, W4A4: .0573 of the loss is quantisation at 594M, 100B tokens, groups of 128
    Printed(
        "precision.qat",
        {**QAT, **W4A4},
        {"N": 594e6, "D": 1e11, "G": 128},
        1.9279 + 237.7042 / 594e6**0.3022 + 596.249 / 1e11**0.3022 + 0.0573,
        5e-6,
    ),
    # Busbridge et al., Table 6: the supervised loss, and students of three teachers
    Printed("distill.supervised", SUPERVISED, {"N": 1e9, "D": 2e10}, 2.3747, 2e-5),
    Printed("distill.supervised", SUPERVISED, {"N": 1e9, "D": 2.56e11}, 2.1897, 2e-5),
    Printed("distill.student", STUDENT, {"N": 1e9, "D": 2.56e11, "L_T": 1.9909}, 2.1708, 5e-5),
    Printed("distill.student", STUDENT, {"N": 1e9, "D": 2.56e11, "L_T": 1.6}, 2.2351, 5e-5),
    Printed("distill.student", STUDENT, {"N": 1e9, "D": 2.56e11, "L_T": 2.4}, 2.4007, 5e-5),
    # Krajewski et al., Table 2: losses of the first rows, N being 43 times the active parameters
    Printed("moe.granular", GRANULAR, {"N": 43e8, "D": 4.37e9, "G": 8}, 3.133, 0.01),
    Printed("moe.granular", GRANULAR, {"N": 43e9, "D": 28.94e9, "G": 16}, 2.491, 0.01),
    Printed("moe.granular", GRANULAR, {"N": 43 * 7e9, "D": 137.6e9, "G": 32}, 2.076, 0.01),
    # Ludziejewski et al., Table 4, 8 experts: m*N^mu + n*D^nu + c
    Printed(
        "moe.joint",
        JOINT,
        {"N": 1e9, "D": 1e10, "E": 8},
        21.833 * 1e9**-0.1676 + 119.9126 * 1e10**-0.2338 + 1.3637,
        3e-3,
    ),
    Printed("moe.sparsity", SPARSITY, {"N": 1e9, "D": 2e10, "S": 0.9}, 2.7019, 2e-5),
    # Charles et al., Table 11
    Printed("diloco.joint", DILOCO, {"N": 4e9, "M": 1}, 2.178, 1e-3),
    Printed("diloco.joint", DILOCO, {"N": 1e10, "M": 1}, 1.990, 1e-3),
    # Hernandez et al., text to Python
    Printed(
        "finetune.transfer",
        {"k": 1.9e4, "alpha": 0.18, "beta": 0.38},
        {"D_F": 1e6, "N": 1e9},
        6.01e8,
        2e-3,
    ),
    # Zhang et al., Table 4, WMT14 En-De: full fine-tuning against prompts, exponent -1.2 of the critical examples
    Printed(
        "finetune.critical",
        {},
        {
            "X": 1e9,
            "A_1": 1.2e5,
            "A_2": 3.9e3,
            "alpha_1": 0.52,
            "alpha_2": 0.4,
            "d_beta": 0.15 - 0.051,
        },
        (1.2e5 / 3.9e3) ** (1 / 0.099) * 1e9 ** (-0.12 / 0.099),
        1e-9,
    ),
    # DeepSeek, Eq. 1
    Printed("batch.compute", {"c": 0.2920, "beta": 0.3271}, {"C": 1e20}, 1.017e6, 1e-3),
    Printed("lr.compute", {"c": 0.3118, "alpha": 0.125}, {"C": 1e20}, 9.86e-4, 1e-3),
    # Li et al.: the abstract's rate and batch of 1B parameters and 100B tokens, computed
    Printed(
        "lr.step",
        {"c": 1.79, "alpha": 0.713, "beta": 0.307},
        {"N": 1e9, "D": 1e11},
        1.79 * 1e9**-0.713 * 1e11**0.307,
        1e-9,
    ),
    Printed("batch.step", {"c": 0.58, "beta": 0.571}, {"D": 1e11}, 0.58 * 1e11**0.571, 1e-9),
    # Kaplan et al.: 2e8 tokens at a loss of 1
    Printed("batch.critical", {"B_star": 2e8, "alpha": 0.21}, {"L": 1.0}, 2e8, 1e-9),
    # McCandlish et al.: at the critical batch steps are twice their least
    Printed("batch.tradeoff", {"S_min": 5000, "B_crit": 1e6}, {"B": 1e6}, 1e4, 1e-9),
    # Xiong et al., Figure 1: twice the context leaves 70 % of what context costs the 70B model
    Printed(
        "context.length",
        {"alpha": 17.9, "beta": 0.51, "gamma": 1.35},
        {"c": 16384},
        0.702 * (17.9 / 8192) ** 0.51 + 1.35,
        1e-4,
    ),
    # Longpre et al., Figure 5: four times the languages at 1.40 times the size and 2.74 times all tokens
    Printed(
        "multilingual.languages",
        {**LANGUAGES, "phi": 0.11, "psi": -0.04},
        {"N": 1.40e9, "D": 2.74e9 / 4, "K": 4},
        1e9 ** (-0.11 / 0.243) + 1e9 ** (-0.04 / 0.272),
        2e-3,
    ),
    # Gao et al.: KL divergence of best of 1,000 is 5.909 nats; the most reward is alpha^2/(4 beta)
    Printed("rl.overoptimised_best_of_n", {"alpha": 2, "beta": 0.5}, {"d": 2.0}, 2.0, 1e-9),
    Printed("rl.overoptimised_rl", {"alpha": 1, "beta": 1}, {"d": 1.0}, 1.0, 1e-9),
    # Tao et al.: a loss relative to unigrams, negative
    Printed(
        "vocab.unigram",
        VOCABULARY,
        {"N_nv": 1000, "V": 65, "D": 20},
        -5.533 + 1.831 / 1000**0.447 + 0.196 / 65**0.671 + 2.124 / 20**0.447,
        1e-9,
    ),
)


def value(row: Printed) -> float:
    """The law at the numbers of a row, from its SymPy form at 30 digits."""
    law = lawdsl.load(row.law)
    settings = {s.name: s.value for s in law.settings}
    numbers = {**settings, **row.parameters, **row.variables}
    replaced = {law.symbols[name]: sp.Float(repr(float(v)), 30) for name, v in numbers.items()}
    return float(sp.N(law.expression.xreplace(replaced), 20, maxn=1000))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.law}-{k}" for k, row in enumerate(ROWS)])
def test_the_printed_number_follows(row: Printed):
    assert value(row) == pytest.approx(row.number, rel=row.within)


def test_more_experts_help_at_the_best_size_of_a_budget_and_not_at_every_size():
    """With the coefficients of Ludziejewski et al., Table 3, as docs/findings.md says."""
    law = lawdsl.load("moe.joint")
    expression = law.expression.xreplace({law.symbols[n]: sp.Float(v) for n, v in JOINT.items()})
    loss = sp.lambdify([law.symbols[name] for name in "NDE"], expression, "numpy")
    experts = np.array([1.0, 4.0, 16.0, 32.0])
    few = loss(3e9, 1e9, experts)
    assert few[[0, 3]] == pytest.approx([2.859, 2.878], abs=5e-4) and np.all(np.diff(few) > 0)
    sizes = np.geomspace(1e6, 1e12, 2000)
    for budget in (1e18, 1e20, 1e22):
        best = [np.min(loss(sizes, budget / 6 / sizes, e)) for e in experts]
        assert np.all(np.diff(best) < 0)
