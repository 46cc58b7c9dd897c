"""Values of conditions on rows that are texts without quotes: `where model != 0.64M`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lark import Token

from lawdsl.core.diagnostics import Edit
from lawdsl.language.ast_builder import span_of
from lawdsl.language.mistakes.expected_tokens import ParseFailure

EQUALITIES = ("=", "!=", "==", "≠")


def text_in_condition(p: ParseFailure) -> tuple[Any, ...] | None:
    """`where model != 0.64M`, `where phase = 2nd`: a text, which a number would never equal."""
    if p.statement != "step" or p.before is None:
        return None
    first = p.position
    while first and _adjacent(p.line, first - 1):
        first -= 1
    before = p.line[:first]
    if not before or str(before[-1]) not in EQUALITIES or "where" not in map(str, before):
        return None
    if "at" in map(str, before):
        return None  # what the point of a step is
    last = p.position
    while last + 1 < len(p.line) and _adjacent(p.line, last):
        last += 1
    words = p.line[first : last + 1]
    if len(words) < 2:
        return None
    written = '"' + "".join(map(str, words)) + '"'
    edit = Edit(span_of(tuple(words)), written)
    return "L0203", "a text stands in quotes", f"write `{written}`", tuple(words), edit


def _adjacent(line: Sequence[Token], position: int) -> bool:
    """Whether the word behind a position follows without a space."""
    here, behind = line[position], line[position + 1]
    parts = all(word.type in ("NAME", "NUMBER") or word.value in "-." for word in (here, behind))
    return parts and bool(here.end_pos == behind.start_pos)
