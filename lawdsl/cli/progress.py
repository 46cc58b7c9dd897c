"""Progress of long computations, on standard error: a bar on a terminal, or a line."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lawdsl.cli.options import print_message

Bar = Callable[[int, int], None]
"""A function that is called with the number of items done and of all items."""


@contextmanager
def progress(silent: bool, what: str) -> Iterator[Bar | None]:
    """Show a progress bar on standard error.

    Args:
        silent: whether to show no bar; none is shown either if standard error is not a terminal.
        what: the items that are counted.

    Returns:
        A context manager of a function that takes the number of items done, and of all items; None
        without a bar.
    """
    if silent or not sys.stderr.isatty():
        yield None
        return
    # imported only if a bar is shown
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def notice(silent: bool, message: str, seconds: float = 3.0) -> Iterator[None]:
    """Print a message to standard error if the block is not done after some seconds.

    Args:
        silent: whether to print nothing.
        message: the message.
        seconds: the time (s) after which it is printed.
    """
    timer = threading.Timer(seconds, print_message, (message,))
    timer.daemon = True  # a daemon thread does not delay the exit after an error
    if not silent:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
