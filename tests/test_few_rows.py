"""What fits of few rows, and of rows on one ray, say where they know little: simulated truths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from quick import some

import lawdsl
from lawdsl.fitting.result import Fit

E, A, ALPHA, B, BETA = 1.8172, 482.01, 0.3478, 2085.43, 0.3658


def loss(N: np.ndarray, D: np.ndarray) -> np.ndarray:
    return E + A / N**ALPHA + B / D**BETA


def fitted(sizes: np.ndarray, ratios: list[float], noise: float, seed: int) -> Fit:
    """A fit of the true law to a grid of sizes and of tokens per parameter."""
    N, ratio = (x.ravel() for x in np.meshgrid(sizes, ratios))
    D = N * ratio
    rng = np.random.default_rng(seed)
    L = loss(N, D) * np.exp(noise * rng.standard_normal(len(N)))
    options = {"starts": 4, "claims": False, "rolled_check": False}
    fit = lawdsl.fit("chinchilla", {"N": N, "D": D, "L": L}, **options)
    assert isinstance(fit, Fit)
    return fit


# sizes, ratios, noise: with the noise at the maximum of the marginal likelihood 64, 67 and 61 %
# of the intervals contain the truth
@pytest.mark.parametrize(
    ("sizes", "ratios", "noise"),
    [
        (3, [5.0, 20.0, 80.0], 0.001),
        pytest.param(3, [5.0, 20.0, 80.0], 0.004, marks=pytest.mark.slow),
        (4, [5.0, 20.0, 80.0], 0.001),
    ],
)
def test_intervals_of_few_rows_contain_the_truth(sizes: int, ratios: list[float], noise: float):
    N = np.array([1.0e8, 1.8e8, 1.2e8, 3.0e8])
    D = np.array([2.0e9, 5.5e9, 8.0e9, 3.0e9])
    inside = []
    for seed in range(12):
        fit = fitted(np.geomspace(5e7, 4e8, sizes), ratios, noise, seed)
        band = fit.predict_with_errors({"N": N, "D": D})
        inside.append((band.low <= loss(N, D)) & (loss(N, D) <= band.high))
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_a_prediction_far_beyond_the_rows_is_that_of_the_law(seed: int):
    """The nearer to it the less the rows say; and losses fall with N, as the law's do."""
    fit = fitted(np.geomspace(5e7, 1.6e9, 6), [5.0, 20.0, 80.0, 200.0], 0.004, seed)
    N = np.geomspace(1.6e9, 1e12, 13)
    band = fit.predict_with_errors({"N": N, "D": 20 * N})
    assert band.law is not None
    assert np.all(np.diff(band.values) < 0)
    assert np.all(np.abs(np.log(band.values / band.law)) < 0.05)
    assert np.all((band.low <= loss(N, 20 * N)) & (loss(N, 20 * N) <= band.high))


@pytest.mark.parametrize("seed", [7, 8])
def test_off_a_ray_nothing_is_determined(seed: int):
    fit = fitted(np.geomspace(5e7, 1.6e9, 10), [20.0], 0.004, seed)
    on_it = fit.predict_with_errors({"N": [3e8], "D": [6e9]})
    off_it = fit.predict_with_errors({"N": [1e8, 1e9], "D": [2e11, 2e9]})
    assert on_it.low[0] <= loss(np.array(3e8), np.array(6e9)) <= on_it.high[0]
    assert on_it.high[0] / on_it.low[0] < 1.05
    assert off_it.law is not None and np.all(np.isinf(off_it.high))
    assert np.all(off_it.values == off_it.law)
    assert "F0126" in {d.code for d in off_it.warnings}


def test_an_allocation_from_a_ray_is_not_known():
    """The draws of the true laws say no more than the noise alone does: nothing."""
    fit = fitted(np.geomspace(5e7, 1.6e9, 10), [20.0], 0.004, 7)
    answer = lawdsl.Asked("chinchilla.allocation", loss=fit).answer(C=1e21)
    assert answer.ends("N") == (0, math.inf)
    assert answer.law_error is not None
    assert answer.law_error.ends["N"] == (0, math.inf)
    assert answer.law_error.regret is None and answer.law_error.missing


@pytest.mark.parametrize("seed", some([7, 8], 1))
@pytest.mark.parametrize("C", [1e21, 1e23])
def test_the_regret_of_an_allocation_from_few_rows_is_no_larger_than_losses(seed: int, C: float):
    fit = fitted(np.geomspace(5e7, 4e8, 3), [5.0, 20.0, 80.0], 0.004, seed)
    answer = lawdsl.Asked("chinchilla.allocation", loss=fit).answer(C=C)
    wrong = answer.law_error
    assert wrong is not None and wrong.goal is not None
    assert wrong.goal[0] <= loss(np.array(answer["N"]), np.array(answer["D"])) <= wrong.goal[1]
    if wrong.regret is not None and wrong.regret_high is not None:
        assert 0 <= wrong.regret <= wrong.regret_high < 1
