"""A syntax error in names, domains, units and other parts of declarations -> what is meant."""

from __future__ import annotations

import re
from collections.abc import Callable

from lawdsl.core.diagnostics import Edit
from lawdsl.core.units import known
from lawdsl.language.ast_builder import span_of
from lawdsl.language.foreign.spellings import Explanation, closing_bracket, inserting, replacing
from lawdsl.language.keywords import KEYWORDS, SECTIONS, SIGNS
from lawdsl.language.mistakes.expected_tokens import ParseFailure

OPERATORS = ("+", "-", "*", "/", "^", "=")
DECLARATIONS = ("variable", "parameter", "given", "choose")
TYPES = ("real", "float", "double", "number", "numeric", "scalar", "reals", "any", "free")
WHOLE = ("int", "integers", "Integer", "Integers", "whole")
VERBS = (
    "strictly",
    "always",
    "is",
    "are",
    "be",
    "must",
    "should",
    "has",
    "lies",
    "ranges",
    "takes",
)
SETS = ("from", "of", "among", "within", "element", "elem", "between", "range", "belongs", "on")


def _plain_name(text: str) -> str:
    """A name of letters, digits and _ that is like a text."""
    name = re.sub(r"\W+", "_", text.strip('"').strip()).strip("_")
    return name if name and not name[0].isdigit() else f"law_{name}"


def _header(p: ParseFailure) -> Explanation | None:
    """`law my study "title"`, `law study Loss on code`, `law "study"`, `law study-2`, `law study:`"""
    if p.line[0].type != "KIND" or p.token.type == "$END":
        return None
    ending = p.before is not None and p.before.value == "."  # study.law
    word = p.token.value in SECTIONS and p.position > 1 and not ending
    if p.token.value in KEYWORDS and not word:
        return None
    kind, rest = p.statement, p.line[p.position :]
    title = next((i for i, word in enumerate(rest) if word.type == "STRING"), None)
    if p.token.type == "STRING" and p.position == 1:
        if p.after is None and re.search(r"\s", str(p.token).strip('"').strip()):
            message = f"the name of the {kind} is missing"
            help = f"write a name before the title: `{kind} NAME {p.token}`"
            return "L0207", message, help, (p.token,)
        name = _plain_name(str(p.token))
        message = f"the name of a {kind} stands without quotes"
        help = f'write `{kind} {name} "title"`'
        return "L0201", message, help, (p.token,), replacing((p.token,), name)
    if p.position == 1 and p.token.type == "NUMBER" and p.after is not None:
        digits = (p.token, p.after) if p.after.start_pos == p.token.end_pos else (p.token,)
        name = "".join(str(word) for word in reversed(digits))
        name = name if name[0].isalpha() else f"{kind}_{name}"
        help, edit = f"write `{name}`", replacing(digits, name)
        return "L0201", "a name begins with a letter", help, (p.token,), edit
    if p.position == 1:
        return None
    until = p.position + (len(rest) if title is None else title)
    words = [str(word) for word in p.line[1:until] if re.fullmatch(r"\w+", str(word))]
    if title is not None and title > 0 or p.token.value in ("-", "/"):
        name = _plain_name("_".join(words))
        parts = p.line[1:until]
        message = f"the name of a {kind} is one word of letters, digits and `_`"
        return "L0201", message, f"write `{name}`", (p.token,), replacing(parts, name)
    if p.token.type == "NAME":
        text = " ".join(str(word) for word in rest)
        help = f'write `"{text}"`'
        end = span_of(rest[-1]).end
        edits: tuple[Edit, ...] = (inserting(span_of(p.token).start, '"'), inserting(end, '"'))
        return "L0201", "the title stands in double quotes", help, (p.token,), *edits
    help = f'the line is `{kind} NAME "title"`; statements follow, one a line'
    edits = (replacing(rest, ""),) if len(rest) == 1 else ()
    return "L0201", f"unexpected `{p.token}` after the name", help, (p.token,), *edits


def _braces_in_name(p: ParseFailure) -> Explanation | None:
    """`alpha_{N}`, `alpha-N`, `2nd`"""
    before, after = p.before, p.after
    if before is None or p.statement not in DECLARATIONS:
        return None
    if p.token.value == "{" and str(before).endswith("_") and after is not None:
        closing = closing_bracket(p.line, p.position)
        if closing is not None:
            inner = "".join(
                str(w) for w in p.line[p.position + 1 : p.line.index(closing)] if w.value != ","
            )
            words = (before, closing)
            help = f"write `{before}{inner}`"
            return (
                "L0201",
                "names have no braces",
                help,
                (p.token,),
                replacing(words, f"{before}{inner}"),
            )
    if p.token.value == "-" and before.type == "NAME" and "RELATION" in p.accepted:
        help = f"write `{before}_{after or ''}`"
        edits: tuple[Edit, ...] = (
            () if after is None else (replacing((before, after), f"{before}_{after}"),)
        )
        return "L0201", "names have no hyphens", help, (p.token,), *edits
    if (
        p.token.value == "."
        and before.type == "NAME"
        and after is not None
        and after.type == "NAME"
    ):
        words, written = (before, after), f"{before}_{after}"
        return (
            "L0201",
            "names have no dots",
            f"write `{written}`",
            (p.token,),
            replacing(words, written),
        )
    adjacent = after is not None and after.type == "NAME" and p.token.end_pos == after.start_pos
    if p.token.type == "NUMBER" and set(p.accepted) == {"NAME"} and adjacent and p.bracket is None:
        return "L0201", "a name begins with a letter", f"write `{after}{p.token}`", (p.token,)
    return None


def _domain_in_words(p: ParseFailure) -> Explanation | None:
    """`N positive`, `r between 0 and 1`, `r: [0, 1]`, `r [0, 1]`, `n int in [1, 4]`"""
    if p.statement not in DECLARATIONS or p.before is None or p.before.type not in ("NAME", "RSQB"):
        return _interval_without_in(p)
    if "RELATION" not in p.accepted or "FOR" in p.accepted:
        return _interval_without_in(p)
    if p.token.value == "(" and p.before.value in ("sum", "Sum", "total"):
        help = "shares that sum to 1 are declared as `r[j] in simplex`"
        return "L0201", "a sum is not a domain", help, (p.before,)
    name, word, tail = str(p.before), str(p.token).lower(), p.line[p.position + 1 :]
    if p.before.value == "]":
        name = "".join(str(w) for w in p.line[1 : p.position])
    if word in SIGNS:
        edit = replacing((p.token,), SIGNS[word])
        return (
            "L0201",
            "a sign is written as a bound",
            f"write `{name} {SIGNS[word]}`",
            (p.token,),
            edit,
        )
    if p.token.value == ":":
        help = f"write `{name} in [0, 1]` or `{name} > 0`"
        edits: tuple[Edit, ...] = ()
        if tail and tail[0].value in ("[", "("):
            edits = (replacing((p.token,), " in"),)
        elif tail and (tail[0].type == "RELATION" or tail[0].value in ("in", "unit")):
            edits = (replacing((p.token,), ""),)
        elif len(tail) and str(tail[0]).lower() in TYPES:
            help, edits = (
                "leave the type out: all are numbers",
                (replacing((p.token, tail[0]), ""),),
            )
        return "L0201", "a domain follows the name without a colon", help, (p.token,), *edits
    if word in TYPES:
        edit = replacing((p.token,), "")
        return (
            "L0201",
            f"`{p.token}` is not a domain",
            "leave it out: all are real numbers",
            (p.token,),
            edit,
        )
    if str(p.token) in WHOLE:
        if p.statement == "choose":
            help = f"write `{name} integer in [1, 64]`"
            return (
                "L0201",
                f"unexpected `{p.token}`",
                help,
                (p.token,),
                replacing((p.token,), "integer"),
            )
        help = "leave it out: only what a question chooses may be a whole number"
        return "L0201", f"`{p.token}` is not a domain", help, (p.token,)
    numbers = [str(w) for w in tail if w.type == "NUMBER"][:2]
    if p.token.type == "NAME" and word in SETS:
        opening = next((w for w in tail if w.value in ("[", "(", "{")), None)
        if tail and tail[0] is opening:
            closing = {"[": "0, 1]", "(": "0, 1)", "{": "4, 8}"}[str(opening)]
            help = f"write `{name} in {opening}{closing}`"
            return (
                "L0201",
                "a domain begins with `in`",
                help,
                (p.token,),
                replacing((p.token,), "in"),
            )
        if len(numbers) == 2:
            written = f"in [{numbers[0]}, {numbers[1]}]"
            last = next(w for w in reversed(tail) if w.value == numbers[1])
            edit = replacing((p.token, last), written)
            return (
                "L0201",
                "an interval has brackets",
                f"write `{name} {written}`",
                (p.token,),
                edit,
            )
        return "L0201", "a domain begins with `in`", f"write `{name} in [0, 1]`", (p.token,)
    if p.token.type == "NAME" and not known(str(p.token)) and word not in VERBS:
        if any(w.value in ("[", "{", "(") for w in tail[:1]):
            return None
        edit = inserting(span_of(p.before).end, ",")
        message = f"unexpected `{p.token}` after `{name}`"
        help = f"separate names by a comma: `{name}, {p.token}`"
        return "L0201", message, help, (p.token,), edit
    return None


def _interval_without_in(p: ParseFailure) -> Explanation | None:
    """`r [0, 1]`, which reads as a subscript, and `r (0, 1)`"""
    if (
        p.statement not in DECLARATIONS
        or p.before is None
        or p.token.type not in ("NUMBER", "LPAR")
    ):
        return None
    opening = p.token if p.token.value == "(" else p.before
    position = p.position if opening is p.token else p.position - 1
    if (
        opening.value not in ("[", "(")
        or position < 2
        or p.line[position - 1].type not in ("NAME", "RSQB")
    ):
        return None
    closing = next((w for w in p.line[position:] if w.value in ("]", ")")), None)
    if closing is None or not any(w.value == "," for w in p.line[position:]):
        return None
    name = p.line[position - 1]
    message = "an interval follows `in`"
    written = "".join(
        f"{w} " if w.value == "," else str(w) for w in p.line[position : p.line.index(closing) + 1]
    )
    help = f"write `{name} in {written}`"
    edit = inserting(
        span_of(opening).start, "in " if span_of(name).end < span_of(opening).start else " in "
    )
    return "L0201", message, help, (opening,), edit


def _interval_spelling(p: ParseFailure) -> Explanation | None:
    """`r in 0..1`, `r in 0 to 1`"""
    if p.before is None or p.before.value != "in" or "LSQB" not in p.accepted:
        return None
    rest = p.line[p.position :]
    if p.token.type == "NUMBER":
        numbers = [w for w in rest if w.type == "NUMBER"]
        if len(numbers) > 2 and p.statement == "choose":
            written = f"{{{', '.join(map(str, numbers))}}}"
            edit = replacing((numbers[0], numbers[-1]), written)
            return "L0201", "choices stand in braces", f"write `in {written}`", (p.token,), edit
        numbers = numbers[:2]
        if len(numbers) == 2 and all(
            str(w) in ("..", "...", "to", "-", "and", ":", ",")
            for w in p.line[p.position + 1 : p.line.index(numbers[1])]
        ):
            written = f"[{numbers[0]}, {numbers[1]}]"
            edit = replacing(numbers, written)
            return "L0201", "an interval has brackets", f"write `in {written}`", (p.token,), edit
    return None


def _unit_spelling(p: ParseFailure) -> Explanation | None:
    """`[Gparam]` for `unit Gparam`, `nat per token`, `unit 1e9 param`, a domain behind the unit"""
    before, after = p.before, p.after
    if before is None:
        return None
    if p.bracket is not None and p.bracket.value == "[" and p.token.value in ("/", "*", "^"):
        return _unit_as_subscript(p)  # L = E + A/N^alpha [nat/token]
    behind_unit = any(word.value == "unit" for word in p.line[: p.position])
    subscript = before.value == "]" and before.end_pos == p.token.start_pos  # t[i][s]
    if p.token.value in ("[", "(") and after is not None and known(str(after)) and not subscript:
        closing = closing_bracket(p.line, p.position)
        closing = closing or next((w for w in p.line[p.position :] if w.value in ("]", ")")), None)
        if closing is not None and (behind_unit or "UNIT" in p.accepted):
            inner = p.line[p.position + 1 : p.line.index(closing)]
            unit = "".join(str(word) for word in inner)
            word = "" if before.value == "unit" else "unit "
            edit = replacing((p.token, closing), f"{word}{unit}")
            return (
                "L0201",
                "a unit follows the word `unit`",
                f"write `unit {unit}`",
                (p.token,),
                edit,
            )
    if p.token.value == "per" and known(str(before)):
        help = f"write `{before}/{after or 'token'}`"
        return "L0201", "`per` is written `/`", help, (p.token,), replacing((p.token,), "/")
    if behind_unit and before.value == "unit" and p.token.type == "NUMBER":
        help = "write a prefix: `Gparam` for 1e9 param, `Mtoken` for 1e6 token"
        return "L0201", "a unit has no number", help, (p.token,)
    if (
        behind_unit
        and (p.token.type == "RELATION" or p.token.value == "in")
        and p.statement in DECLARATIONS
    ):
        return _moved_domain(p)
    return None


def _unit_as_subscript(p: ParseFailure) -> Explanation | None:
    start = next(i for i, word in enumerate(p.line) if word is p.bracket)
    closing = closing_bracket(p.line, start)
    if closing is None:
        return None
    inner = p.line[start + 1 : p.line.index(closing)]
    if not all(known(str(word)) for word in inner if word.type == "NAME"):
        return None
    unit = "".join(str(word) for word in inner)
    edit = replacing((p.line[start], closing), f" unit {unit}")
    message = "a unit follows the word `unit`"
    return "L0201", message, f"write `unit {unit}`", (p.line[start],), edit


def _moved_domain(p: ParseFailure) -> Explanation:
    start = next(i for i, word in enumerate(p.line) if word.value == "unit")
    end = next(
        (i for i, word in enumerate(p.line) if word.type == "STRING" and i > p.position),
        len(p.line),
    )
    unit = " ".join(str(word) for word in p.line[start : p.position])
    domain = " ".join(str(word) for word in p.line[p.position : end]).replace(" ,", ",")
    domain = re.sub(r"(?<=[\[(]) | (?=[\])])", "", domain)
    help = f"write `{p.line[start - 1]} {domain} {unit}`"
    edit = replacing((p.line[start], p.line[end - 1]), f"{domain}  {unit}")
    return "L0201", "the domain stands before the unit", help, (p.token,), edit


def _bracketed_names(p: ParseFailure) -> Explanation | None:
    """`parameter (A, alpha) > 0`"""
    if p.statement not in DECLARATIONS or p.position != 1 or p.token.value not in ("(", "[", "{"):
        return None
    closing = closing_bracket(p.line, 1) or next((w for w in p.line if w.value == ")"), None)
    edits = () if closing is None else (replacing((p.token,), ""), replacing((closing,), ""))
    return "L0201", "names stand without brackets", "write `A, B > 0`", (p.token,), *edits


def _comma_in_interval(p: ParseFailure) -> Explanation | None:
    """`r in (0 1)`"""
    both = p.before is not None and p.before.type == p.token.type == "NUMBER"
    if not both or p.bracket is None or p.before is None or p.statement not in DECLARATIONS:
        return None
    edit = inserting(span_of(p.before).end, ",")
    message = f"a comma is missing between `{p.before}` and `{p.token}`"
    return "L0203", message, f"write `{p.before}, {p.token}`", (p.token,), edit


def _default_value(p: ParseFailure) -> Explanation | None:
    """`given T > 0 default 0.01`"""
    if p.statement not in DECLARATIONS or str(p.token) not in (
        "default",
        "init",
        "initial",
        "value",
    ):
        return None
    if p.after is None or p.before is None:
        return None
    name = p.line[1]
    help = f"a number that may be changed is a setting: `setting {name} = {p.after}`"
    if p.statement == "parameter":
        help = f"write `start {name} = {p.after}` on a line of its own"
    return "L0201", f"unexpected `{p.token}`", help, (p.token,)


def _named_bounds(p: ParseFailure) -> Explanation | None:
    """`real<lower=0> E`, `E<lower=0, upper=1>`"""
    words = [str(word) for word in p.line]
    side = next((w for w in ("lower", "upper") if w in words[: p.position + 1]), None)
    if side is None or p.statement not in DECLARATIONS or words.index(side) < 2:
        return None
    opening = p.line[words.index(side) - 1]
    name = str(p.line[1]) if p.line[2] is opening else "x"
    help = f"write `{name} > 0`, `{name} < 1` or `{name} in [0, 1]`"
    return "L0201", f"bounds have no names such as `{side}`", help, (opening,)


def _text_before_unit(p: ParseFailure) -> Explanation | None:
    """`variable N > 0 "model size" unit Gparam`"""
    if p.before is None or p.before.type != "STRING" or p.token.type == "$END":
        return None
    rest = p.line[p.position :]
    unit = p.token.value == "unit"
    message = "the unit must come before the text" if unit else "nothing follows the text"
    if not unit and p.statement not in (*DECLARATIONS, "setting"):
        return None
    between = "".join(f" {w}" if w.type == "NAME" else str(w) for w in rest[1:]) if unit else ""
    edits: tuple[Edit, ...] = (
        (replacing((p.before, rest[-1]), f"unit{between}  {p.before}"),) if unit else ()
    )
    return "L0201", message, "move the text to the end of the line", (p.token,), *edits


def _operand_missing(p: ParseFailure) -> Explanation | None:
    """`L = E + tail +  unit nat/token`"""
    ends = p.token.value in ("unit", "for", "expect") or p.token.type == "STRING"
    text = str(p.token).strip('"').strip()
    if p.token.type == "STRING" and re.fullmatch(r"-?[0-9.]+(?:[eE][-+]?[0-9]+)?", text):
        return None
    operator = p.token.value in ("+", "*", "/") and p.statement != "prior"
    if operator and p.before is not None and p.before.value in OPERATORS[:-1] and p.position > 1:
        message = f"no formula stands between `{p.before}` and `{p.token}`"
        help = "write one between them, or leave one of the operators out"
        return "L0201", message, help, (p.before, p.token)
    if ends and p.before is not None and p.before.value in OPERATORS and p.position > 1:
        message = f"nothing follows this `{p.before}`"
        return "L0207", message, "write a formula after it, or remove it", (p.before,)
    return None


DECLARATION_RULES: tuple[Callable[[ParseFailure], Explanation | None], ...] = (
    _header,
    _bracketed_names,
    _comma_in_interval,
    _default_value,
    _named_bounds,
    _text_before_unit,
    _unit_spelling,
    _braces_in_name,
    _domain_in_words,
    _interval_spelling,
    _operand_missing,
)
"""Tried before the general rules, the specific before the general."""
