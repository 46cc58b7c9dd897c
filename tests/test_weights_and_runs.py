"""What a row counts, and which training run it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from planted import PLANTED

import lawdsl
from lawdsl.cli import cli
from lawdsl.core.objectives import Objective
from lawdsl.data.binding import Runs, bind
from lawdsl.data.read import read_table
from lawdsl.fitting.preparation.build_problem import problem_of

P = PLANTED["chinchilla"]
LAW = lawdsl.load("chinchilla")
ROWS = len(P.columns["N"])
COUNTS = np.random.default_rng(2).integers(0, 4, ROWS)
OBJECTIVES = ("huber(log)", "huber(raw)", "squared(log)", "squared(raw)")


def table(**more: Any) -> dict[str, Any]:
    return {**P.table(0.01), **more}


def repeated(columns: dict[str, Any], counts: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.repeat(column, counts) for name, column in columns.items()}


def bound(columns: Any, **options: Any) -> Runs:
    return bind(LAW, read_table(columns), {}, **options)


def refused(columns: Any, **options: Any) -> lawdsl.Diagnostic:
    with pytest.raises(lawdsl.LawdslError) as error:
        bound(columns, **options)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.help
    return diagnostic


# Weights


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_objective_of_weighted_rows_is_that_of_rows_repeated(objective: str):
    loss, _, scale = objective.rstrip(")").partition("(")
    chosen = Objective(loss, scale == "log", 1e-3)
    one = bound(table(w=COUNTS), weights="w")
    other = bound(repeated(table(), COUNTS))
    assert one.weights is not None and one.weights.sum() == len(other.target)
    weighted = problem_of(LAW, one.columns, one.target, chosen, one.weights)
    plain = problem_of(LAW, other.columns, other.target, chosen)
    free = np.random.default_rng(0).normal(0, 1, (5, plain.parameters))

    assert weighted.losses(free) == pytest.approx(plain.losses(free), rel=1e-12)
    for point in free:
        value, gradient = weighted.loss_and_gradient(point)
        expected, slopes = plain.loss_and_gradient(point)
        assert value == pytest.approx(expected, rel=1e-12)
        assert gradient == pytest.approx(slopes, rel=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_whole_weights_give_the_fit_of_rows_repeated(objective: str):
    one = lawdsl.fit("chinchilla", table(w=COUNTS), weights="w", objective=objective, starts=8)
    other = lawdsl.fit("chinchilla", repeated(table(), COUNTS), objective=objective, starts=8)

    assert one.objective.sum == pytest.approx(other.objective.sum, rel=1e-9)
    assert one.objective.mean == pytest.approx(other.objective.mean, rel=1e-9)
    assert one.values == pytest.approx(other.values, rel=1e-4)
    assert one.metrics.r2 == pytest.approx(other.metrics.r2, rel=1e-9)
    assert one.metrics.mae == pytest.approx(other.metrics.mae, rel=1e-6)


def test_equal_weights_change_nothing_but_the_sum():
    one = lawdsl.fit("chinchilla", table(), weights=np.full(ROWS, 1.0), starts=4)
    other = lawdsl.fit("chinchilla", table(), starts=4)

    assert one.values == pytest.approx(other.values, rel=1e-6)
    assert one.objective.mean == pytest.approx(other.objective.mean, rel=1e-9)


def test_an_array_of_weights_is_one_number_a_row_of_the_table():
    one = bound(table(w=COUNTS), weights="w", where=["N > 2e8"])
    other = bound(table(), weights=COUNTS, where=["N > 2e8"])

    assert one.weights == pytest.approx(other.weights)
    assert (one.digest, one.weighted, other.weighted) == (other.digest, "w", "(weights)")


def test_rows_of_weight_0_are_left_out_whatever_they_hold():
    columns = table(w=COUNTS)
    columns["L"] = np.where(COUNTS == 0, -1.0, columns["L"])
    found = bound(columns, weights="w")

    assert len(found.weights) == np.sum(COUNTS > 0) and found.weights.min() > 0
    assert found.dropped == 0


def test_weights_stay_with_their_rows():
    columns = table(w=np.arange(1.0, ROWS + 1))
    found = bound(columns, weights="w")
    weight_of = dict(zip(columns["L"], columns["w"], strict=True))

    assert [weight_of[x] for x in found.target] == list(found.weights)


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (-1.0, "-1 is not a weight"),
        (np.nan, "nan is not a weight"),
        (np.inf, "inf is not a weight"),
    ],
)
def test_a_weight_that_is_none_is_refused_with_its_row(weight: float, said: str):
    column = np.where(np.arange(ROWS) == 4, weight, 1.0)
    found = refused(table(w=column), weights="w")

    assert found.code == "D0117" and said in found.message
    assert found.place.endswith(":5 column w")
    assert bound(table(w=column), weights="w", drop_bad=True).dropped == 1


@pytest.mark.parametrize(
    ("weights", "code"),
    [
        ("v", "D0104"),
        (np.ones(ROWS - 1), "D0117"),
        (np.ones((ROWS, 2)), "D0117"),
        (["a"] * ROWS, "D0117"),
        (np.zeros(ROWS), "D0117"),
    ],
)
def test_weights_of_another_form_are_refused(weights: Any, code: str):
    assert refused(table(w=np.ones(ROWS)), weights=weights).code == code


def test_a_weight_that_is_text_is_refused_with_its_row(tmp_path: Path):
    path = tmp_path / "runs.csv"
    path.write_text("N,D,L,w\n1e8,1e9,3,1\n1e8,2e9,3,x\n")
    found = refused(path, weights="w")

    assert found.code == "D0106" and found.place.endswith("runs.csv:3 column w")


# Training runs


def groups(columns: dict[str, list[Any]]) -> list[int]:
    """The groups in the order of the table: L grows with the rows."""
    count = len(next(iter(columns.values())))
    data = {"N": np.ones(count), "D": np.ones(count), "L": np.arange(1.0, count + 1)}
    found = bound({**data, **columns}, run=list(columns))
    assert found.groups is not None
    return list(found.groups)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["a", "b", "a", "c"], [0, 1, 0, 2]),
        (["c", "b", "c", "a"], [2, 1, 2, 0]),
        ([7, 7, 3, 5], [2, 2, 0, 1]),
        (["10", "9", "9.0", "x"], [1, 0, 0, 2]),
        ([0.5, 0.25, 0.5, 0.5], [1, 0, 1, 1]),
    ],
)
def test_rows_with_one_label_are_of_one_run(labels: list[Any], expected: list[int]):
    assert groups({"run": labels}) == expected


def test_several_columns_tell_runs_apart_together():
    found = groups({"size": ["S", "S", "L", "L"], "seed": [1, 2, 1, 1]})

    assert found == [1, 2, 0, 0]


def test_runs_do_not_depend_on_the_order_of_the_rows():
    labels = np.array([f"run{i % 5}" for i in range(ROWS)])
    columns = table(run=labels)
    order = np.random.default_rng(1).permutation(ROWS)
    one = bound(columns, run=["run"])
    other = bound({name: column[order] for name, column in columns.items()}, run=["run"])

    assert list(one.groups) == list(other.groups)


def test_without_a_column_no_runs_are_known():
    assert bound(table(run=["a"] * ROWS)).groups is None


def test_a_row_of_no_run_is_refused_with_its_place(tmp_path: Path):
    path = tmp_path / "runs.csv"
    path.write_text("N,D,L,run\n1e8,1e9,3,a\n1e8,2e9,2.5,\n1e8,3e9,2.4,b\n")
    found = refused(path, run=["run"])

    assert found.code == "D0118" and found.place.endswith("runs.csv:3 column run")
    kept = bound(path, run=["run"], drop_bad=True)
    assert kept.dropped == 1 and list(kept.groups) == [1, 0]


def test_a_run_column_that_is_not_there_is_refused():
    found = refused(table(run=["a"] * ROWS), run=["runs"])

    assert found.code == "D0104" and "did you mean `run`?" in found.help


# The fit says so


def test_a_fit_keeps_what_its_rows_count_and_come_from(tmp_path: Path):
    columns = table(w=COUNTS + 1, run=np.arange(ROWS) % 6)
    fit = lawdsl.fit("chinchilla", columns, weights="w", run="run", starts=4)
    fit.save(tmp_path / "fit.json")
    loaded = lawdsl.Fit.load(tmp_path / "fit.json")

    assert (fit.data.weights, fit.data.runs, fit.data.groups) == ("w", ("run",), 6)
    assert loaded == fit
    plain = lawdsl.fit("chinchilla", columns, starts=4, run="none")
    assert (plain.data.weights, plain.data.runs, plain.data.groups) == (None, (), None)
    assert plain.data.digest != fit.data.digest


def test_the_command_takes_weights_and_runs(tmp_path: Path):
    path = tmp_path / "runs.csv"
    columns = table(w=COUNTS + 1, size=np.arange(ROWS) % 3, seed=np.arange(ROWS) % 2)
    lines = [",".join(map(repr, map(float, row))) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    options = ["--weights", "w", "--run", "size", "--run", "seed", "--starts", "4"]
    done = CliRunner().invoke(cli, ["fit", "chinchilla", str(path), *options])

    assert "rows are weighted by w" in done.output
    assert "intervals by run: 6 runs, columns size, seed" in done.output
    done = CliRunner().invoke(cli, ["fit", "chinchilla", str(path), *options, "--json"])
    data = json.loads(done.output)["result"]["data"]
    assert (data["weights"], data["runs"], data["groups"]) == ("w", ["size", "seed"], 6)
