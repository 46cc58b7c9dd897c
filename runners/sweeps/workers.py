"""Workers: processes that each do the run in one folder, on the machine that starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ending import SWEEP
from ..spec import How
from .run_folders import LOG, ended, stamp, tail

WORKER = (sys.executable, "-m", "lawdsl.runners.cpt")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone")


@dataclass(frozen=True)
class Worker:
    """A worker at work.

    Attributes:
        before: the stamp of an end that the run's folder had before.
    """

    folder: Path
    process: subprocess.Popen[bytes]
    before: tuple[int, int]

    def exit(self) -> Exit | None:
        """How it ended; None while it is at work."""
        code = self.process.poll()
        if code is None:
            return None
        end = ended(self.folder) if stamp(self.folder) != self.before else {}
        return Exit(code, _death(code), end, tuple(tail(self.folder)))

    def tell(self, number: int) -> None:
        """Ask it to save and end, by SIGTERM; any other signal is for all that it has started."""
        with suppress(ProcessLookupError):
            if number == signal.SIGTERM:
                self.process.send_signal(number)  # torchrun passes it on by itself
            elif self.process.poll() is None:
                os.killpg(self.process.pid, number)


@dataclass(frozen=True)
class Exit:
    """How a worker ended.

    Attributes:
        code: its exit code, below 0 for a signal; None for one that was lost with its machine.
        why: the same in words.
        end: what it wrote of the run's end; nothing where it came to none.
        log: the last lines of the run's log.
    """

    code: int | None
    why: str
    end: Mapping[str, Any] = field(default_factory=dict)
    log: tuple[str, ...] = ()


def start(
    folder: Path, how: How, command: Sequence[str], gpus: Sequence[str] | None = None
) -> Worker:
    """Start a worker.

    Args:
        command: an interpreter and what it runs; the folder is its last argument.
        gpus: that it may use, as CUDA calls them; None if the run says it by itself.

    Raises:
        OSError: the log cannot be written, or no process started.
    """
    before = stamp(folder)
    if how.processes > 1:
        command = (*TORCHRUN, "--nproc-per-node", str(how.processes), *command[1:])
    with (folder / LOG).open("ab") as log:
        process = subprocess.Popen(
            [*command, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environment(how, gpus),
            start_new_session=True,  # what interrupts the sweep must not reach it twice
        )
    return Worker(folder, process, before)


def _environment(how: How, gpus: Sequence[str] | None) -> dict[str, str]:
    """What a worker sees: its threads and GPUs alone, and no network."""
    threads = str(how.threads)
    found = {
        **os.environ,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OMP_WAIT_POLICY": "PASSIVE",  # threads that wait must not keep other runs from working
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        SWEEP: str(os.getpid()),
    }
    if gpus is not None:
        found["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    return found


def _death(code: int) -> str:
    if code >= 0:
        return f"its worker ended with exit code {code}"
    name = signal.Signals(-code).name
    by = ", as the system does where memory runs out" if name == "SIGKILL" else ""
    return f"its worker was killed by {name}{by}"
