"""Whether a run that is killed and resumed has the losses and weights of an uninterrupted run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack

from .records import CheckInput, Measurement, equal
from .small_runs import (
    TINY,
    environment,
    order,
    saved_steps,
    start_run,
    wait,
    wait_for_run,
    write_corpora,
)

STEPS = 120
EVERY = 20  # steps between checkpoints
WHY = "the run that was killed and resumed differs from the one that was not"


def resume(check_input: CheckInput) -> Iterator[Measurement]:
    """A run that is killed by SIGKILL and resumed; not compiled."""
    yield from _resumed(check_input, compiled=False)


def compiled_resume(check_input: CheckInput) -> Iterator[Measurement]:
    """A compiled run that is killed by SIGKILL and resumed with an empty compile cache."""
    yield from _resumed(check_input, compiled=True)


def _resumed(check_input: CheckInput, *, compiled: bool) -> Iterator[Measurement]:
    data = write_corpora(check_input.folder / "corpora")
    how = {
        "device": check_input.device,
        "deterministic": True,
        "compile": compiled,
        "checkpoint_every": EVERY,
    }
    ordered = order(data, TINY, how, steps=STEPS, evaluate=tuple(range(0, STEPS + 1, 40)))
    killed = check_input.folder / "killed"
    with ExitStack() as both:
        whole = both.enter_context(start_run(check_input.folder / "whole", ordered))
        with start_run(killed, ordered) as worker:
            wait(
                check_input,
                lambda: saved_steps(killed) or worker.processes[0].poll() is not None,
                "a run had saved its first checkpoint",
            )
            worker.send_signal(signal.SIGKILL)
            code = worker.processes[0].wait()
        if code != -signal.SIGKILL:
            wait_for_run(check_input, worker)  # raises the error of a run that failed by itself
            yield Measurement("weights", None, why="the run ended before it could be killed")
            return
        step = saved_steps(killed)[-1]
        yield Measurement("killed after the checkpoint of step", step, f"of {STEPS}")
        cache = check_input.folder / "empty"
        caches = {
            "TORCHINDUCTOR_CACHE_DIR": cache / "inductor",
            "TRITON_CACHE_DIR": cache / "triton",
        }
        with environment(**{name: str(path) for name, path in caches.items()}):
            resumed = both.enter_context(start_run(killed, ordered))
        unbroken, again = wait_for_run(check_input, whole), wait_for_run(check_input, resumed)
    yield equal("weights", again.weights, unbroken.weights, WHY)
    yield equal("rows of losses", again.digest, unbroken.digest, WHY)
