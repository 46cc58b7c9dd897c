"""Comparison by the largest runs: what is held out, how intervals are scored, and what is printed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import commands
import numpy as np
import pytest
from planted import law_of

import lawdsl
from lawdsl.comparing.common_rows import CommonRows, common_rows
from lawdsl.comparing.interval_score import score_intervals
from lawdsl.comparing.largest_first import largest_runs
from lawdsl.comparing.protocols import parse_protocol
from lawdsl.comparing.run_cost import costs
from lawdsl.data.read import read_table
from lawdsl.fitting.options import FitOptions

RNG = np.random.default_rng(0)

KAPLAN = law_of(
    """
variable N > 0 unit param
variable D > 0 unit token
parameter E > 0
parameter B > 0
parameter beta in (0, 2)
L = E + B/D^beta
minimize huber(log(L), 1e-3)
"""
)


def grid(sizes: int = 8, seed: int = 0) -> dict[str, np.ndarray]:
    """A table of chinchilla's law: sizes from 1e7 on, each with 10 to 40 tokens a parameter."""
    rng = np.random.default_rng(seed)
    N = np.repeat(1e7 * 2.0 ** np.arange(sizes), 3)
    D = N * np.tile([10.0, 20.0, 40.0], sizes)
    L = 1.7 + 400 / N**0.34 + 410 / D**0.28
    return {"N": N, "D": D, "L": L * np.exp(0.002 * rng.normal(size=len(N)))}


def rows(table: dict, *, run: tuple[str, ...] = (), cost: str | None = None) -> CommonRows:
    return common_rows(
        [lawdsl.load("chinchilla")],
        read_table(table),
        FitOptions(run=run),
        positive=True,
        cost=cost,
    )


# ---- the split


def test_the_most_expensive_tenth_of_the_runs_is_held_out():
    cost = RNG.permutation(np.geomspace(1, 1000, 50))
    split = largest_runs(cost)

    assert sorted(cost[split.held_out]) == sorted(cost)[-5:]
    assert split.smallest == sorted(cost)[-5]


def test_of_few_budgets_the_largest_is_held_out_whole():
    budget = np.repeat([1e18, 3e18, 1e19, 1e20], [20, 20, 20, 2])
    split = largest_runs(budget * (1 + 1e-3 * RNG.uniform(size=62)))

    assert np.array_equal(split.held_out, budget == 1e20)


def test_fitted_runs_cost_at_most_a_part_of_the_cheapest_held_out():
    cost = np.geomspace(1, 1000, 50)
    split = largest_runs(cost)
    for ratio in (3.0, 10.0):
        assert cost[split.fitted(ratio)].max() <= split.smallest / ratio * (1 + 1e-9)
        assert cost[~split.held_out & ~split.fitted(ratio)].min() > split.smallest / ratio
    assert np.array_equal(split.fitted(1.0), ~split.held_out)


def test_no_row_of_a_run_that_is_held_out_is_fitted():
    runs = np.repeat(np.arange(20), 6)
    cost = (1.5**runs) * np.tile([0.01, 0.05, 0.1, 0.3, 0.6, 1.0], 20)
    split = largest_runs(cost, runs)

    for ratio in (1.0, 3.0, 10.0):
        fitted = set(runs[split.fitted(ratio)])
        assert not fitted & set(runs[split.held_out])
        # whole runs, by the cost of their last row
        assert np.array_equal(split.fitted(ratio), np.isin(runs, list(fitted)))
        assert fitted and max(fitted) == max(
            run for run in range(18) if ratio == 1 or 1.5**run <= 1.5**18 / ratio * (1 + 1e-9)
        )


def test_another_order_or_name_of_the_runs_changes_nothing():
    runs = np.repeat(np.arange(12), 5)
    cost = (2.0**runs) * np.tile([0.1, 0.2, 0.4, 0.7, 1.0], 12)
    mixed = RNG.permutation(60)
    split, other = largest_runs(cost, runs), largest_runs(cost[mixed], 100 - runs[mixed])

    assert np.array_equal(other.held_out, split.held_out[mixed])
    assert np.array_equal(other.fitted(3.0), split.fitted(3.0)[mixed])


@pytest.mark.parametrize("scale", [1e-9, 1e12])
def test_the_unit_of_the_cost_does_not_matter(scale: float):
    cost = np.geomspace(1, 1000, 50)
    split, other = largest_runs(cost), largest_runs(cost * scale)

    assert np.array_equal(split.held_out, other.held_out)
    assert np.array_equal(split.fitted(10.0), other.fitted(10.0))


def test_size_and_cost_may_differ():
    table = grid()
    split = largest_runs(table["N"], cost=6 * table["N"] * table["D"])

    assert set(table["N"][split.held_out]) == {table["N"].max()}
    assert split.smallest == pytest.approx(6 * 10 * table["N"].max() ** 2)


# ---- the cost


def test_a_run_costs_six_flops_for_each_parameter_and_token():
    data = rows(grid())

    assert np.allclose(costs(data), 6 * data.values("N") * data.values("D"), rtol=1e-12)


def test_a_formula_of_variables_and_columns_is_evaluated():
    table = grid() | {"gpus": np.full(24, 8.0), "gpu hours": np.arange(1.0, 25.0)}
    data = rows(table, cost="2*N^1.5*gpus/(3*D)")
    assert np.allclose(costs(data), 2 * data.values("N") ** 1.5 * 8 / (3 * data.values("D")))
    named = rows(table, cost="gpu hours")
    assert np.array_equal(costs(named), named.values("gpu hours"))
    assert np.array_equal(costs(rows(table | {"cost": table["N"]})), data.values("N"))


def test_other_names_are_told_by_their_units():
    law = law_of(
        "variable P > 0 unit param\nvariable T > 0 unit token\nparameter a, b > 0\nL = a/P + b/T"
    )
    table = {"P": [1e6, 2e6, 3e6], "T": [1e9, 2e9, 4e9], "L": [3.0, 2.5, 2.2]}
    data = common_rows([law], read_table(table), FitOptions(), positive=True)

    assert sorted(costs(data)) == [6e15, 24e15, 72e15]


@pytest.mark.parametrize(
    ("cost", "code"),
    [
        ("N + D", "F0207"),
        ("-N", "F0207"),
        ("exp(N)", "F0207"),
        ("N^D", "F0207"),
        ("__import__('os').system('false')", "L0101"),
        ("6*N*", "L0207"),
        ("6*N*flop", "F0202"),
        ("N*0", "F0208"),
        ("N*debt", "F0208"),
    ],
)
def test_a_cost_that_cannot_be_computed_is_refused(cost: str, code: str):
    table = grid() | {"debt": np.linspace(-1, 1, 24)}
    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.compare("chinchilla", table, protocols="largest:cost", cost=cost)
    assert code in [d.code for d in error.value.diagnostics]


@pytest.mark.parametrize(
    ("cost", "column", "part"),
    [("6*N*", 4, "*"), ("  gpus  hours", 3, "gpus  hours"), ("6*N\n*D *", 8, "*")],
)
def test_a_mistake_in_a_cost_is_shown_in_the_text_as_given(cost: str, column: int, part: str):
    table = grid()
    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.compare("chinchilla", table, protocols="largest:cost", cost=cost)
    (mistake,) = error.value.diagnostics
    assert mistake.text is not None and mistake.span is not None

    assert mistake.text.text == cost.replace("\n", " ") and mistake.text.name == "--cost"
    assert mistake.text.position(mistake.span.start) == (1, column)
    assert cost[mistake.span.start : mistake.span.end] == part
    assert "tie" not in str(error.value) and "largest:cost" not in str(error.value)


def test_without_size_and_tokens_the_cost_must_be_given():
    law = law_of("variable r > 0\nparameter a, b > 0\nL = a + b*r")
    table = {"r": np.linspace(0.1, 1, 20), "L": np.linspace(2, 3, 20), "flops": np.arange(1.0, 21)}
    with pytest.raises(lawdsl.LawdslError, match="F0207"):
        lawdsl.compare(law, table, protocols="largest:cost")
    with pytest.raises(lawdsl.LawdslError, match="F0202"):
        lawdsl.compare(law, table | {"flops": np.ones(20)}, protocols="largest:flops")


# ---- the score


def test_the_score_is_the_interval_score_of_the_logarithms():
    predicted = np.exp(RNG.normal(size=40))
    low = predicted * np.exp(-0.01 * RNG.uniform(0.5, 2, 40))
    high = predicted * np.exp(0.01 * RNG.uniform(0.5, 2, 40))
    measured = predicted * np.exp(0.01 * RNG.normal(size=40))
    summary = score_intervals(predicted, low, high, measured).summary()

    # Gneiting and Raftery (2007), equation 43, row by row
    expected, inside, alpha = [], [], 0.05
    for lower, upper, value in zip(np.log(low), np.log(high), np.log(measured), strict=True):
        score = upper - lower
        score += 2 / alpha * (lower - value) * (value < lower)
        score += 2 / alpha * (value - upper) * (value > upper)
        expected.append(score)
        inside.append(lower <= value <= upper)
    assert 0.3 < np.mean(inside) < 0.98
    assert summary.score == pytest.approx(np.mean(expected), rel=1e-9)
    assert summary.inside == np.mean(inside)
    assert summary.width == pytest.approx(np.median(np.log(high / low)), rel=1e-9)
    assert summary.error == pytest.approx(np.median(np.abs(predicted / measured - 1)), rel=1e-9)


def test_an_infinite_interval_contains_everything_and_scores_worst():
    summary = score_intervals(
        np.ones(2), np.array([0.9, 0.0]), np.array([1.1, np.inf]), np.ones(2)
    ).summary()

    assert summary.inside == 1 and summary.score == math.inf


def test_a_prediction_without_a_value_scores_worst():
    summary = score_intervals(
        np.array([np.nan]), np.array([np.nan]), np.array([np.nan]), np.ones(1)
    ).summary()

    assert summary.inside == 0 and summary.score == math.inf and summary.error == math.inf


# ---- the ranking


@pytest.fixture(scope="module")
def ranked() -> lawdsl.Comparison:
    return lawdsl.compare(["chinchilla", KAPLAN], grid(), protocols=["largest:cost"], starts=1)


def test_the_law_that_made_the_data_predicts_its_largest_runs_best(ranked: lawdsl.Comparison):
    overall = ranked.ranking("largest:cost")

    assert [s.law for s in overall.standings] == ["chinchilla", "example"]
    assert [r.part for r in ranked.rankings] == ["", "R = 1", "R = 3", "R = 10"]
    best = overall.standings[0].interval_scores
    assert best.inside >= 0.95 and best.error < 0.02 and best.score < 0.1


def test_the_score_of_the_whole_is_the_mean_of_its_parts(ranked: lawdsl.Comparison):
    for law in ("chinchilla", "example"):
        parts = [next(s for s in ranking.standings if s.law == law) for ranking in ranked.rankings]
        assert parts[0].score == pytest.approx(np.mean([s.score for s in parts[1:]]))
        assert [s.score for s in parts[1:]] == [s.folds[0].interval_scores.score for s in parts[1:]]


def test_a_score_is_what_the_fit_of_the_smaller_runs_predicts():
    """The same by hand: split, fit and interval, with the default error of the law."""
    table = grid()
    comparison = lawdsl.compare("chinchilla", table, protocols="largest:N", cost="6*N*D", starts=3)
    cost = 6 * table["N"] * table["D"]
    held_out = table["N"] == table["N"].max()
    fitted = ~held_out & (cost <= cost[held_out].min() / 3)
    fit = lawdsl.fit("chinchilla", {k: v[fitted] for k, v in table.items()}, starts=3)
    band = fit.predict_with_errors({k: table[k][held_out] for k in ("N", "D")})
    measured = table["L"][held_out]
    score = np.log(band.run_high / band.run_low)
    score += 40 * np.maximum(np.log(measured / band.run_high), 0)
    score += 40 * np.maximum(np.log(band.run_low / measured), 0)

    (standing,) = comparison.ranking("largest:N", "R = 3").standings
    assert standing.folds[0].fitted == fitted.sum() and standing.folds[0].tested == 3
    assert standing.score == pytest.approx(np.mean(score), rel=1e-4)
    assert standing.interval_scores.error == pytest.approx(
        np.median(np.abs(band.values / measured - 1)), rel=1e-3
    )


def test_laws_taken_as_right_have_other_intervals(ranked: lawdsl.Comparison):
    right = lawdsl.compare(
        "chinchilla", grid(), protocols="largest:cost", discrepancy=0, starts=3
    ).ranking("largest:cost", "R = 1")

    assert "taken as right" in right.criterion
    wrong = ranked.ranking("largest:cost", "R = 1")
    assert "2 % per decade" in wrong.criterion
    assert right.standings[0].interval_scores.width != wrong.standings[0].interval_scores.width
    with pytest.raises(lawdsl.LawdslError, match="F0133"):
        lawdsl.compare("chinchilla", grid(), protocols="largest:cost", discrepancy=2)


def test_a_ratio_that_leaves_too_little_is_said():
    table = grid(sizes=4)  # at R = 10 one size is left, at R = 3 two
    comparison = lawdsl.compare("chinchilla", table, protocols="largest:N", starts=1)
    (warning,) = [d for d in comparison.diagnostics if d.code == "F0209"]

    assert any("R = 10" in note for note in warning.notes)
    last = comparison.ranking("largest:N", "R = 10").standings[0]
    assert last.score == math.inf and last.folds[0].undetermined
    overall = comparison.ranking("largest:N")
    assert overall.folds < 3 and math.isfinite(overall.standings[0].score)


def test_runs_stay_together_and_their_names_do_not_matter():
    table = grid()
    table["run"] = np.array([f"r{i // 3}" for i in range(24)])
    renamed = table | {"run": np.array([f"x{(7 * (i // 3)) % 11}" for i in range(24)])}
    mixed = RNG.permutation(24)
    renamed = {name: values[mixed] for name, values in renamed.items()}
    first, second = (
        lawdsl.compare("chinchilla", t, protocols="largest:cost", run="run", starts=3)
        for t in (table, renamed)
    )

    assert first.data.runs == ("run",) and first.data.groups == 8
    assert [s.folds[0].tested for s in first.ranking("largest:cost", "R = 3").standings] == [3]
    assert first.ranking("largest:cost").unit == "runs"
    for one, two in zip(first.rankings, second.rankings, strict=True):
        assert one.standings[0].score == pytest.approx(two.standings[0].score, rel=1e-6)


def test_measurements_in_other_units_have_the_same_scores(tmp_path: Path):
    table = grid()
    lines = [
        f"{float(n / 1e6)!r},{float(d / 1e9)!r},{float(x)!r}"
        for n, d, x in zip(*table.values(), strict=True)
    ]
    path = tmp_path / "units.csv"
    path.write_text("N [Mparam],D [Gtoken],L\n" + "\n".join(lines) + "\n", encoding="utf-8")
    one, two = (
        lawdsl.compare("chinchilla", t, protocols="largest:cost", starts=3).ranking("largest:cost")
        for t in (table, path)
    )

    assert one.standings[0].score == pytest.approx(two.standings[0].score, rel=1e-6)


def test_values_without_a_logarithm_are_refused():
    law = law_of("variable D > 0\nparameter a, b\nL = a + b*D\nminimize squared(L)")
    table = {"D": np.arange(1.0, 21), "L": np.arange(-3.0, 17)}
    with pytest.raises(lawdsl.LawdslError, match="F0202"):
        lawdsl.compare(law, table, protocols="largest:D")


def test_folds_of_the_largest_test_the_same_rows():
    folds = parse_protocol("largest:cost").folds(rows(grid()))

    assert len({tuple(fold.test) for fold in folds}) == 1
    for fold in folds:
        assert not set(fold.fit) & set(fold.test)


# ---- the command


@pytest.fixture
def table_path(tmp_path: Path) -> Path:
    path = tmp_path / "grid.csv"
    table = grid()
    lines = [",".join(repr(float(x)) for x in row) for row in zip(*table.values(), strict=True)]
    path.write_text("N,D,L\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_command_prints_each_ratio(table_path: Path):
    done = commands.run("compare", "chinchilla", table_path, "--protocol", "largest:cost")

    assert done.returncode == 0, done.stderr
    for text in ("error", "inside", "width", "2 % per decade", "fitted", "held out"):
        assert text in done.stdout, text
    right = commands.run(
        "compare", "chinchilla", table_path, "--protocol", "largest:N", "--wrong", "0", "--json"
    )
    ranking = json.loads(right.stdout)["result"]["rankings"][0]
    assert "taken as right" in ranking["criterion"]
    assert set(ranking["standings"][0]["interval_scores"]) == {"error", "inside", "width", "score"}


@pytest.mark.parametrize("option", [("--cost", "N*D"), ("--wrong", "5%")])
def test_an_option_of_the_largest_runs_is_refused_with_other_protocols(option: tuple[str, str]):
    table_path = str(Path(lawdsl.__file__).parent.parent / "laws" / "data" / "c4_share.csv")
    done = commands.run("compare", "dcpt.share", table_path, "--protocol", "splits", *option)
    assert done.returncode == 2
    assert f"{option[0]} concerns the largest runs" in done.stderr
