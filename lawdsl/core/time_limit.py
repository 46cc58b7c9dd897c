"""Limits on the CPU time of computer algebra.

The time of computer algebra has no useful bound: a short formula can take hours. The limit is an
interval timer whose signal raises an exception (`setitimer`, POSIX.1-2001).
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, FunctionType, TracebackType
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])

MIN_SECONDS = 1e-3  # s: a timer for a shorter time may never expire
REPEAT_SECONDS = (
    # s between signals: an exception raised inside a callback of the garbage collector is lost
    0.05
)

_until = (
    math.inf
)  # when the limit that ends first does, in the process's own time: asking the timer
# for what is left adds a tick of some milliseconds each time


class TimeBudget:
    """CPU time of the process since the start of a task, and the time remaining to its limit.

    Attributes:
        seconds: the limit (s).
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.began = time.process_time()

    def spent(self) -> float:
        """CPU time since the start (s)."""
        return time.process_time() - self.began

    def remaining(self) -> float:
        """CPU time up to the limit (s), at least 0."""
        return max(self.seconds - self.spent(), 0.0)


def remaining_time() -> float:
    """The CPU time up to the limit that ends first (s); infinite without one."""
    return _until - time.process_time()


class OutOfTime(Exception):
    """The time limit of an algebraic computation is exceeded."""


class _TimerExpired(OutOfTime):
    """The exception raised by an expired timer; one raised directly is an `OutOfTime`."""


class _Outer(Exception):
    """The time limit of an enclosing block is exceeded; handlers of an inner limit must not catch
    this.
    """


class time_limit:
    """A context that stops its body after the given CPU time (s), whatever the load of the machine.

    It works in the main thread of a process on a system with interval timers (Linux, macOS);
    elsewhere nothing is stopped. Limits may be nested: when the time of the outer one is up, the
    outer one raises `OutOfTime`, even if the body of the inner one catches it.

    It is a class and not a generator: a signal during the exit would leave a generator's `finally`
    incomplete and the timer running, which would later interrupt unrelated code.

    Raises:
        OutOfTime: the time is used up, or the formula is nested too deeply for the algebra.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.armed = self.nested = False

    def __enter__(self) -> None:
        global _until
        possible = hasattr(signal, "setitimer")
        if not possible or threading.current_thread() is not threading.main_thread():
            return
        self.armed = True
        now = time.process_time()
        self.outer, deadline = _until, now + self.seconds
        self.nested = self.outer <= deadline
        _until = min(self.outer, deadline)
        # the timer of the application that uses the library is restored afterwards
        self.program = signal.getitimer(signal.ITIMER_PROF)
        self.before: Any = signal.signal(signal.SIGPROF, _raise_out_of_time)
        signal.setitimer(signal.ITIMER_PROF, max(_until - now, MIN_SECONDS), REPEAT_SECONDS)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _until
        expired = False
        if self.armed:
            _until = self.outer
            if _until < math.inf:
                remaining = _until - time.process_time()
                expired = remaining <= 0
                signal.setitimer(signal.ITIMER_PROF, max(remaining, MIN_SECONDS), REPEAT_SECONDS)
            else:
                signal.setitimer(signal.ITIMER_PROF, *self.program)
            # a signal that is still pending in another thread would end the process without a
            # handler
            signal.signal(
                signal.SIGPROF,
                _ignore_late_signal if self.before == signal.SIG_DFL else self.before,
            )
        if kind is None:
            if expired:  # if the timer were set anew again and again, it might never expire
                raise _Outer
        elif issubclass(kind, (_TimerExpired, _Outer)) and self.nested:
            raise _Outer from None
        elif issubclass(kind, (RecursionError, _Outer)):
            raise OutOfTime from None


_OWN = {time_limit.__enter__.__code__, time_limit.__exit__.__code__}


def unstruck(method: Method) -> Method:
    """Mark a method that sets or removes a limit: the timer does not interrupt it, so that no limit
    is left behind.
    """
    _OWN.add(cast(FunctionType, method).__code__)
    return method


def interruptible(frame: FrameType | None) -> bool:
    """Whether a signal handler may raise an exception at a frame: not in code that sets or removes a
    limit.
    """
    return frame is None or frame.f_code not in _OWN


def _raise_out_of_time(number: int, frame: FrameType | None) -> None:
    if interruptible(frame):
        raise _TimerExpired


def _ignore_late_signal(number: int, frame: FrameType | None) -> None:
    """Ignore a signal that arrives after its limit was removed."""
