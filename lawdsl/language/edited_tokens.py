"""Tokens of an edited text: only changed lines are lexed again.

No terminal continues in the next line, so that the text of a line alone determines its tokens, except
for their places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from lark import Token

from lawdsl.core.diagnostics import Diagnostic, Text
from lawdsl.core.recent import RecentTexts
from lawdsl.language import size_limits
from lawdsl.language.characters import CONTROL
from lawdsl.language.lexer import LogicalLine, logical_lines
from lawdsl.language.tokens import all_tokens, tokens_of, words_and_messages

MAX_CACHED = 400  # characters of a line whose tokens are cached

MAX_CHARACTERS = 200_000  # of all texts together whose tokens are cached

Lexed = tuple[tuple[Token, ...], bool]
"""The tokens of a line without spaces, and whether there may be messages about characters."""


@dataclass(frozen=True)
class _Tokens:
    """The tokens of a text.

    Attributes:
        words: those of `tokens_of`.
        doubtful: the tokens of each line that may have messages about characters.
    """

    words: tuple[Token, ...]
    doubtful: tuple[tuple[Token, ...], ...]


_TOKENS: RecentTexts[_Tokens | None] = RecentTexts(MAX_CHARACTERS)
_LOGICAL_LINES: RecentTexts[tuple[LogicalLine, ...]] = RecentTexts(MAX_CHARACTERS)


def edited_tokens(source: Text) -> tuple[list[Token], list[Diagnostic]]:
    """The tokens and messages of `tokens_of`, from cached tokens of lines.

    Args:
        source: the file. Beyond the limits on its size, the rest is not read.
    """
    tokens = _TOKENS.get(source.text, lambda: _tokens(source.text))
    if tokens is None:
        return tokens_of(source)
    diagnostics: list[Diagnostic] = []
    for line in tokens.doubtful:
        diagnostics += words_and_messages(line, source)[1]
    return list(tokens.words), diagnostics


def edited_lines(text: str) -> tuple[LogicalLine, ...]:
    """The logical lines of a text, cached, since several answers to an editor need them.

    Args:
        text: the text, without a byte order mark.
    """
    return _LOGICAL_LINES.get(text, lambda: tuple(logical_lines(edited_tokens(Text("", text))[0])))


def _tokens(text: str) -> _Tokens | None:
    """The tokens of a text; None for one beyond the limits on size or on the number of messages."""
    words: list[Token] = []
    doubtful: list[tuple[Token, ...]] = []
    messages = 0
    for number, start, line in _lines(text):
        if len(line) <= MAX_CACHED:
            tokens, may_have_messages = _placed(line, start, number)
        else:
            tokens, may_have_messages = _at(_lexed(line), start, number)
        if may_have_messages:
            doubtful.append(tokens)
            readable, further = words_and_messages(tokens, Text("", text))
            messages += len(further)
            words += readable
        else:
            words += tokens
        if len(words) > size_limits.MAX_TOKENS or messages > size_limits.MAX_ERRORS:
            return None
    return _Tokens(tuple(words), tuple(doubtful))


def _lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Number, offset and text of each line, with its line end."""
    start = 0
    number = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield number, start, text[start:end]
        start = end
        number += 1


@lru_cache(maxsize=512)
def _placed(line: str, start: int, number: int) -> Lexed:
    """The tokens of a line at its place, which an edit of a later line does not change."""
    return _at(_cached_line(line), start, number)


@lru_cache(maxsize=1024)
def _cached_line(line: str) -> Lexed:
    """The tokens of a line by itself, cached."""
    return _lexed(line)


def _lexed(line: str) -> Lexed:
    """The tokens of a line by itself."""
    tokens = tuple(token for token in all_tokens(line) if token.type != "SPACE")
    illegal = any(token.type == "ILLEGAL" for token in tokens)
    return tokens, illegal or CONTROL.search(line.rstrip("\r\n")) is not None


def _at(lexed: Lexed, start: int, number: int) -> Lexed:
    """Tokens of a line by itself, at its place in a text."""
    tokens = tuple(_moved(token, start, number) for token in lexed[0])
    return tokens, lexed[1]


def _moved(t: Token, start: int, number: int) -> Token:
    """A token moved by a number of characters and of lines."""
    # a lexer gives every place; Token allows None for tokens that are made elsewhere
    assert t.start_pos is not None and t.line is not None
    assert t.end_pos is not None and t.end_line is not None
    first, last = t.start_pos + start, t.end_pos + start
    line, end_line = t.line + number, t.end_line + number
    return Token(t.type, t.value, first, line, t.column, end_line, t.end_column, last)
