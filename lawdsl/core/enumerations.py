"""Texts -> a tuple of them, or their enumeration in a message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def as_texts(texts: str | Iterable[str]) -> tuple[str, ...]:
    """The texts of an argument that may be one text or several."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


def conjunction(items: Sequence[str]) -> str:
    """Enumerate texts: `a, b and c`.

    Args:
        items: at least one.
    """
    return _joined(items, "and")


def disjunction(items: Iterable[str]) -> str:
    """Enumerate alternatives: `a, b or c`.

    Args:
        items: at least one.
    """
    return _joined(tuple(items), "or")


def abridged(
    items: Sequence[object], most: int, separator: str = ", ", *, count: int | None = None
) -> str:
    """Enumerate the first texts and count the others: `a, b and 1,000 more`.

    Args:
        items: the texts, or what is written as one.
        most: how many are named.
        separator: between two of them.
        count: the number of all, where `items` has only the first of them.
    """
    count = len(items) if count is None else count
    more = f" and {count - most:,} more" if count > most else ""
    return separator.join(map(str, items[:most])) + more


def counted(number: int, noun: str) -> str:
    """A number of things: `1 GPU`, `2 GPUs`.

    Args:
        number: how many there are.
        noun: in the singular, of a regular plural.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _joined(items: Sequence[str], word: str) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"
