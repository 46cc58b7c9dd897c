"""Progress of work that takes long, on standard error: a bar on a terminal, a line anywhere."""

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
        silent: whether to show none; none is shown either where standard error is not a terminal.
        what: the items that are counted.

    Returns:
        A context manager of a function of the number of items done and of all; None without a bar.
    """
    if silent or not sys.stderr.isatty():
        yield None
        return
    # loaded only for a bar that is shown
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
        silent: whether to print none.
        message: what is being done.
        seconds: until it is printed.
    """
    timer = threading.Timer(seconds, print_message, (message,))
    timer.daemon = True  # an error in the block is not delayed
    if not silent:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
