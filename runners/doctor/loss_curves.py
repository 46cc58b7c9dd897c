"""Losses of the same run on several devices, precisions and numbers of processes, compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from .records import CheckInput, Measurement, at_least, at_most
from .small_runs import TINY, FinishedRun, order, start_run, wait_for_run, write_corpora

STEPS, EVERY = 50, 5
FALL = 0.5  # minimum decrease of the loss in 50 steps, in nats
# maximum difference between losses within 50 steps, in nats: rounding errors grow from step to step
FLOAT32, TF32, BFLOAT16 = 2e-3, 1e-2, 5e-2
DIFFERS = "the losses drift apart by more than rounding"

Variants = Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], float]]
"""Name -> fields of the execution, fields of the training, tolerance in nats."""

CPU = {"device": "cpu", "compile": False}
ON_CPU: Variants = {"bfloat16": (CPU, {"precision": "bfloat16"}, BFLOAT16)}
ON_GPU: Variants = {
    "float32, deterministic": (
        {"device": "cuda", "compile": False, "deterministic": True},
        {"precision": "float32"},
        FLOAT32,
    ),
    "float32 with TF32, compiled": (
        {"device": "cuda", "compile": True},
        {"precision": "tf32"},
        TF32,
    ),
    "bfloat16, compiled": (
        {"device": "cuda", "compile": True},
        {"precision": "bfloat16"},
        BFLOAT16,
    ),
}
PROCESSES: Variants = {"2 processes": (CPU | {"processes": 2}, {}, FLOAT32)}
TWO_GPUS: Variants = {
    name: (
        {
            "device": "cuda",
            "compile": False,
            "deterministic": True,
            "processes": 2,
            "sharded": sharded,
        },
        {"precision": "float32"},
        FLOAT32,
    )
    for name, sharded in {"2 GPUs, replicated": False, "2 GPUs, sharded": True}.items()
}


def loss_curve(check_input: CheckInput) -> Iterator[Measurement]:
    """The losses of 50 steps against those of the CPU in float32."""
    yield from _comparisons(check_input, CPU, ON_GPU if check_input.on_gpu else ON_CPU)


def two_processes(check_input: CheckInput) -> Iterator[Measurement]:
    """The losses of two processes on the CPU, over gloo, against those of one."""
    yield from _comparisons(check_input, CPU, PROCESSES)


def two_gpus(check_input: CheckInput) -> Iterator[Measurement]:
    """The losses of two GPUs, over NCCL, against those of one."""
    one = {"device": "cuda", "compile": False, "deterministic": True}
    yield from _comparisons(check_input, one, TWO_GPUS)


def _comparisons(
    check_input: CheckInput, how: Mapping[str, Any], variants: Variants
) -> Iterator[Measurement]:
    """Run a reference in float32 and its variants concurrently; compare all their losses."""
    data = write_corpora(check_input.folder / "corpora")
    evaluate = tuple(range(0, STEPS + 1, EVERY))
    common: dict[str, Any] = {"steps": STEPS, "evaluate": evaluate}
    reference_order = order(data, TINY, how, **({"precision": "float32"} | common))
    with ExitStack() as all_runs:
        reference = all_runs.enter_context(
            start_run(check_input.folder / "reference", reference_order)
        )
        workers = []
        for number, (own, training, _) in enumerate(variants.values()):
            ordered = order(data, TINY, own, **({"precision": "float32"} | dict(training) | common))
            folder = check_input.folder / f"variant-{number}"
            workers.append(all_runs.enter_context(start_run(folder, ordered)))
        done = wait_for_run(check_input, reference)
        yield at_least("fall of the loss", _decrease(done), FALL, "nat", "the model does not learn")
        for (name, (_, _, tolerance)), worker in zip(variants.items(), workers, strict=True):
            other = wait_for_run(check_input, worker)
            gap = float(np.abs(other.losses() - done.losses()).max())
            yield at_most(f"largest difference, {name}", gap, tolerance, "nat", DIFFERS)


def _decrease(run: FinishedRun) -> float:
    """The decrease of the loss on the validation set, in nats per token."""
    first, last = run.rows[0]["losses"]["text"]["loss"], run.rows[-1]["losses"]["text"]["loss"]
    return float(first - last)
