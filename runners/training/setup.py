"""Specification of a run -> everything for training: inputs, model, optimizer, on their device.

The optimizer is AdamW: Loshchilov and Hutter (2019), arXiv:1711.05101.
"""

from __future__ import annotations

import gc
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedModel

from ..run import costs
from ..run.memory import StepPlan
from ..run.step_plan import read_step_plan
from ..spec import ExecutionConfig, RunOrder, Training
from . import micro_batch, models
from .activation_checkpointing import checkpoint_activations
from .distributed import ParallelContext
from .inputs import RunInputs, inputs_of
from .sharded_weights import sharded_model
from .sharding import Synced, is_compiled, placed, settle


@dataclass(frozen=True)
class TrainingTask:
    """A run in one process: everything that is constant during training.

    Attributes:
        folder: the folder of the run.
        model: the model on the device of the process, with the initial weights of the run.
        loss: the distributed `models.LanguageModelLoss` of the model.
        synced: the context of each backward pass; see `sharding.placed`.
        optimizer: the optimizer of the model.
    """

    folder: Path
    order: RunOrder
    parallel: ParallelContext
    inputs: RunInputs
    model: PreTrainedModel
    loss: nn.Module
    synced: Synced
    optimizer: torch.optim.Optimizer

    @property
    def training(self) -> Training:
        """The training settings of the run."""
        return self.order.run.training

    @property
    def micro(self) -> int:
        """The micro-batch, in rows."""
        return self.order.how.micro_batch or self.training.batch // self.parallel.world

    @property
    def tokens(self) -> int:
        """Number of tokens per step, over all processes."""
        return self.training.batch * self.training.sequence

    def utilisation(self, rate: float) -> float | None:
        """Model FLOPs utilisation at a rate in tokens per second; None if no peak is known."""
        flops = self.inputs.facts.flops_per_token(self.training.sequence)
        peak = costs.peak_flops(self.parallel.name, self.training.precision)
        return costs.model_flops_utilisation(rate, flops, peak, self.parallel.world)

    @property
    def is_sharded(self) -> bool:
        """Whether parameters and optimizer state are sharded among the processes."""
        return self.parallel.world > 1 and self.order.how.sharded

    def autocast(self) -> torch.autocast:
        """The autocast context for products in bfloat16, if the run has that precision."""
        low = self.training.precision == "bfloat16"
        return torch.autocast(self.parallel.device.type, torch.bfloat16, enabled=low)


@dataclass
class CompiledModel:
    """The model that a process has compiled, for reuse by runs with the same graphs.

    Attributes:
        key: everything that determines the graphs, except the plan; empty before the first run.
        plan: the step plan of the last run.
        model, loss: the model and the loss of the last run.
    """

    key: str = ""
    plan: StepPlan | None = None
    model: PreTrainedModel | None = None
    loss: nn.Module | None = None

    def clear(self) -> None:
        """Free the model: the next one and the plan of its steps need the memory."""
        self.key, self.plan, self.model, self.loss = "", None, None, None
        gc.collect()  # modules have circular references
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()


def task_of(
    folder: Path,
    order: RunOrder,
    parallel: ParallelContext,
    compiled: CompiledModel | None = None,
) -> TrainingTask:
    """Set up a run: inputs, model, loss and optimizer.

    Args:
        folder: the folder of the run.
        order: its order.
        parallel: this process and the others.
        compiled: the model compiled by this process; it is reused with the weights of the run if
            its graphs are those of the run, and replaced otherwise.

    Returns:
        The task.

    Raises:
        LawdslError: see `inputs_of` and `models.load`.
    """
    inputs = inputs_of(order, parallel.world)
    chosen = order.how
    if parallel.world > 1 and chosen.sharded:
        order = _planned(folder, order, parallel)
        model, loss, synced = sharded_model(order, parallel)
    elif compiled is not None and parallel.world == 1 and is_compiled(chosen, parallel):
        order, model, loss, synced = _with_same_graphs(folder, order, parallel, compiled)
    else:
        order = _planned(folder, order, parallel)
        model, loss, synced = _on_device(_loaded(order), order, parallel)
    optimizer = _optimizer(model, order.run.training)
    task = TrainingTask(folder, order, parallel, inputs, model, loss, synced, optimizer)
    task = replace(task, order=_with_fitting_step(task, chosen))
    if compiled is not None and compiled.model is model:
        compiled.plan = micro_batch.plan_of(task.order)
    with task.autocast():
        any_rows = torch.zeros((task.micro, task.training.sequence + 1), dtype=torch.long)
        settle(loss, any_rows, parallel)
    return task


def _planned(folder: Path, order: RunOrder, parallel: ParallelContext) -> RunOrder:
    """The specification with a step plan, made before the model takes memory, because free memory
    is measured.
    """
    return micro_batch.with_plan(order, micro_batch.planned_step(folder, order, parallel))


def _loaded(order: RunOrder) -> PreTrainedModel:
    """The model of a run on the CPU of this process."""
    training = order.run.training
    return models.load(
        order.paths.model,
        order.run.model.initialization,
        order.run.seed,
        dropout=training.dropout,
        router_loss=training.router_loss,
    )


def _on_device(
    model: PreTrainedModel, order: RunOrder, parallel: ParallelContext
) -> tuple[PreTrainedModel, nn.Module, Synced]:
    """The model on the device of this process, its loss and the context of backward passes."""
    model.to(parallel.device).train()
    whole = models.LanguageModelLoss(model, router_loss=order.run.training.router_loss)
    return model, *placed(whole, parallel, order.how)


def _with_same_graphs(
    folder: Path, order: RunOrder, parallel: ParallelContext, compiled: CompiledModel
) -> tuple[RunOrder, PreTrainedModel, nn.Module, Synced]:
    """The planned specification, model, loss and context of a run; those of the last run if graphs
    are equal.

    The weights of the run, loaded or initialised as in a new process, are copied into the compiled
    model: torch.compile caches graphs by module, so a new module would be compiled again.
    """
    model = _loaded(order)
    key = _graph_key(order, model, parallel)
    plan = compiled.plan
    if compiled.key == key and compiled.model is not None and compiled.loss is not None and plan:
        # on a GPU a resumed run keeps its own plan
        kept = None if parallel.device.type == "cpu" else read_step_plan(folder)
        if kept is None or (kept.micro, kept.checkpointed) == (plan.micro, plan.checkpointed):
            _copy_weights(model, compiled.model)
            order = micro_batch.with_plan(order, kept or plan)
            return order, compiled.model.train(), compiled.loss, lambda last: nullcontext()
    compiled.clear()
    order = _planned(folder, order, parallel)
    model, loss, synced = _on_device(model, order, parallel)
    compiled.key, compiled.model, compiled.loss = key, model, loss
    return order, model, loss, synced


def _graph_key(order: RunOrder, model: PreTrainedModel, parallel: ParallelContext) -> str:
    """Everything that can affect a compiled graph."""
    parts = (
        type(model).__name__,
        model.config.to_json_string(use_diff=False),
        order.graph_settings,
        str(parallel.device),
    )
    return "\n".join(parts)


@torch.no_grad()
def _copy_weights(model: PreTrainedModel, target: PreTrainedModel) -> None:
    """Copy parameters and buffers into another model of the same architecture, and clear its
    gradients.
    """
    target.zero_grad(set_to_none=True)
    targets = dict(target.named_parameters()) | dict(target.named_buffers())
    for named in (model.named_parameters(), model.named_buffers()):
        for name, tensor in named:
            targets[name].copy_(tensor)


def _with_fitting_step(task: TrainingTask, chosen: ExecutionConfig) -> RunOrder:
    """The specification with a micro-batch whose step fits, and with checkpointed activations if
    necessary.

    On the CPU it is unchanged.

    Args:
        task: the run, whose loss is modified if activations are checkpointed.
        chosen: the specification with the user's settings.

    Raises:
        torch.OutOfMemoryError: no step fits.
    """
    order, parallel = task.order, task.parallel
    if parallel.device.type == "cpu":
        return order
    current = micro_batch.plan_of(order)

    def fits(attempt: StepPlan) -> bool:
        nonlocal current
        if attempt.checkpointed and not current.checkpointed:
            checkpoint_activations(task.loss)
            torch.compiler.reset()  # compiled graphs store activations
        current = attempt
        rows = torch.zeros((attempt.micro, task.training.sequence + 1), dtype=torch.long)
        return micro_batch.step_fits(
            task.loss,
            task.synced,
            task.optimizer,
            task.autocast,
            rows.to(parallel.device),
            parallel,
        )

    fitted = micro_batch.fitted_step(
        current,
        task.training.batch // parallel.world,
        fits,
        fixed=chosen.micro_batch is not None,
        auto=chosen.checkpoint_activations == "auto",
    )
    if fitted is None:
        raise torch.OutOfMemoryError(f"a step with micro_batch = {current.micro} does not fit")
    micro_batch.keep_step(task.folder, fitted, parallel)
    return micro_batch.with_plan(order, fitted)


def _optimizer(model: nn.Module, training: Training) -> torch.optim.AdamW:
    """AdamW without weight decay for one-dimensional parameters, norms and biases."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": training.weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=training.learning_rate,
        betas=(training.beta1, training.beta2),
        eps=training.eps,
        fused=True,
    )
