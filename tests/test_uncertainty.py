"""Intervals as a user asks for them: three methods, levels, runs, and what has no interval."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from planted import PLANTED, law_of

import lawdsl
from lawdsl.core.diagnostics import LawdslError

ROOT = Path(__file__).resolve().parent.parent
METHODS = ["delta", "profile", "bootstrap"]
TABLE = PLANTED["chinchilla"].table(0.003, 7)
TRUE = PLANTED["chinchilla"].parameters


def ends(fit: lawdsl.Fit, name: str) -> tuple[float, float]:
    return fit.intervals.ends[name]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_intervals_around_the_estimates(method: str):
    fit = lawdsl.fit("chinchilla", TABLE, starts=4, intervals=method, resamples=300)
    known = fit.intervals

    assert (known.method, known.level, known.by, known.failed) == (method, 0.95, "rows", 0)
    assert known.resamples == (300 if method == "bootstrap" else 0)
    assert set(known.ends) == set(known.errors) == set(TRUE)
    for name, (low, high) in known.ends.items():
        assert 0 < low < fit.values[name] < high
        assert 2 * known.errors[name] < high - low < 8 * known.errors[name]


def test_the_methods_agree_where_the_law_is_nearly_linear():
    law = law_of("variable x\nparameter a, b\nL = a*x + b\nminimize squared(L)")
    x = np.linspace(0, 1, 200)
    table = {"x": x, "L": 1 + 2 * x + np.random.default_rng(1).normal(0, 0.1, 200)}
    found = [lawdsl.fit(law, table, intervals=m, resamples=2000).intervals for m in METHODS]

    for name in ("a", "b"):
        assert found[1].ends[name] == pytest.approx(found[0].ends[name], rel=1e-3)
        assert found[2].ends[name] == pytest.approx(found[0].ends[name], abs=0.015)


@pytest.mark.parametrize("method", METHODS)
def test_a_higher_level_is_a_wider_interval(method: str):
    fits = [
        lawdsl.fit("chinchilla", TABLE, starts=2, intervals=method, level=level, resamples=300)
        for level in (0.5, 0.8, 0.95)
    ]
    widths = [[high - low for low, high in fit.intervals.ends.values()] for fit in fits]

    assert np.all(np.diff(widths, axis=0) > 0)


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_one_run_count_as_one(method: str):
    """Each run is measured ten times with one error in common: rows alone seem to say far more."""
    rng = np.random.default_rng(3)
    runs = np.repeat(np.arange(36), 10)
    columns = {k: np.repeat(v, 10) for k, v in PLANTED["chinchilla"].columns.items()}
    off = np.repeat(rng.normal(0, 0.004, 36), 10) + rng.normal(0, 0.0004, 360)
    table = {**columns, "L": PLANTED["chinchilla"].formula(**columns, **TRUE) * np.exp(off)}
    table["run"] = runs
    by_row, by_run = (
        lawdsl.fit("chinchilla", table, starts=2, intervals=method, resamples=300, run=run)
        for run in ("none", "run")
    )

    assert by_run.intervals.by == "runs" and by_run.values == by_row.values
    for name in TRUE:
        narrow, wide = (np.ptp(ends(fit, name)) for fit in (by_row, by_run))
        assert wide > 1.5 * narrow


@pytest.mark.parametrize("method", METHODS)
def test_a_parameter_not_determined_has_no_interval_and_one_on_its_bound_a_profile_alone(
    method: str,
):
    law = law_of("variable x > 0\nparameter a > 0\nparameter b, c\nL = a*x + b + 0*c")
    x = np.linspace(1, 5, 30)
    table = {"x": x, "L": 9 - x + np.random.default_rng(0).normal(0, 0.01, 30)}
    fit = lawdsl.fit(law, table, starts=2, intervals=method, resamples=100)

    from_bound = {"a"} if method == "profile" else set()
    assert set(fit.intervals.ends) - from_bound == set(fit.intervals.errors) == {"b"}
    assert not from_bound or ends(fit, "a")[0] == 0 < ends(fit, "a")[1] < 1


LINE = law_of("variable x\nparameter a, b\nL = a*x + b\nminimize squared(L)")


def line(rows: int, **more: object) -> dict:
    x = np.linspace(0, 1, rows)
    off = np.random.default_rng(0).normal(0, 0.3, rows)
    return {"x": x, "L": 1 + 2 * x + off, **more}


@pytest.mark.parametrize("method", METHODS)
def test_one_run_has_no_interval_by_runs(method: str):
    table = line(12, run=["only"] * 12)
    fit = lawdsl.fit(LINE, table, intervals=method, run="run")

    assert fit.intervals.ends == {} and fit.verdict == "caution"
    assert [d.code for d in fit.diagnostics] == ["F0122"]


def test_a_bootstrap_of_three_runs_is_refused_and_a_profile_is_wide():
    table = line(18, run=np.repeat([1, 2, 3], 6))
    drawn = lawdsl.fit(LINE, table, intervals="bootstrap", run="run")
    wide = lawdsl.fit(LINE, table, intervals="profile", run="run")

    assert drawn.intervals.ends == {} and "F0122" in [d.code for d in drawn.diagnostics]
    assert np.ptp(wide.intervals.ends["a"]) > 2 * wide.intervals.errors["a"] * 2


@pytest.mark.parametrize("method", METHODS)
def test_without_a_spare_row_there_is_no_interval(method: str):
    fit = lawdsl.fit(LINE, line(2), intervals=method)

    assert fit.intervals.ends == {} and [d.code for d in fit.diagnostics] == ["F0102"]


def test_what_others_leave_open_widens_the_intervals_of_the_rest():
    """Two sizes: A and alpha are open, and B is no better known than with alpha given."""
    table = PLANTED["chinchilla"].table(0.003, 1)
    sizes = np.unique(table["N"])[[1, 4]]
    two = {name: column[np.isin(table["N"], sizes)] for name, column in table.items()}
    free = lawdsl.fit("chinchilla", two)
    given = lawdsl.fit("chinchilla", two, fix={"alpha": 0.3478})

    assert not free.parameters["A"].identified
    for name in ("B", "beta"):
        assert free.intervals.errors[name] == pytest.approx(given.intervals.errors[name], rel=0.1)


def test_a_weight_of_any_size_is_a_weight():
    fit = lawdsl.fit(LINE, line(12, w=[1.0] * 11 + [1e20]), weights="w")

    assert np.isfinite(fit.intervals.errors["a"])


def test_an_end_that_the_data_do_not_set_is_infinite_and_is_kept(tmp_path: Path):
    """With such noise a rate above any bound is as good: after the first row all is over."""
    law = law_of("variable x > 0\nparameter c, k > 0\nL = c + exp(-k*x)\nminimize squared(L)")
    x = np.linspace(1, 4, 12)
    table = {"x": x, "L": 1 + np.exp(-4 * x) + np.random.default_rng(2).normal(0, 0.02, 12)}
    fit = lawdsl.fit(law, table, intervals="profile")
    fit.save(tmp_path / "fit.json")

    assert ends(fit, "k")[1] == np.inf and np.isfinite(ends(fit, "k")[0])
    assert json.loads((tmp_path / "fit.json").read_text())["intervals"]["ends"]["k"][1] is None
    assert lawdsl.Fit.load(tmp_path / "fit.json") == fit


def test_profile_intervals_stay_inside_the_domain_and_need_not_be_symmetric():
    fit = lawdsl.fit("dcpt.share", PLANTED["dcpt.share"].table(0.003, 1), intervals="profile")
    low, high = ends(fit, "epsilon")

    assert 0 <= low < fit.values["epsilon"] < high
    assert abs((high + low) / 2 - fit.values["epsilon"]) > 0.01 * (high - low)


def test_a_bootstrap_has_its_seed_and_tells_how_far_it_is():
    told: list[tuple[int, int]] = []

    def made(seed: int) -> lawdsl.Fit:
        return lawdsl.fit(
            *("chinchilla", TABLE),
            **{"starts": 2, "seed": seed, "intervals": "bootstrap", "resamples": 200},
            progress=lambda *n: told.append(n),
        )

    one, again, other = made(1), made(1), made(2)

    assert one == again and one.intervals.ends != other.intervals.ends
    assert (200, 200) in told


def test_a_fit_says_why_it_is_a_minimum():
    fit = lawdsl.fit("chinchilla", TABLE)

    assert fit.optimality.gradient < 1e-6 and 0 < fit.optimality.curvature < 1
    assert fit.agreement.agreed > fit.agreement.starts // 2


@pytest.mark.slow
def test_the_seed_alone_decides_whatever_the_number_of_threads():
    code = (
        "import json, lawdsl; from planted import PLANTED; "
        "t = PLANTED['dcpt.l3'].table(0.005, 3); "
        "f = lawdsl.fit('dcpt.l3', t, starts=4, intervals='bootstrap', resamples=100); "
        "print(json.dumps(f.to_json()))"
    )
    found = set()
    for threads in ("1", "4"):
        paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **limits, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)

    assert len(found) == 1


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"intervals": "guess"}, "`guess` is not a kind of interval"),
        ({"level": 1.0}, "`1.0` is not the level of an interval"),
        ({"level": 95}, "`95` is not the level of an interval"),
        ({"level": float("nan")}, "`nan` is not the level of an interval"),
        ({"level": "a"}, "`a` is not the level of an interval"),
        ({"level": None}, "`None` is not the level of an interval"),
        ({"intervals": "bootstrap", "resamples": 3}, "`3` is not a valid number of resamples"),
        ({"resamples": 100.5}, "`100.5` is not a valid number of resamples"),
        ({"resamples": "many"}, "`many` is not a valid number of resamples"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked: dict, message: str):
    with pytest.raises(LawdslError) as caught:
        lawdsl.fit("chinchilla", TABLE, **asked)
    (diagnostic,) = caught.value.diagnostics

    assert (diagnostic.code, diagnostic.message) == ("F0120", message)
    assert diagnostic.help


def test_slopes_beyond_the_range_of_floats_leave_no_interval_and_no_fault():
    """One share determines neither C nor the exponents: C ends near 1e305."""
    rows = [(0.07, 1, 4.12451), (0.07, 3, 3.70331), (0.07, 9, 3.40279), (0.16, 9, 3.2782)]
    rows += [(0.16, 20, 3.11483), (0.41, 1, 3.89595), (0.41, 3, 3.47114), (0.41, 9, 3.16805)]
    size, tokens, loss = np.array([*rows, (0.41, 20, 3.00587)]).T
    table = {"N": size, "D": tokens, "r": np.full(9, 0.6000000000000001), "L": loss}

    fit = lawdsl.fit("dcpt.l3", table, starts=1, claims=False)

    assert isinstance(fit, lawdsl.Fit)
    assert fit.verdict == "not trusted"


@pytest.mark.parametrize("method", ["delta", "profile", "bootstrap"])
def test_an_interval_of_a_parameter_beyond_all_units_contains_it(method: str):
    """Its upper end may be called infinite; its lower end is not."""
    law = law_of("variable x > 0\nparameter E, A > 0\nL = E + A/x\nminimize squared(L)")
    x = np.geomspace(1, 100, 12)
    L = 1e120 * (2 + 1 / x + 0.01 * np.sin(17 * np.arange(12)))
    fit = lawdsl.fit(law, {"x": x, "L": L}, intervals=method, starts=4, claims=False)

    for name, (low, high) in fit.intervals.ends.items():
        assert low < fit.values[name] < high
