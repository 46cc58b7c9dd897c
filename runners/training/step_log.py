"""The values of each step of a run -> curves: TensorBoard, Weights & Biases, live speed.

The training does not depend on it. Values remain on the device for `FLUSH_STEPS` steps, so that the
host rarely waits for a GPU. A log that cannot be written is abandoned; the run continues.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.core.optional_packages import needs

from ..run.event_files import EventFile, Position, cut_events
from ..run.live import LiveProgress, remove_live, write_live
from ..run.schedules import learning_rate
from ..spec import ExecutionConfig, RunOrder
from .distributed import of_first, say, summed
from .setup import TrainingTask

FLUSH_STEPS = 10  # steps whose values are fetched from the device together
LIVE_SECONDS = 1.0  # between two writes of the live speed

Scalars = Mapping[str, float]


class Sink(Protocol):
    """A destination of curves."""

    @property
    def position(self) -> Position | None:
        """The position for a checkpoint; None if the sink tracks it itself."""

    def add(self, step: int, scalars: Scalars) -> None:
        """Append the values after an update."""

    def flush(self) -> None:
        """Hand what is buffered to the system."""

    def close(self) -> None:
        """Close it."""


class StepLog:
    """The log of a process of a run. All processes call the same methods in the same steps.

    Args:
        task: the run.
        sinks: where the first process writes.
        has_curves: whether any process has sinks; equal in all.
        elapsed: returns the seconds of updates so far.
    """

    def __init__(
        self,
        task: TrainingTask,
        sinks: list[Sink],
        has_curves: bool,
        elapsed: Callable[[], float],
    ) -> None:
        self.has_curves = has_curves
        self._task = task
        self._sinks = sinks
        self._elapsed = elapsed
        self._steps: list[int] = []
        self._values: list[Tensor] = []
        self._since = elapsed()
        self._written = 0.0

    @property
    def position(self) -> Position | None:
        """The position of the event files, for a checkpoint."""
        return next((sink.position for sink in self._sinks if sink.position), None)

    def add(self, step: int, losses: Tensor, norm: Tensor | None) -> None:
        """Log an update.

        Args:
            step: the number of updates including this one.
            losses: the loss on the rows of this process, in nats per token of all processes, and
                the router loss, if any; shape (1,) or (2,).
            norm: the norm of the gradient before it was clipped, a scalar; None if not computed.
        """
        self._steps.append(step)
        if self.has_curves:
            values = [losses] if norm is None else [losses, _whole(norm).reshape(1)]
            self._values.append(torch.cat([value.detach().double() for value in values]))
        if len(self._steps) >= FLUSH_STEPS:
            self.flush()

    def flush(self) -> None:
        """Write all steps that were added."""
        steps, values = self._steps, self._values
        if not steps:
            return
        self._steps, self._values = [], []
        task, rows = self._task, np.zeros((len(steps), 0))
        if values:
            # the copy waits for the device, so the time includes these steps
            rows = torch.stack(values).cpu().numpy()
            parts = 2 if task.training.router_loss else 1
            rows[:, :parts] = summed(task.parallel, np.ascontiguousarray(rows[:, :parts]))
        elif task.parallel.device.type == "cuda":
            torch.cuda.synchronize(task.parallel.device)
        now = self._elapsed()
        spent, self._since = now - self._since, now
        if not task.parallel.first:
            return
        rate = len(steps) * task.tokens / max(spent, 1e-9)
        mfu = task.utilisation(rate)
        speed = {"speed/tokens_per_second": rate} | ({} if mfu is None else {"speed/mfu": mfu})
        if self.has_curves:
            for step, row in zip(steps, rows.tolist(), strict=True):
                self._write(step, self._scalars(step, row) | (speed if step == steps[-1] else {}))
            self._each(lambda sink: sink.flush())
        if time.monotonic() - self._written > LIVE_SECONDS:
            progress = LiveProgress(steps[-1], steps[-1] * task.tokens, rate, mfu)
            write_live(task.folder, progress)
            self._written = time.monotonic()

    def validation(self, step: int, losses: Scalars) -> None:
        """Log the losses on the validation sets, in nats per token."""
        self.flush()
        self._write(step, {f"validation/{name}": loss for name, loss in losses.items()})
        self._each(lambda sink: sink.flush())

    def close(self) -> None:
        """Close all sinks; errors are ignored, because the results are in the rows of the run."""
        for sink in self._sinks:
            with suppress(Exception):
                sink.close()
        self._sinks = []
        if self._task.parallel.first:
            remove_live(self._task.folder)

    def _scalars(self, step: int, row: list[float]) -> dict[str, float]:
        """The values of an update by name."""
        training = self._task.training
        names = ["train/loss", "train/gradient_norm"]
        if training.router_loss:
            row = [row[0], row[1] / training.router_loss, *row[2:]]
            names.insert(1, "train/router_loss")
        scalars = dict(zip(names, row, strict=False))
        return scalars | {"train/learning_rate": learning_rate(training, step - 1)}

    def _write(self, step: int, scalars: Scalars) -> None:
        self._each(lambda sink: sink.add(step, scalars))

    def _each(self, act: Callable[[Sink], None]) -> None:
        """Call a function with every sink; abandon a sink that fails."""
        for sink in list(self._sinks):
            try:
                act(sink)
            except Exception as error:  # logging libraries may raise any error
                self._sinks.remove(sink)
                with suppress(Exception):
                    sink.close()
                say(self._task.parallel, f"{_name(sink)} is no longer written: {error}")


def open_step_log(
    task: TrainingTask,
    step: int,
    position: Position | None,
    elapsed: Callable[[], float],
    exit_stack: ExitStack,
) -> StepLog:
    """Open the log of a run, which continues at a step.

    Args:
        task: the run.
        step: the updates that are done.
        position: the position of the event files at the checkpoint; None if there is none.
        elapsed: returns the seconds of updates so far.
        exit_stack: closes the log at the end, whatever the end is.

    Returns:
        The log.

    Raises:
        LawdslError: see `check_logs`.
    """
    wanted = check_logs(task.order.how) if task.parallel.first else ()
    sinks: list[Sink] = []
    for name in wanted:
        try:
            sinks.append(SINKS[name](task.folder, task.order, step, position))
        except Exception as error:
            say(task.parallel, f"{name} is not written: {error}")
    # other nodes may lack the packages; all must agree, because some values are sums over processes
    has_curves = bool(of_first(task.parallel, int(bool(sinks))))
    log = StepLog(task, sinks, has_curves, elapsed)
    exit_stack.callback(log.close)
    return log


def check_logs(how: ExecutionConfig) -> tuple[str, ...]:
    """The logs that a run writes.

    Raises:
        LawdslError: a package is missing (R0101), or Weights & Biases has no key (R0509).
    """
    if how.log is None:
        return ("tensorboard",) if find_spec("tensorboard") else ()
    if "wandb" in how.log:
        needs("wandb", extra="wandb")
        import wandb

        is_offline = os.environ.get("WANDB_MODE") in ("offline", "disabled", "dryrun")
        if not is_offline and not wandb.api.api_key:
            message = "the run is to be logged to Weights & Biases, which has no key here"
            help = "wandb login; or set WANDB_MODE=offline; or leave wandb out of `log`"
            raise LawdslError(Diagnostic("R0509", message, help=help))
    return how.log


def _open_event_file(
    folder: Path, order: RunOrder, step: int, position: Position | None
) -> EventFile:
    if position is not None or step == 0:
        cut_events(folder, position)
    return EventFile(folder, step + 1 if step else None)


class WandbRun:
    """The run of Weights & Biases with the same identity; steps that it already has are not sent.

    A resumed run repeats steps with equal values, so nothing is lost.
    """

    position = None

    def __init__(self, folder: Path, order: RunOrder, step: int, position: Position | None) -> None:
        import wandb

        self._run: Any = wandb.init(
            project=str(order.columns.get("sweep") or "lawdsl"),
            id=order.run.identity(),
            name=order.label,
            dir=str(folder),
            resume="allow",
            config=order.run.model_dump(mode="json"),
            settings=wandb.Settings(console="off"),
        )
        self._last = max(int(self._run.step), 0)

    def add(self, step: int, scalars: Scalars) -> None:
        """Append the values after an update."""
        if step >= self._last:
            self._run.log(dict(scalars), step=step)

    def flush(self) -> None:
        """No operation: the library sends from a separate process."""

    def close(self) -> None:
        """End the run."""
        self._run.finish()


SINKS: Mapping[str, Callable[[Path, RunOrder, int, Position | None], Sink]] = {
    "tensorboard": _open_event_file,
    "wandb": WandbRun,
}


def _name(sink: Sink) -> str:
    return "wandb" if isinstance(sink, WandbRun) else "tensorboard"


def _whole(norm: Tensor) -> Tensor:
    """A norm over the shards of all processes (FSDP2)."""
    gather = getattr(norm, "full_tensor", None)
    return norm if gather is None else gather()
