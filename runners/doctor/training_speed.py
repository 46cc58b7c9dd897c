"""The speed of training, evaluation, saving and resuming with the code of the runner, in this
process.
"""

from __future__ import annotations

import functools
import gc
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..cpt import training_step
from ..run import costs
from ..run.memory import MemoryProfile, Placement, step_bytes
from ..spec import RunOrder, Training
from ..training.distributed import ParallelContext, join, out_of_memory, peak_memory
from ..training.memory import profile
from ..training.recording import record
from ..training.setup import TrainingTask, task_of
from ..training.state import resumed, save
from .records import CheckInput, Measurement, at_most, equal, not_measured
from .small_runs import QWEN2_HALF_BILLION, SIZES, order, write_corpora

TIMED_SECONDS = 1.5  # seconds for which steps of a small model are repeated
LARGE_ROWS, LARGE_SEQUENCE, LARGE_STEPS = 32, 2048, 4
# the most informative sizes first, in case time runs out
MICRO_BATCHES = (8, 16, 4, 32, 2, 1)
GIB = 2**30
MEMORY = "the estimate of memory is too low: report it"


@dataclass(frozen=True)
class Speed:
    """The training speed of a task.

    Attributes:
        rate: tokens per second, excluding the first step.
        peak: peak number of bytes on the device; of the process on a CPU.
    """

    rate: float
    peak: int


def small_models(check_input: CheckInput) -> Iterator[Measurement]:
    """Tokens per second of small models; seconds to evaluate, to save and to resume."""
    data = write_corpora(check_input.folder / "corpora")
    for name in ("0.2M", "1M", "10M") if check_input.on_gpu else ("0.2M", "1M"):
        ordered = order(
            data,
            SIZES[name],
            {"device": check_input.device, "compile": False},
            evaluate=(0,),
            steps=1_000_000,
            batch=16,
            sequence=128,
            precision="float32",
        )
        yield from _trained(check_input.folder / name, ordered, name)


def _trained(folder: Path, ordered: RunOrder, name: str) -> Iterator[Measurement]:
    """Train a task for a while, evaluate, save and resume it."""
    folder.mkdir()
    with ExitStack() as exit_stack:
        task = task_of(folder, ordered, _joined(ordered))
        state = resumed(task, exit_stack)
        speed = _speed(task, lambda: training_step(task, state), TIMED_SECONDS)
        yield Measurement(f"{name}: training", speed.rate, "tokens/s")
        flops = task.inputs.facts.flops_per_token(task.training.sequence)
        yield Measurement(f"{name}: training", speed.rate * flops / 1e9, "GFLOP/s")
        seconds = _timed(task, lambda: record(task, state, lambda: 0))
        yield Measurement(f"{name}: evaluation of {_evaluated_tokens(task):,} tokens", seconds, "s")
        yield Measurement(f"{name}: saving", _timed(task, lambda: save(task, state)), "s")
    with ExitStack() as exit_stack:
        again = task_of(folder, ordered, _joined(ordered))
        begun = time.perf_counter()
        state_again = resumed(again, exit_stack)
        yield Measurement(f"{name}: resuming", time.perf_counter() - begun, "s")
        step, expected = str(state_again.step), str(state.step)
        yield equal(f"{name}: step after resuming", step, expected, "the checkpoint was not used")


def large_model(check_input: CheckInput) -> Iterator[Measurement]:
    """A 0.5B model on rows of 2,048 tokens in bfloat16, compiled, by micro-batch."""
    data = write_corpora(
        check_input.folder / "corpora", validation_tokens=LARGE_ROWS * LARGE_SEQUENCE
    )
    longest, too_large = 0.0, LARGE_ROWS + 1
    evaluated = False
    for micro in MICRO_BATCHES:
        what = f"micro-batch {micro}"
        if micro >= too_large:
            yield not_measured(what, f"micro-batch {too_large} is out of memory already")
            continue
        if check_input.remaining() < 1.2 * longest:
            yield not_measured(what, "the time of the check was up", "tokens/s")
            continue
        begun = time.monotonic()
        try:
            yield from _large(check_input, data, micro, evaluate=not evaluated)
            evaluated = True
        except (MemoryError, RuntimeError) as error:
            if not out_of_memory(error):
                raise
            too_large = min(too_large, micro)
            yield not_measured(what, "out of memory")
        gc.collect()
        torch.cuda.empty_cache()
        # each micro-batch is another shape; torch stops compiling after too many shapes
        torch.compiler.reset()
        longest = max(longest, time.monotonic() - begun)


def _large(
    check_input: CheckInput, data: Path, micro: int, *, evaluate: bool
) -> Iterator[Measurement]:
    """The 0.5B model with one micro-batch.

    Args:
        check_input: what the check is given.
        data: the folder of the corpora.
        micro: the micro-batch, in rows.
        evaluate: whether evaluation and saving are timed too.
    """
    ordered = order(
        data,
        QWEN2_HALF_BILLION,
        # never checkpointed, so that the micro-batches are comparable
        {
            "device": check_input.device,
            "micro_batch": micro,
            "compile": True,
            "checkpoint_activations": False,
        },
        evaluate=(0,),
        steps=1_000_000,
        batch=LARGE_ROWS,
        sequence=LARGE_SEQUENCE,
        precision="bfloat16",
    )
    folder = check_input.folder / f"micro-{micro}"
    folder.mkdir()
    with ExitStack() as exit_stack:
        what, begun = f"micro-batch {micro}", time.perf_counter()
        # this executes a trial step, which compiles the model
        task = task_of(folder, ordered, _joined(ordered))
        state = resumed(task, exit_stack)
        _synchronize(task)
        yield Measurement(f"{what}: loading and compilation", time.perf_counter() - begun, "s")
        torch.cuda.reset_peak_memory_stats()
        speed = _speed(task, lambda: training_step(task, state), 0.0, LARGE_STEPS)
        facts = task.inputs.facts
        yield Measurement(f"{what}: training", speed.rate, "tokens/s")
        peak = costs.peak_flops(task.parallel.name, task.training.precision)
        flops = facts.flops_per_token(LARGE_SEQUENCE)
        utilisation = costs.model_flops_utilisation(speed.rate, flops, peak)
        if utilisation is None:
            why = "the device is not in the table of data sheets"
            yield not_measured(f"{what}: MFU", why)
        else:
            yield Measurement(f"{what}: MFU", utilisation)
        estimate = (
            expected_memory(QWEN2_HALF_BILLION, task.training, micro, check_input.device) / GIB
        )
        yield at_most(f"{what}: peak memory", speed.peak / GIB, estimate, "GiB", MEMORY)
        if evaluate:
            seconds = _timed(task, lambda: record(task, state, lambda: 0))
            what = f"evaluation of {_evaluated_tokens(task):,} tokens, with compilation"
            yield Measurement(what, seconds, "s")
            yield Measurement("saving", _timed(task, lambda: save(task, state)), "s")


def expected_memory(config: Mapping[str, Any], training: Training, micro: int, device: str) -> int:
    """Estimate the memory that a training step takes on a device.

    Args:
        config: the configuration of the model.
        training: the optimisation.
        micro: the micro-batch, in rows.
        device: cpu or cuda.

    Returns:
        Bytes by `step_bytes`, which `lawdsl run` uses for planning.
    """
    counted = _counted(json.dumps(config), training.sequence, training.precision)
    place = Placement(device, training.precision, compiled=device == "cuda")
    return step_bytes(counted, training.batch, micro, place)


@functools.cache
def _counted(config: str, sequence: int, precision: str) -> MemoryProfile:
    """The memory allocated in the passes of a model; the configuration is JSON."""
    return profile(json.loads(config), sequence, precision)


def _joined(ordered: RunOrder) -> ParallelContext:
    """The context of a run with this process alone."""
    return join(ordered.how, ordered.run.training.precision)


def _speed(task: TrainingTask, step: Callable[[], None], seconds: float, steps: int = 3) -> Speed:
    """Time the steps of a task except the first: for `seconds`, and at least `steps`."""
    _timed(task, step)  # allocates, and may compile
    times: list[float] = []
    while len(times) < steps or sum(times) < seconds:
        times.append(_timed(task, step))
    median = sorted(times)[len(times) // 2]
    return Speed(task.tokens / median, peak_memory(task.parallel))


def _evaluated_tokens(task: TrainingTask) -> int:
    """The number of tokens in the complete rows of the validation sets, evaluated each time."""
    sequence = task.training.sequence
    return sum(corpus.windows(sequence) * sequence for corpus in task.inputs.validation.values())


def _timed(task: TrainingTask, act: Callable[[], object]) -> float:
    """The duration of a function in seconds, including its work on the device."""
    _synchronize(task)
    begun = time.perf_counter()
    act()
    _synchronize(task)
    return time.perf_counter() - begun


def _synchronize(task: TrainingTask) -> None:
    if task.parallel.device.type == "cuda":
        torch.cuda.synchronize(task.parallel.device)
