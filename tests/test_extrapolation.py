"""How far beyond its rows a fit may be used: the rolled check, the trust horizon, and warnings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from planted import law_of

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.extrapolation.assess import extrapolation_findings
from lawdsl.fitting.extrapolation.rolled_check import RolledCut, rms_z, widening
from lawdsl.fitting.extrapolation.run_size import SizeVariable, run_size
from lawdsl.fitting.result import Fit

POWER = """variable N > 0 unit param
variable D > 0 unit token
parameter E, A, B, alpha, beta > 0
L = E + A/N^alpha + B/D^beta
"""
BUDGETS = np.geomspace(6e18, 3e21, 7)


def runs(seed: int = 0, *, noise: float = 0.004, beyond: float = np.inf) -> dict[str, np.ndarray]:
    """Runs at seven budgets; above a compute of `beyond` a decade costs 12 % more than the law says."""
    rng = np.random.default_rng(seed)
    C = np.repeat(BUDGETS, 6)
    N = np.sqrt(C / 120) * np.tile(np.geomspace(0.2, 5, 6), 7)
    D = C / (6 * N)
    bend = 0.12 * np.maximum(np.log10(C / beyond), 0) if np.isfinite(beyond) else 0.0
    L = loss(N, D) * np.exp(noise * rng.normal(size=len(C)) + bend)
    return {"N": N, "D": D, "L": L}


def loss(N: Any, D: Any) -> Any:
    return 1.82 + 482 / N**0.348 + 2085 / D**0.366


def fitted(table: Any, text: str = POWER, **options: Any) -> Fit:
    fit = lawdsl.fit(law_of(text), table, claims=False, **{"intervals": "delta", **options})
    assert isinstance(fit, Fit)
    return fit


@pytest.fixture(scope="module")
def fit() -> Fit:
    return fitted(runs())


def zs(fit: Fit) -> np.ndarray:
    assert fit.extrapolation is not None
    return np.array([cut.z for cut in fit.extrapolation.rolled])


# ---- the rolled check


def test_larger_runs_that_follow_the_law_are_predicted(fit: Fit):
    assert len(zs(fit)) == 4
    assert fit.extrapolation is not None and fit.extrapolation.rms_z < 1.5
    assert fit.verdict == "trusted"


def test_a_bend_within_the_table_is_told():
    bent = fitted(runs(beyond=1e20))
    assert np.max(zs(bent)) > 2
    (warning,) = [d for d in bent.diagnostics if d.code == "F0140"]
    assert bent.verdict != "trusted" and "--wrong learned" in (warning.help or "")


def test_a_bend_beyond_the_table_is_not_seen(fit: Fit):
    assert np.array_equal(zs(fitted(runs(beyond=1e22))), zs(fit))


def test_a_learned_error_widens_and_does_not_move_the_prediction():
    bent = fitted(runs(beyond=1e20))
    point = {"N": [2e10], "D": [4e11]}
    default, learned = (
        bent.predict_with_errors(point, discrepancy=wrong) for wrong in (0.02, "learned")
    )
    assert learned.values == default.values
    assert learned.high[0] - learned.low[0] > 1.2 * (default.high[0] - default.low[0])


def test_learned_where_the_larger_runs_are_well_predicted_is_the_default(fit: Fit):
    point = {"N": [2e10], "D": [4e11]}
    assert fit.extrapolation is not None and fit.extrapolation.widening == 1
    default, learned = (
        fit.predict_with_errors(point, discrepancy=wrong) for wrong in (0.02, "learned")
    )
    assert (learned.low, learned.high) == (default.low, default.high)


def test_nothing_is_learned_without_a_rolled_check():
    few = fitted({name: values[:12] for name, values in runs().items()}, rolled_check=False)
    band = few.predict_with_errors({"N": [2e10], "D": [4e11]}, discrepancy="learned")
    assert "F0142" in [d.code for d in band.warnings]


def test_the_widening_shrinks_towards_one():
    cuts = [RolledCut(1e20, 10, 5, z) for z in (3.0, 1.0)]
    assert rms_z(cuts) == pytest.approx(np.sqrt(5))
    assert widening(cuts) == pytest.approx(np.sqrt((2 + 9 + 1) / 4))
    assert widening([RolledCut(1e20, 10, 5, 0.2)]) == 1 == widening([])


def test_checkpoints_of_a_run_stay_on_one_side_of_a_cut():
    rng = np.random.default_rng(1)
    N = np.repeat(np.geomspace(1e8, 1e10, 8), 5)
    D = np.repeat(20 * np.geomspace(1e8, 1e10, 8), 5) * np.tile(np.geomspace(0.05, 1, 5), 8)
    L = loss(N, D) * np.exp(0.003 * rng.normal(size=40))
    table = {"N": N, "D": D, "L": L, "run": np.repeat(np.arange(8), 5)}
    checked = fitted(table, run="run").extrapolation
    assert checked is not None and checked.rolled
    assert all(cut.fitted % 5 == 0 and cut.predicted % 5 == 0 for cut in checked.rolled)


def test_a_law_that_misses_its_own_rows_is_not_trusted():
    """A bound keeps the fit from rows that the formula could follow."""
    table = runs()
    free = fitted(table)
    bounded = fitted(table, POWER.replace("beta > 0", "beta > 1"))
    assert free.extrapolation is not None and bounded.extrapolation is not None
    assert free.extrapolation.misfit < 0.005 < 0.02 < bounded.extrapolation.misfit
    # a pattern says where, and then the size of the misfit is no finding of its own
    assert {d.code for d in bounded.diagnostics} == {"F0103", "F0116"}
    alone = extrapolation_findings(bounded.extrapolation, None, ())
    assert "F0145" in {d.code for d in alone}
    assert "F0145" not in {d.code for d in extrapolation_findings(free.extrapolation, None, ())}
    assert bounded.verdict_for("prediction") != "trusted"


# ---- the trust horizon


def test_larger_runs_that_miss_their_predictions_shorten_the_horizon(
    monkeypatch: pytest.MonkeyPatch,
):
    bent = runs(beyond=1e20)
    short = fitted(bent).horizon
    monkeypatch.setattr("lawdsl.fitting.extrapolation.rolled_check.MAX_RMS_Z", np.inf)
    long = fitted(bent).horizon
    assert short is not None and long is not None
    assert [r.times for r in short.path] < [r.times for r in long.path]


def test_the_horizon_is_where_the_interval_is_as_wide(fit: Fit):
    """At the end of the 2 % horizon the interval of the curve is ± 2 %."""
    horizon = fit.horizon
    assert horizon is not None and horizon.optimal and horizon.size == "6*N*D"
    times = horizon.times(0.02)
    C = 6 * horizon.variables["N"] * horizon.variables["D"]
    assert pytest.approx(BUDGETS[-1]) == horizon.largest == pytest.approx(C)
    N = np.geomspace(1e8, 1e12, 4001)
    best = N[np.argmin(fit.predict({"N": N, "D": times * C / (6 * N)}))]
    band = fit.predict_with_errors({"N": [best], "D": [times * C / (6 * best)]})
    assert np.log(band.high / band.low)[0] / 2 == pytest.approx(np.log(1.02), rel=0.02)


def test_a_wider_tolerance_reaches_further(fit: Fit):
    assert fit.horizon is not None
    for reaches in (fit.horizon.path, *fit.horizon.by_variable.values()):
        times = [reach.times for reach in reaches]
        assert times == sorted(times)
    assert 2 < fit.horizon.times(0.02) < 20


def test_the_horizon_does_not_depend_on_units_or_on_the_order_of_rows(fit: Fit):
    table = runs()
    order = np.random.default_rng(3).permutation(42)
    billions = POWER.replace("unit param", "unit Gparam")
    shuffled = fitted({name: values[order] for name, values in table.items()})
    scaled = fitted({**table, "N": table["N"] / 1e9}, billions)
    assert fit.horizon is not None
    for other in (shuffled.horizon, scaled.horizon):
        assert other is not None
        assert other.largest == pytest.approx(fit.horizon.largest)
        ours = [reach.times for reach in fit.horizon.path]
        assert [reach.times for reach in other.path] == pytest.approx(ours, rel=1e-3)


def test_rows_on_one_ray_reach_along_it_only():
    N = runs()["N"]
    noise = np.exp(0.004 * np.random.default_rng(0).normal(size=42))
    ray = fitted({"N": N, "D": 20 * N, "L": loss(N, 20 * N) * noise})
    assert ray.verdict != "trusted"
    assert ray.horizon is not None
    assert "along the ray of the rows, D = 20 N (off it they test nothing)" in ray.horizon.text
    for reach in ray.horizon.path:
        assert reach.variables["D"] == pytest.approx(20 * reach.variables["N"])
    for reaches in ray.horizon.by_variable.values():
        assert all(reach.times < 1.001 for reach in reaches)


def test_a_ray_of_another_power_is_kept_to():
    """Along D = k·N^0.7, and not along a fixed ratio, which leaves the rows."""
    N = runs()["N"]
    D = 5e4 * N**0.7
    noise = np.exp(0.004 * np.random.default_rng(0).normal(size=42))
    horizon = fitted({"N": N, "D": D, "L": loss(N, D) * noise}).horizon
    assert horizon is not None and horizon.ray == "D = 5e+04 N^0.7"
    reached = [reach for reach in horizon.path if np.isfinite(reach.size)]
    assert reached
    for reach in reached:
        assert reach.variables["D"] == pytest.approx(5e4 * reach.variables["N"] ** 0.7)
        assert 6 * reach.variables["N"] * reach.variables["D"] == pytest.approx(reach.size)


def test_each_reach_has_its_size_and_its_variables_with_units(fit: Fit):
    horizon = fit.horizon
    assert horizon is not None and horizon.unit == "FLOP"
    assert horizon.units == {"N": "param", "D": "token"}
    for reach in horizon.path:
        assert reach.size == pytest.approx(reach.times * horizon.largest)
        N, D = (reach.variables[name] for name in ("N", "D"))
        assert 6 * N * D == pytest.approx(reach.size)
        told = f"times (there C = {reach.size:.2g} FLOP, N = {N:.2g} param, D = {D:.2g} token)"
        assert told.removeprefix("times ") in horizon.text
    assert "with N and D in the compute-optimal ratio" in horizon.text


def test_a_law_without_units_has_a_horizon_without():
    bare = fitted(runs(), POWER.replace(" unit param", "").replace(" unit token", "")).horizon
    assert bare is not None and bare.unit == "" and not bare.is_compute
    assert "FLOP" not in bare.text and "(there N*D = " in bare.text


def test_a_size_that_is_one_variable_is_printed_once():
    N = np.geomspace(1e8, 1e10, 20)
    noise = np.exp(0.004 * np.random.default_rng(0).normal(size=20))
    text = "variable N > 0 unit Gparam\nparameter E, A, alpha > 0\nL = E + A/N^alpha"
    horizon = fitted({"N": N / 1e9, "L": (1.8 + 480 / N**0.35) * noise}, text).horizon
    assert horizon is not None and horizon.unit == "param"
    first = horizon.path[0]
    assert first.size == pytest.approx(1e9 * first.variables["N"])
    assert f"times the largest fitted N (there N = {first.size:.2g} param)" in horizon.text


def test_a_horizon_of_an_earlier_version_is_read(fit: Fit):
    content = json.loads(json.dumps(fit.to_json()))
    horizon = content["extrapolation"]["horizon"]
    for name in ("unit", "units", "ray", "discrepancy", "widening"):
        del horizon[name]
    for reaches in (horizon["path"], *horizon["by_variable"].values()):
        for reach in reaches:
            del reach["size"], reach["variables"]
    read = Fit.of_json(content).horizon
    assert read is not None and fit.horizon is not None
    assert [r.times for r in read.path] == [r.times for r in fit.horizon.path]
    assert " FLOP)" in read.text


def test_a_required_horizon_that_is_not_met_is_told():
    far = fitted(runs(), horizon=1000)
    (warning,) = [d for d in far.diagnostics if d.code == "F0141"]
    assert far.verdict == "caution" and "2 % up to" in warning.message
    assert fitted(runs(), horizon=2).verdict == "trusted"


def test_no_horizon_has_its_reason():
    shares = {"r": np.linspace(0.1, 1, 12), "L": 2 + 0.1 / np.linspace(0.1, 1, 12)}
    text = "variable r in [0, 1]\nparameter a, b > 0\nL = a + b/r"
    for table, law, options, reason in (
        (shares, text, {}, "no variable of the law measures the size of a run"),
        (runs(), POWER, {"rolled_check": False}, "it was fitted without a rolled check"),
    ):
        (warning,) = [
            d for d in fitted(table, law, horizon=2, **options).diagnostics if d.code == "F0141"
        ]
        assert reason in warning.message


def test_a_path_is_compute_optimal_for_compute_alone():
    x, y = (v.ravel() for v in np.meshgrid(np.geomspace(1, 100, 6), np.geomspace(1, 100, 6)))
    noise = np.exp(0.002 * np.random.default_rng(0).normal(size=36))
    text = "variable x, y > 0\nparameter a, b, c > 0\nL = a + b*x/y + c*y/x"
    ratio = fitted({"x": x, "y": y, "L": (2 + x / y + y / x) * noise}, text)
    assert ratio.horizon is not None and not ratio.horizon.optimal


def test_the_horizon_knows_its_tolerances_alone(fit: Fit):
    assert fit.horizon is not None
    with pytest.raises(KeyError):
        fit.horizon.times(0.03)


def test_rows_of_little_weight_do_not_matter():
    table, outlier = runs(), runs()
    weights = np.ones(42)
    weights[20] = 1e-9
    outlier["L"] = np.where(weights < 1, 2 * table["L"], table["L"])
    one, other = (fitted({**t, "w": weights}, weights="w") for t in (table, outlier))
    assert one.horizon is not None and other.horizon is not None
    assert zs(other) == pytest.approx(zs(one), rel=1e-3)
    assert [r.times for r in other.horizon.path] == pytest.approx(
        [r.times for r in one.horizon.path], rel=1e-3
    )
    bands = [f.predict_with_errors({"N": [5e10], "D": [1e12]}) for f in (one, other)]
    assert bands[1].values == pytest.approx(bands[0].values, rel=1e-4)
    assert bands[1].high == pytest.approx(bands[0].high, rel=1e-4)


@pytest.mark.parametrize("times", [0.5, -1, 1e5, float("inf"), "far", True])
def test_a_horizon_is_a_multiple(times: Any):
    with pytest.raises(LawdslError, match="F0141"):
        fitted(runs(), horizon=times)


def test_a_warning_beyond_the_data_says_how_far_the_runs_reach(fit: Fit):
    (warning,) = fit.predict_with_warnings({"N": [1e11], "D": [4e10]})[1]
    assert warning.code == "F0109"
    assert "2 % up to" in (warning.help or "")


def test_the_advice_about_a_prediction_is_printed_once_a_command(fit: Fit, tmp_path: Path):
    fit.save(tmp_path / "fit.json")
    for options in ((), ("--no-intervals",)):
        done = run("predict", str(tmp_path / "fit.json"), "N=1e12,1e13", "D=1e13", *options)
        assert done.stderr.count("N and D leave the fitted range") == 1
        assert done.stderr.count("= help:") == 1 == done.stderr.count("2 % up to")
        asked = json.loads(
            run(
                "predict", str(tmp_path / "fit.json"), "N=1e12", "D=1e13", "--json", *options
            ).stdout
        )
        assert all(d["help"] for d in asked["diagnostics"])


def test_a_learned_error_is_printed_with_its_factor(bent: Fit, fit: Fit, tmp_path: Path):
    for made, told in (
        (bent, f"the error of the law, 2 % per decade, {bent.widening:.3g} times"),
        (fit, "leaves the error of the law at 2 % per decade"),
    ):
        made.save(tmp_path / "fit.json")
        arguments = ("predict", str(tmp_path / "fit.json"), "N=1e10,2e10", "D=4e11")
        assert told in run(*arguments, "--wrong", "learned").stdout
        assert "rolled check" not in run(*arguments).stdout


def test_a_level_that_is_reached_nowhere_beyond_the_rows_is_said():
    noisy = fitted(runs(noise=0.03)).horizon
    assert noisy is not None and noisy.times(0.01) == 0 < noisy.times(0.05)
    unreached = "1 and 2" if noisy.times(0.02) == 0 else "1"
    assert noisy.text.startswith(f"within {unreached} % nowhere beyond the rows, ")
    assert "times the largest fitted compute (there C = " in noisy.text


# ---- predictions beyond the rows have the horizon of their own error of the law


FAR = {"N": [1e11], "D": [1e12]}


def beyond_rows(fit: Fit, wrong: Any, **options: Any) -> Any:
    """The warning about a prediction far beyond the rows, with an error of the law."""
    band = fit.predict_with_errors(FAR, discrepancy=wrong, **options)
    return [d for d in band.warnings if d.code == "F0109"]


@pytest.fixture(scope="module")
def bent() -> Fit:
    return fitted(runs(beyond=1e20))


def test_a_horizon_that_the_rolled_check_widens_says_so(bent: Fit):
    assert bent.horizon is not None and bent.extrapolation is not None
    assert bent.horizon.widening == bent.widening > 1.5
    said = f"with the error of the law widened {bent.widening:.2g} times by the rolled check"
    assert said in bent.horizon.text
    assert Fit.of_json(json.loads(json.dumps(bent.to_json()))).horizon == bent.horizon


def test_the_horizon_of_a_prediction_is_that_of_its_interval(bent: Fit):
    (default,), (learned,), (worse,) = (beyond_rows(bent, w) for w in (None, "learned", 0.05))
    assert bent.horizon is not None
    assert bent.horizon.text in learned.help
    assert "widened" not in default.help and bent.horizon.text not in default.help
    assert f"asks for {bent.widening:.2g} times that error: --wrong learned" in default.help
    assert "with the law wrong by 5 % per decade" in worse.help


def test_a_point_within_the_horizon_of_its_error_is_known_so_well(fit: Fit):
    """The interval at the end of a reach has just that half-width, whatever the error."""
    for wrong in (None, 0.05, 0.01):
        horizon = fit.horizon_under(wrong)
        assert horizon is not None
        reach = next(r for r in horizon.path if 1 < r.times < 1e3)
        band = fit.predict_with_errors(
            {name: [x] for name, x in reach.variables.items()}, discrepancy=wrong
        )
        half = np.sqrt(band.high[0] / band.low[0]) - 1
        assert half == pytest.approx(reach.within, rel=0.02)


def test_a_law_that_is_taken_as_right_warns_where_its_own_interval_is_wide():
    precise, noisy = fitted(runs(noise=0.001)), fitted(runs(noise=0.03))
    assert beyond_rows(precise, None) and not beyond_rows(precise, 0)
    (warning,) = beyond_rows(noisy, 0)
    assert "with the law taken as right" in warning.help


def test_another_level_of_the_interval_does_not_change_what_is_known(fit: Fit):
    (usual,), (narrow,) = beyond_rows(fit, None), beyond_rows(fit, None, level=0.5)
    assert narrow == usual


def test_one_prediction_has_one_warning(fit: Fit):
    (warning,) = beyond_rows(fit, None)
    assert warning.message.startswith("N and D leave the fitted range: N = 1e+11 is 4 times")
    with pytest.warns(lawdsl.ExtrapolationWarning, match="N and D leave") as caught:
        fit.predict({"N": [1e13], "D": [1e14]})
    assert len(caught) == 1


ALLOCATION = """question budget
uses      loss : {law}
given     D  "tokens"
choose    N in [1e8, {most}]
minimize  loss(N, D)
"""


def test_answers_warn_by_the_rule_of_predictions(fit: Fit, tmp_path: Path):
    """An answer just beyond the rows is known within 2 %; one far beyond is not."""
    path = tmp_path / "power.law"
    path.write_text(f"law power\n{POWER}")
    fitted_law = lawdsl.fit(str(path), runs(), claims=False)
    largest = float(np.max(runs()["N"]))
    for most, known in ((1.01 * largest, True), (100 * largest, False)):
        question = tmp_path / "budget.law"
        question.write_text(ALLOCATION.format(law="power", most=f"{most:.6g}"))
        answer = lawdsl.solve(question, loss=fitted_law, D=3e10)
        assert answer["N"] == pytest.approx(most, rel=1e-5)
        band = fitted_law.predict_with_errors({"N": [answer["N"]], "D": [3e10]})
        predicted = [d for d in band.warnings if d.code == "F0109"]
        warned = [d for d in answer.diagnostics if d.code == "F0109"]
        assert bool(warned) == bool(predicted) == (not known)
        assert [(d.message, d.help) for d in warned] == [(d.message, d.help) for d in predicted]
        # the interval with the error of the law stands beside an answer beyond the rows all the same
        assert answer.law_error is not None


def test_an_infinite_interval_says_that_nothing_is_determined():
    N = runs()["N"]
    noise = np.exp(0.004 * np.random.default_rng(0).normal(size=42))
    ray = fitted({"N": N, "D": 20 * N, "L": loss(N, 20 * N) * noise})
    band = ray.predict_with_errors({"N": [1e8], "D": [1e14]})
    assert band.high == [np.inf]
    helps = [d.help or "" for d in band.warnings if d.code == "F0109"]
    assert helps and all("determine nothing there" in help for help in helps)


def test_a_file_keeps_it(fit: Fit):
    reloaded = Fit.of_json(json.loads(json.dumps(fit.to_json())))
    assert reloaded.extrapolation == fit.extrapolation


def test_a_file_without_it_is_read(fit: Fit):
    content = fit.to_json()
    del content["extrapolation"]
    assert Fit.of_json(content).horizon is None


# ---- the size of a run


def variable(name: str, unit: str | None = None, *, is_share: bool = False) -> SizeVariable:
    return SizeVariable(name, None if unit is None else ((unit, 1),), is_share)


@pytest.mark.parametrize(
    ("variables", "text", "factor"),
    [
        ((variable("N", "Gparam"), variable("D", "Gtoken")), "6*N*D", 6e18),
        ((variable("D", "token"), variable("U", "token"), variable("N", "param")), "6*D*N", 6.0),
        ((variable("C", "FLOP"), variable("N", "param")), "C", 1.0),
        ((variable("N", "param"), variable("S", "step")), "N*S", 1.0),
        ((variable("N", "Mparam"), variable("r", is_share=True)), "N", 1e6),
        ((variable("x"), variable("y"), variable("r", is_share=True)), "x*y", 1.0),
        ((variable("r", is_share=True),), "", 1.0),
    ],
)
def test_the_size_of_a_run(variables: tuple[SizeVariable, ...], text: str, factor: float):
    size = run_size(variables, np.ones((len(variables), 3)))
    assert (size.text, size.factor) == (text, factor)
