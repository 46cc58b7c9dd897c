"""Predictions beyond the fitted rows: a discrepancy of a given size per decade."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from mpmath import mp
from planted import law_of
from quick import without
from rich.console import Console

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.extrapolation.conditioning_rows import MAX_CHECKPOINTS, conditioning_rows
from lawdsl.fitting.extrapolation.coordinates import axes_of, coordinates
from lawdsl.fitting.extrapolation.discrepancy import (
    Discrepancy,
    FittedRows,
    NoiseLevels,
    condition_on_rows,
)
from lawdsl.fitting.extrapolation.kernel import (
    integrated_brownian_motion,
    kernel,
    kernel_diagonal,
)
from lawdsl.fitting.predicted_points import PredictedPoints
from lawdsl.fitting.result import Fit
from lawdsl.reporting.predictions import show_predictions

POWER = """variable N, D > 0
parameter E, A, B, alpha, beta > 0
L = E + A/N^alpha + B/D^beta
"""
TRUTH = {"E": 1.7, "A": 400.0, "B": 1000.0, "alpha": 0.34, "beta": 0.3}


def runs(seed: int = 0, noise: float = 0.004, count: int = 60) -> dict[str, np.ndarray]:
    """Runs of the law, with noise of the logarithm."""
    rng = np.random.default_rng(seed)
    N, D = 10 ** rng.uniform(7.5, 9.5, count), 10 ** rng.uniform(9, 11, count)
    L = loss(N, D) * np.exp(noise * rng.normal(size=count))
    return {"N": N, "D": D, "L": L}


def loss(N: np.ndarray, D: np.ndarray) -> np.ndarray:
    return TRUTH["E"] + TRUTH["A"] / N ** TRUTH["alpha"] + TRUTH["B"] / D ** TRUTH["beta"]


def fitted(table: Any, text: str = POWER, **options: Any) -> Fit:
    fit = lawdsl.fit(law_of(text), table, claims=False, **options)
    assert isinstance(fit, Fit)
    return fit


@pytest.fixture(scope="module")
def fit() -> Fit:
    return fitted(runs())


def log_width(band: Any) -> np.ndarray:
    return np.log(band.high / band.low)


# ---- the kernel


def test_the_kernel_is_that_of_its_definition():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))

    def of(x: np.ndarray, y: np.ndarray) -> float:
        total = np.exp(-np.sum((x - y) ** 2) / 2)
        for j in range(3):
            m, M = sorted((abs(x[j]), abs(y[j])))
            total += m**2 * (3 * M - m) / 4 if x[j] * y[j] > 0 else 0.0
            total += sum(x[j] * x[k] * y[j] * y[k] for k in range(j))
        return float(total)

    assert kernel(a, b) == pytest.approx(np.array([[of(x, y) for y in b] for x in a]))
    assert kernel_diagonal(a) == pytest.approx(np.diag(kernel(a, a)))


def test_the_kernel_is_a_covariance():
    z = np.random.default_rng(1).normal(scale=2, size=(80, 4))
    values = np.linalg.eigvalsh(kernel(z, z))
    assert values[0] > -1e-10 * values[-1]


def test_the_walk_is_integrated_brownian_motion():
    """Its covariance by drawing the local exponent as a random walk."""
    rng = np.random.default_rng(2)
    steps = 400
    exponent = np.cumsum(rng.normal(size=(20_000, steps)) * np.sqrt(1.5 / steps), axis=1)
    path = np.cumsum(exponent, axis=1) / steps
    for position, other in ((0.5, 1.0), (1.0, 1.0), (0.25, 0.75)):
        drawn = np.mean(path[:, int(position * steps) - 1] * path[:, int(other * steps) - 1])
        expected = integrated_brownian_motion(np.array(position), np.array(other))
        assert drawn == pytest.approx(float(expected), rel=0.05)
    assert float(integrated_brownian_motion(np.array(-1.0), np.array(1.0))) == 0


# ---- conditioning


def referee(rows: FittedRows, s: float, levels: NoiseLevels, z: np.ndarray, J: np.ndarray) -> Any:
    """The formulas of the model, written out, with 40 digits."""
    with mp.workdps(40):
        prior = len(rows.residuals) * (mp.matrix((rows.jacobian.T @ rows.jacobian).tolist()) ** -1)
        jacobian_of_rows, jacobian = mp.matrix(rows.jacobian.tolist()), mp.matrix(J.tolist())
        C = jacobian_of_rows * prior * jacobian_of_rows.T + mp.matrix(
            (s**2 * kernel(rows.z, rows.z)).tolist()
        )
        C += mp.matrix(
            (levels.run**2 * rows.same_run + levels.noise**2 * np.eye(len(rows.z))).tolist()
        )
        across = jacobian * prior * jacobian_of_rows.T + mp.matrix(
            (s**2 * kernel(z, rows.z)).tolist()
        )
        solved = C**-1
        mean = across * solved * mp.matrix(rows.residuals.tolist())
        covariance = jacobian * prior * jacobian.T - across * solved * across.T
        return (
            np.array([float(x) for x in mean]),
            np.array([float(covariance[i, i]) for i in range(len(z))]) + s**2 * kernel_diagonal(z),
        )


def drawn_rows(seed: int, grouped: bool) -> tuple[FittedRows, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    z, J = rng.normal(size=(40, 2)), rng.normal(size=(40, 3))
    run_numbers = np.repeat(np.arange(10), 4) if grouped else None
    rows = FittedRows(z, 0.01 * rng.normal(size=40), J, run_numbers)
    return rows, rng.normal(scale=2, size=(6, 2)), rng.normal(size=(6, 3))


def shrunk(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The estimate of a mean with the prior N(0, 10 %), and its mean squared error if that is wrong."""
    estimate = mean / (1 + variance / 0.1**2)
    return estimate, variance + (mean - estimate) ** 2


@pytest.mark.parametrize("grouped", [False, True])
def test_mean_and_variance_are_those_of_the_model(grouped: bool):
    rows, z, J = drawn_rows(3, grouped)
    levels = NoiseLevels(0.01, 0.005 if grouped else 0.0)
    mean, variance = Discrepancy(rows, 0.02, levels).at(z, J)
    expected = shrunk(*referee(rows, 0.02, levels, z, J))
    assert mean == pytest.approx(expected[0], rel=1e-7)
    assert variance == pytest.approx(expected[1], rel=1e-7)
    without = Discrepancy(rows, 0.0, levels)
    assert without.from_parameters(J) == pytest.approx(without.at(z, J)[1], rel=1e-6, abs=1e-12)


def test_noise_is_told_from_residuals():
    rng = np.random.default_rng(4)
    z, J = rng.normal(size=(200, 2)), rng.normal(size=(200, 3))
    rows = FittedRows(z, 0.006 * rng.normal(size=200), J)
    assert condition_on_rows(rows, 0.02).levels.noise == pytest.approx(0.006, rel=0.15)
    common = 0.02 * np.repeat(rng.normal(size=40), 5) + 0.004 * rng.normal(size=200)
    levels = condition_on_rows(FittedRows(z, common, J, np.repeat(np.arange(40), 5)), 0.0).levels
    assert levels.noise == pytest.approx(0.004, rel=0.2)
    assert levels.run == pytest.approx(0.02, rel=0.3)


def test_an_outlier_counts_less():
    rng = np.random.default_rng(5)
    z, J = rng.normal(size=(100, 2)), rng.normal(size=(100, 3))
    residuals = 0.004 * rng.normal(size=100)
    residuals[7] = 0.3
    discrepancy = condition_on_rows(FittedRows(z, residuals, J), 0.02)
    assert discrepancy.levels.noise < 0.012
    assert discrepancy.rows.weights is not None and np.argmin(discrepancy.rows.weights) == 7


# ---- coordinates, and the rows that are kept


def test_coordinates_are_decades_and_halves():
    columns = np.array([[1e6, 1e8], [0.0, 0.5], [-3.0, 1.0]])
    axes = axes_of(("N", "r", "x"), (False, True, False), columns)
    z = coordinates(axes, ("N", "r", "x"), np.array([[1e7, 1e9], [0.25, 0.75], [-1.0, 3.0]]))
    assert z.tolist() == [[0.0, 0.0, 0.0], [2.0, 1.0, 2.0]]


def test_a_few_checkpoints_of_each_run_are_kept():
    D = np.tile(np.geomspace(1, 1e4, 50), 3)
    N = np.repeat([1.0, 2.0, 3.0], 50)
    run_numbers = np.repeat([0, 1, 2], 50)
    sample = conditioning_rows(("N", "D"), np.stack([N, D]), D, run_numbers)
    assert sample.runs is not None and len(sample.target) == 3 * MAX_CHECKPOINTS
    one = np.array(sample.columns["D"])[np.array(sample.runs) == 0]
    assert np.diff(np.log10(one)) == pytest.approx(0.8, abs=0.1)


# ---- bands of fits


POINTS = {"N": [3e8, 1e10, 1e11], "D": [1e10, 1e12, 1e13]}


def test_a_discrepancy_of_0_gives_the_interval_of_the_law(fit: Fit):
    plain = fit.predict_with_errors(POINTS, discrepancy=0)
    assert plain.values == pytest.approx(fit.predict(POINTS)) and plain.law is None


def test_a_band_widens_with_the_discrepancy_and_with_the_distance(fit: Fit):
    bands = [fit.predict_with_errors(POINTS, discrepancy=s) for s in (0.005, 0.02, 0.05)]
    widths = np.array([log_width(band) for band in bands])
    assert np.all(np.diff(widths, axis=0) > 0) and np.all(np.diff(widths, axis=1) > 0)


def test_the_parts_add_up_to_the_interval_of_a_further_run(fit: Fit):
    band = fit.predict_with_errors(POINTS)
    assert band.parts is not None and band.law is not None and band.run_high is not None
    squares = band.parts.noise**2 + band.parts.run**2 + band.parts.law**2
    assert np.log(band.run_high / band.values) * band.values == pytest.approx(np.sqrt(squares))
    assert band.law == pytest.approx(fit.predict(POINTS))
    assert np.all(band.run_high > band.high)


def test_more_rows_narrow_a_band():
    few, many = (fitted(runs(count=n)).predict_with_errors(POINTS) for n in (25, 200))
    assert np.all(log_width(many) < log_width(few))


@pytest.mark.parametrize("factor", [1e-9, 1e3])
def test_units_and_the_order_of_rows_change_nothing(fit: Fit, factor: float):
    table = runs()
    order = np.random.default_rng(6).permutation(len(table["L"]))
    other = {name: values[order] for name, values in table.items()}
    other["N"] = other["N"] * factor
    band, changed = (
        one.predict_with_errors({**POINTS, "N": np.array(POINTS["N"]) * scale})
        for one, scale in ((fit, 1.0), (fitted(other), factor))
    )
    assert changed.values == pytest.approx(band.values, rel=1e-4)
    assert log_width(changed) == pytest.approx(log_width(band), rel=1e-2)


def test_what_the_rows_leave_open_stays_open():
    table = runs()
    table["N"] = np.where(table["N"] < 3e8, 1e8, 1e9)
    table["L"] = loss(table["N"], table["D"])
    fit = fitted(table)
    assert np.all(np.isinf(fit.predict_with_errors({"N": [1e11], "D": [1e11]}).high))


@pytest.mark.slow
def test_bands_of_a_right_law_hold_the_truth():
    """Of 60 tables, at a point 1.5 decades beyond the rows."""
    truth = float(loss(np.array(1e11), np.array(1e12)))
    bands = [
        fitted(runs(seed)).predict_with_errors({"N": [1e11], "D": [1e12]}) for seed in range(60)
    ]
    assert np.mean([band.low[0] <= truth <= band.high[0] for band in bands]) >= 0.93


def test_a_fit_file_keeps_what_a_band_needs(fit: Fit, tmp_path: Path):
    fit.save(tmp_path / "fit.json")
    reloaded = lawdsl.load_fit(tmp_path / "fit.json").predict_with_errors(POINTS)
    assert reloaded.high.tolist() == fit.predict_with_errors(POINTS).high.tolist()


def test_a_fit_without_rows_says_so(fit: Fit, tmp_path: Path):
    content = fit.to_json()
    del content["rows"]
    (tmp_path / "old.json").write_text(json.dumps(content), encoding="utf-8")
    old = lawdsl.load_fit(tmp_path / "old.json")
    with pytest.raises(LawdslError, match="an earlier version"):
        old.predict_with_errors(POINTS, discrepancy=0.02)
    band = old.predict_with_errors(POINTS)
    assert band.law is None and np.all(np.isfinite(band.high))
    assert "F0134" in [d.code for d in band.warnings]


def test_a_law_of_negative_values_has_no_discrepancy():
    x = np.linspace(-1, 1, 20)
    table = {"x": x, "L": 2 * x + 0.01 * np.sin(50 * x)}
    fit = fitted(table, "variable x\nparameter a\nL = a*x\nminimize squared(L)\n")
    with pytest.raises(LawdslError, match="not positive"):
        fit.predict_with_errors({"x": [2.0]}, discrepancy=0.02)
    assert fit.predict_with_errors({"x": [2.0]}).law is None


@pytest.mark.parametrize("amplitude", [-0.01, 2.0, float("nan"), True, "2%"])
def test_an_amplitude_outside_its_limits_is_refused(fit: Fit, amplitude: Any):
    with pytest.raises(LawdslError, match="from 0 to 1"):
        fit.predict_with_errors(POINTS, discrepancy=amplitude)


# ---- on the command line


@pytest.fixture(scope="module")
def folder(fit: Fit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("discrepancy")
    fit.save(folder / "fit.json")
    return folder


def test_the_command_prints_both_intervals_and_their_parts(folder: Path, fit: Fit):
    done = run("predict", "fit.json", "N=1e10", "D=1e12,2e12", "--intervals", cwd=folder)
    header, _, first, _ = (re.split(" {2,}", line.strip()) for line in done.stdout.splitlines())
    assert header == [
        *("N", "D", "L", "95 % interval", "a further run", "± noise, run, law", "law alone")
    ]
    band = fit.predict_with_errors({"N": [1e10], "D": [1e12]})
    assert band.law is not None and band.run_high is not None
    assert float(first[2]) == pytest.approx(band.values[0], rel=1e-5)
    assert float(first[4].split()[-1]) == pytest.approx(band.run_high[0], rel=1e-3)
    assert float(first[-1]) == pytest.approx(band.law[0], rel=1e-5)


def test_a_table_that_does_not_fit_the_terminal_is_sentences(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    fit = lawdsl.load_fit(folder / "fit.json")
    band = fit.predict_with_errors({"N": [1e10, 1e11], "D": [1e12, 1e12]})
    arrays = np.moveaxis(band.stacked(), 0, -1)
    points = PredictedPoints(["N", "D"], [(1e10, 1e12), (1e11, 1e12)], "L", "", (), arrays, 0.95)
    show_predictions(points, Console(width=40))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("N = ")] == [
        *("N = 1e+10, D = 1e+12", "N = 1e+11, D = 1e+12")
    ]
    assert sum("the law alone" in line for line in lines) == 2


@pytest.mark.parametrize("count", [1, 3, 9])
@pytest.mark.parametrize("width", [24, 50, 200])
def test_no_number_of_a_prediction_by_label_is_broken_at_any_width(
    count: int, width: int, capsys: pytest.CaptureFixture[str]
):
    """A column each where there is room, else a row each, else sentences."""
    labels, cells = ("code", "general"), [(0.2, 0.5), (0.3, 0.4)]
    arrays = 3.123456 + np.arange(2.0 * 2 * count).reshape(2, 2, count) / 10
    names = ["r[code]", "r[general]"]
    points = PredictedPoints(names, cells, "L", "domain", labels, arrays, 0.95)
    show_predictions(points, Console(width=width))
    shown = capsys.readouterr().out
    words = shown.replace(",", " ").split()
    for value in arrays[..., 0].ravel():
        assert words.count(f"{value:.6g}") == 1
    assert ("L[general]" in words) == (count == 1 and width >= 50)
    if width == 24:
        assert "r[code] = 0.3, r[general] = 0.4, domain = general" in shown


def test_one_prediction_is_a_sentence(folder: Path, fit: Fit):
    done = run("predict", "fit.json", "N=1e10", "D=1e12", cwd=folder)
    band = fit.predict_with_errors({"N": [1e10], "D": [1e12]})
    assert band.law is not None and band.parts is not None
    first, second = done.stdout.splitlines()
    assert first.startswith(f"L {band.values[0]:.6g}, 95 % {band.low[0]:.4g} to {band.high[0]:.4g}")
    assert f"(the law alone: {band.law[0]:.6g})" in first
    assert f"noise {band.parts.noise[0]:.2g}, run 0, law {band.parts.law[0]:.2g}" in second


def test_predictions_have_the_error_of_the_law_unless_the_law_alone_is_requested(folder: Path):
    inside = run("predict", "fit.json", "N=1e9", "D=1e10", "--json", cwd=folder)
    beyond, alone = (
        run("predict", "fit.json", "N=1e10", "D=1e12", "--json", *more, cwd=folder)
        for more in ((), ("--no-intervals",))
    )
    intervals = [json.loads(done.stdout)["result"]["intervals"] for done in (inside, beyond, alone)]
    assert intervals[2] is None
    assert intervals[0]["discrepancy"] == intervals[1]["discrepancy"] == 0.02
    assert "F0109" in [d["code"] for d in json.loads(beyond.stdout)["diagnostics"]]


def test_a_prediction_within_two_per_cent_has_no_warning(fit: Fit):
    just_beyond = {"N": [float(np.max(fit.rows.columns["N"])) * 1.01], "D": [3e10]}  # type: ignore[union-attr]
    band = fit.predict_with_errors(just_beyond)
    assert band.high[0] / band.low[0] < 1.02**2
    assert band.warnings == ()
    assert [d.code for d in fit.predict_with_warnings(just_beyond)[1]] == ["F0109"]


def test_the_warning_says_how_wrong_the_law_may_be(fit: Fit):
    band = fit.predict_with_errors({"N": [1e11], "D": [1e12]})
    half = np.sqrt(band.high[0] / band.low[0]) - 1
    warnings = [d for d in band.warnings if d.code == "F0109"]
    assert warnings and all(f"known within {100 * half:.2g} %" in (d.help or "") for d in warnings)


def test_json_has_the_arrays_of_the_band(folder: Path):
    arguments = ("predict", "fit.json", "N=1e10", "D=1e12", "--intervals", "--json")
    intervals = json.loads(run(*arguments, cwd=folder).stdout)["result"]["intervals"]
    assert intervals["discrepancy"] == 0.02 and intervals["law_error"][0] > 0
    plain = json.loads(run(*arguments, "--wrong", "0", cwd=folder).stdout)["result"]["intervals"]
    assert set(plain) == {"level", "discrepancy", "widening", "low", "high"}
    assert intervals["high"][0] / intervals["low"][0] > plain["high"][0] / plain["low"][0]


def test_an_error_of_the_law_needs_intervals(folder: Path):
    done = run("predict", "fit.json", "N=1e9", "D=1e10,2e10", "--wrong", "5%", cwd=folder)
    assert done.returncode == 0 and "a further run" in done.stdout
    refused = run(
        "predict", "fit.json", "N=1e9", "D=1e10", "--wrong", "5%", "--no-intervals", cwd=folder
    )
    assert refused.returncode == 2 and "--no-intervals" in refused.stderr


def test_a_learned_error_is_named_in_the_document(folder: Path, fit: Fit):
    documents = {}
    for wrong in ("2%", "learned"):
        done = run(
            "predict", "fit.json", "N=1e10", "D=1e12", "--wrong", wrong, "--json", cwd=folder
        )
        documents[wrong] = json.loads(done.stdout)["result"]["intervals"]
    assert documents["2%"]["discrepancy"] == 0.02 == documents["learned"]["discrepancy"]
    assert documents["2%"]["widening"] is None
    assert documents["learned"]["widening"] == fit.widening


def test_a_level_is_that_of_the_intervals(folder: Path):
    done = run("predict", "fit.json", "N=1e9", "D=1e10,2e10", "--level", "0.9", cwd=folder)
    assert "90 % interval" in done.stdout
    refused = run("predict", "fit.json", "N=1e9", "D=1e10", "--level", "5%", cwd=folder)
    assert refused.returncode != 0 and "F0120" in refused.stderr


@pytest.mark.parametrize("zero", [0, 0.0, np.int64(0), np.float32(0)])
def test_a_discrepancy_of_any_numeric_type_is_taken(fit: Fit, zero: Any):
    assert fit.predict_with_errors({"N": [1e10], "D": [1e12]}, discrepancy=zero).law is None


def test_a_prediction_below_0_has_no_ends():
    """A line that falls below 0 beyond its rows: its logarithm says nothing there."""
    x = np.linspace(0, 1, 20)
    table = {"x": x, "L": 2 - x + 0.01 * np.sin(50 * x)}
    text = "variable x\nparameter a, b > 0\nL = a - b*x\nminimize squared(L)\n"
    band = fitted(table, text).predict_with_errors({"x": [0.5, 5.0]})
    assert np.isfinite(band.high).tolist() == [True, False]
    assert band.low[1] == -np.inf and band.values[1] < 0


@pytest.mark.parametrize("text", ["2", "95", "1.5"])
@pytest.mark.parametrize("command", ["predict", "solve --safe", "solve --wrong"])
def test_a_percentage_without_its_sign_is_asked_for(folder: Path, text: str, command: str):
    arguments = ["predict", "fit.json", "N=1e10", "D=1e12", "--wrong", text]
    if command.startswith("solve"):
        arguments = ["solve", "dcpt.tradeoff", "general=fit.json", command.split()[1], text]
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2 and f"did you mean {text}%?" in done.stderr


@pytest.mark.parametrize("size", without([1e30, 1e100, 1e300, 1e-30, 1e-300], [1e100, 1e-30]))
@pytest.mark.parametrize("wrong", without([0, 0.02, 1.0], [1.0]))
def test_predictions_at_extreme_values_are_finite_or_said_to_be_infinite(size: float, wrong: float):
    x = np.geomspace(1, 1e3, 20)
    N, D = 1e8 * x, 1e10 * np.random.default_rng(1).permutation(x)
    noise = np.exp(0.004 * np.random.default_rng(0).normal(size=20))
    table = {"N": N, "D": D, "L": (1.82 + 482 / N**0.348 + 2085 / D**0.366) * noise}
    fit = lawdsl.fit("chinchilla", table, claims=False, starts=8)
    for point in (
        {"N": [size], "D": [1e12]},
        {"N": [1e9], "D": [size]},
        {"N": [size], "D": [size]},
    ):
        band = fit.predict_with_errors(point, discrepancy=wrong)
        assert not np.any(np.isnan(band.stacked()))
        assert np.all(np.isfinite(band.values))
        is_infinite = bool(np.any(np.isinf(band.stacked())))
        assert is_infinite == ("F0126" in {d.code for d in band.warnings})
        assert np.all(band.low <= band.values) and np.all(band.values <= band.high)


@pytest.mark.parametrize("text", ["much", "2 percent", "%"])
def test_a_percentage_that_is_none_is_refused(folder: Path, text: str):
    done = run(
        "predict", "fit.json", "N=1e10", "D=1e12", "--intervals", "--wrong", text, cwd=folder
    )
    assert done.returncode == 2 and "write 2%" in done.stderr


def test_a_level_is_a_percentage_or_a_number(folder: Path):
    command = ("predict", "fit.json", "N=1e10", "D=1e12", "--json", "--level")
    percent, number, wider = (run(*command, x, cwd=folder) for x in ("90%", "0.9", "95%"))
    assert percent.returncode == 0 and percent.stdout == number.stdout != wider.stdout
    refused = run(*command, "95", cwd=folder)
    assert refused.returncode == 2 and "did you mean 95%?" in refused.stdout + refused.stderr
