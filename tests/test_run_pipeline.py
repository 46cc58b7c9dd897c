"""Pipelines run: planted answers come back, errors are handed on, groups and mistakes are named."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import lawdsl
from lawdsl.fitting.intervals.prediction_errors import predict_with_errors
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.solvers.multistart import optimum
from lawdsl.pipelines.bootstrap_fits import refit
from lawdsl.pipelines.pooled_noise import shrink_variances

NESTED = Path(__file__).resolve().parent / "fixtures" / "pipelines" / "two_domains.law"
TARGET = {"S_target": 1e5, "N_target": 1e9}
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
SIZES = (2e7, 1e8, 1.5e8, 3e8)
STEPS = (2e3, 1e4, 1.5e4, 2e4, 2.5e4, 3e4)
SLOPES = {"code": -1.0, "web": -0.5}


def loss(r: Any, N: Any, S: Any, t: Any) -> Any:
    """A loss that all three laws describe exactly."""
    return 1.5 + np.exp(t * r) * (1 + 30 / S**0.4) + 40 / N**0.25


def sweep(noise: float = 0.0, seed: int = 0) -> dict[str, list[Any]]:
    """The curves of 40 runs, the first checkpoint of each too high."""
    rng = np.random.default_rng(seed)
    rows = []
    for (run, r), N, domain, S in itertools.product(enumerate(SHARES), SIZES, SLOPES, STEPS):
        value = loss(r, N, S, SLOPES[domain]) + noise * rng.normal() + (S < 1e4)
        rows.append((f"mix{run}", r, N, domain, S, value))
    names = ("mixture", "r", "N", "domain", "S", "L")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


@pytest.fixture(scope="module")
def exact() -> lawdsl.PipelineResult:
    return lawdsl.run_pipeline(NESTED, sweep(), settings=TARGET, draws=0)


@pytest.fixture(scope="module")
def noisy() -> lawdsl.PipelineResult:
    return lawdsl.run_pipeline(NESTED, sweep(1e-3, 3), settings=TARGET, draws=100)


def written(folder: Path, **files: str) -> Path:
    """Laws and a pipeline `pipe`, each in its file."""
    for name, text in files.items():
        (folder / f"{name}.law").write_text(text, encoding="utf-8")
    return folder / "pipe.law"


LINE = """law line
variable x
parameter a, b
y = a + b*x
minimize squared(y)
"""
PLANE = """law plane
variable z
parameter c, d
w = c + d*z
minimize squared(w)
"""
LINES = "pipeline pipe\nstep line by z at x = 3\nstep plane\n"


def lines(noise: float, seed: int, rows: int = 5) -> dict[str, Any]:
    """y = z + z·x at six z: at x = 3 it is 4·z."""
    rng = np.random.default_rng(seed)
    z, x = (v.ravel() for v in np.meshgrid(np.arange(1.0, 7), np.linspace(0, 1, rows)))
    return {"z": z, "x": x, "y": z + z * x + noise * rng.normal(size=z.size)}


# ---- what is planted comes back


def test_every_step_finds_what_is_planted(exact: lawdsl.PipelineResult):
    steps, sizes, mixtures = exact.steps

    for group in steps.groups:
        r, t = SHARES[int(group.labels["mixture"][3])], SLOPES[group.labels["domain"]]
        N = float(group.labels["N"])
        assert group.predicted == pytest.approx(loss(r, N, 1e5, t), rel=1e-8)
        assert group.parameters["beta"] == pytest.approx(0.4, rel=1e-5)
    for group in sizes.groups:
        r, t = SHARES[int(group.labels["mixture"][3])], SLOPES[group.labels["domain"]]
        assert group.predicted == pytest.approx(loss(r, 1e9, 1e5, t), rel=1e-8)
    for group in mixtures.groups:
        wanted = {
            "c": 1.5 + 40 / 1e9**0.25,
            "k": 1 + 30 / 1e5**0.4,
            "t": SLOPES[group.labels["domain"]],
        }
        assert group.parameters == pytest.approx(wanted, rel=1e-5)
    # five mixtures for three parameters
    assert exact.ok and {d.code for d in exact.diagnostics} == {"F0102"}


def test_a_step_hands_on_groups_point_prediction_error_and_what_is_constant(
    noisy: lawdsl.PipelineResult,
):
    first, second = (step.columns() for step in noisy.steps[:2])

    assert list(first) == ["mixture", "r", "N", "domain", "S", "L", "L error"]
    assert len(first["L"]) == 40
    assert set(first["S"]) == {1e5}
    assert list(second) == ["mixture", "r", "N", "domain", "S", "L", "L error"]
    assert len(second["L"]) == 10
    assert set(second["N"]) == {1e9}
    assert noisy.steps[2].columns() == {}


def test_conditions_leave_out_early_checkpoints(exact: lawdsl.PipelineResult):
    assert exact.steps[0].rows == 40 * 5
    assert exact.steps[0].ranges["S"] == (1e4, 3e4)
    early = lawdsl.run_pipeline(NESTED, sweep(), settings={**TARGET, "S_first": 0}, draws=0)

    assert early.steps[0].rows == 40 * 6
    assert abs(early.steps[0].groups[0].predicted - exact.steps[0].groups[0].predicted) > 0.01


def test_columns_have_other_names_and_other_units(exact: lawdsl.PipelineResult):
    table = sweep()
    renamed = {
        "run": table["mixture"],
        "r": table["r"],
        "size_params [Mparam]": [N / 1e6 for N in table["N"]],
        "valid_domain": table["domain"],
        "step [kstep]": [S / 1e3 for S in table["S"]],
        "loss": table["L"],
    }
    found = lawdsl.run_pipeline(
        NESTED,
        renamed,
        settings=TARGET,
        draws=0,
        mixture="run",
        N="size_params",
        domain="valid_domain",
        S="step",
        L="loss",
    )

    for one, other in zip(found.fits, exact.fits, strict=True):
        assert one.values == pytest.approx(other.values, rel=1e-6)
    handed = found.steps[1].columns()
    assert set(handed["size_params [Mparam]"]) == {1e3}
    assert set(handed["step [kstep]"]) == {1e2}
    assert found.steps[0].at == {"S": 1e5}


def test_the_output_of_a_step_is_that_of_the_next_whatever_it_is_called(tmp_path: Path):
    path = written(tmp_path, line=LINE, plane=PLANE, pipe=LINES)
    found = lawdsl.run_pipeline(path, lines(0.0, 0), draws=0)

    assert found.fits[0].values == pytest.approx({"c": 0.0, "d": 4.0}, abs=1e-9)


def test_the_order_of_the_rows_does_not_matter(tmp_path: Path):
    path = written(tmp_path, line=LINE, plane=PLANE, pipe=LINES)
    table = lines(0.1, 0)
    order = np.random.default_rng(0).permutation(len(table["y"]))
    one = lawdsl.run_pipeline(path, table, draws=50)
    other = lawdsl.run_pipeline(path, {k: v[order] for k, v in table.items()}, draws=50)

    assert one.to_json()["fits"][0]["parameters"] == other.to_json()["fits"][0]["parameters"]
    assert one.fits[0].intervals == other.fits[0].intervals


def test_the_shipped_pipeline_finds_what_is_planted():
    """Algorithm 1: curves, then sizes, then one law for all validation domains."""
    rng = np.random.default_rng(0)
    rows = [
        (m, *r, domain, N, S, loss(r[0] - r[1], N, S, t))
        for (m, r), (domain, t), N, S in itertools.product(
            enumerate(rng.dirichlet((1, 1, 1), size=8)), SLOPES.items(), SIZES, STEPS[1:]
        )
    ]
    names = ("run", "r_code", "r_web", "r_books", "domain", "N", "S", "L")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    found = lawdsl.run_pipeline(
        "mixing.nested",
        table,
        settings=TARGET,
        draws=50,
        mixture="run",
        validation="domain",
        r="r_*",
    )

    assert found.together is not None
    values = found.together.values
    for domain, t in SLOPES.items():
        assert values[f"c[{domain}]"] == pytest.approx(1.5 + 40 / 1e9**0.25, rel=1e-4)
        assert values[f"k[{domain}]"] == pytest.approx(1 + 30 / 1e5**0.4, rel=1e-4)
        assert values[f"t[{domain}, code]"] == pytest.approx(t, rel=1e-3)
    ahead = found.together.predict({"r_code": [0.3], "r_web": [0.3], "r_books": [0.4]})
    assert ahead == pytest.approx(np.full((1, 2), loss(0, 1e9, 1e5, 0)), rel=1e-6)


# ---- errors


def test_errors_of_predictions_are_those_of_least_squares():
    law = lawdsl.load("mixing.two_domain")
    r, rng = np.linspace(0, 1, 30), np.random.default_rng(0)
    target = 2 + np.exp(-r) + 1e-3 * rng.normal(size=30)
    problem = problem_of(law, r[None], target, law.objective)
    theta = optimum(prepare(law), problem).theta
    c, k, t = theta
    jacobian = np.stack([np.ones(30), np.exp(t * r), k * r * np.exp(t * r)], axis=1)
    ahead = np.array([1, np.exp(t * 0.3), k * 0.3 * np.exp(t * 0.3)])
    wanted = np.sqrt(ahead @ np.linalg.inv(jacobian.T @ jacobian) @ ahead)

    found = predict_with_errors(problem, theta, np.array([[0.3]]))
    assert found.values == pytest.approx([c + k * np.exp(t * 0.3)])
    assert found.unit_errors == pytest.approx([wanted], rel=1e-6)
    assert found.errors(4e-6) == pytest.approx([2e-3 * wanted], rel=1e-6)


def test_what_the_rows_do_not_determine_has_no_finite_error():
    law = lawdsl.load("mixing.two_domain")
    r = np.repeat([0.2, 0.8], 4)  # three parameters, two places
    problem = problem_of(law, r[None], 2 + np.exp(-r), law.objective)
    theta = np.array([2.0, 1.0, -1.0])

    assert np.isfinite(predict_with_errors(problem, theta, np.array([[0.2]])).unit_errors[0])
    assert np.isinf(predict_with_errors(problem, theta, np.array([[0.5]])).unit_errors[0])


def test_variances_that_differ_by_chance_alone_become_one():
    rng = np.random.default_rng(0)
    spare = np.full(200, 2.0)
    own = rng.chisquare(2, size=200) / 2
    found, freedom = shrink_variances(own, spare)

    assert np.ptp(found) < np.ptp(own) / 5 and found.mean() == pytest.approx(1, rel=0.15)
    assert freedom.min() > 20


def test_variances_that_differ_truly_stay_apart():
    rng = np.random.default_rng(0)
    true = np.repeat([1.0, 100.0], 100)
    found, freedom = shrink_variances(true * rng.chisquare(20, size=200) / 20, np.full(200, 20.0))

    assert found[:100].mean() == pytest.approx(1, rel=0.2)
    assert found[100:].mean() == pytest.approx(100, rel=0.2)
    assert freedom.max() < 30


def test_groups_without_spare_rows_take_the_noise_of_the_others():
    found, freedom = shrink_variances(np.array([1.0, 1.2, np.nan]), np.array([5.0, 5.0, 0.0]))
    none, no_freedom = shrink_variances(np.array([np.nan]), np.array([0.0]))

    assert found[2] == pytest.approx(1.1) and freedom[2] == 10
    assert np.isnan(none[0]) and no_freedom[0] == 0


def test_refits_find_the_minimum_of_each_draw():
    law = lawdsl.load("mixing.size")
    N = np.array(SIZES)
    exact = 2.8 + 40 / N**0.25
    problem = problem_of(law, N[None], exact, law.objective)
    theta = optimum(prepare(law), problem).theta
    targets = exact + 5e-3 * np.random.default_rng(0).normal(size=(20, 4))
    found, settled = refit(problem, theta, targets)

    assert settled.all()
    for target, own in zip(targets, found, strict=True):
        drawn = problem_of(law, N[None], target, law.objective)
        best = optimum(prepare(law), drawn).loss
        assert drawn.losses_at(own[None])[0] <= best * (1 + 1e-3) + drawn.exact


def test_rows_weigh_by_their_errors_but_none_rules(tmp_path: Path):
    """The group z = 6 has ten times the noise of the others."""
    path = written(tmp_path, line=LINE, plane=PLANE, pipe=LINES)
    table = lines(0.0, 0, rows=40)
    rng = np.random.default_rng(0)
    table["y"] = table["y"] + rng.normal(size=240) * np.where(table["z"] == 6, 1e-1, 1e-2)
    found = lawdsl.run_pipeline(path, table, draws=0)
    errors = np.array([group.error for group in found.steps[0].groups])

    assert errors[-1] > 5 * errors[:-1].max()
    weights = np.polyfit(np.arange(1, 7), found.steps[0].columns()["y"], 1, w=1 / errors)
    assert found.fits[0].values["d"] == pytest.approx(weights[0], rel=1e-3)


def covered(folder: Path, seeds: range, draws: int = 200) -> np.ndarray:
    """How often the 95 % intervals of c, d and of a prediction between the steps hold the truth."""
    path = written(folder, line=LINE, plane=PLANE, pipe=LINES)
    hits = []
    for seed in seeds:
        found = lawdsl.run_pipeline(path, lines(0.1, seed), draws=draws, seed=seed)
        ends = {**found.fits[0].intervals.ends, "first": found.steps[0].groups[0].ends}
        truth = {"c": 0.0, "d": 4.0, "first": 4.0}
        hits.append([ends[k][0] <= truth[k] <= ends[k][1] for k in truth])
    return np.mean(hits, axis=0)


def test_intervals_at_the_end_cover_the_truth_about_as_often_as_they_say(tmp_path: Path):
    share = covered(tmp_path, range(12), draws=50)

    assert (12 * share >= binom.ppf(1e-4, 12, 0.95)).all()


@pytest.mark.slow
def test_intervals_cover_at_their_level(tmp_path: Path, record_property: Any):
    """400 repetitions of the lines, 95 % ± 2.2 % by chance; 50 of three laws, two fits each.

    With five times their noise the last law is hardly determined, c lies on its bound in some
    fits, and the intervals of k and t hold the truth in 83 of 100: docs/pipelines.md says so.
    """
    share = covered(tmp_path, range(400))
    hits: dict[str, list[bool]] = {"c": [], "k": [], "t": []}
    for seed in range(50):
        found = lawdsl.run_pipeline(NESTED, sweep(2e-4, seed), settings=TARGET, seed=seed)
        for fit, t in zip(found.fits, SLOPES.values(), strict=True):
            truth = {"c": 1.5 + 40 / 1e9**0.25, "k": 1 + 30 / 1e5**0.4, "t": t}
            for name, (low, high) in fit.intervals.ends.items():
                hits[name].append(low <= truth[name] <= high)
    nested = [float(np.mean(own)) for own in hits.values()]
    record_property("figure", f"95 % intervals cover: lines {share}, three laws {nested}")

    assert ((share >= 0.915) & (share <= 0.985)).all()
    assert min(nested) >= 0.9


def test_scatter_beyond_the_errors_makes_errors_and_intervals_grow(tmp_path: Path):
    """A run's own offset shows in no residual of its line, but about the next law."""
    path = written(tmp_path, line=LINE, plane=PLANE, pipe=LINES)
    table = lines(0.01, 0)
    plain = lawdsl.run_pipeline(path, table)
    offset = np.random.default_rng(1).normal(size=7)[table["z"].astype(int)]
    shifted = lawdsl.run_pipeline(path, {**table, "y": table["y"] + offset})

    assert plain.steps[1].scatter < 3 < 100 < shifted.steps[1].scatter
    ratio = shifted.fits[0].intervals.errors["d"] / plain.fits[0].intervals.errors["d"]
    assert ratio > 5


def test_without_spare_rows_errors_are_unknown_and_it_is_said(tmp_path: Path):
    path = written(tmp_path, line=LINE, plane=PLANE, pipe=LINES)
    found = lawdsl.run_pipeline(path, lines(0.1, 0, rows=2))

    assert "F0405" in {d.code for d in found.diagnostics}
    assert found.draws == 0 and "y error" not in found.steps[0].columns()
    assert all(group.error is None for group in found.steps[0].groups)


def test_the_same_seed_gives_the_same_result_and_another_does_not(tmp_path: Path):
    path = written(tmp_path, line=LINE, plane=PLANE, pipe=LINES)
    one, again, other = (lawdsl.run_pipeline(path, lines(0.1, 0), seed=s) for s in (3, 3, 4))

    assert one.to_json() == again.to_json()
    assert one.fits[0].intervals != other.fits[0].intervals


# ---- rows and points that a fit presupposes


def sizes_pooled(column: str, shift: float) -> dict[str, Any]:
    """Every row twice, the second time shifted, and a column that tells which is which."""
    rng = np.random.default_rng(1)
    table = {name: np.tile(cells, 2) for name, cells in lines(0, 0, rows=10).items()}
    first = np.arange(120) < 60
    table["y"] = table["y"] + shift * first + 0.01 * rng.normal(size=120)
    return {**table, column: np.where(first, "a", "b"), "accuracy": np.round(table["y"], 3)}


@pytest.mark.parametrize(
    ("column", "shift", "options", "found"),
    [
        ("size", 0.2, {}, ["rows of equal x differ in `size` (a, b)"]),
        ("size", 0.2, {"by": ["size"]}, []),
        ("size", 0.2, {"where": "size = a"}, []),
        ("size", 0.0, {}, []),
        ("Seed", 0.2, {}, []),
    ],
)
def test_curves_of_several_sizes_in_one_fit_are_said(
    column: str, shift: float, options: dict, found: list[str], tmp_path: Path
):
    path = written(tmp_path, line=LINE, plane=PLANE, pipe=LINES)
    result = lawdsl.run_pipeline(path, sizes_pooled(column, shift), draws=0, **options)

    pooled = [d for d in result.diagnostics if d.code == "D0145"]
    assert [d.message.partition(", which")[0] for d in pooled] == found
    assert all("--by size" in (d.help or "") for d in pooled)


def test_broken_premises_are_said_once_and_groups_that_differ_break_none(tmp_path: Path):
    path = written(tmp_path, line=LINE, plane=PLANE, pipe=LINES)
    table = lines(0.1, 0)
    mixed = np.where(np.arange(len(table["z"])) % 2, "gpt2", "llama")
    apart = np.where(table["z"] > 3, "gpt2", "llama")
    codes = [
        [d.code for d in lawdsl.run_pipeline(path, {**table, "tokenizer": x}, draws=0).diagnostics]
        for x in (mixed, apart)
    ]

    assert codes[0].count("D0142") == 1  # six groups
    assert codes[1].count("D0142") == 1  # of the second step, whose rows are the six groups


def test_a_point_far_beyond_the_rows_is_no_result(tmp_path: Path):
    path = written(tmp_path, line=LINE, plane=PLANE, pipe=LINES.replace("x = 3", "x = 3000"))
    result = lawdsl.run_pipeline(path, lines(0.1, 0), draws=0)

    (found,) = [d for d in result.diagnostics if d.code == "F0414"]
    assert "3,000 times as far as its rows, which end at 1 (in 6 of 6 groups)" in found.message
    assert found.notes == ("is it in another unit? the rows have x from 0 to 1",)
    assert not result.ok
