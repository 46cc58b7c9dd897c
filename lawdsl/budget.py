"""A bound on the time that algebra may take.

Computer algebra has no useful bound of its own: an innocent formula can keep it busy for hours.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

AGAIN = 0.05  # s between strikes: what is raised inside a callback of the garbage collector is lost


class OutOfTime(Exception):
    """The time allowed for a piece of algebra is used up."""


class time_limit:
    """Stop what runs inside after so many seconds of the process's own time, however busy the machine is.

    Works in the main thread of a process on a system with interval timers (Linux, macOS); elsewhere
    nothing is stopped. Limits may be nested; the outer one is kept.

    A class and not a generator: a strike while the limit is being lifted would leave a generator's
    `finally` half done and the timer running, to strike whatever the program does next.

    Raises:
        OutOfTime: the time is used up, or the formula is nested too deeply for the algebra.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.armed = False

    def __enter__(self) -> None:
        possible = hasattr(signal, "setitimer")
        if not possible or threading.current_thread() is not threading.main_thread():
            return
        self.armed = True
        self.began = time.process_time()
        self.outer, _ = signal.getitimer(signal.ITIMER_PROF)
        self.before: Any = signal.signal(signal.SIGPROF, _strike)
        seconds = min(self.seconds, self.outer) if self.outer else self.seconds
        signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.armed:
            passed = time.process_time() - self.began
            left = max(self.outer - passed, 1e-3) if self.outer else 0
            signal.setitimer(signal.ITIMER_PROF, left, AGAIN if left else 0)
            # a signal on its way through another thread would end the process without a handler
            if self.before != signal.SIG_DFL:
                signal.signal(signal.SIGPROF, self.before)
            elif not left:
                signal.signal(signal.SIGPROF, _late)
        if kind is not None and issubclass(kind, RecursionError):
            raise OutOfTime from None


_OWN = {time_limit.__enter__.__code__, time_limit.__exit__.__code__}


def _strike(number: int, frame: FrameType | None) -> None:
    if frame is None or frame.f_code not in _OWN:
        raise OutOfTime


def _late(number: int, frame: FrameType | None) -> None:
    """No limit is set any more: the strike comes too late."""
