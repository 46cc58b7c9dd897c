"""Statements of a text -> those of the text after an edit, where their lines are as they were."""

from __future__ import annotations

from dataclasses import dataclass

from lawdsl.core.diagnostics import Span, Text
from lawdsl.language.lexer import LogicalLine
from lawdsl.language.tree import Statement, moved


@dataclass(frozen=True, slots=True)
class KnownLine:
    """A statement that was parsed before, without mistakes.

    Attributes:
        start: the offset at which it began.
        tokens: how many words it has.
        statement: its tree.
    """

    start: int
    tokens: int
    statement: Statement


KnownLines = dict[str, KnownLine]
"""Text of a statement, from its first to its last word -> its tree."""


def known_statement(known: KnownLines, line: LogicalLine, source: Text) -> Statement | None:
    """The tree of a line that was parsed before, with its places in this text; None for another.

    Args:
        known: the lines of the version before.
        line: the line.
        source: the text.
    """
    if not known:
        return None
    span = _span(line)
    earlier = known.get(source.text[span.start : span.end])
    # where a character is refused, words behind it may be missing
    if earlier is None or earlier.tokens != len(line.tokens):
        return None
    return moved(earlier.statement, span.start - earlier.start)


def remember(known: KnownLines, line: LogicalLine, source: Text, statement: Statement) -> None:
    """Add a line that was parsed without mistakes.

    Args:
        known: the lines of this version so far.
        line: the line.
        source: the text.
        statement: its tree.
    """
    span = _span(line)
    written = source.text[span.start : span.end]
    known[written] = KnownLine(span.start, len(line.tokens), statement)


def _span(line: LogicalLine) -> Span:
    start, end = line.tokens[0].start_pos, line.tokens[-1].end_pos
    assert start is not None and end is not None
    return Span(start, end)
