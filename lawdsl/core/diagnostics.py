"""Mistakes in a user's input -> records with code, place and advice, and their text.

A stage that reads a user's text returns its result and a list of diagnostics, or raises
`LawdslError` with all of them; no other exception is raised for a user's mistake.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

EXCERPT_WIDTH = 100  # characters of a source line that are shown
MAX_SHOWN_DIAGNOSTICS = 20  # diagnostics shown at once; the rest are counted


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets in a file's text."""

    start: int
    end: int

    def __or__(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit of a file that corrects a mistake: the text replaces the content of the span."""

    span: Span
    text: str


@dataclass(frozen=True)
class Text:
    """The text of a file and the name under which it is shown to the user."""

    name: str
    text: str

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1."""
        line = bisect.bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The content of a line, counted from 1, without its line end."""
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True)
class Diagnostic:
    """One message: its code, the problem, its place, and the next step.

    `place` is a location outside a text: a row and column of a table, a parameter. `edits`
    implement the advice in `help`, if that is possible without a guess. Each of `suggested` is an
    edit that may be meant; it is applied only if a person chooses it.
    """

    code: str
    message: str
    severity: str = "error"  # error | warning
    text: Text | None = field(default=None, compare=False, repr=False)
    span: Span | None = None
    label: str = ""
    place: str = ""
    notes: tuple[str, ...] = ()
    help: str | None = None
    edits: tuple[Edit, ...] = ()
    suggested: tuple[Edit, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The record as plain data for `--json`."""
        start, end = self._positions(self.span)
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": self.text.name if self.text else None,
            "start": start,
            "end": end,
            "place": self.place or None,
            "notes": list(self.notes),
            "help": self.help,
            "edits": self._plain(self.edits),
            "suggested": self._plain(self.suggested),
        }

    def _plain(self, edits: Iterable[Edit]) -> list[dict[str, Any]]:
        """Edits as plain data, with lines and columns."""
        places = ((self._positions(edit.span), edit.text) for edit in edits)
        return [{"start": start, "end": end, "text": text} for (start, end), text in places]

    def _positions(self, span: Span | None) -> tuple[list[int] | None, list[int] | None]:
        """Line and column of both ends of a range."""
        if self.text is None or span is None:
            return None, None
        return list(self.text.position(span.start)), list(self.text.position(span.end))


class LawdslError(Exception):
    """Input that cannot be used; carries every diagnostic.

    There are no subclasses; the mistake is identified by `diagnostics[0].code`.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic] | Diagnostic) -> None:
        all_diagnostics = (
            (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        )
        self.diagnostics: tuple[Diagnostic, ...] = all_diagnostics
        super().__init__("\n".join(render(d) for d in self.diagnostics))


def printable(text: str) -> str:
    """Text from a file, with control and formatting characters escaped, so that it is safe for a
    terminal.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics sorted by place in the text, duplicates removed."""
    unique = dict.fromkeys(diagnostics)
    return sorted(unique, key=lambda d: d.span.start if d.span else -1)


def render(diagnostic: Diagnostic) -> str:
    """The diagnostic as lines of text, without colour."""
    d = diagnostic
    lines = [f"{d.severity}[{d.code}]: {printable(d.message)}"]
    margin = "   "
    if d.text is not None and d.span is not None:
        number, column = d.text.position(d.span.start)
        margin = " " * len(str(number))
        lines.append(f"{margin}--> {printable(d.text.name)}:{number}:{column}")
        lines += _excerpt(d, number, column, margin)
    elif d.text is not None or d.place:
        name = printable(d.text.name) if d.text else ""
        lines.append(f"   --> {' '.join(part for part in (name, printable(d.place)) if part)}")
    lines += [f"{margin} = note: {printable(note)}" for note in d.notes]
    if d.help:
        lines.append(f"{margin} = help: {printable(d.help)}")
    return "\n".join(lines)


def _excerpt(d: Diagnostic, number: int, column: int, margin: str) -> list[str]:
    """The source line and a row of carets under the span; long lines are cut around it."""
    assert d.text is not None and d.span is not None
    source = d.text.line(number)
    cut = max(0, column - 1 - EXCERPT_WIDTH // 2) if len(source) > EXCERPT_WIDTH else 0
    visible = source[cut : cut + EXCERPT_WIDTH]
    before = printable(source[cut : column - 1])
    marked = source[column - 1 : min(column - 1 + d.span.end - d.span.start, cut + EXCERPT_WIDTH)]
    carets = "^" * max(1, len(printable(marked)))
    pointer = f"{margin} | {' ' * len(before)}{carets} {printable(d.label)}".rstrip()
    return [f"{margin} |", f"{number} | {printable(visible)}", pointer]
