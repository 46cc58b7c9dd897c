"""The words of a line that does not parse -> the statement that they most likely mean, as text.

Each reader looks for the parts of one kind of statement, in whatever order and with whatever signs
between them, and writes them in the form of the language. What it writes is a candidate only: it is
suggested where it parses and keeps all names and numbers of the line (`suggestions.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from lark import Token

from lawdsl.core.units import known
from lawdsl.language.keywords import RESERVED, SIGNS, TRENDS

Words = Sequence[Token]

RELATIONS = ("<", "<=", ">", ">=", "≤", "≥")
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "≤": ">=", "≥": "<="}
INFINITE = ("oo", "inf", "Inf", "infinity", "Infinity", "∞", "infty")
STEMS = {trend[:6]: trend for trend in TRENDS} | {
    "rising": "increasing",
    "rises": "increasing",
    "grows": "increasing",
    "fallin": "decreasing",
    "falls": "decreasing",
    "shrink": "decreasing",
}
AND = (",", "and", "&", ";", "&&")
WHEN = ("for", "where", "if", "when", "whenever", "given", "provided")
EACH = ("all", "any", "every", "each", "forall", "∀")
JOINING = frozenset(
    "in between from to of within range uniform interval u real float is be must ~ : = ∈ .. ... ℝ".split()
)
NORMAL = ("normal", "norm", "n", "gaussian", "gauss", "norm_prior", "normal_prior")
LOGNORMAL = ("lognormal", "lognorm", "log_normal", "lognormal_prior")


def joined(words: Words) -> str:
    """The text of words, with a space where the source has any."""
    parts: list[str] = []
    for i, word in enumerate(words):
        if i and words[i - 1].end_pos != word.start_pos:
            parts.append(" ")
        parts.append(str(word))
    return "".join(parts).strip()


def _split(words: Words, signs: Sequence[str]) -> list[list[Token]]:
    """Words at the signs that stand outside of brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for word in words:
        depth += (word.value in ("(", "[", "{")) - (word.value in (")", "]", "}"))
        if depth <= 0 and str(word) in signs:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _index_of(words: Words, signs: Sequence[str], start: int = 0) -> int:
    """Where the first of some words stands; the number of words where none does."""
    found = (i for i in range(start, len(words)) if str(words[i]).lower() in signs)
    return next(found, len(words))


def _numbers(words: Words) -> list[str]:
    """The numbers among words, with their signs."""
    found: list[str] = []
    for i, word in enumerate(words):
        if word.type == "NUMBER":
            minus = i > 0 and words[i - 1].value == "-"
            sign = minus and (i == 1 or words[i - 2].type not in ("NAME", "NUMBER"))
            found.append(f"-{word}" if sign else str(word))
    return found


def _without_text(words: Words) -> tuple[Words, str]:
    texts = [word for word in words if word.type == "STRING"]
    rest = [word for word in words if word.type != "STRING"]
    return rest, f"  {texts[-1]}" if texts else ""


def _without_unit(words: Words) -> tuple[list[Token], str]:
    """Words without the unit among them, and `unit U`."""
    start = _index_of(words, ("unit", "units"))
    end = start + 1
    if start == len(words):
        for i, word in enumerate(words[:-1]):
            behind_in = i > 0 and words[i - 1].value == "in"
            if word.value in ("[", "(") and known(str(words[i + 1])) and not behind_in:
                close = _index_of(words, ("]", ")"), i)
                unit = "".join(str(w) for w in words[i + 1 : close])
                return [*words[:i], *words[close + 1 :]], f"  unit {unit}"
            if word.value == "in" and known(str(words[i + 1])):  # N > 0 in Gparam
                return list(words[:i]), f"  unit {''.join(map(str, words[i + 1 :]))}"
        return list(words), ""
    while end < len(words) and (
        words[end].type in ("NAME", "STAR", "SLASH", "NUMBER", "MINUS") or words[end].value == "^"
    ):
        end += 1
    unit = "".join(str(w) for w in words[start + 1 : end])
    return [*words[:start], *words[end:]], f"  unit {unit}" if unit else ""


# Declarations


def _item(words: Words) -> str | None:
    """One declared name with its domain, however that is written."""
    relations = [i for i, word in enumerate(words) if str(word) in RELATIONS]
    if len(relations) == 2 and relations[0] > 0 and words[0].type != "NAME":
        return _chain(words, relations)
    if len(relations) == 1 and words[0].type == "NUMBER" and words[-1].type == "NAME":
        return f"{words[-1]} {TURNED[str(words[1])]} {words[0]}" if len(words) == 3 else None
    if not words or words[0].type != "NAME" or str(words[0]) in RESERVED:
        return None
    end = 1
    if len(words) > 3 and words[1].value == "[" and words[2].type == "NAME":
        end = _index_of(words, ("]",)) + 1
    name, rest = joined(words[:end]), words[end:]
    if relations:
        return f"{name} {joined(rest)}" if rest[0].type == "RELATION" else None
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
    right = ")" if ")" in lowered and left == "(" or lowered[-1] == ")" and "[" in lowered else "]"
    operands = [
        word
        for word in words
        if word.type == "NUMBER" or str(word) in INFINITE or word.type == "NAME"
        if str(word).lower() not in JOINING | {"and", "integer", "int", "integers"}
    ]
    numbers = _numbers(words)
    bounds = [numbers.pop(0) if word.type == "NUMBER" else str(word) for word in operands]
    if len(bounds) != 2:
        return " " + joined(words)
    if bounds[1] in INFINITE:
        return f" {'>' if left == '(' else '>='} {bounds[0]}"
    return f"{whole} in {left}{bounds[0]}, {bounds[1]}{right}"


def _declaration(words: Words) -> Iterator[str]:
    rest, text = _without_text(words[1:])
    if rest and rest[-1].value == ")" and rest[-2].type == "NAME" and not text:
        opening = max(i for i, word in enumerate(rest) if word.value in ("(", "="))
        inner = joined(rest[opening + 1 : -1])
        if opening and rest[opening - 1].type == "NUMBER" and not known(inner):
            rest, text = rest[:opening], f'  "{inner}"'
    rest, unit = _without_unit(rest)
    normal = _index_of(rest, (*NORMAL, *LOGNORMAL))
    if words[0].value == "parameter" and normal < len(rest) and len(_numbers(rest)) == 2:
        name, (center, deviation) = str(rest[0]), _numbers(rest)
        subject = f"log({name})" if str(rest[normal]).lower() in LOGNORMAL else name
        yield f"parameter {name}{unit}{text}\nprior {subject} = {center} ± {deviation}"
        return
    parts = [part for part in _split(rest, (",",)) if part]
    if len(parts) > 1 and parts[-1][0].value == "sum" and parts[-1][-1].value == "1":
        name = joined(parts[0][: _index_of(parts[0], ("]",)) + 1])
        yield f"{words[0]} {name} in simplex{text}"  # shares that sum to 1
    items = [_item(part) for part in parts]
    if items and None not in items:
        yield f"{words[0]} {', '.join(map(str, items))}{unit}{text}"


def _setting(words: Words) -> Iterator[str]:
    rest, text = _without_text(words[1:])
    rest, unit = _without_unit(rest)
    equal = _index_of(rest, ("=", ":", "be", "is", "to", "<", "~", "≡"))
    value = [word for word in rest[equal:] if str(word) not in "= : be is to < ~ - ≡".split()]
    minus = any(number.startswith("-") for number in _numbers(rest[equal:]))
    if equal and equal < len(rest) and not minus:
        yield f"{words[0]} {joined(rest[:equal])} = {joined(value)}{unit}{text}"


def _definition(words: Words) -> Iterator[str]:
    """`let x := formula`, `let x be formula`, `x <- formula`"""
    start = 1 if words[0].value == "let" else 0
    for sign in (":=", "<-", "=:", "be", "is", "~", ":", "≡"):
        for i in range(start + 1, len(words)):
            width = len(sign) if not sign.isalpha() else 1
            if "".join(str(word) for word in words[i : i + width]) == sign:
                name = joined(words[start:i])
                yield f"{'let ' if start else ''}{name} = {joined(words[i + width :])}"
                return


def _index(words: Words) -> Iterator[str]:
    """`index j ∈ [web, code]`, `index j = 1:30`, `index s over {arxiv-papers, web}`"""
    signs = ("over", "in", "=", ":", "∈", "of", "from", "ranges", "runs", "over:")
    middle = _index_of(words, signs, 1)
    names = joined(words[1:middle])
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
    sets, own = _split(rest, (",",)), _split(words[1:middle], (",",))
    if len(sets) == len(own) > 1 and all(len(part) == 1 for part in sets):
        pairs = zip(own, sets, strict=True)
        yield "\n".join(f"index {joined(name)} over {joined(part)}" for name, part in pairs)
    labels = [
        re.sub(r"\W+", "_", joined(part).replace('"', "")).strip("_")
        for part in _split(rest, (",",))
        if part
    ]
    if len(labels) == 1 and len(rest) == 1:
        yield f"index {names} over {labels[0]}"
    elif labels:
        yield f"index {names} over {{{', '.join(labels)}}}"


# Claims


def _claim(words: Words) -> Iterator[str]:
    rest = list(words[1:])
    yield from _trend(rest)
    text = joined(rest)
    if re.search(r"\blim|->|→|\btends|\bapproach", text):
        yield from _limit(text)
    until = _index_of(rest, EACH)
    if until < len(rest) and until > 1:
        kept = rest[: until - 1] if str(rest[until - 1]) in (*WHEN, "on", "in") else rest[:until]
        if any(str(word) in RELATIONS for word in rest[until:]):
            yield f"require {joined(kept)} for {joined(rest[until + 1 :])}"
        yield f"require {joined(kept)}"
    until = _index_of(rest, ("everywhere", "always", "overall"))
    if until < len(rest):
        yield f"require {joined(rest[:until])}"
    parts = _split(rest, AND)
    if len(parts) > 1 and all(parts):
        yield "\n".join(f"require {joined(part)}" for part in parts)


def _trend(words: Words) -> Iterator[str]:
    """`L is decreasing with N and D`, `L decreases in N for all r`"""
    place = next(
        (i for i, word in enumerate(words) if str(word).lower()[:6] in STEMS and i), len(words)
    )
    if place == len(words):
        return
    said = ("is", "are", "must", "should", "be", "strictly", "monotonically", "always", "monotone")
    subject = joined([word for word in words[:place] if str(word) not in (*said, "monotonic")])
    behind = list(words[place + 1 :])
    if behind and behind[0].value == "as" and str(behind[-1]).lower() in RISING:
        behind = behind[1:-1]
    condition = _index_of(behind, WHEN, 1)
    names = [
        joined(part)
        for part in _split(
            [w for w in behind[:condition] if str(w) not in "with wrt respect to of on in".split()],
            AND,
        )
        if part
    ]
    tail = behind[condition + 1 :]
    if tail and any(str(word).lower() in EACH for word in tail):
        tail = [word for word in tail if str(word) in RELATIONS and False]
    trend = STEMS[str(words[place]).lower()[:6]]
    end = f" for {joined(tail)}" if tail else ""
    if names and subject:
        yield "\n".join(f"require {subject} {trend} in {name}{end}" for name in names)


RISING = ("rises", "grows", "increases", "rising", "growing")
APPROACH = re.compile(
    r"([A-Za-z_]\w*(?:\[[^\]]*\])?)\s*(?:->|→|goes to|tends to|to|approaches)\s*"
    r"\+?\s*(oo|∞|[Ii]nf\w*|[0-9][\w.]*)"
)


def _limit(text: str) -> Iterator[str]:
    """`lim N->oo L = E`, `L tends to E when N → ∞`"""
    called = re.fullmatch(r"[Ll]im\w*\((.+?),\s*(\w+),\s*(\w+)\)\s*==?\s*(.+)", text)
    if called:
        subject, name, end, target = called.groups()
        yield f"require {subject} -> {target} as {name} -> {'oo' if end in INFINITE else end}"
        return
    found = list(APPROACH.finditer(text))
    infinite = [match for match in found if not match[2][0].isdigit()] or found[-1:]
    rest = text
    for match in reversed(infinite):
        rest = rest[: match.start()] + " " + rest[match.end() :]
    rest = re.sub(r"\b(?:lim|limit|Limit|as|when|for|if|the|of|and)\b_?|\blim_", " ", rest)
    rest = re.sub(r"[{}:]|^\W*(?=[A-Za-z(])|[\s,]+$", " ", rest)
    parts = re.split(r"\s*(?:->|→|=|\bis\b|tends to|goes to|approaches|\bto\b)\s*", rest.strip())
    if len(parts) == 2 and all(parts) and infinite:
        ends = ", ".join(f"{m[1]} -> {m[2] if m[2][0].isdigit() else 'oo'}" for m in infinite)
        yield f"require {parts[0].strip()} -> {parts[1].strip()} as {ends}"


# Objectives, starts, priors


LOSSES = {
    **dict.fromkeys(("huber",), "huber({}, 1e-3)"),
    **dict.fromkeys(("squared", "mse", "l2", "rmse", "squares"), "squared({})"),
    **dict.fromkeys(("absolute", "mae", "l1"), "absolute({})"),
}
"""Names of losses -> how they are written."""


def _objective(words: Words) -> Iterator[str]:
    """`minimize over N, D: loss(N, D)`, `minimize loss(N, D) wrt N, D`, `minimize L = loss(N)`"""
    text = joined(words[1:])
    named = re.fullmatch(r"(.+?)\s+(?:using|by|with|under|in)\s+(\w+)(?:\s+loss)?", text)
    if named and (loss := LOSSES.get(named[2].lower())):
        yield f"{words[0]} {loss.format(named[1])}"
    if ":" in text:
        yield f"{words[0]} {text.rpartition(':')[2].strip()}"
    for pattern in (r"\b(?:over|wrt|by|with|such|subject|choosing|for|in|as)\b", r"\bs\.\s*t\."):
        match = re.search(pattern, text)
        if match and match.start():
            yield f"{words[0]} {text[: match.start()].rstrip(', ')}"
    equal = _index_of(words, ("=",))
    if equal == 2:
        yield f"{words[0]} {joined(words[3:])}"


def _start(words: Words) -> Iterator[str]:
    """`start A in -1:1:3`, `start log(A) = [0, 5, 10]`, `start A from 1 to 10`"""
    middle = _index_of(words, ("in", "=", ":", "~", "∈", "from", "between", "at"), 1)
    left, right = words[1:middle], words[middle + 1 :]
    names = [joined(part) for part in _split(left, (",",)) if part]
    numbers = _numbers(right)
    if not names or not numbers:
        return
    lowered = [str(word).lower() for word in right]
    if len(numbers) == 1:
        yield f"start {', '.join(f'{name} = {numbers[0]}' for name in names)}"
        return
    counted = next((w for w in lowered if w in ("linspace", "geomspace", "logspace")), None)
    ranged = next((w for w in lowered if w in ("range", "arange", "seq")), None)
    values = ", ".join(numbers)
    if "..." in lowered and len(numbers) == 3:
        values = f"{numbers[0]}, {numbers[1]}, ..., {numbers[2]}"
    if len(numbers) == 3 and (counted or ranged or ":" in lowered):
        first, second, third = map(float, numbers)
        step, last = (second, third) if ":" in lowered else (third, second)
        if counted:
            if not 2 <= third <= 100:
                return
            if counted != "linspace":
                ends = (10**first, 10**second) if counted == "logspace" else (first, second)
                first, second = min(ends), max(ends)
                ratio = (second / first) ** (1 / (third - 1)) if first > 0 else 1
                points = ", ".join(f"{first * ratio**i:.4g}" for i in range(int(third)))
                yield f"start {', '.join(names)} in {{{points}}}"
                return
            step = (second - first) / (third - 1)
        values = f"{first:g}, {first + step:g}, ..., {last:g}"
    yield f"start {', '.join(names)} in {{{values}}}"


def _prior(words: Words) -> Iterator[str]:
    """`prior alpha ~ normal(0.3, 0.1)`, `prior alpha = 0.3, 0.1`, `prior alpha: 0.3 +/- 0.1`"""
    middle = _index_of(words, ("=", "~", ":", "in", "∈", "is"), 1)
    subject = joined(words[1:middle])
    rest = [w for w in words[middle:] if w.type != "STRING"]
    while rest and str(rest[0]).lower() in ("=", "~", ":", "is", "in", "∈"):
        rest = rest[1:]
    called = str(rest[0]).lower() if rest else ""
    if called in (*NORMAL, *LOGNORMAL) and rest[-1].value == ")":
        rest = rest[2:-1]
        if called in LOGNORMAL:
            subject = f"log({subject})"
    named = "mean mu loc center sd sigma std scale stdev se".split()
    if rest and str(rest[0]) in named and len(rest) > 1 and rest[1].value != "=":
        rest = rest[1:]
    parts = [
        part[2:] if len(part) > 2 and str(part[0]) in named and part[1].value == "=" else part
        for part in _split(rest, (",", ";", "±", "sd", "sigma", "std", "with"))
        if part
    ]
    text = joined(rest)
    signed = re.split(r"\s*(?:\+\s*/\s*-|\+\s*-|±|\\pm)\s*", text)
    if len(signed) == 2:
        yield f"prior {subject} = {signed[0]} ± {signed[1]}"
    elif len(parts) == 2:
        yield f"prior {subject} = {joined(parts[0])} ± {joined(parts[1])}"
    elif len(numbers := _numbers(rest)) == 2 and text.endswith(")"):
        yield f"prior {subject} = {numbers[0]} ± {numbers[1]}"


def _assignments(words: Words) -> Iterator[str]:
    """`fix alpha at 0.3`, `fix {alpha: 0.3}`, `fix alpha, beta = 0.3`, `tie alpha == beta`"""
    inner = [word for word in words[1:] if word.value not in ("{", "}")]
    signs = ("=", ":", "at", "to", "is", "with", "~", "and", "as")
    parts = []
    for part in _split(inner, (",", "and")):
        middle = _index_of(part, signs, 1)
        value = [word for word in part[middle:] if str(word) not in signs]
        parts.append((joined(part[:middle]), joined(value)))
    if parts and not parts[-1][1] and len(parts) == 2 and words[0].value == "tie":
        yield f"tie {parts[1][0]} = {parts[0][0]}"
        return
    last = parts[-1][1] if parts else ""
    if last:
        yield f"{words[0]} " + ", ".join(f"{name} = {value or last}" for name, value in parts)


def _measure(words: Words) -> Iterator[str]:
    """`measure k[d] = L at step 1000`, `measure k[d] = L[step = 1000]`"""
    equal = _index_of(words, ("=", ":", "as", "from"), 1)
    rest = words[equal + 1 :]
    if not rest or rest[0].type != "NAME":
        return
    pairs = re.findall(r"([A-Za-z_]\w*)\W*?([0-9][\w.]*)", joined(rest[1:]))
    if pairs and len(pairs) == len(_numbers(rest)):
        inner = ", ".join(f"{name} = {number}" for name, number in pairs)
        yield f"measure {joined(words[1:equal])} = {rest[0]}({inner})"


def _identify(words: Words) -> Iterator[str]:
    until = _index_of(words, (*EACH, "where"), 1)
    if until < len(words):
        cut = until - 1 if words[until - 1].value == "for" else until
        yield joined(words[:cut])
    if words[-2].value == "for":
        yield joined(words[:-2])
    relation = _index_of(words, (*RELATIONS, "is", "~", ":"))
    if relation < len(words):
        yield f"{joined(words[:relation])} = {joined(words[relation + 1 :])}"


# Questions and pipelines


def _uses(words: Words) -> Iterator[str]:
    """`uses loss = dcpt.l3`, `uses dcpt.l3 as loss`, `uses a, b from dcpt.l3`"""
    text = joined(words[1:]).replace('"', "")
    names = [n for n in re.findall(r"[A-Za-z_][\w.]*", text) if n not in ("as", "from", "is", "a")]
    names = [name.removesuffix(".law") for name in names if name not in ("fit", "of", "law", "for")]
    paths = [name for name in names if "." in name] or (names[:1] if " as " in text else names[-1:])
    own = [name for name in names if name not in paths]
    if len(paths) == 1 and own:
        yield f"uses {', '.join(own)} : {paths[0]}"
    elif len(paths) == len(own) > 1:
        yield "\n".join(f"uses {name} : {path}" for name, path in zip(own, paths, strict=True))


PARTS = {"by": "by", "per": "by", "group": "by", "grouped": "by", "each": "by"}
PARTS |= {"where": "where", "if": "where", "filter": "where", "with": "where", "when": "where"}
PARTS |= {"at": "at", "to": "at", "predict": "at", "evaluate": "at"}


def _step(words: Words) -> Iterator[str]:
    """The parts of a step in any order."""
    found: dict[str, list[Token]] = {"": []}
    place = ""
    for word in words[1:]:
        part = PARTS.get(str(word).lower())
        if part is None:
            found[place].append(word)
        elif part != place or found[place]:
            place = part
            found.setdefault(place, [])
    path = joined(found.pop("")).rstrip(",")
    if path.startswith("law "):
        path = path[4:]
    tails = []
    for part in ("by", "where", "at"):
        text = re.sub(
            r"(\w+)\s+between\s+(\S+)\s+and\s+(\S+)",
            r"\1 >= \2, \1 <= \3",
            joined(found.get(part, [])),
        )
        text = re.sub(r"\s+is\s+", " = ", text.replace("==", "="))
        pieces = [p.strip() for p in re.split(r",|;|&+|\band\b", text.strip("(){}[]")) if p.strip()]
        if pieces:
            tails.append(f"{part} {', '.join(pieces)}")
    if tails:
        yield "  ".join([f"step {path}", *tails])


def _constraint(words: Words) -> Iterator[str]:
    rest, text = _without_text(words[1:])
    rest = [word for i, word in enumerate(rest) if i or word.value not in ("to", ":")]
    rest = rest[: _index_of(rest, EACH)]
    if rest and rest[-1].value == "for":
        rest = rest[:-1]
    parts = []
    for part in _split(rest, AND):
        relations = [i for i, word in enumerate(part) if str(word) in RELATIONS]
        if len(relations) == 2:
            first, second = relations
            parts += [joined(part[:second]), joined(part[first + 1 :])]
        else:
            parts.append(joined(part))
    yield f"subject to {', '.join(parts)}{text}"


def _path(words: Words) -> Iterator[str]:
    text = "".join(str(word) for word in words[1:]).strip("\"'")
    text = text.removeprefix("law").removesuffix(".law").replace("/", ".").replace("-", "_")
    if "," not in text:
        yield f"{words[0]} {text}"


READERS: dict[str, Callable[[Words], Iterator[str]]] = {
    **dict.fromkeys(("variable", "parameter", "given", "choose"), _declaration),
    "setting": _setting,
    "let": _definition,
    "index": _index,
    "require": _claim,
    "minimize": _objective,
    "maximize": _objective,
    "start": _start,
    "prior": _prior,
    "fix": _assignments,
    "tie": _assignments,
    "measure": _measure,
    "identify": _identify,
    "uses": _uses,
    "step": _step,
    "subject": _constraint,
    "extends": _path,
}
"""Statement -> what reads its words; a line that begins with another word is a definition."""


def candidates(words: Words) -> Iterator[str]:
    """Statements that the words of a line may mean, the likeliest first.

    Args:
        words: the tokens of the line, those that no terminal matches included.
    """
    if len(words) > 1:
        yield from READERS.get(str(words[0]), _definition)(words)
