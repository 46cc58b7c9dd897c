"""The record of one message: title, meaning, and examples that produce it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    """One code.

    Attributes:
        title: the mistake in a few words.
        meaning: why it is one, and what to do.
        bad: laws that are answered with this code and no other; none where it takes files or size.
        good: the same, mended.
    """

    title: str
    meaning: str
    bad: tuple[str, ...] = ()
    good: str = ""
