"""Signs and brackets that a formula leaves out, `2 N`, `A/2N`, `log 2N`, `A//N` -> how they are written.

Where other languages and people read them in several ways there is an edit for each reading, and a
person chooses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lark import Token

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.language.ast_builder import span_of
from lawdsl.language.foreign.functions import FORMULAS
from lawdsl.language.foreign.spellings import (
    Explanation,
    Reading,
    closing_bracket,
    replacing,
)
from lawdsl.language.keywords import FUNCTIONS, KEYWORDS, ORDERS, ascii_name, function_named
from lawdsl.language.mistakes.expected_tokens import ParseFailure
from lawdsl.language.mistakes.loose_words import joined
from lawdsl.language.mistakes.whole_lines import DECLARED

OPENING, CLOSING = ("(", "[", "{"), (")", "]", "}")
DIGITS_OF_A_GROUP = 3
OPERATORS = ("mod", "div", "rem", "xor", "MOD", "DIV")
AFTER_FORMULA = ("unit", "for", "expect", "as", "then", "else", "finite", "is", "->")
AFTER_FORMULA_TYPES = ("STRING", "RELATION", "TREND")
STRING_OR_COMMENT = re.compile(r'"[^"\n]*"|(?:#|//)[^\n]*')
UNIT = re.compile(r"\bunit\b[^\n]*")


@dataclass(frozen=True)
class Factor:
    """A factor of a term: tokens `start` to `end` of its line.

    Attributes:
        sign: `*` or `/` before it; empty where none is written.
        start: its first token.
        end: the token behind it.
    """

    sign: str
    start: int
    end: int


def operator_missing(p: ParseFailure) -> Explanation | None:
    """Two factors without a sign between: `2 N`, `A/2N`, `N^2D`, `3 000`.

    Args:
        p: the state of the parser.
    """
    before, token = p.before, p.token
    if before is None or "STAR" not in p.accepted or not _begins_factor(token):
        return None
    message = f"an operator is missing between `{before}` and `{token}`"
    words = (before, token)
    for rule in (_unfinished_exponent, _operator_in_words, _other_function):
        if (explanation := rule(p)) is not None:
            return explanation
    place = Span(span_of(before).end, span_of(token).start)
    if before.type == token.type == "NUMBER":
        readings = [f"{before}*{token}"]
        if len(token) == DIGITS_OF_A_GROUP and token.isdigit() and before.isdigit():
            readings.insert(0, f"{before}{token}")
        return "L0203", message, *_asked(words, readings)
    factors = factors_around(p.line, p.position)
    at = next((k for k, factor in enumerate(factors) if factor.start == p.position), None)
    if at is None:
        divided = any(word.value == "/" for word in p.line[: p.position])
        edits = () if divided else (Edit(place, "*"),)
        return "L0203", message, "write `*` between them for a product", words, *edits
    asked = _of_a_quotient(p.line, factors, at) or _of_a_power(p.line, factors, at)
    if asked is not None:
        tokens, texts = asked
        return "L0203", message, *_asked(tokens, texts, words)
    help = f"write `{before}*{token}` for a product"
    raised = any(word.value == "^" for word in p.line[factors[at - 1].start : p.position])
    if before.value == ")" or raised:
        help = "write `*` between them for a product"
    return "L0203", message, help, words, Edit(place, "*")


def superscript(p: ParseFailure) -> Explanation | None:
    """`N²`, `N²D`, `A/N²D`

    Args:
        p: the state of the parser.
    """
    if p.token.type != "ORDER" or p.before is None or p.before.value == "d":  # d²L/dN²
        return None
    written, message = f"^{ORDERS.get(p.token.value, 2)}", "powers are written with `^`"
    help = f"write `{written}` for `{p.token}`"
    behind = p.position + 1
    if p.after is not None and _begins_factor(p.after):
        factors = factors_around(p.line, behind)
        at = next((k for k, factor in enumerate(factors) if factor.start == behind), None)
        readings = None if at is None else _of_a_quotient(p.line, factors, at)
        if readings is not None:
            return "L0204", message, *_asked(*readings, (p.token,))
        if p.token.end_pos == p.after.start_pos:  # N^2D would have two readings
            edit = replacing((p.token,), f"{written}*")
            return "L0204", message, f"write `{written}*` for `{p.token}`", (p.token,), edit
    return "L0204", message, help, (p.token,), replacing((p.token,), written)


def function_without_brackets(p: ParseFailure) -> Explanation | None:
    """A call with other brackets than `(`, or with none: `log N`, `log 2N`, `exp[-x]`, `Log[N]`.

    Args:
        p: the state of the parser.
    """
    before = p.before
    begins = p.token.type in ("NAME", "NUMBER", "DEL")
    name = function_named(str(before)) if before is not None else None
    if begins and before is not None and name in FUNCTIONS:
        message = f"the argument of `{before}` stands in round brackets"
        if FUNCTIONS[name][0] > 1:
            return "L0203", message, f"write `{name}(…, …)`", (before, p.token)
        ends = _ends_of_argument(p.line, p.position)
        readings = []
        for end in ends:
            argument = _written(p.line, _chain(p.line[:end], p.position))
            rest = _written(p.line, _chain(p.line[: ends[-1]], p.position), end)
            readings.append(f"{name}({argument}){rest}")
        words = p.line[p.position - 1 : ends[-1]]
        if len(ends) == 1:
            edit = replacing(words, readings[0])
            return "L0203", message, f"write `{readings[0]}`", (before, p.token), edit
        return "L0203", message, *_asked(words, readings[::-1], (before, p.token))
    bracket = p.bracket
    if bracket is None or bracket.value != "[":
        return None
    position = next(i for i, word in enumerate(p.line) if word is bracket)
    function = p.line[position - 1]
    if function.value in ("Limit", "limit", "lim"):
        help = "write `L -> E as N -> oo`"
        return "L0201", f"a limit has no `{function}`", help, (function,)
    name = function_named(str(function))
    if name is None:
        return None
    closing = closing_bracket(p.line, position)
    edits: tuple[Edit, ...] = (
        ()
        if closing is None
        else (replacing((function, bracket), f"{name}("), replacing((closing,), ")"))
    )
    message = f"the arguments of `{function}` stand in round brackets"
    return "L0201", message, f"write `{name}(…)`", (function, bracket), *edits


def two_slashes(p: ParseFailure) -> Explanation | None:
    """`A/N // a comment`, `A//N^alpha`

    Args:
        p: the state of the parser.
    """
    pair = p.both("/")
    if pair is None:
        return None
    if _is_comment(p, pair):
        edit = replacing(pair, "#")
        return "L0212", "`//` is not a comment", "begin comments with `#`", pair, edit
    message = "`//` is neither a comment nor integer division in this language"
    help = "did you mean a division, `/`, or a comment, `#`?"
    readings = (Reading(replacing(pair, sign)) for sign in ("/", "#"))
    return "L0212", message, help, pair, *readings


def factors_around(line: Sequence[Token], position: int) -> list[Factor]:
    """The factors of the term in which a token stands, up to where the term is not understood.

    Args:
        line: the tokens of a line.
        position: the token.
    """
    start, depth = position, 0
    while start:
        word = line[start - 1]
        if word.value in CLOSING:
            depth += 1
        elif word.value in OPENING:
            depth -= 1
            if depth < 0:
                break
        elif not depth and _ends_term(line, start - 1):
            break
        start -= 1
    if start < len(line) and line[start].value in ("+", "-"):
        start += 1
    return _chain(line, start)


def _ends_term(line: Sequence[Token], position: int) -> bool:
    """Whether a token outside of brackets separates terms."""
    word = line[position]
    if word.value in ("+", "-"):
        return position == 0 or line[position - 1].value not in ("^", "*", "/")
    of_factors = word.type in ("NAME", "NUMBER", "DEL", "ORDER") or word.value in (
        "*",
        "/",
        "^",
        ".",
    )
    return not of_factors or str(word) in KEYWORDS


def _chain(line: Sequence[Token], start: int) -> list[Factor]:
    """The factors from a token on: `2`, `N` and `D^2` of `2 N/D^2 + 1`."""
    factors: list[Factor] = []
    position: int | None = start
    while position is not None and position < len(line):
        sign = line[position].value if factors and line[position].value in ("*", "/") else ""
        first = position + len(sign)
        end = _factor_end(line, first)
        if end is None:
            break
        factors.append(Factor(sign, first, end))
        position = end
    return factors


def _factor_end(line: Sequence[Token], start: int) -> int | None:
    """The token behind a factor with its exponents; None where no factor begins."""
    while True:  # a long tower of powers must not be a deep recursion
        if 0 < start < len(line) and line[start].value == "-":  # A/-2
            start += line[start - 1].value in ("*", "/", "^")
        end = _atom_end(line, start)
        if end is None or end >= len(line):
            return end
        if line[end].type == "ORDER":
            return end + 1
        if line[end].value != "^":
            return end
        start = end + 1


def _atom_end(line: Sequence[Token], start: int) -> int | None:
    """The token behind a number, a name with its brackets, a call, a derivative or a bracket."""
    first = start
    while start + 1 < len(line) and _without_bracket(line, start):  # log N
        start += 1
    if start > first and not _begins_factor(line[start]):
        return start
    if start >= len(line):
        return None
    word = line[start]
    if word.type == "DEL":
        return _derivative_end(line, start)
    if word.value == "(":
        return _behind_bracket(line, start)
    if word.type == "NUMBER":
        return start + 1
    if word.type != "NAME" or str(word) in KEYWORDS:
        return None
    end = start + 1
    while end + 1 < len(line) and line[end].value == "." and line[end + 1].type == "NAME":
        end += 2
    while end < len(line) and line[end].value in ("(", "["):
        closed = _behind_bracket(line, end)
        if closed is None:
            return None
        end = closed
    return end


def _without_bracket(line: Sequence[Token], start: int) -> bool:
    """Whether a token is a function and no bracket or dot follows."""
    named = line[start].type == "NAME" and function_named(str(line[start])) in FUNCTIONS
    return named and line[start + 1].value not in ("(", "[", ".")


def _derivative_end(line: Sequence[Token], start: int) -> int | None:
    """The token behind `∂L/∂N`, `∂²L/∂N∂D` or `∂L[i]/∂r[j]`."""
    slash = next((i for i in range(start, len(line)) if line[i].value == "/"), None)
    end = None if slash is None else slash + 1
    while end is not None and end + 1 < len(line) and line[end].type == "DEL":
        end += 2
        if end < len(line) and line[end].value == "[":
            end = _behind_bracket(line, end)
        if end is not None and end < len(line) and line[end].type == "ORDER":
            end += 1
    return end


def _behind_bracket(line: Sequence[Token], opening: int) -> int | None:
    depth = 0
    for i in range(opening, len(line)):
        depth += (line[i].value in OPENING) - (line[i].value in CLOSING)
        if not depth:
            return i + 1
    return None


def _begins_factor(token: Token) -> bool:
    return token.type in ("NAME", "NUMBER", "DEL") or token.value == "("


def _written(line: Sequence[Token], factors: Sequence[Factor], start: int = 0) -> str:
    """The text of those factors from a token on, with a sign between each two."""
    text = ""
    for k, factor in enumerate(factors):
        behind = max(factor.start, start)
        if behind >= factor.end:
            continue
        sign = factor.sign or ("*" if k else "")
        text += (sign if behind == factor.start else "") + _raised(line[behind : factor.end])
    return text


def _raised(words: Sequence[Token]) -> str:
    """The text of words, with raised digits as powers."""
    text = joined(words)
    for digit, order in ORDERS.items():
        text = text.replace(digit, f"^{order}")
    return text


def _run(factors: Sequence[Factor], at: int) -> tuple[int, int]:
    """The first of the factors without signs between them that a factor is one of, and the last."""
    first = last = at
    while first and not factors[first].sign:
        first -= 1
    while last + 1 < len(factors) and not factors[last + 1].sign:
        last += 1
    return first, last


def _of_a_quotient(
    line: Sequence[Token], factors: Sequence[Factor], at: int
) -> tuple[Sequence[Token], list[str]] | None:
    """The readings of `A/2N`: `A/(2*N)` and `A/2*N`; None where no division stands before."""
    first, last = _run(factors, at)
    if not first or factors[first].sign != "/":
        return None
    above, below = factors[first - 1], factors[first : last + 1]
    divided, divisor = _raised(line[above.start : above.end]), _unsigned(line, below)
    words = line[above.start : below[-1].end]
    return words, [f"{divided}/({divisor})", f"{divided}/{divisor}"]


def _unsigned(line: Sequence[Token], factors: Sequence[Factor]) -> str:
    return "*".join(_raised(line[factor.start : factor.end]) for factor in factors)


def _of_a_power(
    line: Sequence[Token], factors: Sequence[Factor], at: int
) -> tuple[Sequence[Token], list[str]] | None:
    """The readings of `N^2D`: `N^2*D` and `N^(2*D)`; None where a space or no exponent is before."""
    raised, behind = factors[at - 1], factors[at]
    last = line[raised.end - 1]
    signed = raised.end - 2 - (line[raised.end - 2].value == "-")
    if raised.end - raised.start < 3 or last.type != "NUMBER" or line[signed].value != "^":
        return None
    if last.end_pos != line[behind.start].start_pos:
        return None
    base, exponent = joined(line[raised.start : signed]), joined(line[signed + 1 : raised.end])
    next_one = _raised(line[behind.start : behind.end])
    words = line[raised.start : behind.end]
    return words, [f"{base}^{exponent}*{next_one}", f"{base}^({exponent}*{next_one})"]


def _ends_of_argument(line: Sequence[Token], start: int) -> list[int]:
    """Where the argument of a function without brackets may end: `2`, `2N` and `2N/D` of `2N/D`."""
    atom = _atom_end(line, start)
    if atom is None:
        return [start + 1]
    factors = _chain(line, start)
    _, last = _run(factors, 0) if factors else (0, 0)
    ends = [atom, *(factors[k].end for k in (0, last, -1) if factors)]
    return sorted(set(ends))


def _asked(
    replaced: Sequence[Token], readings: Sequence[str], at: Sequence[Token] = ()
) -> tuple[object, ...]:
    """The help, the place and the edits of a question between readings."""
    listed = ", or ".join(f"`{reading}`" for reading in readings)
    edits = (Reading(replacing(replaced, reading)) for reading in readings)
    return f"did you mean {listed}?", tuple(at) or tuple(replaced), *edits


def _unfinished_exponent(p: ParseFailure) -> Explanation | None:
    """`1.5e A`: no number, and no product unless `e` is declared."""
    number, letter = p.before, p.token
    if number is None or number.type != "NUMBER" or letter.value not in ("e", "E"):
        return None
    if number.end_pos != letter.start_pos or str(letter) in declared_names(p.source):
        return None
    text = f"{number}{letter}"
    help = f"write digits behind `{text}`, such as `{text}6`, or declare `{letter}`"
    return "L0203", f"the exponent of `{text}` is missing", help, (number, letter)


def _operator_in_words(p: ParseFailure) -> Explanation | None:
    """`N mod D`"""
    for word in (p.before, p.token):
        if (
            word is not None
            and str(word) in OPERATORS
            and str(word) not in declared_names(p.source)
        ):
            help = "the operators are + - * / ^"
            return "L0203", f"there is no operator `{word}`", help, (word,)
    return None


def _other_function(p: ParseFailure) -> Explanation | None:
    """`log2 N`, `relu N`: a function of other languages, without brackets"""
    name = str(p.before)
    if name not in FORMULAS or name in declared_names(p.source):
        return None
    message = f"the argument of `{name}` stands in round brackets"
    return "L0203", message, f"write `{name}(…)`", (p.before, p.token)


def _is_comment(p: ParseFailure, pair: tuple[Token, Token]) -> bool:
    """Whether what follows `//` is no formula, so that it can only be a comment."""
    start = next(i for i, word in enumerate(p.line) if word is pair[0])
    rest = p.line[start + 2 :]
    if not start or not rest or not (_begins_factor(rest[0]) or rest[0].value == "-"):
        return True
    # what may stand behind a formula says nothing: `A//N unit nat`, `L > A//N for D > 1`
    ends = (
        i for i, w in enumerate(rest) if str(w) in AFTER_FORMULA or w.type in AFTER_FORMULA_TYPES
    )
    rest = rest[: next(ends, len(rest))]
    names = [word for word in rest if word.type == "NAME" and str(word) not in FUNCTIONS]
    declared = declared_names(p.source)
    if all(ascii_name(word) in declared for word in names):
        return any(str(word) in KEYWORDS or word.type == "STRING" for word in rest)
    if len(rest) == 1:
        return p.line[start - 1].end_pos != pair[0].start_pos
    prose = any(
        a.type not in ("MINUS", "PLUS") and a.end_pos != b.start_pos and b.type == "NAME"
        for a, b in zip(rest[:-1], rest[1:], strict=True)
        if a.type in ("NAME", "NUMBER") or str(a) in KEYWORDS
    )
    return prose or not any(word.value in ("^", "*", "/", "+", "-") for word in rest)


def declared_names(source: str) -> frozenset[str]:
    """The names in the declarations of a file.

    Args:
        source: the text of the file.
    """
    plain = "\n".join(DECLARED.findall(STRING_OR_COMMENT.sub("", source)))
    return frozenset(map(ascii_name, re.findall(r"[^\W\d]\w*", UNIT.sub("", plain))))
