"""A syntax error in punctuation (quotes, commas, colons, `=`) -> how it is written here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from lark import Token

from lawdsl.core.diagnostics import Edit
from lawdsl.language.ast_builder import span_of
from lawdsl.language.foreign.spellings import Explanation, Reading, inserting, replacing
from lawdsl.language.mistakes.declaration_errors import TYPES, WHOLE
from lawdsl.language.mistakes.expected_tokens import ParseFailure
from lawdsl.language.mistakes.loose_words import joined


def _text_without_quotes(p: ParseFailure) -> Explanation | None:
    """`source our runs`"""
    if p.statement != "source" or p.position != 1 or p.token.type == "$END":
        return None
    rest = p.line[1:]
    if any(word.type == "STRING" for word in rest):
        return None
    edits: tuple[Edit, ...] = (
        inserting(span_of(rest[0]).start, '"'),
        inserting(span_of(rest[-1]).end, '"'),
    )
    help = 'write it in double quotes: `source "…"`'
    return "L0201", "the text of a source stands in quotes", help, (p.token,), *edits


def _quoted_name(p: ParseFailure) -> Explanation | None:
    """`extends "chinchilla"`, `unit "Gparam"`, `{"web", "code"}`"""
    text = str(p.token)[1:-1]
    if p.line[0].type == "KIND":
        return None  # the name of the section
    if p.token.type != "STRING" or "NAME" not in p.accepted or "STRING" in p.accepted:
        return None
    if not re.fullmatch(r"[A-Za-z_][\w./^*]*", text):
        return None
    what = "units stand" if p.before is not None and p.before.value == "unit" else "names stand"
    edits = [
        replacing((word,), str(word)[1:-1])
        for word in p.line[p.position :]
        if word.type == "STRING" and (word is p.token or p.bracket is not None)
    ]
    return "L0201", f"{what} without quotes", f"write `{text}`", (p.token,), *edits


def _trailing_comma(p: ParseFailure) -> Explanation | None:
    """`parameter A, B, > 0`, `L = E + A,`, `{4, 8,}`"""
    ends = (
        p.token.type in ("$END", "RELATION", "STRING") or p.token.value in "in unit ) ] }".split()
    )
    if p.before is not None and p.before.value == "," and ends and p.position > 1:
        number = p.after is not None and p.after.type == "NUMBER"
        name = next((str(w) for w in reversed(p.line[: p.position]) if w.type == "NAME"), "x")
        if p.token.type == "RELATION" and number and _has_domain(p.line[: p.position - 1]):
            written = f"{name} "
            help = f"repeat the name, `{name} {p.token} {p.after}`, or write `{name} in [0, 1]`"
            edit = inserting(span_of(p.token).start, written)
            return "L0201", "a second bound needs the name again", help, (p.token,), edit
        return (
            "L0201",
            "nothing follows this comma",
            "remove it",
            (p.before,),
            replacing((p.before,), ""),
        )
    ended = p.after is None or (p.after.line or 0) > (p.token.line or 0)
    if p.token.value == "," and ended and "COMMA" not in p.accepted:
        edit = replacing((p.token,), "")
        return "L0201", "nothing follows this comma", "remove it", (p.token,), edit
    return None


def _full_stop(p: ParseFailure) -> Explanation | None:
    """`L = E + A/N^alpha.`, with a unit or a text behind it or nothing"""
    dot, behind = (p.before, p.token) if p.token.value != "." else (p.token, p.after)
    ends = behind is None or behind.type in ("$END", "STRING") or behind.value == "unit"
    if dot is None or dot.value != "." or not ends:
        return None
    before = p.line[next(i for i, word in enumerate(p.line) if word is dot) - 1]
    if before is dot or before.type == "NUMBER":
        return None
    return "L0201", "unexpected `.`", "leave it out", (dot,), replacing((dot,), "")


def _has_domain(words: Sequence[Token]) -> bool:
    """Whether the last item of a list has a bound."""
    for word in reversed(words):
        if word.value == ",":
            return False
        if word.type == "RELATION":
            return True
    return False


def relation_spelling(p: ParseFailure) -> Explanation | None:
    """A relation or `=` as other languages have it: `N => 0`, `phase <> "end"`, `L <- E`, `L := E`.

    Args:
        p: the state of the parser.
    """
    for first, second, written, message in (
        ("=", ">", ">=", "`=>` is not a relation"),
        ("=", "<", "<=", "`=<` is not a relation"),
        ("<", ">", "!=", "`<>` is not a relation"),
        (">", "=", ">=", "the relation `>=` has a space inside"),
        ("<", "=", "<=", "the relation `<=` has a space inside"),
        (":", "=", "=", "an equation is written with `=`"),
        ("<", "-", "=", "an equation is written with `=`"),
    ):
        for pair in ((p.before, p.token), (p.token, p.after)):
            one, two = pair
            if one is None or two is None or (one.value, two.value) != (first, second):
                continue
            adjacent = one.end_pos == two.start_pos or written in ("<=", ">=")
            if not adjacent or (written == "=" and not _defines(p, one)):
                continue
            words = (one, two)
            return "L0201", message, f"write `{written}`", words, replacing(words, written)
    return None


def _defines(p: ParseFailure, sign: Token) -> bool:
    """Whether a sign stands where `=` does: behind the first name of a line or statement."""
    before = p.line[: next(i for i, word in enumerate(p.line) if word is sign)]
    return not any(word.value in ("=", "+", "*", "/") or word.type == "RELATION" for word in before)


def _equal_missing(p: ParseFailure) -> Explanation | None:
    """`setting k 6`, `fix E: 1.69`, `tie beta alpha`"""
    if set(p.accepted) - {"LSQB", "EQUAL"} or "EQUAL" not in p.accepted or p.before is None:
        return None
    signs = (":", "to", "at", "is", "as", "be")
    rest = p.line[p.position + (p.token.value in signs) :]
    name = "".join(str(word) for word in p.line[1 : p.position])
    if p.before.value != "]":
        name = str(p.before)
    depths = accumulate((w.value in ("(", "[")) - (w.value in (")", "]")) for w in rest)
    ends = (
        i
        for i, (w, depth) in enumerate(zip(rest, depths, strict=True))
        if w.value == "unit" or w.type == "STRING" or (w.value == "," and not depth)
    )
    value = joined(rest[: next(ends, len(rest))])
    example = f"`{name} = {value or '…'}`"
    if p.token.value == ":" and p.after is not None and str(p.after).lower() in (*TYPES, *WHOLE):
        edit = replacing((p.token, p.after), "")
        return "L0201", "numbers have no type here", "leave the type out", (p.token,), edit
    if p.token.value in signs:
        help = f"write {example}"
        return (
            "L0201",
            f"`=` is missing after `{name}`",
            help,
            (p.token,),
            replacing((p.token,), "="),
        )
    if p.token.type in ("NUMBER", "NAME") or p.token.value in ("-", "("):
        edit = inserting(span_of(p.token).start, "= ")
        return "L0201", f"`=` is missing after `{name}`", f"write {example}", (p.token,), edit
    if p.token.type == "RELATION" and p.statement in ("setting", "fix", "tie", "let"):
        help = f"a {p.statement} has a value: write `{p.before} = …`"
        return "L0201", f"`{p.token}` is not `=`", help, (p.token,)
    return None


def _decimal_comma(p: ParseFailure) -> Explanation | None:
    """`start alpha = 0,3`"""
    comma, number = p.before, p.token
    if p.token.value == "," and p.after is not None:
        comma, number = p.token, p.after
    if (
        comma is None
        or comma.value != ","
        or number.type != "NUMBER"
        or comma.end_pos != number.start_pos
    ):
        return None
    position = next(i for i, word in enumerate(p.line) if word is comma)
    whole = p.line[position - 1]
    if whole.type != "NUMBER" or whole.end_pos != comma.start_pos or "." in whole + number:
        return None
    words, groups = [whole, comma, number], p.line[position + 2 :]
    while (
        len(groups) > 1
        and groups[0].value == ","
        and groups[0].start_pos == words[-1].end_pos
        and len(groups[1]) == 3
    ):
        words, groups = [*words, *groups[:2]], groups[2:]
    if len(number) == 3 and 1 <= len(whole) <= 3 and whole != "0":
        written = "".join(str(w) for w in words if w.value != ",")
        if len(words) == 3:  # 1,500 is 1.5 in half of Europe
            readings = (written, f"{whole}.{number}")
            edits = (Reading(replacing(words, reading)) for reading in readings)
            help = f"did you mean `{readings[0]}`, or `{readings[1]}`?"
            return "L0201", "numbers have no comma", help, words, *edits
        return (
            "L0201",
            "numbers have no separators",
            f"write `{written}`",
            words[:3],
            replacing(words, written),
        )
    written = f"{whole}.{number}"
    message = "numbers have a decimal point, not a comma"
    return "L0201", message, f"write `{written}`", words[:3], replacing(words[:3], written)


def _colon(p: ParseFailure) -> Explanation | None:
    """`minimize: loss(N, D)`, `law: study`, `subject to: N < 3`"""
    behind_keyword = p.position == 1 or (
        p.position == 2 and p.before is not None and p.before.type == "TO"
    )
    if p.token.value != ":" or not behind_keyword or "COLON" in p.accepted:
        return None
    if p.line[0].type == "KIND" and p.after is not None and p.after.type == "STRING":
        message = f"the name of the {p.statement} is missing"
        help = f"write `{p.statement} NAME {p.after}`, without a colon"
        return "L0207", message, help, (p.token,)
    help = f"leave the colon out: `{' '.join(map(str, p.line[: p.position]))} …`"
    return "L0201", "a keyword stands without a colon", help, (p.token,), replacing((p.token,), "")


def _arguments(p: ParseFailure) -> Explanation | None:
    """`let tail(r) = C/r`, `let tail[r_] := C/r`"""
    if p.statement not in ("let", "setting") or p.before is None:
        return None
    values = [str(word) for word in p.line]
    opening = "(" if p.token.value == "(" else "["
    if opening not in values[:3] or p.token.value not in ("(", ":", ",", "="):
        return None
    closing = {"(": ")", "[": "]"}[opening]
    if closing not in values or "=" not in values:
        return None
    end, name = values.index(closing), values[1]
    if opening == "[" and not values[end - 1].endswith("_"):
        return None
    assigned = values.index("=")
    edit = replacing(p.line[1 : assigned + 1], f"{name} =")
    message = f"a `{p.statement}` has no arguments"
    return "L0201", message, f"write `{p.statement} {name} = …`", p.line[2 : end + 1], edit


PUNCTUATION_RULES: tuple[Callable[[ParseFailure], Explanation | None], ...] = (
    _colon,
    _text_without_quotes,
    _quoted_name,
    _arguments,
    relation_spelling,
    _decimal_comma,
    _trailing_comma,
    _full_stop,
    _equal_missing,
)
"""Tried before the general rules, the specific before the general."""
