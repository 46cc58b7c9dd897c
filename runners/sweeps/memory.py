"""The runs of a sweep and a machine -> the memory of each run, and errors about runs that cannot
fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lawdsl.core.diagnostics import Diagnostic

from ..run.disk import bytes_text
from ..run.memory import (
    GRADIENT,
    MOMENTS,
    RESERVE,
    WEIGHT,
    MemoryProfile,
    Placement,
    StepPlan,
    checkpoint_copy_bytes,
    plan_step,
    step_bytes,
)
from ..run.model_facts import ModelFacts
from ..spec import ExecutionConfig, Training
from .machine import Machine

ESTIMATE_ERROR = (
    0.05  # relative error by which an estimate may exceed the memory of an uncompiled model
)


@dataclass(frozen=True)
class RunMemory:
    """The memory of a run on each GPU, or on the host.

    Attributes:
        bytes: the estimate; on the host, for all processes of the run on one node.
        at_least: the minimum bytes, below which it certainly fails.
        available: bytes of the GPU or the host; None if unknown.
        micro: the micro-batch, in rows.
        checkpointed: whether layers store only their inputs.
        on_gpu: whether this is GPU memory.
        is_bound: whether the estimate is an upper bound because the model is compiled.
        state: bytes of weights, gradients and moments, which are independent of the micro-batch.
        change: the settings of [run] with which it fits; empty if it fits already, or if none
            suffice.
    """

    bytes: int
    at_least: int
    available: int | None
    micro: int
    checkpointed: bool
    on_gpu: bool
    is_bound: bool = False
    state: int = 0
    change: str = ""

    def to_json(self) -> dict[str, Any]:
        """The estimate as plain data; the keys are stable."""
        return {
            "bytes": self.bytes,
            "available": self.available,
            "micro_batch": self.micro,
            "checkpoint_activations": self.checkpointed,
            "on": "gpu" if self.on_gpu else "host",
            "upper_bound": self.is_bound,
        }


def run_memory(
    facts: ModelFacts,
    training: Training,
    how: ExecutionConfig,
    machine: Machine,
    jobs_per_gpu: int = 1,
) -> RunMemory | None:
    """Estimate the memory of a run.

    Args:
        facts: the facts of its model.
        training: its training settings, with a resolved precision.
        how: its execution settings.
        machine: the machine of the run.
        jobs_per_gpu: the number of runs that share a GPU.

    Returns:
        The estimate; None if the model's passes cannot be counted, or if the micro-batch depends on
        an unknown memory size.
    """
    on_gpu, available = machine.on_gpu(how), machine.bytes_of(how)
    unsettled = on_gpu and available is None and how.micro_batch is None
    if not facts.memory or training.precision == "auto" or unsettled:
        return None
    device = "cuda" if on_gpu else "cpu"
    compiled = how.compile or (how.compile is None and on_gpu)
    placement = Placement(device, training.precision, how.processes, compiled)
    rows = max(1, training.batch // how.processes)
    share = None
    if available is not None and on_gpu:
        available //= jobs_per_gpu
        share = int((1 - RESERVE) * available)
    step = plan_step(
        facts.memory,
        rows,
        placement,
        share,
        micro=how.micro_batch,
        checkpoint=how.checkpoint_activations,
    )
    # torch.compile stores less than the operations of the model, and split graphs need not have all
    # gradients at once: this is the only certain lower bound
    checkpointed, eager = compiled or step.checkpointed, replace(placement, compiled=False)
    smallest = step_bytes(facts.memory[checkpointed], rows, step.micro, eager)
    needed, certain = step.bytes, int((1 - ESTIMATE_ERROR) * min(smallest, step.bytes))
    state = (WEIGHT + GRADIENT + MOMENTS) * facts.memory[step.checkpointed].local
    if not on_gpu:
        copies = 2 * checkpoint_copy_bytes(facts.parameters)
        needed, certain, state = (
            how.processes_per_node * each for each in (max(needed, copies), certain, state)
        )
        share = None if available is None else available // how.processes_per_node
        if share is not None and copies > share:
            share = 0
    change = ""
    if share is not None and available is not None and needed > available:
        change = _change_that_fits(facts.memory, rows, placement, step, share)
    return RunMemory(
        bytes=needed,
        at_least=certain,
        available=available,
        micro=step.micro,
        checkpointed=step.checkpointed,
        on_gpu=on_gpu,
        is_bound=bool(compiled),
        state=state,
        change=change,
    )


def _change_that_fits(
    profiles: Mapping[bool, MemoryProfile],
    rows: int,
    placement: Placement,
    step: StepPlan,
    share: int,
) -> str:
    """The settings of [run] with which a step fits: the largest micro-batch, preferably without
    checkpointing.

    A single micro-batch may take less memory than several smaller ones, because the gradients of
    the earlier ones exist together with the activations.

    Args:
        profiles: the passes of the model, by whether activations are checkpointed.
        rows: the rows of one process, in a step.
        placement: where and how.
        step: the step that does not fit.
        share: bytes available to one process.

    Returns:
        The settings; empty if nothing fits.
    """
    for checkpointed in dict.fromkeys((step.checkpointed, True)):
        for micro in range(rows, 0, -1):
            if rows % micro:
                continue
            if step_bytes(profiles[checkpointed], rows, micro, placement) <= share:
                changes = [f"micro_batch = {micro}"] if micro != step.micro else []
                if checkpointed != step.checkpointed:
                    changes.append("checkpoint_activations = true")
                return " and ".join(changes)
    return ""


def memory_problems(
    models: Mapping[str, RunMemory | None], jobs: int, location: str
) -> Iterable[Diagnostic]:
    """Check that the runs fit.

    Args:
        models: the memory of a run of each model.
        jobs: the number of runs at once.
        location: the path of the sweep.

    Returns:
        An error for each model of which no run can fit, and a warning for each that may not fit,
        alone or on the CPU together with the others.
    """
    for name, memory in models.items():
        if memory is None or memory.available is None:
            continue
        at_once = 1 if memory.on_gpu else jobs
        if max(memory.at_least, memory.bytes * at_once) <= memory.available:
            continue
        fails = memory.at_least > memory.available
        takes = memory.at_least if fails else memory.bytes
        several = f", {at_once} at once" if not fails and at_once > 1 else ""
        what = "a GPU" if memory.on_gpu else "the host"
        rows = f"with micro_batch = {memory.micro}"
        yield Diagnostic(
            "R0125",
            f"a run of {name} takes {'at least ' if fails else ''}{bytes_text(takes)} {rows}{several};"
            f" {what} has {bytes_text(memory.available)}",
            "error" if fails else "warning",
            place=f"{location}: models.{name}",
            notes=_fixed_part(memory) if memory.bytes > memory.available else (),
            help=_advice(memory, fails, at_once),
        )


def _advice(memory: RunMemory, fails: bool, jobs: int) -> str:
    if jobs > 1 and memory.available is not None and memory.bytes <= memory.available:
        return "lower --jobs, or micro_batch in [run]"
    if memory.change:
        return f"{memory.change} in [run]"
    if memory.on_gpu:
        return "more processes with sharded = true in [run], a smaller model, or a larger GPU"
    if memory.available is not None and memory.state > memory.available:
        return "a smaller model, or a host with more memory"
    return "a smaller model, shorter sequences, or a host with more memory"


def _fixed_part(memory: RunMemory) -> tuple[str, ...]:
    """The part of the memory that is independent of the micro-batch, for a run that no micro-batch
    makes fit.
    """
    if memory.change or not memory.state:
        return ()
    return (
        f"weights, gradients and moments alone take {bytes_text(memory.state)}, with any micro_batch",
    )
