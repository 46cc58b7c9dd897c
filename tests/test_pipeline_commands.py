"""Groups of a pipeline, its command, and real measurements."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pc
import pytest
from click.testing import CliRunner
from test_run_pipeline import NESTED, TARGET, sweep, written

import lawdsl
from lawdsl.cli import cli
from lawdsl.core.diagnostics import LawdslError

# ---- groups and mistakes


def test_a_group_that_cannot_be_fitted_is_left_out_and_named():
    table = sweep()
    some = [
        not (m == "mix2" and N == 1e8 and d == "web" and S > 1e4)
        for m, N, d, S in zip(*(table[k] for k in ("mixture", "N", "domain", "S")), strict=True)
    ]
    kept = {k: [x for x, keep in zip(v, some, strict=True) if keep] for k, v in table.items()}
    found = lawdsl.run_pipeline(NESTED, kept, settings=TARGET, draws=0)

    (left,) = found.steps[0].left_out
    assert left.labels == {"mixture": "mix2", "N": "100000000.0", "domain": "web"}
    assert "needs at least 3 rows" in left.left_out
    (warning,) = [d for d in found.diagnostics if d.code == "F0404"]
    assert "1 of 40 groups" in warning.message and "mix2" in warning.notes[0]
    assert not found.ok
    assert len(found.steps[1].groups) == 10
    assert found.fits[1].values["t"] == pytest.approx(-0.5, rel=1e-3)


RUNS = [
    ({}, {"settings": {"S_target": 1e5}}, "F0401", "needs values of N_target"),
    ({}, {"settings": {**TARGET, "S_target": -1}}, "F0401", "outside its domain"),
    ({}, {"settings": {**TARGET, "S_target": np.nan}}, "F0401", "not a finite number"),
    ({}, {"settings": {**TARGET, "S_targt": 1}}, "L0301", "`S_targt`"),
    ({}, {"columns": {"mixtur": "run"}}, "D0116", "`mixtur`"),
    ({}, {"draws": 3}, "F0120", "`3`"),
    ({}, {"level": 1.5}, "F0120", "`1.5`"),
    ({"mixture": None}, {}, "D0104", "`mixture` for the groups"),
    ({"r": None}, {}, "D0104", "no column is bound to the variable `r`"),
    ({"S": None}, {}, "D0115", "no column"),
    ({}, {"where": "mixture = mix9"}, "D0103", "no row is left"),
    ({"mixture": [""] * 240}, {}, "D0118", "is empty"),
    ({}, {"settings": {**TARGET, "S_first": 1e6}}, "D0103", "no row is left"),
    ({"mixture": list(range(240))}, {}, "F0403", "1 row, 3 parameters"),
]


@pytest.mark.parametrize(("changes", "options", "code", "message"), RUNS)
def test_what_cannot_be_run_is_said(changes: dict, options: dict, code: str, message: str):
    table = {k: v for k, v in {**sweep(), **changes}.items() if v is not None}
    with pytest.raises(LawdslError) as caught:
        lawdsl.run_pipeline(NESTED, table, **{"settings": TARGET, "draws": 0, **options})

    assert [d.code for d in caught.value.diagnostics] == [code]
    assert message in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].help


def test_a_prediction_needs_one_value_of_each_variable(tmp_path: Path):
    path = written(
        tmp_path, pipe="pipeline pipe\nstep chinchilla by mixture at N = 1e9\nstep mixing.size\n"
    )
    table = {
        "mixture": ["a"] * 9,
        "N": [1e7, 1e8, 1e9] * 3,
        "D": [1e9] * 3 + [1e10] * 3 + [2e10] * 3,
    }
    table["L"] = [
        2 + 400 / n**0.3 + 400 / d**0.3 for n, d in zip(table["N"], table["D"], strict=True)
    ]
    with pytest.raises(LawdslError) as caught:
        lawdsl.run_pipeline(path, table)

    assert [d.code for d in caught.value.diagnostics] == ["F0402"]
    assert "at D = …" in caught.value.diagnostics[0].help


# ---- the command


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    table = sweep(2e-4)
    path = tmp_path / "runs.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


def command(*arguments: object) -> Any:
    return CliRunner().invoke(cli, ["pipeline", *map(str, arguments)], standalone_mode=False)


def test_the_command_keeps_fits_and_tables(runs: Path):
    fit, folder = runs.with_name("fit.json"), runs.with_name("out")
    done = command(
        NESTED, runs, "--set", "S_target=100kstep", "--set", "N_target=1Gparam",
        "-o", fit, "--save-tables", folder, "--draws", 50, "--json",
    )  # fmt: skip
    content = json.loads(done.stdout)

    assert done.return_value == 0 and content["ok"]
    assert [step["law"] for step in content["result"]["steps"]] == [
        "mixing.step", "mixing.size", "mixing.two_domain",
    ]  # fmt: skip
    assert lawdsl.Fit.load(fit.with_name("fit.2.json")).values["t"] == pytest.approx(-0.5, abs=0.2)
    assert sorted(path.name for path in folder.iterdir()) == [
        "1_mixing.step.csv", "1_mixing.step_fits.csv", "2_mixing.size.csv",
        "2_mixing.size_fits.csv", "3_mixing.two_domain_fits.csv",
    ]  # fmt: skip
    kept = pc.read_csv(folder / "2_mixing.size.csv").to_pydict()
    assert kept["L"] == pytest.approx(content["result"]["steps"][1]["table"]["L"])


def test_the_command_says_what_a_pipeline_needs():
    done = command("mixing.nested")

    assert done.return_value == 0
    assert "--set S_target=… --set N_target=…" in done.stdout
    assert "mixture=COLUMN" in done.stdout


def test_the_command_shows_every_step(runs: Path):
    done = command(NESTED, runs, "--set", "S_target=1e5", "--set", "N_target=1e9")

    assert "mixing.size: 10 of 10 groups by mixture, domain" in done.stdout
    assert "predicts at 100000, 3.33 times the largest" in done.stdout
    assert "95 % intervals: noise drawn 200 times" in done.stdout


# ---- real measurements


def test_released_curves_are_carried_from_30k_to_60k_steps(
    shared_data: Path, tmp_path: Path, record_property: Any
):
    """Ye et al. print 0.02 for their step law from 30k to 100k steps; theirs is of other runs."""
    table = pc.read_csv(shared_data / "mixing_laws" / "3Mix.csv").to_pydict()
    text = """pipeline pipe
step mixing.step by size, run, domain where run != "base", size != "410M", S >= 1e4, S <= 3e4 at S = 6e4
step mixing.two_domain by size, domain
"""
    path = written(tmp_path, pipe=text)
    names = {"S": "step", "L": "loss", "domain": "valid_domain", "r": "r_github"}
    rows = [i for i, step in enumerate(table["step"]) if step is not None]
    measured = {k: [v[i] for i in rows] for k, v in table.items()}
    found = lawdsl.run_pipeline(path, measured, columns=names, draws=0)
    keys = zip(*(measured[k] for k in ("size", "run", "valid_domain", "step")), strict=True)
    at_the_end = {
        key[:3]: x for key, x in zip(keys, measured["loss"], strict=True) if key[3] == 60000
    }
    off = np.array(
        [g.predicted - at_the_end[tuple(g.labels.values())] for g in found.steps[0].groups]
    )
    record_property(
        "figure", f"3Mix, {len(off)} curves, 30k to 60k steps: MAE {np.abs(off).mean():.4f}"
    )

    assert len(off) == 27
    assert np.abs(off).mean() < 0.05
