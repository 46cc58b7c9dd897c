"""Exclusive locks of run folders: one process at a time executes a run.

The lock is an flock on RUN/lock, which the operating system releases when its process ends in any
way. On some shared file systems other hosts do not see it; therefore the file also has the name of
the host, and is emptied at the end. Nothing depends on clocks; the time in the file is informative
only.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..spec import canonical_json


def array_task(environment: Mapping[str, str] = os.environ) -> str:
    """The Slurm array task of this process; empty outside of job arrays.

    Args:
        environment: the environment variables.

    Returns:
        `JOB_TASK`, which stays the same when Slurm starts the task again.
    """
    job = environment.get("SLURM_ARRAY_JOB_ID", "")
    return job and f"{job}_{environment.get('SLURM_ARRAY_TASK_ID', '')}"


@contextlib.contextmanager
def hold(run_folder: Path, label: str, steal: bool = False) -> Iterator[None]:
    """Lock a run while the block runs.

    Args:
        run_folder: the run folder of the run.
        label: the name of the run, for messages.
        steal: take over a run whose lock names another host. The caller must know that nothing runs
            there any more.

    Returns:
        A context manager.

    Raises:
        LawdslError: R0408, another process has the lock; R0409, another host is named and has not
            released it; R0410, the folder cannot be locked.
    """
    path = run_folder / "lock"
    with contextlib.ExitStack() as stack:
        try:
            # "a": opened without truncating what another process has written there
            file = stack.enter_context(open(path, "a+b", buffering=0))
            _lock(file)
        except BlockingIOError:
            raise LawdslError(_locked_diagnostic(path, label, _holder(file))) from None
        except OSError as error:
            raise LawdslError(_unlockable_diagnostic(path, label, error)) from None
        last = _holder(file)
        # read after locking: the holder might change between reading and locking
        if last and last["host"] != socket.gethostname() and not steal:
            raise LawdslError(_other_host_diagnostic(path, label, last))
        _write(file, path, label)
        try:
            yield
        finally:
            # emptied, not removed: a removed file could be locked by one process and created anew
            with contextlib.suppress(OSError):
                file.truncate(0)


def holder(run_folder: Path) -> str:
    """The process that has locked a run, `host/pid since …`; empty if none is known on this host.

    If the file is empty the lock is not tested, so that another process can acquire it meanwhile.
    """
    try:
        with open(run_folder / "lock", "rb", buffering=0) as file:
            process = _holder(file)
            if not process or (process["host"] == socket.gethostname() and _free(file)):
                return ""
    except OSError:
        return ""
    return _who(process)


def named(run_folder: Path) -> dict[str, Any]:
    """The host, pid and time in the lock file of a run, even if that process has ended; empty
    without any.

    With `task`, if the process belonged to a task of a job array.
    """
    try:
        with open(run_folder / "lock", "rb", buffering=0) as file:
            return _holder(file)
    except OSError:
        return {}


def release(run_folder: Path) -> bool:
    """Empty the lock of a process that ended without doing so.

    To be called on the host in the file, or anywhere if locks are visible on all hosts, or if the
    host is known to be down.

    Returns:
        Whether the run is unlocked now; False if unknown.
    """
    try:
        with open(run_folder / "lock", "r+b", buffering=0) as file:
            _lock(file)
            file.truncate(0)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _lock(file: BinaryIO) -> None:
    """Lock, or fail after a delay that exceeds the time for which `holder` in another process tests
    the lock.

    Raises:
        BlockingIOError: another process holds it.
    """
    for _ in range(25):
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.01)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _free(file: BinaryIO) -> bool:
    """Whether the process in the lock file has ended; its number may belong to another process by
    now.
    """
    try:
        # shared: several processes may test the lock at the same time
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write(file: BinaryIO, path: Path, label: str) -> None:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    content = {"host": socket.gethostname(), "pid": os.getpid(), "since": since}
    if task := array_task():
        content["task"] = task
    try:
        file.truncate(0)
        file.write(canonical_json(content).encode())
        # if other hosts do not see the lock, only the name in the file excludes them
        os.fsync(file.fileno())
    except OSError as error:
        raise LawdslError(_unlockable_diagnostic(path, label, error)) from None


def _holder(file: BinaryIO) -> dict[str, Any]:
    """The process in the lock file, which may have ended; empty if there is none."""
    file.seek(0)
    try:
        content = json.loads(file.read())
        holder = {key: content[key] for key in ("host", "pid", "since")}
        return holder | ({"task": content["task"]} if "task" in content else {})
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _who(holder: dict[str, Any]) -> str:
    return f"{holder['host']}/{holder['pid']} since {holder['since']}"


def _locked_diagnostic(path: Path, label: str, holder: dict[str, Any]) -> Diagnostic:
    return Diagnostic(
        "R0408",
        f"run {label} is held by {_who(holder) if holder else 'another process'}",
        place=str(path),
        help="wait for that process, or end it; its lock goes with it",
    )


def _other_host_diagnostic(path: Path, label: str, holder: dict[str, Any]) -> Diagnostic:
    host = holder["host"]
    return Diagnostic(
        "R0409",
        f"run {label} is held by {_who(holder)}",
        place=str(path),
        notes=(f"from here nobody can tell whether that process on {host} still runs",),
        help="if it does not, start the run again with --steal",
    )


def _unlockable_diagnostic(path: Path, label: str, error: OSError) -> Diagnostic:
    return Diagnostic(
        "R0410",
        f"run {label} cannot be locked: {error.strerror}",
        place=str(path),
        help="put the runs in a folder that can be written, on a file system with locks",
    )
