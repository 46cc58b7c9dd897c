"""Text -> its tokens, and messages about characters that begin none."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import cache

from lark import Lark, Token
from lark.lexer import BasicLexer, LexerThread

from lawdsl.core.diagnostics import Diagnostic, Text
from lawdsl.language import parser_tables, size_limits
from lawdsl.language.ast_builder import Builder, span_of
from lawdsl.language.characters import illegal, unprintable


@cache
def grammar() -> Lark:
    """The parser made from `grammars/law.lark`."""
    return parser_tables.parser(Builder())


@cache
def lexer() -> BasicLexer:
    """The lexer of the grammar, which passes on what the parser ignores.

    `Lark.lex` builds a new one for each text, which takes longer than the lexing of most laws.
    """
    configuration = copy(grammar().lexer_conf)
    configuration.ignore = ()
    return BasicLexer(configuration)


def all_tokens(text: str) -> list[Token]:
    """All tokens of a text: also spaces, comments and line ends, and what no terminal matches."""
    return list(LexerThread.from_text(lexer(), text).lex(None))  # type: ignore[no-untyped-call]


def tokens_of(source: Text) -> tuple[list[Token], list[Diagnostic]]:
    """The words, comments and line ends of a file, and messages about what no terminal matches.

    Args:
        source: the file. Beyond the limits on its size, the rest is not read.
    """
    thread = LexerThread.from_text(lexer(), source.text)
    return words_and_messages(thread.lex(None), source)  # type: ignore[no-untyped-call]


def words_and_messages(
    tokens: Iterable[Token], source: Text
) -> tuple[list[Token], list[Diagnostic]]:
    """The tokens without spaces and without what a message covers, and the messages.

    No message depends on other lines, so that lines may be given one at a time.

    Args:
        tokens: of whole lines of a file. Beyond the limits on its size, the rest is not read.
        source: the file.
    """
    words: list[Token] = []
    diagnostics: list[Diagnostic] = []
    unreadable = 0  # offset up to which what stands there has its message
    reported: set[str] = set()  # characters that have theirs on this line
    for token in tokens:
        span = span_of(token)
        if token.type == "SPACE" or (span.start < unreadable and token.type != "NEWLINE"):
            continue
        if token.type == "ILLEGAL":
            beside = words and words[-1].type == "ILLEGAL" and words[-1].end_pos == span.start
            if not beside and token.value not in reported:
                diagnostic, unreadable = illegal(token, source)
                diagnostics.append(diagnostic)
                reported.add(token.value)
        elif token.type in ("STRING", "COMMENT"):
            diagnostics += unprintable(token, source)
        elif token.type == "NEWLINE":
            reported.clear()
        words.append(token)
        if len(words) > size_limits.MAX_TOKENS or len(diagnostics) > size_limits.MAX_ERRORS:
            break
    return words, diagnostics
