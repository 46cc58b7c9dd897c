"""Least absolute deviations and regression quantiles: the minimum is exact, and intervals cover."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from planted import law_of
from quick import some
from scipy.integrate import quad
from scipy.optimize import linprog, minimize
from scipy.stats import norm, t as student

import lawdsl
from lawdsl.core.losses import LOSSES
from lawdsl.fitting.losses import rho, rho_slope, smoothed, value_and_slope
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.result import Fit
from lawdsl.fitting.solvers import kinked_losses, multistart
from lawdsl.language.resolver import Objective

KINKED = [("absolute", 0.5), ("quantile", 0.9), ("quantile", 0.2)]
PLANE = "variable x\nvariable z\nparameter a, b, c\nL = a + b*x + c*z\n"
POWER = "variable D > 0\nparameter E, B > 0\nparameter beta in (0, 2)\nL = E + B/D^beta\n"


def minimized(form: str, name: str, quantile: float, scale: str = "L") -> lawdsl.Law:
    more = "" if name == "absolute" else f", {quantile}"
    return law_of(f"{form}minimize {name}({scale}{more})")


def loss(name: str, quantile: float, measured: Any, predicted: Any) -> float:
    """Σ|u|, or Σ u·(q - [u < 0]) with u = measured - predicted (Koenker and Bassett 1978)."""
    u = np.asarray(measured) - np.asarray(predicted)
    if name == "absolute":
        return float(np.sum(np.abs(u)))
    return float(np.sum(u * (quantile - (u < 0))))


def by_linear_program(name: str, quantile: float, design: Any, measured: Any) -> float:
    """The least loss of a linear law: min q·1ᵀu⁺ + (1 - q)·1ᵀu⁻, X·β + u⁺ - u⁻ = y."""
    rows, count = design.shape
    up, down = (1.0, 1.0) if name == "absolute" else (quantile, 1 - quantile)
    found = linprog(
        np.concatenate([np.zeros(count), np.full(rows, up), np.full(rows, down)]),
        A_eq=np.hstack([design, np.eye(rows), -np.eye(rows)]),
        b_eq=measured,
        bounds=[(None, None)] * count + [(0, None)] * (2 * rows),
    )
    return float(found.fun)


def plane(seed: int, rows: int = 50) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, z = np.linspace(0, 1, rows), rng.normal(size=rows)
    return {"x": x, "z": z, "L": 30 + 2 * x - 0.7 * z + 0.3 * rng.standard_t(2, size=rows)}


def fitted(law: lawdsl.Law, table: dict[str, Any], **options: Any) -> Fit:
    found = lawdsl.fit(law, table, claims=False, **options)
    assert isinstance(found, Fit)
    return found


# ---- the rows of the table of losses


@pytest.mark.parametrize(("name", "quantile"), KINKED)
def test_values_and_slopes_are_those_of_two_lines(name: str, quantile: float):
    objective = Objective(name, quantile=quantile)
    r = np.array([-3.0, -1e-9, 0.0, 1e-9, 0.5])
    expected = [loss(name, quantile, 0.0, x) for x in r]
    value, slope = value_and_slope(r, objective)

    np.testing.assert_allclose(value, expected, rtol=1e-15)
    np.testing.assert_allclose(slope * r, expected, rtol=1e-15)
    assert rho_slope(np.zeros(1), objective)[0] == 0


@pytest.mark.parametrize(("name", "quantile"), KINKED)
@pytest.mark.parametrize("tau", [1e-3, 0.2])
def test_the_normalizer_is_the_integral_of_the_density(name: str, quantile: float, tau: float):
    objective = Objective(name, quantile=quantile)
    area, _ = quad(
        lambda r: math.exp(-float(rho(np.array(r), objective)) / tau),
        -400 * tau,
        400 * tau,
        points=[0],
        limit=400,
    )

    normalizer = objective.row.log_normalizer(tau, *objective.parameters)
    assert normalizer == pytest.approx(math.log(area), abs=1e-7)


@pytest.mark.parametrize(("name", "quantile"), KINKED)
def test_the_smoothed_loss_is_smooth_and_tends_to_it(name: str, quantile: float):
    objective = Objective(name, quantile=quantile)
    smooth = smoothed(objective, 1e-3)
    r = np.array([-2.0, -0.3, -7e-4, -2e-4, 3e-4, 8e-4, 0.1, 4.0])
    h = 1e-8
    differences = (rho(r + h, smooth) - rho(r - h, smooth)) / (2 * h)
    np.testing.assert_allclose(rho_slope(r, smooth), differences, rtol=1e-5, atol=1e-12)

    far = np.abs(r) > 0.05
    ratio = rho(r[far], smooth) / rho(r[far], objective)
    np.testing.assert_allclose(ratio, ratio[0], rtol=0.01)


# ---- the minimum


@pytest.mark.parametrize(("name", "quantile"), KINKED)
@pytest.mark.parametrize("seed", range(2))
def test_a_linear_law_has_the_minimum_of_a_linear_program(name: str, quantile: float, seed: int):
    table = plane(seed)
    found = fitted(minimized(PLANE, name, quantile), table, starts=2)
    design = np.stack([np.ones(50), table["x"], table["z"]], axis=1)
    least = by_linear_program(name, quantile, design, table["L"])

    assert found.objective.sum == pytest.approx(least, rel=1e-8)
    assert found.objective.sum == pytest.approx(
        loss(name, quantile, table["L"], found.predict({k: table[k] for k in "xz"})), rel=1e-9
    )
    assert found.converged


def test_weights_are_rows_repeated_here_too():
    table = plane(4, 24)
    counts = np.tile([1, 2, 3], 8)
    law = minimized(PLANE, "quantile", 0.8)
    weighted = fitted(law, table, weights=counts, starts=2)
    repeated = {name: np.repeat(values, counts) for name, values in table.items()}

    least = by_linear_program(
        "quantile",
        0.8,
        np.stack([np.ones(48), repeated["x"], repeated["z"]], axis=1),
        repeated["L"],
    )
    assert weighted.objective.sum == pytest.approx(least, rel=1e-8)


@pytest.mark.parametrize(("name", "quantile"), KINKED)
@pytest.mark.parametrize("scale", some(["log(L)", "L"], 1))
def test_no_search_gets_below_the_minimum_of_a_nonlinear_law(
    name: str, quantile: float, scale: str
):
    rng = np.random.default_rng(5)
    D = np.geomspace(1, 1e3, 40)
    L = (1.5 + 3 / D**0.6) * np.exp(0.02 * rng.standard_t(2, size=40))
    found = fitted(minimized(POWER, name, quantile, scale), {"D": D, "L": L}, starts=6)

    def objective(p: np.ndarray) -> float:
        predicted = np.exp(p[0]) + np.exp(p[1]) / D ** np.exp(p[2])
        if scale == "L":
            return loss(name, quantile, L, predicted)
        return loss(name, quantile, np.log(L), np.log(predicted))

    options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000}
    best = math.inf
    for start in rng.normal([0.4, 1.0, -0.5], 0.4, size=(4, 3)):
        point = start
        for _ in range(3):  # the simplex collapses on kinks
            end = minimize(objective, point, method="Nelder-Mead", options=options)
            point = end.x
        best = min(best, float(end.fun))
    assert found.objective.sum <= best * (1 + 1e-7)
    assert found.objective.sum > 0.9 * best


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_the_quantile_is_the_share_of_the_measurements_below_the_fit(quantile: float):
    table = plane(6, 200)
    found = fitted(minimized(PLANE, "quantile", quantile), table, starts=2)
    above = table["L"] - found.predict({k: table[k] for k in "xz"})

    assert np.sum(above < -1e-9) <= 200 * quantile <= np.sum(above < 1e-9)


def test_rows_far_off_do_not_move_the_fit():
    D = np.geomspace(1, 1e3, 30)
    L = 1.5 + 3 / D**0.6
    L[[3, 20]] *= 1.6
    found = fitted(minimized(POWER, "absolute", 0.5, "log(L)"), {"D": D, "L": L}, starts=6)

    assert found.values == pytest.approx({"E": 1.5, "B": 3, "beta": 0.6}, rel=1e-6)


def test_the_order_of_the_rows_changes_nothing():
    table = plane(7)
    mixed = np.random.default_rng(0).permutation(50)
    law = minimized(PLANE, "absolute", 0.5)
    one, other = (
        fitted(law, t, starts=2) for t in (table, {k: v[mixed] for k, v in table.items()})
    )

    assert one.values == other.values


# ---- intervals and what goes with them


def coverage(name: str, quantile: float, rows: int, simulations: int) -> float:
    """How often 95 % intervals of a line hold the true values."""
    law = minimized("variable x\nparameter a, b\nL = a + b*x\n", name, quantile)
    x, held = np.linspace(0, 1, rows), []
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        gaussian = seed % 2 == 0
        noise = rng.normal(size=rows) if gaussian else rng.standard_t(3, size=rows)
        offset = norm.ppf(quantile) if gaussian else student(3).ppf(quantile)
        ends = fitted(law, {"x": x, "L": 30 + 2 * x + noise}, starts=1).intervals.ends
        for parameter, true in (("a", 30 + offset), ("b", 2.0)):
            low, high = ends.get(parameter, (-math.inf, math.inf))
            held.append(low <= true <= high)
    return float(np.mean(held))


def test_intervals_hold_the_true_values():
    assert coverage("absolute", 0.5, 40, 8) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "quantile", "rows"),
    [("absolute", 0.5, 20), ("absolute", 0.5, 60), ("quantile", 0.25, 60), ("quantile", 0.9, 120)],
)
def test_intervals_hold_as_often_as_they_say(name: str, quantile: float, rows: int):
    """400 values of 200 tables: a binomial standard error of 1.1 %, and more as a and b are correlated."""
    assert 0.92 <= coverage(name, quantile, rows, 200) <= 0.995


def test_intervals_do_not_depend_on_units_and_narrow_with_rows():
    law = minimized(PLANE, "absolute", 0.5)
    table = plane(8, 60)
    one = fitted(law, table, starts=2).intervals.errors
    other = fitted(law, {**table, "L": 1000 * table["L"]}, starts=2).intervals.errors
    assert other == pytest.approx({k: 1000 * v for k, v in one.items()}, rel=1e-4)
    many = fitted(law, plane(8, 960), starts=2).intervals.errors
    assert many["b"] < one["b"] / 2


LINE_THROUGH_EXP = "variable x\nparameter a > 0\nz = a*exp(x)\nminimize absolute(z)\n"


def test_rows_on_the_curve_do_not_narrow_intervals():
    x = np.linspace(0, 1, 100)
    noise = np.random.default_rng(0).normal(size=100)
    ends = [
        fitted(
            law_of(LINE_THROUGH_EXP),
            {"x": x, "z": 2 * np.exp(x) + noise * (np.arange(100) >= exact)},
        ).intervals.ends["a"]
        for exact in (0, 46)
    ]
    widths = [high - low for low, high in ends]
    assert ends[1][0] < 2 < ends[1][1]
    assert 0.3 * widths[0] < widths[1] < 3 * widths[0]


def test_rounded_measurements_do_not_narrow_intervals():
    x = np.linspace(0, 1, 200)
    z = 5 + x + np.random.default_rng(3).normal(size=200)
    law = law_of("variable x\nparameter a, b\nz = a + b*x\nminimize absolute(z)\n")
    exact, rounded = (fitted(law, {"x": x, "z": t}).intervals for t in (z, np.round(z)))
    for name in "ab":
        assert 0.7 * exact.errors[name] < rounded.errors[name] < 4 * exact.errors[name]


def test_a_fit_through_most_rows_has_no_intervals():
    x = np.linspace(0, 1, 200)
    z = 5 + np.round(0.7 * np.random.default_rng(1).normal(size=200))  # more than half are 5
    law = law_of("variable x\nparameter a, b\nz = a + b*x\nminimize absolute(z)\n")
    found = fitted(law, {"x": x, "z": z})

    assert found.values == pytest.approx({"a": 5, "b": 0}, abs=1e-6)
    assert found.intervals.ends == {} and found.spread is None
    (note,) = [d for d in found.diagnostics if d.code == "F0122"]
    assert "more than half of the rows lie exactly on the fit" in note.message
    with pytest.raises(lawdsl.LawdslError, match="F0125"):
        found.predict_with_errors({"x": [0.5]})


@pytest.mark.parametrize("method", ["profile", "bootstrap"])
def test_methods_that_follow_a_curvature_are_refused(method: str):
    def searching(done: int, total: int) -> None:
        pytest.fail("refused after the search has begun")

    with pytest.raises(lawdsl.LawdslError, match="F0156"):
        law = minimized(PLANE, "absolute", 0.5)
        fitted(law, plane(9), intervals=method, progress=searching)


def test_priors_are_refused():
    with pytest.raises(lawdsl.LawdslError, match="F0157"):
        fitted(minimized(PLANE, "absolute", 0.5), plane(9), priors="a = 30 ± 1")


def test_predictions_with_the_error_of_the_law_are_finite(tmp_path: Path):
    rng = np.random.default_rng(5)
    D = np.geomspace(1, 1e3, 40)
    L = (1.5 + 3 / D**0.6) * np.exp(0.01 * rng.normal(size=40))
    found = fitted(minimized(POWER, "absolute", 0.5, "log(L)"), {"D": D, "L": L}, starts=4)
    band = found.predict_with_errors({"D": [100.0, 1e4]})
    assert np.all(band.low < band.values) and np.all(band.values < band.high)
    assert np.all(band.high < 1.2 * band.low)

    found.save(tmp_path / "fit.json")
    assert Fit.load(tmp_path / "fit.json") == found


def test_a_fit_of_a_high_quantile_has_no_error_of_the_law():
    """Residuals of it are not noise around 0: conditioned on them, it would become the median."""
    rng = np.random.default_rng(5)
    N, D = (np.repeat(x, 20) for x in np.geomspace([1e8, 1e10], [1e10, 1e12], 5).T)
    D = np.tile(D[::20], 20)
    table = {
        "N": N,
        "D": D,
        "L": (1.5 + 3 / (D / 1e10) ** 0.6) * np.exp(0.05 * rng.normal(size=100)),
    }
    law = law_of(
        "variable N > 0 unit param\nvariable D > 0 unit token\nparameter E, B > 0\n"
        "parameter beta in (0, 2)\nL = E + B/(D/1e10)^beta\nminimize quantile(log(L), 0.9)\n"
    )
    found = fitted(law, table, starts=4, horizon=10.0)
    points = {"N": [1e9, 1e9], "D": [1e11, 1e13]}
    band = found.predict_with_errors(points)

    assert not found.has_law_error and found.intervals_with_law_error() == {}
    np.testing.assert_array_equal(band.values, found.predict(points))
    (warning,) = [d for d in band.warnings if d.code == "F0134"]
    assert "residuals of quantile(log(L), 0.9) are not centered at 0" in warning.message
    (beyond,) = [d for d in found.diagnostics if d.code == "F0141"]
    assert "not centered" in beyond.message
    with pytest.raises(lawdsl.LawdslError, match="F0134"):
        found.predict_with_errors(points, discrepancy=0.02)
    with pytest.raises(lawdsl.LawdslError, match="F0202.*not centered"):
        lawdsl.compare([law], table, protocols=["largest:D"])
    median = fitted(law, table, starts=4, quantile=0.5, rolled_check=False)
    assert median.has_law_error


@pytest.mark.parametrize("quantile", [0.05, 0.9, 0.97])
def test_a_fit_of_a_quantile_is_not_judged_by_the_mean(quantile: float):
    """It lies far from most rows, however well it is the quantile of them: R² is below 0."""
    rng = np.random.default_rng(1)
    D = np.geomspace(1, 1e3, 80)
    table = {"D": D, "L": (1.8 + 0.1 / D**0.3) * np.exp(0.05 * rng.normal(size=80))}
    text = "variable D > 0\nparameter E, B > 0\nL = E + B/D^0.3\n"
    found = fitted(law_of(text + f"minimize quantile(log(L), {quantile})"), table, starts=4)
    assert found.metrics.r2_log < 0
    assert "F0112" not in {d.code for d in found.diagnostics}
    assert found.verdict_for("residuals") == "trusted"


@pytest.mark.parametrize("weighted", [False, True])
def test_a_law_worse_than_a_constant_quantile_is_told(weighted: bool):
    """Losses rise with D where the law must fall; a row of weight 2 counts as two."""
    D = np.geomspace(1, 1e3, 80)
    table = {"D": D, "L": 1.0 + 0.2 * np.log(D)}
    if weighted:
        table["w"] = np.full(80, 2.0)
    text = "variable D > 0\nparameter B > 0\nL = B/D^0.3\nminimize quantile(log(L), 0.9)"
    found = fitted(law_of(text), table, starts=4, **({"weights": "w"} if weighted else {}))
    (told,) = [d for d in found.diagnostics if d.code == "F0112"]
    logs = np.log(table["L"])
    of_law = loss("quantile", 0.9, logs, np.log(found.predict(table)))
    of_constant = min(loss("quantile", 0.9, logs, np.full(80, c)) for c in logs)
    assert "worse than their 90 % quantile" in told.message
    assert f"{of_law / of_constant:.3g} times as large" in told.message


@pytest.mark.parametrize(
    ("objective", "options"),
    [
        ("huber(log)", {"delta": 1e-5}),
        ("huber(raw)", {"delta": 1e-2}),
        ("absolute(log)", {}),
        ("quantile(log)", {"quantile": 0.5}),
        ("quantile(log)", {"quantile": 0.9}),
    ],
)
def test_intervals_with_the_error_of_the_law_are_those_of_the_objective(
    objective: str, options: dict[str, float]
):
    """Computed again from the file they are those of the table; a high quantile has none."""
    rng = np.random.default_rng(5)
    D = np.geomspace(1, 1e3, 40)
    L = (1.5 + 3 / D**0.6) * np.exp(0.01 * rng.normal(size=40))
    law = law_of("variable D > 0\nparameter E, B, beta > 0\nL = E + B/D^beta")
    found = fitted(law, {"D": D, "L": L}, starts=4, objective=objective, **options)
    again = Fit.of_json(json.loads(json.dumps(found.to_json()))).intervals_with_law_error()
    printed = found.intervals.ends_with_law_error
    assert (
        set(again) == set(printed) == (set() if options.get("quantile") == 0.9 else {*"EB", "beta"})
    )
    for name, ends in printed.items():
        assert again[name] == pytest.approx(ends, rel=1e-6)
    if printed:
        squared = fitted(law, {"D": D, "L": L}, starts=4, objective="squared(log)")
        other = squared.intervals.ends_with_law_error
        assert printed["beta"] != pytest.approx(other["beta"], rel=1e-3)


# ---- the language and the commands


@pytest.mark.parametrize(
    "objective",
    ["absolute(L)", "absolute(log(L))", "quantile(L, 0.9)", "quantile(log(L), 0.25)"],
)
def test_objectives_are_read_and_printed(objective: str, tmp_path: Path):
    law = law_of(f"{POWER}minimize {objective}")
    assert law.objective.name == objective and law.objective.log is ("log" in objective)

    path = tmp_path / "example.law"
    path.write_text(f"law example\n{POWER}minimize {objective}\n", encoding="utf-8")
    assert commands.run("fmt", path).returncode == 0
    assert f"minimize  {objective}" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("quantile", ["0", "1", "1.5", "-0.2"])
def test_a_quantile_lies_between_0_and_1(quantile: str):
    with pytest.raises(lawdsl.LawdslError, match="L0404"):
        law_of(f"{POWER}minimize quantile(log(L), {quantile})")
    with pytest.raises(lawdsl.LawdslError, match="L0404"):
        lawdsl.fit(law_of(POWER), plane(1), objective="quantile(log)", quantile=float(quantile))


def test_the_command_takes_objective_and_quantile(tmp_path: Path):
    rng = np.random.default_rng(2)
    D = np.geomspace(1, 1e3, 40)
    L = (1.5 + 3 / D**0.6) * np.exp(0.01 * rng.normal(size=40))
    table, law = tmp_path / "runs.csv", tmp_path / "power.law"
    lines = [f"{float(d)!r},{float(x)!r}" for d, x in zip(D, L, strict=True)]
    table.write_text("D,L\n" + "\n".join(lines) + "\n", encoding="utf-8")
    law.write_text(f"law power\n{POWER}", encoding="utf-8")

    options = ("--objective", "quantile(log)", "--quantile", "0.9", "--json")
    result = json.loads(commands.run("fit", law, table, *options).stdout)["result"]
    assert result["objective"]["name"] == "quantile(log(L), 0.9)" and result["converged"]
    shown = commands.run(
        "compare", law, table, "--objective", "absolute(log)", "--protocol", "splits"
    )
    assert shown.returncode == 0 and "minimises absolute(log(L))" in shown.stdout
    refused = commands.run("fit", law, table, "--objective", "huber", "--quantile", "0.9")
    assert refused.returncode == 3 and "has no quantile" in refused.stderr


def test_every_loss_is_listed_where_losses_are():
    for name in LOSSES:
        assert name in commands.run("fit", "--help").stdout.replace("\n", " ")


def test_every_start_of_the_linear_programs_is_a_minimum_of_the_smoothed_loss(
    monkeypatch: pytest.MonkeyPatch,
):
    """Also where a bound depends on another parameter, which the starts are searched without."""
    followed: list[float] = []

    def follow(problem: Problem, free: np.ndarray) -> tuple[np.ndarray, float, bool]:
        smooth = kinked_losses.first_smoothing(problem)
        followed.append(float(np.max(np.abs(smooth.loss_and_gradient(free)[1]))))
        return kinked_losses.follow(problem, free)

    monkeypatch.setattr(multistart, "follow", follow)
    x = np.linspace(0, 10, 60)
    two_bumps = 1 + np.exp(-((x - 3) ** 2)) + 0.9 * np.exp(-((x - 7) ** 2))
    law = law_of(
        "variable x\nparameter c > 0\nparameter m > c\nL = c + exp(-(x - m)^2)\nminimize absolute(L)\n"
    )
    found = fitted(law, {"x": x, "L": two_bumps}, starts=24)

    assert found.values["m"] == pytest.approx(3, abs=0.2)
    assert len(followed) > 1 and max(followed) < 1e-3
