"""One process at a time has a run, and the run is free when that process is gone."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run import locks

ROOT = Path(__file__).resolve().parent.parent

HOLD = """
import subprocess, sys
from pathlib import Path
from lawdsl.runners.run.locks import hold

with hold(Path(sys.argv[1]), "r1"):
    child = subprocess.Popen(["sleep", "60"]) if "child" in sys.argv else None
    print(child.pid if child else 0, flush=True)
    sys.stdin.read()
"""

TAKE_TURNS = """
import os, sys, time
from pathlib import Path
from lawdsl.core.diagnostics import LawdslError
from lawdsl.runners.run.locks import hold

folder, turns, refused, overlaps = Path(sys.argv[1]), 0, 0, 0
while turns < 10:
    try:
        with hold(folder, "r1"):
            inside = folder / "inside"
            try:
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                overlaps += 1
            time.sleep(0.001)
            inside.unlink(missing_ok=True)
        turns += 1
    except LawdslError as error:
        assert error.diagnostics[0].code == "R0408", error
        refused += 1
        time.sleep(0.001)
print(overlaps, refused)
"""


def started(program: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextmanager
def holder(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that holds the run; and the number of a child of it, if it is to have one."""
    with started(HOLD, folder, *more) as process:
        assert process.stdout
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def refused(folder: Path, steal: bool = False) -> tuple[str, str]:
    """The code of the error with which the run is refused, and all of its text."""
    with pytest.raises(LawdslError) as error, locks.hold(folder, "r1", steal):
        pytest.fail("the run is held twice")
    return error.value.diagnostics[0].code, str(error.value)


def content(folder: Path) -> str:
    return (folder / "lock").read_text()


@pytest.mark.parametrize("steal", [False, True])
def test_a_second_process_is_told_who_holds_the_run(steal: bool, tmp_path: Path):
    with holder(tmp_path) as (process, _):
        code, text = refused(tmp_path, steal)
        since = json.loads(content(tmp_path))["since"]

    assert code == "R0408"
    assert f"run r1 is held by {socket.gethostname()}/{process.pid} since {since}" in text
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", since)


def test_the_same_process_cannot_hold_a_run_twice(tmp_path: Path):
    with locks.hold(tmp_path, "r1"):
        assert refused(tmp_path)[0] == "R0408"
    with locks.hold(tmp_path, "r1"):
        pass


def test_a_run_that_was_let_go_says_so(tmp_path: Path):
    with locks.hold(tmp_path, "r1"):
        assert json.loads(content(tmp_path))["pid"] == os.getpid()
    assert content(tmp_path) == ""

    with pytest.raises(KeyError), locks.hold(tmp_path, "r1"):
        raise KeyError
    assert content(tmp_path) == ""


def test_a_killed_process_frees_the_run(tmp_path: Path):
    with holder(tmp_path) as (process, _):
        process.kill()
        process.wait()
        assert json.loads(content(tmp_path))["pid"] == process.pid
        with locks.hold(tmp_path, "r1"):
            assert json.loads(content(tmp_path))["pid"] == os.getpid()


def test_programs_that_a_killed_process_had_started_do_not_hold_the_run(tmp_path: Path):
    with holder(tmp_path, "child") as (process, child):
        process.kill()
        process.wait()
        try:
            os.kill(child, 0)
            with locks.hold(tmp_path, "r1"):
                pass
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("since", ["1970-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00"])
def test_no_clock_decides(since: str, tmp_path: Path):
    """Neither an old nor a future time makes a dead process hold the run, or a living one lose it."""
    left = {"host": socket.gethostname(), "pid": 1, "since": since}
    (tmp_path / "lock").write_text(json.dumps(left))
    with locks.hold(tmp_path, "r1"):
        pass

    with holder(tmp_path):
        (tmp_path / "lock").write_text(json.dumps(left))
        assert refused(tmp_path)[0] == "R0408"


def test_a_run_of_another_host_is_refused_unless_it_is_stolen(tmp_path: Path):
    left = {"host": "node-17", "pid": 4711, "since": "2026-01-02T03:04:05+00:00"}
    (tmp_path / "lock").write_text(json.dumps(left))
    for _ in range(2):
        code, text = refused(tmp_path)
        assert code == "R0409"
        assert "run r1 is held by node-17/4711 since 2026-01-02T03:04:05+00:00" in text
        assert "nobody can tell whether that process on node-17 still runs" in text
        assert json.loads(content(tmp_path)) == left

    with locks.hold(tmp_path, "r1", steal=True):
        assert json.loads(content(tmp_path))["host"] == socket.gethostname()
    with locks.hold(tmp_path, "r1"):
        pass


@pytest.mark.parametrize("left", ["", "{", "[]", "null", "[" * 10**5, '{"host": "a"}', "\x00" * 9])
def test_what_is_left_of_a_torn_lock_holds_nothing(left: str, tmp_path: Path):
    (tmp_path / "lock").write_text(left)
    with locks.hold(tmp_path, "r1"):
        assert json.loads(content(tmp_path))["pid"] == os.getpid()


def test_a_holder_that_has_not_said_who_it_is_still_holds(tmp_path: Path):
    with open(tmp_path / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        code, text = refused(tmp_path)

    assert code == "R0408" and "run r1 is held by another process" in text


def test_who_holds_a_run_is_told_to_whoever_asks(tmp_path: Path):
    assert locks.holder(tmp_path / "none") == locks.holder(tmp_path) == ""
    with holder(tmp_path) as (process, _):
        since = json.loads(content(tmp_path))["since"]
        who = f"{socket.gethostname()}/{process.pid} since {since}"
        assert locks.holder(tmp_path) == who
        process.kill()
        process.wait()
        assert locks.holder(tmp_path) == ""
    with locks.hold(tmp_path, "r1"):
        assert locks.holder(tmp_path).startswith(f"{socket.gethostname()}/{os.getpid()} since ")
    assert locks.holder(tmp_path) == ""

    left = {"host": "node-17", "pid": 4711, "since": "2026-01-02T03:04:05+00:00"}
    (tmp_path / "lock").write_text(json.dumps(left))
    assert locks.holder(tmp_path) == "node-17/4711 since 2026-01-02T03:04:05+00:00"


def test_a_look_at_the_lock_does_not_keep_another_from_taking_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with open(tmp_path / "lock", "w") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
        with locks.hold(tmp_path, "r1"):
            assert json.loads(content(tmp_path))["pid"] == os.getpid()


def test_processes_take_turns(tmp_path: Path):
    processes = [started(TAKE_TURNS, tmp_path) for _ in range(3)]
    answers = [process.communicate()[0].split() for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0]
    assert [overlaps for overlaps, _ in answers] == ["0", "0", "0"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EROFS])
def test_a_file_system_without_locks_is_an_error(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", fails)
    code, text = refused(tmp_path)

    assert code == "R0410" and os.strerror(number) in text


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path):
    assert refused(tmp_path / "none")[0] == "R0410"
    (tmp_path / "file").write_text("")
    assert refused(tmp_path / "file")[0] == "R0410"


def test_a_lock_names_the_task_of_a_job_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SLURM_ARRAY_JOB_ID", raising=False)
    with locks.hold(tmp_path, "a"):
        assert "task" not in locks.named(tmp_path)
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "4711")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    with locks.hold(tmp_path, "a"):
        assert locks.named(tmp_path)["task"] == "4711_3"
