"""Order of a run -> everything that training needs: inputs, model, optimizer, all on their device.

The optimizer is AdamW: Loshchilov and Hutter (2019), arXiv:1711.05101.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn
from transformers import PreTrainedModel

from ..run import costs
from ..run.memory import StepPlan
from ..spec import ExecutionConfig, RunOrder, Training
from . import micro_batch, models
from .activation_checkpointing import checkpoint_activations
from .distributed import ParallelContext
from .inputs import RunInputs, inputs_of
from .sharding import Synced, placed, settle


@dataclass(frozen=True)
class TrainingTask:
    """One process's view of a run: everything that is constant during training.

    Attributes:
        folder: the folder of the run.
        model: the model on the context's device, its weights the ones that the run begins with.
        loss: `models.LanguageModelLoss` of it, as the processes compute it together.
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
        """The optimisation of the run."""
        return self.order.run.training

    @property
    def micro(self) -> int:
        """Rows that go through the model at once."""
        return self.order.how.micro_batch or self.training.batch // self.parallel.world

    @property
    def tokens(self) -> int:
        """The tokens of a step, over all processes."""
        return self.training.batch * self.training.sequence

    def utilisation(self, rate: float) -> float | None:
        """Model FLOP utilisation at a rate in tokens a second; None where no peak is known."""
        flops = self.inputs.facts.flops_per_token(self.training.sequence)
        peak = costs.peak_flops(self.parallel.name, self.training.precision)
        return costs.model_flops_utilisation(rate, flops, peak, self.parallel.world)

    def autocast(self) -> torch.autocast:
        """The context of products in bfloat16, if the run is of that precision."""
        low = self.training.precision == "bfloat16"
        return torch.autocast(self.parallel.device.type, torch.bfloat16, enabled=low)


def task_of(folder: Path, order: RunOrder, parallel: ParallelContext) -> TrainingTask:
    """Set up a run: inputs, model, loss and optimizer.

    Args:
        folder: the folder of the run.
        order: its order.
        parallel: this process and the others.

    Returns:
        The task.

    Raises:
        LawdslError: see `inputs_of` and `models.load`.
    """
    inputs = inputs_of(order, parallel.world)
    chosen = order.how
    # before the model takes memory, for what is free is counted
    order = micro_batch.with_plan(order, micro_batch.planned_step(folder, order, parallel))
    training = order.run.training
    model = models.load(
        order.paths.model,
        order.run.model.initialization,
        order.run.seed,
        dropout=training.dropout,
        router_loss=training.router_loss,
    )
    model.to(parallel.device).train()
    whole = models.LanguageModelLoss(model, router_loss=training.router_loss)
    loss, synced = placed(whole, parallel, order.how)
    optimizer = _optimizer(model, training)
    task = TrainingTask(folder, order, parallel, inputs, model, loss, synced, optimizer)
    task = replace(task, order=_tried_out(task, chosen))
    with task.autocast():
        any_rows = torch.zeros((task.micro, task.training.sequence + 1), dtype=torch.long)
        settle(loss, any_rows, parallel)
    return task


def _tried_out(task: TrainingTask, chosen: ExecutionConfig) -> RunOrder:
    """The order with a micro-batch of which a step fits, and with checkpointed activations if need be.

    On the CPU it stays as it is.

    Args:
        task: the run, of which the loss is changed where activations are checkpointed.
        chosen: what the user has ordered.

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
            torch.compiler.reset()  # what is compiled stores activations
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
