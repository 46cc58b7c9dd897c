"""Several processes do one run: as one process but for rounding, and again bit for bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import killing
import numpy as np
import pytest
import runs

from lawdsl.runners import spec

DIGITS = 1e-6
SHORT: dict[str, Any] = {"steps": 12, "evaluate": (0, 5, 10, 12)}
LIMIT = 240  # seconds after which processes that wait for each other are given up


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """The losses of the run in one process."""
    folder = tmp_path_factory.mktemp("alone")
    assert runs.do(folder, runs.order(data, **SHORT)) == 0
    return runs.losses(folder)


def torchrun(folder: Path, world: int = 2) -> subprocess.Popen[str]:
    """torchrun and its processes, in a group of their own; their messages go to log.txt."""
    command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world)]
    with open(folder / "log.txt", "a") as log:
        return subprocess.Popen(
            [sys.executable, *command, "-m", "lawdsl.runners.cpt", str(folder)],
            env=runs.environment(),
            start_new_session=True,
            stdout=log,
            stderr=log,
            text=True,
        )


def until(happened: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for something that a run does."""
    end = time.monotonic() + LIMIT
    while not happened():
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)


# --- processes as torchrun starts them, forked from one that has loaded torch


@pytest.mark.parametrize(
    "how",
    [
        {"micro_batch": 1, "checkpoint_every": 4},
        # saved just after an evaluation too
        pytest.param({"sharded": True, "checkpoint_every": 5}, marks=pytest.mark.slow),
    ],
    ids=["copied", "sharded"],
)
def test_two_processes_are_as_one_and_repeat_and_resume_bit_for_bit(
    data: Path, alone: np.ndarray, tmp_path: Path, how: dict[str, Any]
):
    order = runs.order(data, how={"processes": 2, **how}, **SHORT)
    runs.write_order(tmp_path / "ordered", order)
    answer = killing.ask("shared", tmp_path, seed=1, count=2)
    assert answer["wrong"] == []
    np.testing.assert_allclose(answer["losses"], alone, rtol=DIGITS, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 3])
@pytest.mark.parametrize("sharded", [False, True], ids=["copied", "sharded"])
@pytest.mark.parametrize("micro_batch", [None, 2])
def test_many_kills_of_several_processes(
    data: Path,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    world: int,
    sharded: bool,
    micro_batch: int | None,
):
    """Three and more: the order in which gradients are added up must not depend on the start."""
    how = {"sharded": sharded, "micro_batch": micro_batch}
    values: dict[str, Any] = {"batch": 12, "max_epochs": 4.0}
    killed = 0
    assert runs.do(tmp_path / "alone", runs.order(data, **values)) == 0
    for seed in range(3):
        place = tmp_path / str(seed)
        every = {"processes": world, "checkpoint_every": 4 + seed}
        runs.write_order(place / "ordered", runs.order(data, how=how | every, **values))
        answer = killing.ask("shared", place, seed=seed, count=world)
        assert answer["wrong"] == []
        losses = runs.losses(tmp_path / "alone")
        np.testing.assert_allclose(answer["losses"], losses, rtol=DIGITS, atol=0)
        killed += answer["killed"]
    kind = "sharded" if sharded else "copied"
    record_property(
        "figure",
        f"{world} processes, {kind}, micro-batch {micro_batch or 'whole'}: {killed} kills of 3 runs,"
        " equal bit for bit; as one process to 6 digits",
    )


def test_a_run_that_two_processes_began_one_can_end(data: Path, alone: np.ndarray, tmp_path: Path):
    """The training loss since the last row is that of both processes."""
    order = runs.order(data, how={"processes": 2}, **SHORT)
    runs.write_order(tmp_path / "ordered", order)
    place = killing.ordered(tmp_path, "run")
    answer = killing.ask("stopped", place, seed=8, count=2)
    assert answer["codes"] == [75, 75]
    assert runs.saved(place)[-1] == "step-00000008"
    spec.write_order(place, runs.order(data, **SHORT))
    assert runs.do(place) == 0
    np.testing.assert_allclose(runs.losses(place), alone, rtol=DIGITS, atol=0)


def test_a_process_that_dies_or_sees_other_checkpoints_ends_the_others(data: Path, tmp_path: Path):
    """The first one chooses the checkpoint, and says alone which are damaged."""
    order = runs.order(data, how={"processes": 2, "checkpoint_every": 4}, **SHORT)
    runs.write_order(tmp_path / "ordered", order)
    answer = killing.ask("apart", tmp_path, count=2)
    log = answer["log"]
    assert answer["unbroken"] == [0, 0]
    assert answer["lost"] == [5, -signal.SIGKILL]
    assert log.count("another process of the run cannot be reached: ") == 2
    assert answer["stopped"] == [75, 75]
    assert answer["saved"] == answer["left"] == ["step-00000008", "step-00000009"]
    assert answer["unseen"] == [5, 3]
    assert "error[R0404]: the checkpoint of step 9 cannot be read by another process" in log
    assert "= note: step-00000009: state.json is missing" in log
    assert answer["fell back"] == [0, 0]
    assert log.count("warning[R0401]: the checkpoint step-00000009 is damaged") == 1
    assert "Traceback" not in log
    assert answer["wrong"] == []


def test_a_batch_that_cannot_be_shared_out_evenly_is_refused(data: Path, tmp_path: Path):
    order = runs.order(data, batch=5, how={"processes": 2})
    runs.write_order(tmp_path / "ordered", order)
    place = killing.ordered(tmp_path, "run")
    answer = killing.ask("stopped", place, seed=12, count=2)
    assert answer["codes"] == [3, 3]
    log = (place / "log.txt").read_text()
    assert "error[R0502]: 2 processes cannot share a batch of 5 rows evenly" in log
    assert "Traceback" not in log


# --- torchrun itself


@pytest.mark.slow
@pytest.mark.parametrize("sharded", [False, True], ids=["copied", "sharded"])
def test_torchrun(
    data: Path,
    alone: np.ndarray,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
    sharded: bool,
):
    order = runs.order(
        data, how={"processes": 2, "sharded": sharded, "checkpoint_every": 3}, **SHORT
    )
    places = [tmp_path / name for name in ("whole", "again", "killed")]
    for place in places:
        spec.write_order(place, order)
    killed = torchrun(places[2])
    until(lambda: bool(runs.saved(places[2])), killed)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait(LIMIT)
    assert not (places[2] / "done.json").exists()
    for place in places:
        assert torchrun(place).wait(LIMIT) == 0, (place / "log.txt").read_text()
    for place in places[1:]:
        assert not runs.differences(place, places[0])
    found = runs.losses(places[0])
    np.testing.assert_allclose(found, alone, rtol=DIGITS, atol=0)
    worst = np.max(np.abs(found - alone)[alone > 0] / alone[alone > 0])
    record_property(
        "figure",
        f"torchrun, 2 processes, {'sharded' if sharded else 'copied'}: losses as of one process to"
        f" {worst:.1e}; repeated, and killed and resumed, equal bit for bit",
    )


@pytest.mark.slow
@pytest.mark.parametrize("to_all", [False, True], ids=["torchrun", "all of the group"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_torchrun_hands_on_is_no_second_one(
    data: Path, tmp_path: Path, to_all: bool, number: signal.Signals
):
    order = runs.order(data, steps=400, evaluate=(0, 400), max_epochs=9.0, how={"processes": 2})
    spec.write_order(tmp_path, order)
    process = torchrun(tmp_path)
    until(lambda: bool(runs.saved(tmp_path)), process)
    (os.killpg if to_all else os.kill)(process.pid, number)
    assert process.wait(LIMIT) != 0
    log = (tmp_path / "log.txt").read_text()
    assert log.count("tiny stopped after step") == 1, log
    step = int(log.split("stopped after step ")[1].split()[0])
    assert runs.saved(tmp_path)[-1] == f"step-{step:08d}"
    assert json.loads((tmp_path / "points.jsonl").read_text().splitlines()[0])["step"] == 0
