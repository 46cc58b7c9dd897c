"""Figures of fits: what they draw agrees with what is computed without them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import law_of

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.figures.contours import level_lines, rectangle
from lawdsl.figures.figure import Figure
from lawdsl.figures.kinds.residuals import level_means
from lawdsl.fitting.result import Fit

ROOT = Path(lawdsl.__file__).resolve().parent.parent
TABLES = ROOT / "laws" / "data"

POWER = """
variable  D > 0  unit token  "tokens"
variable  r in [0, 1]        "share"

parameter E, B, beta > 0

L = E + B/D^beta  unit nat/token  "loss"

require  L > E
"""
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def layers_with(figure: Figure, field: str) -> list[list[dict[str, Any]]]:
    """The tables of a figure that have a column, as its file contains them."""
    tables = figure.chart.to_dict()["datasets"].values()
    return [rows for rows in tables if rows and field in rows[0]]


def planted(
    seed: int, noise: float, shift: Callable[[Any, Any], Any] | None = None
) -> dict[str, Any]:
    """Runs of a power law, in an order of no meaning, with noise and a shift in the logarithm."""
    rng = np.random.default_rng(seed)
    D = 10 ** rng.uniform(8, 11, 120)
    r = rng.uniform(0.05, 1, 120)
    logs = rng.normal(0, noise, 120) + (0 if shift is None else shift(D, r))
    return {"D": D, "r": r, "L": (2 + 400 / D**0.3) * np.exp(logs)}


def fit_of(table: dict[str, Any], objective: str = "squared(log)", text: str = POWER) -> Fit:
    made = lawdsl.fit(
        law_of(text, "power"),
        table,
        objective=objective,
        starts=4,
        claims=False,
        rolled_check=False,
    )
    assert isinstance(made, Fit)
    return made


def test_residuals_are_on_the_scale_of_the_objective():
    table = planted(0, 0.002)
    logs, raw = fit_of(table), fit_of(table, "squared(raw)")
    for fit, expected in (
        (logs, lambda y, p: 100 * np.log(y / p)),
        (raw, lambda y, p: y - p),
    ):
        drawn = fit.plot("residuals", data=table)
        predicted = fit.predict({"D": drawn.columns["D"], "r": drawn.columns["r"]})
        assert drawn.columns["residual"] == pytest.approx(
            expected(np.array(drawn.columns["L"]), predicted), abs=1e-9
        )


def test_noise_alone_has_no_pattern():
    table = planted(1, 0.002)
    figure = fit_of(table).plot("residuals", data=table)
    assert figure.title.startswith("power: no pattern found in the residuals of 120 rows")
    size = float(NUMBER.findall(figure.title)[-1])
    assert size == pytest.approx(np.sqrt(np.mean(np.square(figure.columns["residual"]))), rel=0.05)


def test_a_pattern_along_a_variable_is_drawn_as_its_curve():
    table = planted(2, 0.001, lambda D, r: 0.03 * (r - 0.5) ** 2)
    figure = fit_of(table).plot("residuals", data=table)
    assert "the residuals follow r" in figure.title
    (curve,) = [rows for rows in layers_with(figure, "mean") if "r" in rows[0]]
    r, mean = (np.array([row[name] for row in curve]) for name in ("r", "mean"))
    planted_mean = 100 * (0.03 * (r - 0.5) ** 2)
    # the constant of the law takes the mean of the bend
    difference = mean - planted_mean
    assert np.ptp(difference) < 0.15 * np.ptp(planted_mean)


def test_a_pattern_in_two_variables_has_the_means_that_the_finding_says():
    table = planted(3, 0.001, lambda D, r: 0.01 * (np.log10(D) - 9.5) * (r - 0.5))
    fit = fit_of(table)
    (finding,) = [d for d in fit.diagnostics if d.code == "F0116"]
    assert "D and r together" in finding.message
    figure = fit.plot("residuals", data=table)
    (corners,) = [rows for rows in layers_with(figure, "mean") if len(rows[0]) == 3]
    said = sorted(map(float, re.findall(r"([-+][\d.e-]+) %", finding.message)))
    # 100·(exp(x/100) - 1) of what is drawn, both to two digits
    assert sorted(float(row["mean"].split()[0]) for row in corners) == pytest.approx(
        said, abs=0.011
    )
    assert finding.message in figure.description


def test_unequal_scatter_has_a_border_with_the_deviation_on_each_side():
    rng = np.random.default_rng(4)
    table = planted(4, 0.0)
    large = table["D"] > np.median(table["D"])
    table["L"] = table["L"] * np.exp(rng.normal(0, 1, 120) * np.where(large, 0.008, 0.001))
    figure = fit_of(table).plot("residuals", data=table)
    (ratio,) = map(float, re.findall(r"scatter ([\d.]+) times", figure.title))
    texts = [row["text"] for rows in layers_with(figure, "text") for row in rows]
    below, above = sorted(float(NUMBER.findall(text)[0]) for text in texts)
    assert (below, above) == pytest.approx((0.1, 0.8), rel=0.35)
    assert ratio == pytest.approx(above / below, rel=0.1)


def test_the_order_of_rows_is_that_of_the_table():
    table = planted(5, 0.002)
    figure = fit_of(table).plot("residuals", data=table)
    rows = np.array(figure.columns["row"]) - min(figure.columns["row"])
    assert np.array(figure.columns["D"]) == pytest.approx(table["D"][rows])
    without = fit_of(table).plot("residuals")
    assert "row" not in without.columns
    assert any("--data" in note for note in without.notes)


def test_rows_far_from_the_law_are_marked_and_do_not_press_the_others_flat():
    table = planted(6, 0.002)
    table["L"][17] *= 1.3
    figure = fit_of(table).plot("residuals", data=table)
    marked = np.flatnonzero(figure.columns["far"])
    assert [figure.columns["D"][i] for i in marked] == pytest.approx([table["D"][17]])
    assert figure.columns["beyond"][marked[0]]
    assert max(np.abs(figure.columns["drawn"])) < 5


def test_the_distance_in_the_title_is_the_median_of_all_rows():
    rng = np.random.default_rng(9)
    D = 10 ** rng.uniform(8, 11, 6_000)
    table = {"D": D, "r": rng.uniform(0.05, 1, 6_000)}
    # few rows far out, all of which are drawn
    noise = np.where(np.arange(6_000) < 40, 0.2, 0.002) * rng.normal(0, 1, 6_000)
    table["L"] = (2 + 400 / D**0.3) * np.exp(noise)
    fit = fit_of(table)
    every = fit.plot("fit", data=table)
    fitted = fit.predict({"D": D, "r": table["r"]})
    median = 100 * np.median(np.abs(table["L"] / fitted - 1))
    assert f"off by {median:.2g} % in the median" in every.title
    assert len(every.columns["D"]) <= 2_000
    kept = fit.plot("fit")
    assert "in the median of 256" in kept.title


def test_another_table_is_called_another_table_and_has_its_own_numbers(tmp_path: Path):
    table = planted(10, 0.002)
    fit = fit_of(table)
    assert "fitted to" not in fit.plot(data=table).title
    other = planted(11, 0.03, lambda D, r: 0.2 * r)
    lines = [f"{D},{r},{L}" for D, r, L in zip(*(other[n] for n in ("D", "r", "L")), strict=True)]
    path = tmp_path / "other.csv"
    path.write_text("\n".join(["D,r,L", *lines]) + "\n")
    figure = fit.plot(data=path)
    ratio = other["L"] / fit.predict({"D": other["D"], "r": other["r"]})
    assert "fitted to the values given, and 120 rows of other.csv" in figure.title
    assert f"off by {100 * np.median(np.abs(ratio - 1)):.2g} %" in figure.title
    (r2,) = map(float, re.findall(r"R² (-?[\d.]+)", figure.title))
    fitted = other["L"] / ratio
    squares = [np.sum((other["L"] - at) ** 2) for at in (fitted, np.mean(other["L"]))]
    assert r2 == pytest.approx(1 - squares[0] / squares[1], abs=1e-4)
    assert "other.csv is not the one that was fitted" in figure.notes
    assert "power on other.csv" in fit.plot("residuals", data=path).title
    with pytest.raises(LawdslError) as caught:
        fit.plot("profile", data=path)
    assert caught.value.diagnostics[0].code == "G0108"


def test_runs_of_another_table_test_the_prediction(small: Fit):
    table = {"N": [2e5, 4e5, 8e5], "D": [4e5, 8e5, 1.6e6], "L": [3.0, 2.8, 2.6]}
    columns = {"L_code": table["L"], "N": table["N"], "D": table["D"]}
    other = {**columns, "phase": ["end"] * 3, "r_code": [1.0] * 3}
    figure = small.plot("extrapolation", data=other)
    band = small.predict_with_errors({"N": table["N"], "D": table["D"]}, N="N", D="D")
    median = 100 * np.median(np.abs(np.array(table["L"]) / band.values - 1))
    assert f"3 rows of another table missed by {median:.2g} % in the median" in figure.title


def test_a_landscape_does_not_warn_of_its_own_grid(small: Fit):
    # warnings are errors in these tests; the grid goes beyond the trust horizon
    figure = small.plot("landscape")
    assert max(
        row["N"] for rows in layers_with(figure, "level") for row in rows if "N" in row
    ) > max(small.rows.columns["N"])


def test_means_along_an_axis_are_those_of_ranges_of_equal_counts():
    rng = np.random.default_rng(12)
    values = rng.permutation(np.arange(40_000.0))
    at, mean = level_means(values, 3 * values)
    assert at == pytest.approx([2_499.5 + 5_000 * k for k in range(8)])
    assert mean == pytest.approx([3 * x for x in at])
    few = rng.choice([1.0, 2.0, 5.0], 40_000)
    assert level_means(few, 3 * few) == ([1.0, 2.0, 5.0], pytest.approx([3.0, 6.0, 15.0]))


def test_a_table_too_short_to_test_says_so():
    fit = fit_of({"D": [1e8, 1e9, 1e10], "r": [0.1, 0.2, 0.3], "L": [4.0, 3.0, 2.5]})
    assert "too few" in fit.plot("residuals").title


@pytest.fixture(scope="module")
def small() -> Fit:
    """Chinchilla on the smaller runs on code, for which the larger ones of the table are held out."""
    made = lawdsl.fit(
        "chinchilla",
        TABLES / "code_and_english.csv",
        where=("phase = end", "N < 6e5", "r_code = 1"),
        L="L_code",
        starts=6,
        claims=False,
    )
    assert isinstance(made, Fit)
    return made


def test_the_curve_is_the_prediction_and_reaches_each_tolerance_at_its_rule(small: Fit):
    columns = {k: np.array(v) for k, v in small.plot("extrapolation").columns.items()}
    assert small.extrapolation is not None and small.extrapolation.rms_z < 1.5
    band = small.predict_with_errors({"N": columns["N"], "D": columns["D"]}, N="N", D="D")
    assert columns["prediction"] == pytest.approx(band.values)
    assert columns["law"] == pytest.approx(band.law)
    assert columns["low"] == pytest.approx(band.low)
    assert columns["high"] == pytest.approx(band.high)
    assert np.all(columns["noise_low"] >= columns["low"])
    assert columns["C"] == pytest.approx(6 * columns["N"] * columns["D"])
    half = np.log(columns["high"] / columns["prediction"])
    for reach in small.horizon.path:
        at = np.interp(np.log(reach.times * small.horizon.largest), np.log(columns["C"]), half)
        assert at == pytest.approx(np.log1p(reach.within), rel=0.02)


def test_a_compute_optimal_path_is_where_the_law_has_its_optimum():
    rng = np.random.default_rng(7)
    N, D = 10 ** rng.uniform(7.5, 9.5, 80), 10 ** rng.uniform(9, 11, 80)
    table = {"N": N, "D": D}
    table["L"] = (1.8 + 480 / N**0.35 + 2100 / D**0.37) * np.exp(rng.normal(0, 0.001, 80))
    fit = lawdsl.fit("chinchilla", table, starts=4, claims=False)
    assert isinstance(fit, Fit)
    columns = {k: np.array(v) for k, v in fit.plot("extrapolation").columns.items()}
    v = fit.values
    # Hoffmann et al. 2022, arXiv:2203.15556, Eq. 4
    G = (v["alpha"] * v["A"] / v["beta"] / v["B"]) ** (1 / (v["alpha"] + v["beta"]))
    optimum = G * (columns["C"] / 6) ** (v["beta"] / (v["alpha"] + v["beta"]))
    assert np.log10(columns["N"]) == pytest.approx(np.log10(optimum), abs=0.013)


def test_held_out_larger_runs_test_the_prediction(small: Fit):
    data = TABLES / "code_and_english.csv"
    figure = small.plot("extrapolation", data=data)
    (points,) = layers_with(figure, "off")
    held_out = [row for row in points if not row["fitted"]]
    fitted = [row for row in points if row["fitted"]]
    assert len(fitted) == small.data.rows
    assert held_out and min(row["N"] for row in held_out) > 6e5
    assert min(row["C"] for row in held_out) > small.horizon.largest
    table = {name: [row[name] for row in held_out] for name in ("N", "D")}
    band = small.predict_with_errors(table, N="N", D="D")
    off = 100 * (np.array([row["measured"] for row in held_out]) / band.values - 1)
    assert [row["off"] for row in held_out] == pytest.approx(off)
    said = float(re.findall(r"missed by ([\d.]+) %", figure.title)[0])
    assert said == pytest.approx(float(np.median(np.abs(off))), abs=0.006)
    # conditions that hold no larger run out, as `r_code = 1`, hold for them too
    everything = lawdsl.fit(
        "chinchilla", data, where=("phase = end", "r_code = 1"), L="L_code", starts=2, claims=False
    )
    assert {row["measured"] for row in held_out} <= set(everything.rows.target)


def test_how_far_it_is_drawn_can_be_chosen(small: Fit):
    largest = small.horizon.largest
    assert max(small.plot("extrapolation", times=100).columns["C"]) == pytest.approx(100 * largest)


def test_a_fit_without_a_horizon_has_no_extrapolation():
    table = planted(8, 0.002)
    with pytest.raises(lawdsl.LawdslError) as caught:
        fit_of(table).plot("extrapolation")
    assert caught.value.diagnostics[0].code == "G0106"


def mixtures(labels: int) -> dict[str, Any]:
    """Losses on some labels of mixtures of two domains, the later ones with more noise."""
    rng = np.random.default_rng(9)
    a = rng.uniform(0, 1, 30)
    table: dict[str, Any] = {"r_a": a, "r_b": 1 - a}
    for i in range(labels):
        noise = rng.normal(0, 0.001 * (1 + i), 30)
        table[f"L_v{i}"] = (2 + 0.1 * i + 0.5 * np.exp(-(1 + 0.1 * i) * a)) * np.exp(noise)
    return table


@pytest.mark.parametrize("labels", [3, 9])
def test_each_label_has_its_rows_against_what_the_law_says_of_them(labels: int):
    table = mixtures(labels)
    fits = lawdsl.fit(
        "mixing.m4",
        table,
        r="r_*",
        L="L_*",
        starts=2,
        claims=False,
        rolled_check=False,
        intervals="delta",
    )
    assert isinstance(fits, lawdsl.Fits)
    for data in (None, table):
        figure = fits.plot(data=data) if data is not None else fits.plot()
        predicted = fits.predict(table)
        columns = {k: np.array(v) for k, v in figure.columns.items()}
        for i, label in enumerate(fits.outputs):
            chosen = columns["label"] == label
            order = np.argsort(columns["L"][chosen])
            expected = np.argsort(table[f"L_{label}"])
            assert columns["L"][chosen][order] == pytest.approx(table[f"L_{label}"][expected])
            assert columns["fitted"][chosen][order] == pytest.approx(predicted[expected, i])
    off = {
        label: 100 * np.max(np.abs(table[f"L_{label}"] / predicted[:, i] - 1))
        for i, label in enumerate(fits.outputs)
    }
    worst = max(off, key=lambda label: off[label])
    assert f"by {off[worst]:.2g} % at most, on {worst}" in figure.title
    # labels beyond those that colours tell apart have a panel each
    panels = figure.chart.to_dict().get("concat", [])
    assert len(panels) == (labels if labels > 7 else 0)


def test_labels_that_share_their_parameters_are_told_apart():
    rng = np.random.default_rng(10)
    D = np.tile(10 ** rng.uniform(0, 2, 20), 2)
    domain = np.repeat(["code", "law"], 20)
    L = np.where(domain == "law", 2.5, 2.0) + 1.5 / D**0.4
    law = law_of(
        """
index     d over domain
variable  D > 0  "tokens"
parameter E[d] > 0
parameter B, beta > 0
L[d] = E[d] + B/D^beta  "loss"
""",
        "shared",
    )
    table = {"D": D, "domain": domain, "L": L * np.exp(rng.normal(0, 0.001, 40))}
    fits = lawdsl.fit(law, table, starts=4, claims=False)
    assert isinstance(fits, lawdsl.Fits)
    columns = fits.plot().columns
    said = {
        (label, round(value, 9))
        for label, value in zip(columns["label"], columns["L"], strict=True)
    }
    assert said == {(d, round(value, 9)) for d, value in zip(domain, table["L"], strict=True)}


def test_lines_of_equal_value_are_where_the_value_is():
    mesh = rectangle(np.linspace(-2, 2, 61), np.linspace(-2, 2, 61))
    lines = level_lines(mesh, mesh.x**2 + mesh.y**2, [1.0, 2.25, 6.0])
    for line in lines:
        assert np.hypot(line.x, line.y) == pytest.approx(np.sqrt(line.level), abs=2e-3)
    closed = [line for line in lines if line.level < 4]
    assert len(closed) == 2  # circles; the third leaves the square at its corners
    assert all((line.x[0], line.y[0]) == (line.x[-1], line.y[-1]) for line in closed)
    length = sum(np.hypot(np.diff(closed[0].x), np.diff(closed[0].y)))
    assert length == pytest.approx(2 * np.pi, rel=1e-2)
    assert len([line for line in lines if line.level == 6.0]) == 4


def test_a_landscape_has_the_law_at_its_lines_and_the_optimum_on_its_path():
    rng = np.random.default_rng(11)
    N, D = 10 ** rng.uniform(7.5, 9.5, 80), 10 ** rng.uniform(9, 11, 80)
    table = {"N": N, "D": D}
    table["L"] = (1.8 + 480 / N**0.35 + 2100 / D**0.37) * np.exp(rng.normal(0, 0.001, 80))
    fit = lawdsl.fit("chinchilla", table, starts=4, claims=False, rolled_check=False)
    assert isinstance(fit, Fit)
    figure = fit.plot("landscape")
    (lines,) = layers_with(figure, "line")
    there = {name: [row[name] for row in lines] for name in ("N", "D")}
    assert fit.predict(there, N="N", D="D") == pytest.approx(
        [row["level"] for row in lines], rel=1e-3
    )
    (path,) = layers_with(figure, "C")
    v = fit.values
    G = (v["alpha"] * v["A"] / v["beta"] / v["B"]) ** (1 / (v["alpha"] + v["beta"]))
    C = np.array([row["C"] for row in path])
    optimum = G * (C / 6) ** (v["beta"] / (v["alpha"] + v["beta"]))
    assert np.log10([row["N"] for row in path]) == pytest.approx(np.log10(optimum), abs=1e-3)
    said = float(re.findall(r"N grows as C\^([\d.]+)", figure.title)[0])
    assert said == pytest.approx(v["beta"] / (v["alpha"] + v["beta"]), abs=0.006)
    (compute,) = [rows for rows in layers_with(figure, "compute") if len(rows) > 20]
    assert [6 * row["N"] * row["D"] for row in compute] == pytest.approx(
        [float(row["compute"]) for row in compute]
    )


def test_the_axes_of_a_landscape_can_be_chosen():
    table = planted(12, 0.001)
    figure = fit_of(table).plot("landscape", x="r", y="D")
    (lines,) = layers_with(figure, "line")
    assert max(row["r"] for row in lines) <= 1.0
    with pytest.raises(lawdsl.LawdslError) as caught:
        fit_of(table).plot("landscape", x="D", y="D")
    assert caught.value.diagnostics[0].code == "G0104"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("fit", "group"),
        ("fit", "far"),
        ("residuals", "row"),
        ("residuals", "beyond"),
        ("landscape", "fitted"),
        ("landscape", "level"),
    ],
)
def test_a_variable_with_the_name_of_a_column_of_the_figure_is_not_overwritten(
    kind: str, name: str
):
    table = planted(0, 0.001)
    text = POWER.replace("variable  D", f"variable  {name}").replace("/D^", f"/{name}^")
    fit = fit_of({name: table["D"], "r": table["r"], "L": table["L"]}, text=text)
    with pytest.raises(LawdslError) as caught:
        fit.plot(kind)
    (found,) = caught.value.diagnostics
    assert found.code == "G0107" and name in found.message


def test_an_output_with_the_name_of_a_column_of_the_figure_is_not_overwritten():
    table = planted(0, 0.001)
    fit = fit_of({**table, "residual": table["L"]}, text=POWER.replace("L", "residual"))
    with pytest.raises(LawdslError) as caught:
        fit.plot("fit")
    assert caught.value.diagnostics[0].code == "G0107"


def test_a_variable_with_the_name_of_a_column_of_another_figure_is_drawn():
    table = planted(0, 0.001)
    text = POWER.replace("variable  D", "variable  order").replace("/D^", "/order^")
    fit = fit_of({"order": table["D"], "r": table["r"], "L": table["L"]}, text=text)
    assert fit.plot("fit").columns["order"] == pytest.approx(list(fit.rows.columns["order"]))
