"""Figures of sweeps: the runs of a plan or of a table, what they cost, and their losses."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sweeps
from commands import run

from lawdsl.core.diagnostics import LawdslError
from lawdsl.data.read import read_table
from lawdsl.figures.draw import draw
from lawdsl.runners.sweeps.plan import Plan

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "laws" / "data" / "four_domains.csv"
COMMAND = Path(__file__).with_name("sweep_command.py")


def last_rows(path: Path) -> dict[str, dict[str, str]]:
    """Run -> its row with the most tokens, headers without units; read without lawdsl."""
    with path.open(encoding="utf-8") as file:
        found: dict[str, dict[str, str]] = {}
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            plain = {name.partition(" [")[0]: cell for name, cell in row.items()}
            before = found.get(plain["run"])
            if before is None or float(plain["D"]) > float(before["D"]):
                found[plain["run"]] = plain
    return found


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """Six runs: two done, one half-way, one diverged, two new."""
    made = sweeps.planned(sweeps.made(tmp_path))
    states = ["done", "begun", "diverged", "done", "new", "new"]
    runs = [
        replace(
            planned,
            state=replace(
                planned.state,
                status=status,
                step={"done": 1.0, "begun": 0.5}.get(status, 0) * planned.order.run.training.steps,
                losses={"code": 2.0 + n} if status != "new" else {},
            ),
        )
        for n, (planned, status) in enumerate(zip(made.runs, states, strict=True))
    ]
    return replace(made, runs=tuple(runs))


def test_a_table_has_the_last_row_of_each_run():
    figure = draw(read_table(TABLE))
    rows = last_rows(TABLE)
    assert len(figure.columns["N"]) == len(rows)
    for name in ("N", "D", "r_perl", "L_code"):
        assert sorted(figure.columns[name]) == sorted(float(row[name]) for row in rows.values())
    flop = sum(6 * float(row["N"]) * float(row["D"]) for row in rows.values())
    assert f"{len(rows)} of {len(rows)} runs done" in figure.title
    assert f"{flop:.2g}".replace("e+", "e") in figure.title


def test_cells_count_the_runs_of_a_table():
    spec = draw(read_table(TABLE)).chart.to_dict()
    cells = [row for row in rows_in(spec) if {"across", "down", "runs"} <= set(row)]
    rows = last_rows(TABLE).values()
    thirds = sum(abs(float(row["r_perl"]) - 1 / 3) < 1e-3 for row in rows)
    (cell,) = [c for c in cells if (c["across"], c["down"]) == ("0.333", "perl")]
    assert (cell["runs"], cell["done"], cell["failed"]) == (thirds, thirds, 0)


def rows_in(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """All rows of data in a specification."""
    return [row for rows in spec["datasets"].values() for row in rows]


def test_a_plan_says_what_is_done_and_what_is_to_come(plan: Plan):
    figure = plan.plot()
    assert figure.columns["state"] == ["done", "to come", "failed", "done", "to come", "to come"]
    assert figure.columns["N"] == [run.order.columns["N"] for run in plan.runs]
    spent = {model: 0.0 for model in ("small", "large")}
    coming = dict(spent)
    for run_, share, left in zip(
        plan.runs, (1, 0.5, 0, 1, 0, 0), (0, 0.5, 0, 0, 1, 1), strict=True
    ):
        spent[run_.order.run.model.name] += share * run_.flops
        coming[run_.order.run.model.name] += left * run_.flops
    bars = {
        (r["model"], r["state"]): r["flop"] for r in rows_in(figure.chart.to_dict()) if "flop" in r
    }
    for model, flop in spent.items():
        assert bars[model, "done"] == pytest.approx(flop)
        assert bars[model, "to come"] == pytest.approx(coming[model])
    assert "2 of 6 runs done, 1 failed" in figure.title
    assert f"{sum(coming.values()):.2g}".replace("e+", "e") in figure.title
    losses = [x for x in figure.columns["L_code"] if np.isfinite(x)]
    assert losses == [2.0, 3.0, 4.0, 5.0]


def test_many_rows_are_put_in_ranges():
    rng = np.random.default_rng(0)
    count = 60_000
    table = {
        "N": rng.choice([1e7, 1e8], count),
        "D": rng.uniform(1e8, 1e10, count),
        "r_code": rng.uniform(0, 1, count),
        "L_code": rng.uniform(2, 4, count),
    }
    figure = draw(read_table(table))
    cells = [row for row in rows_in(figure.chart.to_dict()) if {"across", "runs"} <= set(row)]
    assert len(cells) <= 2 * 2 * 14
    assert sum(cell["runs"] for cell in cells) == 2 * count
    assert "D in 14 ranges, named by their middles" in figure.notes
    assert "2,000 of 60,000 runs have a point in the panels of losses" in figure.notes


def test_sizes_that_are_all_different_are_put_in_ranges_too():
    rng = np.random.default_rng(0)
    count = 3_000
    N, D = 10 ** rng.uniform(7, 9, count), 10 ** rng.uniform(9, 11, count)
    figure = draw(read_table({"N [param]": N, "D [token]": D, "L": rng.uniform(2, 4, count)}))
    assert "D in 14 and N in 8 ranges, named by their middles" in figure.notes
    spec = figure.chart.to_dict()
    bars = [row for row in rows_in(spec) if {"model", "flop"} <= set(row)]
    assert len({bar["model"] for bar in bars}) == 8
    assert sum(bar["flop"] for bar in bars) == pytest.approx(6 * np.sum(N * D))
    # a value of its own for each would be a legend of thousands of entries
    assert len(json.dumps(spec["vconcat"])) < 30_000


def test_a_table_that_is_none_of_runs_is_refused():
    with pytest.raises(LawdslError) as caught:
        draw(read_table({"r": [0.1, 0.2], "L": [3.0, 2.9]}))
    assert caught.value.diagnostics[0].code == "G0113"


def test_the_command_draws_tables_and_sweeps(tmp_path: Path):
    done = run("plot", TABLE, "-o", "runs.svg", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["result"]["kind"] == "sweep"
    assert (tmp_path / "runs.svg").read_bytes().startswith(b"<svg")
    path = sweeps.made(tmp_path)
    command = [sys.executable, str(COMMAND), "plot", str(path), "--json"]
    drawn = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    result = json.loads(drawn.stdout)["result"]
    assert result["file"] == "sweep-sweep.svg" and result["rows"] == 6
    assert "0 of 6 runs done" in result["title"]


def test_a_table_without_a_run_that_has_tokens_is_refused():
    with pytest.raises(LawdslError) as caught:
        draw(read_table({"N": [1e8, 1e9], "D": [np.nan, np.nan]}))
    assert caught.value.diagnostics[0].code == "G0113"


def test_runs_of_a_table_count_as_done_only_where_they_have_ended():
    runs = {"N": [1e8, 1e8, 1e9], "D": [1e9] * 3}
    title = draw(read_table({**runs, "status": ["running", "killed", "done"]})).title
    assert "1 of 3 runs done, 1 failed" in title
    assert "3 of 3 runs done" in draw(read_table(runs)).title


def test_sizes_without_units_have_no_compute():
    figure = draw(read_table({"N": [0.1, 1.0], "D": [1.0, 2.0]}))
    assert "FLOP" not in figure.title and "FLOP" not in figure.encoded("json").decode()
    assert any("no units" in note for note in figure.notes)
    figure = draw(read_table({"N [Gparam]": [0.1, 1.0], "D [Gtoken]": [1.0, 2.0]}))
    assert "1.3e19 FLOP" in figure.title
