"""Spellings of other languages and of mathematics at a syntax error -> how they are written here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from lark import Token

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.core.units import known
from lawdsl.language.ast_builder import span_of
from lawdsl.language.expected_tokens import ParseFailure
from lawdsl.language.keywords import KEYWORDS, TRENDS

Explanation = tuple[Any, ...]
"""Code, message, help, the tokens to point at, and the edits that do what the help says."""

DIFFERENTIAL = re.compile(r"d[A-Za-z_]\w*")
DIGITS = re.compile(r"(?:_[0-9]{3})+")
FILLERS = ("monotone", "monotonically", "monotonic", "strictly", "always", "nonstrictly", "weakly")
PREPOSITIONS = ("with", "wrt", "of", "on", "over", "for")
SUMS = ("Σ", "∑", "Sigma", "sum", "prod")


def replacing(tokens: Sequence[Token], text: str) -> Edit:
    """The edit that writes a text in the place of tokens, and of what stands between them."""
    return Edit(span_of(tuple(tokens)), text)


def closing_bracket(line: Sequence[Token], position: int) -> Token | None:
    """The token that closes the bracket at a position of a line; None where there is none."""
    depth = 0
    for token in line[position:]:
        if token.value in ("(", "[", "{"):
            depth += 1
        elif token.value in (")", "]", "}"):
            depth -= 1
        if not depth:
            return token if token.value == {"[": "]", "{": "}"}.get(line[position]) else None
    return None


def second_claim(p: ParseFailure) -> tuple[Edit, ...]:
    """The edit that makes two claims of `0 < L < 10`; none where more than formulas stand there."""
    relations = [i for i, word in enumerate(p.line) if word.type == "RELATION"]
    if len(relations) != 2 or any(str(word) in KEYWORDS for word in p.line[1:]):
        return ()
    middle = p.line[relations[0] + 1 : relations[1]]
    if not middle:
        return ()
    again = " ".join(str(word) for word in middle)
    place = Span(span_of(middle[-1]).end, span_of(middle[-1]).end)
    return (Edit(place, f"\nrequire {again}"),)


def _unit_without_keyword(p: ParseFailure) -> Explanation | None:
    """`L = E + A/N^alpha nat/token`"""
    is_unit = p.token.type == "NAME" and known(str(p.token))
    if not is_unit or p.before is None or p.line[0].value in ("require", "minimize", "start"):
        return None
    behind = [word for word in p.line[p.position :] if word.type != "STRING"]
    written = "".join(str(word) for word in behind)
    message = "a unit stands behind the word `unit`"
    edit = replacing((p.token,), f"unit {p.token}")
    return "L0203", message, f"write `unit {written}`", (p.token,), edit


def _leibniz(p: ParseFailure) -> Explanation | None:
    """`d/dN L`"""
    if p.position < 3 or p.token.type != "NAME" or p.before is None:
        return None
    d, slash, below = p.line[p.position - 3 : p.position]
    if d.value != "d" or slash.value != "/" or not DIFFERENTIAL.fullmatch(str(below)):
        return None
    written = f"∂{p.token}/∂{below[1:]}"
    words = (d, p.token)
    return (
        "L0203",
        f"a derivative is written `{written}`",
        f"write `{written}`, or `diff({p.token}, {below[1:]})`",
        words,
        replacing(words, written),
    )


def _conditional(p: ParseFailure) -> Explanation | None:
    if p.token.value in ("else", "elif", "when") and p.before is not None:
        help = "write a piecewise formula as `if r > 0.1 then … else …`"
        return "L0203", f"`{p.token}` cannot stand here", help, (p.token,)
    return None


def _grouped_digits(p: ParseFailure) -> Explanation | None:
    """`1_000_000`"""
    before = p.before
    if before is None or before.type != "NUMBER" or not DIGITS.fullmatch(str(p.token)):
        return None
    written = f"{before}{str(p.token).replace('_', '')}"
    words = (before, p.token)
    return (
        "L0203",
        "numbers have no separators",
        f"write `{written}`",
        words,
        replacing(words, written),
    )


def _negation(p: ParseFailure) -> Explanation | None:
    if p.before is not None and p.before.value == "not":
        help = "write the opposite relation: `L <= 3` for `not L > 3`"
        return "L0203", "there is no negation", help, (p.before,)
    return None


def _limit(p: ParseFailure) -> Explanation | None:
    """`lim L = E as N -> oo`"""
    if p.before is not None and p.before.value in ("lim", "limit"):
        help = f"write a limit as `{p.token} -> E as N -> oo`"
        return "L0203", f"a limit has no `{p.before}`", help, (p.before,)
    return None


def _sum_sign(p: ParseFailure) -> Explanation | None:
    if p.before is not None and p.before.value in SUMS and p.token.value != "(":
        help = "write `sum(a[j]*x[j] for j)`, with an index j that is declared"
        return "L0203", f"`{p.before}` is written as a function", help, (p.before,)
    return None


def _filler(p: ParseFailure) -> Explanation | None:
    """`L monotonically decreasing in N`, `L is strictly decreasing in N`"""
    if p.token.type == "TREND" and p.position > 2 and str(p.before).lower() in FILLERS:
        words = p.line[p.position - 2 : p.position + 1]
        if words[0].value == "is":
            edit = replacing(words, str(p.token))
            message = "behind `is` stands the name of a law"
            return "L0201", message, f"write `L {p.token}`: it is strict", tuple(words), edit
    if str(p.token).lower() not in FILLERS or p.after is None:
        return None
    help = f"leave it out: `{p.after}` is strict"
    if p.after.value not in TRENDS:
        help = "leave it out"
    edit = replacing((p.token, p.after), str(p.after))
    return "L0203", f"`{p.token}` has no place in a claim", help, (p.token,), edit


def _preposition(p: ParseFailure) -> Explanation | None:
    """`L decreasing with N`"""
    if p.token.value in PREPOSITIONS and p.before is not None and p.before.type == "TREND":
        help = f"write `{p.before} in {p.after or 'N'}`"
        edit = replacing((p.token,), "in")
        return "L0201", f"`{p.token}` cannot stand here", help, (p.token,), edit
    return None


def _verb(p: ParseFailure) -> Explanation | None:
    """`L decreases in N`, `L increases with N`"""
    alike = {t[:7]: t for t in TRENDS}.get(str(p.token)[:7])
    verbs = ("increases", "decreases", "increase", "decrease")
    if p.token.type != "NAME" or str(p.token) not in verbs or alike is None:
        return None
    edits = [replacing((p.token,), alike)]
    if p.after is not None and p.after.value in PREPOSITIONS:
        edits.append(replacing((p.after,), "in"))
    help = f"write `{alike} in N`"
    return "L0201", f"`{p.token}` cannot stand here", help, (p.token,), *edits


def _lambda(p: ParseFailure) -> Explanation | None:
    """`f = lambda N: E + A/N`"""
    if p.before is not None and p.before.value == "lambda" and p.token.type == "NAME":
        help = "write the formula alone: `L = E + A/N^alpha`"
        return "L0203", "a law is no Python function", help, (p.before,)
    return None


def _keyword_in_formula(p: ParseFailure) -> Explanation | None:
    """A statement that begins in the line of another one."""
    if p.token.value in KEYWORDS or p.before is None or p.after is None:
        return None
    if p.token.value in ("where", "with", "subject", "such", "st") and "STAR" in p.accepted:
        help = "give a part a name on a line of its own, `let x = …`; a domain stands where the name is declared"
        return "L0203", f"`{p.token}` cannot stand behind a formula", help, (p.token,)
    return None


FOREIGN_RULES: tuple[Callable[[ParseFailure], Explanation | None], ...] = (
    _unit_without_keyword,
    _leibniz,
    _conditional,
    _grouped_digits,
    _negation,
    _limit,
    _sum_sign,
    _filler,
    _verb,
    _preposition,
    _lambda,
    _keyword_in_formula,
)
"""Tried before it is said that an operator is missing, the specific before the general."""
