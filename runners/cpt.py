"""One continual pre-training run, from the specification in its folder to its last row.

    python -m lawdsl.runners.cpt [--steal] FOLDER
    torchrun --nproc-per-node 2 -m lawdsl.runners.cpt FOLDER
    python -m lawdsl.runners.cpt --serve

starts the run or resumes it. A run that is killed at any moment and resumed has the same losses and
weights, bit for bit, as one that is not; on a GPU with `deterministic = true`, and with several
processes where their number stays the same.

Exit codes: 0 done; 1 diverged, which is recorded; 3 wrong input; 4 out of memory, recorded too; 5
another process of the run has ended; 75 stopped by SIGTERM or SIGUSR1, saved; 130 by SIGINT, saved.
A second signal ends it at once. `--steal` takes over a run that is locked by another machine, on
which it must not be active. `--serve` executes one run after another: requests {"folder": …, "log":
…} are read from standard input, one per line, and the exit code of each is written to standard
output as a line. Libraries and the compiled model of the first run are reused; the results are
those of separate processes.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

# before transformers is imported, which reads it once
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA starts

import torch
from torch import nn

from lawdsl.core.diagnostics import LawdslError, render

from .run import exit_status, streams
from .run.exit_status import DIVERGED, DONE, LOST, MEMORY, PAUSED, WRONG, ExitRequest
from .run.locks import hold
from .run.schedules import learning_rate
from .spec import RunOrder, read_order
from .training import export
from .training.distributed import (
    ParallelContext,
    any_of,
    join,
    leave,
    lost,
    out_of_memory,
    peak_memory,
    reset_peak_memory,
    say,
)
from .training.recording import record
from .training.setup import CompiledModel, TrainingTask, task_of
from .training.sharded_weights import whole_tensors
from .training.sharding import gathered
from .training.state import TrainState, finite, resumed, save

FINITE_CHECK_STEPS = 50  # steps between checks that the loss is finite


def main(arguments: list[str]) -> int:
    """Execute the run in a folder, or those that standard input names; return the exit code."""
    if arguments == ["--serve"]:
        return serve()
    steal = "--steal" in arguments
    names = [argument for argument in arguments if argument != "--steal"]
    if len(names) != 1 or names[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    return execute_run(Path(names[0]), steal)


def serve() -> int:
    """Execute the runs that standard input names, until one is not done; return the exit code."""
    compiled = CompiledModel()
    with os.fdopen(os.dup(1), "w") as replies:
        for line in sys.stdin:
            request = json.loads(line)
            log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            for stream in (1, 2):
                os.dup2(log, stream)
            os.close(log)
            reset_peak_memory()
            code = execute_run(Path(request["folder"]), compiled=compiled)
            for number in ExitRequest.SIGNALS:
                # the handler of the last run would catch a signal meant for the next run
                signal.signal(number, signal.SIG_DFL)
            gc.collect()
            sys.stderr.flush()
            print(code, file=replies, flush=True)
            if code not in (DONE, DIVERGED):
                return code
    return DONE


def execute_run(folder: Path, steal: bool = False, compiled: CompiledModel | None = None) -> int:
    """Start a run or resume it.

    Args:
        folder: the folder of the run.
        steal: see above.
        compiled: the model that this process has compiled for earlier runs; None in a process that
            executes one run.

    Returns:
        The exit code.
    """
    parallel = None
    try:
        order = read_order(folder)
        parallel = join(order.how, order.run.training.precision)
        with ExitStack() as exit_stack:
            if parallel.first:
                exit_stack.enter_context(hold(folder, order.label, steal))
            return train(folder, order, parallel, exit_stack, compiled)
    except LawdslError as error:
        for diagnostic in error.diagnostics:
            print(render(diagnostic), file=sys.stderr)
        return WRONG
    except (MemoryError, RuntimeError) as error:
        if out_of_memory(error):
            used = None if parallel is None else peak_memory(parallel)
            for diagnostic in exit_status.out_of_memory(folder, error, used):
                print(render(diagnostic), file=sys.stderr)
            return MEMORY
        if not lost(error):
            raise
        why = str(error).splitlines()[0]
        print(f"another process of the run cannot be reached: {why}", file=sys.stderr)
        return LOST
    finally:
        if parallel is not None:
            leave(parallel)


def train(
    folder: Path,
    order: RunOrder,
    parallel: ParallelContext,
    exit_stack: ExitStack,
    compiled: CompiledModel | None = None,
) -> int:
    """Start the run or resume it.

    Args:
        folder: the folder of the run.
        order: what decides its numbers, and how it is run.
        parallel: this process and the others.
        exit_stack: closes open resources however the run ends.
        compiled: the model compiled by this process for earlier runs.

    Returns:
        The exit code.

    Raises:
        LawdslError: input that is not what the run was ordered with.
    """
    if status := exit_status.finished(folder):
        say(parallel, f"{order.label} is {status}")
        if parallel.first:
            exit_status.forget(folder, order.branch_steps)
        return DONE if status == "done" else DIVERGED
    stop = ExitRequest(parallel.world)
    task = task_of(folder, order, parallel, compiled)
    state = resumed(task, exit_stack)
    steps, due = task.training.steps, frozenset(order.run.evaluate)

    def asked() -> int:
        return any_of(parallel, stop.asked())

    while True:
        measuring = state.step in due and state.measured != state.step
        if (
            measuring or state.step % FINITE_CHECK_STEPS == 0 or state.step == steps
        ) and not finite(task, state):
            return _finish_diverged(task, state)
        if measuring and record(task, state, asked) is False:
            return _finish_diverged(task, state)
        signalled, measured = asked(), state.step not in due or state.measured == state.step
        branching = state.step in order.branch_steps
        if state.step == steps and measured:
            if branching and state.saved != state.step:
                save(task, state)  # its losses are finite, as was just checked
            return _finish_done(task, state)
        due_to_save = signalled or branching or state.step % order.how.checkpoint_every == 0
        if due_to_save and state.saved != state.step:
            # a checkpoint must never hold weights after a loss that is not finite
            if not finite(task, state):
                return _finish_diverged(task, state)
            save(task, state)
        if state.step == order.until and measured:
            _record_end(task, state, PAUSED)
            return DONE
        if signalled:
            where = (
                f"after step {state.step} of {steps}, saved"
                if state.step
                else "before its first step"
            )
            say(parallel, f"{order.label} stopped {where}")
            return exit_status.stopped(signalled)
        training_step(task, state)


def training_step(task: TrainingTask, state: TrainState) -> None:
    """A step: the gradient of the mean loss over the next rows of the mixture, and AdamW."""
    state.clock.start()
    inputs, training, parallel = task.inputs, task.training, task.parallel
    # for dropout, if any
    torch.manual_seed(_seed(task.order.run.seed, state.step, parallel.rank))
    tokens = [inputs.corpora[name].tokens for name in inputs.mixture.names]
    # every process computes the whole batch and takes its rows, so no communication is needed
    windows = streams.batch(inputs.mixture, tokens, training.sequence, state.step)
    batch = torch.from_numpy(windows[parallel.rank :: parallel.world])
    if parallel.device.type == "cuda":
        batch = batch.pin_memory()
    # the copy from pinned memory is asynchronous
    pieces = batch.to(parallel.device, non_blocking=True).split(task.micro)
    step_losses = torch.zeros_like(state.losses)
    for number, piece in enumerate(pieces):
        with task.synced(number == len(pieces) - 1):
            with task.autocast():
                loss = task.loss(piece) / task.tokens
            # the gradients of the processes are averaged; a router loss is included in the sum
            (loss.sum() * parallel.world).backward()
        state.losses += loss.detach()
        step_losses += loss.detach()
    norm = _clipped_norm(task, state)
    for group in task.optimizer.param_groups:
        # a function of the step alone: a scheduler object would have a state to save
        group["lr"] = learning_rate(training, state.step)
    task.optimizer.step()
    task.optimizer.zero_grad()
    state.step += 1
    if state.step_log is not None:
        state.step_log.add(state.step, step_losses, norm)


def _clipped_norm(task: TrainingTask, state: TrainState) -> torch.Tensor | None:
    """Clip the gradient to the maximum norm of the run; return the norm before clipping if it is
    clipped or logged.
    """
    if task.training.clip is not None:
        return nn.utils.clip_grad_norm_(task.model.parameters(), task.training.clip)
    if state.step_log is None or not state.step_log.has_curves:
        return None
    return nn.utils.get_total_norm(p.grad for p in task.model.parameters() if p.grad is not None)


def _seed(seed: int, step: int, rank: int) -> int:
    key = f"{seed}:{step}:{rank}".encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=7).digest(), "little")


def _finish_done(task: TrainingTask, state: TrainState) -> int:
    """Save the trained model and record that the run is done; return the exit code."""
    state.clock.pause()
    tokenizer = Path(next(iter(task.order.paths.corpora.values()))) / "tokenizer.json"
    folder = task.folder / "model" if task.order.how.save_final else None
    weights = None
    if task.is_sharded:
        pieces = whole_tensors(task.loss, task.model, task.parallel)
        if task.parallel.first:
            weights = export.export_stream(folder, task.model, pieces, tokenizer)
        else:
            for _ in pieces:  # sends the rows of this process
                pass
    elif task.parallel.first:
        tensors = gathered(task.model, None)["model"]
        weights = export.digest(tensors)
        if folder is not None:
            export.export(folder, task.model, tensors, tokenizer)
    _record_end(task, state, "done", weights=weights)
    return DONE


def _finish_diverged(task: TrainingTask, state: TrainState) -> int:
    """Record that the loss is not finite; earlier rows remain. Return the exit code."""
    why = f"the loss is not finite after step {state.step}"
    _record_end(task, state, "diverged", why)
    say(task.parallel, f"diverged: {why}")
    return DIVERGED


def _record_end(
    task: TrainingTask,
    state: TrainState,
    status: str,
    message: str = "",
    weights: str | None = None,
) -> None:
    """Record how the run ended and remove its checkpoints."""
    state.clock.pause()
    if state.step_log is not None:
        state.step_log.flush()
    if task.parallel.first:
        done = {
            "status": status,
            "step": state.step,
            "message": message,
            "weights": weights,
            "seconds": state.clock.seconds + state.clock.since[0],
            "peak_memory_bytes": peak_memory(task.parallel),
        }
        exit_status.finish(task.folder, done, task.order.branch_steps)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
