"""Parsing of NAME=VALUE arguments; repeated names are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

import click

SPACE = re.compile(r"\s+")


def split_pairs(
    pairs: Iterable[str], *, lists: Callable[[str], bool] | None = None
) -> Iterator[tuple[str, str, str, str]]:
    """Yield each argument, its name, the equals sign if it has one, and the text after it.

    Args:
        pairs: the arguments.
        lists: whether a name takes several values, separated by commas; None where none does.

    Raises:
        click.UsageError: a name is given twice; otherwise the last value would silently win.
    """
    seen: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        key = SPACE.sub("", name)  # `r [ web ]` is r[web]
        if equals and key in seen:
            earlier = seen[key].strip()
            values = f"{key}={earlier.partition('=')[2].strip()},{text}"
            help = f"several values are {values}" if lists and lists(key) else "leave one out"
            raise click.UsageError(f"{key} is given twice, {earlier} and {pair.strip()}: {help}")
        seen[key] = pair
        yield pair, name, equals, text
