"""A decay branch equals the run that is made from the start, bit for bit, whatever happens."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import killing
import pytest
import runs

from lawdsl.runners.run import streams
from lawdsl.runners.spec import Prefix, RunOrder, write_order
from lawdsl.runners.training import checkpoints


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    runs.write_corpora(folder)
    return folder


def branch(data: Path, end: int, decay: int, **changes: Any) -> RunOrder:
    evaluate = (*(step for step in (0, 3, 9) if step <= end - decay), end)
    schedule = {"steps": end, "schedule": "warmup-stable-decay", "decay": decay, "warmup": 2}
    return runs.order(data, evaluate=evaluate, label=f"branch-{end}", **schedule, **changes)


def begins_from(order: RunOrder, stable: str) -> RunOrder:
    training = order.run.training
    prefix = Prefix(folder=stable, step=training.steps - training.decay)
    return order.model_copy(update={"prefix": prefix})


def stable_order(data: Path, **changes: Any) -> RunOrder:
    order = runs.order(
        data, steps=12, schedule="constant", warmup=2, evaluate=(0, 3, 9), label="stable", **changes
    )
    return order.model_copy(update={"branch_steps": (5, 12)})


@pytest.fixture(scope="module")
def separate(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """End -> the run of so many steps that is made from the start."""
    folder = tmp_path_factory.mktemp("separate")
    for end, decay in ((7, 2), (15, 3)):
        assert runs.do(folder / str(end), branch(data, end, decay)) == 0
    return {end: folder / str(end) for end in (7, 15)}


@pytest.fixture(scope="module")
def stable(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stable run that is done, with the checkpoints that it keeps."""
    folder = tmp_path_factory.mktemp("sweep") / "stable"
    assert runs.do(folder, stable_order(data)) == 0
    return folder


def beside(stable: Path, folder: Path) -> Path:
    """A copy of a stable run."""
    return Path(shutil.copytree(stable, folder / "stable"))


@contextlib.contextmanager
def updates() -> Iterator[list[int]]:
    """The numbers of the updates that runs make."""
    batch, numbers = streams.batch, list[int]()

    def counted(mix: Any, tokens: Any, sequence: int, now: int) -> Any:
        numbers.append(now)
        return batch(mix, tokens, sequence, now)

    with mock.patch.object(streams, "batch", counted):
        yield numbers


def test_a_branch_equals_the_run_that_is_made_from_the_start(
    data: Path, stable: Path, separate: dict[int, Path], capsys: pytest.CaptureFixture[str]
):
    assert runs.saved(stable) == ["step-00000005", "step-00000012"]
    for end, decay in ((7, 2), (15, 3)):
        folder = stable.parent / f"branch-{end}"
        with updates() as numbers:
            assert runs.do(folder, begins_from(branch(data, end, decay), "stable")) == 0
        assert numbers == list(range(end - decay, end))  # the others are the stable run's
        assert runs.differences(folder, separate[end]) == []
    assert capsys.readouterr().err == ""
    assert runs.saved(stable) == ["step-00000005", "step-00000012"]  # a branch changes nothing


def test_a_stable_run_that_is_stopped_keeps_the_checkpoints_of_its_branches(
    data: Path, stable: Path, separate: dict[int, Path], tmp_path: Path
):
    folder = tmp_path / "stable"
    write_order(folder, stable_order(data, how={"checkpoint_every": 1}))
    assert runs.stopped(folder, 11) == 75
    assert runs.saved(folder) == [f"step-{step:08d}" for step in (5, 10, 11)]
    # its first branch need not wait for the end
    assert runs.do(tmp_path / "early", begins_from(branch(data, 7, 2), "stable")) == 0
    assert runs.differences(tmp_path / "early", separate[7]) == []
    assert runs.do(folder) == 0 and runs.saved(folder) == runs.saved(stable)
    assert runs.rows(folder) == runs.rows(stable)
    assert runs.done(folder)["weights"] == runs.done(stable)["weights"]


def test_a_stable_run_that_was_paused_goes_on_as_if_it_had_not_been(
    data: Path, stable: Path, separate: dict[int, Path], tmp_path: Path
):
    folder, order = tmp_path / "stable", stable_order(data)
    with updates() as numbers:
        assert runs.do(folder, order.model_copy(update={"until": 5})) == 0
        assert runs.done(folder)["status"] == "paused" and runs.saved(folder) == ["step-00000005"]
        assert runs.do(folder) == 0  # nothing more is asked for
        assert runs.do(tmp_path / "early", begins_from(branch(data, 7, 2), "stable")) == 0
        assert runs.do(folder, order) == 0
    assert numbers == [*range(5), 5, 6, *range(5, 12)]
    assert runs.differences(tmp_path / "early", separate[7]) == []
    assert runs.rows(folder) == runs.rows(stable)
    assert runs.done(folder)["weights"] == runs.done(stable)["weights"]


def damage(checkpoint: Path) -> None:
    path = checkpoint / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def _other_run(folder: Path) -> None:
    order = json.loads((folder / "spec.json").read_text())
    order["run"]["seed"] += 1
    (folder / "spec.json").write_text(json.dumps(order))


def _fewer_rows(folder: Path) -> None:
    rows = (folder / "points.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "points.jsonl").write_bytes(b"".join(rows[:1]))


FAULTS: dict[str, tuple[Callable[[Path], object], str, int]] = {
    "flipped bit": (lambda at: damage(at / "checkpoints" / "step-00000012"), "SHA-256", 5),
    "no checkpoint": (lambda at: shutil.rmtree(at / "checkpoints"), "checkpoints", 0),
    "no folder": (shutil.rmtree, "not the folder of a run", 0),
    "another run": (_other_run, "not a run with these first 12 steps", 0),
    "rows cut": (_fewer_rows, "rows that the checkpoint counts are missing", 0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_stable_run_costs_time_and_no_result(
    fault: str,
    data: Path,
    stable: Path,
    separate: dict[int, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    act, why, step = FAULTS[fault]
    act(beside(stable, tmp_path))
    with updates() as numbers:
        assert runs.do(tmp_path / "branch", begins_from(branch(data, 15, 3), "stable")) == 0
    assert numbers == list(range(step, 15))
    said = capsys.readouterr().err
    assert said.count("warning[R0412]") == 1 and why in said
    assert ("steps 6 to 12" if step else "its first 12 steps") in said
    assert runs.differences(tmp_path / "branch", separate[15]) == []


def test_checkpoints_of_some_steps_are_kept(tmp_path: Path):
    for step in range(1, 8):
        checkpoints.save(tmp_path, step, {}, {}, keep=2, kept_steps=(2, 4))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"step-{step:08d}" for step in (2, 4, 6, 7)]
    checkpoints.save(tmp_path, 3, {}, {}, keep=1, kept_steps=(2, 4))  # it has gone back
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000002", "step-00000003"]


# --- killed


def kill(tmp_path: Path, order: RunOrder, seed: int, count: int) -> dict[str, Any]:
    write_order(tmp_path / "ordered", order)
    answer = killing.ask("kills", tmp_path, seed=seed, count=count)
    assert answer["wrong"] == [] and answer["traces"] == 0
    assert sum(answer["killed"].values()) >= count
    return answer


@pytest.mark.slow
def test_a_branch_that_is_killed_equals_the_run_from_the_start(
    data: Path, stable: Path, separate: dict[int, Path], tmp_path: Path
):
    beside(stable, tmp_path)
    kill(tmp_path, begins_from(branch(data, 15, 3), "stable"), seed=3, count=2)
    assert runs.differences(tmp_path / "unbroken", separate[15]) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_kills_of_stable_runs_and_branches_at_any_moment(
    seed: int, data: Path, tmp_path: Path, record_property: Callable[[str, object], None]
):
    """Stable runs of two seeds are killed, branches of each begin from them and are killed."""
    killed = 0
    stable = stable_order(data, seed=seed, how={"checkpoint_every": 2})
    answer = kill(tmp_path, stable, seed, 40)
    killed += sum(answer["killed"].values())
    for end, decay in ((7, 2), (15, 3)):
        order = branch(data, end, decay, seed=seed)
        assert runs.do(tmp_path / f"separate-{end}", order) == 0
        for number in range(answer["runs"]):
            folder = tmp_path / f"branch-{end}-{number}"
            assert runs.do(folder, begins_from(order, f"run-{number}")) == 0
            assert runs.differences(folder, tmp_path / f"separate-{end}") == []
        place = tmp_path / f"killed-{end}"
        beside(tmp_path / "unbroken", place)
        how = order.how.model_copy(update={"checkpoint_every": 1})
        order = begins_from(order.model_copy(update={"how": how}), "stable")
        killed += sum(kill(place, order, seed, 40)["killed"].values())
        assert runs.differences(place / "unbroken", tmp_path / f"separate-{end}") == []
    record_property("figure", f"{killed} kills: rows and weights equal bit for bit")


@pytest.mark.slow
def test_a_branch_is_killed_at_every_operation_on_a_file(
    data: Path, stable: Path, separate: dict[int, Path], tmp_path: Path
):
    beside(stable, tmp_path)
    write_order(tmp_path / "ordered", begins_from(branch(data, 7, 2), "stable"))
    answer = killing.ask("every", tmp_path, seed=0, count=1)
    assert answer["wrong"] == []
    assert runs.differences(tmp_path / "unbroken", separate[7]) == []
