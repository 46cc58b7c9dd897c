"""The execution settings of a run -> its device, and its process group."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.enumerations import counted

from ..spec import ExecutionConfig

INDUCTOR_TUNING = (
    "max_autotune",
    "max_autotune_pointwise",
    "max_autotune_gemm",
    "coordinate_descent_tuning",
    "benchmark_kernel",
    "benchmark_fusion",
    "benchmark_combo_kernel",
    "benchmark_epilogue_fusion",
)
"""Settings of torch._inductor.config with which kernels are chosen by timing them."""
TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # parameters of mallopt, from malloc.h


@dataclass(frozen=True)
class ParallelContext:
    """One process of a run.

    Attributes:
        rank, world: its rank, and the number of processes.
        device: the device of this process.
        name: the vendor's name of the device.
    """

    rank: int
    world: int
    device: torch.device
    name: str

    @property
    def first(self) -> bool:
        """Whether this is the process of rank 0, which writes files."""
        return self.rank == 0


def join(how: ExecutionConfig, precision: str = "float32") -> ParallelContext:
    """Set the device up and join the process group that torchrun started.

    Args:
        how: the execution settings of the run.
        precision: the precision of its matrix products.

    Returns:
        This process and the others.

    Raises:
        LawdslError: an unavailable device or precision (R0501), or a number of processes that
            differs from the specification (R0502).
    """
    rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if world != how.processes:
        raise LawdslError(
            Diagnostic(
                "R0502",
                f"the run is ordered with {how.processes} processes, and {world} were started",
                help=f"torchrun --nproc-per-node {how.processes} -m lawdsl.runners.cpt FOLDER",
            )
        )
    device = _device(how.device)
    if device.type == "cuda":
        # before NCCL starts, which uses the current device of the process
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        name = torch.cuda.get_device_name(device)
    else:
        if precision == "tf32":
            help = 'order the run with precision = "float32", or on a GPU'
            raise LawdslError(Diagnostic("R0501", "a CPU has no TF32", help=help))
        torch.set_num_threads(how.threads)
        _keep_memory()
        name = "cpu"
    if how.deterministic or device.type == "cpu":
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False
    if how.deterministic:
        _choose_kernels_without_timing()
    if world > 1:
        # gloo in addition to nccl: sums in float64 and agreement on signals use the CPU
        dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
    return ParallelContext(rank, world, device, name)


def _choose_kernels_without_timing() -> None:
    """Make Inductor choose kernels by rules alone, because choices by timing are not reproducible.

    Its deterministic mode omits the timings that affect the order of summation; the settings for
    tuning, which the environment may enable, are disabled as well.
    """
    # processes that compile kernels read the environment
    os.environ["TORCHINDUCTOR_DETERMINISTIC"] = "1"
    from torch._inductor import config

    settings = {"deterministic": True, **dict.fromkeys(INDUCTOR_TUNING, False)}
    for name, value in settings.items():
        if hasattr(config, name):
            setattr(config, name, value)


def leave(parallel: ParallelContext) -> None:
    """Leave the process group."""
    if parallel.world > 1 and dist.is_initialized():
        dist.destroy_process_group()


def any_of(parallel: ParallelContext, flag: int) -> int:
    """Return the maximum of a number over all processes (all-reduce).

    Args:
        parallel: this process and the others.
        flag: the number of this process.

    Returns:
        The maximum.
    """
    if parallel.world == 1:
        return flag
    # on the CPU, by gloo: no synchronisation with the GPU
    flags = torch.tensor([flag])
    dist.all_reduce(flags, dist.ReduceOp.MAX)
    return int(flags)


def of_first(parallel: ParallelContext, number: int) -> int:
    """Broadcast the number of the first process to all.

    Args:
        parallel: this process and the others.
        number: the number of this process.

    Returns:
        The number of process 0.
    """
    if parallel.world == 1:
        return number
    tensor = torch.tensor([number])
    dist.broadcast(tensor, 0)
    return int(tensor)


def all_gather(parallel: ParallelContext, value: float) -> list[float]:
    """Gather the numbers of all processes on each (all-gather).

    Args:
        parallel: this process and the others.
        value: the value of this process.

    Returns:
        The numbers, by rank.
    """
    values = np.zeros(parallel.world)
    values[parallel.rank] = value
    return summed(parallel, values).tolist()


def summed(parallel: ParallelContext, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum an array over the processes (all-reduce).

    Args:
        parallel: this process and the others.
        values: the values of this process, of any shape.

    Returns:
        The sum, of that shape.
    """
    if parallel.world == 1:
        return values
    total = torch.from_numpy(values)
    dist.all_reduce(total)
    return total.numpy()


def meet(parallel: ParallelContext) -> None:
    """Wait until all processes have reached this point (barrier)."""
    any_of(parallel, 0)


def say(parallel: ParallelContext, message: str) -> None:
    """Print a message to standard error, once for all processes.

    Args:
        parallel: this process and the others.
        message: the text.
    """
    if parallel.first:
        print(message, file=sys.stderr, flush=True)


def peak_memory(parallel: ParallelContext) -> int:
    """The peak number of bytes that this process has allocated on the device, or on the host."""
    if parallel.device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(parallel.device))
    # ru_maxrss is in kilobytes on Linux, in bytes on macOS
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak_memory() -> None:
    """Reset the peak of `peak_memory`, for the next run of this process."""
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
        for number in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(number)
    # Linux: the peak of the resident set is set to its current size; elsewhere it is not reset
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def lost(error: BaseException) -> bool:
    """Whether an error shows that another process of the run has ended."""
    # gloo raises a plain RuntimeError, which only its text identifies
    message = str(error)
    gloo = "gloo" in message and (
        "by peer" in message or "peer closed" in message or "Broken pipe" in message
    )
    return gloo or isinstance(error, dist.DistError)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that host or device memory is exhausted."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    # torch raises a plain RuntimeError for host memory, which only its text identifies
    message = str(error)
    return any(
        words in message for words in ("can't allocate memory", "out of memory", "bad_alloc")
    )


def _keep_memory() -> None:
    """Make the GNU C library keep freed memory.

    By default it returns large blocks to the system at once; allocating them again, page by page,
    in every step takes a fifth of the time of models with less than a million parameters.
    """
    change = getattr(ctypes.CDLL(None), "mallopt", None)
    if change is not None:
        change(MMAP_THRESHOLD, 2**25)  # the maximum
        change(TRIM_THRESHOLD, 2**30)
        change(TOP_PAD, 2**26)


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        is_supported = device.type in ("cpu", "cuda")
    except RuntimeError:
        is_supported = False
    if not is_supported:
        raise LawdslError(
            Diagnostic("R0501", f"unknown device {name!r}", help="cpu, cuda, cuda:1 or auto")
        )
    if device.type == "cuda":
        # the local rank of torchrun: one GPU per process
        number = int(os.environ.get("LOCAL_RANK", 0)) if device.index is None else device.index
        if number >= torch.cuda.device_count():
            raise LawdslError(
                Diagnostic(
                    "R0501",
                    f"there is no {name}: torch sees {counted(torch.cuda.device_count(), 'GPU')}",
                    help='run on the CPU with device = "cpu", or install torch for your GPUs',
                )
            )
        return torch.device("cuda", number)
    return device
