"""Whenever the process dies and whatever the disk does, the newest whole checkpoint is found."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dying
import pytest
import torch
from raised import code_and_text
from saved_checkpoints import copied_pair, names, save, saved_pair

from lawdsl.runners.training import checkpoints

ROOT = Path(__file__).resolve().parent.parent


pair = pytest.fixture(scope="module")(saved_pair)
folder = pytest.fixture(copied_pair)


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory if there is one: to sync takes no time, and a killed process is no cut
    of power."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
    else:
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            yield Path(folder)


# --- what is saved is found


def test_what_is_loaded_is_what_was_saved_bit_for_bit(folder: Path):
    found, warnings = checkpoints.latest(folder)

    assert found and not warnings
    assert found.step == 200 and found.state == dying.state(200)
    assert dying.same(checkpoints.load(found), dying.tensors(200))


def test_no_folder_and_an_empty_one_hold_no_checkpoint(tmp_path: Path):
    assert checkpoints.latest(tmp_path) == (None, [])
    assert checkpoints.latest(tmp_path / "none") == (None, [])


@pytest.mark.parametrize(("keep", "left"), [(1, [4]), (2, [3, 4]), (3, [2, 3, 4])])
def test_only_the_newest_are_kept(keep: int, left: list[int], tmp_path: Path):
    save(tmp_path, 1, 2, 3, 4, keep=keep)

    assert names(tmp_path) == [f"step-{step:08d}" for step in left]


def test_a_step_is_saved_again_in_its_place(folder: Path):
    state = {**dying.state(200), "rows_bytes": 9}
    checkpoints.save(folder, 200, dying.tensors(200), state)

    found, _ = checkpoints.latest(folder)
    assert found and found.state["rows_bytes"] == 9
    assert names(folder) == ["step-00000100", "step-00000200"]


def test_of_two_of_one_step_the_later_is_used_if_it_is_whole(folder: Path):
    """What is there when a process died that saved a step again."""
    shutil.copytree(folder / "step-00000200", folder / "step-00000200-old")
    found, _ = checkpoints.latest(folder)
    assert found and found.folder.name == "step-00000200"

    (found.folder / "state.json").unlink()
    found, warnings = checkpoints.latest(folder)
    assert found and found.folder.name == "step-00000200-old" and len(warnings) == 1
    save(folder, 200)
    assert names(folder) == ["step-00000100", "step-00000200"]


def test_a_step_is_saved_again_though_two_of_it_are_there(folder: Path):
    shutil.copytree(folder / "step-00000200", folder / "step-00000200-old")
    save(folder, 200)

    assert names(folder) == ["step-00000100", "step-00000200"]


def test_going_back_removes_the_later_ones(folder: Path):
    save(folder, 150)

    assert names(folder) == ["step-00000100", "step-00000150"]


def test_steps_of_more_than_eight_digits_come_in_order(tmp_path: Path):
    save(tmp_path, 99_999_999, 100_000_000)

    found, _ = checkpoints.latest(tmp_path)
    assert found and found.step == 100_000_000


def test_tensors_that_share_memory_are_each_saved(tmp_path: Path):
    w = torch.arange(12.0).reshape(3, 4)
    model = {"w": w, "tied": w, "turned": w.T, "part": w[1:, 1:], "one": torch.tensor(2)}
    parameter = {"p": torch.nn.Parameter(w.clone())}
    checkpoints.save(tmp_path, 1, {"model": model, "more": parameter, "none": {}}, {})

    found, _ = checkpoints.latest(tmp_path)
    assert found
    loaded = checkpoints.load(found)
    assert set(loaded) == {"model", "more", "none"}
    assert dying.same(loaded, {"model": model, "more": {"p": w}, "none": {}})


def test_what_is_loaded_does_not_hang_on_the_file(folder: Path):
    """Else a checkpoint that is removed or written over would change the run's own memory."""
    found, _ = checkpoints.latest(folder)
    assert found
    loaded = checkpoints.load(found)
    for path in found.folder.iterdir():
        path.write_bytes(b"")

    assert dying.same(loaded, dying.tensors(200))


def test_every_file_is_synced_before_the_name_and_the_manifest_is_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    done: list[tuple[str, int]] = []
    fsync, rename = os.fsync, Path.rename

    def synced(handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        done.append((path.name, path.stat().st_size if path.is_file() else -1))
        fsync(handle)

    def renamed(path: Path, target: Path) -> Path:
        done.append(("rename", -1))
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    place = save(tmp_path / "checkpoints", 1)

    temporary = f".tmp-{os.getpid()}"
    files = ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"]
    sizes = [(name, (place / name).stat().st_size) for name in files]
    ends = [(temporary, -1), ("rename", -1), ("checkpoints", -1)]
    assert done == [(tmp_path.name, -1), *sizes, *ends]


# --- what dies, and what fails


def test_a_process_killed_while_it_saves_leaves_whole_checkpoints(quick: Path):
    answer = dying.run("moments", quick, seed=1, count=30)

    assert answer["wrong"] == []
    assert answer["partial"] > 0, "no kill hit a checkpoint that was being written"


@pytest.mark.slow
def test_a_thousand_kills(tmp_path: Path, record_property: Callable[[str, object], None]):
    answer = dying.run("moments", tmp_path, seed=2, count=1000)

    record_property(
        "figure",
        f"1,000 kills of a process that saves: {answer['saved']} checkpoints acknowledged, "
        f"{answer['partial']} partial left behind, {len(answer['wrong'])} wrong",
    )
    assert answer["wrong"] == []
    assert answer["partial"] > 100


@pytest.mark.slow
def test_every_operation_on_a_file_may_fail_or_be_the_last(quick: Path):
    """The disk is full at the first, the second, the third ... operation, or the process dies at
    it, or the power is cut and what is not synced is lost."""
    answer = dying.run("operations", quick)

    assert answer["wrong"] == []
    assert min(answer["operations"].values()) > 30


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_is_interrupted_leaves_nothing(
    error: type[BaseException], folder: Path, monkeypatch: pytest.MonkeyPatch
):
    def interrupted(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(error):
        save(folder, 300)

    assert names(folder) == ["step-00000100", "step-00000200"]


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_may_not_grow_leaves_the_checkpoints_from_before(folder: Path):
    with largest_file(50_000):
        code, text = code_and_text(lambda: save(folder, 300))

    assert code == "R0403" and "File too large" in text and "step 300" in text
    assert names(folder) == ["step-00000100", "step-00000200"]
    save(folder, 300)
    assert names(folder) == ["step-00000200", "step-00000300"]


DISK = """
import subprocess, sys
from pathlib import Path
import dying
from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.training import checkpoints

disk = Path(sys.argv[1])
folder = disk / "checkpoints"

def attempt(step):
    try:
        checkpoints.save(folder, step, dying.tensors(step), dying.state(step), keep=2)
        print("saved", step)
    except LawdslError as error:
        print(error)
    print(dying.faults(folder, {2}))

attempt(2)
(disk / "other").write_bytes(bytes(400_000))
attempt(3)
(disk / "other").unlink()
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
attempt(3)
"""


def test_a_full_and_a_read_only_disk_keep_the_last_checkpoint(tmp_path: Path):
    """On a disk of its own, in memory, which only a process that may mount can have."""
    mounted = f'mount -t tmpfs -o size=700k none "{tmp_path}" && exec "$0" -c "$1" "{tmp_path}"'
    command = ["unshare", "-m", "sh", "-c", mounted, sys.executable, DISK]
    if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "true"]).returncode:
        pytest.skip("needs the right to mount")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "mount:" in done.stderr:
        pytest.skip("needs the right to mount")

    assert done.stderr == ""
    first, full, read_only = done.stdout.split("([], 2)\n")[:3]
    needed = sum(t.nbytes for of in dying.tensors(3).values() for t in of.values())
    assert first == "saved 2\n"
    assert "R0403" in full and "No space left on device" in full
    assert f"it needs about {needed:,} bytes; " in full and " are free" in full
    assert "R0403" in read_only and "Read-only file system" in read_only


def test_a_file_where_the_folder_should_be_is_an_error(tmp_path: Path):
    path = tmp_path / "checkpoints"
    path.write_text("")

    assert code_and_text(lambda: save(path, 1))[0] == "R0403"
    assert code_and_text(lambda: save(path / "deeper", 1))[0] == "R0403"
    assert code_and_text(lambda: checkpoints.latest(path))[0] == "R0404"
