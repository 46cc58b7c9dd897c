"""The machine: cores, memory, disk, GPUs, and the versions of the software used in training."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import numpy as np
import torch

import lawdsl

from ..run import costs
from ..sweeps.machine import this_machine
from .records import CheckInput, Measurement, at_least, not_measured

PACKAGES = (
    "torch",
    "transformers",
    "numpy",
    "sympy",
    "scipy",
    "safetensors",
    "tokenizers",
    "pydantic",
    "triton",
    "ray",
)
LEAST_MEMORY, LEAST_DISK = 2.0, 1.0  # GiB; a run of a tiny model takes about 1 GiB of memory
GIB = 2**30
MEMINFO = Path("/proc/meminfo")
CPUINFO = Path("/proc/cpuinfo")
MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container: bytes, or max


def machine(check_input: CheckInput) -> Iterator[Measurement]:
    """The machine and the versions; fails if memory, disk or the GPU driver do not suffice."""
    yield Measurement("lawdsl", lawdsl.__version__)
    yield Measurement(
        "lawdsl, installed from", _installed_from(Path(lawdsl.__file__).parent.parent)
    )
    yield Measurement("Python", platform.python_version())
    yield Measurement("system", f"{platform.system()} {platform.release()} {platform.machine()}")
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            yield Measurement(name, version(name))
    yield from _processor()
    yield from _memory()
    free = shutil.disk_usage(check_input.folder).free / GIB
    yield at_least(
        "free disk for temporary files", free, LEAST_DISK, "GiB", "make room where TMPDIR is"
    )
    yield from _gpus(check_input)


def _installed_from(folder: Path) -> str:
    """The source of the installed package: the version of a development state is ambiguous.

    Args:
        folder: the folder that has the package.

    Returns:
        A checkout or a repository with its commit, another source, or a package index.
    """
    if (folder / ".git").exists():
        ask = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
        return f"a checkout, commit {_first_line(ask) or 'unknown'}"
    try:
        record = distribution("lawdsl").read_text("direct_url.json")  # PEP 610
        source = json.loads(record) if record else {}
    except (PackageNotFoundError, ValueError, OSError):
        return "unknown"
    if commit := source.get("vcs_info", {}).get("commit_id"):
        return f"a repository, commit {commit[:12]}"
    if not source:
        return "a package index"
    return "a local folder" if "dir_info" in source else "an archive"


def _processor() -> Iterator[Measurement]:
    yield Measurement("processor", _line(CPUINFO, r"model name\s*:\s*(.+)") or platform.processor())
    yield Measurement("cores", os.cpu_count())
    yield Measurement("cores that may be used", this_machine().cores)
    with suppress(OSError):  # times measured on a busy machine are not representative
        yield Measurement("load of the last minute", os.getloadavg()[0], "processes")
    yield Measurement("threads of torch", torch.get_num_threads())
    yield Measurement("vector instructions of torch", torch.backends.cpu.get_cpu_capability())
    yield Measurement("BLAS of torch", _blas_of_torch())
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    yield Measurement("BLAS of numpy", f"{blas.get('name')} {blas.get('version')}")
    compiler = next((name for name in ("g++", "clang++", "c++") if shutil.which(name)), None)
    if compiler:
        yield Measurement("C++ compiler, for torch.compile on a CPU", compiler)
    else:
        yield not_measured("C++ compiler, for torch.compile on a CPU", "there is none")


def _blas_of_torch() -> str:
    """The library for matrix products that torch was built with."""
    match = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return match[1] if match else "unknown"


def _memory() -> Iterator[Measurement]:
    sizes = {name: _line(MEMINFO, rf"{name}:\s*(\d+) kB") for name in ("MemTotal", "MemAvailable")}
    limit = _line(MEMORY_LIMIT, r"(\d+)")
    if sizes["MemTotal"]:
        yield Measurement("memory", int(sizes["MemTotal"]) * 1024 / GIB, "GiB")
    if limit:
        yield Measurement("memory limit of the container", int(limit) / GIB, "GiB")
    if sizes["MemAvailable"]:
        free = int(sizes["MemAvailable"]) * 1024
        if limit and int(limit) < free:
            why = "raise the memory limit of the container"
            yield at_least("free memory", int(limit) / GIB, LEAST_MEMORY, "GiB", why)
        else:
            yield at_least("free memory", free / GIB, LEAST_MEMORY, "GiB", "end other programs")
    else:
        yield not_measured("free memory", "the system has no /proc/meminfo")


def _gpus(check_input: CheckInput) -> Iterator[Measurement]:
    """The GPUs as listed by the driver and by torch, which must agree."""
    listed, count = this_machine().gpus, torch.cuda.device_count()
    expected, why = "", ""
    if listed:
        expected = f"{len(listed)}, which the driver lists"
        why = "torch is built without CUDA, or for a newer driver"
    elif check_input.on_gpu:
        expected, why = "at least 1", "the driver lists no GPU, or there is no driver"
    ok = count >= max(len(listed), int(check_input.on_gpu))
    yield Measurement("GPUs that torch sees", count, "", expected, ok, "" if ok else why)
    if not count:
        return
    yield Measurement("CUDA of torch", torch.version.cuda or torch.version.hip or "unknown")
    yield Measurement("driver", _driver())
    if torch.distributed.is_nccl_available():
        yield Measurement("NCCL", ".".join(map(str, torch.cuda.nccl.version())))
    for index in range(count):
        facts = torch.cuda.get_device_properties(index)
        free, total = torch.cuda.mem_get_info(index)
        yield Measurement(f"GPU {index}", facts.name)
        yield Measurement(f"GPU {index}, compute capability", f"{facts.major}.{facts.minor}")
        yield Measurement(f"GPU {index}, memory", total / GIB, "GiB")
        yield Measurement(f"GPU {index}, free memory", free / GIB, "GiB")
        peak = costs.peak_flops(facts.name)
        name = f"GPU {index}, bfloat16 peak of the data sheet"
        if peak is None:
            yield not_measured(name, "the device is not in the table of data sheets", "TFLOP/s")
        else:
            yield Measurement(name, peak / 1e12, "TFLOP/s")


def _driver() -> str:
    """The version of NVIDIA's driver."""
    ask = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return _first_line(ask) or "unknown"


def _first_line(command: list[str]) -> str:
    """The first line that a command prints; empty if it fails."""
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.splitlines()[0].strip()
    return ""


def _line(path: Path, pattern: str) -> str:
    """The first group of the first match in a file; empty if there is none."""
    with suppress(OSError):
        match = re.search(pattern, path.read_text(encoding="utf-8", errors="replace"))
        return match[1].strip() if match else ""
    return ""
