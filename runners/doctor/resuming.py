"""Whether a run that is killed and resumed gives the losses and weights of one that is not."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack

from .records import CheckInput, Figure, equal
from .small_runs import (
    TINY,
    environment,
    finished,
    order,
    saved_steps,
    started,
    wait,
    write_corpora,
)

STEPS = 120
EVERY = 20  # steps between checkpoints
WHY = "the run that was killed and resumed differs from the one that was not"


def resume(given: CheckInput) -> Iterator[Figure]:
    """A run that is killed by SIGKILL and resumed; not compiled."""
    yield from _resumed(given, compiled=False)


def compiled_resume(given: CheckInput) -> Iterator[Figure]:
    """A compiled run that is killed by SIGKILL and resumed with an empty compile cache."""
    yield from _resumed(given, compiled=True)


def _resumed(given: CheckInput, *, compiled: bool) -> Iterator[Figure]:
    data = write_corpora(given.folder / "corpora")
    how = {
        "device": given.device,
        "deterministic": True,
        "compile": compiled,
        "checkpoint_every": EVERY,
    }
    ordered = order(data, TINY, how, steps=STEPS, evaluate=tuple(range(0, STEPS + 1, 40)))
    killed = given.folder / "killed"
    with ExitStack() as both:
        whole = both.enter_context(started(given.folder / "whole", ordered))
        with started(killed, ordered) as worker:
            wait(
                given,
                lambda: saved_steps(killed) or worker.processes[0].poll() is not None,
                "a run had saved its first checkpoint",
            )
            worker.send_signal(signal.SIGKILL)
            code = worker.processes[0].wait()
        if code != -signal.SIGKILL:
            finished(given, worker)  # raises the error of a run that failed by itself
            yield Figure("weights", None, why="the run ended before it could be killed")
            return
        step = saved_steps(killed)[-1]
        yield Figure("killed after the checkpoint of step", step, f"of {STEPS}")
        cache = given.folder / "empty"
        caches = {
            "TORCHINDUCTOR_CACHE_DIR": cache / "inductor",
            "TRITON_CACHE_DIR": cache / "triton",
        }
        with environment(**{name: str(path) for name, path in caches.items()}):
            resumed = both.enter_context(started(killed, ordered))
        unbroken, again = finished(given, whole), finished(given, resumed)
    yield equal("weights", again.weights, unbroken.weights, WHY)
    yield equal("rows of losses", again.digest, unbroken.digest, WHY)
