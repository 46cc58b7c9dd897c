"""This machine -> the cores and GPUs available to runs. Neither torch nor a GPU is initialised."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import counted

from ..run.costs import has_bfloat16
from ..spec import ExecutionConfig, Training

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # quota of a container: microseconds in a period, or max
MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")  # memory limit of a container: bytes, or max
BFLOAT16_CAPABILITY = 8.0  # compute capability from which NVIDIA's matrix units have bfloat16


@dataclass(frozen=True)
class Machine:
    """The hardware available to runs.

    Attributes:
        cores: the number of cores.
        gpus: CUDA identifier -> name of the device.
        gpu_bytes: the memory of each GPU, if known.
        capabilities: the compute capability of each GPU, such as 8.0, if known.
        host_bytes: the memory of the host; None if unknown.
    """

    cores: int
    gpus: dict[str, str]
    gpu_bytes: Mapping[str, int] = field(default_factory=dict)
    capabilities: Mapping[str, float] = field(default_factory=dict)
    host_bytes: int | None = None

    def on_gpu(self, how: ExecutionConfig) -> bool:
        """Whether a run uses GPUs here."""
        return how.device.startswith("cuda") or (how.device == "auto" and bool(self.gpus))

    def has_bfloat16(self, how: ExecutionConfig) -> bool:
        """Whether a run uses GPUs here that are all known to support bfloat16."""
        return (
            bool(self.gpus)
            and self.on_gpu(how)
            and all(
                self.capabilities[gpu] >= BFLOAT16_CAPABILITY
                if gpu in self.capabilities
                else has_bfloat16(kind)
                for gpu, kind in self.gpus.items()
            )
        )

    def bytes_of(self, how: ExecutionConfig) -> int | None:
        """The memory available to a process of a run, of the GPU or the host; None if unknown."""
        if not self.on_gpu(how):
            return self.host_bytes
        known = [self.gpu_bytes[gpu] for gpu in self.gpus if gpu in self.gpu_bytes]
        return min(known, default=None) if len(known) == len(self.gpus) else None


def this_machine() -> Machine:
    """The hardware available to this process."""
    gpus = _gpus()
    return Machine(
        cores=_cores(),
        gpus={gpu: facts.kind for gpu, facts in gpus.items()},
        gpu_bytes={gpu: facts.bytes for gpu, facts in gpus.items() if facts.bytes},
        capabilities={gpu: facts.capability for gpu, facts in gpus.items() if facts.capability},
        host_bytes=_host_bytes(),
    )


def at_once(
    machine: Machine,
    hows: Iterable[ExecutionConfig],
    jobs: int | None = None,
    jobs_per_gpu: int = 1,
) -> int:
    """Return the number of runs at once: on the CPU one for each set of cores that a run keeps
    busy.

    Args:
        machine: its cores and GPUs.
        hows: the execution settings of the runs.
        jobs: the number chosen by the user.
        jobs_per_gpu: the number of runs that may share a GPU.

    Returns:
        The number, at least 1.

    Raises:
        LawdslError: runs on GPUs that the machine lacks (R0112).
    """
    limits = []
    for how in set(hows):
        needed = how.processes_per_node
        if how.nodes > 1:
            limits.append(1)  # all nodes execute one run together, then the next
        if not machine.on_gpu(how):
            limits.append(machine.cores // (how.threads * needed))
            continue
        if needed > len(machine.gpus):
            message = f"a run takes {counted(needed, 'GPU')}, this machine has {len(machine.gpus)}"
            help = 'lower run.processes, or set run.device = "cpu"'
            raise LawdslError(Diagnostic("R0112", message, help=help))
        limits.append(len(machine.gpus) * jobs_per_gpu // needed)
    return jobs or max(1, min(limits, default=1))


def resolved_precision(
    training: Training, how: ExecutionConfig, machine: Machine | None
) -> Training:
    """Replace the precision `auto`: bfloat16 on GPUs that have it, else float32.

    Args:
        training: the settings of a model's runs.
        how: their execution settings.
        machine: the machine of the runs; None for one without GPUs.

    Returns:
        The settings with a resolved precision.
    """
    if training.precision != "auto":
        return training
    low = machine is not None and machine.has_bfloat16(how)
    return training.model_copy(update={"precision": "bfloat16" if low else "float32"})


def _cores() -> int:
    # not cpu_count, which includes cores excluded by a container or taskset
    cores = len(os.sched_getaffinity(0))
    with contextlib.suppress(OSError, ValueError):
        quota, _, period = QUOTA.read_text().partition(" ")
        cores = min(cores, max(1, int(quota) // int(period)))
    return cores


def _host_bytes() -> int | None:
    """The memory of the host, or of the container."""
    sizes = []
    with contextlib.suppress(OSError, ValueError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with contextlib.suppress(OSError, ValueError):
        sizes.append(int(MEMORY_LIMIT.read_text()))
    return min(sizes, default=None)


@dataclass(frozen=True)
class _Gpu:
    """A GPU as listed by the driver; unknown values are 0."""

    kind: str = ""
    bytes: int = 0
    capability: float = 0.0


def _gpus() -> dict[str, _Gpu]:
    """The GPUs listed by the driver, without those hidden by CUDA_VISIBLE_DEVICES."""
    listed: dict[str, _Gpu] = {}
    names: dict[str, _Gpu] = {}
    # drivers before 2022 do not support compute_cap, and then print nothing
    for query in ("index,name,uuid,memory.total,compute_cap", "index,name"):
        for line in _driver_lines(query):
            index, name, *rest = (entry.strip() for entry in line.split(","))
            listed[index] = _Gpu(name, *_numbers(rest[1:]))
            names |= {uuid: listed[index] for uuid in rest[:1]}
        if listed:
            break
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return listed
    # -1 is the customary way to hide all GPUs
    chosen = [gpu for gpu in visible.split(",") if gpu and gpu != "-1"]
    return {gpu: (listed | names).get(gpu, _Gpu()) for gpu in chosen}


def _driver_lines(query: str) -> list[str]:
    if not shutil.which("nvidia-smi"):
        return []
    ask = ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(ask, capture_output=True, text=True, timeout=60)
        if done.returncode == 0:
            return [
                line for line in done.stdout.splitlines() if line.count(",") == query.count(",")
            ]
    return []


def _numbers(entries: list[str]) -> tuple[int, float]:
    """Memory, which is listed in MiB, and compute capability; 0 for entries that are not numbers."""
    values = [0.0, 0.0]
    for number, entry in enumerate(entries):
        with contextlib.suppress(ValueError):
            values[number] = float(entry)
    return int(values[0]) * 2**20, values[1]
