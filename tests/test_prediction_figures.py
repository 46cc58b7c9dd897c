"""Figures of predictions: they draw what is predicted, along what varies, with its intervals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.figures.draw import draw
from lawdsl.fitting.predicted_points import PredictedPoints
from lawdsl.fitting.prediction_bands import BAND_ARRAYS
from lawdsl.fitting.result import Fit

N = np.repeat(np.geomspace(1e7, 1e9, 5), 5)
D = np.tile(np.geomspace(1e9, 1e11, 5), 5)


@pytest.fixture(scope="module")
def fit() -> Fit:
    rng = np.random.default_rng(0)
    loss = (1.7 + 400 / N**0.34 + 1000 / D**0.3) * np.exp(1e-3 * rng.standard_normal(25))
    made = lawdsl.fit("chinchilla", {"N": N, "D": D, "L": loss}, starts=4, claims=False)
    assert isinstance(made, Fit)
    return made


def points(cells: dict[str, list[float]], arrays: np.ndarray, **more: object) -> PredictedPoints:
    rows = list(zip(*cells.values(), strict=True))
    return PredictedPoints(list(cells), rows, "L", "", (), arrays, 0.95, **more)


def test_a_band_is_drawn_along_the_variable_with_the_most_values(fit: Fit):
    at = {"N": np.repeat([1e8, 1e9], 4), "D": np.tile([4e9, 1e9, 1e10, 1e11], 2)}
    band = fit.predict_with_errors(at)
    columns = band.plot().columns
    assert set(columns["group"]) == {"N = 1e+08", "N = 1e+09"}
    assert columns["D"] == sorted(at["D"])
    drawn = dict(zip(zip(columns["N"], columns["D"], strict=True), columns["value"], strict=True))
    given = zip(at["N"], at["D"], band.values, strict=True)
    assert drawn == {(n, d): value for n, d, value in given}
    law_errors = sorted(columns["law_error"])
    assert law_errors == pytest.approx(sorted(band.parts.law))


def test_the_axis_and_the_groups_can_be_chosen(fit: Fit):
    at = {"N": np.repeat([1e8, 1e9], 4), "D": np.tile([4e9, 1e9, 1e10, 1e11], 2)}
    columns = fit.predict_with_errors(at).plot(x="N", color="D").columns
    assert len(set(columns["group"])) == 4 and columns["N"] == sorted(at["N"])
    for options in ({"x": "q"}, {"color": "q"}):
        with pytest.raises(LawdslError, match="the points have no 'q'"):
            fit.predict_with_errors(at).plot(**options)
    with pytest.raises(LawdslError, match="N does not vary"):
        fit.predict_with_errors({"N": [1e8], "D": [1e9]}).plot(x="N")


def test_the_title_says_the_value_or_where_it_goes(fit: Fit):
    one = fit.predict_with_errors({"N": [1e8], "D": [1e10]})
    assert f"= {one.values[0]:.4g}, 95 % interval {one.low[0]:.4g} to" in one.plot().title
    more = fit.predict_with_errors({"N": [1e8, 1e8], "D": [1e11, 1e9]})
    ends = f"falls from {more.values[1]:.4g} to {more.values[0]:.4g}"
    assert f"{ends} while D goes from 1B to 100B" in more.plot().title


def test_the_title_does_not_say_which_way_an_output_goes_within_its_intervals(fit: Fit):
    band = fit.predict_with_errors({"N": [1e11, 1e12], "D": [1e11, 1e11]})
    assert band.low[0] < band.values[1] < band.high[0]
    assert "falls" not in band.plot().title and "rises" not in band.plot().title
    ends = (
        f"= {band.values[1]:.4g}, 95 % interval {band.low[1]:.4g} to {band.high[1]:.4g}, at N = 1T"
    )
    assert ends in band.plot().title


def test_a_variable_that_follows_from_another_makes_no_groups():
    r = [0.1, 0.2, 0.3]
    drawn = points({"r[a]": r, "r[b]": [1 - x for x in r]}, np.array([[3.0], [2.9], [2.8]])).plot()
    assert set(drawn.columns["group"]) == {""} and drawn.columns["r[a]"] == r


def test_points_of_many_groups_are_not_joined_and_that_is_said():
    rng = np.random.default_rng(0)
    cells = {name: rng.uniform(size=30).tolist() for name in ("x", "y")}
    drawn = points(cells, rng.uniform(2, 3, (30, 1))).plot()
    assert drawn.notes == ("points are not joined: they differ in more than x",)
    marks = json.dumps(drawn.chart.to_dict())
    assert '"line"' not in marks and '"point"' in marks


def test_ends_that_are_infinite_are_left_out():
    arrays = np.array([[3.0, -np.inf, np.inf], [2.9, 2.8, 3.0]])
    drawn = points({"x": [1.0, 2.0]}, arrays).plot()
    assert drawn.columns["high"] == [np.inf, 3.0]
    assert "Infinity" not in drawn.encoded("json").decode()


def test_the_shares_of_the_parts_add_up_where_nothing_varies():
    parts = [0.3, 0.0, 0.4]
    arrays = np.array([[[3.0, 2.5, 3.5, 3.1, 2.4, 3.6, *parts]] * 2])
    assert arrays.shape[-1] == len(BAND_ARRAYS)
    drawn = PredictedPoints(["x"], [(1.0,)], "L", "over", ("a", "b"), arrays, 0.95).plot()
    tables = drawn.chart.to_dict()["datasets"].values()
    shares = [row for table in tables for row in table if "part" in row]
    assert [(row["row"], row["part"]) for row in shares[:2]] == [("a", "noise"), ("a", "law")]
    assert shares[0]["to"] == pytest.approx(0.36) and shares[1]["to"] == pytest.approx(1.0)


def test_the_commands_draw_predictions_and_fits(fit: Fit, tmp_path: Path):
    fit.save(tmp_path / "fit.json")
    lines = ["run,N,D", *(f"a,1e8,{d}" for d in (1e9, 1e10, 1e11))]
    (tmp_path / "ask.csv").write_text("\n".join(lines), encoding="utf-8")
    for inputs in (["N=1e8", "D=1e9,1e10"], ["ask.csv"]):
        done = run("predict", "fit.json", *inputs, "--plot", "p.svg", "--json", cwd=tmp_path)
        assert json.loads(done.stdout)["plot"] == "p.svg", done.stderr
        assert "while D goes from" in (tmp_path / "p.svg").read_text(encoding="utf-8")
    rows = [f"{n},{d},{x}" for n, d, x in zip(N, D, fit.rows.target, strict=True)]
    (tmp_path / "runs.csv").write_text("\n".join(["N,D,L", *rows]), encoding="utf-8")
    run("fit", "chinchilla", "runs.csv", "--starts", "2", "--plot", "f.svg", cwd=tmp_path)
    assert "chinchilla and 25 rows" in (tmp_path / "f.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([3.0, 2.0, 1.0, 2.0, 2.9], "L is between 1 and 3 while"),
        ([3.0, 2.0, 1.5, 1.5, 1.0], "L falls from 3 to 1 while"),
        ([np.nan] * 5, "L has no value at any of 5 points"),
    ],
)
def test_titles_say_which_way_only_where_it_is_one_way(values: list[float], said: str):
    cells = [(float(k),) for k in range(1, 6)]
    points = PredictedPoints(["N"], cells, "L", "", (), np.array(values)[:, None], 0.95)
    figure = draw(points)
    assert said in figure.title and figure.encoded("svg")
