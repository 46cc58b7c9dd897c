"""One continual pre-training run, from the order in its folder to its last row.

    python -m lawdsl.runners.cpt [--steal] FOLDER
    torchrun --nproc-per-node 2 -m lawdsl.runners.cpt FOLDER

begins the run, or goes on where it was stopped, by whatever: killed at any moment and resumed it
has the same losses and the same weights, bit for bit, as if it had not been. On a GPU that takes
`deterministic = true`; a number of processes always gives what the same number gives.

Exit codes: 0 done; 1 diverged, which is recorded; 3 wrong input; 4 out of memory, recorded too;
5 another process of the run has ended; 75 stopped by SIGTERM or SIGUSR1, saved; 130 by SIGINT,
saved. A second signal ends it at once.
`--steal` takes a run that another machine held when it was last heard of, and that is not at work.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import ExitStack
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA starts

import torch
from torch import nn

from lawdsl.core.diagnostics import LawdslError, render

from .run import exit_status, streams
from .run.exit_status import DIVERGED, DONE, LOST, MEMORY, WRONG, Stop
from .run.locks import hold
from .run.schedules import learning_rate
from .spec import Order, read_order
from .training import export
from .training.distributed import Place, any_of, join, leave, lost, out_of_memory, peak_memory, say
from .training.recording import record
from .training.setup import Task, task_of
from .training.sharding import gathered
from .training.state import Standing, finite, resumed, save

LOOK = 50  # steps between looks at whether the loss is still a number


def main(arguments: list[str]) -> int:
    """Do the run in a folder; the exit code."""
    steal = "--steal" in arguments
    names = [argument for argument in arguments if argument != "--steal"]
    if len(names) != 1 or names[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(names[0])
    place = None
    try:
        order = read_order(folder)
        place = join(order.how)
        with ExitStack() as held:
            if place.first:
                held.enter_context(hold(folder, order.label, steal))
            return train(folder, order, place, held)
    except LawdslError as error:
        for diagnostic in error.diagnostics:
            print(render(diagnostic), file=sys.stderr)
        return WRONG
    except (MemoryError, RuntimeError) as error:
        if out_of_memory(error):
            used = None if place is None else peak_memory(place)
            for diagnostic in exit_status.out_of_memory(folder, error, used):
                print(render(diagnostic), file=sys.stderr)
            return MEMORY
        if not lost(error):
            raise
        why = str(error).splitlines()[0]
        print(f"another process of the run cannot be reached: {why}", file=sys.stderr)
        return LOST
    finally:
        if place is not None:
            leave(place)


def train(folder: Path, order: Order, place: Place, held: ExitStack) -> int:
    """Begin the run or go on with it; the exit code.

    Args:
        held: what is to be closed at the end, whatever the end is.

    Raises:
        LawdslError: input that is not what the run was ordered with.
    """
    if status := exit_status.finished(folder):
        say(place, f"{order.label} is {status}")
        if place.first:
            exit_status.forget(folder)
        return DONE if status == "done" else DIVERGED
    stop = Stop(place.world)
    task = task_of(folder, order, place)
    at = resumed(task, held)
    steps, due = task.training.steps, frozenset(order.run.evaluate)

    def asked() -> int:
        return any_of(place, stop.asked())

    while True:
        measuring = at.step in due and at.measured != at.step
        if (measuring or at.step % LOOK == 0 or at.step == steps) and not finite(task, at):
            return _diverged(task, at)
        if measuring and record(task, at, asked) is False:
            return _diverged(task, at)
        signalled, measured = asked(), at.step not in due or at.measured == at.step
        if at.step == steps and measured:
            return _done(task, at)
        due_to_save = signalled or at.step % order.how.checkpoint_every == 0
        if due_to_save and at.saved != at.step:
            if not finite(task, at):
                return _diverged(task, at)
            save(task, at)
        if signalled:
            where = (
                f"after step {at.step} of {steps}, saved" if at.step else "before its first step"
            )
            say(place, f"{order.label} stopped {where}")
            return exit_status.stopped(signalled)
        _update(task, at)


def _update(task: Task, at: Standing) -> None:
    """A step: the gradient of the mean loss over the next rows of the mixture, and AdamW."""
    at.clock.start()
    inputs, training, place = task.inputs, task.training, task.place
    # of dropout, where there is any
    torch.manual_seed(_seed(task.order.run.seed, at.step, place.rank))
    tokens = [inputs.corpora[name].tokens for name in inputs.mixture.names]
    whole = streams.batch(inputs.mixture, tokens, training.sequence, at.step)
    batch = torch.from_numpy(whole[place.rank :: place.world])
    if place.device.type == "cuda":
        batch = batch.pin_memory()
    pieces = batch.to(place.device, non_blocking=True).split(task.micro)
    for number, piece in enumerate(pieces):
        with task.synced(number == len(pieces) - 1):
            with task.autocast():
                loss = task.loss(piece) / task.tokens
            (loss * place.world).backward()  # the processes' gradients are averaged
        at.losses += loss.detach()
    if training.clip is not None:
        nn.utils.clip_grad_norm_(task.model.parameters(), training.clip)
    for group in task.optimizer.param_groups:
        group["lr"] = learning_rate(training, at.step)
    task.optimizer.step()
    task.optimizer.zero_grad()
    at.step += 1


def _seed(seed: int, step: int, rank: int) -> int:
    key = f"{seed}:{step}:{rank}".encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=7).digest(), "little")


def _done(task: Task, at: Standing) -> int:
    """Keep the trained model, and record that the run is done; the exit code."""
    at.clock.pause()
    tensors = gathered(task.loss, task.model, None)["model"]
    if task.place.first and task.order.how.save_final:
        tokenizer = Path(next(iter(task.order.paths.corpora.values()))) / "tokenizer.json"
        export.export(task.folder / "model", task.model, tensors, tokenizer)
    _finish(task, at, "done", weights=export.digest(tensors))
    return DONE


def _diverged(task: Task, at: Standing) -> int:
    """Record that the loss is not a number any more, the rows before are kept; the exit code."""
    why = f"the loss is not finite after step {at.step}"
    _finish(task, at, "diverged", why)
    say(task.place, f"diverged: {why}")
    return DIVERGED


def _finish(
    task: Task, at: Standing, status: str, message: str = "", weights: str | None = None
) -> None:
    """Record how the run ended; its checkpoints go."""
    at.clock.pause()
    if task.place.first:
        done = {
            "status": status,
            "step": at.step,
            "message": message,
            "weights": weights,
            "seconds": at.clock.seconds + at.clock.since[0],
            "peak_memory_bytes": peak_memory(task.place),
        }
        exit_status.finish(task.folder, done)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
