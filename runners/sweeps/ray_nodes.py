"""Operations on the nodes of a Ray cluster: reporting their state, and supervising workers."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ray

from lawdsl import __version__
from lawdsl.core.optional_packages import missing

from ..spec import ExecutionConfig
from . import workers
from .workers import WorkerExit

POLL = 0.1  # seconds between checks of a worker
PACKAGES = ("torch", "transformers", "safetensors", "tokenizers")


@dataclass(frozen=True)
class NodeReport:
    """The state of a node with regard to the requirements of runs.

    Attributes:
        version: the version of lawdsl.
        lacking: missing packages.
        missing: files and folders that do not exist, or differ from those on other nodes.
        locks: whether a lock of another host is visible.
    """

    version: str
    lacking: tuple[str, ...]
    missing: tuple[str, ...]
    locks: bool


def node_report(marker: Path, folders: Sequence[str]) -> NodeReport:
    """Report the state of this node with regard to the requirements of runs.

    Args:
        marker: a file that the sweep has just written and locked.
        folders: the folders that runs read.

    Returns:
        The report.
    """
    unseen = [folder for folder in folders if not os.path.exists(folder)]
    locks = False
    try:
        with open(marker, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        locks = True
    except OSError:
        unseen.insert(0, str(marker.parent))
    return NodeReport(__version__, tuple(missing(*PACKAGES)), tuple(unseen), locks)


class Watch:
    """Starts a worker on its node and supervises it; accepts signals meanwhile."""

    def __init__(self) -> None:
        self.signal_count = 0
        # the parent is the process of the node: a different parent later means that the node is
        # lost
        self.node = os.getppid()

    def location(self) -> tuple[str, str]:
        """The node's name in Ray, and its host's."""
        return ray.get_runtime_context().get_node_id(), socket.gethostname()

    def send_signal(self, number: int) -> None:
        """Send a signal to the worker, as soon as there is one."""
        self.signal_count = number

    def execute(self, folder: Path, how: ExecutionConfig, command: Sequence[str]) -> WorkerExit:
        """Execute the run in a folder, with the GPUs that Ray has assigned.

        If the node is lost before the worker ends, the worker is requested to save, because only
        the next worker of this run would notice its end.

        Args:
            folder: the folder of the run.
            how: its execution settings.
            command: an interpreter, which this node replaces by its own, and its arguments.

        Returns:
            How the worker ended.

        Raises:
            OSError: no process could be started.
        """
        gpus = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
        worker = workers.start_worker(folder, how, (sys.executable, *command[1:]), gpus)
        passed = 0
        while (status := worker.exit()) is None:
            if self.signal_count != passed:
                passed = self.signal_count
                worker.send_signal(passed)
            if os.getppid() != self.node:
                worker.send_signal(signal.SIGTERM)
                while worker.exit() is None:
                    time.sleep(POLL)
                os._exit(1)
            time.sleep(POLL)
        return status
