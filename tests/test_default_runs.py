"""Rows of one training run are counted together where a column names the runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from planted import law_of

import lawdsl
from lawdsl.comparing.common_rows import common_rows
from lawdsl.comparing.protocols import parse_protocol
from lawdsl.data.read import read_table
from lawdsl.fitting.options import FitOptions

RUNS, CHECKPOINTS = 12, 8
BY_SIZE = law_of("variable N > 0 unit param\nparameter a, b > 0\nL = a + b/N")
OWN = law_of("variable run > 0\nvariable D > 0 unit token\nparameter a, b > 0\nL = a + b*run/D")


def table(seed: int = 0, **others: Any) -> dict[str, Any]:
    """Twelve runs of eight checkpoints each, whose noise is mostly that of the run."""
    rng = np.random.default_rng(seed)
    N = np.repeat(np.geomspace(1e7, 1e9, RUNS), CHECKPOINTS)
    D = np.tile(np.geomspace(1e9, 3e10, CHECKPOINTS), RUNS)
    off = np.repeat(0.005 * rng.normal(size=RUNS), CHECKPOINTS) + 0.001 * rng.normal(size=len(N))
    L = (1.7 + 400 / N**0.34 + 410 / D**0.28) * np.exp(off)
    return {"N": N, "D": D, "L": L, **others}


LABELS = np.repeat([f"r{i}" for i in range(RUNS)], CHECKPOINTS)


def fitted(rows: dict[str, Any], **options: Any) -> lawdsl.Fit:
    fit = lawdsl.fit("chinchilla", rows, starts=4, claims=False, **options)
    assert isinstance(fit, lawdsl.Fit)
    return fit


@pytest.mark.parametrize("name", ["run", "run_id", "run_name"])
def test_a_column_that_names_the_runs_is_used(name: str):
    default, requested = fitted(table(**{name: LABELS})), fitted(table(**{name: LABELS}), run=name)

    assert default == requested
    assert (default.intervals.by, default.data.runs, default.data.groups) == ("runs", (name,), RUNS)


def test_rows_are_independent_on_request():
    by_run, by_row = fitted(table(run=LABELS)), fitted(table(run=LABELS), run="none")

    assert (by_row.intervals.by, by_row.data.runs, by_row.data.groups) == ("rows", (), None)
    assert by_row == fitted(table())
    assert by_run.intervals.errors["alpha"] > 2 * by_row.intervals.errors["alpha"]
    assert by_run.values == by_row.values


@pytest.mark.parametrize(
    ("why", "labels"),
    [
        ("each row is a run", np.arange(RUNS * CHECKPOINTS)),
        ("a cell is empty", ["", *LABELS[1:]]),
        ("the size of the model changes along a run", np.tile(np.arange(CHECKPOINTS), RUNS)),
    ],
)
def test_a_column_that_does_not_tell_runs_is_not_used(why: str, labels: Any):
    fit = fitted(table(run=labels))

    assert fit.data.runs == () and fit.intervals.by == "rows", why
    assert fit.data.digest == fitted(table()).data.digest


def test_a_column_that_the_law_reads_is_not_that_of_the_runs():
    rows = {"run": np.repeat([1.0, 2.0, 3.0], 6), "D": np.tile(np.arange(1.0, 7), 3)}
    rows["L"] = 2 + rows["run"] / rows["D"]
    fit = lawdsl.fit(OWN, rows, starts=2)
    assert fit.data.runs == ()

    bound = {"N": np.arange(1.0, 13), "run": 2 + 1 / np.arange(1.0, 13)}
    assert lawdsl.fit(BY_SIZE, bound, starts=2, L="run").data.runs == ()


@pytest.mark.parametrize("labels", ["by size", "one"])
def test_the_order_of_laws_does_not_decide_whether_a_column_names_runs(labels: str):
    """Within each value of `run` the model size changes, which one of the laws reads."""
    N, D = (x.ravel() for x in np.meshgrid(np.geomspace(1e7, 1e9, 4), np.geomspace(1e9, 1e11, 4)))
    L = 1.8 + 480 / N**0.35 + 2000 / D**0.37
    names = {"by size": [f"d{i // 4}" for i in range(16)], "one": ["a"] * 16}[labels]
    by_tokens = law_of("variable D > 0 unit token\nparameter a, b > 0\nL = a + b/D", "by_tokens")
    laws = [BY_SIZE, by_tokens]
    table = {"N": N, "D": D, "L": L, "run": names}
    for order in (laws, laws[::-1]):
        rows = common_rows(order, read_table(table), FitOptions(), positive=True)
        assert rows.runs is None and rows.run_columns == ()
        assert "F0155" not in {d.code for d in rows.warnings}


def test_rows_of_a_single_run_are_said_to_be():
    rows = {"D": np.geomspace(1e9, 1e11, 20), "run": ["a"] * 20}
    rows["L"] = 2 + 410 / rows["D"] ** 0.28 + 0.001 * np.random.default_rng(0).normal(size=20)
    law = law_of(
        "variable D > 0 unit token\nparameter E, B > 0\nparameter beta in (0, 2)\nL = E + B/D^beta"
    )
    fit = lawdsl.fit(law, rows, starts=4)

    assert "F0155" in [d.code for d in fit.diagnostics] and fit.verdict != "trusted"
    assert fit.intervals.by == "rows" and set(fit.intervals.ends) == {"E", "B", "beta"}
    assert "F0155" not in [d.code for d in lawdsl.fit(law, rows, starts=4, run="none").diagnostics]


def test_dependence_that_intervals_by_run_count_is_no_finding():
    assert "F0119" in [d.code for d in fitted(table(), run="none").diagnostics]
    assert "F0119" not in [d.code for d in fitted(table(run=LABELS)).diagnostics]
    # of two seeds each: rows that differ in D alone are not of one run
    halves = np.tile(np.repeat(["s", "t"], CHECKPOINTS // 2), RUNS)
    seeds = np.char.add(LABELS, halves)
    assert "F0119" in [d.code for d in fitted(table(run=seeds)).diagnostics]


def test_names_and_order_of_the_runs_do_not_matter():
    mixed = np.random.default_rng(1).permutation(RUNS * CHECKPOINTS)
    renamed = {name: values[mixed] for name, values in table().items()}
    other = fitted({**renamed, "run": np.char.add("x", LABELS[::-1])[mixed]})

    assert other.intervals.errors == pytest.approx(
        fitted(table(run=LABELS)).intervals.errors, rel=1e-9
    )


@pytest.mark.parametrize("intervals", ["delta", pytest.param("profile", marks=pytest.mark.slow)])
def test_intervals_by_run_hold_where_rows_do_not(intervals: str):
    """Of 20 tables, the intervals of alpha hold the true value in far fewer by row than by run."""
    covered = {"none": 0, (): 0}
    for seed in range(20):
        for run in covered:
            fit = lawdsl.fit(
                "chinchilla",
                table(seed, run=LABELS),
                run=run,
                starts=2,
                intervals=intervals,
                claims=False,
                rolled_check=False,
            )
            low, high = fit.intervals.ends["alpha"]
            covered[run] += low <= 0.34 <= high

    assert covered[()] >= 17 and covered["none"] <= 14


# ---- comparisons


def folds(name: str, rows: dict[str, Any], **options: Any) -> list[Any]:
    law = lawdsl.load("chinchilla")
    data = common_rows([law], read_table(rows), FitOptions(**options), positive=True)
    labels = np.array(data.table.texts("run"))
    return [(set(labels[f.fit]), set(labels[f.test])) for f in parse_protocol(name).folds(data)]


@pytest.mark.parametrize("name", ["splits", "leave-one-out:N", "growing:N", "largest:cost"])
def test_no_run_is_fitted_and_tested_at_once(name: str):
    for fitted_runs, tested_runs in folds(name, table(run=LABELS)):
        assert fitted_runs and tested_runs and not fitted_runs & tested_runs
    if name == "splits":
        assert any(fit & test for fit, test in folds(name, table(run=LABELS), run=("none",)))


def test_a_comparison_says_how_many_runs_it_keeps_together(tmp_path: Path):
    path = tmp_path / "runs.csv"
    rows = table(run=LABELS)
    lines = [",".join(map(str, row)) for row in zip(*rows.values(), strict=True)]
    path.write_text("\n".join([",".join(rows), *lines]) + "\n", encoding="utf-8")
    options = ("compare", "chinchilla", path, "--protocol", "largest:cost", "--starts", "2")
    text = commands.run(*options).stdout
    assert "rows of a run stay together: 12 runs, column run" in text
    result = json.loads(commands.run(*options, "--run", "none", "--json").stdout)["result"]
    assert (result["data"]["runs"], result["data"]["groups"]) == ([], None)


# ---- what is printed


def test_a_fit_says_by_what_its_intervals_count(tmp_path: Path):
    path = tmp_path / "runs.csv"
    rows = table(run=LABELS)
    lines = [",".join(map(str, row)) for row in zip(*rows.values(), strict=True)]
    path.write_text("\n".join([",".join(rows), *lines]) + "\n", encoding="utf-8")

    assert (
        "intervals by run: 12 runs, column run"
        in commands.run("fit", "chinchilla", path, "--starts", "4").stdout
    )
    alone = commands.run("fit", "chinchilla", path, "--starts", "4", "--run", "none").stdout
    assert "by run" not in alone
