"""Several claims or conditions in one place, `0 < L < 10`, `L > E and L < 10`, `L in [0, 10]` -> a line each."""

from __future__ import annotations

from lark import Token

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.language.ast_builder import span_of
from lawdsl.language.foreign.spellings import Explanation, replacing
from lawdsl.language.keywords import KEYWORDS
from lawdsl.language.mistakes.expected_tokens import ParseFailure
from lawdsl.language.mistakes.loose_words import INFINITE, joined, split


def second_relation(p: ParseFailure) -> Explanation | None:
    """`require 0 < L <= 10 for N > 1`, `subject to 0 < x < 1`

    Args:
        p: the state of the parser.
    """
    relation = p.token.type == "RELATION" or p.token.value == "="
    if relation and any(word.type == "RELATION" for word in p.line[: p.position]):
        if p.line[0].value == "require" and p.token.value != "=":
            help, edits = _two_claims(p)
            return "L0201", "a claim makes one comparison", help, (p.token,), *edits
        if p.line[0].value == "subject" and p.bracket is None:
            help = "write them one after the other: `0 < x, x < 1`"
            return "L0201", "a constraint makes one comparison", help, (p.token,)
    return None


def _two_claims(p: ParseFailure) -> tuple[str, tuple[Edit, ...]]:
    """The claims that `0 < L <= 10 for N > 1` makes, as advice and as an edit."""
    relations = [i for i, word in enumerate(p.line) if word.type == "RELATION"]
    behind = p.line[p.position :]
    until = next(
        (p.position + i for i, word in enumerate(behind) if word.value == "for"), len(p.line)
    )
    first = next(i for i in relations if i < p.position)
    middle, premise = p.line[first + 1 : p.position], p.line[until:]
    made = [i for i in relations if i < until]
    formulas = not any(word.value in KEYWORDS or word.type == "STRING" for word in p.line[1:until])
    if len(made) != 2 or not middle or not formulas or "expect" in map(str, premise):
        return "write one claim per line: `require 0 < L`, `require L < 10`", ()
    texts = [p.line[1 : p.position], p.line[first + 1 : until]]
    claims = [f"require {joined([*text, *premise])}" for text in texts]
    edit = replacing(p.line, "\n".join(claims))
    return f"write one claim per line: `{claims[0]}`, `{claims[1]}`", (edit,)


def claimed_range(p: ParseFailure, subject: str) -> Explanation:
    """`require L in [0, 10]`

    Args:
        p: the state of the parser, at `in`.
        subject: what lies in the range.
    """
    message = "a range is two claims"
    words = p.line[p.position + 2 :]
    end = next((i for i, word in enumerate(words) if word.value in (")", "]")), len(words))
    ends = [joined(part) for part in split(words[:end], (",",))]
    plain = len(ends) == 2 and all(ends) and not any(text.lstrip("+-") in INFINITE for text in ends)
    if p.after is None or not plain or end == len(words):
        help = f"write two claims: `require {subject} >= 0`, `require {subject} <= 10`"
        return "L0201", message, help, (p.token,)
    low, high = (">" if p.after.value == "(" else ">="), ("<" if words[end].value == ")" else "<=")
    behind = words[end + 1 :]
    expectation = next((i for i, word in enumerate(behind) if word == "expect"), len(behind))
    premise = f" {joined(behind[:expectation])}" if behind[:expectation] else ""
    claims = [f"require {subject} {low} {ends[0]}", f"require {subject} {high} {ends[1]}"]
    help = f"write two claims: {', '.join(f'`{claim}{premise}`' for claim in claims)}"
    # two claims together are not expected to be what each of them is
    certain = not behind or (behind[0].value == "for" and expectation == len(behind))
    written = "\n".join(f"{claim}{premise}" for claim in claims)
    edits = (replacing(p.line, written),) if certain else ()
    return "L0201", message, help, (p.token,), *edits


def conjunction(p: ParseFailure) -> Explanation | None:
    """`require L > E and L < 10`, `for N > 1 and D > 1`

    Args:
        p: the state of the parser.
    """
    word = str(p.token)
    if word not in ("and", "or", "&"):
        return None
    if word == "or" and p.line[0].value != "require":
        help = "all conditions of a list hold together; write a smaller domain, or another file"
        return "L0201", "conditions have no `or`", help, (p.token,)
    if p.statement == "require" and any(w.type == "TREND" for w in p.line[: p.position]):
        help = "write a claim for each variable, a line each"
        return "L0201", "a trend is in one variable", help, (p.token,)
    separated = "COMMA" in p.accepted or "for" in p.line[: p.position]
    if p.line[0].value == "require" and not separated:
        help = "write one claim per line: `require L > 0`, `require L < 10`"
        if _compared_on_both_sides(p):
            place = Span(span_of(p.line[p.position - 1]).end, span_of(p.line[p.position + 1]).start)
            edit = Edit(place, "\nrequire ")
            return "L0201", f"unexpected `{word}`", help, (p.token,), edit
        return "L0201", f"unexpected `{word}`", help, (p.token,)
    edits: tuple[Edit, ...] = (
        (Edit(Span(span_of(p.before).end, span_of(p.token).end), ","),) if separated else ()
    )
    return "L0201", f"unexpected `{word}`", "separate conditions by a comma", (p.token,), *edits


def _compared_on_both_sides(p: ParseFailure) -> bool:
    """Whether `and` stands between claims that are comparisons, with no condition that both may have."""
    parts: list[list[Token]] = [[]]
    for word in p.line[1:]:
        if word.value in ("and", "&"):
            parts.append([])
        else:
            parts[-1].append(word)
    compared = all(sum(word.type == "RELATION" for word in part) == 1 for part in parts)
    return compared and not any(str(word) in KEYWORDS for word in p.line[1:] if word != "and")
