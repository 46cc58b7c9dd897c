"""Predictions with intervals: what they are, how often they cover, and where there are none."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from planted import PLANTED, law_of
from scipy.stats import binom, t as student

import lawdsl
from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError

LINE = law_of("variable x\nparameter a, b\nL = a*x + b\nminimize squared(L)")
POWER = law_of("variable x > 0\nparameter a, b > 0\nL = a/x^b\nminimize squared(log(L))")
SHARED = law_of(
    "index d over domain\nvariable x\nparameter a\nparameter b[d]\n"
    "L[d] = a*x + b[d]\nminimize squared(L)"
)
APART = law_of(
    "index d over domain\nvariable x\nparameter a[d]\nparameter b[d]\n"
    "L[d] = a[d]*x + b[d]\nminimize squared(L)"
)
STEPS = law_of(
    "variable r in [0, 1]\nparameter c >= 0\nparameter k > 0\nparameter t\n"
    "L = c + k*exp(t*r)\nminimize squared(L, c = straightest(log(L - c)))"
)


def line(rows: int, seed: int = 0, **more: Any) -> dict[str, Any]:
    x = np.linspace(0, 1, rows)
    return {"x": x, "L": 1 + 2 * x + np.random.default_rng(seed).normal(0, 0.3, rows), **more}


def domains(rows: int) -> dict[str, Any]:
    """Lines of two domains, each as many rows; the second is noisier."""
    x, rng = np.tile(np.linspace(0, 1, rows), 2), np.random.default_rng(5)
    noise = np.repeat([0.05, 0.5], rows) * rng.normal(size=2 * rows)
    return {"x": x, "L": 1 + 2 * x + noise, "domain": np.repeat(["web", "code"], rows)}


def steps(noise: float = 0.002, seed: int = 1) -> dict[str, Any]:
    r = np.linspace(0.05, 0.95, 12)
    noise = noise * np.random.default_rng(seed).normal(size=12)
    return {"r": r, "L": 2.6 + 0.4 * np.exp(-1.8 * r) + noise}


def of_mean(
    table: Mapping[str, Any], at: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """A regression line and half the width of its band, by the textbook."""
    x, L = table["x"], table["L"]
    slope, start = np.polyfit(x, L, 1)
    left = len(x) - 2
    size = np.sqrt(np.sum((L - slope * x - start) ** 2) / left)
    spread = np.sqrt(1 / len(x) + (at - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2))
    return slope * at + start, student.ppf((1 + level) / 2, left) * size * spread


# ---- what they are


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_the_band_of_a_line_is_that_of_textbooks(level: float):
    table, at = line(12), np.array([-1.0, 0.3, 2.0])
    band = lawdsl.fit(LINE, table).predict_with_errors({"x": at}, level=level, discrepancy=0)
    values, half = of_mean(table, at, level)

    assert band.level == level
    assert band.values == pytest.approx(values, rel=1e-8)
    assert band.low == pytest.approx(values - half, rel=1e-8)
    assert band.high == pytest.approx(values + half, rel=1e-8)


def test_the_band_of_a_power_is_that_of_the_line_of_its_logarithms():
    x = np.geomspace(1, 100, 9)
    L = 3 / x**0.7 * np.exp(np.random.default_rng(2).normal(0, 0.4, 9))
    at = np.array([0.01, 5.0, 1e5])
    band = lawdsl.fit(POWER, {"x": x, "L": L}).predict_with_errors({"x": at}, discrepancy=0)
    values, half = of_mean({"x": np.log(x), "L": np.log(L)}, np.log(at), 0.95)

    assert band.values == pytest.approx(np.exp(values), rel=1e-6)
    assert band.low == pytest.approx(np.exp(values - half), rel=1e-6)
    assert band.high == pytest.approx(np.exp(values + half), rel=1e-6)
    assert np.all(band.low > 0)


def test_the_scale_is_that_of_the_fit_not_of_the_law():
    x = np.geomspace(1, 100, 9)
    L = 3 / x**0.7 * np.exp(np.random.default_rng(2).normal(0, 0.4, 9))
    fit = lawdsl.fit(POWER, {"x": x, "L": L}, objective="squared(raw)")
    band = fit.predict_with_errors({"x": [1.0, 50.0]}, discrepancy=0)

    assert band.high - band.values == pytest.approx(band.values - band.low, rel=1e-9)


@pytest.mark.parametrize("name", ["chinchilla", "dcpt.l3", "dcpt.share"])
def test_values_are_those_of_predict_and_warnings_too_but_where_intervals_are_narrow(name: str):
    table = PLANTED[name].table(0.003, 7)
    fit = lawdsl.fit(name, table, starts=PLANTED[name].parameters, claims=False)
    points = {q.name: 1.3 * table[q.name][-3:] for q in fit.read_law().variables if q.name != "r"}
    points |= {"r": [0.2, 0.4, 0.6]} if "r" in table else {}
    values, warnings = fit.predict_with_warnings(points)
    band = fit.predict_with_errors(points, discrepancy=0)

    assert band.values == pytest.approx(values, rel=1e-12)
    # points out of the fitted range need no warning where their intervals are narrow
    assert np.all(band.high / band.low < 1.04)
    assert band.warnings == tuple(d for d in warnings if d.code != "F0109")
    assert np.all(band.low < values) and np.all(values < band.high)


def test_bands_by_run_are_wider_where_rows_of_a_run_share_an_error():
    runs = np.repeat(np.arange(12), 6)
    rng = np.random.default_rng(3)
    off = rng.normal(0, 0.3, 12)[runs] + rng.normal(0, 1e-3, 72)  # alike, but no copies
    table = {"x": np.linspace(0, 1, 12)[runs], "L": 1 + 2 * np.linspace(0, 1, 12)[runs] + off}
    by_row, by_run = (
        lawdsl.fit(LINE, {**table, "run": runs}, run=run).predict_with_errors(
            {"x": [0.0, 0.5]}, discrepancy=0
        )
        for run in ("none", "run")
    )

    assert np.all(by_run.high - by_run.low > 2 * (by_row.high - by_row.low))


# ---- how often they cover

INSIDE: dict[str, dict[str, list[float]]] = {
    "chinchilla": {"N": [1e8, 1e9, 5e9, 1e10], "D": [1e10, 3e11, 5e10, 4e11]},
    "dcpt.l3": {"N": [0.7, 1.5, 3, 3.5], "D": [10, 2, 15, 4], "r": [0.1, 0.3, 0.5, 0.9]},
    "dcpt.share": {"r": [0.03, 0.25, 0.55, 0.95]},
}


def covering(name: str, simulations: int) -> np.ndarray:
    """Which bands of 95 % hold the truth, of so many tables with new noise, at each point."""
    planted, points = PLANTED[name], {k: np.array(v) for k, v in INSIDE[name].items()}
    truth, found = planted.formula(**points, **planted.parameters), []
    for seed in range(simulations):
        table = planted.table(0.003, 1000 + seed)
        fit = lawdsl.fit(name, table, starts=planted.parameters, claims=False)
        assert isinstance(fit, lawdsl.Fit)
        band = fit.predict_with_errors(points, discrepancy=0)
        found.append((band.low < truth) & (truth < band.high))
    return np.array(found)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "dcpt.share" else pytest.mark.slow) for n in INSIDE]
)
def test_bands_cover(name: str):
    hits = covering(name, 15).sum(axis=0)

    assert np.all(hits >= binom.ppf(1e-4, 15, 0.95))


@pytest.mark.slow
@pytest.mark.parametrize("name", INSIDE)
def test_bands_of_95_per_cent_cover_93_to_97(name: str, record_property):
    share = 100 * float(np.mean(covering(name, 500)))
    record_property("figure", f"coverage of predictions, {name}: {share:.1f} %")

    assert 93 <= share <= 97


# ---- what the rows leave open


def test_two_sizes_say_nothing_of_a_third():
    table = PLANTED["chinchilla"].table(0.003, 1)
    sizes = np.unique(table["N"])[[1, 4]]
    two = {name: column[np.isin(table["N"], sizes)] for name, column in table.items()}
    fit = lawdsl.fit("chinchilla", two)
    band = fit.predict_with_errors({"N": [*sizes, 1e9], "D": [3e10] * 3}, discrepancy=0)

    assert np.all(band.high[:2] < 1.01 * band.values[:2]) and np.all(band.low[:2] > 0)
    assert (band.low[2], band.high[2]) == (0, np.inf)
    assert [d.message for d in band.warnings if d.code == "F0126"] == [
        "the rows that were fitted do not determine L at 1 of 3 points"
    ]


def test_of_raw_residuals_what_is_open_has_no_end_on_either_side():
    law = law_of("variable x, z\nparameter a, b\nL = a*x + b*z\nminimize squared(L)")
    x = np.linspace(1, 2, 9)
    fit = lawdsl.fit(law, {"x": x, "z": 2 * x, "L": x + np.sin(9 * x)})
    band = fit.predict_with_errors({"x": [1.0, 1.0], "z": [2.0, 1.0]}, discrepancy=0)

    assert np.isfinite([band.low[0], band.high[0]]).all()
    assert (band.low[1], band.high[1]) == (-np.inf, np.inf)


# ---- fits without


def refused(fit: Any, table: Any, **more: Any) -> list[lawdsl.Diagnostic]:
    with pytest.raises(LawdslError) as error:
        fit.predict_with_errors(table, **more, discrepancy=0)
    return list(error.value.diagnostics)


WITHOUT = {
    "it was made before": lambda: replace(lawdsl.fit(LINE, line(12)), spread=None),
    "no row is left": lambda: lawdsl.fit(LINE, line(2)),
    "of one training run": lambda: lawdsl.fit(LINE, line(9, run=["a"] * 9), run="run"),
    "c is chosen before the fit": lambda: lawdsl.fit(STEPS, steps(), claims=False),
}


@pytest.mark.parametrize("why", WITHOUT)
def test_a_fit_without_a_spread_says_why(why: str):
    fit = WITHOUT[why]()
    (diagnostic,) = refused(fit, {"x": [1.0], "r": [0.5]})

    assert fit.spread is None
    assert diagnostic.code == "F0125" and why in diagnostic.message and diagnostic.help


def test_of_more_parameters_than_are_kept_together_there_is_no_band(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("lawdsl.fitting.intervals.covariance.MAX_COVARIANCE_PARAMETERS", 1)
    monkeypatch.setattr("lawdsl.fitting.prediction_bands.MAX_COVARIANCE_PARAMETERS", 1)
    (diagnostic,) = refused(lawdsl.fit(LINE, line(12)), {"x": [1.0]})

    assert "it has more than 1 parameters" in diagnostic.message


@pytest.mark.parametrize("level", [0.0, 1.0, 95, "high", None])
def test_a_level_that_is_none_is_refused(level: Any):
    (diagnostic,) = refused(lawdsl.fit(LINE, line(12)), {"x": [1.0]}, level=level)

    assert diagnostic.code == "F0120"


# ---- fits in two steps


def test_of_a_fit_in_two_steps_the_bootstrap_repeats_both(tmp_path: Path):
    fit = lawdsl.fit(STEPS, steps(), claims=False, intervals="bootstrap", resamples=200)
    held = lawdsl.fit(STEPS, steps(), claims=False, fix={"c": fit.held["c"].value})
    fit.save(tmp_path / "fit.json")
    again, points = lawdsl.Fit.load(tmp_path / "fit.json"), {"r": [0.1, 0.5]}
    band = again.predict_with_errors(points, discrepancy=0)

    assert again == fit
    assert band.values == pytest.approx(fit.predict(points), rel=1e-12)
    assert np.all(band.low < band.values) and np.all(band.values < band.high)
    assert fit.spread is not None and fit.spread.names == ("c", "k", "t")
    errors = dict(zip(fit.spread.names, fit.spread.errors(np.eye(3)), strict=True))
    assert errors == pytest.approx(fit.intervals.errors, rel=0.25)
    assert errors["t"] > 2 * held.intervals.errors["t"]


@pytest.mark.parametrize("simulations", [12, pytest.param(150, marks=pytest.mark.slow)])
def test_bands_of_fits_in_two_steps_cover(simulations: int):
    points, hits = np.array([0.3, 0.5, 0.7]), np.zeros(3)
    truth = 2.6 + 0.4 * np.exp(-1.8 * points)
    for seed in range(simulations):
        fit = lawdsl.fit(
            STEPS, steps(seed=seed), claims=False, starts=2, intervals="bootstrap", resamples=100
        )
        band = fit.predict_with_errors({"r": points}, discrepancy=0)
        hits += (band.low < truth) & (truth < band.high)

    assert np.all(hits >= binom.ppf(1e-4, simulations, 0.95))


# ---- laws with index sets


def test_each_part_has_its_own_errors(tmp_path: Path):
    table = domains(10)
    fits = lawdsl.fit(APART, table)
    fits.save(tmp_path / "fits.json")
    again = lawdsl.load_fit(tmp_path / "fits.json")
    at = np.array([0.0, 0.5])
    band = again.predict_with_errors({"x": at}, discrepancy=0)

    assert again == fits
    assert band.values.shape == band.low.shape == band.high.shape == (2, 2)
    assert band.values == pytest.approx(fits.predict({"x": at}), rel=1e-12)
    for column, label in enumerate(fits.outputs):
        own = {name: table[name][table["domain"] == label] for name in ("x", "L")}
        values, half = of_mean(own, at, 0.95)
        assert band.low[:, column] == pytest.approx(values - half, rel=1e-8)
        assert band.high[:, column] == pytest.approx(values + half, rel=1e-8)


def test_each_row_has_the_band_of_its_label():
    fits = lawdsl.fit(APART, domains(10))
    every = fits.predict_with_errors({"x": [0.2, 0.9]}, level=0.8, discrepancy=0)
    rows = {"x": [0.9, 0.2], "domain": fits.outputs}
    band = fits.predict_with_errors(rows, level=0.8, discrepancy=0)

    assert band.low == pytest.approx([every.low[1, 0], every.low[0, 1]], rel=1e-12)
    assert band.high == pytest.approx([every.high[1, 0], every.high[0, 1]], rel=1e-12)


def test_what_labels_share_is_known_from_the_rows_of_all():
    table = domains(10)
    fits = lawdsl.fit(SHARED, table)
    rows = {"x": [0.5, 2.0], "domain": ["web", "code"]}
    band = fits.predict_with_errors(rows, discrepancy=0)
    labels = np.stack([table["domain"] == label for label in ("web", "code")], axis=1)
    design = np.column_stack([table["x"], labels])
    theta, (squares,), *_ = np.linalg.lstsq(design, table["L"])
    at = np.array([[0.5, 1.0, 0.0], [2.0, 0.0, 1.0]])
    covariance = squares / 17 * np.linalg.inv(design.T @ design)
    half = student.ppf(0.975, 17) * np.sqrt(np.einsum("ij,jk,ik->i", at, covariance, at))

    assert band.values == pytest.approx(at @ theta, rel=1e-7)
    assert band.high - band.values == pytest.approx(half, rel=1e-6)


def test_parts_without_a_spread_are_named_once():
    fits = lawdsl.fit(APART, domains(10))
    one, other = (replace(part, spread=None) for part in fits.parts)
    (both,) = refused(replace(fits, parts=(one, other)), {"x": [0.5]})
    (first,) = refused(replace(fits, parts=(one, fits.parts[1])), {"x": [0.5]})
    kept = replace(fits, parts=(one, fits.parts[1]))
    band = kept.predict_with_errors({"x": [0.5], "domain": [fits.outputs[1]]}, discrepancy=0)

    assert (both.code, both.place) == ("F0125", "all 2 labels")
    assert first.place == fits.outputs[0]
    assert np.isfinite(band.high).all()


# ---- the command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with fits of a line, of lines of two domains, and of two points alone."""
    folder = tmp_path_factory.mktemp("bands")
    lawdsl.fit(LINE, line(12)).save(folder / "line.json")
    lawdsl.fit(APART, domains(10)).save(folder / "apart.json")
    lawdsl.fit(LINE, line(2)).save(folder / "exact.json")
    (folder / "rows.csv").write_text("x,L\n0.25,1\n0.5,2\n")
    return folder


def predict(*arguments: Any) -> Result:
    """The command in this process: what it returns, or raises."""
    done = CliRunner().invoke(cli, ["predict", *map(str, arguments)])
    if isinstance(done.exception, LawdslError):
        raise done.exception
    return done


def test_values_have_their_ends_beside_them(folder: Path):
    band = lawdsl.load_fit(folder / "line.json").predict_with_errors(
        {"x": [0.25, 0.5]}, level=0.9, discrepancy=0
    )
    asked = (folder / "line.json", "x=0.25,0.5", "--intervals", "--wrong", "0", "--level", "0.9")
    made = json.loads(predict(*asked, "--json").stdout)["result"]

    assert made["columns"] == ["x", "L", "L low", "L high"]
    assert np.array(made["rows"])[:, 1:].T.tolist() == [
        *map(list, (band.values, band.low, band.high))
    ]
    assert made["predictions"] == band.values.tolist()
    assert made["intervals"] == {
        **{"level": 0.9, "discrepancy": 0.0, "widening": None},
        **{"low": band.low.tolist(), "high": band.high.tolist()},
    }
    assert predict(*asked).stdout.splitlines()[0].split() == ["x", "L", "90", "%", "interval"]


def test_without_them_there_is_the_law_alone(folder: Path):
    arguments = (folder / "line.json", "x=0.25", "--no-intervals", "--json")
    made = json.loads(predict(*arguments).stdout)["result"]

    assert made["columns"] == ["x", "L"] and made["intervals"] is None


def test_a_table_is_written_with_two_more_columns(folder: Path, tmp_path: Path):
    asked = (folder / "line.json", folder / "rows.csv", "--intervals", "--wrong", "0")
    predict(*asked, "-o", tmp_path / "out.csv")
    first, *rows = csv.reader((tmp_path / "out.csv").read_text().splitlines())

    assert first == ["x", "L", "L predicted", "L low", "L high"]
    assert all(float(low) < float(value) < float(high) for _, _, value, low, high in rows)


def test_each_label_has_its_ends(folder: Path):
    names = lawdsl.load_fit(folder / "apart.json").outputs
    made = json.loads(
        predict(folder / "apart.json", "x=0.25,0.5", "--intervals", "--wrong", "0", "--json").stdout
    )
    shown = predict(
        folder / "apart.json", "x=0.25", "--intervals", "--wrong", "0"
    ).stdout.splitlines()
    of_labels = [f"L[{name}]{end}" for name in names for end in ("", " low", " high")]

    assert made["result"]["columns"] == ["x", *of_labels]
    assert np.shape(made["result"]["intervals"]["low"]) == (2, 2)
    assert shown[0].split() == ["domain", "L", "95", "%", "interval"]
    assert [line.split()[0] for line in shown[2:4]] == names


def test_an_end_that_is_infinite_is_null_in_a_document(tmp_path: Path):
    law = law_of("variable x, z\nparameter a, b\nL = a*x + b*z\nminimize squared(L)")
    x = np.linspace(1, 2, 9)
    lawdsl.fit(law, {"x": x, "z": 2 * x, "L": x + np.sin(9 * x)}).save(tmp_path / "fit.json")
    done = predict(tmp_path / "fit.json", "x=1", "z=1", "--intervals", "--wrong", "0", "--json")
    made = json.loads(done.stdout)

    assert made["result"]["intervals"] == {
        "level": 0.95,
        "discrepancy": 0.0,
        "widening": None,
        "low": [None],
        "high": [None],
    }
    assert "F0126" in [d["code"] for d in made["diagnostics"]]
    assert (
        "-inf" in predict(tmp_path / "fit.json", "x=1", "z=1", "--intervals", "--wrong", "0").stdout
    )


def test_where_there_are_none_no_numbers_are_printed(folder: Path):
    with pytest.raises(LawdslError) as error:
        predict(folder / "exact.json", "x=0.25", "--intervals", "--wrong", "0")

    assert [d.code for d in error.value.diagnostics] == ["F0125"]
    assert predict(folder / "exact.json", "x=0.25").exit_code == 0


# ---- what a user may rely on


def test_the_methods_are_there_and_say_what_they_do():
    for kind in (lawdsl.Fit, lawdsl.Fits):
        assert "interval" in (kind.predict_with_errors.__doc__ or "")
