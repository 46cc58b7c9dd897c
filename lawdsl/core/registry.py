"""Rows of a table -> a dictionary by name, in which no row replaces another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Row = TypeVar("Row")


def by_name(rows: Iterable[tuple[str, Row]]) -> dict[str, Row]:
    """A dictionary of named rows, in their order.

    Args:
        rows: pairs of a name and a row.

    Raises:
        ValueError: two rows have the same name; a dictionary would silently keep the last one.
    """
    table: dict[str, Row] = {}
    for name, row in rows:
        if name in table:
            raise ValueError(f"two rows have the name {name!r}")
        table[name] = row
    return table
