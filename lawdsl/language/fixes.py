"""A text with mistakes -> the text with those edits made that its messages carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lawdsl.core.diagnostics import Diagnostic, LawdslError, Text

MAX_ROUNDS = 20  # one mistake may hide the next

Reader = Callable[[Text], Iterable[Diagnostic]]
"""Reads a text and returns its warnings, or raises LawdslError."""


@dataclass(frozen=True)
class FixedText:
    """A text after its fixes.

    Attributes:
        text: the text with all edits made.
        fixed: the diagnostics whose edits were made, in the order in which they were.
        left: the diagnostics of the text as it is now.
    """

    text: Text
    fixed: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...]


def fix_text(text: Text, read: Reader) -> FixedText:
    """Make the edits of all messages about a text, and read it again until none is left.

    Args:
        text: the text.
        read: the reader, which says what is wrong with it.
    """
    fixed: list[Diagnostic] = []
    seen = {text.text}
    for _ in range(MAX_ROUNDS):
        diagnostics = diagnostics_of(text, read)
        own = [
            d for d in diagnostics if d.edits and d.text is not None and d.text.text == text.text
        ]
        changed, made = _edited(text.text, own)
        if not made or changed in seen:  # edits that undo each other would never end
            return FixedText(text, tuple(fixed), tuple(diagnostics))
        seen.add(changed)
        fixed += made
        text = Text(text.name, changed)
    return FixedText(text, tuple(fixed), tuple(diagnostics_of(text, read)))


def diagnostics_of(text: Text, read: Reader) -> list[Diagnostic]:
    """All messages about a text, errors and warnings.

    Args:
        text: the text.
        read: its reader.
    """
    try:
        return list(read(text))
    except LawdslError as error:
        return list(error.diagnostics)


def _edited(text: str, diagnostics: Iterable[Diagnostic]) -> tuple[str, list[Diagnostic]]:
    """The text with the edits of those messages whose edits touch no earlier one's."""
    made: list[Diagnostic] = []
    taken: list[tuple[int, int, str]] = []
    for diagnostic in diagnostics:
        edits = [(e.span.start, e.span.end, e.text) for e in diagnostic.edits]
        if all(end <= a or b <= start for start, end, _ in edits for a, b, _ in taken):
            taken += edits
            made.append(diagnostic)
    for start, end, written in sorted(taken, reverse=True):  # from the end, so that offsets stay
        text = text[:start] + written + text[end:]
    return text, made
