"""One row a loss: what it says of itself agrees, and a further row is all that a further loss takes."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

from lawdsl.core.losses import LOSSES, Loss, Scalars
from lawdsl.core.objectives import Objective
from lawdsl.fitting.losses import ARRAYS, curvature_of, least_squares_loss, rho, value_and_slope

ROOT = Path(__file__).resolve().parent.parent
RESIDUALS = np.array([-3.0, -0.3, -0.02, -1e-9, 0.0, 1e-9, 0.04, 0.6, 2.5])

# log-cosh: r²/2 near 0, delta·|r| far out, with slope and curvature everywhere
LOG_COSH = """
LOG_COSH = Loss(
    "logcosh",
    value=lambda m, r, delta: delta * delta * (
        m.abs(r / delta) + m.log1p(m.exp(-2 * m.abs(r / delta))) - math.log(2)
    ),
    slope=lambda m, r, delta: delta * m.tanh(r / delta),
    curvature=lambda m, r, slope, delta: 1 - (slope / delta) ** 2,
    weight=lambda m, r, slope, delta: m.ratio(slope, r, 1.0),
    # the density is a power of 1/cosh, whose integral is a beta function
    log_normalizer=lambda tau, delta: math.log(delta)
    + (delta**2 / tau - 1) * math.log(2)
    + 2 * math.lgamma(delta**2 / tau / 2)
    - math.lgamma(delta**2 / tau),
    scale="log",
    parameters=("delta",),
    example=("1e-3",),
    robust=True,
    widened=lambda size, delta: (max(delta, size),),
)
LOSSES["logcosh"] = LOG_COSH
"""


def log_cosh() -> Loss:
    names: dict[str, object] = {"Loss": Loss, "math": math, "LOSSES": {}}
    exec(LOG_COSH, names)
    row = names["LOG_COSH"]
    assert isinstance(row, Loss)
    return row


@pytest.fixture(params=[*(name for name, row in LOSSES.items() if not row.kinked), "logcosh"])
def objective(request, monkeypatch) -> Objective:
    if request.param == "logcosh":
        monkeypatch.setitem(LOSSES, "logcosh", log_cosh())
    return Objective(request.param, delta=0.05)


def test_slopes_and_curvatures_are_the_derivatives(objective):
    h = 1e-7
    r = RESIDUALS + 3e-7 * (RESIDUALS == 0)
    _, slope = value_and_slope(r, objective)
    by_difference = (rho(r + h, objective) - rho(r - h, objective)) / (2 * h)
    np.testing.assert_allclose(slope, by_difference, rtol=1e-6, atol=1e-9)

    ends = [value_and_slope(r + sign * h, objective)[1] for sign in (1, -1)]
    np.testing.assert_allclose(
        curvature_of(r, slope, objective, exact=True),
        (ends[0] - ends[1]) / (2 * h),
        rtol=1e-5,
        atol=1e-6,
    )
    np.testing.assert_allclose(
        curvature_of(r, slope, objective, exact=False), slope / r, rtol=1e-12
    )


def assert_convex(objective: Objective) -> None:
    sizes = np.geomspace(1e-12, 1e4, 200)
    r = np.concatenate([-sizes[::-1], [0.0], sizes])
    value, slope = value_and_slope(r, objective)
    rounding = 1e-12 * np.max(np.abs(slope))
    assert np.all(curvature_of(r, slope, objective, exact=True) >= 0)
    assert np.all(np.diff(slope) >= -rounding)
    half = rho((r[1:] + r[:-1]) / 2, objective)
    # log-cosh near 0 is a difference of numbers of size delta²
    error = 1e-14 * objective.delta**2
    assert np.all(half <= (value[1:] + value[:-1]) * (0.5 + 1e-12) + error)
    assert np.all(value >= -error) and abs(value[len(sizes)]) <= error


def test_it_is_convex_with_its_minimum_at_0(objective):
    assert_convex(objective)


def test_a_loss_that_is_not_convex_is_noticed(monkeypatch):
    cauchy = Loss(
        "cauchy",
        value=lambda m, r, delta: delta**2 / 2 * m.log1p((r / delta) ** 2),
        slope=lambda m, r, delta: r / (1 + (r / delta) ** 2),
        curvature=lambda m, r, slope, delta: (1 - (r / delta) ** 2) / (1 + (r / delta) ** 2) ** 2,
        weight=lambda m, r, slope, delta: 1 / (1 + (r / delta) ** 2),
        log_normalizer=lambda tau, delta: 0.0,
        parameters=("delta",),
    )
    monkeypatch.setitem(LOSSES, "cauchy", cauchy)
    with pytest.raises(AssertionError):
        assert_convex(Objective("cauchy", delta=0.05))


def test_the_value_beside_the_slope_is_the_value(objective):
    value, slope = value_and_slope(RESIDUALS, objective)
    np.testing.assert_allclose(value, rho(RESIDUALS, objective), rtol=1e-14, atol=1e-300)
    np.testing.assert_array_equal(
        slope, objective.row.slope(ARRAYS, RESIDUALS, *objective.parameters)
    )


def test_the_greatest_curvature_is_that_at_0_and_the_limit_of_the_weights(objective):
    zero = np.zeros(1)
    for exact in (True, False):
        assert curvature_of(zero, zero, objective, exact) == objective.row.max_curvature
        curvatures = curvature_of(
            RESIDUALS, value_and_slope(RESIDUALS, objective)[1], objective, exact
        )
        assert np.max(curvatures) == objective.row.max_curvature
        if objective.row.quadratic:
            assert np.all(curvatures == objective.row.max_curvature)


def test_the_slope_of_a_robust_loss_is_bounded(objective):
    _, slopes = value_and_slope(np.array([1e3, 1e6, 1e9]), objective)
    assert (slopes[2] <= 1.001 * slopes[0]) is np.bool_(objective.row.robust)


@pytest.mark.parametrize("tau", [1e-4, 2e-3, 0.3])
def test_the_normalizer_is_the_integral_of_the_density(objective, tau):
    reach = 40 * max(math.sqrt(tau), tau / 0.05)
    area, _ = quad(
        lambda r: float(np.exp(-rho(np.array(r), objective) / tau)),
        -reach,
        reach,
        points=[-0.05, 0, 0.05],
        limit=500,
    )
    assert objective.row.log_normalizer(tau, *objective.parameters) == pytest.approx(
        math.log(area), abs=1e-7
    )


@pytest.mark.parametrize("name", ["huber", "squared"])
def test_rows_compute_with_numbers_of_many_digits(name):
    row, delta = LOSSES[name], mpmath.mpf("0.05")
    parameters = (delta,) * len(row.parameters)
    with mpmath.workdps(60):
        for r in map(mpmath.mpf, ("-3", "-0.02", "0.04999", "0", "0.7")):
            inside = min(abs(r), delta)
            value = r * r if name == "squared" else inside * abs(r) - inside**2 / 2
            assert abs(row.value(Scalars, r, *parameters) - value) < mpmath.mpf(10) ** -55
            fused, slope = row.value_and_slope(Scalars, r, *parameters)
            assert abs(fused - value) < mpmath.mpf(10) ** -55
            weight = row.weight(Scalars, r, slope, *parameters)
            assert abs(weight * r - slope) < mpmath.mpf(10) ** -55
            array = rho(np.array(float(r)), Objective(name, delta=0.05))
            assert float(value) == pytest.approx(float(array), rel=1e-12)


def test_least_squares_gets_the_loss_as_a_function_of_squares(monkeypatch):
    monkeypatch.setitem(LOSSES, "logcosh", log_cosh())
    objective = Objective("logcosh", delta=0.05)
    z = RESIDUALS[RESIDUALS > 1e-3] ** 2
    value, first, second = least_squares_loss(objective)(z)

    np.testing.assert_allclose(value, 2 * rho(np.sqrt(z), objective), rtol=1e-12)
    h = 1e-5 * z
    above, below = (2 * rho(np.sqrt(z + s * h), objective) for s in (1, -1))
    np.testing.assert_allclose(first, (above - below) / (2 * h), rtol=1e-6)
    slopes = [least_squares_loss(objective)(z + s * h)[1] for s in (1, -1)]
    np.testing.assert_allclose(second, (slopes[0] - slopes[1]) / (2 * h), rtol=1e-4)
    assert least_squares_loss(Objective("squared")) == "linear"
    assert least_squares_loss(Objective("huber")) == "huber"


LAW = """law decay
variable t > 0
parameter a, b, k > 0
L = a + b*exp(-k*t)
minimize logcosh(log(L), 2e-2)
"""


def command(tree: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lawdsl", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow  # the recipe of CONTRIBUTING, which is tried too, adds one
def test_a_row_is_all_that_a_further_loss_takes(tmp_path: Path):
    """A copy of the package with log-cosh fits by it; rows far off hardly move the fit."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "lawdsl", tree / "lawdsl", ignore=shutil.ignore_patterns("__pycache__"))
    for shipped in ("laws", "grammars"):  # as in the wheel
        shutil.copytree(ROOT / shipped, tree / "lawdsl" / shipped)
    rows = tree / "lawdsl" / "core" / "losses.py"
    rows.write_text(rows.read_text(encoding="utf-8") + LOG_COSH, encoding="utf-8")

    rng = np.random.default_rng(3)
    t = np.round(np.linspace(0.1, 5, 60), 4)
    y = (1.2 + 2 * np.exp(-0.9 * t)) * np.exp(0.004 * rng.standard_normal(60))
    y[[7, 31]] *= 1.5
    y = np.round(y, 7)
    lines = ["t,L", *(f"{x:.6g},{v:.9g}" for x, v in zip(t, y, strict=True))]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "decay.law").write_text(LAW, encoding="utf-8")

    fitted = command(
        tree, "fit", "decay.law", "table.csv", "--json", "-o", "fit.json", cwd=tmp_path
    )
    assert fitted.returncode == 0, fitted.stdout + fitted.stderr
    result = json.loads(fitted.stdout)["result"]
    assert result["objective"]["name"] == "logcosh(log(L), 0.02)", fitted.stderr
    for name, value in {"a": 1.2, "b": 2.0, "k": 0.9}.items():
        assert result["parameters"][name]["value"] == pytest.approx(value, rel=0.02)
        low, high = result["intervals"]["ends"][name]
        assert low < result["parameters"][name]["value"] < high
    assert result["converged"]

    # the minimum is one: no other method gets lower
    from scipy.optimize import minimize

    def loss(p: np.ndarray) -> float:
        r = np.log(p[0] + p[1] * np.exp(-p[2] * t)) - np.log(y)
        scaled = np.abs(r) / 0.02
        return 0.02**2 * float(np.sum(scaled + np.log1p(np.exp(-2 * scaled)) - np.log(2)))

    best = minimize(
        loss, [1.2, 2, 0.9], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
    )
    assert result["objective"]["sum"] == pytest.approx(best.fun, rel=1e-8)

    shown = command(tree, "fmt", "decay.law", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "minimize  logcosh(log(L), 2e-2)" in (tmp_path / "decay.law").read_text(encoding="utf-8")
    other = ("fit", "decay.law", "table.csv", "--objective", "huber", "--delta", "0.02", "--json")
    by_huber = json.loads(command(tree, *other, cwd=tmp_path).stdout)["result"]
    assert by_huber["objective"]["name"] == "huber(log(L), 0.02)"
    compared = command(
        tree,
        "compare",
        "decay.law",
        "table.csv",
        "--objective",
        "logcosh",
        "--protocol",
        "all",
        cwd=tmp_path,
    )
    assert compared.returncode == 0, compared.stderr + compared.stdout
