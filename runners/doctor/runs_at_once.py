"""Small models, several runs at once: the possible number on a device, and the gain."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from .records import CheckInput, Measurement, not_measured
from .small_runs import SIZES, order, start_run, wait_for_run, write_corpora

BATCH, SEQUENCE = 16, 128
WARM_STEPS = 10  # excluded from the rate: compilation, warming of caches
STEPS_CPU, STEPS_GPU = 60, 400
CPU_SIZES, CPU_COUNTS = ("0.2M",), (1, 2)
# one and eight first: the most informative ones, in case time runs out
GPU_SIZES, GPU_COUNTS = ("0.2M", "1M", "10M"), (1, 8, 4, 2)


def runs_at_once(check_input: CheckInput) -> Iterator[Measurement]:
    """Tokens per second of all runs together, by model size and number of runs."""
    if check_input.on_gpu:
        yield from _measured(check_input, GPU_SIZES, GPU_COUNTS, STEPS_GPU)
    else:
        yield from _measured(check_input, CPU_SIZES, CPU_COUNTS, STEPS_CPU)


def _measured(
    check_input: CheckInput, sizes: Sequence[str], counts: Sequence[int], steps: int
) -> Iterator[Measurement]:
    data = write_corpora(check_input.folder / "corpora")
    single: dict[str, float] = {}
    longest = 0.0
    for count in counts:
        for size in sizes:
            what = f"{size}, {count} run{'s' * (count > 1)} at once"
            if check_input.remaining() < 1.2 * longest:
                yield not_measured(what, "the time of the check was up", "tokens/s")
                continue
            begun = time.monotonic()
            rate = _rate(check_input, data, size, count, steps)
            longest = max(longest, time.monotonic() - begun)
            yield Measurement(what, rate, "tokens/s")
            if count == 1:
                single[size] = rate
            elif single.get(size):
                yield Measurement(f"{what}, against one", rate / single[size], "times")


def _rate(check_input: CheckInput, data: Path, size: str, count: int, steps: int) -> float:
    """The sum of the rates of runs that are started together, excluding their first steps."""
    how = {"device": check_input.device, "checkpoint_every": 10 * steps}
    ordered = order(
        data,
        SIZES[size],
        how,
        steps=steps,
        evaluate=(0, WARM_STEPS, steps),
        batch=BATCH,
        sequence=SEQUENCE,
        precision="bfloat16" if check_input.on_gpu else "float32",
    )
    with ExitStack() as all_runs:
        active = [
            all_runs.enter_context(
                start_run(check_input.folder / f"{size}-{count}-{number}", ordered)
            )
            for number in range(count)
        ]
        return sum(
            float(wait_for_run(check_input, worker).rows[-1]["tokens_per_second"])
            for worker in active
        )
