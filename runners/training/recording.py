"""The state of a run -> the row of an evaluation: losses on all validation sets, and progress."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import torch

from ..run import streams
from ..run.schedules import learning_rate, schedule_areas
from .distributed import all_gather, peak_memory
from .evaluation import ValidationLoss, measure
from .setup import TrainingTask
from .state import TrainState


def record(task: TrainingTask, state: TrainState, exit_requested: Callable[[], int]) -> bool | None:
    """Measure the losses on all validation sets, and write the row of this step.

    Args:
        task: the run.
        state: its progress.
        exit_requested: the number of the signal that requested an exit, 0 for none; equal in all
            processes.

    Returns:
        Whether all losses are finite; None if an exit was requested before all were measured.

    Raises:
        LawdslError: the row cannot be written (R0407).
    """
    state.clock.pause()
    losses = _losses(task, exit_requested)
    if losses is None:
        return None
    rate = state.clock.rate(task.tokens)
    steps = max(state.step - max(state.measured, 0), 1)
    train_losses = [
        sum(all_gather(task.parallel, float(part))) / steps if state.step else None
        for part in state.losses
    ]
    state.measured = state.step
    state.losses.zero_()
    if state.step_log is not None:
        state.step_log.validation(
            state.step, {name: of_set.loss for name, of_set in losses.items()}
        )
    if state.points is not None:
        progress = _progress(task, state.step)
        losses_row: dict[str, Any] = {
            "losses": {name: asdict(of_set) for name, of_set in losses.items()},
            "train_loss": train_losses[0],
        }
        for weighted in train_losses[1:]:
            coefficient = task.training.router_loss
            losses_row["router_loss"] = None if weighted is None else weighted / coefficient
        state.points.append(
            progress | losses_row | _speed(task, rate) | {"seconds": state.clock.seconds}
        )
    return all(math.isfinite(of_set.loss) for of_set in losses.values())


def _losses(
    task: TrainingTask, exit_requested: Callable[[], int]
) -> Mapping[str, ValidationLoss] | None:
    """The loss on every validation set; the model is in training mode afterwards."""
    sequence, losses = task.training.sequence, {}
    task.model.eval()
    with torch.no_grad(), task.autocast():
        for name, corpus in task.inputs.validation.items():
            loss = measure(task.loss, corpus, sequence, task.micro, task.parallel, exit_requested)
            if loss is None:
                break
            losses[name] = loss
    task.model.train()
    return losses if len(losses) == len(task.inputs.validation) else None


def _progress(task: TrainingTask, step: int) -> dict[str, Any]:
    """The quantities determined by the step: tokens, learning rate and its areas, mixture."""
    mixture = task.inputs.mixture
    s1, s2 = schedule_areas(task.training, step)
    return {
        "step": step,
        "tokens": step * task.tokens,
        "learning_rate": learning_rate(task.training, max(step - 1, 0)),
        "S1": s1,
        "S2": s2,
        "rows": dict(zip(mixture.names, streams.rows_drawn(mixture, step), strict=True)),
        "epochs": streams.epochs(mixture, step),
    }


def _speed(task: TrainingTask, rate: float | None) -> dict[str, Any]:
    """Throughput in tokens/s, model FLOP utilisation and peak memory of the device."""
    return {
        "tokens_per_second": rate,
        "mfu": task.utilisation(rate) if rate else None,
        "peak_memory_bytes": peak_memory(task.parallel),
        "device": task.parallel.name,
    }
