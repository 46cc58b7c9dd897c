"""Weights w >= 0 that the rows do not tell from 0 are determined, if the rows exclude large ones."""

from __future__ import annotations

import numpy as np
import pytest
from planted import law_of
from quick import some

import lawdsl

WEIGHTS = ("w1", "w2", "w3", "w4", "w5")
SUM = " + ".join(f"w{i}*r{i}" for i in range(1, 6))
TEXT = f"""
variable r1, r2, r3, r4, r5 in [0, 1]
parameter c, k, a > 0
parameter {", ".join(WEIGHTS)} >= 0
L = c + k/(1 + {SUM})^a
minimize squared(L)
"""
TRUE = np.array([0.0, 2.0, 0.0, 1.0, 0.0])


def fitted(seed: int, **changed: np.ndarray) -> lawdsl.Fit:
    rng = np.random.default_rng(seed)
    table = {f"r{i + 1}": column for i, column in enumerate(rng.uniform(0, 1, (5, 60)))} | changed
    shares = np.stack([table[f"r{i}"] for i in range(1, 6)])
    table["L"] = 1 + 2 / (1 + TRUE @ shares) ** 0.5 + rng.normal(0, 0.002, 60)
    fit = lawdsl.fit(law_of(TEXT), table, claims=False, rolled_check=False, starts=12)
    assert isinstance(fit, lawdsl.Fit)
    return fit


@pytest.mark.parametrize("seed", some(range(8), 3))
def test_a_weight_that_is_nearly_0_is_not_undetermined(seed: int):
    """Steps of several times the weight itself are within the noise, but no large weight is."""
    fit = fitted(seed)
    near = [w for w in WEIGHTS if fit.values[w] < 0.05]
    assert {"w1", "w3", "w5"} <= set(near)
    assert not [d for d in fit.diagnostics if d.code == "F0101"]
    for w in near:
        low, high = fit.intervals.ends[w]
        assert low == 0.0 and high < 0.1


@pytest.mark.parametrize("w", ["w2", "w3"])
def test_a_weight_without_an_effect_is_named_alone(w: str):
    fit = fitted(0, **{w.replace("w", "r"): np.zeros(60)})
    (finding,) = [d for d in fit.diagnostics if d.code == "F0101"]
    assert finding.message.startswith(f"{w} cannot be determined from these data")
    assert not fit.parameters[w].identified


def test_weights_of_equal_columns_are_named_together():
    same = np.random.default_rng(5).uniform(0, 1, 60)
    fit = fitted(0, r2=same, r4=same)
    (finding,) = [d for d in fit.diagnostics if d.code == "F0101"]
    assert finding.message.startswith("w2 and w4 cannot be distinguished with these data")
