"""The state of a run: saved as checkpoints, and resumed from the newest one."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lawdsl.core.diagnostics import render

from ..run.event_files import Position
from ..run.exit_status import CHECKPOINTS, reopen
from ..run.metrics_log import POINTS, MetricsLog, begin_with, cut, open_points
from ..spec import Prefix
from . import branching, checkpoints, sharded_checkpoints
from .distributed import ParallelContext, all_gather, meet, of_first, say
from .inputs import check_same
from .setup import TrainingTask
from .sharded_weights import parts
from .sharding import gathered, restore
from .step_log import StepLog, open_step_log

RUNNING = (
    "running",
    "running_router",
)  # names of the elements of `TrainState.losses` in a checkpoint


class TrainingClock:
    """The time of updates, excluding evaluations and checkpoints.

    Attributes:
        seconds: seconds up to the newest row.
        since: seconds and updates since then.
    """

    def __init__(self, parallel: ParallelContext) -> None:
        self.seconds = 0.0
        self.since = 0.0, 0
        self._device = parallel.device
        self._begun: float | None = None

    def start(self) -> None:
        """Start timing an update."""
        self.since = self.since[0], self.since[1] + 1
        if self._begun is None:
            self._begun = time.monotonic()

    def pause(self) -> None:
        """Pause the clock at the end of updates."""
        if self._begun is not None:
            if self._device.type == "cuda":
                # kernels are asynchronous: without this the clock would stop too early
                torch.cuda.synchronize(self._device)
            self.since = self.since[0] + time.monotonic() - self._begun, self.since[1]
            self._begun = None

    def elapsed(self) -> float:
        """The seconds of updates so far; the clock continues."""
        running = 0.0 if self._begun is None else time.monotonic() - self._begun
        return self.seconds + self.since[0] + running

    def rate(self, tokens: int) -> float | None:
        """Pause the clock; return the tokens per second of updates since the last call.

        Args:
            tokens: the number of tokens per update.

        Returns:
            The rate; None if there was no update.
        """
        self.pause()
        spent, updates = self.since
        self.seconds += spent
        self.since = 0.0, 0
        return updates * tokens / spent if updates else None


@dataclass
class TrainState:
    """The progress of a run in one process.

    Attributes:
        losses: sum over updates since the newest row of the loss of its training rows, in nats per
            token of all processes; shape (1,), float64. With a router loss shape (2,): the second
            element is that loss times its coefficient.
        clock: the time of its updates.
        step: number of updates done.
        measured: the step of the newest row; -1 before the first.
        saved: the step of the newest checkpoint; 0 if there is none.
        points: the rows of the run; None except in the first process.
        step_log: the curves of the run, which have no effect on it.
    """

    losses: Tensor
    clock: TrainingClock
    step: int = 0
    measured: int = -1
    saved: int = 0
    points: MetricsLog | None = None
    step_log: StepLog | None = None


def resumed(task: TrainingTask, exit_stack: ExitStack) -> TrainState:
    """Resume a run from its newest complete checkpoint, or start it.

    A decay branch without checkpoints starts from that of its stable run, if it is usable.

    Args:
        task: the run.
        exit_stack: closes the rows however the run ends.

    Returns:
        The state.

    Raises:
        LawdslError: see `checkpoints.latest`, `checkpoints.of_step`, `checkpoints.load`,
            `metrics_log.cut` and `metrics_log.open_points`; a checkpoint of another run (R0503).
    """
    parallel, folder, size = task.parallel, task.folder, 0
    events: Position | None = None
    state = TrainState(
        torch.zeros(
            2 if task.training.router_loss else 1, dtype=torch.float64, device=parallel.device
        ),
        TrainingClock(parallel),
    )
    checkpoint = _latest(folder / CHECKPOINTS, parallel, task.is_sharded)
    prefix_rows = None
    if checkpoint is not None:
        check_same("the checkpoint", task.order.run.identity(), checkpoint.state["run"])
    elif task.order.prefix is not None:
        checkpoint, prefix_rows = _shared_steps(task, task.order.prefix)
    if checkpoint is not None:
        if task.is_sharded or checkpoint.in_parts:
            sharded_checkpoints.restore(task.model, task.optimizer, checkpoint, parallel)
        else:
            restore(task.model, task.optimizer, checkpoints.load(checkpoint))
        state.step = state.saved = checkpoint.step
        state.measured = checkpoint.state["measured"]
        state.clock.seconds, size = checkpoint.state["seconds"], checkpoint.state["points"]
        state.clock.since = tuple(checkpoint.state["since"])
        # the curves of a branch start where it does; earlier steps are in those of its stable run
        if prefix_rows is None and (written := checkpoint.state.get("events")):
            events = (written[0], written[1])
        for number, name in enumerate(RUNNING[: len(state.losses)]):
            by_process = checkpoint.state[name]  # one entry per process that wrote the checkpoint
            state.losses[number] = (
                by_process[parallel.rank]
                if len(by_process) == parallel.world
                else sum(by_process) / parallel.world
            )
    if parallel.first:
        reopen(folder)
        if prefix_rows is not None:
            begin_with(folder / POINTS, prefix_rows)
        state.points = exit_stack.enter_context(_rows(folder / POINTS, size, parallel))
    state.step_log = open_step_log(task, state.step, events, state.clock.elapsed, exit_stack)
    meet(parallel)
    return state


def _latest(
    folder: Path, parallel: ParallelContext, is_sharded: bool
) -> checkpoints.Checkpoint | None:
    """The newest complete checkpoint, verified by the first process and opened by the others.

    Individually they might find different ones if a disk or a network fails for one of them. In a
    sharded run each of the others verifies its own part, and only the sizes of other parts.
    """
    checkpoint, step = None, -1
    if parallel.first:
        checkpoint, warnings = checkpoints.latest(folder)
        step = -1 if checkpoint is None else checkpoint.step
        for warning in warnings:
            say(parallel, render(warning))
    step = of_first(parallel, step)
    if parallel.first or step < 0:
        return checkpoint
    by_size = sharded_checkpoints.parts_of_others(parallel) if is_sharded else ()
    return checkpoints.of_step(folder, step, by_size)


def _shared_steps(
    task: TrainingTask, prefix: Prefix
) -> tuple[checkpoints.Checkpoint | None, bytes | None]:
    """The checkpoint of the stable run from which this run starts, and the rows up to it.

    None if there is none; the rows are None except in the first process.
    """
    parallel, checkpoint, rows, step = task.parallel, None, None, -1
    if parallel.first:
        usable, warning = branching.newest(task.folder, task.order, prefix)
        if warning is not None:
            say(parallel, render(warning))
        if usable is not None:
            checkpoint, rows = usable
            step = checkpoint.step
    step = of_first(parallel, step)
    if not parallel.first and step >= 0:
        stable = task.folder.parent / prefix.folder
        by_size = sharded_checkpoints.parts_of_others(parallel) if task.is_sharded else ()
        checkpoint = checkpoints.of_step(stable / CHECKPOINTS, step, by_size)
    return checkpoint, rows


def _rows(path: Path, size: int, parallel: ParallelContext) -> MetricsLog:
    """The rows up to the checkpoint; later ones are removed, and measured again."""
    if removed := cut(path, size):
        say(parallel, f"{removed} rows were written after the checkpoint; they are measured again")
    return open_points(path)


def save(task: TrainingTask, state: TrainState) -> None:
    """Write a checkpoint, from which a resumed run has equal results.

    Args:
        task: the run.
        state: its progress.

    Raises:
        LawdslError: see `checkpoints.save`.
    """
    state.clock.pause()
    if state.step_log is not None:
        state.step_log.flush()
    losses = [all_gather(task.parallel, float(part)) for part in state.losses]
    contents: dict[str, Any] = {}
    if state.points is not None:
        contents = {
            "run": task.order.run.identity(),
            "seconds": state.clock.seconds,
            "since": state.clock.since,
            "points": state.points.size,
            "measured": state.measured,
            "events": state.step_log and state.step_log.position,
            **dict(zip(RUNNING, losses, strict=False)),
        }
    folder, kept_steps = task.folder / CHECKPOINTS, task.order.branch_steps
    if task.is_sharded:
        rows = parts(task.loss, task.model, task.optimizer, task.parallel)
        sharded_checkpoints.save(
            task.parallel, folder, state.step, rows, contents, kept_steps=kept_steps
        )
    elif task.parallel.first:
        tensors = gathered(task.model, task.optimizer)
        checkpoints.save(folder, state.step, tensors, contents, kept_steps=kept_steps)
    state.saved = state.step
    meet(task.parallel)


def finite(task: TrainingTask, state: TrainState) -> bool:
    """Decide whether the training losses since the newest row are finite in all processes.

    Args:
        task: the run.
        state: its progress.

    Returns:
        Whether they are; equal in all processes.
    """
    return math.isfinite(sum(all_gather(task.parallel, float(state.losses.sum()))))
