"""Seconds of CPU time of a command: the option, and the limit that it sets."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from lawdsl.core.diagnostics import Diagnostic, LawdslError

TICK = 0.02  # s of CPU time: a timer may expire this much too early

Command = TypeVar("Command", bound=Callable[..., Any])

DURATION = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|sec|m|min|h)\s*")
SECONDS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class Seconds(click.FloatRange):
    """A parameter type: a positive, finite time in seconds."""

    def __init__(self) -> None:
        super().__init__(min=0.01)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Convert text to a positive, finite number of seconds.

        Args:
            value: the text given on the command line.
            param, ctx: objects of click, for the error message.

        Returns:
            The number.

        Raises:
            click.BadParameter: not a positive, finite number.
        """
        written = DURATION.fullmatch(str(value))
        if written:
            value = float(written[1]) * SECONDS[written[2]]
        try:
            seconds = float(super().convert(value, param, ctx))
        except click.BadParameter:
            self.fail(
                f"{value!r} is not a time: write seconds, 90 or 0.5, or 30s, 5min, 2h", param, ctx
            )
        if not math.isfinite(seconds):
            self.fail(f"{value} is not a finite number of seconds", param, ctx)
        return seconds


def time_limit(default: float, of: str) -> Callable[[Command], Command]:
    """Create the option `--time-limit`, in seconds of CPU time; see `cpu_limit`.

    Args:
        default: the default in seconds.
        of: the limited computation, for the help text.

    Returns:
        A decorator of a command.
    """
    return click.option(
        "--time-limit",
        default=default,
        show_default=True,
        type=Seconds(),
        metavar="SECONDS",
        help=f"CPU time for {of}; beyond it the command stops with an error.",
    )


@contextmanager
def cpu_limit(seconds: float, of: str, help: str) -> Iterator[None]:
    """Stop the block when it has used a given CPU time.

    Args:
        seconds: the limit on the CPU time in seconds, summed over threads and over the processes
            that the block starts.
        of: the computation in the block, for the message.
        help: advice on how to reduce its time.

    Returns:
        A context manager.

    Raises:
        LawdslError: the time is used up (C0008).
    """
    from lawdsl.core.time_limit import OutOfTime, TimeBudget, time_limit as stopped_after

    clock, before = TimeBudget(seconds), _time_of_processes()
    try:
        with stopped_after(seconds):
            yield
    except Exception as error:
        # the recursion error is a consequence: the time limit was reached while the stack was
        # unwound
        if isinstance(error, OutOfTime) and isinstance(error.__context__, RecursionError):
            raise error.__context__ from None
        # interrupted libraries may raise their own errors, and timers may expire early
        if not isinstance(error, OutOfTime) and clock.remaining() > TICK:
            raise
        spent = clock.spent() + _time_of_processes() - before
        message = f"{of} is not finished after {spent:.3g} s of CPU time"
        more = f"--time-limit {2 * max(seconds, spent):.3g} allows twice as much; {help}"
        raise LawdslError(Diagnostic("C0008", message, help=more)) from None


def _time_of_processes() -> float:
    """The CPU time of the processes that this one has started, and that have ended (s)."""
    times = os.times()
    return times.children_user + times.children_system
