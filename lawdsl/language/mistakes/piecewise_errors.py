"""Parser state at a mistake in a piecewise formula -> how `if … then … else …` is written."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.language.ast_builder import span_of
from lawdsl.language.foreign.spellings import Explanation, replacing
from lawdsl.language.mistakes.expected_tokens import BOUNDS, ParseFailure
from lawdsl.language.mistakes.loose_words import index_of, joined, split

FORM = "`if r > 0.1 then … else …`"
OPENERS, CLOSERS = ("(", "[", "{"), (")", "]", "}")
BEHIND = ("unit", "expect", "finite", "for", "as", "is", "->", "in", ",")
"""What stands behind a formula."""


def piecewise(p: ParseFailure) -> Explanation | None:
    """The explanation of a mistake in a piecewise formula; None where it is none."""
    if p.token.type == "IF" and p.statement == "require" and {"FOR", "AS"} & set(p.accepted):
        if not any(word.value == "else" for word in p.line[p.position :]):
            return None  # a condition of the claim, `require L > 0 if N > 1`
    if p.token.type == "IF" and "IF" not in p.accepted:
        return _behind_a_formula(p) if "STAR" in p.accepted else _inside(p)
    if p.token.value in ("elif", "elseif") and p.before is not None:
        edit = replacing((p.token,), "else if")
        return "L0203", f"`{p.token}` cannot stand here", "write `else if`", (p.token,), edit
    if p.token.type in ("THEN", "ELSE") and "NUMBER" in p.accepted:
        message = f"a formula is missing before `{p.token}`"
        return "L0203", message, f"write {FORM}", (p.token,)
    if "THEN" in p.accepted:
        return _in_condition(p)
    if "ELSE" in p.accepted and p.token.type not in ("NAME", "NUMBER", "IF", "THEN", "LPAR"):
        opener = next((t for t in reversed(p.line[: p.position]) if t.type == "IF"), p.line[-1])
        if p.statement == "require" and opener is p.line[1]:
            return _two_claims(p)
        help = "add `else` and the formula that holds elsewhere"
        return "L0203", "this `if` has no `else`", help, (opener,)
    return None


COMPLEMENT = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "≤": ">", "≥": "<"}


def _two_claims(p: ParseFailure) -> Explanation:
    """`require if N > 1 then L > 0 else L > 1`"""
    message = "the conditions of a claim follow it"
    help = "write one claim per line: `require L > 0 for N > 1`, `require L > 1 for N <= 1`"
    words = p.line[2:]
    then, otherwise = index_of(words, ("then",)), index_of(words, ("else",))
    condition, first = words[:then], words[then + 1 : otherwise]
    second = words[otherwise + 1 :]
    plain = not any(word.value in ("if", "for", "expect") for word in words)
    sides = split(condition, BOUNDS)
    if not (
        plain
        and first
        and second
        and len(sides) == 2
        and [w.type for w in sides[0]] == ["NAME"]
        and sides[1]
    ):
        return "L0206", message, help, (p.line[1],)
    name, relation, bound = condition[0], str(condition[1]), joined(sides[1])
    claims = (
        f"{joined(first)} for {name} {relation} {bound}",
        f"{joined(second)} for {name} {COMPLEMENT[relation]} {bound}",
    )
    help = "write one claim per line: " + ", ".join(f"`require {claim}`" for claim in claims)
    return "L0206", message, help, (p.line[1],), replacing(p.line[1:], "\nrequire ".join(claims))


EQUALITIES = ("===", "==", "!=", "~=", "<>", "=")


def equality_in_condition(p: ParseFailure) -> Explanation | None:
    """`if r == r0 then a else b`, `if r != r0 then …`, `require L > 0 for r = r0`"""
    start = next((i for i in range(p.position - 1, -1, -1) if p.line[i] in ("if", "for")), None)
    if start is None or any(word.value in ("then", "else") for word in p.line[start : p.position]):
        return None
    if p.line[start].value == "for" and (p.statement != "require" or p.bracket is not None):
        return None
    ends = (
        i for i, w in enumerate(p.line) if i > start and w.value in ("then", ",", ":", "expect")
    )
    words = p.line[start + 1 : next(ends, len(p.line))]
    signs = [w for w in words if w.type in ("RELATION", "UNEQUAL") or w.value in ("=", "!", "~")]
    sign = "".join(map(str, signs))
    if sign not in EQUALITIES or not any(w is p.token or w is p.before for w in signs):
        return None
    left = joined(words[: words.index(signs[0])])
    right = joined(words[len(words) - 1 - words[::-1].index(signs[-1]) + 1 :])
    message = "a condition cannot test equality"
    help = "its relation is <, <=, > or >="
    if left and right:
        help += f": write `{left} <= {right}` or `{left} >= {right}`"
    return "L0203", message, help, tuple(signs)


def _behind_a_formula(p: ParseFailure) -> Explanation:
    """`a if r > 0.1 else b`"""
    message, help = "the condition stands before the formulas", f"write {FORM}"
    first, condition = _formula_before(p), _condition(p)
    if not first or not condition:
        return "L0203", message, help, (p.token,)
    start = Span(span_of(first[0]).start, span_of(first[0]).start)
    dropped = Span(span_of(first[-1]).end, span_of(condition[-1]).end)
    edits = Edit(start, f"if {_text(condition)} then "), Edit(dropped, "")
    return "L0203", message, help, (p.token,), *edits


def _text(words: Sequence[Token]) -> str:
    """Tokens as they are written, with one space where there is any between them."""
    text, end = "", words[0].start_pos if words else None
    for word in words:
        text += (" " if word.start_pos != end else "") + str(word)
        end = word.end_pos
    return text


def _formula_before(p: ParseFailure) -> tuple[Token, ...]:
    """The tokens of the formula that ends before the unexpected one."""
    depth, start = 0, p.position
    while start > 0:
        word = str(p.line[start - 1])
        if word in CLOSERS:
            depth += 1
        elif word in OPENERS:
            if not depth:
                break
            depth -= 1
        elif not depth and (word in ("=", ",", "else", "then", p.line[0]) and word != "*"):
            break
        start -= 1
    return tuple(p.line[start : p.position])


def _condition(p: ParseFailure) -> tuple[Token, ...]:
    """The tokens between the unexpected `if` and its `else`; none where these are no relation."""
    words: list[Token] = []
    depth = 0
    for word in p.line[p.position + 1 :]:
        if word.value == "else" and not depth:
            relations = sum(each.type == "RELATION" for each in words)
            return tuple(words) if relations == 1 else ()
        depth += (str(word) in OPENERS) - (str(word) in CLOSERS)
        words.append(word)
    return ()


def _inside(p: ParseFailure) -> Explanation | None:
    """`E + if r > 0.1 then a else b`"""
    if "LPAR" not in p.accepted or "NUMBER" not in p.accepted:
        return None  # as a name that is declared
    depth, last = 0, p.token
    for word in p.line[p.position :]:
        depth += (str(word) in OPENERS) - (str(word) in CLOSERS)
        if depth < 0 or (not depth and (str(word) in BEHIND or word.type == "STRING")):
            break
        last = word
    start, end = span_of(p.token).start, span_of(last).end
    edits = Edit(Span(start, start), "("), Edit(Span(end, end), ")")
    message, help = "inside a formula a piecewise one stands in brackets", "write `(if … else …)`"
    return "L0203", message, help, (p.token,), *edits


def _in_condition(p: ParseFailure) -> Explanation | None:
    """`if 0 < r < 1 then …`, `if r > 0.1 and D > 1 then …`, `if r = 0 then …`"""
    chained = p.token.type == "RELATION"
    if chained or p.token.value in ("and", "or"):
        help = "put one inside the other: `if a < b then (if b < c then … else …) else …`"
        return "L0203", "a condition makes one comparison", help, (p.token,)
    if p.token.value in (":", "?", ","):
        edit = replacing((p.token,), " then")
        return "L0203", f"`{p.token}` cannot stand here", f"write {FORM}", (p.token,), edit
    return None
