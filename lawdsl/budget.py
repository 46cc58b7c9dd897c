"""A bound on the time that algebra may take.

Computer algebra has no useful bound of its own: an innocent formula can keep it busy for hours.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(Exception):
    """The time allowed for a piece of algebra is used up."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what runs inside after so many seconds of the process's own time, however busy the machine is.

    Works in the main thread of a process on a system with interval timers (Linux, macOS); elsewhere
    nothing is stopped. Limits may be nested; the outer one is kept.

    Raises:
        OutOfTime: the time is used up, or the formula is nested too deeply for the algebra.
    """
    possible = hasattr(signal, "setitimer")
    if not possible or threading.current_thread() is not threading.main_thread():
        with _no_recursion():
            yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    outer, _ = signal.getitimer(signal.ITIMER_PROF)
    began = time.process_time()
    before = signal.signal(signal.SIGPROF, stop)
    # again and again: what is raised inside a callback of the garbage collector is lost
    signal.setitimer(signal.ITIMER_PROF, min(seconds, outer) if outer else seconds, 0.05)
    try:
        with _no_recursion():
            yield
    finally:
        left = max(outer - (time.process_time() - began), 1e-3) if outer else 0
        signal.setitimer(signal.ITIMER_PROF, left, 0.05 if left else 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def _no_recursion() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise OutOfTime from None
