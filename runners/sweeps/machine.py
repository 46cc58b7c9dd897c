"""This machine -> its cores and GPUs that runs may use. Neither torch nor a GPU is initialised."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError

from ..spec import ExecutionConfig

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # quota of a container: microseconds in a period, or max


@dataclass(frozen=True)
class Machine:
    """Cores that may be used, and GPUs: what CUDA calls each -> the name of its kind."""

    cores: int
    gpus: dict[str, str]

    def on_gpu(self, how: ExecutionConfig) -> bool:
        """Whether a run takes GPUs here."""
        return how.device.startswith("cuda") or (how.device == "auto" and bool(self.gpus))


def this_machine() -> Machine:
    """What this process may use."""
    return Machine(_cores(), _gpus())


def at_once(
    machine: Machine,
    hows: Iterable[ExecutionConfig],
    jobs: int | None = None,
    jobs_per_gpu: int = 1,
) -> int:
    """Give the number of runs at once: on the CPU one for each set of cores that a run keeps busy.

    Args:
        machine: its cores and GPUs.
        hows: how the runs are run.
        jobs: the number that the user chose.
        jobs_per_gpu: the number of runs that may share a GPU.

    Returns:
        The number, at least 1.

    Raises:
        LawdslError: runs on GPUs that the machine lacks (R0112).
    """
    limits = []
    for how in set(hows):
        if not machine.on_gpu(how):
            limits.append(machine.cores // (how.threads * how.processes))
            continue
        if how.processes > len(machine.gpus):
            message = f"a run takes {how.processes} GPUs, this machine has {len(machine.gpus)}"
            help = 'set run.processes and run.device = "cpu" as the machine is'
            raise LawdslError(Diagnostic("R0112", message, help=help))
        limits.append(len(machine.gpus) * jobs_per_gpu // how.processes)
    return jobs or max(1, min(limits, default=1))


def _cores() -> int:
    # not cpu_count, which counts cores that a container or taskset has taken away
    cores = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):
        quota, _, period = QUOTA.read_text().partition(" ")
        cores = min(cores, max(1, int(quota) // int(period)))
    return cores


def _gpus() -> dict[str, str]:
    """The GPUs that the driver lists, without those that CUDA_VISIBLE_DEVICES hides."""
    listed: dict[str, str] = {}
    if shutil.which("nvidia-smi"):
        ask = ["nvidia-smi", "--query-gpu=index,name", "--format=csv,noheader"]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(ask, capture_output=True, text=True, timeout=60)
            if done.returncode == 0:
                pairs = (line.partition(",") for line in done.stdout.splitlines())
                listed = {index.strip(): name.strip() for index, _, name in pairs if name}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return listed
    # -1 is the customary way to hide all GPUs
    return {gpu: listed.get(gpu, "") for gpu in visible.split(",") if gpu and gpu != "-1"}
