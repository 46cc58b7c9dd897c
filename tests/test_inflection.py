"""The share below which the loss rises with the tokens: its estimate, its interval, and the warning."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted import PLANTED, grid, law_of

import lawdsl
from lawdsl.data.binding import bind
from lawdsl.data.read import read_table
from lawdsl.data.trends.paired_differences import GridValues, distinct_codes
from lawdsl.data.trends.result import Inflection
from lawdsl.data.trends.slopes import slopes
from lawdsl.data.trends.zero_crossing import CriticalErrors, crossing
from lawdsl.fitting import fit_task
from lawdsl.fitting.result import Fit
from lawdsl.reporting.terminal import console, show_fit
from lawdsl.reporting.trends import show_trends

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "laws" / "data" / "code_and_english.csv"
Columns = dict[str, np.ndarray]

HEAD = "variable N, D > 0\nvariable r in [0, 1]\nparameter E > 0\nL = E\n"
FALLS = law_of(HEAD + "require ∂L/∂D < 0\n")
SHARES = (0.0, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 1.0)
ENDS = ["phase = end", "step >= 400"]
GENERAL: dict[str, Any] = {"where": ENDS, "L": "L_general", "r": "r_general"}
CODE: dict[str, Any] = {"where": ENDS, "L": "L_code", "r": "r_code"}


def straight(r: Any) -> Any:
    return -0.3 * np.asarray(r)


def bent(r: Any) -> Any:
    return 0.1 * np.exp(-np.asarray(r) / 0.05)


def simulated(
    truth: float | Sequence[float],
    noise: float,
    seed: int,
    *,
    shape: Callable[[Any], Any] = straight,
    runs: float = 0.0,
    seeds: int = 1,
) -> Columns:
    """Curves whose slope along log D is 0 at a share, one for each N; `runs` is its spread."""
    rng = np.random.default_rng(seed)
    truths = np.atleast_1d(truth)
    axes = {"N": 1.0 + np.arange(len(truths)), "r": list(SHARES), "seed": np.arange(seeds)}
    table = grid(D=np.geomspace(1, 30, 12), **axes)
    zero = truths[(table["N"] - 1).astype(int)]
    names = np.stack([table["N"], table["r"], table["seed"]])
    run = np.unique(names, axis=1, return_inverse=True)[1].reshape(-1)
    slope = shape(table["r"]) - shape(zero) + runs * rng.normal(size=run.max() + 1)[run]
    exact = 3 + slope * np.log(table["D"]) + 0.02 * rng.normal(size=run.max() + 1)[run]
    return {**table, "L": exact + noise * rng.normal(size=len(run))}


def of(table: Any, law: Any = FALLS, **options: Any) -> Inflection | None:
    found = lawdsl.trends(law, table, **options).trends
    return next((trend.inflection for trend in found if trend.inflection is not None), None)


def estimate_and_ends(found: Inflection | None) -> tuple[float, float, float]:
    assert found is not None
    assert found.estimate is not None and found.low is not None and found.high is not None
    return found.estimate, found.low, found.high


# ---- the estimate


@pytest.mark.parametrize("truth", [0.07, 0.13, 0.27, 0.6])
def test_a_planted_ratio_is_found(truth: float):
    estimate, low, high = estimate_and_ends(of(simulated(truth, 0.001, 0)))

    assert estimate == pytest.approx(truth, abs=0.002)
    assert low < truth < high and high - low < 0.01


def test_the_largest_of_all_models_is_taken_and_each_is_told():
    found = of(simulated([0.12, 0.27, 0.15], 0.002, 0))
    assert found is not None
    estimates = [place.estimate for place in found.places]

    assert estimates == pytest.approx([0.12, 0.27, 0.15], abs=0.01)
    assert [place.at for place in found.places] == ["N = 1", "N = 2", "N = 3"]
    assert estimate_and_ends(found)[0] == estimates[1]
    assert (found.share, found.of, found.by, found.rises) == ("r", "L", "D", True)
    assert found.trend == "L rises with D" and found.noise == "scatter"


def test_what_differs_besides_is_told_apart():
    first, second = simulated(0.12, 0.002, 0), simulated(0.27, 0.002, 1)
    table: dict[str, Any] = {name: np.concatenate([first[name], second[name]]) for name in first}
    table["schedule"] = ["cosine"] * len(first["r"]) + ["wsd"] * len(first["r"])
    found = of(table, by="schedule")

    assert found is not None
    assert [p.at for p in found.places] == ["N = 1, schedule = cosine", "N = 1, schedule = wsd"]
    assert [p.estimate for p in found.places] == pytest.approx([0.12, 0.27], abs=0.01)


def test_a_claim_that_it_rises_fails_where_it_falls():
    table = simulated(0.13, 0.001, 0)
    found = of({**table, "L": 9 - table["L"]}, law_of(HEAD + "require L increasing in D\n"))

    assert estimate_and_ends(found)[0] == pytest.approx(0.13, abs=0.002)
    assert found is not None and found.trend == "L falls with D"


def test_a_curve_that_falls_first_and_rises_for_good_counts_as_rising():
    """And one that rises at first and then falls further does not."""
    table = simulated(0.13, 0.001, 0)
    dip = -0.05 * np.sin(np.pi * np.log(table["D"]) / math.log(30))
    for bump in (dip, -dip):
        assert estimate_and_ends(of({**table, "L": table["L"] + bump}))[0] == pytest.approx(
            0.13, abs=0.01
        )


def test_step_0_has_no_logarithm_and_is_left_out():
    law = law_of(HEAD.replace("N, D > 0", "N > 0\nvariable D >= 0") + "require ∂L/∂D < 0\n")
    table = simulated(0.13, 0.001, 0)
    start = grid(D=[0.0], N=[1.0], r=list(SHARES), seed=[0]) | {"L": np.full(len(SHARES), 9.0)}
    both = {name: np.concatenate([start[name], table[name]]) for name in table}

    assert of(both, law) == of(table, law)


@pytest.mark.parametrize("points", [3, 4, 5, 6, 12])
def test_slopes_are_those_of_the_least_squares_lines(points: int):
    table = simulated([0.13, 0.3], 0.01, 0)
    table = {n: v[table["D"] <= np.unique(table["D"])[points - 1]] for n, v in table.items()}
    columns = [table[name] for name in ("N", "D", "r")]
    pairs = [distinct_codes(column) for column in columns]
    codes = np.array([code for code, _ in pairs])
    rows = len(table["L"])
    labels, error = np.zeros((0, rows), dtype=np.int64), np.full(rows, 1e-4)
    moves = GridValues(table["L"], np.ones(rows), error, codes, codes, labels)
    found, _, about = slopes(moves, 1, pairs[1][1])

    degree = min(3, points - 2)
    squares = 0.0
    for k in range(len(found)):
        here = (codes[0] == found.low[0, k]) & (codes[2] == found.low[2, k])
        x, y = np.log(table["D"][here]), table["L"][here]
        assert found.value[k] == pytest.approx(np.polyfit(x, y, 1)[0], rel=1e-9)
        assert found.error[k] == pytest.approx(1e-4 / np.sum((x - x.mean()) ** 2), rel=1e-9)
        squares += float(np.sum((y - np.polyval(np.polyfit(x, y, degree), x)) ** 2))
    assert len(found) == 18 and about.df == 18 * (points - 1 - degree)
    assert about.squares == pytest.approx(squares, rel=1e-6)


# ---- how sure it is


def test_known_errors_are_used():
    table = simulated(0.13, 0.01, 0)
    narrow, wide = (
        estimate_and_ends(of({**table, "se": np.full(len(table["r"]), se)}, se="se"))
        for se in (0.001, 0.01)
    )

    assert wide[2] - wide[1] > 3 * (narrow[2] - narrow[1])


def test_repeats_say_more_than_the_scatter_of_points():
    """Runs whose slopes differ by more than their points do."""
    table = simulated(0.25, 0.001, 2, runs=0.01, seeds=3)
    first = {name: values[table["seed"] == 0] for name, values in table.items()}
    several, alone = of(table), of(first)

    assert several is not None and alone is not None
    assert (several.noise, alone.noise) == ("repeats", "scatter")
    assert estimate_and_ends(several)[1] < 0.25 < estimate_and_ends(several)[2]
    assert estimate_and_ends(alone)[2] < 0.25  # nothing in it says how far runs lie apart


SURE = CriticalErrors(2.0, 4.0)
CROSSINGS = {
    # slopes at 0.1, 0.2, 0.3, 0.4, with errors of 0.1 -> estimate, interval
    "none rises": ((-1, -2, -3, -4), None, (0.0, 0.1)),
    "all rise": ((4, 3, 2, 1), None, (0.4, 1.0)),
    "in between": ((3, 1, -1, -3), 0.25, (0.25 - 0.0074, 0.25 + 0.0074)),
    "in the first gap": ((1, -1, -3, -5), 0.15, (0.1, 0.2)),
    "in the last gap": ((5, 3, 1, -1), 0.35, (0.3, 0.4)),
    "below the first, perhaps": ((-0.1, -1, -2, -3), None, (0.0, 0.2)),
    "above the last, perhaps": ((3, 2, 1, 0.1), None, (0.3, 1.0)),
}


@pytest.mark.parametrize("case", CROSSINGS)
def test_where_slopes_change_their_sign(case: str):
    slopes, estimate, ends = CROSSINGS[case]
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    found = crossing("", shares, np.array(slopes, dtype=float), np.full(4, 0.1), SURE)

    assert found.estimate == (None if estimate is None else pytest.approx(estimate))
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-3)
    assert found.fails == (slopes[0] > 0.4)


@pytest.mark.parametrize(
    ("slopes", "why"),
    [
        ((0.1, 0.0, -0.1), "the noise hides it"),
        ((1.0, -1.0, 1.0), "the trend is as claimed at 0.2, and is not at 0.3"),
    ],
)
def test_it_says_where_nothing_can_be_said(slopes: tuple[float, ...], why: str):
    shares = np.array([0.1, 0.2, 0.3])
    found = crossing("", shares, np.array(slopes), np.full(3, 0.1), SURE)

    assert (found.estimate, found.low, found.high, found.why) == (None, None, None, why)


def test_a_rise_that_comes_back_at_a_larger_share_is_no_ratio(capsys: pytest.CaptureFixture[str]):
    table = simulated(0.13, 0.001, 0)
    back = np.where(table["r"] == 0.8, 0.5 * np.log(table["D"]), 0.0)
    trends = lawdsl.trends(FALLS, {**table, "L": table["L"] + back})
    show_trends(trends, console())
    found = trends.trends[0].inflection

    assert found is not None and (found.estimate, found.low, found.high) == (None, None, None)
    why = "not known: the trend is as claimed at 0.2, and is not at 0.8"
    assert f"inflection ratio: {why}" in capsys.readouterr().out


def test_a_slope_that_bends_between_two_shares_widens_the_interval():
    """The straight line misses the place by more than the noise does."""
    estimate, low, high = estimate_and_ends(of(simulated(0.07, 0.0005, 0, shape=bent)))

    assert estimate - 0.07 > 0.005
    assert low < 0.07 < high and high - low < 0.05


def coverage(count: int, noise: float, **options: Any) -> float:
    """How often the interval covers ratios between 0.1 and 0.3."""
    covered = 0
    for seed in range(count):
        truth = float(np.random.default_rng([1, seed]).uniform(0.1, 0.3))
        _, low, high = estimate_and_ends(of(simulated(truth, noise, seed, **options)))
        covered += low <= truth <= high
    return covered / count


def test_the_interval_covers_the_truth_about_as_often_as_it_says(
    record_property: Callable[[str, object], None],
):
    found = coverage(60, 0.015)
    record_property("figure", f"inflection ratio: covered in {100 * found:g} % of 60 tables")

    assert 0.88 <= found < 1


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"runs": 0.005, "seeds": 3}], ids=["points", "seeds"])
def test_the_interval_covers_the_truth_as_often_as_it_says(
    options: dict[str, Any], record_property: Callable[[str, object], None]
):
    found = coverage(500, 0.015, **options)
    record_property("figure", f"inflection ratio: covered in {100 * found:g} % of 500 tables")

    assert 0.93 <= found <= 0.97


# ---- no false alarms


@pytest.mark.parametrize("name", ["dcpt.l3", "dcpt.l1", "dcpt.l2", "cmr.share", "chinchilla"])
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_nothing_is_claimed_of_a_table_without_a_rise(name: str, noise: float):
    assert of(PLANTED[name].table(noise), name) is None


def test_nothing_is_claimed_of_noise_alone():
    rows = len(simulated(0.1, 0.01, 0)["L"])
    tables = (
        {**simulated(0.1, 0.01, seed), "L": 3 + np.random.default_rng(seed).normal(size=rows)}
        for seed in range(50)
    )

    assert [of(table) for table in tables] == [None] * 50


def test_nothing_is_claimed_where_nothing_is_known_of_the_noise():
    table = simulated(0.13, 0.001, 0)
    ends = np.isin(table["D"], (table["D"].min(), table["D"].max()))

    assert of({name: values[ends] for name, values in table.items()}) is None


@pytest.mark.parametrize(
    "text",
    [
        "variable N, D > 0\nvariable r >= 0\nparameter E > 0\nL = E\nrequire ∂L/∂D < 0",
        "variable N, D > 0\nvariable r, q in [0, 1]\nparameter E > 0\nL = E\nrequire ∂L/∂D < 0",
        HEAD + "require ∂²L/∂D∂r < 0",
        HEAD + "require ∂L/∂r < 0",
    ],
    ids=["no share", "two shares", "a second derivative", "the share itself"],
)
def test_it_takes_one_share_and_a_claim_on_a_slope(text: str):
    table = simulated(0.13, 0.001, 0)

    assert of({**table, "q": table["r"]}, law_of(text)) is None


# ---- real measurements, and reports


@pytest.mark.parametrize("columns", [GENERAL, CODE])
def test_the_loss_rises_with_d_for_a_model_that_sees_little_of_a_corpus(columns: dict[str, Any]):
    """At shares up to 0.2 for all models, from 0.67 on for none."""
    found = of(RUNS, "dcpt.l3", **columns)
    estimate, low, high = estimate_and_ends(found)

    assert found is not None and len(found.places) == 5
    assert 0.2 < low < estimate < 0.67 < high
    assert all(p.estimate is not None and 0.2 < p.estimate < 0.67 for p in found.places)


def test_the_report_shows_it(capsys: pytest.CaptureFixture[str]):
    found = lawdsl.trends("dcpt.l3", RUNS, **GENERAL)
    show_trends(found, console())
    shown = capsys.readouterr().out
    content = json.loads(json.dumps(found.to_json()))

    assert "inflection ratio: r = 0.437, 95 % interval 0.315 to 0.71; below it L rises" in shown
    assert "from the scatter of rows about their curves" in shown
    assert content["trends"][1]["inflection"]["places"][0]["at"] == "N = 2.3904e-05"
    assert content["trends"][0]["inflection"] is None


# ---- fits


@pytest.fixture(scope="module")
def fitted() -> Fit:
    settings = {"D_min": 4e-4}
    quick: dict[str, Any] = {"starts": 4, "intervals": "delta", "rolled_check": False}
    found = lawdsl.fit("dcpt.l3", RUNS, **quick, settings=settings, **GENERAL)
    assert isinstance(found, Fit)
    return found


def test_a_fit_keeps_what_its_table_shows(fitted: Fit, tmp_path: Path):
    fitted.save(tmp_path / "fit.json")
    read = Fit.load(tmp_path / "fit.json")

    assert fitted.data.inflections == (of(RUNS, "dcpt.l3", **GENERAL),)
    assert read.data.inflections == fitted.data.inflections


def test_a_fit_of_an_earlier_version_knows_of_none(fitted: Fit):
    content = fitted.to_json()
    del content["data"]["inflections"]

    assert Fit.of_json(content).data.inflections == ()


@pytest.mark.parametrize("value", [-0.1, 2.0, "0.1", True])
def test_a_share_that_is_none_is_not_read(fitted: Fit, value: Any):
    content = fitted.to_json()
    content["data"]["inflections"][0]["high"] = value
    with pytest.raises(ValueError, match="is not a share"):
        Fit.of_json(content)


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([0.3], "r = 0.3 lies below the inflection ratio, r = 0.437, 95 % interval 0.315 to 0.71"),
        ([0.0, 0.3, 0.8], "r = 0 to 0.3 lies below"),
        ([0.5, 0.8], "r = 0.5 may lie below"),
        ([0.72, 1.0], None),
    ],
)
def test_predictions_below_it_are_warned_of(fitted: Fit, shares: list[float], said: str | None):
    points = {"N": [5e-4] * len(shares), "D": [5e-4] * len(shares), "r": shares}
    found = [d for d in fitted.predict_with_warnings(points)[1] if d.code == "F0127"]

    assert found == fitted.below_inflection(points)
    assert [d.message.startswith(said or "") for d in found] == ([] if said is None else [True])
    assert all("L rises with D" in d.notes[0] and "from r = 0.71 on" in d.help for d in found)
    assert all("dcpt.forgetting can follow it" in d.help for d in found)


def test_each_label_has_a_ratio_of_its_own():
    text = """index d over domain
variable N, D > 0
variable r in [0, 1]
parameter E[d], A[d], B[d], a[d], b[d] > 0
L[d] = E[d] + A[d]*exp(-a[d]*r) + B[d]/D^b[d]
require ∂L[d]/∂D < 0
"""
    web, code = simulated(0.12, 0.002, 0), simulated(0.27, 0.002, 1)
    table: dict[str, Any] = {name: np.concatenate([web[name], code[name]]) for name in web}
    table["domain"] = ["web"] * len(web["r"]) + ["code"] * len(code["r"])
    made = lawdsl.fit(law_of(text), table, starts=3, rolled_check=False, intervals="delta")
    points = {"N": [1.0, 1.0], "D": [2.0, 2.0], "r": [0.2, 0.2], "domain": ["web", "code"]}
    found = [d for d in made.predict_with_warnings(points)[1] if d.code == "F0127"]

    assert [d.place for d in found] == ["code"]
    assert found[0].message.startswith("r = 0.2 lies below the inflection ratio, r = 0.27")


# ---- the law that follows it


@pytest.fixture(scope="module")
def beginnings() -> dict[tuple[str, str], Fit]:
    """Fits to the rows up to 0.65 million tokens: (law, corpus) -> fit."""
    quick: dict[str, Any] = {"starts": 2, "claims": False, "rolled_check": False}
    chosen: dict[str, Any] = {"where": ["phase = end", "step <= 630"], "intervals": "delta"}
    return {
        (law, corpus): lawdsl.fit(
            law, RUNS, **quick, **chosen, settings=settings, L=f"L_{corpus}", r=f"r_{corpus}"
        )
        for law, settings in (("dcpt.l3", {"D_min": 2e-4}), ("dcpt.forgetting", None))
        for corpus in ("general", "code")
    }


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["general", "code"])
def test_later_losses_at_small_shares_are_predicted_with_half_the_error(
    beginnings: dict[tuple[str, str], Fit], corpus: str
):
    columns = {"L": f"L_{corpus}", "r": f"r_{corpus}"}
    where = ["phase = end", "step = 1000", f"r_{corpus} <= 0.1"]
    rows = bind(lawdsl.load("dcpt.forgetting"), read_table(RUNS), columns, where=where)
    points = dict(zip(("N", "D", "r"), rows.columns, strict=True))
    old, new = (
        np.mean(np.abs(beginnings[law, corpus].predict_with_warnings(points)[0] - rows.target))
        for law in ("dcpt.l3", "dcpt.forgetting")
    )

    assert new < 0.5 * old


@pytest.mark.slow
def test_usage_1_at_small_shares_moves_with_the_tokens(beginnings: dict[tuple[str, str], Fit]):
    """At 3.708 nat/token the measured general losses cross at shares of code of .910 and .873."""

    def answer(question: str, law: str, tokens: float) -> float:
        fits = {u: beginnings[law, c] for u, c in (("general", "general"), ("domain", "code"))}
        return lawdsl.solve(question, **fits, N=3.7008e-4, D=tokens, L0=3.6, T=0.03)["r_d"]

    tokens = (4.096e-4, 1.024e-3)
    found = [answer("dcpt.tradeoff_forgetting", "dcpt.forgetting", D) for D in tokens]

    assert found == pytest.approx([0.910, 0.873], abs=0.012)
    assert answer("dcpt.tradeoff", "dcpt.l3", tokens[1]) > 0.89  # beyond the limit


def test_points_without_a_share_are_not_warned_of(fitted: Fit):
    assert fitted.below_inflection({"N": [1.0]}) == []


def test_the_report_of_a_fit_names_it(fitted: Fit, capsys: pytest.CaptureFixture[str]):
    show_fit(fitted, console())

    assert "inflection ratio: r = 0.437, 95 % interval 0.315 to 0.71" in capsys.readouterr().out


def test_a_fit_that_is_one_of_many_does_not_look_for_it(monkeypatch: pytest.MonkeyPatch):
    looked: list[object] = []
    monkeypatch.setattr(fit_task, "inflections", lambda *_: looked.append(1) or [])
    table = PLANTED["dcpt.l3"].table(0.001)
    lawdsl.fit("dcpt.l3", table, starts=5, claims=False)
    assert looked == []
    lawdsl.fit("dcpt.l3", table, starts=5, intervals="bootstrap", resamples=100)
    assert looked == [1]
