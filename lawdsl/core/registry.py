"""Rows of a table -> the table by name, in which no row replaces another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Row = TypeVar("Row")


def by_name(rows: Iterable[tuple[str, Row]]) -> dict[str, Row]:
    """A table of named rows, in their order.

    Args:
        rows: name and row.

    Raises:
        ValueError: two rows of one name, of which a dictionary would keep the last silently.
    """
    table: dict[str, Row] = {}
    for name, row in rows:
        if name in table:
            raise ValueError(f"two rows have the name {name!r}")
        table[name] = row
    return table
