"""Text of a `.law` file, in any state -> the classes of its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lark import Token

from lawdsl.highlighting.token_classes import CONSTANT_NAMES, FUNCTION_NAMES, OF_TERMINALS
from lawdsl.language.lexer import logical_lines
from lawdsl.language.parser import with_types
from lawdsl.language.tokens import all_tokens

_BEFORE_LAWS = ("KIND", "EXTENDS", "IS", "COLON")


@dataclass(frozen=True)
class ClassifiedToken:
    """A token: its place, in characters, and its class, a key of CLASSES."""

    start: int
    end: int
    kind: str


def classified(text: str) -> list[ClassifiedToken]:
    """The tokens of a text in their order; spaces and line ends have none.

    Nothing is raised for a text with mistakes. A byte order mark is no token.
    """
    tokens = [token for token in all_tokens(text) if token.type != "SPACE"]
    tokens = tokens[1:] if text.startswith("\ufeff") else tokens
    marked = [_classified(token, "comment") for token in tokens if token.type == "COMMENT"]
    for line in logical_lines(tokens):
        marked += _of_line(with_types(line.tokens))
    return sorted(marked, key=lambda token: token.start)


def _classified(token: Token, kind: str) -> ClassifiedToken:
    start = token.start_pos or 0
    return ClassifiedToken(start, start + len(token.value), kind)


def _of_line(tokens: Sequence[Token]) -> Iterator[ClassifiedToken]:
    laws = _law_names(tokens)
    in_unit = False
    for position, token in enumerate(tokens):
        before = tokens[position - 1].type if position else ""
        behind = tokens[position + 1].type if position + 1 < len(tokens) else ""
        in_unit = (in_unit or before == "UNIT") and token.type != "STRING"
        kind = OF_TERMINALS[token.type]
        if position in laws:
            kind = "law"
        elif token.type == "NAME":
            if in_unit:
                kind = "unit"
            elif before == "EXPECT":
                kind = "verdict"
            elif behind == "LPAR" and token.value in FUNCTION_NAMES:
                kind = "function"
            elif token.value in CONSTANT_NAMES:
                kind = "constant"
        yield _classified(token, kind)


def _law_names(tokens: Sequence[Token]) -> set[int]:
    """The positions of the tokens of laws' names: `law dcpt.l3`, `step first : mixing.step`."""
    types = [token.type for token in tokens]
    starts = [n + 1 for n, type in enumerate(types) if type in _BEFORE_LAWS]
    if types[:1] == ["STEP"] and types[2:3] != ["COLON"]:
        starts.append(1)
    positions: set[int] = set()
    for position in starts:
        while types[position : position + 1] == ["NAME"]:
            positions.add(position)
            if types[position + 1 : position + 3] != ["DOT", "NAME"]:
                break
            positions.add(position + 1)
            position += 2
    return positions
