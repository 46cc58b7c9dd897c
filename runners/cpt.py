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
import json
import math
import os
import shutil
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # before CUDA starts

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from lawdsl.diagnostics import Diagnostic, LawdslError, render
from lawdsl.files import write

from . import checkpoints, costs, models, streams
from .corpora.corpus import Corpus, open_corpus
from .disk import room, sync
from .evaluation import measure
from .locks import hold
from .parallel import gathered, placed, restore, settle
from .place import (
    Place,
    all_of,
    any_of,
    join,
    leave,
    lost,
    meet,
    of_first,
    out_of_memory,
    peak_memory,
)
from .points import cut, open_points
from .schedules import areas, check, learning_rate
from .spec import Order, Run, Training, read_order

DONE, DIVERGED, WRONG, MEMORY, LOST, STOPPED, INTERRUPTED = 0, 1, 3, 4, 5, 75, 130
FINISHED, POINTS = "done.json", "points.jsonl"
SWEEP = "LAWDSL_SWEEP"  # in the environment: the process of the sweep that the run is part of
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
            return _record_memory(folder, place, error)
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
    run, training, how = order.run, order.run.training, order.how
    if status := _finished(folder):
        _say(place, f"{order.label} is {status}")
        _forget(folder, place)
        return DONE if status == "done" else DIVERGED
    stop = _Stop(place)

    # ---- data: memory-mapped, each what the run was ordered with
    source = order.paths.model
    facts = models.inspect(source)
    _same("the model", run.model.fingerprint, facts.fingerprint)
    corpora = {  # in an order of their own, whatever that of the file is
        name: _opened(order.paths.corpora[name], part.fingerprint, facts, training)
        for name, part in sorted(run.corpora.items())
    }
    validation = {
        name: _opened(order.paths.validation[name], fingerprint, facts, training)
        for name, fingerprint in run.validation.items()
    }
    mix = streams.mixture(
        {name: run.corpora[name].fraction for name in corpora},
        {name: corpus.windows(training.sequence) for name, corpus in corpora.items()},
        {name: corpus.fingerprint for name, corpus in corpora.items()},
        training.batch,
        run.seed,
    )
    check(training)
    _check_supply(mix, run, training)
    _check_rows(training, facts, place)
    tokens = [corpus.tokens for corpus in corpora.values()]
    rows = slice(place.rank, None, place.world)
    micro = how.micro_batch or training.batch // place.world
    due = frozenset(run.evaluate)

    # ---- model and optimizer
    model = models.load(source, run.model.initialization, run.seed)
    model.to(place.device).train()
    loss_of, synced = placed(models.Loss(model), place, how)
    optimizer = _optimizer(model, training)
    low = training.precision == "bfloat16"
    autocast = partial(torch.autocast, place.device.type, torch.bfloat16, enabled=low)
    flops = costs.flops_per_token(
        facts.parameters,
        facts.embedding,
        facts.layers,
        facts.hidden,
        training.sequence,
        tied=facts.tied,
    )

    with autocast():
        settle(loss_of, torch.zeros((micro, training.sequence + 1), dtype=torch.long), place)

    # ---- where we stand: the newest checkpoint that is whole, or the beginning
    step, measured, seconds, size = 0, 0, 0.0, 0
    running = torch.zeros(1, dtype=torch.float64, device=place.device)  # losses since the last row
    found = _latest(folder / "checkpoints", place)
    if found is not None:
        _same("the checkpoint", run.identity(), found.state["run"])
        restore(model, optimizer, checkpoints.load(found))
        step, measured = found.step, found.state["measured"]
        seconds, size = found.state["seconds"], found.state["points"]
        parts = found.state["running"]  # of each process, as many as there were
        running[0] = parts[place.rank] if len(parts) == place.world else sum(parts) / place.world
    points = None
    if place.first:
        for left in (folder / FINISHED, *folder.glob(f".{FINISHED}.*")):
            left.unlink(missing_ok=True)  # it was out of memory, or killed as it wrote this
        _cut(folder / POINTS, size, place)
        points = held.enter_context(open_points(folder / POINTS))
    meet(place)

    clock = _Clock(seconds)

    def finite() -> bool:
        """Whether the losses since the last row are numbers."""
        return math.isfinite(sum(all_of(place, float(running))))

    def record() -> bool:
        """Measure the losses on all validation sets, and write the row of this step.

        Returns:
            Whether all of them are numbers.
        """
        nonlocal measured
        rate = clock.pause(place, training.batch * training.sequence)
        model.eval()
        with torch.no_grad(), autocast():
            losses = {
                name: measure(loss_of, corpus, training.sequence, micro, place)
                for name, corpus in validation.items()
            }
        model.train()
        trained = sum(all_of(place, float(running))) / max(step - measured, 1)
        measured = step
        running.zero_()
        s1, s2 = areas(training, step)
        row = {
            "step": step,
            "tokens": step * training.batch * training.sequence,
            "learning_rate": learning_rate(training, max(step - 1, 0)),
            "S1": s1,
            "S2": s2,
            "rows": dict(zip(mix.names, streams.drawn(mix, step), strict=True)),
            "epochs": streams.epochs(mix, step),
            "losses": {name: asdict(found) for name, found in losses.items()},
            "train_loss": trained if step else None,
            "tokens_per_second": rate,
            "mfu": costs.mfu(rate, flops, costs.peak(place.name), place.world) if rate else None,
            "peak_memory_bytes": peak_memory(place),
            "device": place.name,
            "seconds": clock.seconds,
        }
        if points is not None:
            points.append(row)
        return all(math.isfinite(found.loss) for found in losses.values())

    def save() -> None:
        """Write a checkpoint: what is done after it is done again in the same way, if it must be."""
        clock.pause(place)
        tensors = gathered(loss_of, model, optimizer)
        losses = all_of(place, float(running))
        if points is not None:
            state = {
                "run": run.identity(),
                "seconds": clock.seconds,
                "points": points.size,
                "running": losses,
                "measured": measured,
            }
            checkpoints.save(folder / "checkpoints", step, tensors, state)
        meet(place)

    # ---- the loop
    if step == 0 and not record():
        return _diverged(folder, step, clock, place)
    while step < training.steps:
        clock.start()
        torch.manual_seed(_seed(run.seed, step, place.rank))  # of dropout, where there is any
        batch = torch.from_numpy(streams.batch(mix, tokens, training.sequence, step)[rows])
        if place.device.type == "cuda":
            batch = batch.pin_memory()
        pieces = batch.to(place.device, non_blocking=True).split(micro)
        for number, piece in enumerate(pieces):
            with synced(number == len(pieces) - 1):
                with autocast():
                    loss = loss_of(piece) / (training.batch * training.sequence)
                (loss * place.world).backward()  # the processes' gradients are averaged
            running += loss.detach()
        if training.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), training.clip)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(training, step)
        optimizer.step()
        optimizer.zero_grad()
        step += 1

        last = step == training.steps
        if (step in due or step % LOOK == 0 or last) and not finite():
            return _diverged(folder, step, clock, place)
        if step in due and not record():
            return _diverged(folder, step, clock, place)
        signalled = any_of(place, stop.asked())
        if signalled or (step % how.checkpoint_every == 0 and not last):
            if not finite():
                return _diverged(folder, step, clock, place)
            save()
        if signalled and not last:
            _say(place, f"{order.label} stopped after step {step} of {training.steps}, saved")
            return INTERRUPTED if signalled == signal.SIGINT else STOPPED

    # ---- the end
    clock.pause(place)
    tensors = gathered(loss_of, model, None)["model"]
    if place.first and how.save_final:
        _export(folder / "model", model, tensors, order)
    _finish(folder, "done", step, clock, place, weights=_digest(tensors))
    return DONE


def _check_supply(mix: streams.Mixture, run: Run, training: Training) -> None:
    """Refuse a run that would go through a corpus more often than it was allowed to."""
    for number, name in enumerate(mix.names):
        part = run.corpora[name]
        needed = streams.drawn(mix, training.steps)[number]
        have = mix.windows[number]
        if needed > part.max_epochs * have:
            raise LawdslError(
                Diagnostic(
                    "R0505",
                    f"the corpus {name} has {have} windows of {training.sequence} tokens, the run"
                    f" needs {needed}: more than {part.max_epochs:g} passes",
                    help="train for fewer steps, bring more text, or allow a larger max_epochs",
                )
            )


def _check_rows(training: Training, facts: models.Facts, place: Place) -> None:
    """Refuse rows that the model has no positions for, or of which each process has not as many."""
    if facts.positions is not None and training.sequence > facts.positions:
        raise LawdslError(
            Diagnostic(
                "R0504",
                f"rows have {training.sequence} tokens, the model has {facts.positions} positions",
                help="train on shorter sequences",
            )
        )
    if training.batch % place.world:
        raise LawdslError(
            Diagnostic(
                "R0502",
                f"{place.world} processes cannot share a batch of {training.batch} rows evenly",
                help="use a number of processes that divides the batch",
            )
        )


class _Stop:
    """The signal that asked to stop, 0 as long as none has; a second one ends the process.

    torchrun hands on to its processes what a terminal or a scheduler has sent to all of them: what
    comes within a second of the first is the same one.
    """

    def __init__(self, place: Place) -> None:
        self.signal = 0
        self.since = 0.0
        self.sweep = os.environ.get(SWEEP, "") if Path("/proc/self").exists() else ""
        self.alike = 1.0 if place.world > 1 else 0.0
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.signal(number, self)

    def asked(self) -> int:
        """The signal; SIGTERM where the sweep that this run was started by is gone."""
        if not self.signal and self.sweep and not Path(f"/proc/{self.sweep}").exists():
            return signal.SIGTERM
        return self.signal

    def __call__(self, number: int, frame: object) -> None:
        now = time.monotonic()
        if not self.signal:
            self.signal, self.since = number, now
        elif now - self.since >= self.alike:
            os._exit(INTERRUPTED if number == signal.SIGINT else STOPPED)


class _Clock:
    """Seconds spent on updates, evaluations and checkpoints left out."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.begun: float | None = None
        self.spent, self.updates = 0.0, 0

    def start(self) -> None:
        """An update begins."""
        self.updates += 1
        if self.begun is None:
            self.begun = time.monotonic()

    def pause(self, place: Place, tokens: int = 0) -> float | None:
        """Updates end for now.

        Args:
            tokens: of an update; 0 where the rate is not asked for.

        Returns:
            Tokens a second since it was last asked for; None where there was no update.
        """
        if self.begun is not None:
            if place.device.type == "cuda":
                torch.cuda.synchronize(place.device)
            self.spent += time.monotonic() - self.begun
            self.begun = None
        if not tokens:
            return None
        rate = self.updates * tokens / self.spent if self.updates else None
        self.seconds += self.spent
        self.spent, self.updates = 0.0, 0
        return rate


def _optimizer(model: nn.Module, training: Training) -> torch.optim.AdamW:
    """AdamW; what has one dimension, norms and biases, is not decayed."""
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


def _opened(folder: str, fingerprint: str, facts: models.Facts, training: Training) -> Corpus:
    """A corpus, if it is the one that the run was ordered with and the model can read it."""
    corpus = open_corpus(folder)
    _same(folder, fingerprint, corpus.fingerprint)
    if corpus.windows(training.sequence) == 0:
        raise LawdslError(
            Diagnostic(
                "R0506",
                f"{folder} has {len(corpus.tokens)} tokens, and a row takes"
                f" {training.sequence} and the one after them",
                help="bring more text, or train on shorter sequences",
            )
        )
    if corpus.vocabulary > facts.vocabulary:
        raise LawdslError(
            Diagnostic(
                "R0504",
                f"{folder} has {corpus.vocabulary} kinds of tokens, the model knows"
                f" {facts.vocabulary}",
                help="make the corpus with the model's own tokenizer",
            )
        )
    return corpus


def _same(what: str, wanted: str, found: str) -> None:
    if wanted != found:
        raise LawdslError(
            Diagnostic(
                "R0503",
                f"{what} has changed since the run was ordered: it is {found}, not {wanted}",
                help="put back what was there, or order another run with `lawdsl run`",
            )
        )


def _latest(folder: Path, place: Place) -> checkpoints.Checkpoint | None:
    """The newest checkpoint that is whole: the first process looks, the others take what it found.

    Each on its own might find another, where a disk or a network fails for one of them.
    """
    found, step = None, -1
    if place.first:
        found, warnings = checkpoints.latest(folder)
        step = -1 if found is None else found.step
        for warning in warnings:
            _say(place, render(warning))
    step = of_first(place, step)
    return found if place.first or step < 0 else checkpoints.of_step(folder, step)


def _cut(path: Path, size: int, place: Place) -> None:
    """Take back the rows that were written after the checkpoint; they are measured again."""
    lost = cut(path, size)
    if lost:
        _say(place, f"{lost} rows were written after the checkpoint; they are measured again")


def _diverged(folder: Path, step: int, clock: _Clock, place: Place) -> int:
    """Record that the loss is no number any more; the rows before are kept."""
    clock.pause(place)
    _finish(folder, "diverged", step, clock, place, f"the loss is not finite after step {step}")
    _say(place, f"diverged: the loss is not finite after step {step}")
    return DIVERGED


def _finish(
    folder: Path,
    status: str,
    step: int,
    clock: _Clock,
    place: Place,
    message: str = "",
    weights: str | None = None,
) -> None:
    """Write how the run ended, and only then remove its checkpoints."""
    if not place.first:
        return
    done = {
        "status": status,
        "step": step,
        "message": message,
        "weights": weights,
        "seconds": clock.seconds,
        "peak_memory_bytes": peak_memory(place),
    }
    _write_end(folder, done)
    _forget(folder, place)


def _write_end(folder: Path, done: dict[str, Any]) -> None:
    text = json.dumps(done, indent=2) + "\n"
    try:
        write(folder / FINISHED, text)
    except OSError as error:
        raise _unwritten("how the run ended", folder, len(text), error) from None


def _forget(folder: Path, place: Place) -> None:
    """Remove the checkpoints of a run that has ended."""
    if place.first:
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)


def _finished(folder: Path) -> str | None:
    """How the run ended, if nothing is left to do; what failed is tried again from where it was."""
    try:
        status = json.loads((folder / FINISHED).read_text(encoding="utf-8"))["status"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return status if status in ("done", "diverged") else None


def _record_memory(folder: Path, place: Place | None, error: BaseException) -> int:
    """Record that memory did not suffice; the checkpoints stay, for a smaller micro-batch."""
    used = peak_memory(place) if place is not None else None
    message = str(error).splitlines()[0] if str(error) else "no memory is left"
    done = {"status": "oom", "step": None, "message": message, "peak_memory_bytes": used}
    found = Diagnostic(
        "R0507",
        f"memory did not suffice: {message}",
        place=str(folder),
        notes=(f"{used:,} bytes were held at most",) if used else (),
        help="give a smaller micro_batch, or a place with more memory; the run goes on from its last"
        " checkpoint",
    )
    print(render(found), file=sys.stderr)
    try:
        _write_end(folder, done)
    except LawdslError as full:
        print(render(full.diagnostics[0]), file=sys.stderr)
    return MEMORY


def _export(folder: Path, model: Any, tensors: dict[str, Tensor], order: Order) -> None:
    """The trained model as a folder that transformers loads, whole or not at all."""
    temporary = folder.with_name(f".{folder.name}.part")
    tokenizer = Path(next(iter(order.paths.corpora.values()))) / "tokenizer.json"
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        model.config.save_pretrained(temporary)
        save_file(tensors, temporary / "model.safetensors", metadata={"format": "pt"})
        shutil.copy(tokenizer, temporary / "tokenizer.json")
        for path in (*temporary.iterdir(), temporary):
            sync(path)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except (OSError, SafetensorError) as error:
        needed = sum(tensor.nbytes for tensor in tensors.values())
        raise _unwritten("the trained model", folder, needed, error) from None


def _unwritten(what: str, folder: Path, needed: int, error: Exception) -> LawdslError:
    """The disk did not take what a run writes at its end."""
    return LawdslError(
        Diagnostic(
            "R0508",
            f"{what} cannot be written: {error}",
            place=str(folder),
            notes=(room(folder.parent, needed),) if needed else (),
            help="make room, then start the run again: it goes on from its last checkpoint",
        )
    )


def _digest(tensors: dict[str, Tensor]) -> str:
    """A hash of all weights: two runs are equal, bit for bit, where theirs are."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _seed(seed: int, step: int, rank: int) -> int:
    key = f"{seed}:{step}:{rank}".encode()
    return int.from_bytes(hashlib.blake2b(key, digest_size=7).digest(), "little")


def _say(place: Place, message: str) -> None:
    if place.first:
        print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
