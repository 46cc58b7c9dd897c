"""A limit on time: what runs inside is stopped, and nothing that runs after it."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import pytest

from lawdsl.core.diagnostics import LawdslError
from lawdsl.core.time_limit import OutOfTime, time_limit
from lawdsl.law import algebra
from lawdsl.law.law import load


def busy(seconds: float) -> int:
    """Work in many short calls for so much of the process's own time."""
    until, turns = time.process_time() + seconds, 0
    while time.process_time() < until:
        turns += len(str(turns))
    return turns


def deep(levels: int) -> int:
    return deep(levels - 1) + 1 if levels else 0


def test_what_takes_too_long_is_stopped_soon():
    began = time.process_time()
    with pytest.raises(OutOfTime), time_limit(0.05):
        busy(5)
    assert time.process_time() - began < 1


class Striking:
    """Strikes once, before the k-th instruction of what sets and lifts a limit."""

    FILES = {inspect.getsourcefile(OutOfTime), algebra.__file__, contextlib.__file__}

    def __init__(self, k: int) -> None:
        self.left = k

    def __call__(self, frame: FrameType, event: str, argument: object) -> Striking:
        frame.f_trace_opcodes = frame.f_code.co_filename in self.FILES
        if event == "opcode":
            self.left -= 1
            handler = signal.getsignal(signal.SIGPROF)
            if self.left == 0 and callable(handler):
                handler(signal.SIGPROF, frame)
        return self


CHINCHILLA = load("chinchilla").declarations
LIMITS: dict[str, Callable[[], contextlib.AbstractContextManager[None]]] = {
    "a limit": lambda: time_limit(5),
    "a law being built": lambda: algebra.bounded(CHINCHILLA),
}


@pytest.mark.parametrize("late", [True, False], ids=["stopped", "in time"])
@pytest.mark.parametrize("name", LIMITS)
def test_a_strike_on_any_instruction_leaves_no_limit_behind(name: str, late: bool):
    """A second strike comes while the first is still unwinding: freeing a large formula takes long."""
    limit = LIMITS[name]
    before = sys.gettrace()
    for k in itertools.count(1):
        striking = Striking(k)
        stopped = False
        sys.settrace(striking)
        try:
            with limit():
                if late:
                    raise OutOfTime
        except (OutOfTime, LawdslError):
            stopped = True
        finally:
            sys.settrace(before)
        assert stopped == late
        assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
        if striking.left > 0:  # the limit has fewer instructions
            break
    assert k > 20


def test_a_limit_lifted_in_time_strikes_nothing():
    for turn in range(200):
        try:
            with time_limit(2e-4):
                busy(1e-6 * turn)
        except OutOfTime:
            pass
        busy(5e-4)
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_the_outer_of_two_limits_is_kept():
    with pytest.raises(OutOfTime), time_limit(0.05):
        with time_limit(5):
            busy(0.01)
        busy(5)
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_what_waits_for_an_inner_limit_does_not_hide_the_end_of_the_outer_one():
    after: list[str] = []
    with pytest.raises(OutOfTime), time_limit(0.05):
        try:
            with time_limit(5), time_limit(6):
                busy(5)
        except OutOfTime:
            after.append("as if the inner one had ended")
    assert not after
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_many_inner_limits_do_not_put_off_the_end_of_the_outer_one():
    began = time.process_time()
    with pytest.raises(OutOfTime), time_limit(0.05):
        while time.process_time() < began + 5:
            with time_limit(5):
                busy(1e-4)
    assert time.process_time() - began < 1


def test_a_limit_within_two_ends_where_it_belongs():
    with time_limit(5):
        with pytest.raises(OutOfTime), time_limit(0.03), time_limit(2):
            busy(5)
        busy(0.01)


def test_the_inner_of_two_limits_does_not_end_the_outer():
    with time_limit(5):
        with pytest.raises(OutOfTime), time_limit(0.02):
            busy(5)
        busy(0.01)


def test_a_stack_too_deep_is_a_limit_too():
    with pytest.raises(OutOfTime), time_limit(5):
        deep(10**6)


def test_a_handler_of_the_program_is_given_back():
    def own(number: int, frame: object) -> None:
        raise AssertionError

    before = signal.signal(signal.SIGPROF, own)
    try:
        with time_limit(1):
            busy(0.001)
        assert signal.getsignal(signal.SIGPROF) is own
    finally:
        signal.signal(signal.SIGPROF, before)


def test_another_thread_is_let_run():
    seen: list[int] = []

    def work() -> None:
        with time_limit(0.001):
            seen.append(busy(0.01))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen
