"""Curves of a run: each step once, whatever stops the run, and the weights as without them."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import runs
from event_reading import curves
from test_distributed import LIMIT, torchrun, until
from test_experts import COEFFICIENT, MIXTRAL

from lawdsl.reporting.runs import at_work
from lawdsl.runners.run.live import LIVE, LiveProgress, read_live, remove_live, write_live
from lawdsl.runners.spec import Training
from lawdsl.runners.training import step_log

TENSORBOARD = {"log": ["tensorboard"]}
NOTHING: dict[str, Any] = {"log": []}
TRAINING = {"train/loss", "train/gradient_norm", "train/learning_rate"}
VALIDATION = {"validation/general", "validation/code"}
SPEED = {"speed/tokens_per_second"}


def weights(folder: Path) -> str:
    return json.loads((folder / "done.json").read_text())["weights"]


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 24 steps with its curves."""
    folder = tmp_path_factory.mktemp("whole")
    assert runs.do(folder, runs.order(data, how=TENSORBOARD)) == 0
    return folder


def test_curves_have_every_step_once(whole: Path):
    found = curves(whole)
    assert found.keys() == TRAINING | VALIDATION | SPEED
    for name in TRAINING:
        assert [step for step, _ in found[name]] == list(range(1, 25))
    for name in VALIDATION:
        assert [step for step, _ in found[name]] == [0, 5, 14, 15, 24]
    assert all(rate > 0 for _, rate in found["speed/tokens_per_second"])


def test_curves_are_those_of_the_rows(whole: Path):
    found, rows = curves(whole), runs.rows(whole)
    for row in rows:
        for name in ("general", "code"):
            curve = dict(found[f"validation/{name}"])
            assert curve[row["step"]] == pytest.approx(row["losses"][name]["loss"], rel=1e-6)
        if row["step"]:
            rate = dict(found["train/learning_rate"])[row["step"]]
            assert rate == pytest.approx(row["learning_rate"], rel=1e-6)
    losses = dict(found["train/loss"])
    mean = sum(losses[step] for step in range(6, 15)) / 9
    assert mean == pytest.approx(rows[2]["train_loss"], rel=1e-6)


def test_curves_change_no_bit_of_the_weights(whole: Path, data: Path, tmp_path: Path):
    order = runs.order(data, how=NOTHING)
    assert order.run.identity() == runs.order(data, how=TENSORBOARD).run.identity()
    assert runs.do(tmp_path / "run", order) == 0
    assert weights(tmp_path / "run") == weights(whole)
    assert runs.rows(tmp_path / "run") == runs.rows(whole)
    assert not curves(tmp_path / "run")
    for folder in (whole, tmp_path / "run"):
        assert not (folder / LIVE).exists()


class Crash(Exception):
    """As the process would be killed."""


def crash() -> None:
    raise Crash


@pytest.mark.parametrize(
    "steps",
    [
        (16, 22),
        *(pytest.param(some, marks=pytest.mark.slow) for some in ((4,), (12,), (9, 10, 23))),
    ],
)
def test_a_resumed_run_continues_its_curves_without_duplicates(
    whole: Path, data: Path, tmp_path: Path, steps: tuple[int, ...]
):
    folder = tmp_path / "run"
    runs.write_order(folder, runs.order(data, how=TENSORBOARD))
    for step in steps:
        with pytest.raises(Crash), runs.at_step(step, crash):
            runs.do(folder)
    assert runs.stopped(folder, 23) == 75
    assert runs.do(folder) == 0
    found, expected = curves(folder), curves(whole)
    for name in TRAINING | VALIDATION:
        assert found[name] == expected[name]
    assert weights(folder) == weights(whole)


def is_saved(folder: Path, step: int) -> bool:
    """Whether a run has a checkpoint after a step."""
    return any(int(path.name[5:13]) > step for path in folder.glob("checkpoints/step-*"))


@pytest.mark.slow
def test_curves_are_whole_after_kills(data: Path, tmp_path: Path):
    """SIGKILL loses what is buffered, and may tear a record."""
    order = runs.order(data, how=TENSORBOARD, steps=600, evaluate=(0, 200, 600), max_epochs=30.0)
    assert runs.do(tmp_path / "whole", order) == 0
    folder = tmp_path / "run"
    runs.write_order(folder, order)
    command = [sys.executable, "-m", "lawdsl.runners.cpt", str(folder)]
    for step in (50, 250, 420):
        process = subprocess.Popen(command, env=runs.environment(), text=True)
        until(functools.partial(is_saved, folder, step), process)
        process.kill()
        process.wait()
    assert runs.do(folder) == 0
    found, expected = curves(folder), curves(tmp_path / "whole")
    for name in TRAINING | VALIDATION:
        assert found[name] == expected[name]


@pytest.mark.slow
def test_a_log_that_cannot_be_written_does_not_end_the_run(
    whole: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    def full(*given: Any, **named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(step_log.EventFile, "add", full)
    assert runs.do(tmp_path / "run", runs.order(data, how=TENSORBOARD)) == 0
    said = capsys.readouterr().err
    assert said.count("tensorboard is no longer written: [Errno 28] No space left") == 1
    assert weights(tmp_path / "run") == weights(whole)


@pytest.mark.slow
def test_the_gradient_norm_is_that_before_clipping_whether_it_is_clipped_or_not(
    whole: Path, data: Path, tmp_path: Path
):
    order = runs.order(data, how=TENSORBOARD, clip=None, steps=3, evaluate=(0, 3), warmup=0)
    assert runs.do(tmp_path / "run", order) == 0
    (first, *_) = curves(tmp_path / "run")["train/gradient_norm"]
    assert first[1] == pytest.approx(curves(whole)["train/gradient_norm"][0][1], rel=1e-6)
    assert first[1] > Training(steps=1, batch=1, sequence=1, learning_rate=1).clip  # type: ignore[operator]


@pytest.mark.parametrize("is_installed", [True, False])
def test_event_files_are_written_by_default_where_tensorboard_is_installed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_installed: bool
):
    monkeypatch.setattr(step_log, "find_spec", lambda name: object() if is_installed else None)
    order = runs.order(data, steps=2, evaluate=(0, 2))
    assert runs.do(tmp_path / "run", order) == 0
    assert bool(curves(tmp_path / "run")) == is_installed


@pytest.mark.slow
@pytest.mark.parametrize("sharded", [False, True], ids=["copied", "sharded"])
def test_curves_of_two_processes_are_those_of_one(data: Path, tmp_path: Path, sharded: bool):
    """Of a mixture of experts too, whose router loss is the mean over the rows of all processes."""
    settings: dict[str, Any] = {"steps": 12, "evaluate": (0, 12), "router_loss": COEFFICIENT}
    assert runs.do(tmp_path / "one", runs.order(data, MIXTRAL, how=TENSORBOARD, **settings)) == 0
    how = {"processes": 2, "sharded": sharded, "micro_batch": 1, **TENSORBOARD}
    runs.write_order(tmp_path / "two", runs.order(data, MIXTRAL, how=how, **settings))
    assert torchrun(tmp_path / "two").wait(LIMIT) == 0, (tmp_path / "two" / "log.txt").read_text()
    found, expected = curves(tmp_path / "two"), curves(tmp_path / "one")
    assert found.keys() == expected.keys() == TRAINING | VALIDATION | SPEED | {"train/router_loss"}
    for name in found.keys() - SPEED:
        assert [step for step, _ in found[name]] == [step for step, _ in expected[name]]
        values = [value for _, value in expected[name]]
        assert [value for _, value in found[name]] == pytest.approx(values, rel=1e-4)


# ---- Weights & Biases

WANDB = """
import json, os, pathlib

class api:
    api_key = os.environ.get("FAKE_KEY")

def Settings(**named):
    return named

class Run:
    def __init__(self, **named):
        self.path = pathlib.Path(os.environ["FAKE_WANDB"])
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        steps = [json.loads(line)["step"] for line in lines if json.loads(line)["id"] == named["id"]]
        assert named["resume"] == "allow"
        self.id, self.step = named["id"], max(steps, default=-1) + 1

    def log(self, scalars, step):
        with self.path.open("a") as file:
            file.write(json.dumps({"id": self.id, "step": step, **scalars}) + "\\n")

    def finish(self):
        pass

init = Run
"""


@pytest.fixture
def wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of that name that keeps what it is given, as the server does."""
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "wandb.py").write_text(WANDB)
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setenv("FAKE_WANDB", str(tmp_path / "server.jsonl"))
    monkeypatch.delenv("WANDB_MODE", raising=False)
    yield tmp_path / "server.jsonl"
    sys.modules.pop("wandb", None)


@pytest.mark.slow
def test_a_run_is_logged_to_wandb_and_continued_there(
    whole: Path, data: Path, tmp_path: Path, wandb: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAKE_KEY", "secret")
    order = runs.order(data, how={"log": ["wandb"]})
    runs.write_order(tmp_path / "run", order)
    with pytest.raises(Crash), runs.at_step(16, crash):
        runs.do(tmp_path / "run")
    assert runs.do(tmp_path / "run") == 0
    lines = [json.loads(line) for line in wandb.read_text().splitlines()]
    assert {line["id"] for line in lines} == {order.run.identity()}
    found = [(line["step"], line["train/loss"]) for line in lines if "train/loss" in line]
    assert [step for step, _ in found] == list(range(1, 25))
    expected = dict(curves(whole)["train/loss"])
    assert all(loss == pytest.approx(expected[step], rel=1e-6) for step, loss in found)
    assert weights(tmp_path / "run") == weights(whole)


def test_wandb_without_a_key_or_package_is_refused(
    data: Path, tmp_path: Path, wandb: Path, capsys: pytest.CaptureFixture[str]
):
    order = runs.order(data, how={"log": ["wandb"]})
    assert runs.do(tmp_path / "run", order) == 3
    assert "error[R0509]" in capsys.readouterr().err


# ---- live


def test_progress_is_read_as_it_was_written_and_removed(tmp_path: Path):
    progress = LiveProgress(5, 640, 117_000.0, 0.41)
    assert read_live(tmp_path) is None
    write_live(tmp_path, progress)
    assert read_live(tmp_path) == progress
    (tmp_path / LIVE).write_text("[" * 10_000)
    assert read_live(tmp_path) is None
    remove_live(tmp_path)
    assert not list(tmp_path.iterdir())
    write_live(tmp_path / "none", progress)


@pytest.mark.slow
def test_progress_is_there_while_a_run_is_at_work(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(step_log, "LIVE_SECONDS", 0.0)
    seen: list[LiveProgress | None] = []
    order = runs.order(data, how=NOTHING)
    with runs.at_step(20, lambda: seen.append(read_live(tmp_path / "run"))):
        assert runs.do(tmp_path / "run", order) == 0
    (progress,) = seen
    assert progress is not None and progress.tokens == progress.step * 4 * 32
    assert 15 <= progress.step <= 20 and progress.tokens_per_second > 0
    assert progress.mfu is None  # of a CPU no peak is known


def test_the_speed_of_a_sweep_is_printed():
    assert at_work(2, 0.0, None) == "2 at work"
    assert at_work(1, 117_300.0, 0.412) == "1 at work, 117 k tokens/s, MFU 41 %"
