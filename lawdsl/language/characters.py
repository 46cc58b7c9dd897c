"""Source text -> messages about characters that begin no token, or that could disguise the text.

Bidirectional and invisible control characters can make a file read differently from what it says
(Boucher and Anderson (2023), "Trojan Source: Invisible Vulnerabilities", USENIX Security Symposium,
arXiv:2111.00169).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from lark import Token

from lawdsl.core.diagnostics import Diagnostic, Span, Text

LOOKALIKES = str.maketrans(
    "аеорсухіјѕһԁԛԝАВЕКМНОРСТХ−–—×·⋅÷∕⁄＊", "aeopcyxijshdqwABEKMHOPCTX---***///*"
)

HINTS = {
    ";": "separate values by `,`; every statement has a line of its own",
    ":": "write a domain as `x > 0` or `x in [0, 1]`, and an equation with `=`",
    "&": "write a second condition after a comma",
    "|": "absolute values are written abs(x)",
    "!": "the relations are <, <=, > and >=",
    "≠": "the relations are <, <=, > and >=",
    "√": "roots are written sqrt(x)",
    "%": "comments begin with `#`",
    "→": "write `->`",
    "∈": "write `in`",
    "\\": "write formulas as plain text, not as LaTeX",
    "$": "write formulas as plain text, not as LaTeX",
}

QUOTES = "'`´“”„‟‘’‚«»"

CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def illegal(token: Token, source: Text) -> tuple[Diagnostic, int]:
    """The message for a character that begins no token, and the offset at which reading continues.

    Args:
        token: the token.
        source: the text of the file.
    """
    char = str(token.value)
    start = token.start_pos or 0
    if char == '"':
        number, column = source.position(start)
        end = start + len(source.line(number)) - (column - 1)
        message, help = "this text is never closed", 'close it with `"` on the same line'
        return _diagnostic("L0102", message, source, Span(start, end), help), end
    if char in QUOTES:
        number, column = source.position(start)
        line = source.line(number)
        closing = max(line.rfind(quote) + 1 for quote in QUOTES)
        end = start + max(closing - (column - 1), 1)
        message = f"{_character(char)} has no place in a law"
        help = 'texts stand in double quotes, as "this"'
        return _diagnostic("L0101", message, source, Span(start, start + 1), help), end
    hint = HINTS.get(char, "remove it")
    alike = char.translate(LOOKALIKES)
    normal = unicodedata.normalize("NFKC", char)
    if alike == char and normal != char and normal.isascii() and normal.strip():
        alike = normal
    if char == "\r":
        hint = "end every line with LF or CR LF"
    elif alike != char:
        hint = f"it looks like `{alike}`: type that"
    elif normal == " ":
        hint = "use a plain space"
    message = f"{_character(char)} has no place in a law"
    return _diagnostic("L0101", message, source, Span(start, start + 1), hint), 0


def unprintable(token: Token, source: Text) -> Iterator[Diagnostic]:
    """The message for characters in a string or comment that could disguise its content.

    Args:
        token: the string or comment.
        source: the text of the file.
    """
    match = CONTROL.search(str(token.value))
    if match:
        offset = (token.start_pos or 0) + match.start()
        message = f"{_character(match[0])} may not stand in a text or comment"
        yield _diagnostic("L0101", message, source, Span(offset, offset + 1), "remove it")


def _character(char: str) -> str:
    if char.isascii() and char.isprintable():
        return f"`{char}`"
    return f"the character U+{ord(char):04X} ({unicodedata.name(char, 'a control character')})"


def _diagnostic(code: str, message: str, source: Text, span: Span, help: str) -> Diagnostic:
    return Diagnostic(code, message, text=source, span=span, help=help)
