"""Intervals of fits near a bound: found by themselves, one-sided, and as often right as they say."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from planted import law_of
from quick import without
from scipy.optimize import minimize
from scipy.stats import binom, t as student

import lawdsl
from lawdsl.fitting.intervals import near_bounds, profile
from lawdsl.fitting.intervals.near_bounds import MAX_PROFILE_NUMBERS

X = np.linspace(1, 6, 24)
LINE = "variable x > 0\nparameter E, A > 0\nL = E + A/x\nminimize squared(L)\n"
POWER = "variable x > 0\nparameter a, b > 0\nparameter k > 1\nL = a + b*x^k\nminimize squared(L)\n"
LEAST = """
variable x > 0
parameter a > 0
parameter k > 0
let b0 = 2*a
parameter b > b0
L = a + b/x^k
minimize squared(L)
"""


def fitted(text: str, loss: np.ndarray, x: np.ndarray = X, **options: Any) -> lawdsl.Fit:
    fit = lawdsl.fit(
        law_of(text), {"x": x, "L": loss}, claims=False, rolled_check=False, starts=6, **options
    )
    assert isinstance(fit, lawdsl.Fit)
    return fit


def line(E: float, seed: int) -> np.ndarray:
    return E + 2 / X + np.random.default_rng(seed).normal(0, 0.05, len(X))


def by_quadratic_program(loss: np.ndarray, name: str, end: float) -> float:
    """The residual sum of squares with one parameter held, the other at least 0."""
    design = np.stack([np.ones(len(X)), 1 / X])
    held = ("E", "A").index(name)
    rest = loss - end * design[held]
    other = max(float(rest @ design[1 - held] / (design[1 - held] @ design[1 - held])), 0.0)
    return float(np.sum((rest - other * design[1 - held]) ** 2))


@pytest.mark.parametrize("E", [-0.05, 0.0, 0.03])
def test_near_a_bound_intervals_are_those_of_a_constrained_likelihood_ratio(E: float):
    loss = line(E, 2)
    fit = fitted(LINE, loss)
    assert fit.intervals.method == "profile"
    assert fit.intervals.ends["E"][0] == 0.0 or E > 0
    on_bound = fit.parameters["E"].at_bound is not None
    least = by_quadratic_program(loss, "E", fit.values["E"])
    dof = len(X) - 2 + on_bound
    allowed = least * (1 + student(dof).ppf(0.975) ** 2 / dof)
    for name, ends in fit.intervals.ends.items():
        for end in ends:
            if end:
                assert by_quadratic_program(loss, name, end) == pytest.approx(allowed, rel=1e-3)


@pytest.mark.parametrize(("E", "method"), [(0.5, "delta"), (0.03, "profile")])
def test_the_method_follows_the_distance_to_the_bound(E: float, method: str):
    fit = fitted(LINE, line(E, 2))
    assert fit.intervals.method == method
    assert fitted(LINE, line(E, 2), intervals="delta").intervals.method == "delta"


def test_an_amplitude_with_a_wide_interval_is_not_near_0():
    """A of A/x^k is two standard errors from 0, as k is known badly, but with A = 0 there is no
    curve: the interval does not contain 0, and is a profile, as A/x^k is far from linear in k."""
    x = np.geomspace(1e3, 1e4, 40)
    text = "variable x > 0\nparameter A, k > 0\nL = A/x^k\nminimize squared(L)\n"
    loss = 50 / x**0.5 + np.random.default_rng(0).normal(0, 0.4, len(x))
    fit = fitted(text, loss, x)
    assert fit.values["A"] < 3 * fit.intervals.errors["A"]
    assert fit.intervals.method == "profile" and fit.intervals.ends["A"][0] > 0.1


def test_the_others_leave_a_bound_of_a_nonlinear_parameter():
    """k > 1 is on its bound: intervals of a and b are those of a search in which k is free."""
    x = np.linspace(0.2, 3, 40)
    loss = 1 + 0.5 * x + 0.1 * np.random.default_rng(2).normal(size=40)
    fit = fitted(POWER, loss, x)
    assert fit.parameters["k"].at_bound == "lower" and fit.intervals.ends["k"][0] == 1.0
    least = fit.objective.sum
    allowed = least * (1 + student(38).ppf(0.975) ** 2 / 38)
    for number, name in enumerate("ab"):
        for end in fit.intervals.ends[name]:

            def total(v: Any, number: int = number, end: float = end) -> float:
                a, b = (end, v[0]) if number == 0 else (v[0], end)
                return float(np.sum((a + b * x ** v[1] - loss) ** 2))

            start = [fit.values["ba"[number]], 1.05]
            bounds = [(1e-9, None), (1, None)]
            found = minimize(total, start, bounds=bounds, tol=1e-12).fun
            assert found == pytest.approx(allowed, rel=2e-3)


def test_a_fit_on_a_bound_between_parameters_has_profile_intervals():
    loss = 1.5 + 2.2 / X**0.8 + np.random.default_rng(5).normal(0, 0.01, len(X))
    fit = fitted(LEAST, loss)
    assert fit.parameters["b"].at_bound == "lower" and fit.intervals.method == "profile"
    assert {"a", "k"} <= set(fit.intervals.ends)


@pytest.mark.parametrize(
    ("E", "count"), without([(0.0, 30), (0.0, 60), (0.02, 60)], [(0.0, 60), (0.02, 60)])
)
def test_intervals_near_a_bound_cover(E: float, count: int):
    """The standard error of E is about 0.02; delta intervals of E cover in 83 to 90 %."""
    hits = np.zeros(2)
    for seed in range(count):
        ends = fitted(LINE, line(E, seed + 10)).intervals.ends
        hits += [ends["E"][0] <= E <= ends["E"][1], ends["A"][0] <= 2 <= ends["A"][1]]
    assert np.all(hits >= binom.ppf(1e-3, count, 0.95))


def test_few_degrees_of_freedom_widen_what_is_near_a_bound():
    law = law_of("variable N > 0\nparameter E, A > 0\nL = E + A/N\nminimize squared(L)\n")
    N = np.array([1.0, 2.0, 4.0, 8.0])
    table = {"N": N, "L": 0.38 + 1 / N + np.array([0.05, -0.1, 0.1, -0.05])}
    fit = lawdsl.fit(law, table, claims=False)
    E, error = fit.values["E"], lawdsl.fit(law, table, intervals="delta").intervals.errors["E"]
    assert 3 < E / error < 4.3  # beyond three standard errors, not beyond the 95 % quantile of t
    assert fit.intervals.method == "profile" and fit.intervals.ends["E"][0] == 0


def test_large_tables_keep_the_delta_method():
    rows = MAX_PROFILE_NUMBERS // 2 + 1
    x = np.linspace(1, 6, rows)
    loss = 2 / x + np.random.default_rng(0).normal(0, 0.05, rows)
    assert fitted(LINE, loss, x).intervals.method == "delta"


def test_the_command_shows_the_method_and_the_one_sided_interval(tmp_path: Path):
    (tmp_path / "line.law").write_text(f"law line\n{LINE}", encoding="utf-8")
    rows = "\n".join(f"{x:.9g},{y:.9g}" for x, y in zip(X, line(-0.05, 1), strict=True))
    (tmp_path / "t.csv").write_text(f"x,L\n{rows}\n", encoding="utf-8")

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return commands.run("fit", "line.law", "t.csv", "-o", "fit.json", *more, cwd=tmp_path)

    assert "95 % interval (profile)" in run().stdout
    stored = lawdsl.load_fit(tmp_path / "fit.json")
    assert stored.intervals.method == "profile" and stored.intervals.ends["E"][0] == 0
    assert "95 % interval (delta)" in run("--intervals", "delta").stdout


EXPONENTIAL = """
variable x >= 0
parameter c >= 0
parameter k > 0
parameter t
L = c + k*exp(t*x)
minimize squared(L)
"""


@pytest.mark.parametrize(("noise", "method"), [(1e-4, "delta"), (5e-3, "profile")])
def test_a_law_far_from_linear_in_its_parameters_has_profile_intervals(noise: float, method: str):
    """With much noise k trades for c: k may be any multiple of the estimate."""
    x = np.linspace(0, 1, 24)
    loss = 1 + 0.5 * np.exp(-x) + noise * np.random.default_rng(3).normal(size=24)
    fit = fitted(EXPONENTIAL, loss, x)
    assert fit.intervals.method == method
    for name, truth in (("c", 1.0), ("k", 0.5), ("t", -1.0)):
        low, high = fit.intervals.ends[name]
        assert low < truth < high


def test_an_end_of_a_profile_at_the_fit_itself_is_none(monkeypatch: pytest.MonkeyPatch):
    """A search that does not converge is said; by default the delta method takes its place."""
    loss, search = line(0.03, 2), profile.profile

    def unconverged(problem: Any, theta: np.ndarray, *more: Any) -> profile.Profile:
        found = search(problem, theta, *more)
        return replace(found, high=np.where([True, False], theta, found.high))

    monkeypatch.setattr(profile, "profile", unconverged)
    fit = fitted(LINE, loss, intervals="profile")
    assert set(fit.intervals.ends) == {"A"}
    (told,) = [d.message for d in fit.diagnostics if d.code == "F0122"]
    assert told == "no profile interval of E: the search for its ends did not converge"
    assert fitted(LINE, loss).intervals.method == "delta"


def test_a_profile_that_takes_too_long_is_given_up_and_said(monkeypatch: pytest.MonkeyPatch):
    loss = line(0.03, 2)
    monkeypatch.setattr(near_bounds, "MAX_WORK_OF_CHOICE", 1.0)
    monkeypatch.setattr(near_bounds, "MIN_EVALUATIONS_OF_CHOICE", 1)
    fit = fitted(LINE, loss)
    (finding,) = [d for d in fit.diagnostics if d.code == "F0122"]
    assert fit.intervals.method == "delta"
    assert "takes too long" in finding.message
    assert fit.verdict_for("parameters") == "caution"
    # who asks for a profile waits for it
    assert fitted(LINE, loss, intervals="profile").intervals.method == "profile"
