"""The folder of a run -> its progress, its end, and the process that has locked it.

The folder has the complete state of a run, so that any engine can resume a run of another engine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..run.exit_status import FINAL, FINISHED, PAUSED, write_end
from ..run.locks import holder
from ..run.metrics_log import POINTS
from ..spec import ORDER, RunOrder, read_order, write_order

LOG = "log.txt"
MODEL = "model"  # folder of the trained model, in the format of transformers
LOG_TAIL_LINES = 12  # displayed lines of a log
MAX_METRICS_ROW_BYTES = 2**16  # maximum size of a row


@dataclass(frozen=True)
class RunState:
    """The progress of a run.

    Attributes:
        status: new, begun, paused, done, diverged, oom or failed.
        step: the step of its newest row.
        tokens: number of tokens it was trained on at that row.
        rate: tokens per second when the newest row was written, if known.
        device: the device that wrote it.
        message: the message recorded at its end.
        held_by: the process that has locked it, `host/pid since …`; empty for none.
        losses: the losses of its newest row, validation set -> loss in nat/token.
    """

    status: str
    step: int = 0
    tokens: int = 0
    rate: float | None = None
    device: str = ""
    message: str = ""
    held_by: str = ""
    losses: Mapping[str, float] = field(default_factory=dict)

    @property
    def final(self) -> bool:
        """Whether no work remains."""
        return self.status in FINAL

    def completes(self, order: RunOrder) -> bool:
        """Whether all that an order asks for is done: a stable run may be paused where it ends."""
        paused = self.status == PAUSED and order.until is not None and self.step >= order.until
        return self.final or paused


def read_state(folder: Path) -> RunState:
    """The progress of the run in a folder; new where the folder has no run."""
    last, done = last_row(folder), end_record(folder)
    begun = "begun" if last or (folder / ORDER).exists() else "new"
    return RunState(
        status=str(done.get("status", begun)),
        step=int(done.get("step") or last.get("step", 0)),
        tokens=int(last.get("tokens", 0)),
        rate=last.get("tokens_per_second"),
        device=str(last.get("device", "")),
        message=str(done.get("message", "")),
        held_by=holder(folder),
        losses=losses_of(last),
    )


def last_row(folder: Path) -> dict[str, Any]:
    """The newest complete row of a run; empty if there is none, or if it is damaged."""
    try:
        with (folder / POINTS).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - MAX_METRICS_ROW_BYTES))
            # [-1] follows the last line end: empty, or an incomplete row
            row = json.loads(file.read().split(b"\n")[-2])
    except (OSError, ValueError, IndexError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def losses_of(row: Mapping[str, Any]) -> dict[str, float]:
    """The losses of a row, validation set -> loss in nat/token; damaged entries are omitted."""
    measured = row.get("losses", {})
    pairs = measured.items() if isinstance(measured, dict) else ()
    return {
        name: float(m["loss"])
        for name, m in pairs
        if isinstance(m, dict) and isinstance(m.get("loss"), (int, float))
    }


def end_record(folder: Path) -> dict[str, Any]:
    """The record of how a run ended; empty if it has not ended."""
    try:
        document = json.loads((folder / FINISHED).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def end_stamp(folder: Path) -> tuple[int, int]:
    """A stamp that changes whenever the end of a run is written, even with the same content."""
    with suppress(OSError):
        status = (folder / FINISHED).stat()
        # a replaced file has another inode, even within one clock tick
        return status.st_ino, status.st_mtime_ns
    return 0, 0


def prepare(folder: Path, order: RunOrder) -> None:
    """Prepare a run's folder for a worker: write its current order.

    Args:
        folder: the folder of the run.
        order: its order.

    Raises:
        LawdslError: the folder has another run (R0107), or cannot be written (R0408).
    """
    try:
        if (folder / ORDER).exists() and read_order(folder).run.identity() != order.run.identity():
            message = f"{folder} holds another run than its name says"
            help = "move the folder away, or remove it"
            raise LawdslError(Diagnostic("R0107", message, place=str(folder / ORDER), help=help))
        write_order(folder, order)
    except OSError as error:
        message = f"the folder of the run {order.label} cannot be written: {error.strerror}"
        help = "make room, or choose another `folder` for the sweep"
        raise LawdslError(Diagnostic("R0107", message, place=str(folder), help=help)) from None


def fail(folder: Path, message: str, log: Sequence[str]) -> None:
    """Record that a run failed for a reason other than lack of memory.

    Args:
        folder: the folder of the run.
        message: the cause.
        log: the last lines of its log.

    Raises:
        OSError: it cannot be written.
    """
    step = last_row(folder).get("step")
    done = {"status": "failed", "step": step, "message": message, "log": list(log)}
    write_end(folder, done)


def append_to_log(folder: Path, text: str) -> None:
    """Append a line to a run's log; system errors are ignored.

    Args:
        folder: the folder of the run.
        text: the line.
    """
    with suppress(OSError), (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(text + "\n")


def log_tail(folder: Path, lines: int = LOG_TAIL_LINES) -> list[str]:
    """Return the last lines of a run's log.

    Args:
        folder: the folder of the run.
        lines: their number.

    Returns:
        The lines; empty where the log cannot be read.
    """
    try:
        with (folder / LOG).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 200 * lines))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]


def folders_by_identity(folder: Path) -> Mapping[str, tuple[Path, ...]]:
    """List the folders of all runs below the folder of a sweep, which are named LABEL-IDENTITY.

    Args:
        folder: the folder of the sweep.

    Returns:
        Identity -> folders of that run, which may have been started under several labels.
    """
    folders: dict[str, list[Path]] = {}
    for path in sorted(folder.glob(f"*-*/{ORDER}")):
        folders.setdefault(path.parent.name.rpartition("-")[2], []).append(path.parent)
    return {identity: tuple(same) for identity, same in folders.items()}


def unexpected_folders(folder: Path, expected: Iterable[Path]) -> list[Path]:
    """List the run folders below a sweep's folder that are not expected.

    Args:
        folder: the folder of the sweep.
        expected: the folders of its runs.

    Returns:
        The other folders, sorted.
    """
    mine = set(expected)
    return sorted(p.parent for p in folder.glob(f"*/{ORDER}") if p.parent not in mine)
