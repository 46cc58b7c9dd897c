"""Formatting of enumerations in messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def as_texts(texts: str | Iterable[str]) -> tuple[str, ...]:
    """An argument that may be one text or several, as a tuple of texts."""
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
        items: the items, which are converted to text.
        most: the largest number of items that are named.
        separator: the text between two items.
        count: the number of all items, if `items` contains only the first ones.
    """
    count = len(items) if count is None else count
    more = f" and {count - most:,} more" if count > most else ""
    return separator.join(map(str, items[:most])) + more


def counted(number: int, noun: str) -> str:
    """A number with a noun: `1 GPU`, `2 GPUs`.

    Args:
        number: the number.
        noun: the noun in the singular; its plural must be regular.
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _joined(items: Sequence[str], word: str) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}"
