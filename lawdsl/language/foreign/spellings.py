"""Spellings of other languages and of mathematics at a syntax error -> how they are written here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lark import Token

from lawdsl.core.diagnostics import Edit, Span
from lawdsl.core.units import PREFIXES, UNITS, known
from lawdsl.language.ast_builder import span_of
from lawdsl.language.keywords import KEYWORDS, TRENDS, function_named
from lawdsl.language.mistakes.expected_tokens import ParseFailure
from lawdsl.language.mistakes.unquoted_values import text_in_condition

Explanation = tuple[Any, ...]
"""Code, message, help, the tokens to point at, and the edits that do what the help says; where it asks,
a `Reading` for each answer."""


@dataclass(frozen=True)
class Reading:
    """The edit for what a line may mean, which a person chooses."""

    edit: Edit


MAGNITUDES = {"k": 3, "K": 3, "M": 6, "B": 9, "G": 9, "T": 12, "bn": 9, "mn": 6}
WITH_NUMBERS = ("variable", "parameter", "given", "choose", "setting", "fix", "start", "step")
RELATIONS = ("<", "<=", ">", ">=", "≤", "≥")
FACTORS = ("ORDER", "NAME", "NUMBER", "DEL")  # token types that begin or continue a product
DIFFERENTIAL = re.compile(r"d[A-Za-z_]\w*")
DIGITS = re.compile(r"(?:_[0-9]{3})+")
FILLERS = ("monotone", "monotonically", "monotonic", "strictly", "always", "nonstrictly", "weakly")
PREPOSITIONS = ("with", "wrt", "of", "on", "over", "for")
CONDITIONALS = ("ifelse", "if_else", "where", "If", "cond", "Piecewise", "piecewise", "case_when")
SUMS = ("Σ", "∑", "Sigma", "sum", "prod")


def replacing(tokens: Sequence[Token], text: str) -> Edit:
    """The edit that writes a text in the place of tokens, and of what stands between them."""
    return Edit(span_of(tuple(tokens)), text)


def inserting(position: int, text: str) -> Edit:
    """The edit that writes a text at an offset of the file."""
    return Edit(Span(position, position), text)


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


def _unit_without_keyword(p: ParseFailure) -> Explanation | None:
    """`L = E + A/N^alpha nat/token`"""
    if p.token.value in PREFIXES and p.after is not None and known(str(p.after)):
        if p.before is not None and p.before.type == "NUMBER" and not known(str(p.token)):
            words, written = (p.token, p.after), f"unit {p.token}{p.after}"
            message = "a prefix and its unit are one word, behind `unit`"
            return "L0203", message, f"write `{written}`", words, replacing(words, written)
    is_unit = p.token.type == "NAME" and known(str(p.token))
    if not is_unit or p.before is None or p.statement in ("require", "minimize", "start", "step"):
        return None
    if p.before.value in PREFIXES and p.position > 1 and p.line[p.position - 2].value == "unit":
        words, written = (p.before, p.token), f"{p.before}{p.token}"
        message = "a prefix and its unit are one word"
        return "L0203", message, f"write `{written}`", words, replacing(words, written)
    behind = [word for word in p.line[p.position :] if word.type != "STRING"]
    behind = behind[: next((i for i, word in enumerate(behind) if word.value == "unit"), None)]
    written = "".join(str(word) for word in behind)
    message = "a unit follows the word `unit`"
    edit = replacing((p.token,), f"unit {p.token}")
    return "L0203", message, f"write `unit {written}`", (p.token,), edit


def _leibniz(p: ParseFailure) -> Explanation | None:
    """`d/dN L`"""
    if p.position < 3 or p.token.type != "NAME" or p.before is None:
        return None
    d, slash, below = p.line[p.position - 3 : p.position]
    if d.value != "d" or slash.value != "/" or not DIFFERENTIAL.fullmatch(str(below)):
        return None
    end = p.position + 1  # behind the subscripts and the arguments of the output
    subscripts = ""
    if p.after is not None and p.after.value == "[":
        closing = closing_bracket(p.line, end)
        behind = end if closing is None else p.line.index(closing, end) + 1
        subscripts, end = "".join(map(str, p.line[end:behind])), behind
    arguments = _listed_names(p.line, end)
    called = end < len(p.line) and p.line[end].value == "("
    behind_it = p.line[end + arguments] if end + arguments < len(p.line) else None
    of_product = behind_it is not None and (  # d/dN L*N, d/dN L², d/dN L N: of L or of all
        behind_it.value in ("*", "/", "^", "(") or behind_it.type in FACTORS
    )
    if function_named(str(p.token)) is not None:  # d/dN log(L)
        message = f"a derivative is that of a name, not of `{p.token}(…)`"
        inside = next((str(word) for word in p.line[end:] if word.type == "NAME"), "L")
        return "L0203", message, f"write a claim about `∂{inside}/∂{below[1:]}`", (d, p.token)
    written = f"∂{p.token}{subscripts}/∂{below[1:]}"
    words = (d, p.line[end + arguments - 1])
    return (
        "L0203",
        f"a derivative is written `{written}`",
        f"write `{written}`, or `diff({p.token}{subscripts}, {below[1:]})`",
        words,
        *(() if (called and not arguments) or of_product else (replacing(words, written),)),
    )


def _listed_names(line: Sequence[Token], start: int) -> int:
    """How many tokens `(N, D)` has at a position of a line; 0 for anything else."""
    names = [str(word) for word in line[start:]]
    if not names or names[0] != "(" or ")" not in names:
        return 0
    listed = names[: names.index(")") + 1]
    return len(listed) if re.fullmatch(r"\(\w+(,\w+)*\)", "".join(listed)) else 0


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


def _magnitude(p: ParseFailure) -> Explanation | None:
    """`variable N > 1B`, `given N < 70M`"""
    if p.before is not None and p.before.type == "NUMBER" and p.token.value in ("f", "F", "L"):
        if p.before.end_pos == p.token.start_pos and p.statement in WITH_NUMBERS:
            words = (p.before, p.token)
            edit = replacing(words, str(p.before))
            return "L0203", "a number has no suffix", f"write `{p.before}`", words, edit
    before, power = p.before, MAGNITUDES.get(str(p.token))
    if before is None or before.type != "NUMBER" or before.end_pos != p.token.start_pos:
        return None
    if power is None or p.statement not in WITH_NUMBERS:
        return None
    written = f"{before}e{power}" if power > 3 else f"{float(before) * 1000:.12g}"
    words = (before, p.token)
    message, help = "a number has no prefix", f"write `{written}`"
    prefixed = [str(w) for w in p.line[p.position :] if known(str(w)) and str(w) not in UNITS]
    if (
        p.statement == "step" and power > 3
    ) or prefixed:  # 70e9 of what is counted in billions would be 70e18
        of = f"where {'the unit' if prefixed else 'the law'} counts in such numbers"
        return "L0203", message, f"{help}, or `{before}` {of}", words
    return "L0203", message, help, words, replacing(words, written)


def _conditional_call(p: ParseFailure) -> Explanation | None:
    """`ifelse(r > 0, a, b)`, `np.where(r > 0, a, b)`"""
    if p.bracket is None or p.bracket.value not in ("(", "["):
        return None
    position = next(i for i, word in enumerate(p.line) if word is p.bracket)
    function = p.line[position - 1] if position else p.bracket
    if function.value not in CONDITIONALS or p.token.type not in ("RELATION", "UNEQUAL"):
        return None
    help = "write `if r > 0 then a else b`"
    return "L0203", f"`{function}` is not a function of formulas", help, (function,)


def _indexed_derivative(p: ParseFailure) -> Explanation | None:
    """`∂_N L`, `d²L/dN²`, `d^2L/dN^2`"""
    before = p.before
    if before is None or p.position < 2 or p.token.type not in ("NAME", "ORDER"):
        return None
    if p.line[p.position - 2].type == "DEL" and before.startswith("_") and p.token.type == "NAME":
        words = p.line[p.position - 2 : p.position + 1]
        written = f"∂{p.token}/∂{before[1:]}"
        return (
            "L0201",
            f"a derivative is written `{written}`",
            f"write `{written}`",
            words,
            replacing(words, written),
        )
    start = p.position - 1 if p.token.type == "ORDER" else p.position - 3
    if start < 0 or p.line[start].value != "d":
        return None
    help = "write `∂²L/∂N²`, or `diff(L, N, N)`"
    return "L0204", "a second derivative has no `d²`", help, (p.line[start],)


def _compound_assignment(p: ParseFailure) -> Explanation | None:
    """`E += A`, `N ^^ alpha`"""
    before = p.before
    if before is None or before.end_pos != p.token.start_pos:
        return None
    if p.token.value == "=" and before.value in ("+", "-", "*", "/"):
        words = (before, p.token)
        message = f"there is no `{before}=`"
        return "L0201", message, f"write `{before}`", words, replacing(words, str(before))
    if p.token.value == "^" and before.value == "^":
        words = (before, p.token)
        return "L0204", "powers are written with one `^`", "write `^`", words, replacing(words, "^")
    return None


def _text_in_formula(p: ParseFailure) -> Explanation | None:
    """`setting x = "0.1"`, `einsum("ij,j->i", t, r)`, a docstring"""
    if p.token.type != "STRING":
        return None
    text = str(p.token)[1:-1].strip()
    if p.before is not None and p.before.type == "STRING":
        words = p.line[p.position - 1 :]
        inner = " ".join(str(word)[1:-1].strip() for word in words if word.type == "STRING").strip()
        edits = (replacing(words, f'"{inner}"'),) if all(w.type == "STRING" for w in words) else ()
        return "L0201", "a statement has one text", f'write `"{inner}"`', (p.before,), *edits
    if "MINUS" not in p.accepted or p.before is None:
        return None
    if re.fullmatch(r"-?[0-9.]+(?:[eE][-+]?[0-9]+)?", text):
        edit = replacing((p.token,), text)
        return "L0201", "numbers stand without quotes", f"write `{text}`", (p.token,), edit
    if p.before.value in ("(", ","):
        help = "formulas have no texts"
        position = next(i for i, word in enumerate(p.line) if word is p.bracket)
        if p.line[position - 1].value in ("einsum", "matmul", "dot"):
            help = "write a sum over an index: `sum(t[i, j]*r[j] for j)`"
        return "L0201", f"unexpected `{p.token}`", help, (p.token,)
    return None


def _negation(p: ParseFailure) -> Explanation | None:
    if p.token.value == "not" and "STAR" in p.accepted and p.after is not None:
        help = f"write the opposite relation of `{p.after}`"
        return "L0203", "there is no negation", help, (p.token,)
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


def _ends_sum(p: ParseFailure, position: int) -> bool:
    """Whether the term behind a sign of a sum ends before a word of the line."""
    word, between = p.line[position], p.line[p.position : position]
    depth = sum((w.value in ("(", "[")) - (w.value in (")", "]")) for w in between)
    ends = word.value in ("+", "-", "unit", ")", ",", "=", "]") or word.type in (
        "STRING",
        "RELATION",
    )
    return ends and depth <= 0


def _sum_sign(p: ParseFailure) -> Explanation | None:
    if p.token.value == "of":
        return None
    if p.before is not None and p.before.partition("_")[0] in SUMS and p.token.value != "(":
        index = p.before.partition("_")[2]
        end = next((i for i in range(p.position, len(p.line)) if _ends_sum(p, i)), len(p.line))
        if index and end > p.position:
            words = p.line[p.position : end]
            term = str(words[0])
            for one, two in pairwise(words):
                factor = one.type in ("NAME", "NUMBER", "RSQB", "RPAR") and two.type == "NAME"
                term += f"*{two}" if factor else str(two)
            written = f"sum({term.replace(',', ', ')} for {index})"
            message = f"`{p.before}` is written as a function"
            edit = replacing((p.before, p.line[end - 1]), written)
            return "L0203", message, f"write `{written}`", (p.before,), edit
        help = "write `sum(a[j]*x[j] for j)`, with an index j that is declared"
        return "L0203", f"`{p.before}` is written as a function", help, (p.before,)
    return None


def _filler(p: ParseFailure) -> Explanation | None:
    """`L monotonically decreasing in N`, `L is strictly decreasing in N`"""
    if p.token.type == "TREND" and p.position > 2 and str(p.before).lower() in FILLERS:
        words = p.line[p.position - 2 : p.position + 1]
        if words[0].value == "is":
            edit = replacing(words, str(p.token))
            message = "the name of a law follows `is`"
            return "L0201", message, f"write `L {p.token}`: it is strict", tuple(words), edit
    if str(p.token).lower() not in FILLERS or p.after is None:
        return None
    help = f"leave it out: `{p.after}` is strict"
    if p.after.value not in TRENDS:
        help = "leave it out"
    edit = replacing((p.token, p.after), str(p.after))
    return "L0203", f"`{p.token}` has no place here", help, (p.token,), edit


def _preposition(p: ParseFailure) -> Explanation | None:
    """`L decreasing with N`"""
    if p.token.value in PREPOSITIONS and p.before is not None and p.before.type == "TREND":
        help = f"write `{p.before} in {p.after or 'N'}`"
        edit = replacing((p.token,), "in")
        return "L0201", f"unexpected `{p.token}`", help, (p.token,), edit
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
    return "L0201", f"unexpected `{p.token}`", help, (p.token,), *edits


def _lambda(p: ParseFailure) -> Explanation | None:
    """`f = lambda N: E + A/N`"""
    if p.before is not None and p.before.value == "lambda" and p.token.type == "NAME":
        help = "write the formula alone: `L = E + A/N^alpha`"
        return "L0203", "a law is no Python function", help, (p.before,)
    return None


def _outputs(p: ParseFailure) -> tuple[str, ...]:
    """The first word of a line that defines what a law gives: `L = …`, `L[i] = …`."""
    return (p.statement,) if len(p.line) > 2 and p.line[1].value in ("=", "[") else ()


def _keyword_in_formula(p: ParseFailure) -> Explanation | None:
    """A statement that begins in the line of another one."""
    if (
        (p.token.value in KEYWORDS and p.token.value != "for")
        or p.before is None
        or p.after is None
    ):
        return None
    domain = len(p.line) > p.position + 2 and p.line[p.position + 2].value in RELATIONS
    if (
        p.token.value in ("for", ",")
        and domain
        and p.bracket is None
        and p.statement in ("let", *_outputs(p))
    ):
        bound = f"{p.after} {' '.join(map(str, p.line[p.position + 2 : p.position + 4]))}"
        help = f"leave it out: `{bound}` stands where `{p.after}` is declared"
        return "L0201", "a formula has no domain", help, (p.token,)
    if p.token.value in ("where", "with", "subject", "such", "st") and "STAR" in p.accepted:
        help = "give a part a name on a line of its own, `let x = …`; a domain stands where the name is declared"
        return "L0203", f"`{p.token}` cannot stand behind a formula", help, (p.token,)
    return None


EXPONENT = re.compile(r"[eE][0-9]*")


def _number_spelling(p: ParseFailure) -> Explanation | None:
    dot = p.before if p.before is not None and p.before.value == "." else p.token
    operator = p.after if dot is p.token else p.token
    if operator is not None and operator.value in ("^", "*", "/", "+", "-") and dot.value == ".":
        help = f"write `{operator}`: all operators work on numbers"
        message = f"unexpected `.` before `{operator}`"
        return "L0201", message, help, (dot,), replacing((dot,), "")
    if p.token.value not in (".", ".."):
        return None
    before, after = p.before, p.after
    if p.token.value == ".." and p.statement in WITH_NUMBERS:
        if p.statement == "start" or p.bracket is not None and p.bracket.value == "{":
            return None
    if p.token.value == ".." and p.bracket is not None and p.bracket.value != "{":
        edit = replacing((p.token,), ", ")
        help = f"write `{before}, {after}`"
        return "L0201", "the ends of an interval have a comma between", help, (p.token,), edit
    adjacent = (
        before is not None and before.type == "NUMBER" and before.end_pos == p.token.start_pos
    )
    fraction = after is not None and after.type == "NUMBER" and p.token.end_pos == after.start_pos
    written, words = "", [p.token]
    if fraction and not adjacent and p.token.value == ".":
        written, words = f"0.{after}", [p.token, *p.line[p.position + 1 : p.position + 2]]
    elif adjacent and "." in str(before):
        message = "a number has one decimal point"
        factor = after is not None and (after.type == "NAME" or after.value == "(")
        if not factor or after is None or p.token.value != ".":
            return "L0201", message, "leave the second one out", (p.token,)
        words = [p.line[p.position - 1], p.token, after]
        reading = Reading(replacing(words, f"{before}*{after}"))
        return "L0201", message, f"did you mean `{before}*{after}`?", (p.token,), reading
    elif adjacent and not fraction:
        written = f"{before}.0"
        words = list(p.line[p.position - 1 : p.position + 1])
        if (
            after is not None
            and EXPONENT.fullmatch(str(after))
            and after.start_pos == p.token.end_pos
        ):
            rest = p.line[p.position + 2 : p.position + 4] if str(after) in ("e", "E") else ()
            words = [*p.line[p.position - 1 : p.position + 2], *rest]
            written = f"{before}{after}{''.join(str(word) for word in rest)}"
    edits: tuple[Edit, ...] = (replacing(words, written),) if written else ()
    help = f"write `{written}`" if written else "write numbers as 0.5 or 1.0"
    return "L0201", "digits stand on both sides of a decimal point", help, (p.token,), *edits


def _comment(p: ParseFailure) -> Explanation | None:
    """`-- a comment`, `/* a comment */`"""
    for sign in ("--", "/*"):
        for i in range(1, p.position + 1):
            one, two = p.line[i - 1], p.line[i] if i < len(p.line) else p.line[-1]
            if (
                one.value + two.value == sign
                and one.end_pos == two.start_pos
                and i > p.position - 3
            ):
                words = p.line[i - 1 : i + 1]
                edits: tuple[Edit, ...] = (replacing(words, "#"),) if sign == "--" else ()
                return (
                    "L0212",
                    f"`{sign}` is not a comment",
                    "begin comments with `#`",
                    words,
                    *edits,
                )
    if p.token.value == "-" and p.after is not None and p.after.value == "-":
        if p.token.end_pos == p.after.start_pos and "MINUS" not in p.accepted:
            words = (p.token, p.after)
            help = "begin comments with `#`"
            return "L0212", "`--` is not a comment", help, words, replacing(words, "#")
    return None


FOREIGN_RULES: tuple[Callable[[ParseFailure], Explanation | None], ...] = (
    _number_spelling,
    _comment,
    _unit_without_keyword,
    _leibniz,
    _conditional,
    _conditional_call,
    _indexed_derivative,
    _compound_assignment,
    _text_in_formula,
    _grouped_digits,
    text_in_condition,
    _magnitude,
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
