"""The words of a declaration that does not parse -> the declaration that they most likely mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from lark import Token

from lawdsl.core.units import known
from lawdsl.language.keywords import RESERVED, SIGNS
from lawdsl.language.mistakes.loose_words import (
    INFINITE,
    JOINING,
    LOGNORMAL,
    NORMAL,
    RELATIONS,
    TURNED,
    Words,
    index_of,
    joined,
    numbers_of,
    split,
    without_text,
    without_unit,
)


def _item(words: Words) -> str | None:
    """One declared name with its domain, however that is written."""
    relations = [i for i, word in enumerate(words) if str(word) in RELATIONS]
    if len(relations) == 2 and words[0].type == "NAME" and words[0] in words[1:]:
        words, relations = words[1:], [i - 1 for i in relations]  # alpha 0 < alpha < 1
    if len(relations) == 2 and len(words) > 2 and words[1].value == "in":
        words, relations = words[2:], [i - 2 for i in relations]  # lr in 0 < lr <= 1
    if len(relations) == 2 and relations[0] > 0 and words[0].type != "NAME":
        return _chain(words, relations)
    if len(relations) == 1 and words[0].type == "NUMBER" and words[-1].type == "NAME":
        return f"{words[-1]} {TURNED[str(words[1])]} {words[0]}" if len(words) == 3 else None
    if not words or words[0].type != "NAME" or str(words[0]) in RESERVED or known(words[0]):
        return None
    end = 1
    if len(words) > 3 and words[1].value == "[" and words[2].type == "NAME":
        end = index_of(words, ("]",)) + 1
    name, rest = joined(words[:end]), words[end:]
    if len(relations) == 2 and relations[0] == end and relations[1] > end + 1:  # r >= 0 <= 1
        first, second = words[end : relations[1]], words[relations[1] :]
        return f"{name} {joined(first)}, {name} {joined(second)}"
    if relations:
        return f"{name} {joined(rest)}" if rest and rest[0].type == "RELATION" else None
    return f"{name}{_domain(rest)}"


def _chain(words: Words, relations: Sequence[int]) -> str:
    """`0.1 <= N <= 70`"""
    first, second = relations
    name = joined(words[first + 1 : second])
    low, high = joined(words[:first]), joined(words[second + 1 :])
    closed = ["=" in str(words[i]) or str(words[i]) in "≤≥" for i in relations]
    if str(words[first])[0] in ">≥":
        low, high, closed = high, low, closed[::-1]
    if high in INFINITE:
        return f"{name} {'>=' if closed[0] else '>'} {low}"
    return f"{name} in {'[' if closed[0] else '('}{low}, {high}{']' if closed[1] else ')'}"


def _domain(words: Words) -> str:
    """A domain from its bounds, a word for a sign, or nothing."""
    lowered = [str(word).lower() for word in words]
    sign = next((SIGNS[word] for word in lowered if word in SIGNS), None)
    if sign or not words:
        return f" {sign}" if sign else ""
    if {"fraction", "share", "probability", "proportion", "ratio"} & set(lowered):
        return " in [0, 1]"
    if "simplex" in lowered:
        return " in simplex"
    whole = " integer" if {"integer", "int", "integers"} & set(lowered) else ""
    if lowered[-1] == "+" or "ℝ⁺" in lowered:  # in R+
        return " > 0"
    if lowered[-1] in ("r", "ℝ") and len(words) == 2:
        return ""
    if "{" in lowered and not {"..", ":"} & set(lowered):
        return f" in {joined(words[lowered.index('{') :])}"
    left = "(" if "(" in lowered and not {"uniform", "range", "u"} & set(lowered) else "["
    brackets = [word for word in lowered if word in ("[", "(", "]", ")")]
    right = ")" if brackets[-1:] in ([")"], ["["]) and not left.isspace() else "]"
    if {"uniform", "range", "u", "interval"} & set(lowered):
        right = "]"
    if len(brackets) == 1:
        right = {"(": ")", "[": "]"}.get(brackets[0], right)  # (0, 1
    if brackets[:1] == ["]"]:
        left = "("  # ]0, 1]
    operands = [
        word
        for word in words
        if word.type == "NUMBER" or str(word) in INFINITE or word.type == "NAME"
        if str(word).lower() not in JOINING | {"and", "integer", "int", "integers"}
    ]
    if any(a.end_pos == b.start_pos for a, b in pairwise(operands)):
        return " " + joined(words)  # 7B
    if any(w.value == "(" and words[i].type == "NAME" for i, w in enumerate(words[1:])):
        if not {"uniform", "range", "u", "interval"} & set(lowered):
            return " " + joined(words)  # HalfNormal(1)
    numbers = numbers_of(words)
    bounds = [numbers.pop(0) if word.type == "NUMBER" else str(word) for word in operands]
    if len(bounds) != 2:
        return " " + joined(words)
    if bounds[1] in INFINITE:
        return f" {'>' if left == '(' else '>='} {bounds[0]}"
    return f"{whole} in {left}{bounds[0]}, {bounds[1]}{right}"


def _text_in_brackets(words: Words) -> tuple[list[Token], str]:
    """Words without a description in brackets, `N (number of parameters) > 0`, and that one."""
    for i, word in enumerate(words):
        close = index_of(words, (")",), i)
        inner = words[i + 1 : close]
        behind = (
            i > 0 and words[i - 1].type in ("NUMBER", "RSQB", "RPAR") and close == len(words) - 1
        )
        if word.value != "(" or not inner or any(w.type != "NAME" for w in inner):
            continue
        if len(inner) > 1 or (behind and not known(str(inner[0]))):
            return [*words[:i], *words[close + 1 :]], f'  "{joined(inner)}"'
    return list(words), ""


def declaration(words: Words) -> Iterator[str]:
    """Read a variable, a parameter, a given or an unknown."""
    rest, text = without_text(words[1:])
    bounded = re.fullmatch(r"[a-z]\w*\s*<\s*(.+?)\s*>\s*([A-Za-z_].*)", joined(rest))
    if bounded and re.search(r"\blower|\bupper", bounded[1]):  # vector<lower=0> A
        ends = dict(re.findall(r"(lower|upper)\s*=\s*([-\w.]+)", bounded[1]))
        low, high = ends.get("lower"), ends.get("upper")
        domain = f"in [{low}, {high}]" if low and high else f"> {low}" if low else f"< {high}"
        yield f"{words[0]} {bounded[2]} {domain}{text}"
    rest = [word for word in rest if word.value not in ("each", "both", "all", "respectively")]
    between = "between" in rest
    if len(rest) > 3 and rest[1].value == "(" and rest[2].type == "NAME" and rest[3].value == ")":
        if not known(str(rest[2])):  # c(i)
            yield f"{words[0]} {rest[0]}[{rest[2]}] {joined(rest[4:])}{text}"
    rest, inner = _text_in_brackets(rest)
    text = text or ("" if inner.strip(' "').lower() in SIGNS else inner)
    rest, unit = without_unit(rest)
    normal = index_of(rest, (*NORMAL, *LOGNORMAL))
    if words[0].value == "parameter" and normal < len(rest) and len(numbers_of(rest)) == 2:
        own, (center, deviation) = str(rest[0]), numbers_of(rest)
        subject = f"log({own})" if str(rest[normal]).lower() in LOGNORMAL else own
        yield f"parameter {own}{unit}{text}\nprior {subject} = {center} ± {deviation}"
        return
    signs = (",", ";", "&", "&&") if between else (",", ";", "&", "&&", "and")
    parts = [part for part in split(rest, signs) if part]
    if len(parts) > 1 and parts[-1][0].value == "sum" and parts[-1][-1].value == "1":
        name = joined(parts[0][: index_of(parts[0], ("]",)) + 1])
        yield f"{words[0]} {name} in simplex{text}"  # shares that sum to 1
    items = [_item(part) for part in parts]
    if items and None not in items:
        yield f"{words[0]} {', '.join(map(str, items))}{unit}{text}"


def setting(words: Words) -> Iterator[str]:
    """Read a setting."""
    rest, text = without_text(words[1:])
    rest, unit = without_unit(rest)
    equal = index_of(rest, ("=", ":", "be", "is", "to", "<", "~", "≡"))
    value = [word for word in rest[equal:] if str(word) not in "= : be is to < ~ - ≡".split()]
    minus = any(number.startswith("-") for number in numbers_of(rest[equal:]))
    if equal and equal < len(rest) and not minus:
        yield f"{words[0]} {joined(rest[:equal])} = {joined(value)}{unit}{text}"


def definition(words: Words) -> Iterator[str]:
    """`let x := formula`, `let x be formula`, `x <- formula`"""
    start = 1 if words[0].value == "let" else 0
    equal = index_of(words, ("=",))
    names, values = split(words[start:equal], (",",)), split(words[equal + 1 :], (",",))
    if start and len(names) == len(values) > 1 and all((*names, *values)):
        pairs = zip(names, values, strict=True)
        yield "\n".join(f"let {joined(name)} = {joined(value)}" for name, value in pairs)
    rest, text = without_text(words)
    rest, unit = without_unit(rest)
    if unit and equal < len(words):
        yield f"{joined(rest).rstrip(',:')}{unit}{text}"
    for sign in (":=", "<-", "=:", "be", "is", "~", ":", "≡"):
        for i in range(start + 1, len(words)):
            width = len(sign) if not sign.isalpha() else 1
            if "".join(str(word) for word in words[i : i + width]) == sign:
                name = joined(words[start:i])
                yield f"{'let ' if start else ''}{name} = {joined(words[i + width :])}"
                return


def index(words: Words) -> Iterator[str]:
    """`index j ∈ [web, code]`, `index j = 1:30`, `index s over {arxiv-papers, web}`"""
    signs = ("over", "in", "=", ":", "∈", "of", "from", "ranges", "runs", "over:")
    middle = index_of(words, signs, 1)
    names = joined(words[1:middle])
    if middle == 1 and len(words) == 4:  # index over domain i
        yield f"index {words[3]} over {words[2]}"
    if not names:
        return
    last = middle
    while last < len(words) and (str(words[last]).lower() in signs or words[last].value == "the"):
        last += 1
    rest = [word for word in words[last:] if str(word) not in "( ) [ ] { } \" '".split()]
    numbers = [word for word in rest if word.type == "NUMBER"]
    if numbers and all(
        w.type == "NUMBER" or str(w) in ".. ... : , to - range".split() for w in rest
    ):
        first, final = (numbers[0], numbers[-1]) if len(numbers) > 1 else ("1", numbers[0])
        yield f"index {names} over {first}..{final}"
        return
    sets, own = split(rest, (",",)), split(words[1:middle], (",",))
    if len(sets) == len(own) > 1 and all(len(part) == 1 for part in sets):
        pairs = zip(own, sets, strict=True)
        yield "\n".join(f"index {joined(name)} over {joined(part)}" for name, part in pairs)
    labels = [
        re.sub(r"\W+", "_", joined(part).replace('"', "")).strip("_")
        for part in split(rest, (",", ";"))
        if part
    ]
    if len(labels) == 1 and len(rest) == 1:
        yield f"index {names} over {labels[0]}"
    elif labels:
        yield f"index {names} over {{{', '.join(labels)}}}"
