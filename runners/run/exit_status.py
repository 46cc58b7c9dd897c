"""The end of a run: the signals that request it, its exit code, and its record in done.json."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.files import write

from .disk import discard, room_text
from .live import remove_live

DONE, DIVERGED, WRONG, MEMORY, LOST, STOPPED, INTERRUPTED = 0, 1, 3, 4, 5, 75, 130
"""Exit codes of a run: 3 for wrong input, which is not retried; 5 for a process that ends because
another process of the run has ended.
"""
FINISHED = "done.json"
CHECKPOINTS = "checkpoints"
FINAL = ("done", "diverged")  # not repeated, unlike other failures: the outcome would be the same
PAUSED = "paused"  # a stable run of which no further step is wanted yet
SWEEP = "LAWDSL_SWEEP"  # environment variable: the process of the sweep to which the run belongs


class ExitRequest:
    """The signal that requested the run to stop, 0 if none has; a second one ends the process.

    torchrun forwards to its processes what a terminal or a scheduler has sent to all of them:
    signals within a second of the first count as one.

    Args:
        world: the number of processes of the run.
    """

    SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)

    def __init__(self, world: int) -> None:
        self.signal = 0
        self.since = 0.0
        # without /proc the state of the sweep is unknown, and every run would stop at once
        self.sweep = os.environ.get(SWEEP, "") if Path("/proc/self").exists() else ""
        self.alike = 1.0 if world > 1 else 0.0
        for number in self.SIGNALS:
            signal.signal(number, self)

    def asked(self) -> int:
        """The signal, or 0; SIGTERM where the sweep that started this run has ended."""
        if not self.signal and self.sweep and not Path(f"/proc/{self.sweep}").exists():
            return signal.SIGTERM
        return self.signal

    def __call__(self, number: int, frame: object) -> None:
        now = time.monotonic()
        if not self.signal:
            self.signal, self.since = number, now
        elif now - self.since >= self.alike:
            # not sys.exit: a handler may interrupt code that would catch the exception
            os._exit(stopped(number))


def stopped(number: int) -> int:
    """The exit code of a run that was stopped by a signal."""
    return INTERRUPTED if number == signal.SIGINT else STOPPED


def finished(folder: Path) -> str | None:
    """The final status of the run in a folder, one of `FINAL`; None if work remains.

    Raises:
        OSError: it cannot be read, so that the status of the run is unknown.
    """
    try:
        status = json.loads((folder / FINISHED).read_text(encoding="utf-8"))["status"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return status if status in FINAL else None


def reopen(folder: Path) -> None:
    """Remove the record of an end that is not final: out of memory, or killed while writing it."""
    for path in (folder / FINISHED, *folder.glob(f".{FINISHED}.*")):
        path.unlink(missing_ok=True)


def finish(folder: Path, done: dict[str, Any], keep: Iterable[int] = ()) -> None:
    """Write how a run ended, and only then remove its checkpoints.

    Args:
        folder: the folder of the run.
        done: the content of done.json.
        keep: steps whose checkpoints remain, for the branches that begin there.

    Raises:
        LawdslError: it cannot be written (R0508); the checkpoints remain.
    """
    _record(folder, done)
    forget(folder, keep)


def write_end(folder: Path, done: dict[str, Any]) -> None:
    """Write done.json.

    Args:
        folder: the folder of the run.
        done: its content.

    Raises:
        OSError: it cannot be written.
    """
    write(folder / FINISHED, _text(done))


def _text(done: dict[str, Any]) -> str:
    return json.dumps(done, indent=2) + "\n"


def _record(folder: Path, done: dict[str, Any]) -> None:
    try:
        write_end(folder, done)
    except OSError as error:
        raise unwritten("how the run ended", folder, len(_text(done)), error) from None


def forget(folder: Path, keep: Iterable[int] = ()) -> None:
    """Remove the checkpoints and the speed record of a run that has ended.

    Args:
        folder: the folder of the run.
        keep: steps whose checkpoints remain.
    """
    kept = {checkpoint_path(folder, step) for step in keep}
    with contextlib.suppress(OSError):
        for path in (folder / CHECKPOINTS).iterdir():
            if path not in kept:
                discard(path)
        (folder / CHECKPOINTS).rmdir()  # fails unless it is empty
    remove_live(folder)


def checkpoint_path(folder: Path, step: int) -> Path:
    """Return the path of the checkpoint of a step: complete if it exists, see `checkpoints`.

    Args:
        folder: the folder of the run.
        step: the number of updates done.

    Returns:
        The path.
    """
    return folder / CHECKPOINTS / f"step-{step:08d}"


def newest_checkpoint(folder: Path) -> int:
    """Return the step of the newest checkpoint of a run; 0 where it has none.

    Args:
        folder: the folder of the run.

    Returns:
        The number of updates done.
    """
    try:
        names = os.listdir(folder / CHECKPOINTS)
    except OSError:
        return 0
    steps = [name.removeprefix("step-").removesuffix("-old") for name in names]
    return max((int(step) for step in steps if step.isdecimal()), default=0)


def forget_checkpoint(folder: Path, step: int) -> None:
    """Remove the checkpoint of a step; system errors are ignored.

    Args:
        folder: the folder of the run, which may be active.
        step: the number of updates done.
    """
    path = checkpoint_path(folder, step)
    # renamed first, so that a partly removed one is never mistaken for a checkpoint
    nameless = path.with_name(f".tmp-{path.name}")
    with contextlib.suppress(OSError):
        path.rename(nameless)
        discard(nameless)
        path.parent.rmdir()  # fails unless it is empty


def out_of_memory(folder: Path, error: BaseException, used: int | None) -> list[Diagnostic]:
    """Record that the run was out of memory; the checkpoints remain for a smaller micro-batch.

    Args:
        folder: the folder of the run.
        error: the error that was raised.
        used: the peak number of allocated bytes, if known.

    Returns:
        The diagnostic R0507, and R0508 where the end cannot be recorded.
    """
    message = str(error).splitlines()[0] if str(error) else "no memory is left"
    done = {"status": "oom", "step": None, "message": message, "peak_memory_bytes": used}
    diagnostic = Diagnostic(
        "R0507",
        f"memory did not suffice: {message}",
        place=str(folder),
        notes=(f"{used:,} bytes were held at most",) if used else (),
        help="give a smaller micro_batch, or a place with more memory; the run goes on from its last"
        " checkpoint",
    )
    try:
        _record(folder, done)
    except LawdslError as full:
        return [diagnostic, *full.diagnostics]
    return [diagnostic]


def unwritten(what: str, folder: Path, needed: int, error: Exception) -> LawdslError:
    """Create the error for a result that cannot be written at the end of a run.

    Args:
        what: the result, for the message.
        folder: the folder of the run.
        needed: the required bytes; 0 if negligible.
        error: the error of the system.

    Returns:
        The error, R0508.
    """
    return LawdslError(
        Diagnostic(
            "R0508",
            f"{what} cannot be written: {error}",
            place=str(folder),
            notes=(room_text(folder.parent, needed),) if needed else (),
            help="make room, then start the run again: it goes on from its last checkpoint",
        )
    )
