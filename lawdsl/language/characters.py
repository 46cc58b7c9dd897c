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

from lawdsl.core.diagnostics import Diagnostic, Edit, Span, Text
from lawdsl.language.foreign.characters import spelled
from lawdsl.language.keywords import GREEK, STATEMENTS

BYTE_ORDER_MARK = "\ufeff"
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
    "%": "comments begin with `#`; write 0.1 for 10 %",
    "$": "write formulas as plain text, without dollar signs",
    "≪": "the relations are <, <=, > and >=",
    "≫": "the relations are <, <=, > and >=",
    "≈": "the relations are <, <=, > and >=; a limit is `L -> E as N -> oo`",
    "∝": "write the factor as a parameter: `L = A*N^-alpha`",
    "≡": "an equation is written with `=`",
    "@": "write a matrix product as `sum(t[i, j]*r[j] for j)`",
    "~": "an equation is written with `=`",
    "?": "formulas have no `?`",
    "∀": "leave it out: a claim is about the whole domain; `for N > 1` restricts it",
}

NAMES = "names consist of the letters A to Z and a to z, digits, `_` and Greek letters"

WRITTEN = {
    "→": "->",
    "⟶": "->",
    "∈": "in",
    "½": "(1/2)",
    "⅓": "(1/3)",
    "¼": "(1/4)",
    "¾": "(3/4)",
    "≔": "=",
    "⩽": "<=",
    "⩾": ">=",
}
"""Characters -> how they are written, whatever stands around them."""

MINUS = "\u2212"  # what the superscript minus normalizes to
SUPERSCRIPT = re.compile("[⁻⁺⁰¹²³⁴⁵⁶⁷⁸⁹]+")
PRIMES = "'′’"
PRIME = re.compile(r"['′’](?:\s*\(|\s*[<>=])")

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
    if char in QUOTES and not PRIME.match(source.text, start):
        return _quote(char, start, source)
    span = Span(start, start + 1)
    message = f"unexpected {_character(char)}"
    hint, written = _instead(char)
    number, column = source.position(start)
    remedy = spelled(source.line(number), column - 1)
    if remedy is not None:
        offset = start - (column - 1)
        edits = tuple(Edit(Span(offset + a, offset + b), to) for a, b, to in remedy.edits)
        diagnostic = _diagnostic("L0101", message, source, span, remedy.help, edits)
        return diagnostic, offset + remedy.end
    run = SUPERSCRIPT.match(source.text, start)
    if run:  # all of N⁻¹², with one message
        span = Span(start, run.end())
        written = f"^{unicodedata.normalize('NFKC', run[0]).replace(MINUS, '-')}"
        hint = f"powers are written with `^`: write `{written}`"
    derivative = PRIME.match(source.text, start) if char in PRIMES else None
    if derivative:
        hint = "write derivatives as `∂L/∂N`"
    if char == ";":
        hint, written = _semicolon(source.line(number)[column:].strip())
    edits = () if written is None else (Edit(span, written),)
    diagnostic = _diagnostic("L0101", message, source, span, hint, edits)
    return diagnostic, span.end if run else 0


def _semicolon(rest: str) -> tuple[str, str | None]:
    """The advice about a semicolon, and what to write for it, by the rest of its line."""
    word = re.match(r"[A-Za-z_]\w*", rest)
    if not rest or rest.startswith("#"):
        return "leave it out: a line ends without a mark", ""
    if rest.startswith('"') or (word is not None and word[0] == "unit"):
        return "leave it out: no sign stands before the unit or the text", ""
    if word is not None and (word[0] in STATEMENTS or re.match(r"\w+\s*=(?!=)", rest)):
        return "leave it out: every statement has a line of its own", "\n"
    return HINTS[";"], None


def _quote(char: str, start: int, source: Text) -> tuple[Diagnostic, int]:
    """The message for a quote that is not `"`, and the offset behind the text in such quotes."""
    number, column = source.position(start)
    line = source.line(number)
    closing = max(line.rfind(quote) + 1 for quote in QUOTES)
    end = start + max(closing - (column - 1), 1)
    inner = line[column : closing - 1]
    edits: tuple[Edit, ...] = ()
    if closing > column and not any(quote in inner for quote in (*QUOTES, '"')):
        edits = (Edit(Span(start, start + 1), '"'), Edit(Span(end - 1, end), '"'))
    message, help = f"unexpected {_character(char)}", 'texts stand in double quotes, as "this"'
    return _diagnostic("L0101", message, source, Span(start, start + 1), help, edits), end


def _instead(char: str) -> tuple[str, str | None]:
    """The advice about a character, and what to write in its place where that is known."""
    if char in WRITTEN:
        return f"write `{WRITTEN[char]}`", WRITTEN[char]
    if char == "\r":
        return "end every line with LF or CR LF", None
    alike = char.translate(LOOKALIKES)
    normal = unicodedata.normalize("NFKC", char)
    plain = normal.isascii() and normal.strip() or normal in GREEK or normal == "∂"
    if alike == char and normal != char and plain:
        alike = normal
    if alike != char:
        return f"it looks like `{alike}`: type that", alike
    if normal == " ":
        return "use a plain space", " "
    return HINTS.get(char) or _by_category(unicodedata.category(char)), None


def _by_category(category: str) -> str:
    """The advice about any other character, by its general category in Unicode."""
    if category[0] in "LM":  # letters, and accents that are characters of their own
        return NAMES
    return "the operators are + - * / and ^" if category == "Sm" else "remove it"


def unprintable(token: Token, source: Text) -> Iterator[Diagnostic]:
    """The message for characters in a string or comment that could disguise its content.

    Args:
        token: the string or comment.
        source: the text of the file.
    """
    match = CONTROL.search(str(token.value))
    if match:
        offset = (token.start_pos or 0) + match.start()
        message = f"unexpected {_character(match[0])} in a text or comment"
        yield _diagnostic("L0101", message, source, Span(offset, offset + 1), "remove it")


def _character(char: str) -> str:
    if char.isascii() and char.isprintable():
        return f"`{char}`"
    return f"character U+{ord(char):04X} ({unicodedata.name(char, 'a control character')})"


def _diagnostic(
    code: str, message: str, source: Text, span: Span, help: str, edits: tuple[Edit, ...] = ()
) -> Diagnostic:
    return Diagnostic(code, message, text=source, span=span, help=help, edits=edits)
