"""A process that executes one run after another: libraries are loaded and models compiled once.

The process reads requests from its standard input, {"folder": …, "log": …} in a line each, and
answers each with the exit code of that run in a line. It ends after a run that fails, runs out of
memory or is stopped, with the exit code of the run; the next run begins in a new process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..spec import ExecutionConfig, RunOrder
from .run_folders import LOG, end_record, end_stamp, log_tail
from .workers import WorkerExit, environment_of, exit_reason

SERVE = "--serve"
CLOSE_SECONDS = 10.0  # for idle processes to unload their libraries at the end of a sweep
ROOM_SECONDS = 1.0  # the same while the scheduler waits to start another run in their place


def process_key(order: RunOrder, gpus: Sequence[str]) -> Hashable:
    """Return a key that is equal for two runs if one process can execute both.

    Args:
        order: the order of a run.
        gpus: the GPUs that it uses.

    Returns:
        The key. The process itself determines whether the compiled model can be reused.
    """
    return order.run.model.name, order.graph_settings, tuple(gpus)


@dataclass
class ReusableProcess:
    """A process that executes one run after another.

    Attributes:
        process: the process.
        key: see `process_key`; equal for all its runs.
        gpus: the GPUs that it uses.
        received: the unprocessed bytes of its answers.
    """

    process: subprocess.Popen[bytes]
    key: Hashable
    gpus: tuple[str, ...] = ()
    received: bytes = b""

    def answer(self) -> int | None:
        """The exit code of its run; None while the run is active, or if the process has ended."""
        assert self.process.stdout is not None
        with suppress(BlockingIOError):
            self.received += os.read(self.process.stdout.fileno(), 4096)
        *lines, self.received = self.received.split(b"\n")
        # libraries may print there while they are imported
        codes = [int(line) for line in lines if line.isdigit()]
        return codes[-1] if codes else None

    def request_end(self) -> None:
        """Request the end of the process, which must be idle, by closing its input."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


def end_all(processes: Iterable[ReusableProcess], seconds: float) -> None:
    """End idle processes, and wait until they have ended.

    Args:
        processes: the processes.
        seconds: the timeout for all of them, after which they are killed.
    """
    listed = list(processes)
    for reusable in listed:
        reusable.request_end()
    until = time.monotonic() + seconds
    for reusable in listed:
        process = reusable.process
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass
class ReusedWorker:
    """A run in such a process; the interface of `workers.Worker`.

    Attributes:
        before: the end stamp of the run's folder before the start.
    """

    folder: Path
    reusable: ReusableProcess
    before: tuple[int, int]

    def exit(self) -> WorkerExit | None:
        """How the run ended; None while it is active."""
        ended = (
            self.reusable.process.poll()
        )  # first, because the process may answer and end meanwhile
        answer = self.reusable.answer()
        code = ended if answer is None else answer
        if code is None:
            return None
        end = end_record(self.folder) if end_stamp(self.folder) != self.before else {}
        return WorkerExit(code, exit_reason(code), end, tuple(log_tail(self.folder)))

    def send_signal(self, number: int) -> None:
        """Send a signal: SIGTERM to save and end; any other signal is sent to all its child
        processes too.
        """
        process = self.reusable.process
        with suppress(ProcessLookupError):
            if number == signal.SIGTERM:
                process.send_signal(number)
            elif process.poll() is None:
                os.killpg(process.pid, number)


def start_reusable(
    folder: Path,
    how: ExecutionConfig,
    command: Sequence[str],
    gpus: Sequence[str],
    key: Hashable,
    runs_per_gpu: int = 1,
) -> ReusableProcess:
    """Start a process that executes one run after another.

    Args:
        folder: the folder of its first run, to whose log it writes until the first request.
        how: the execution settings of its runs, with one process each.
        command: an interpreter and its arguments.
        gpus: the CUDA identifiers of its GPUs; empty if the runs specify their own.
        key: see `process_key`.
        runs_per_gpu: the number of runs that share each GPU.

    Returns:
        The process.

    Raises:
        OSError: the log cannot be written, or the process not started.
    """
    with (folder / LOG).open("ab") as log:
        process = subprocess.Popen(
            [*command, SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment_of(how, gpus or None, runs_per_gpu),
            start_new_session=True,  # a signal to the sweep must not reach it twice
        )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    return ReusableProcess(process, key, tuple(gpus))


def assign(folder: Path, reusable: ReusableProcess) -> ReusedWorker:
    """Assign a run to an idle process.

    Args:
        folder: the folder of the run.
        reusable: the process.

    Returns:
        The worker of the run. If the process has ended meanwhile, its exit code is that of the run.
    """
    worker = ReusedWorker(folder, reusable, end_stamp(folder))
    line = json.dumps({"folder": str(folder), "log": str(folder / LOG)}) + "\n"
    assert reusable.process.stdin is not None
    with suppress(BrokenPipeError):
        reusable.process.stdin.write(line.encode())
        reusable.process.stdin.flush()
    return worker
