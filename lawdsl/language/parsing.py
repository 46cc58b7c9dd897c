"""Text -> syntax tree. Every mistake of a file is found in one run.

The text is split into words once, the words into logical lines, and each line is parsed by
itself with the grammar's rule `statement`; a line that does not parse costs that line alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.lexer import TerminalDef

from lawdsl.diagnostics import Diagnostic, Text
from lawdsl.language import limits
from lawdsl.language.building import Builder
from lawdsl.language.explaining import illegal, unexpected
from lawdsl.language.layout import LogicalLine, logical_lines
from lawdsl.language.tree import Document, Line, Name, Number, Span, Statement, children, walk
from lawdsl.language.words import LATER, ascii_name


@cache
def grammar() -> Lark:
    """The parser made from `grammars/law.lark`.

    Never `cache=True`: that would unpickle a file with a guessable name.
    """
    with as_file(files("lawdsl.grammars") / "law.lark") as path:
        return Lark(
            path.read_text(encoding="utf-8"),
            parser="lalr",
            lexer="basic",
            start="statement",
            transformer=Builder(),
            maybe_placeholders=True,
        )


def parse(text: str, name: str = "<text>") -> tuple[Document, list[Diagnostic]]:
    """Parse a `.law` file.

    Args:
        text: the file's text; a byte order mark is dropped.
        name: under which the file is shown in messages.

    Returns:
        The statements that could be read, and a diagnostic for each mistake.
    """
    source = Text(name, text.removeprefix("\ufeff"))
    if len(source.text.encode("utf-8", "surrogatepass")) > limits.BYTES:
        return Document(()), [
            Diagnostic("L0103", "the file is larger than 1 MiB", text=source)
        ]
    tokens, diagnostics = _words(source)
    lines = []
    lost: set[str] = set()
    for line in logical_lines(tokens):
        statement = None
        if line.tokens:
            statement, found = _statement(line, source)
            diagnostics += found
            if statement is None:
                lost |= {ascii_name(word) for word in line.tokens if word.type == "NAME"}
        lines.append(Line(statement, line.above, line.behind, line.gap))
    return Document(tuple(lines), frozenset(lost)), diagnostics


def _words(source: Text) -> tuple[list[Token], list[Diagnostic]]:
    """The file's words, comments and line ends; what no terminal matches becomes a message."""
    words: list[Token] = []
    diagnostics: list[Diagnostic] = []
    unreadable = 0  # offset up to which a broken string has swallowed the line
    for count, token in enumerate(grammar().lex(source.text, dont_ignore=True)):
        span = Span(token.start_pos, token.end_pos)
        if count >= limits.TOKENS:
            message = f"the file has more than {limits.TOKENS:,} words"
            return [], [Diagnostic("L0103", message, text=source, span=span)]
        if token.type == "SPACE" or (span.start < unreadable and token.type != "NEWLINE"):
            continue
        if token.type == "ILLEGAL":
            found, unreadable = illegal(token, source)
            diagnostics.append(found)
        words.append(token)
    return words, diagnostics


def _statement(line: LogicalLine, source: Text) -> tuple[Statement | None, list[Diagnostic]]:
    """One logical line parsed, or the reason why it cannot be."""
    first = line.tokens[0]
    if any(token.type == "ILLEGAL" for token in line.tokens):
        return None, []  # the character has its message; what it spoils needs no second one
    if first.value in LATER:
        span = Span(first.start_pos, first.end_pos)
        message = f"`{first.value}` is reserved for a later version of the language"
        help = "remove this line"
        return None, [Diagnostic("L0211", message, text=source, span=span, help=help)]
    if line.broken is not None:
        return None, [line.broken.to_diagnostic(source)]
    parser = grammar().parse_interactive(start="statement")
    previous: Token | None = None
    try:
        for token in line.tokens:
            parser.feed_token(token)
            previous = token
        tree: Any = parser.feed_eof(line.tokens[-1])
    except UnexpectedToken as error:
        known = {t.name: _spelling(t) for t in grammar().terminals}
        accepted = {name: known.get(name, name) for name in _accepted(line, previous)}
        return None, [unexpected(error.token, accepted, line.tokens, source)]
    found = list(_oversized(tree, source))
    return (None if any(d.severity == "error" for d in found) else tree), found


def _accepted(line: LogicalLine, last: Token | None) -> set[str]:
    """The terminals that may follow the words up to `last`."""
    parser = grammar().parse_interactive(start="statement")
    for token in line.tokens if last is not None else ():
        parser.feed_token(token)
        if token is last:
            break
    return parser.accepts()


def _spelling(terminal: TerminalDef) -> str:
    return f"`{terminal.pattern.value}`".replace("\\", "")


def _oversized(statement: Statement, source: Text) -> Iterator[Diagnostic]:
    """The limits that a single statement can break."""
    for node, depth in _with_depth(statement):
        if depth > limits.DEPTH:
            message = f"this is nested more than {limits.DEPTH} deep"
            help = "name a part of the formula with `let`"
            yield Diagnostic("L0104", message, text=source, span=node.span, help=help)
            return
    for count, node in enumerate(walk(statement)):
        if count > limits.NODES:
            message = f"the statement has more than {limits.NODES:,} parts"
            yield Diagnostic("L0105", message, text=source, span=statement.span)
            return
        if isinstance(node, Number):
            yield from _number(node, source)
        elif isinstance(node, Name) and len(node.text) > limits.NAME:
            yield long_name(node.span, source)


def long_name(span: Span, source: Text) -> Diagnostic:
    """The message for a name over the limit, wherever it stands."""
    message = f"this name is longer than {limits.NAME} characters"
    return Diagnostic("L0108", message, text=source, span=span, help="shorten it")


def _number(node: Number, source: Text) -> Iterator[Diagnostic]:
    mantissa = node.text.lower().partition("e")[0]
    digits = mantissa.replace(".", "").lstrip("0")
    if len(digits) > limits.DIGITS:
        message = f"a number has at most {limits.DIGITS} digits"
        help = "write large numbers with an exponent, as 1e20"
        yield Diagnostic("L0106", message, text=source, span=node.span, help=help)
        return
    value = float(node.text)
    if value == float("inf"):
        message = "this number is larger than any that can be computed with (1.8e308)"
        yield Diagnostic("L0106", message, text=source, span=node.span)
    elif value == 0 and digits:
        message = "this number is so small that it becomes 0"
        yield Diagnostic("L0107", message, "warning", text=source, span=node.span)


def _with_depth(statement: Statement) -> Iterator[tuple[Any, int]]:
    stack: list[tuple[Any, int]] = [(statement, 0)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        if depth <= limits.DEPTH:
            stack.extend((child, depth + 1) for child in children(node))
