"""Losses in which an over-estimate counts more than an under-estimate: `huber(log(L), d, over = 10)`."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import commands
import mpmath
import numpy as np
import pytest
from planted import law_of
from scipy.integrate import quad
from scipy.optimize import minimize

import lawdsl
from lawdsl.core.losses import Scalars
from lawdsl.core.objectives import Objective
from lawdsl.fitting.losses import ARRAYS, curvature_of, rho, value_and_slope
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.solver import SolverOptions
from lawdsl.fitting.solvers.trust_region import trust_region

POWER = "variable D > 0\nparameter E, B > 0\nparameter beta in (0, 2)\nL = E + B/D^beta\n"
FORMS = {"squared": "", "huber": ", 0.01", "absolute": ""}
SIDES = [("squared", 10.0), ("huber", 10.0), ("absolute", 10.0), ("huber", 0.2)]


def law(name: str, over: float, scale: str = "L") -> lawdsl.Law:
    return law_of(f"{POWER}minimize {name}({scale}{FORMS[name]}, over = {over:g})\n")


def table(rows: int = 60) -> dict[str, np.ndarray]:
    D = np.geomspace(1, 100, rows)
    noise = 0.02 * np.random.default_rng(0).standard_t(4, rows)
    return {"D": D, "L": (1.5 + 2 / D**0.4) * np.exp(noise)}


def loss(name: str, over: float, r: Any) -> Any:
    """The loss written a second time."""
    size = np.abs(r)
    huber = np.where(size <= 0.01, size**2 / 2, 0.01 * (size - 0.005))
    symmetric = {"squared": size**2, "huber": huber, "absolute": size}[name]
    return np.where(np.asarray(r) > 0, over * symmetric, symmetric)


@pytest.mark.parametrize(("name", "over"), SIDES)
def test_values_slopes_and_curvatures_are_those_of_two_sides(name: str, over: float):
    objective = Objective(name, delta=0.01, over=over)
    r = np.array([-3.0, -0.02, -0.004, 0.003, 0.015, 2.0])
    value, slope = value_and_slope(r, objective)
    np.testing.assert_allclose(value, loss(name, over, r), rtol=1e-13)
    np.testing.assert_allclose(rho(r, objective), value, rtol=1e-14)
    h = 1e-6
    ends = [loss(name, over, r + s * h) for s in (1, -1)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * h), rtol=1e-6)
    slopes = [value_and_slope(r + s * h, objective)[1] for s in (1, -1)]
    bend = (slopes[0] - slopes[1]) / (2 * h)
    np.testing.assert_allclose(curvature_of(r, slope, objective, True), bend, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(curvature_of(r, slope, objective, False), slope / r, rtol=1e-13)
    with mpmath.workdps(40):  # the rows compute in any arithmetic
        for x, expected in zip(r, value, strict=True):
            exact = objective.row.value(Scalars, mpmath.mpf(float(x)), *objective.parameters)
            assert float(exact) == pytest.approx(expected, rel=1e-13)
    assert objective.row.value(ARRAYS, np.zeros(1), *objective.parameters) == 0


@pytest.mark.parametrize(("name", "over"), SIDES)
def test_the_normalizer_is_the_integral_of_the_density(name: str, over: float):
    objective, tau = Objective(name, delta=0.01, over=over), 2e-3
    # in parts, as quadrature misses a peak much narrower than its interval
    ends = [-40, -4, -1, -0.1, -0.01, 0, 1e-3, 0.01, 0.1, 1, 4, 40]
    sides = [
        quad(lambda r: float(np.exp(-loss(name, over, r) / tau)), *pair, limit=500)[0]
        for pair in itertools.pairwise(ends)
    ]
    found = objective.row.log_normalizer(tau, *objective.parameters)
    assert found == pytest.approx(math.log(sum(sides)), abs=1e-6)


@pytest.mark.parametrize(("name", "over"), SIDES)
@pytest.mark.parametrize("scale", ["L", "log(L)"])
def test_a_fit_has_the_minimum_of_an_independent_search(name: str, over: float, scale: str):
    rows = table()
    found = lawdsl.fit(law(name, over, scale), rows, starts=6, claims=False, rolled_check=False)

    def total(x: Any) -> float:
        predicted = x[0] + x[1] / rows["D"] ** x[2]
        if np.any(predicted <= 0):
            return 1e9
        log = scale != "L"
        r = np.log(predicted / rows["L"]) if log else predicted - rows["L"]
        return float(np.sum(loss(name, over, r)))

    x = np.array(list(found.values.values())) * 1.05
    for _ in range(4):  # of a simplex: it uses no derivatives
        options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 3000}
        x = minimize(total, x, method="Nelder-Mead", options=options).x
    assert total(list(found.values.values())) == pytest.approx(found.objective.sum, rel=1e-12)
    assert found.objective.sum == pytest.approx(total(x), rel=1e-9)
    assert found.converged and set(found.intervals.ends) == {"E", "B", "beta"}
    assert found.objective.parameters["over"] == over and not found.objective.is_centered


def test_absolute_values_with_a_price_fit_a_quantile():
    rows, more = table(), {"starts": 4, "claims": False, "rolled_check": False}
    of_sides = lawdsl.fit(law("absolute", 3.0), rows, **more)
    quantile = lawdsl.fit(law_of(f"{POWER}minimize quantile(L, 0.25)\n"), rows, **more)
    assert of_sides.values == pytest.approx(quantile.values, rel=1e-7)
    for name, ends in quantile.intervals.ends.items():
        assert of_sides.intervals.ends[name] == pytest.approx(ends, rel=1e-6)


@pytest.mark.parametrize("name", ["squared", "huber"])
def test_the_solver_of_one_start_arrives_too(name: str, monkeypatch):
    """SciPy's losses depend on r² alone: the sides must not be lost on the way."""
    seen: list[Problem] = []

    def observed(problem: Problem, start: Any, options: SolverOptions) -> Any:
        seen.append(problem)
        return trust_region(problem, start, options)

    monkeypatch.setattr("lawdsl.fitting.solvers.multistart.trust_region", observed)
    rows, more = table(), {"claims": False, "rolled_check": False}
    one = lawdsl.fit(law(name, 10.0), rows, starts={"E": 1.0, "B": 1.0, "beta": 0.8}, **more)
    assert seen
    many = lawdsl.fit(law(name, 10.0), rows, starts=6, **more)
    assert one.objective.sum == pytest.approx(many.objective.sum, rel=1e-10)


@pytest.mark.parametrize("method", ["profile", "bootstrap"])
def test_intervals_by_other_methods_are_alike(method: str):
    more: dict[str, Any] = {"starts": 4, "claims": False, "rolled_check": False}
    delta, other = (
        lawdsl.fit(law("squared", 3.0), table(), intervals=m, resamples=300, **more)
        for m in ("delta", method)
    )
    for name, (low, high) in delta.intervals.ends.items():
        found = other.intervals.ends[name]
        assert 0.5 < (found[1] - found[0]) / (high - low) < 2


def test_the_command_takes_the_price_and_the_file_keeps_it(tmp_path: Path):
    (tmp_path / "power.law").write_text(
        f"law power\n{POWER}minimize huber(log(L), 1e-3)\n", encoding="utf-8"
    )
    rows = table()
    lines = ["D,L", *(f"{d:.9g},{y:.9g}" for d, y in zip(rows["D"], rows["L"], strict=True))]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = ["fit", "power.law", "table.csv", "--objective", "huber(log)", "--delta", "0.01"]
    done = commands.run(*arguments, "--over", "10", "-o", "fit.json", cwd=tmp_path)
    assert "huber(log(L), 0.01, over = 10): sum" in done.stdout
    content = json.loads((tmp_path / "fit.json").read_text(encoding="utf-8"))
    assert content["objective"]["name"] == "huber(log(L), 0.01, over = 10)"
    assert lawdsl.load_fit(tmp_path / "fit.json").objective.parameters == {
        "delta": 0.01,
        "over": 10,
    }
    refused = commands.run(
        *arguments[:3], "--objective", "quantile(log)", "--over", "10", cwd=tmp_path
    )
    assert refused.returncode and "says already what each side costs" in refused.stderr


@pytest.mark.parametrize(
    ("written", "help"),
    [
        ("squared(L, over = 0)", "write over = 10"),
        ("absolute(L, over = 2, over = 3)", "write over = 10"),
        ("quantile(L, 0.9, over = 2)", "leave over out"),
        ("huber(log(L), over = 2)", "write huber(log(L), 1e-3, over = 2)"),
    ],
)
def test_what_is_no_price_of_over_estimates_is_refused(written: str, help: str):
    with pytest.raises(lawdsl.LawdslError) as raised:
        law_of(f"{POWER}minimize {written}\n")
    assert help in (raised.value.diagnostics[0].help or "")


def test_the_price_reaches_every_fit():
    rows, given = table(), {"objective": "squared(raw)", "over": 4.0, "starts": 2}
    model = lawdsl.LawRegressor(law("squared", 1.0), **given).fit(rows["D"][:, None], rows["L"])
    assert model.fit_.objective.name == "squared(L, over = 4)"
    compared = lawdsl.compare([law("squared", 1.0)], rows, protocols="splits", **given)
    assert compared.objective == "squared(L, over = 4)"
