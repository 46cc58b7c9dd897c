"""A run and a command -> worker processes on this machine.

Several processes get the environment variables that torchrun would set. torchrun itself would exit
with code 1 whatever their codes, and allow them only 30 seconds to save. In a run on several nodes,
the processes of one node are started here.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..run.exit_status import LOST, SWEEP
from ..run.memory import RUNS_PER_GPU
from ..spec import ExecutionConfig
from .run_folders import LOG, end_record, end_stamp, log_tail

# -P: a file of the working directory must not be imported in place of a module
WORKER = (sys.executable, "-P", "-m", "lawdsl.runners.cpt")
# seconds within which the other processes of a run must end when one has failed
KILL_AFTER_SECONDS = 20.0
# rank variables of torchrun and srun: they refer to this process, not to its workers
RANK_VARIABLES = (
    "RANK",
    "LOCAL_RANK",
    "GROUP_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_USE_AGENT_STORE",
)


@dataclass(frozen=True)
class Rendezvous:
    """The address at which the processes of a run connect to each other.

    Attributes:
        node: the number of this node, from 0.
        address, port: address of the first process of the run for all nodes.
    """

    node: int
    address: str
    port: int


@dataclass
class Worker:
    """The process of an active run, or several that share it.

    Attributes:
        before: the end stamp of the run's folder before the start.
        port: the port of the rendezvous if all processes are here; reserved, so that no other run
            gets it.
        code: the exit code of the first process that failed.
        since: the time of that failure, after which the others have a limited time to end.
    """

    folder: Path
    processes: list[subprocess.Popen[bytes]]
    before: tuple[int, int]
    port: socket.socket | None = None
    code: int = 0
    since: float | None = None

    def exit(self) -> WorkerExit | None:
        """How it ended; None while it is active. If one process has failed, the others are ended."""
        codes = [process.poll() for process in self.processes]
        failed = [code for code in codes if code]
        # the reason of the first failure, not of those that follow from it
        self.code = self.code or next((c for c in failed if c != LOST), 0)
        if None in codes:
            now = time.monotonic()
            self.since = self.since or (now if failed else None)
            if self.since is not None and now - self.since > KILL_AFTER_SECONDS:
                self.send_signal(signal.SIGKILL)
            return None
        code = self.code or next(iter(failed), 0)
        if self.port is not None:
            self.port.close()
        end = end_record(self.folder) if end_stamp(self.folder) != self.before else {}
        return WorkerExit(code, exit_reason(code), end, tuple(log_tail(self.folder)))

    def send_signal(self, number: int) -> None:
        """Send a signal: SIGTERM to save and end; any other signal is sent to all its child
        processes too.
        """
        for process in self.processes:
            with suppress(ProcessLookupError):
                if number == signal.SIGTERM:
                    process.send_signal(number)
                elif process.poll() is None:
                    os.killpg(process.pid, number)


@dataclass(frozen=True)
class WorkerExit:
    """How a worker ended.

    Attributes:
        code: its exit code, negative for a signal; None if it was lost with its machine.
        why: the meaning of the code.
        end: its record of the run's end; empty if the run has not ended.
        log: the last lines of the run's log.
    """

    code: int | None
    why: str
    end: Mapping[str, Any] = field(default_factory=dict)
    log: tuple[str, ...] = ()


def start_worker(
    folder: Path,
    how: ExecutionConfig,
    command: Sequence[str],
    gpus: Sequence[str] | None = None,
    runs_per_gpu: int = 1,
    rendezvous: Rendezvous | None = None,
) -> Worker:
    """Start the processes of a worker on this machine.

    Args:
        folder: the folder of the run.
        how: its execution settings.
        command: an interpreter and its arguments; the folder is appended.
        gpus: the CUDA identifiers of its GPUs; None if the run specifies its own.
        runs_per_gpu: the number of runs that share each of them.
        rendezvous: the address for connecting to processes on other nodes; None if all are on this
            node.

    Returns:
        The worker.

    Raises:
        OSError: the log cannot be written, or no process started.
    """
    # the stamp distinguishes an end written by this worker from an earlier one
    before, port = end_stamp(folder), None
    if rendezvous is None and how.processes > 1:
        port = free_port()
        rendezvous = Rendezvous(0, "127.0.0.1", port.getsockname()[1])
    worker = Worker(folder, [], before, port)
    try:
        with (folder / log_name(0 if rendezvous is None else rendezvous.node)).open("ab") as log:
            for number in range(how.processes_per_node):
                rank_variables = _rank(number, how, rendezvous) if rendezvous else {}
                process = subprocess.Popen(
                    [*command, str(folder)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment_of(how, gpus, runs_per_gpu) | rank_variables,
                    start_new_session=True,  # a signal to the sweep must not reach it twice
                )
                worker.processes.append(process)
    except OSError:
        worker.send_signal(signal.SIGKILL)
        for process in worker.processes:
            process.wait()
        if port is not None:
            port.close()
        raise
    return worker


def log_name(node: int) -> str:
    """The name of the log of a node: two machines must not append to the same file."""
    return LOG if node == 0 else f"log-{node}.txt"


def free_port() -> socket.socket:
    """A free port of this machine, reserved for the processes of a run."""
    port = socket.socket()
    port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # the socket remains open so that no other run gets this port; with SO_REUSEADDR a process can
    # still bind it
    port.bind(("127.0.0.1", 0))
    return port


def _rank(number: int, how: ExecutionConfig, rendezvous: Rendezvous) -> dict[str, str]:
    """The environment variables that torchrun would set for a process of a node."""
    return {
        "RANK": str(rendezvous.node * how.processes_per_node + number),
        "LOCAL_RANK": str(number),
        "GROUP_RANK": str(rendezvous.node),
        "WORLD_SIZE": str(how.processes),
        "LOCAL_WORLD_SIZE": str(how.processes_per_node),
        "MASTER_ADDR": rendezvous.address,
        "MASTER_PORT": str(rendezvous.port),
    }


def environment_of(
    how: ExecutionConfig, gpus: Sequence[str] | None, runs_per_gpu: int
) -> dict[str, str]:
    """The environment of a worker: only its threads and GPUs, and no network."""
    threads = str(how.threads)
    variables = {
        **{name: value for name, value in os.environ.items() if name not in RANK_VARIABLES},
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OMP_WAIT_POLICY": "PASSIVE",  # waiting threads must not slow down other runs
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        SWEEP: str(os.getpid()),
        RUNS_PER_GPU: str(runs_per_gpu),
    }
    if gpus is not None:
        variables["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    return variables


def exit_reason(code: int) -> str:
    """The meaning of the exit code of a worker."""
    if code >= 0:
        return f"its worker ended with exit code {code}"
    name = signal.Signals(-code).name
    cause = ", as the system does where memory runs out" if name == "SIGKILL" else ""
    return f"its worker was killed by {name}{cause}"
