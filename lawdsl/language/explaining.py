"""Why a line cannot be read, in the user's words."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from lark import Token

from lawdsl.diagnostics import Diagnostic, Text
from lawdsl.language.tree import Span
from lawdsl.language.words import KEYWORDS, STATEMENTS, nearest

LOOKALIKES = dict(
    zip("аеорсухіјѕһԁԛԝАВЕКМНОРСТХ−–—×·⋅÷＊", "aeopcyxijshdqwABEKMHOPCTX---***/*", strict=True)
)

EXPECTED = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text in quotes",
    "RELATION": "a relation (<, <=, >, >=)",
    "MINUS": "a formula",
    "LPAR": "a formula",
    "DEL": "a formula",
    "PLUS": "an operator",
    "STAR": "an operator",
    "SLASH": "an operator",
    "CIRCUMFLEX": "an operator",
    "EQUAL": "`=`",
    "TREND": "increasing, decreasing, convex or concave",
    "KIND": "`law`",
    "$END": "the end of the line",
}


def illegal(token: Token, source: Text) -> tuple[Diagnostic, int]:
    """The message for a character that no word begins with, and where reading goes on."""
    char = str(token.value)
    start = token.start_pos or 0
    if char == '"':
        number, _ = source.position(start)
        end = start + len(source.line(number)) - (source.position(start)[1] - 1)
        help = 'close it with `"` on the same line'
        message = "this text is never closed"
        return _at("L0102", message, source, Span(start, end), help=help), end
    if char == "\r":
        message, help = "a carriage return inside a line", "end lines with LF or CR LF"
        return _at("L0101", message, source, Span(start, start + 1), help=help), 0
    name = unicodedata.name(char, "no name")
    message = f"the character U+{ord(char):04X} ({name}) has no place in a law"
    alike = LOOKALIKES.get(char)
    normal = unicodedata.normalize("NFKC", char)
    if alike is None and normal != char and normal.isascii() and normal.strip():
        alike = normal
    help = f"it looks like `{alike}`: type that" if alike else "remove it"
    return _at("L0101", message, source, Span(start, start + 1), help=help), 0


def unexpected(
    token: Token, accepted: Mapping[str, str], line: Sequence[Token], source: Text
) -> Diagnostic:
    """The message for a word that cannot stand where it does: the first rule that fits.

    Args:
        token: the word; of type `$END` where the line ends too early.
        accepted: the terminals that could stand there, each with its spelling.
        line: all words of the logical line.
        source: the file.
    """
    at_end = token.type == "$END"
    at = len(line) if at_end else next(i for i, word in enumerate(line) if word is token)
    previous = line[at - 1] if at else None
    following = line[at + 1] if at + 1 < len(line) else None
    unknown = _unknown_statement(line) if at <= 1 else None
    if unknown:
        return _at("L0205", f"`{line[0]}` begins no statement", source, line[0], help=unknown)
    if at_end:
        message = f"the line ends too early, after `{line[-1]}`"
        return _at("L0207", message, source, line[-1], help=f"{_expected(accepted)} must follow")
    if token.value in KEYWORDS and "NAME" in accepted:
        message = f"`{token}` is a word of the language and cannot be a name"
        return _at("L0206", message, source, token, help="choose another name")
    for sign, code, message, help in _DOUBLED:
        for pair in ((previous, token), (token, following)):
            if all(word is not None and word.value == sign for word in pair):
                return _at(code, message, source, *pair, help=help)
    if previous is not None and _multiplies(previous, token):
        message = f"an operator is missing between `{previous}` and `{token}`"
        help = f"write `{previous}*{token}` for a product"
        return _at("L0203", message, source, previous, token, help=help)
    message = f"`{token}` cannot stand here"
    if token.value == ".":
        return _at("L0201", message, source, token, help="write numbers as 0.5 or 1.0")
    return _at("L0201", message, source, token, help=f"expected {_expected(accepted)}")


_DOUBLED = (
    ("*", "L0204", "powers are written with `^`", "write `^`"),
    ("=", "L0209", "equality is written `=`", "write one `=`"),
)


def _unknown_statement(line: Sequence[Token]) -> str | None:
    """What to do where the line's first word is no keyword, and no equation follows it."""
    first = line[0]
    if first.type != "NAME" or (len(line) > 1 and line[1].value == "="):
        return None
    alike = nearest(str(first), STATEMENTS)
    if alike:
        return f"did you mean `{alike}`?"
    return f"begin with {_listed(STATEMENTS[3:-2])}, or write `NAME = formula`"


def _multiplies(previous: Token, token: Token) -> bool:
    ends = previous.type in ("NAME", "NUMBER") or previous.value == ")"
    begins = token.type in ("NAME", "NUMBER", "DEL") or token.value == "("
    return ends and begins


def _expected(accepted: Mapping[str, str]) -> str:
    words = {EXPECTED.get(name, spelling) for name, spelling in accepted.items()}
    if "a formula" in words:
        words -= {"a name", "a number", "`(`"}
    return _listed(sorted(words, key=lambda w: (w.startswith("`"), w)))


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _at(code: str, message: str, source: Text, *words: Any, help: str) -> Diagnostic:
    """A diagnostic whose span reaches over all the words (or is the span given)."""
    spans = [w if isinstance(w, Span) else Span(w.start_pos, w.end_pos) for w in words]
    span = Span(min(s.start for s in spans), max(s.end for s in spans))
    return Diagnostic(code, message, text=source, span=span, help=help)
