"""Conditions of other languages, and `if … then … else …` made of conditions and formulas.

A condition is read as alternatives of comparisons that hold together; `and`, `or`, `not` and chains such
as `0.2 <= r < 0.6` become one `if` inside the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lawdsl.language.mistakes.whole_lines import MAX_CHARACTERS

OPENERS, CLOSERS = "([{", ")]}"
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
RELATION = re.compile(r"<=|>=|≤|≥|⩽|⩾|\\leq?\b|\\geq?\b|<(?![-=])|(?<!-)>")
SIGNS = {"≤": "<=", "≥": ">=", "⩽": "<=", "⩾": ">=", r"\le": "<=", r"\leq": "<=", r"\ge": ">="} | {
    r"\geq": ">="
}
ELSEWHERE = re.compile(r"(?i)\s*(?:otherwise|else(?:where)?|true|t|1|default|\.default|_|oth)\s*")
OR = re.compile(r"(?i)\bor\b|\|\|?|∨|\\lor\b")
AND = re.compile(r"(?i)\band\b|&&?|∧|\\land\b")

Comparison = tuple[str, str, str]
Condition = list[list[Comparison]]
"""Alternatives, of which one holds; all comparisons of an alternative hold together."""
Piece = tuple["Condition | None", str]


def closing(text: str, start: int) -> int:
    """Where the bracket closes that opens at a place of a text; the end of the text where none does.

    Args:
        text: the text.
        start: the place of the bracket.
    """
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in OPENERS) - (text[i] in CLOSERS)
        if not depth:
            return i
    return len(text)


def parts_of(text: str, sign: re.Pattern[str]) -> list[str]:
    """The parts of a text between the signs that stand outside of brackets.

    Args:
        text: the text.
        sign: what separates the parts.
    """
    parts, last, depth = [], 0, 0
    places = {match.start(): match.end() for match in sign.finditer(text)}
    for i, char in enumerate(text):
        if i in places and not depth and i >= last:
            parts.append(text[last:i])
            last = places[i]
        depth += (char in OPENERS) - (char in CLOSERS)
    return [*parts, text[last:]]


MAX_DEPTH = 8  # of conditions in conditions
COMMA, SEMICOLON, PLUS = re.compile(","), re.compile(r";|\\\\"), re.compile(r"(?<=[\w)\]])\s*[+-]")


def _bare(text: str) -> str:
    """A text without the brackets around all of it."""
    text = text.strip()
    while text[:1] and text[0] in OPENERS and closing(text, 0) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def condition_of(text: str, depth: int = 0) -> Condition | None:
    """The comparisons of a condition; None where it is made of something else.

    Args:
        text: the condition as another language writes it.
        depth: of the conditions that it stands in.
    """
    if depth > MAX_DEPTH:
        return None
    text = _bare(text)
    negated = re.fullmatch(r"(?:not\b|!|~)\s*(.+)", text)
    if negated:
        inner = condition_of(negated[1], depth + 1)
        if inner is None or len(inner) != 1 or len(inner[0]) != 1:
            return None
        left, sign, right = inner[0][0]
        return [[(left, OPPOSITE[sign], right)]]
    alternatives = parts_of(text, OR)
    if len(alternatives) > 1:
        read = [condition_of(part, depth + 1) for part in alternatives]
        return [each for part in read for each in part or []] if all(read) else None
    together = parts_of(text, AND)
    if len(together) > 1:
        read = [condition_of(part, depth + 1) for part in together]
        if any(part is None or len(part) != 1 for part in read):
            return None
        return [[each for part in read if part for each in part[0]]]
    between = re.fullmatch(r"(?:between|inrange)\(([^,]+),([^,]+),([^,]+)\)", text)
    if between:
        name, low, high = (part.strip() for part in between.groups())
        return [[(name, ">=", low), (name, "<=", high)]]
    operands = [part.strip() for part in parts_of(text, RELATION)]
    signs = [SIGNS.get(sign, sign) for sign in outside(text, RELATION)]
    if not 1 <= len(signs) <= 2 or not all(operands) or len(operands) != len(signs) + 1:
        return None
    found = [(operands[i], signs[i], operands[i + 1]) for i in range(len(signs))]
    return [[_name_first(each) for each in found] if len(found) > 1 else found]


def outside(text: str, sign: re.Pattern[str]) -> list[str]:
    """The signs of a text that stand outside of brackets.

    Args:
        text: the text.
        sign: the signs.
    """
    return [
        m[0]
        for m in sign.finditer(text)
        if sum(c in OPENERS for c in text[: m.start()])
        == sum(c in CLOSERS for c in text[: m.start()])
    ]


def _name_first(comparison: Comparison) -> Comparison:
    left, sign, right = comparison
    if re.match(r"[\d.]", left) and not re.match(r"[\d.]", right):
        return right, TURNED[sign], left
    return comparison


def _excluded(one: Comparison, other: Comparison) -> bool:
    """Whether one holds where the other does not, but perhaps where the two sides are equal."""
    left, sign, right = other
    turned = (right, TURNED[sign], left)
    return any(
        (one[0], one[2]) == (a, b) and one[1][0] == OPPOSITE[s][0] for a, s, b in (other, turned)
    )


def written(pieces: Sequence[Piece]) -> str | None:
    """`if … then … else …` of conditions and formulas; None where they may leave a place without one.

    Args:
        pieces: condition and formula of each part, that of the last None or what the others leave.
    """
    if len(pieces) < 2:
        return None
    failed: list[Comparison] = []
    texts: list[tuple[Condition, str]] = []
    for i, (condition, value) in enumerate(pieces):
        value = _bare(value)
        if condition is None:
            if i < len(pieces) - 1:
                return None
            rest: Condition = [[]]
        else:
            rest = [
                [c for c in together if not any(_excluded(c, f) for f in failed)]
                for together in condition
            ]
        if i == len(pieces) - 1:
            if rest != [[]]:
                return None
            return _nested(texts, value)
        texts.append((rest, value))
        if len(rest) == 1 and len(rest[0]) == 1:
            failed.append(rest[0][0])
    return None


def _nested(texts: Sequence[tuple[Condition, str]], last: str) -> str | None:
    """One formula; None where it becomes too long, since `and` writes what follows it twice."""
    formula = last
    for condition, value in reversed(texts):
        for together in reversed(condition):
            formula = _branch(together, value, formula)
            if len(formula) > MAX_CHARACTERS:
                return None
    return formula


def _branch(together: Sequence[Comparison], value: str, other: str) -> str:
    if not together:
        return value
    (left, sign, right), *more = together
    inner = _branch(more, value, other)
    if more:
        inner = f"({inner})"
    elif re.match(r"if\b", inner):
        inner = f"({inner})"
    return f"if {left} {sign} {right} then {inner} else {other}"
