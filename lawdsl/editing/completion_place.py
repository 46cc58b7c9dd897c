"""A place in a document: the words of its line before it, and the part that a proposal replaces."""

from __future__ import annotations

from dataclasses import dataclass

from lark import Token

from lawdsl.core.diagnostics import Span
from lawdsl.editing.document import Document
from lawdsl.editing.words import Word, words_of_line
from lawdsl.language.ast_builder import span_of
from lawdsl.language.lexer import logical_lines
from lawdsl.language.parser import accepted_after, with_types

MAX_LINE_BEFORE = 500  # words of a line before the cursor


@dataclass(frozen=True)
class Completion:
    """One proposal.

    Attributes:
        text: what is written.
        kind: keyword, function, constant, unit, verdict, law, label, column, snippet, or the kind of
            a declared name.
        span: what it replaces.
        detail: what it is, in a few words.
        rank: the place in the list; lower ones first.
        snippet: the text with places that are filled in, in the syntax of LSP; empty for none.
    """

    text: str
    kind: str
    span: Span
    detail: str = ""
    rank: int = 5
    snippet: str = ""


@dataclass(frozen=True)
class Place:
    """The cursor in its line.

    Attributes:
        before: the words of the line before the cursor, with their types.
        word: the word that is being written, as if it were a name.
        line: the statement of the line.
        accepts: the terminals that may stand at the cursor.
        following: the rest of the line behind the cursor.
        span: the part of the text that a proposal replaces.
    """

    before: tuple[Token, ...]
    word: Word
    line: str
    accepts: frozenset[str]
    following: str
    span: Span


def place_in(document: Document, offset: int) -> Place | None:
    """Where the cursor is; None in a text or comment, or behind too many words.

    Args:
        document: the document, in any state.
        offset: the place.
    """
    if document.too_large:
        return None
    start = offset
    while start and _in_name(document.text[start - 1]):
        start -= 1
    written = document.text[start:offset]
    if written[:1].isdigit() or written.startswith("."):
        return None
    if _in_text(document, offset):
        return None
    before = document.tokens_before(start)
    name = written or "x"
    cursor = Token("NAME", name, start_pos=start, end_pos=start + len(name))
    lines = logical_lines([*before, cursor])
    line = [t for t in lines[-1].tokens if t is not cursor]
    if len(line) > MAX_LINE_BEFORE or (not line and _in_line(document.text, start)):
        return None
    typed = with_types([*line, cursor])[:-1]
    words = words_of_line([*line, cursor])
    end = document.text.find("\n", offset)
    following = document.text[offset : end if end >= 0 else None].lstrip()
    return Place(
        tuple(typed),
        words.words[-1],
        words.keyword if line else "",
        frozenset(accepted_after(typed)),
        following,
        Span(start, offset),
    )


def _in_name(char: str) -> bool:
    """Whether a character may be part of a dotted name; digits of derivatives, as in ∂², are not."""
    return char.isalpha() or char in "_." or (char.isascii() and char.isdigit())


def _in_text(document: Document, offset: int) -> bool:
    """Whether a place is in a comment, in a text, or behind a quotation mark that is not closed."""
    illegal = False
    for token in document.line_before(offset):
        span = span_of(token)
        if token.type == "COMMENT" and offset <= span.end:
            return True
        if token.type == "STRING" and offset < span.end:
            return True
        if token.type == "ILLEGAL":
            illegal |= token.value == '"'
    return illegal


def _in_line(text: str, start: int) -> bool:
    """Whether something stands before a place in its line."""
    return bool(text[text.rfind("\n", 0, start) + 1 : start].strip())
