"""A syntax error in names, domains, units and other parts of declarations -> what is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from lark import Token

from lawdsl.core.diagnostics import Edit
from lawdsl.core.units import known
from lawdsl.language.ast_builder import span_of
from lawdsl.language.expected_tokens import ParseFailure
from lawdsl.language.foreign_spellings import Explanation, closing_bracket, inserting, replacing
from lawdsl.language.keywords import KEYWORDS, SIGNS

DECLARATIONS = ("variable", "parameter", "given", "choose")
TYPES = ("real", "float", "double", "number", "numeric", "scalar", "reals", "any", "free")
WHOLE = ("int", "integers", "Integer", "Integers", "whole")
SETS = ("from", "of", "among", "within", "element", "elem", "between", "range", "belongs", "on")


def _plain_name(text: str) -> str:
    """A name of letters, digits and _ that is like a text."""
    name = re.sub(r"\W+", "_", text.strip('"').strip()).strip("_")
    return name if name and not name[0].isdigit() else f"law_{name}"


def _header(p: ParseFailure) -> Explanation | None:
    """`law my study "title"`, `law study Loss on code`, `law "study"`, `law study-2`, `law study:`"""
    if p.line[0].type != "KIND" or p.token.type == "$END" or p.token.value in KEYWORDS:
        return None
    kind, rest = p.statement, p.line[p.position :]
    title = next((i for i, word in enumerate(rest) if word.type == "STRING"), None)
    if p.token.type == "STRING" and p.position == 1:
        name = _plain_name(str(p.token))
        message = f"the name of a {kind} stands without quotes"
        help = f'write `{kind} {name} "title"`'
        return "L0201", message, help, (p.token,), replacing((p.token,), name)
    if p.position == 1:
        return None
    words = [str(word) for word in p.line[1:] if word.type in ("NAME", "NUMBER")]
    if title is not None and title > 0 or p.token.value in ("-", "/"):
        name = _plain_name("_".join(words))
        parts = p.line[1 : p.position + (len(rest) if title is None else title)]
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
    return "L0201", f"unexpected `{p.token}` behind the name", help, (p.token,), *edits


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
        ("=", ">", ">=", "the relation is written `>=`"),
        ("=", "<", "<=", "the relation is written `<=`"),
        ("<", ">", "!=", "`<>` is written `!=`"),
        (":", "=", "=", "an equation is written with `=`"),
        ("<", "-", "=", "an equation is written with `=`"),
    ):
        for pair in ((p.before, p.token), (p.token, p.after)):
            one, two = pair
            if one is None or two is None or (one.value, two.value) != (first, second):
                continue
            if one.end_pos != two.start_pos or (written == "=" and not _defines(p, one)):
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
    example = f"`{p.before} = {p.after if p.token.value in (':', 'to', 'at') else p.token}`"
    if p.token.value in (":", "to", "at", "is", "as"):
        help = f"write {example}"
        return (
            "L0201",
            f"`=` is missing behind `{p.before}`",
            help,
            (p.token,),
            replacing((p.token,), "="),
        )
    if p.token.type in ("NUMBER", "NAME") or p.token.value in ("-", "("):
        edit = inserting(span_of(p.token).start, "= ")
        return "L0201", f"`=` is missing behind `{p.before}`", f"write {example}", (p.token,), edit
    if p.token.type == "RELATION" and p.statement in ("setting", "fix", "tie", "let"):
        help = f"a {p.statement} has a value: write `{p.before} = …`"
        return "L0201", f"`{p.token}` is not `=`", help, (p.token,)
    return None


# Names, domains and units


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
        return "L0201", "a domain stands behind the name without a colon", help, (p.token,), *edits
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
    if p.token.type == "NAME" and not known(str(p.token)):
        if any(w.value in ("[", "{", "(") for w in tail[:1]):
            return None
        edit = inserting(span_of(p.before).end, ",")
        message = f"unexpected `{p.token}` behind `{name}`"
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
    message = "an interval stands behind `in`"
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
        numbers = [w for w in rest if w.type == "NUMBER"][:2]
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
    behind_unit = any(word.value == "unit" for word in p.line[: p.position])
    if p.token.value in ("[", "(") and after is not None and known(str(after)):
        closing = closing_bracket(p.line, p.position)
        closing = closing or next((w for w in p.line[p.position :] if w.value in ("]", ")")), None)
        if closing is not None and (behind_unit or "UNIT" in p.accepted):
            inner = p.line[p.position + 1 : p.line.index(closing)]
            unit = "".join(str(word) for word in inner)
            word = "" if before.value == "unit" else "unit "
            edit = replacing((p.token, closing), f"{word}{unit}")
            return (
                "L0201",
                "a unit stands behind the word `unit`",
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
    message = "the unit stands before the text" if unit else "nothing follows the text"
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
    if ends and p.before is not None and "MINUS" in p.accepted and p.position > 1:
        message = f"nothing follows this `{p.before}`"
        return "L0207", message, "write a formula behind it, or remove it", (p.before,)
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


DECLARATION_RULES: tuple[Callable[[ParseFailure], Explanation | None], ...] = (
    _header,
    _text_without_quotes,
    _quoted_name,
    relation_spelling,
    _decimal_comma,
    _trailing_comma,
    _equal_missing,
    _named_bounds,
    _text_before_unit,
    _unit_spelling,
    _braces_in_name,
    _domain_in_words,
    _interval_spelling,
    _operand_missing,
)
"""Tried before the general rules, the specific before the general."""
