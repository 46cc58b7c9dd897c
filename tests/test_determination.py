"""Designs that determine little: a fit of them is never called trusted, and says why."""

from __future__ import annotations

import numpy as np
import pytest
from planted import law_of

import lawdsl

Columns = dict[str, np.ndarray]

PRECISION = law_of(
    "variable N, D > 0\nvariable P in [1, 16]\nparameter E, A, B, alpha, beta, gamma > 0\n"
    "let N_eff = N*(1 - exp(-P/gamma))\nL = A/N_eff^alpha + B/D^beta + E\n"
    "minimize huber(log(L), 0.001)"
)
TWO = law_of(
    "variable N, D > 0\nparameter E, A, alpha, B, beta > 0\nL = E + A/N^alpha + B/D^beta\n"
    "minimize huber(log(L), 0.001)"
)
POWER = law_of("variable x > 0\nparameter E, A, alpha > 0\ny = E + A/x^alpha\nminimize squared(y)")
SHARE = law_of(
    "variable r in [0, 1]\nparameter E, C, gamma, epsilon > 0\n"
    "L = E + C/(r + epsilon)^gamma\nminimize squared(L)"
)


def noise(seed: int, rows: int, size: float) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).normal(0, size, rows))


def told(fit: lawdsl.Fit | lawdsl.Fits) -> dict[str, str]:
    return {d.code: d.message for d in fit.diagnostics}


def two(N: np.ndarray, D: np.ndarray, seed: int = 0, size: float = 0.003) -> Columns:
    L = 1.69 + 406.4 / N**0.34 + 410.7 / D**0.28
    return {"N": N, "D": D, "L": L * noise(seed, len(N), size)}


@pytest.mark.parametrize("seed", range(3))
def test_one_model_size_determines_no_exponent_of_it(seed: int):
    D, P = (axis.ravel() for axis in np.meshgrid(np.geomspace(1e9, 1e11, 5), [3.0, 4, 6, 12]))
    N = np.full(20, 5e7)
    L = 1.7 + 400 / (N * (1 - np.exp(-P / 2))) ** 0.34 + 410 / D**0.28
    fit = lawdsl.fit(PRECISION, {"N": N, "D": D, "P": P, "L": L * noise(seed, 20, 0.003)})

    assert fit.verdict != "trusted"
    (named,) = [d for d in fit.diagnostics if d.code in ("F0101", "F0130")]
    assert "alpha" in named.message and named.notes[-1] == "N has one value: 5e+07"


@pytest.mark.parametrize("power", [1.0, 0.5, 1.5])
@pytest.mark.parametrize("width", [0.01, 0.02])
def test_two_variables_near_a_line_leave_the_rest_of_their_ranges_open(power: float, width: float):
    N = np.geomspace(5e7, 8e9, 40)
    D = 2e10 * (N / 1e9) ** power * noise(7, 40, width)
    fit = lawdsl.fit(TWO, two(N, D))

    assert fit.verdict != "trusted"
    assert "F0131" in told(fit) or "F0101" in told(fit)


def test_what_is_open_does_not_depend_on_units():
    N = np.geomspace(5e7, 8e9, 40)
    table = two(N, 20 * N * noise(7, 40, 0.02))
    scaled = {**table, "N": table["N"] / 1e9, "D": table["D"] / 1e9}
    first, second = lawdsl.fit(TWO, table), lawdsl.fit(TWO, scaled)

    assert set(told(first)) == set(told(second)) == {"F0131"}
    assert first.verdict == second.verdict == "caution"


def test_a_grid_of_both_variables_leaves_nothing_open():
    N, D = (
        axis.ravel() for axis in np.meshgrid(np.geomspace(5e7, 8e9, 5), np.geomspace(1e9, 3e11, 5))
    )

    assert told(lawdsl.fit(TWO, two(N, D))) == {}


def test_variables_that_only_scatter_about_a_line_by_a_factor_are_told_apart():
    N = np.geomspace(5e7, 8e9, 60)
    D = 20 * N * np.exp(np.random.default_rng(1).uniform(-1.5, 1.5, 60))

    assert told(lawdsl.fit(TWO, two(N, D, size=0.001))) == {}


@pytest.mark.parametrize(("rows", "spare"), [(4, "1 row is"), (5, None), (6, None), (9, None)])
def test_a_law_is_not_tested_by_one_spare_row(rows: int, spare: str | None):
    x = np.geomspace(1, 100, rows)
    fit = lawdsl.fit(POWER, {"x": x, "y": (2 + 1 / x**0.5) * noise(3, rows, 0.001)})

    assert fit.verdict == ("trusted" if spare is None else "caution")
    assert told(fit).get("F0102") == (
        None if spare is None else f"{rows} rows, 3 parameters: {spare} left to test the law"
    )


def test_a_weak_exponent_is_named_with_its_interval():
    r = np.array([0.05, 0.1, 0.2, 0.5, 1.0])
    y = (2.3 + 0.15 / (r + 0.1) ** 0.74) * noise(2, 5, 0.001)
    fit = lawdsl.fit(SHARE, {"r": r, "L": y})

    assert fit.verdict == "caution"
    assert "F0102" in told(fit)
    assert "gamma (" in told(fit)["F0130"] and "epsilon (" in told(fit)["F0130"]


def test_copies_of_rows_are_no_spare_rows():
    x = np.tile([1.0, 3.0, 10.0, 30.0], 3)
    y = np.tile((2 + 1 / x[:4] ** 0.5) * noise(3, 4, 0.001), 3)

    fit = lawdsl.fit(POWER, {"x": x, "y": y})

    assert told(fit)["F0102"] == "4 different rows, 3 parameters: 1 row is left to test the law"


def test_repeated_measurements_at_as_many_settings_as_parameters_do_not_test_a_law():
    x = np.tile([1.0, 5.0, 30.0], 5)
    fit = lawdsl.fit(POWER, {"x": x, "y": (2 + 1 / x**0.5) * noise(3, 15, 0.001)})

    assert told(fit)["F0102"].startswith("3 settings of the variables, 3 parameters")


def test_shares_that_sum_to_1_are_not_taken_apart():
    law = law_of(
        "variable p in [0, 1]\nvariable q in [0, 1]\nparameter c, k > 0\nparameter s, t\n"
        "L = c + k*exp(s*p + t*q^2)\nminimize squared(L)"
    )
    p = np.linspace(0.02, 0.98, 40)
    L = 2 + 0.5 * np.exp(-p + 0.5 * (1 - p) ** 2)
    fit = lawdsl.fit(law, {"p": p, "q": 1 - p, "L": L * noise(0, 40, 1e-5)})

    assert "F0131" not in told(fit)
