"""A bar for work that takes a while, where somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Bar = Callable[[int, int], None]
"""Is told how many are done, and of how many."""


@contextmanager
def progress(silent: bool, what: str) -> Iterator[Bar | None]:
    """A bar on standard error: a function to call with how many are done, and of how many.

    Args:
        silent: whether to show none; nor is one shown where standard error is no terminal.
        what: the things that are counted.
    """
    if silent or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
