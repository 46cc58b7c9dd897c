"""One run: exact whatever stops it, and whatever cannot be done is said and recorded."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import killing
import numpy as np
import pytest
import runs
import torch
from runs import DONE, INTERRUPTED, STOPPED, WRONG
from torch.nn import functional

from lawdsl.runners import spec
from lawdsl.runners.corpora.corpus import open_corpus
from lawdsl.runners.run import schedules, streams
from lawdsl.runners.training import models, recording
from lawdsl.runners.training.evaluation import ValidationLoss


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
