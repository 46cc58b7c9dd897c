"""Loops of designs and runs: they end, go on after any interruption, and pay for no step twice."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sweeps
from click.testing import CliRunner
from sweeps import MACHINE, TEXT, inspect, made, planned

from lawdsl import LawdslError
from lawdsl.cli import cli
from lawdsl.runners.run.exit_status import checkpoint_path
from lawdsl.runners.sweeps import inputs, workers
from lawdsl.runners.sweeps.run_folders import read_state
from lawdsl.runners.tables.candidates import pool_of

ROOT = Path(__file__).resolve().parent.parent
SIZES = (50, 100, 300, 1000)  # thousands of parameters
BRANCHES = '[schedule]\nkind = "stable"\nbranches = [0.25, 0.5, 1]\ndecay = 0.2\n'
LAW = """law sizes "Loss against size"
variable  N > 0  unit param
parameter E, A, alpha > 0
L = E + A/N^alpha  unit nat/token
minimize  squared(log(L))
"""
LOOP = ("design", "--loop", "sizes.law", "L=L_code", "--candidates", "sweep.toml")
LOOP += ("--target", "N=4e6")
WHERE = ("--where", "phase = end")


def sweep(folder: Path, steps: int = 40) -> Path:
    """Four sizes, a mixture, and three branches of each stable run."""
    models = "".join(
        f'[[models]]\nname = "m{size}"\nconfig = {{hidden_size = {size}}}\n'
        'initialization = "width-scaled"\n'
        for size in SIZES
    )
    text = TEXT[: TEXT.index("[[models]]")] + models + TEXT[TEXT.index("[grid]") :]
    text = text.replace('{code = 0}, {code = "1/3"}, {code = 1}', "{code = 0.5}")
    text = text.replace("steps = 20", f"steps = {steps}")
    text = text.replace('[evaluation]\nschedule = "dense"\nevery = 5\n', BRANCHES)
    (folder / "sizes.law").write_text(LAW, encoding="utf-8")
    return made(folder, text)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a sweep, whose runs a fake worker makes."""
    monkeypatch.setattr(inputs, "describe", inspect)
    monkeypatch.setattr(workers, "WORKER", sweeps.WORKER)
    monkeypatch.chdir(tmp_path)
    return sweep(tmp_path)


def select(folder: Path, *labels: str) -> Path:
    path = folder / "chosen.toml"
    path.write_text(f'extends = "sweep.toml"\nonly = {json.dumps(labels)}\n')
    return path


def invoke(*arguments: object) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [*map(str, arguments), "--json"], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return {"code": done.return_value, **json.loads(done.stdout)["result"]}


def begun(folder: Path) -> list[int]:
    """The steps at which processes have begun with a run."""
    return [
        int(step) for step in re.findall(r"begins at step (\d+)", (folder / "log.txt").read_text())
    ]


# ---- branches as candidates: what they cost


def test_a_branch_costs_its_decay_and_the_part_of_its_stable_run_that_is_not_paid(fake: Path):
    pool = pool_of(fake, MACHINE)
    number = {label: i for i, label in enumerate(pool.labels)}
    short, long = (number[f"m100_code=0.5_seed=1_steps={steps}"] for steps in (10, 40))
    alone = pool.prices(())
    for chosen in (
        (short,),
        (long,),
        (short, long),
        (number["m50_code=0.5_seed=1_steps=20"], long),
    ):
        labels = [pool.labels[i] for i in chosen]
        asked = sum(run.flops for run in planned(select(fake.parent, *labels)).runs)
        assert pool.bill(chosen) == pytest.approx(asked)
    assert pool.prices((short,))[long] == pytest.approx(pool.bill((short, long)) - alone[short])
    assert pool.prices((long,))[short] < 0.5 * alone[short]  # nothing but its decay
    everything = range(len(pool))
    assert pool.bill(everything) == pytest.approx(sum(run.flops for run in planned(fake).runs))


def test_an_extension_goes_on_from_the_stable_run_and_costs_what_was_said(fake: Path):
    folder, label = fake.parent, "m100_code=0.5_seed=1"
    before = pool_of(fake, MACHINE)
    number = {name: i for i, name in enumerate(before.labels)}
    assert invoke("run", select(folder, f"{label}_steps=10"))["code"] == 0
    (stable,) = (folder / "runs").glob(f"{label}_stable-*")
    assert read_state(stable).status == "paused" and read_state(stable).step == 8
    assert not planned(folder / "chosen.toml").to_do  # what was asked for is done
    pool = pool_of(fake, MACHINE)
    assert pool.done is not None and pool.done[number[f"{label}_steps=10"]]
    increment = pool.prices(np.flatnonzero(pool.done))[number[f"{label}_steps=20"]]
    assert increment == pytest.approx(
        before.prices((number[f"{label}_steps=10"],))[number[f"{label}_steps=20"]]
    )
    assert invoke("run", select(folder, f"{label}_steps=20"))["code"] == 0
    later = pool_of(fake, MACHINE)
    assert later.bill(np.flatnonzero(later.done)) == pytest.approx(
        pool.bill(np.flatnonzero(pool.done)) + increment
    )
    assert begun(stable)[0] == 0 and 0 not in begun(stable)[1:]
    (branch,) = (folder / "runs").glob(f"{label}_steps=20-*")
    assert begun(branch) == [16]
    # the whole sweep ends what the selections have begun
    assert invoke("run", fake)["code"] == 0
    assert read_state(stable).status == "done" and not checkpoint_path(stable, 8).exists()


def test_a_run_that_failed_is_no_candidate_but_has_cost_something(
    fake: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE", json.dumps({"m100_code=0.5_seed=1_steps=10": {"diverges": 10}}))
    assert invoke("run", select(fake.parent, "m100_code=0.5_seed=1_steps=10"))["code"] == 1
    pool = pool_of(fake, MACHINE)
    assert list(pool.left_out) == ["m100_code=0.5_seed=1_steps=10"] and len(pool) == 11
    assert pool.bill(()) > 0


# ---- the loop


def test_a_loop_ends_when_the_target_is_precise_enough(fake: Path):
    done = invoke(*LOOP, *WHERE, "--budget", "1e12", "--stop", "30%")
    assert done["code"] == 0 and done["certain"] and done["targets"][0]["half"] <= 0.3
    states = [read_state(folder).status for folder in (fake.parent / "runs").iterdir()]
    assert set(states) <= {"done", "paused"} and done["done"] < 12


def test_a_loop_ends_when_the_budget_is_spent_and_never_exceeds_it(fake: Path):
    pool = pool_of(fake, MACHINE)
    budget = 0.5 * pool.bill(range(len(pool)))
    done = invoke(*LOOP, *WHERE, "--budget", budget, "--stop", "0.001%")
    assert done["code"] == 4 and not done["certain"] and done["pool"]
    later = pool_of(fake, MACHINE)
    assert later.done is not None and later.done.any()
    assert later.bill(np.flatnonzero(later.done)) <= budget
    again = invoke(*LOOP, *WHERE, "--budget", budget, "--stop", "0.001%")
    assert again == done  # nothing was left to do


def test_a_loop_replaces_no_file_but_its_own(fake: Path):
    (fake.parent / "next.toml").write_text('name = "mine"\n')
    with pytest.raises(LawdslError, match="N0110"):
        invoke(*LOOP, *WHERE, "--budget", "1e12", "--stop", "30%", "-o", "next.toml")
    assert (fake.parent / "next.toml").read_text() == 'name = "mine"\n'


def test_a_loop_that_is_killed_goes_on_where_it_was(tmp_path: Path):
    sweep(tmp_path)
    budget = ("--budget", "2e10", "--stop", "0.001%")

    def start(seconds: float) -> subprocess.Popen[str]:
        told = {f"m{size}": {"seconds": seconds} for size in SIZES}
        return subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "sweep_command.py"), *LOOP, *WHERE, *budget],
            cwd=tmp_path,
            env={**os.environ, "FAKE": json.dumps(told), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    killed = start(0.05)
    end = time.monotonic() + 60
    while not list(tmp_path.glob("runs/*/points.jsonl")) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    batch = (tmp_path / "sweep-next.toml").read_text()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    went_on = start(0.0)
    out, err = went_on.communicate(timeout=120)
    assert went_on.returncode == 4, out + err
    assert "going on with sweep-next.toml" in err
    chosen = re.findall(r'"(m\S+)",', batch)
    folders = {folder.name.rpartition("-")[0]: folder for folder in (tmp_path / "runs").iterdir()}
    assert chosen and all(read_state(folders[label]).status == "done" for label in chosen)
    # each run is begun once, and at most resumed: nothing is made twice
    assert all(begun(folder).count(0) <= 1 for folder in folders.values())
