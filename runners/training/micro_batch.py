"""The micro-batch of a run: from the memory estimate, then halved until a step of it fits."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from ..run.memory import (
    RESERVE,
    RUNS_PER_GPU,
    PassSettings,
    Placement,
    StepPlan,
    even_micro_batch,
    plan_step,
)
from ..run.step_plan import read_step_plan, write_step_plan
from ..spec import RunOrder
from .distributed import ParallelContext, any_of, of_first, out_of_memory
from .memory_profiles import profiles_of
from .sharding import Synced

PROBE_PASSES = 2  # during the second one, gradients of the first exist


def planned_step(folder: Path, order: RunOrder, parallel: ParallelContext) -> StepPlan:
    """Plan the steps of a run.

    On the CPU the micro-batch is all rows of a process, unless the specification sets it; on a GPU
    it is that stored in the folder, or the largest estimated to fit.

    Args:
        folder: the folder of the run.
        order: its order.
        parallel: this process and the others.

    Returns:
        The plan, equal in all processes.
    """
    how, rows = order.how, order.run.training.batch // parallel.world
    micro, checkpointed = how.micro_batch, how.checkpoint_activations
    if parallel.device.type == "cpu":
        return StepPlan(micro or rows, checkpointed is True, 0)
    # the first process determines the plan: free memory and the folder may differ for the others
    plan = StepPlan(rows, False, 0)
    if micro is not None and checkpointed != "auto":
        plan = StepPlan(micro, checkpointed, 0)
    elif parallel.first:
        plan = read_step_plan(folder) or _estimated_step(order, parallel)
    return StepPlan(
        of_first(parallel, micro or plan.micro),
        bool(of_first(parallel, plan.checkpointed if checkpointed == "auto" else checkpointed)),
        of_first(parallel, plan.bytes),
    )


def with_plan(order: RunOrder, plan: StepPlan) -> RunOrder:
    """The order of a run with the micro-batch and the checkpointing of a plan."""
    update = {"micro_batch": plan.micro, "checkpoint_activations": plan.checkpointed}
    return order.model_copy(update={"how": order.how.model_copy(update=update)})


def plan_of(order: RunOrder) -> StepPlan:
    """The plan that `with_plan` has written into a specification, without its bytes."""
    return StepPlan(order.how.micro_batch or 1, order.how.checkpoint_activations is True)


def _estimated_step(order: RunOrder, parallel: ParallelContext) -> StepPlan:
    """The plan by the memory estimate; all rows if the model's passes cannot be counted."""
    how, training = order.how, order.run.training
    rows = training.batch // parallel.world
    try:
        profiles = profiles_of(
            order.paths.model,
            PassSettings(
                training.sequence,
                training.precision,
                training.dropout,
                training.router_loss,
                parallel.world if how.sharded else 1,
            ),
        )
    except Exception:  # a family whose shapes depend on its numbers fails in any way
        return StepPlan(how.micro_batch or rows, how.checkpoint_activations is True, 0)
    free, total = torch.cuda.mem_get_info(parallel.device)
    available = min(free, total // int(os.environ.get(RUNS_PER_GPU, 1)))
    return plan_step(
        profiles,
        rows,
        Placement(
            parallel.device.type, training.precision, parallel.world, how.compile is not False
        ),
        int((1 - RESERVE) * available),
        micro=how.micro_batch,
        checkpoint=how.checkpoint_activations,
    )


def fitted_step(
    plan: StepPlan, rows: int, fits: Callable[[StepPlan], bool], *, fixed: bool, auto: bool
) -> StepPlan | None:
    """Reduce a plan until a step fits: halve the micro-batch, then checkpoint activations.

    Args:
        plan: the initial plan.
        rows: the rows of one process, in a step.
        fits: tests a plan.
        fixed: whether the micro-batch was set by the user and must not be changed.
        auto: whether activations may be checkpointed.

    Returns:
        The first plan that fits; None if none does.
    """
    for checkpointed in (False, True) if auto and not plan.checkpointed else (plan.checkpointed,):
        micro = plan.micro
        while micro:
            attempt = replace(plan, micro=micro, checkpointed=checkpointed)
            if fits(attempt):
                return attempt
            micro = 0 if fixed or micro == 1 else even_micro_batch(rows, micro // 2)
    return None


def keep_step(folder: Path, plan: StepPlan, parallel: ParallelContext) -> None:
    """Write the plan of a run on a GPU into its folder, from the first process.

    Args:
        folder: the folder of the run.
        plan: the plan.
        parallel: this process and the others.

    Raises:
        OSError: it cannot be written.
    """
    if parallel.first and parallel.device.type != "cpu" and read_step_plan(folder) != plan:
        write_step_plan(folder, plan)


def step_fits(
    loss: nn.Module,
    synced: Synced,
    optimizer: torch.optim.Optimizer,
    autocast: Callable[[], torch.autocast],
    rows: Tensor,
    parallel: ParallelContext,
) -> bool:
    """Test whether the passes over a micro-batch fit into memory together with gradients and
    moments.

    The state of the run is unchanged. If the model is sharded and one process is out of memory, the
    others cannot continue, and the error ends them.

    Args:
        loss: the distributed loss of the model.
        synced: the context of each backward pass.
        optimizer: the optimizer; its moments are allocated temporarily if it has none yet.
        autocast: returns the autocast context of the products.
        rows: a micro-batch, (rows, T + 1), on the device, with arbitrary tokens.
        parallel: this process and the others.

    Returns:
        Whether it fits in all processes.
    """
    sharded = isinstance(loss, torch.distributed.fsdp.FSDPModule)
    full = False
    try:
        _passes(loss, synced, optimizer, autocast, rows, sync=sharded)
    except (MemoryError, RuntimeError) as error:
        if sharded or not out_of_memory(error):
            raise
        full = True
    # only here are the error and the tensors in its frames released
    optimizer.zero_grad()
    if full and parallel.device.type == "cuda":
        torch.cuda.empty_cache()
    return not any_of(parallel, int(full))


def _passes(
    loss: nn.Module,
    synced: Synced,
    optimizer: torch.optim.Optimizer,
    autocast: Callable[[], torch.autocast],
    rows: Tensor,
    *,
    sync: bool,
) -> None:
    weights = [p for group in optimizer.param_groups for p in group["params"]]
    moments = [] if optimizer.state else [torch.empty_like(p) for p in weights for _ in range(2)]
    for _ in range(PROBE_PASSES):
        with synced(sync):
            with autocast():
                value = loss(rows)
            value.sum().backward()
    del moments
