"""One run: exact whatever stops it, and whatever cannot be done is said and recorded."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import killing
import numpy as np
import pytest
import runs
import torch
from torch.nn import functional

from lawdsl.runners import spec
from lawdsl.runners.corpora.corpus import open_corpus
from lawdsl.runners.run import locks, schedules, streams
from lawdsl.runners.training import models, recording
from lawdsl.runners.training.evaluation import ValidationLoss

DONE, DIVERGED, WRONG, MEMORY, STOPPED, INTERRUPTED = 0, 1, 3, 4, 75, 130


@pytest.fixture(scope="module")
def unbroken(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing stops."""
    folder = tmp_path_factory.mktemp("unbroken")
    assert runs.do(folder, runs.order(data)) == DONE
    return folder


@pytest.fixture
def ordered(data: Path, tmp_path: Path) -> Path:
    """A folder in which to ask for runs to be killed; `ordered` in it has the order."""
    runs.write_order(tmp_path / "ordered", runs.order(data))
    return tmp_path


# --- what a run writes


def test_each_evaluation_has_its_row(data: Path, unbroken: Path):
    order, rows = runs.order(data), runs.rows(unbroken)
    assert tuple(row["step"] for row in rows) == order.run.evaluate
    for row in rows:
        training = order.run.training
        assert row["tokens"] == row["step"] * training.batch * training.sequence
        assert sum(row["rows"].values()) == row["step"] * training.batch
        assert abs(row["rows"]["code"] - 0.3 * row["step"] * training.batch) <= 0.5
        assert row["epochs"] == {
            name: count / ((runs.SIZES[name] - 1) // training.sequence)
            for name, count in row["rows"].items()
        }
        assert (row["S1"], row["S2"]) == schedules.schedule_areas(training, row["step"])
        assert (row["train_loss"] is None) == (row["step"] == 0)
        assert set(row["losses"]) == {"general", "code"}
    assert runs.done(unbroken)["status"] == "done"
    assert runs.done(unbroken)["step"] == order.run.training.steps


def test_evaluations_change_nothing_and_training_losses_are_means_since_the_last_one(
    data: Path, unbroken: Path, tmp_path: Path
):
    order = runs.order(data, evaluate=tuple(range(25)))
    assert runs.do(tmp_path, order) == DONE
    assert runs.done(tmp_path)["weights"] == runs.done(unbroken)["weights"]
    each = [row["train_loss"] for row in runs.rows(tmp_path)]

    corpora = {name: open_corpus(data / name) for name in sorted(order.run.corpora)}
    mix = streams.mixture(
        {name: order.run.corpora[name].fraction for name in corpora},
        {name: corpus.windows(32) for name, corpus in corpora.items()},
        {name: corpus.fingerprint for name, corpus in corpora.items()},
        order.run.training.batch,
        order.run.seed,
    )
    tokens = [corpus.tokens for corpus in corpora.values()]
    batch = torch.from_numpy(streams.batch(mix, tokens, 32, 0))
    model = models.load(runs.QWEN2, "width-scaled", 0)
    with torch.no_grad():
        logits = model(input_ids=batch[:, :-1]).logits
        first = functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    assert each[1] == pytest.approx(float(first), rel=1e-6)

    rows = runs.rows(unbroken)
    for before, row in zip(rows, rows[1:], strict=False):
        mean = np.mean(each[before["step"] + 1 : row["step"] + 1])
        assert row["train_loss"] == pytest.approx(mean, rel=1e-12)


def test_the_loss_falls(data: Path, tmp_path: Path):
    """From that of a uniform guess, ln 256 = 5.55, to less; each corpus most where it is seen."""
    losses = {}
    for share in ("0", "1"):
        order = runs.order(data, share=share, evaluate=(0, 40), steps=40, learning_rate=3e-2)
        assert runs.do(tmp_path / share, order) == DONE
        losses[share] = runs.rows(tmp_path / share)[-1]["losses"]
    assert losses["1"]["code"]["loss"] < losses["0"]["code"]["loss"] - 0.1
    assert losses["0"]["general"]["loss"] < losses["1"]["general"]["loss"] - 0.1
    assert losses["1"]["code"]["loss"] < np.log(256) - 0.05


def test_a_run_that_is_done_is_not_done_again(
    unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(unbroken, tmp_path / "run")
    (tmp_path / "run" / "checkpoints").mkdir()  # it was killed before these were removed
    with mock.patch.object(models, "load", side_effect=AssertionError):
        assert runs.do(tmp_path / "run") == DONE
    assert capsys.readouterr().err == "tiny is done\n"
    assert not runs.differences(tmp_path / "run", unbroken)


def test_how_a_run_is_run_does_not_change_it(data: Path, unbroken: Path, tmp_path: Path):
    order = runs.order(data, how={"checkpoint_every": 3, "save_final": False})
    assert runs.do(tmp_path, order) == DONE
    assert runs.rows(tmp_path) == runs.rows(unbroken)
    assert runs.done(tmp_path)["weights"] == runs.done(unbroken)["weights"]
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("rows", [1, 3, 9])
def test_micro_batches_give_the_losses_of_the_whole_batch(
    data: Path, unbroken: Path, tmp_path: Path, rows: int
):
    assert runs.do(tmp_path, runs.order(data, how={"micro_batch": rows})) == DONE
    np.testing.assert_allclose(runs.losses(tmp_path), runs.losses(unbroken), rtol=1e-6, atol=0)


# --- stopped, and going on


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (signal.SIGTERM, signal.SIGUSR1, STOPPED),
        (signal.SIGUSR1, signal.SIGTERM, STOPPED),
        (signal.SIGINT, signal.SIGINT, INTERRUPTED),
    ],
)
def test_a_signal_lets_the_step_end_and_saves(
    data: Path,
    unbroken: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    first: signal.Signals,
    second: signal.Signals,
    code: int,
):
    spec.write_order(tmp_path, runs.order(data))
    assert runs.stopped(tmp_path, 12, first) == code
    assert capsys.readouterr().err == "tiny stopped after step 12 of 24, saved\n"
    assert runs.saved(tmp_path)[-1] == "step-00000012"
    assert runs.stopped(tmp_path, 20, second) in (STOPPED, code)
    assert runs.saved(tmp_path)[-1] == "step-00000020"
    assert runs.do(tmp_path) == DONE
    assert not runs.differences(tmp_path, unbroken)


def test_a_signal_in_the_last_step_leaves_the_evaluation_for_later(
    data: Path, unbroken: Path, tmp_path: Path
):
    spec.write_order(tmp_path, runs.order(data))
    assert runs.stopped(tmp_path, 24) == STOPPED
    assert runs.saved(tmp_path)[-1] == "step-00000024" and runs.rows(tmp_path)[-1]["step"] < 24
    assert runs.do(tmp_path) == DONE
    assert not runs.differences(tmp_path, unbroken)


@pytest.mark.parametrize("which", [2, 5])  # of all measurements: in step 0, and in the next
def test_a_signal_ends_an_evaluation_and_it_is_made_again(
    data: Path, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: int
):
    spec.write_order(tmp_path, runs.order(data))
    measure, asked, ended = recording.measure, [0], list[bool]()

    def measured(*arguments: Any) -> ValidationLoss | None:
        asked[0] += 1
        if asked[0] == which:
            os.kill(os.getpid(), signal.SIGTERM)
        found = measure(*arguments)
        ended.append(found is None)
        return found

    monkeypatch.setattr(recording, "measure", measured)
    assert runs.do(tmp_path) == STOPPED
    assert ended == [False] * (which - 1) + [True]
    before = len(runs.rows(tmp_path))
    assert runs.do(tmp_path) == DONE and len(runs.rows(tmp_path)) > before
    assert not runs.differences(tmp_path, unbroken)


def test_a_second_signal_ends_a_run_at_once(ordered: Path):
    answer = killing.ask("signals", ordered, count=11)
    assert answer["wrong"] == []
    assert answer["codes"] == [STOPPED, INTERRUPTED]


def test_a_run_of_low_precision_resumes_exactly(data: Path, tmp_path: Path):
    order = runs.order(data, precision="bfloat16", steps=12, evaluate=(0, 10, 12))
    assert runs.do(tmp_path / "whole", order) == DONE
    spec.write_order(tmp_path / "broken", order)
    assert runs.stopped(tmp_path / "broken", 9) == STOPPED
    assert runs.do(tmp_path / "broken") == DONE
    assert not runs.differences(tmp_path / "broken", tmp_path / "whole")


def test_killed_at_any_moment_a_run_resumes_bit_for_bit(ordered: Path):
    answer = killing.ask("kills", ordered, seed=1, count=5)
    assert answer["wrong"] == []
    assert answer["traces"] == 0
    assert sum(answer["killed"].values()) >= 5


@pytest.mark.slow
def test_a_hundred_kills(ordered: Path, record_property: Callable[[str, object], None]):
    answer = killing.ask("kills", ordered, seed=2, count=100)
    assert answer["wrong"] == []
    assert answer["traces"] == 0
    killed, done = answer["killed"], answer["runs"]
    record_property(
        "figure",
        f"{sum(killed.values())} kills ({killed['moment']} at a random moment, {killed['operation']}"
        f" at a random operation on a file) of {done} runs: all resumed, rows and weights equal bit"
        f" for bit, {done * answer['rows']} rows there once each, 0 lost, 0 twice",
    )
    assert sum(killed.values()) >= 100


@pytest.mark.slow
def test_killed_at_every_operation_on_a_file(
    ordered: Path, record_property: Callable[[str, object], None]
):
    answer = killing.ask("every", ordered, seed=0, count=1)
    assert answer["wrong"] == []
    record_property(
        "figure",
        f"killed at each of its {answer['operations']} operations on files, a run resumes: all"
        f" {answer['killed']} equal bit for bit",
    )


# --- checkpoints that are not what they were


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("model.safetensors", flip),
        ("state.json", flip),
        ("manifest.json", Path.unlink),
        ("optimizer.safetensors", lambda path: os.truncate(path, 1000)),
    ],
)
def test_a_damaged_checkpoint_is_passed_over(
    data: Path,
    unbroken: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    damage: Callable[[Path], None],
):
    spec.write_order(tmp_path, runs.order(data))
    assert runs.stopped(tmp_path, 16) == STOPPED
    assert runs.saved(tmp_path) == ["step-00000014", "step-00000016"]
    damage(tmp_path / "checkpoints" / "step-00000016" / name)
    capsys.readouterr()
    assert runs.do(tmp_path) == DONE
    said = capsys.readouterr().err
    assert "warning[R0401]: the checkpoint step-00000016 is damaged" in said
    assert "the run goes on from the checkpoint of step 14" in said
    assert "1 rows were written after the checkpoint" in said  # of step 15
    assert not runs.differences(tmp_path, unbroken)


def test_a_run_with_no_whole_checkpoint_does_not_begin_again(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    spec.write_order(tmp_path, runs.order(data))
    assert runs.stopped(tmp_path, 3) == STOPPED
    flip(tmp_path / "checkpoints" / "step-00000003" / "model.safetensors")
    rows = runs.rows(tmp_path)
    assert runs.do(tmp_path) == WRONG
    assert "error[R0402]" in capsys.readouterr().err
    assert runs.rows(tmp_path) == rows


def test_the_checkpoint_of_another_run_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    for seed in (0, 1):
        spec.write_order(tmp_path / str(seed), runs.order(data, seed=seed))
        assert runs.stopped(tmp_path / str(seed), 3) == STOPPED
    shutil.rmtree(tmp_path / "0" / "checkpoints")
    shutil.copytree(tmp_path / "1" / "checkpoints", tmp_path / "0" / "checkpoints")
    rows = runs.rows(tmp_path / "0")
    assert runs.do(tmp_path / "0") == WRONG
    assert "error[R0503]: the checkpoint has changed since" in capsys.readouterr().err
    assert runs.rows(tmp_path / "0") == rows


# --- runs that end otherwise


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


# --- what cannot be run


@dataclass(frozen=True)
class Mistake:
    """An order that cannot be done: the code and words of the message, what is ordered, and what
    is done to the corpora before and after it is."""

    code: str
    words: str
    order: dict[str, Any] = field(default_factory=dict)
    before: Callable[[Path], None] = lambda folder: None
    after: Callable[[Path], None] = lambda folder: None
    world: int = 1


def changed(folder: Path) -> None:
    shutil.rmtree(folder / "code")
    runs.write_corpus(folder / "code", runs.documents(9_000, 99, 1))


def gone(folder: Path) -> None:
    shutil.rmtree(folder / "code-held")


def torn(folder: Path) -> None:
    os.truncate(folder / "code" / "tokens.bin", 100)


def short(folder: Path) -> None:
    shutil.rmtree(folder / "code-held")
    runs.write_corpus(folder / "code-held", runs.documents(32, 5, 0))


FEW = runs.QWEN2 | {"vocab_size": 250}
MISTAKES = {
    "corpus changed": Mistake("R0503", "code has changed since the run was ordered", after=changed),
    "corpus gone": Mistake("R0207", "this folder does not exist", after=gone),
    "corpus torn": Mistake("R0208", "100 bytes, not the 18,000", after=torn),
    "model changed": Mistake("R0503", "the model has changed", {"fingerprint": "0" * 32}),
    "no model": Mistake("R0301", "no config.json", {"model": "/nowhere", "fingerprint": "0" * 32}),
    "vocabulary": Mistake("R0504", "256 kinds of tokens, the model knows 250", {"model": FEW}),
    "positions": Mistake("R0504", "rows have 65 tokens, the model has 64", {"sequence": 65}),
    "passes": Mistake("R0505", "code has 281 windows of 32 tokens, the run needs 432: more than 1.5"
        " passes", {"batch": 18, "share": "1", "max_epochs": 1.5}),
    "short": Mistake("R0506", "code-held has 32 tokens, and a row takes 32", before=short),
    "no such device": Mistake("R0501", "'abacus'", {"how": {"device": "abacus"}}),
    "no device of ours": Mistake("R0501", "'meta'", {"how": {"device": "meta"}}),
    "too many processes": Mistake("R0502", "with 1 processes, and 2 were started", world=2),
    "too few processes": Mistake("R0502", "2 processes, and 1", {"how": {"processes": 2}}),
    "schedule": Mistake("R0702", "a warm-up over 25 steps", {"warmup": 25}),
}  # fmt: skip
if not torch.cuda.is_available():
    MISTAKES["no GPU"] = Mistake("R0501", "torch sees 0 GPUs", {"how": {"device": "cuda"}})


@pytest.mark.parametrize("name", MISTAKES)
def test_what_cannot_be_run_is_said_in_one_message(
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
):
    mistake = MISTAKES[name]
    shutil.copytree(data, tmp_path / "data")
    mistake.before(tmp_path / "data")
    order = runs.order(tmp_path / "data", **mistake.order)
    mistake.after(tmp_path / "data")
    monkeypatch.setenv("WORLD_SIZE", str(mistake.world))
    assert runs.do(tmp_path / "run", order) == WRONG
    said = capsys.readouterr().err
    assert said.startswith(f"error[{mistake.code}]: ")
    assert mistake.words in said
    assert said.count("error[") == 1 and "Traceback" not in said
    assert set(os.listdir(tmp_path / "run")) <= {"spec.json", "lock"}


@pytest.mark.parametrize(
    "end", ["", "{", "[]", "null", '{"step": 3}', '{"status": "failed"}', "\xff"]
)
def test_an_end_that_says_nothing_of_being_done_is_none(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], end: str
):
    order = runs.order(data, steps=2, evaluate=(0, 2))
    spec.write_order(tmp_path, order)
    (tmp_path / "done.json").write_text(end, encoding="latin-1")
    assert runs.do(tmp_path) == DONE
    assert capsys.readouterr().err == ""
    assert runs.done(tmp_path)["status"] == "done"


def test_the_order_of_a_later_lawdsl_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    spec.write_order(tmp_path, runs.order(data))
    text = (tmp_path / "spec.json").read_text().replace('"schema": 1', '"schema": 2')
    (tmp_path / "spec.json").write_text(text)
    assert runs.do(tmp_path) == WRONG
    said = capsys.readouterr().err
    assert said.startswith("error[R0102]") and "schema: Input should be 1" in said
    assert os.listdir(tmp_path) == ["spec.json"]


def test_a_folder_without_an_order_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert runs.do(tmp_path) == WRONG
    assert capsys.readouterr().err.startswith("error[R0102]")
    assert runs.do(tmp_path / "nowhere") == WRONG


@pytest.mark.slow
def test_a_run_in_a_process_of_its_own(data: Path, unbroken: Path, tmp_path: Path):
    """The exit codes and messages that a sweep and a scheduler see."""

    def started(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "lawdsl.runners.cpt", *arguments]
        answer = subprocess.run(
            command, env=runs.environment(), capture_output=True, text=True, check=False
        )
        assert answer.stdout == ""
        return answer.returncode, answer.stderr

    spec.write_order(tmp_path, runs.order(data))
    assert started(str(tmp_path)) == (DONE, "")
    assert not runs.differences(tmp_path, unbroken)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a compiler of C++")
@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning")
def test_a_compiled_run_has_the_same_losses_and_resumes_exactly(
    data: Path, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    order = runs.order(data, how={"compile": True})
    assert runs.do(tmp_path / "whole", order) == DONE
    np.testing.assert_allclose(
        runs.losses(tmp_path / "whole"), runs.losses(unbroken), rtol=1e-5, atol=0
    )
    spec.write_order(tmp_path / "broken", order)
    assert runs.stopped(tmp_path / "broken", 12) == STOPPED
    assert runs.do(tmp_path / "broken") == DONE
    assert not runs.differences(tmp_path / "broken", tmp_path / "whole")
