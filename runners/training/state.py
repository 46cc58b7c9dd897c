"""A run -> its state: resumed from the newest checkpoint, and saved as one."""

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

RUNNING = ("running", "running_router")  # names of the parts of `TrainState.losses` in a checkpoint


class TrainingClock:
    """Seconds spent on updates; evaluations and checkpoints are left out.

    Attributes:
        seconds: until the newest row.
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
        """Updates end for now."""
        if self._begun is not None:
            if self._device.type == "cuda":
                # kernels are asynchronous: without this the clock would stop before them
                torch.cuda.synchronize(self._device)
            self.since = self.since[0] + time.monotonic() - self._begun, self.since[1]
            self._begun = None

    def elapsed(self) -> float:
        """The seconds spent on updates so far; the clock goes on."""
        running = 0.0 if self._begun is None else time.monotonic() - self._begun
        return self.seconds + self.since[0] + running

    def rate(self, tokens: int) -> float | None:
        """Pause the clock of updates: their tokens a second since the last call.

        Args:
            tokens: the tokens of an update.

        Returns:
            None where there was no update.
        """
        self.pause()
        spent, updates = self.since
        self.seconds += spent
        self.since = 0.0, 0
        return updates * tokens / spent if updates else None


@dataclass
class TrainState:
    """The progress of a process of a run.

    Attributes:
        losses: the losses of its training rows since the newest row was written: the sum, in nats a
            token of all processes' steps; shape (1,), float64. With a router loss shape (2,): the
            second is that loss, times its coefficient.
        clock: the time it has taken.
        step: how many updates are done.
        measured: after which of them the newest row was written; -1 before the first.
        saved: the step of the newest checkpoint; 0 where there is none.
        points: the rows of the run; None but in the process that writes.
        step_log: the curves of the run, which nothing depends on.
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

    A decay branch without checkpoints begins from that of its stable run, where it can be used.

    Args:
        task: the run.
        exit_stack: closes the rows at the end, whatever the end is.

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
        # the curves of a branch begin where it does: those before it are its stable run's
        if prefix_rows is None and (written := checkpoint.state.get("events")):
            events = (written[0], written[1])
        for number, name in enumerate(RUNNING[: len(state.losses)]):
            by_process = checkpoint.state[name]  # of as many processes as wrote the checkpoint
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
    """The newest complete checkpoint: the first process verifies, the others open the same one.

    Each on its own might find another, where a disk or a network fails for one of them. Of a sharded
    run each of the others verifies its own part, and of other parts only the size.
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
    """The checkpoint of the stable run from which this one begins, and the rows until then.

    None where there is none, and None for the rows but in the process that writes.
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
    """The rows until the checkpoint; those after it are taken back, and measured again."""
    if removed := cut(path, size):
        say(parallel, f"{removed} rows were written after the checkpoint; they are measured again")
    return open_points(path)


def save(task: TrainingTask, state: TrainState) -> None:
    """Write a checkpoint, from which later steps are repeated with equal results.

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
