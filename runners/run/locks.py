"""One process at a time on a run.

The lock is the operating system's (flock) on RUN/lock, and is released with the process that has
it, however it ends. On some shared file systems other hosts do not see such a lock: the file
therefore names the host of the run as well, and is emptied when it is done. Nothing here depends on
clocks; the time in the file is for people to read.
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
    """Return the task of a Slurm job array that this process belongs to; empty outside of one.

    Args:
        environment: its variables.

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
        label: the name of the run in messages.
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
            raise LawdslError(_held(path, label, _holder(file))) from None
        except OSError as error:
            raise LawdslError(_no_lock(path, label, error)) from None
        last = _holder(file)
        # after locking: between reading and locking the holder might change
        if last and last["host"] != socket.gethostname() and not steal:
            raise LawdslError(_elsewhere(path, label, last))
        _write(file, path, label)
        try:
            yield
        finally:
            # emptied, not removed: a removed file could be locked by one process and created anew
            with contextlib.suppress(OSError):
                file.truncate(0)


def holder(run_folder: Path) -> str:
    """Who has locked a run, `host/pid since …`; empty if nobody has, as seen from this host.

    Where nobody is named the lock is not touched, so that another process can take it meanwhile.
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
    """The host, pid and time in the lock of a run, even of an ended process; empty without any.

    With `task`, if the process belonged to a task of a job array.
    """
    try:
        with open(run_folder / "lock", "rb", buffering=0) as file:
            return _holder(file)
    except OSError:
        return {}


def release(run_folder: Path) -> bool:
    """Empty the lock of a process that ended without doing so.

    To be called on the host that is named, or anywhere if all hosts see the file system's locks,
    or by whoever knows that the host is gone.

    Returns:
        Whether the run is free now; False as well where that is not known.
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
    """Lock, or fail after a moment: longer than `holder` of another process looks at the lock.

    Raises:
        BlockingIOError: another process holds it.
    """
    for _ in range(25):
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.01)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _free(file: BinaryIO) -> bool:
    """Whether the process that is named has ended; its number may be another's by now."""
    try:
        # shared: several processes may look at once without keeping each other out
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
        # where other hosts do not see the lock, the name in the file is all that keeps them out
        os.fsync(file.fileno())
    except OSError as error:
        raise LawdslError(_no_lock(path, label, error)) from None


def _holder(file: BinaryIO) -> dict[str, Any]:
    """The process named in the lock, which may have ended; empty if none is named."""
    file.seek(0)
    try:
        content = json.loads(file.read())
        holder = {key: content[key] for key in ("host", "pid", "since")}
        return holder | ({"task": content["task"]} if "task" in content else {})
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}


def _who(holder: dict[str, Any]) -> str:
    return f"{holder['host']}/{holder['pid']} since {holder['since']}"


def _held(path: Path, label: str, holder: dict[str, Any]) -> Diagnostic:
    return Diagnostic(
        "R0408",
        f"run {label} is held by {_who(holder) if holder else 'another process'}",
        place=str(path),
        help="wait for that process, or end it; its lock goes with it",
    )


def _elsewhere(path: Path, label: str, holder: dict[str, Any]) -> Diagnostic:
    host = holder["host"]
    return Diagnostic(
        "R0409",
        f"run {label} is held by {_who(holder)}",
        place=str(path),
        notes=(f"from here nobody can tell whether that process on {host} still runs",),
        help="if it does not, start the run again with --steal",
    )


def _no_lock(path: Path, label: str, error: OSError) -> Diagnostic:
    return Diagnostic(
        "R0410",
        f"run {label} cannot be locked: {error.strerror}",
        place=str(path),
        help="put the runs in a folder that can be written, on a file system with locks",
    )
