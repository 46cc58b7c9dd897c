"""Runs that diverge, lack memory or disk, or meet another process: each ends as it is recorded."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import killing
import numpy as np
import pytest
import runs
import torch
from runs import DIVERGED, DONE, MEMORY, STOPPED, WRONG

from lawdsl.runners import spec
from lawdsl.runners.run import locks
from lawdsl.runners.training import models


@pytest.mark.parametrize(
    ("evaluate", "training", "every", "rows", "step"),
    [
        ((0, 20, 24), {}, 1000, 1, 20),  # seen before it is measured
        ((0, 24), {}, 1, 1, 2),  # seen before it is saved
        ((0, 1, 2), {"steps": 2}, 1000, 2, 1),  # seen as it is measured
        ((0, 1), {"steps": 1}, 1000, 2, 1),  # in the last step of all
        ((0,), {"steps": 60}, 1000, 1, 50),  # seen after as many steps as a look takes
        ((0,), {"steps": 7}, 1000, 1, 7),  # seen at the end
    ],
)
def test_a_loss_that_is_no_number_is_recorded(
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    evaluate: tuple[int, ...],
    training: dict[str, Any],
    every: int,
    rows: int,
    step: int,
):
    values = {"learning_rate": 1e30, "schedule": "constant", "clip": None} | training
    how = {"checkpoint_every": every}
    order = runs.order(data, evaluate=evaluate, how=how, max_epochs=9.0, **values)
    assert runs.do(tmp_path, order) == DIVERGED
    done = runs.done(tmp_path)
    assert (done["status"], done["step"], done["weights"]) == ("diverged", step, None)
    assert f"diverged: the loss is not finite after step {step}" in capsys.readouterr().err
    found = runs.rows(tmp_path)
    assert [row["step"] for row in found] == list(evaluate[:rows])
    assert np.isfinite(found[0]["losses"]["code"]["loss"])
    assert runs.saved(tmp_path) == []
    with mock.patch.object(models, "load", side_effect=AssertionError):
        assert runs.do(tmp_path) == DIVERGED
    assert capsys.readouterr().err == "tiny is diverged\n"
    assert runs.rows(tmp_path) == found


def test_a_run_that_memory_does_not_suffice_for_is_recorded_and_goes_on_with_smaller_pieces(
    data: Path, unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    forward, passes = models.LanguageModelLoss.forward, 0

    def greedy(
        self: models.LanguageModelLoss, tokens: torch.Tensor, each: bool = False
    ) -> torch.Tensor:
        nonlocal passes
        passes += not each
        if passes > 10 and len(tokens) > 2:
            torch.empty(1 << 60)
        return forward(self, tokens, each)

    with mock.patch.object(models.LanguageModelLoss, "forward", greedy):
        assert runs.do(tmp_path, runs.order(data)) == MEMORY
        said = capsys.readouterr().err
        assert said.startswith("error[R0507]: memory did not suffice:")
        assert "give a smaller micro_batch" in said
        done = runs.done(tmp_path)
        assert (done["status"], done["step"]) == ("oom", None)
        assert done["peak_memory_bytes"] > 1 << 20
        assert runs.saved(tmp_path) == ["step-00000007"]

        spec.write_order(tmp_path, runs.order(data, how={"micro_batch": 2}))
        assert runs.do(tmp_path) == DONE
    assert runs.done(tmp_path)["status"] == "done"
    np.testing.assert_allclose(runs.losses(tmp_path), runs.losses(unbroken), rtol=1e-6, atol=0)


def test_a_process_that_may_not_have_more_memory_says_so(data: Path, tmp_path: Path):
    order = runs.order(data, steps=2, batch=1024, evaluate=(0, 2), max_epochs=1000)
    runs.write_order(tmp_path / "ordered", order)
    answer = killing.ask("memory", tmp_path, seed=16, count=150)
    assert answer["codes"] == [MEMORY, DONE], answer["log"]
    assert answer["told"]["status"] == "oom"
    assert answer["told"]["peak_memory_bytes"] > 100 << 20
    assert "error[R0507]" in answer["log"] and "Traceback" not in answer["log"]
    assert answer["after"]["status"] == "done"
    assert [row["step"] for row in answer["rows"]] == [0, 2]


def test_a_model_that_cannot_be_written_leaves_the_run_as_it_was(
    data: Path, unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "model").write_text("in the way")
    assert runs.do(tmp_path, runs.order(data)) == WRONG
    assert capsys.readouterr().err.startswith("error[R0508]")
    assert runs.saved(tmp_path)[-1] == "step-00000021"
    (tmp_path / "model").unlink()
    assert runs.do(tmp_path) == DONE
    assert not runs.differences(tmp_path, unbroken)


@contextlib.contextmanager
def disk_full_at(file: str, which: int = 1) -> Iterator[None]:
    """The disk is full when a file of that name is to be on it for that time, and not before."""
    fsync, times = os.fsync, 0

    def full(handle: int) -> None:
        nonlocal times
        times += file in os.readlink(f"/proc/self/fd/{handle}")
        if times == which:
            times += 1
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    with mock.patch.object(os, "fsync", full):
        yield


@pytest.mark.parametrize(
    ("file", "which", "code"),
    [
        ("optimizer.safetensors", 2, "R0403"),
        ("points.jsonl", 3, "R0407"),
        ("/.model.part/model.safetensors", 1, "R0508"),
        ("/.done.json.", 1, "R0508"),
    ],
)
def test_a_full_disk_stops_a_run_which_goes_on_when_there_is_room(
    data: Path,
    unbroken: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: str,
    which: int,
    code: str,
):
    with disk_full_at(file, which):
        assert runs.do(tmp_path, runs.order(data)) == WRONG
    said = capsys.readouterr().err
    assert said.startswith(f"error[{code}]") and "No space left on device" in said
    assert "Traceback" not in said
    assert runs.do(tmp_path) == DONE
    assert not runs.differences(tmp_path, unbroken)


@pytest.mark.parametrize("file", ["points.jsonl", "/.model.part/model.safetensors", "/.done.json."])
def test_what_a_full_disk_lacks_is_said(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str
):
    with disk_full_at(file):
        assert runs.do(tmp_path, runs.order(data, steps=2, evaluate=(0, 2))) == WRONG
    said = capsys.readouterr().err
    needed, free = re.search(r"needs about ([\d,]+) bytes; ([\d,]+) are free", said).groups()
    least, most = {"points.jsonl": (200, 2000), "/.done.json.": (100, 1000)}.get(file, (8e4, 2e5))
    assert least < int(needed.replace(",", "")) < most
    assert int(free.replace(",", "")) > 0


def test_a_run_that_is_out_of_memory_says_so_though_it_cannot_be_written(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with disk_full_at("/.done.json."), mock.patch.object(models, "load", side_effect=MemoryError):
        assert runs.do(tmp_path, runs.order(data)) == MEMORY
    said = capsys.readouterr().err
    assert said.startswith("error[R0507]: memory did not suffice: no memory is left")
    assert "error[R0508]: how the run ended cannot be written" in said
    assert not (tmp_path / "done.json").exists()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_no_file_can_be_locked_no_run_is_done(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int
):
    with mock.patch.object(fcntl, "flock", side_effect=OSError(number, os.strerror(number))):
        assert runs.do(tmp_path, runs.order(data)) == WRONG
    said = capsys.readouterr().err
    assert said.startswith(f"error[R0410]: run tiny cannot be locked: {os.strerror(number)}")
    assert "on a file system with locks" in said
    assert sorted(os.listdir(tmp_path)) == ["lock", "spec.json"]


def test_a_clock_that_jumps_changes_nothing(
    data: Path, unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Durations are a monotonic clock's, and checkpoints come in the order of their steps."""
    jumps = itertools.cycle((0.0, 1e9, -1e9))
    real = time.time
    spec.write_order(tmp_path, runs.order(data))
    begun = time.monotonic()
    with mock.patch.object(time, "time", lambda: real() + next(jumps)):
        assert runs.stopped(tmp_path, 16) == STOPPED
        newer, older = (tmp_path / "checkpoints" / f"step-000000{step}" for step in (16, 14))
        for folder, when in ((older, 4e9), (newer, 0)):
            for path in (*folder.iterdir(), folder):
                os.utime(path, (when, when))
        os.utime(tmp_path / "points.jsonl", (4e9, 4e9))
        assert runs.do(tmp_path) == DONE
    took = time.monotonic() - begun
    assert capsys.readouterr().err == "tiny stopped after step 16 of 24, saved\n"
    assert not runs.differences(tmp_path, unbroken)
    lines = (tmp_path / "points.jsonl").read_text().splitlines()
    seconds = [json.loads(line)["seconds"] for line in lines]
    assert seconds == sorted(set(seconds)) and 0 <= seconds[0] and seconds[-1] <= took
    assert all(json.loads(line)["tokens_per_second"] > 0 for line in lines[1:])
    assert 0 < runs.done(tmp_path)["seconds"] <= took


def test_a_run_that_another_process_holds_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    spec.write_order(tmp_path, runs.order(data))
    with locks.hold(tmp_path, "other"):
        assert runs.do(tmp_path) == WRONG
    said = capsys.readouterr().err
    assert said.startswith(f"error[R0408]: run tiny is held by {os.uname().nodename}/{os.getpid()}")
    assert sorted(os.listdir(tmp_path)) == ["lock", "spec.json"]
