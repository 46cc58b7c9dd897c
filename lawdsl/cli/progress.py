"""A progress bar on standard error, for work that takes long, if it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
