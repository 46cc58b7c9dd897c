"""Fits with declared priors: the posterior, what the priors decide, and where they are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from planted import law_of
from prior_cases import (
    BEYOND,
    LINEAR,
    NAMES,
    POWER,
    TWO_SIZES,
    codes,
    fitted,
    linear_rows,
    power_rows,
)
from quick import some
from scipy.optimize import minimize

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.extrapolation.discrepancy import (
    Discrepancy,
    FittedRows,
    NoiseLevels,
    PriorRows,
)
from lawdsl.fitting.extrapolation.kernel import kernel
from lawdsl.fitting.intervals.covariance import combined_with_priors
from lawdsl.fitting.penalty import NoiseScale, Penalty
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.result import Fit

# ---- the posterior


@pytest.mark.parametrize("weights", [False, True], ids=["rows alike", "weighted rows"])
def test_the_posterior_of_a_linear_law_is_the_closed_form(weights: bool):
    table = linear_rows(weights=weights)
    fit = fitted(LINEAR, table, "b = 2 ± 0.1", "c = -1 ± 0.4", weights="w" if weights else None)

    design = np.stack([np.ones(12), table["x"], table["y"]], axis=1)
    w = table.get("w", np.ones(12))
    plain = np.linalg.solve(design.T @ (w[:, None] * design), design.T @ (w * table["z"]))
    variance = w @ (table["z"] - design @ plain) ** 2 / (w.sum() - 3)
    precision = np.diag([0, 1 / 0.1**2, 1 / 0.4**2])
    inverse = design.T @ (w[:, None] * design) / variance + precision
    score = design.T @ (w * table["z"]) / variance + precision @ [0, 2, -1]
    covariance = np.linalg.inv(inverse)

    assert list(fit.values.values()) == pytest.approx(covariance @ score, rel=1e-9)
    assert fit.spread is not None
    assert fit.spread.covariance == pytest.approx(covariance, rel=1e-8, abs=1e-15)
    assert fit.priors is not None
    assert list(fit.priors.without.values()) == pytest.approx(plain, rel=1e-9)
    assert fit.priors.noise == pytest.approx(np.sqrt(variance), rel=1e-9)
    shift = (fit.values["b"] - plain[1]) / 0.1
    assert fit.priors.priors[0].shift == pytest.approx(shift, rel=1e-6)


@pytest.mark.parametrize(
    "priors",
    some(
        [
            {"A": (0.3, 0.02), "log(B)": (7.0, 0.1), "alpha": (0.4, 0.1)},
            {"log(A)": (np.log(0.2), 0.3)},
            {"E": (1.5, 0.05), "log(beta)": (np.log(0.3), 0.02)},
        ],
        1,
    ),
    ids=lambda priors: " and ".join(priors),
)
def test_a_nonlinear_fit_minimises_the_penalised_objective(priors: dict[str, Any]):
    table = power_rows()
    texts = [f"{quantity} = {center} ± {s}" for quantity, (center, s) in priors.items()]
    fit, plain = fitted(POWER, table, *texts), fitted(POWER, table)

    def residuals(theta: np.ndarray) -> np.ndarray:
        E, A, alpha, B, beta = theta
        law = E + A / table["N"] ** alpha + B / table["D"] ** beta
        return np.log(law) - np.log(table["L"])

    def objective(logs: np.ndarray) -> float:
        theta = np.exp(logs)
        penalty = 0.0
        for quantity, (center, s) in priors.items():
            i = NAMES.index(quantity.removeprefix("log(").removesuffix(")"))
            penalty += (((logs if quantity[:3] == "log" else theta)[i] - center) / s) ** 2
        return float(np.sum(residuals(theta) ** 2) / variance + penalty) / 2

    start = np.array([plain.values[name] for name in NAMES])
    variance = np.sum(residuals(start) ** 2) / (len(table["N"]) - 5)
    ours = np.log([fit.values[name] for name in NAMES])
    # a search of its own, from our minimum and from the fit without priors
    tight = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-13, "adaptive": True}
    begins = (ours + 0.01, np.log(start))
    least = min(
        minimize(objective, begin, method="Nelder-Mead", options=tight).fun for begin in begins
    )
    assert objective(ours) <= least + 1e-9
    assert fit.optimality.gradient < 1e-8


def test_bootstrap_and_profile_agree_with_the_posterior():
    table = linear_rows(count=400)
    delta = fitted(LINEAR, table, "b = 1.8 ± 0.02")
    low, high = delta.intervals.ends["b"]

    profile = fitted(LINEAR, table, "b = 1.8 ± 0.02", intervals="profile")
    assert profile.intervals.ends["b"] == pytest.approx((low, high), abs=1e-3 * (high - low))
    bootstrap = fitted(LINEAR, table, "b = 1.8 ± 0.02", intervals="bootstrap", resamples=2000)
    assert bootstrap.intervals.errors["b"] == pytest.approx(delta.intervals.errors["b"], rel=0.15)


def test_a_weak_prior_changes_nothing_and_a_strong_one_decides():
    table, plain = power_rows(), fitted(POWER, power_rows())

    weak = fitted(POWER, table, "log(alpha) = log(0.35) ± 1000")
    assert list(weak.values.values()) == pytest.approx(list(plain.values.values()), rel=1e-5)
    strong = fitted(POWER, table, "log(alpha) = log(0.35) ± 0.0001")
    assert strong.values["alpha"] == pytest.approx(0.35, rel=1e-3)
    fixed = fitted(POWER, table, fix={"alpha": 0.35})
    assert strong.values["E"] == pytest.approx(fixed.values["E"], rel=1e-3)


def test_a_fit_without_priors_has_none():
    fit = fitted(POWER, power_rows())

    assert fit.priors is None
    assert fit.to_json()["priors"] is None


def test_rows_of_few_runs_count_less_beside_a_prior():
    rng = np.random.default_rng(0)
    runs = np.repeat(np.arange(6), 20)
    x = rng.normal(size=120)
    y = 1 + 2 * x + 0.5 * rng.normal(size=6)[runs] + 0.05 * rng.normal(size=120)
    text = "variable x\nparameter a, b\nz = a + b*x\nminimize squared(z)\n"
    table = {"x": x, "z": y, "cell": runs}

    by_row = fitted(text, table, "a = 2 ± 0.1")
    by_run = fitted(text, table, "a = 2 ± 0.1", run="cell")
    assert by_row.values["a"] < by_run.values["a"] < 2
    plain = fitted(text, table, run="cell")
    assert plain.intervals.errors["a"] > by_run.intervals.errors["a"]
    assert by_run.intervals.errors["a"] < 0.1
    refused = fitted(text, table, "a = 2 ± 0.1", run="cell", intervals="profile")
    assert "F0138" in codes(refused)


def test_a_kalman_step_closes_a_direction_of_infinite_variance():
    rng = np.random.default_rng(2)
    determined = rng.normal(size=(3, 4))
    basis = np.linalg.qr(rng.normal(size=(4, 1)))[0].T
    determined = determined - (determined @ basis.T) @ basis
    rows = rng.normal(size=(2, 4))

    factor, remaining = combined_with_priors(determined, basis, rows)

    # a large variance in place of an infinite one
    prior = determined.T @ determined + 1e8 * basis.T @ basis
    expected = prior - prior @ rows.T @ np.linalg.solve(
        rows @ prior @ rows.T + np.eye(2), rows @ prior
    )
    assert len(remaining) == 0
    assert factor.T @ factor == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("draws", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_intervals_hold_what_is_drawn_from_the_priors(draws: int):
    law = law_of(
        f"{POWER}prior log(alpha) = log(0.35) ± 0.35\nprior log(beta) = log(0.35) ± 0.35\n"
    )
    rng = np.random.default_rng(7)
    inside = []
    for number in range(draws):
        alpha, beta = 0.35 * np.exp(0.35 * rng.normal(size=2))
        sizes = TWO_SIZES if number % 2 else (0.1, 0.3, 1.0, 3.0)
        N, D = (g.ravel() for g in np.meshgrid(sizes, [2e9, 8e9, 3e10, 1e11]))

        def loss(N: Any, D: Any, alpha: float = alpha, beta: float = beta) -> Any:
            return 1.8 + 0.5 * N**-alpha + 0.4 * (D / 1e10) ** -beta

        noise = np.exp(0.004 * rng.normal(size=len(N)))
        fit = lawdsl.fit(law, {"N": N, "D": D, "L": loss(N, D) * noise}, claims=False)
        band = fit.predict_with_errors({"N": [10.0], "D": [3e11]}, discrepancy=0)
        inside.append(bool(band.low[0] < loss(10.0, 3e11) < band.high[0]))
        assert not {"F0101"} & codes(fit)
    # of 95 % intervals less than this has a probability below 1 in 1,000
    assert np.mean(inside) >= {12: 0.6, 150: 0.88}[draws]


# ---- what the rows leave open


def test_a_prior_makes_an_infinite_band_finite_and_a_discrepancy_does_not():
    table = power_rows(TWO_SIZES)
    plain = fitted(POWER, table)
    assert {"F0101"} <= codes(plain)
    for discrepancy in (0, 0.02):
        assert plain.predict_with_errors(BEYOND, discrepancy=discrepancy).high[0] == np.inf

    fit = fitted(POWER, table, "log(alpha) = log(0.35) ± 0.35")
    assert codes(fit) == {"F0137", "F0144"}
    assert fit.verdict == "caution"
    assert fit.priors is not None
    assert {n for n, x in fit.priors.without.items() if np.isnan(x)} == {"E", "A", "alpha"}
    law_alone = fit.predict_with_errors(BEYOND, discrepancy=0)
    with_error = fit.predict_with_errors(BEYOND)
    assert np.isfinite(law_alone.high[0]) and np.isfinite(with_error.high[0])
    assert not {"F0126"} & {d.code for d in (*law_alone.warnings, *with_error.warnings)}
    truth = 1.8 + 0.34 / 7**0.35 + 2000 / 3e11**0.366
    for band in (law_alone, with_error):
        assert band.low[0] < truth < band.high[0]
    # the error of the law is added to what the prior leaves open
    assert with_error.high[0] - with_error.low[0] > law_alone.high[0] - law_alone.low[0]


def test_the_band_widens_with_the_prior():
    table = power_rows(TWO_SIZES)
    widths = []
    for deviation in (0.05, 0.2, 0.6):
        band = fitted(POWER, table, f"log(alpha) = log(0.35) ± {deviation}").predict_with_errors(
            BEYOND
        )
        widths.append(float(band.high[0] - band.low[0]))
    assert widths[0] < widths[1] < widths[2]


def test_a_prior_of_another_direction_leaves_the_band_infinite():
    fit = fitted(POWER, power_rows(TWO_SIZES), "log(beta) = log(0.35) ± 0.35")

    assert "F0101" in codes(fit)
    assert fit.verdict == "not trusted"
    assert fit.predict_with_errors(BEYOND).high[0] == np.inf


def test_a_discrepancy_keeps_to_a_fit_that_a_prior_holds():
    # the rows alone would put alpha elsewhere; a discrepancy must not undo the prior
    table = power_rows()
    fit = fitted(POWER, table, "log(alpha) = log(0.2) ± 0.01")
    near = {"N": [1.0], "D": [8e9]}
    far = {"N": [100.0], "D": [1e11]}
    tight, none = (fit.predict_with_errors(far, discrepancy=d) for d in (1e-6, 0))
    assert tight.values == pytest.approx(none.values, rel=0.01)
    plain = fitted(POWER, table).predict_with_errors(far, discrepancy=0)
    assert abs(tight.values[0] - none.values[0]) < abs(plain.values[0] - none.values[0]) / 3
    assert fit.predict_with_errors(near).values == pytest.approx(
        fitted(POWER, table).predict_with_errors(near).values, rel=0.01
    )


def test_a_symmetry_that_a_prior_breaks_is_no_error():
    text = "variable x > 0\nparameter a, b, c > 0\nz = c + a*b/x\nminimize squared(z)\n"
    x = np.array([1.0, 2, 3, 5, 8, 13])
    table = {"x": x, "z": 1 + 6 / x + np.array([0.01, -0.02, 0.01, 0.015, -0.01, 0.0])}
    assert "F0114" in codes(fitted(text, table))

    fit = fitted(text, table, "log(a) = log(2) ± 0.1")
    assert codes(fit) == {"F0137"}
    assert fit.values["a"] == pytest.approx(2, rel=1e-3)
    assert fit.values["b"] == pytest.approx(3, rel=0.05)
    # the error of b is that of the prior of a
    assert fit.intervals.errors["b"] / fit.values["b"] == pytest.approx(0.1, rel=0.1)


# ---- conflict


def test_rows_that_contradict_a_prior_are_named():
    fit = fitted(POWER, power_rows(), "log(alpha) = log(0.6) ± 0.05")

    (warning,) = [d for d in fit.diagnostics if d.code == "F0136"]
    assert (
        "log(alpha) = log(0.6) ± 0.05" in warning.message and "below its center" in warning.message
    )
    assert fit.priors is not None
    (prior,) = fit.priors.priors
    plain = fitted(POWER, power_rows())
    error = plain.intervals.errors["alpha"] / plain.values["alpha"]
    z = np.log(plain.values["alpha"] / 0.6) / np.hypot(error, 0.05)
    assert prior.conflict == pytest.approx(z, rel=1e-6) and z < -3
    assert prior.shift == pytest.approx(
        np.log(fit.values["alpha"] / plain.values["alpha"]) / 0.05, rel=1e-5
    )


def test_a_prior_that_the_rows_confirm_is_not_warned_of():
    assert codes(fitted(POWER, power_rows(), "log(alpha) = log(0.35) ± 0.35")) == set()


def test_a_parameter_on_its_bound_conflicts_with_a_prior_far_from_it():
    text = "variable x\nparameter a > 0\nparameter b\nz = a + b*x\nminimize squared(z)\n"
    x = np.linspace(0, 1, 10)
    table = {"x": x, "z": -1 + x + 0.01 * np.sin(40 * x)}

    assert "F0136" in codes(fitted(text, table, "log(a) = log(2) ± 0.05"))
    assert "F0136" in codes(fitted(text, table, "log(a) = log(2) ± 0.05", "b = 0 ± 0.1"))


def test_a_sample_of_a_sample_counts_as_much_of_the_priors_as_of_the_rows():
    law = law_of(f"{LINEAR}prior b = 2 ± 0.1\n")
    table = linear_rows(400)
    objective = replace(law.objective, log=False)
    problem = problem_of(law, np.array([table["x"], table["y"]]), table["z"], objective)
    penalty = Penalty.of(law.priors, [q.name for q in law.parameters], NoiseScale(1.0, 1.0, 1))
    sample = replace(problem, penalty=penalty).sample(200, 0)
    smaller = sample.sample(50, 0)

    assert sample.rows < 400 and smaller.rows < 60
    assert smaller.penalty is not None
    assert smaller.penalty.share == pytest.approx(smaller.rows / 400, rel=1e-12)


# ---- where a prior cannot be used


def test_priors_need_the_noise_of_the_rows():
    table = {name: column[:5] for name, column in power_rows().items()}

    with pytest.raises(LawdslError) as error:
        fitted(
            "variable N, D > 0\nparameter E, A, B > 0\nL = E + A/N + B/D\nminimize squared(L)\n",
            {name: column[[0, 1, 8]] for name, column in power_rows().items()},
            "E = 1.8 ± 0.1",
        )
    assert [d.code for d in error.value.diagnostics] == ["F0135"]
    assert len(table["N"]) == 5


def test_priors_and_two_steps_are_refused():
    text = (
        "variable t > 0\nparameter c >= 0\nparameter k > 0\nparameter m\nL = c + k*exp(m*t)\n"
        "minimize squared(L, c = straightest(log(L - c), 100))\nprior k = 1 ± 0.1\n"
    )
    t = np.linspace(0.1, 3, 12)
    table = {"t": t, "L": 1 + np.exp(-t) + 0.01 * np.cos(9 * t)}

    with pytest.raises(LawdslError) as error:
        fitted(text, table)
    assert [d.code for d in error.value.diagnostics] == ["F0135"]
    assert fitted(text, table, objective="squared(raw)").priors is not None
    assert fitted(text, table, "none").priors is None


def test_comparisons_say_that_they_leave_priors_out():
    law = law_of(f"{POWER}prior log(alpha) = log(0.1) ± 0.001\n")

    compared = lawdsl.compare(law, power_rows(), protocols="all", starts=4)
    assert [d.code for d in compared.diagnostics if d.code == "F0138"] == ["F0138"]
    other = lawdsl.compare(law_of(POWER), power_rows(), protocols="all", starts=4)
    assert compared.rankings == other.rankings


def test_a_parameter_that_few_sizes_leave_open_is_a_case_for_a_prior():
    (open_one,) = [d for d in fitted(POWER, power_rows(TWO_SIZES)).diagnostics if d.code == "F0101"]

    assert "--prior 'log(alpha) = log(…) ± 0.35'" in (open_one.help or "")
    table = power_rows(TWO_SIZES)
    one_size = {name: x[table["N"] == 0.1] for name, x in table.items()}
    many = {name: np.tile(x, 5) for name, x in one_size.items()}
    many["L"] = many["L"] * np.exp(0.01 * np.sin(np.arange(20)))
    (closed,) = [d for d in fitted(POWER, many).diagnostics if d.code == "F0101"]
    assert "--prior" not in (closed.help or "")


@pytest.mark.parametrize("objective", ["squared(log)", "squared(raw)", "huber(log)"])
def test_intervals_with_the_error_of_the_law_follow_the_priors(objective: str):
    table = power_rows()
    text, options = POWER.replace("minimize squared(log(L))", ""), {"objective": objective}
    plain = fitted(text, table, **options)
    fit = fitted(text, table, "log(alpha) = log(0.35) ± 0.02", **options)

    wide, narrow = (f.intervals.ends_with_law_error["alpha"] for f in (plain, fit))
    assert np.log(narrow[1] / narrow[0]) < np.log(wide[1] / wide[0]) / 2
    stored = Fit.of_json(fit.to_json()).intervals_with_law_error(0.02)
    for name, ends in fit.intervals.ends_with_law_error.items():
        assert stored[name] == pytest.approx(ends, rel=1e-4)


def test_the_error_of_the_law_is_conditioned_with_the_priors():
    # the formulas of the module once more, with dense matrices
    rng = np.random.default_rng(4)
    z, points = rng.normal(size=(9, 2)), rng.normal(size=(5, 2))
    J, J_at, H = rng.normal(size=(9, 3)), rng.normal(size=(5, 3)), rng.normal(size=(2, 3))
    residuals, pulls = 0.02 * rng.normal(size=9), rng.normal(size=2)
    rows = FittedRows(z, residuals, J, priors=PriorRows(H, pulls))

    spread = np.linalg.inv(J.T @ J / 9 + H.T @ H)
    offset = spread @ H.T @ pulls
    C = J @ spread @ J.T + 0.02**2 * kernel(z, z) + 0.01**2 * np.eye(9)
    cross = J_at @ spread @ J.T + 0.02**2 * kernel(points, z)
    mean = J_at @ offset + cross @ np.linalg.solve(C, residuals - J @ offset)
    covariance = (
        J_at @ spread @ J_at.T
        + 0.02**2 * kernel(points, points)
        - cross @ np.linalg.solve(C, cross.T)
    )

    # the law is moved by a part of the mean, and what is left out is in the variance
    left_out = mean * np.diag(covariance) / (0.1**2 + np.diag(covariance))
    mean, covariance = mean - left_out, covariance + np.outer(left_out, left_out)

    discrepancy = Discrepancy(rows, 0.02, NoiseLevels(0.01, 0.0))
    ours, variance = discrepancy.at(points, J_at)
    assert ours == pytest.approx(mean, rel=1e-8)
    assert variance == pytest.approx(np.diag(covariance), rel=1e-8)
    joint_mean, joint = discrepancy.jointly(points, J_at)
    assert joint_mean == pytest.approx(mean, rel=1e-8)
    assert joint == pytest.approx(covariance, rel=1e-7, abs=1e-12)


def test_priors_that_contradict_the_rows_together_are_named():
    # each alone lies within 3 standard deviations; by a + b = 2 both cannot
    text = "variable x\nparameter a, b\nz = (a + b)*x\nminimize squared(z)\n"
    x = np.linspace(0.1, 2, 12)
    table = {"x": x, "z": 2 * x + 0.01 * np.cos(9 * x)}

    fit = fitted(text, table, "a = 3 ± 0.3", "b = 0.5 ± 0.3")
    (warning,) = [d for d in fit.diagnostics if d.code == "F0136"]
    assert "chi-squared" in warning.message and "1 degree of freedom" in warning.message
    assert fit.priors is not None
    # the sum is known, so that what remains is a Gaussian on a + b
    assert fit.priors.chi2 == pytest.approx(1.5**2 / (2 * 0.3**2), rel=0.02)
    assert "F0136" not in codes(fitted(text, table, "a = 1.5 ± 0.3", "b = 0.5 ± 0.3"))


def test_a_shift_from_a_bound_is_no_number_of_deviations():
    """Without its prior E goes to 0; how far a prior takes it from there has no meaning."""
    N = np.geomspace(1e8, 1e10, 12)
    noise = np.exp(0.002 * np.random.default_rng(0).normal(size=12))
    law = "variable N > 0 unit param\nparameter E, A > 0\nparameter alpha in (0, 0.3)\nL = E + A/N^alpha\n"
    made = fitted(law, {"N": N, "L": 400 / N**0.36 * noise}, "log(E) = log(0.02) ± 0.1")
    assert made.priors is not None
    (prior,) = made.priors.priors
    assert made.priors.without["E"] == 0 and np.isnan(prior.shift)
    assert "off its bound" in str(made) and "E = 0" in str(made)
