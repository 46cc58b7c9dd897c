"""The words of a line that does not parse -> the statement that they most likely mean, as text.

Each reader looks for the parts of one kind of statement, in whatever order and with whatever signs
between them, and writes them in the form of the language. What it writes is a candidate only: it is
suggested where it parses and keeps all names and numbers of the line (`suggestions.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lark import Token

from lawdsl.language.foreign.claims import grid_of
from lawdsl.language.mistakes.loose_declarations import declaration, definition, index, setting
from lawdsl.language.mistakes.loose_words import (
    AND,
    EACH,
    INFINITE,
    LOGNORMAL,
    NORMAL,
    RELATIONS,
    STEMS,
    TURNED,
    WHEN,
    Words,
    index_of,
    joined,
    numbers_of,
    split,
    without_text,
)

# Claims


def _claim(words: Words) -> Iterator[str]:
    rest = list(words[1:])
    behind = rest[index_of(rest, (",",)) + 1 :]
    if rest[0].value == "for" and behind:  # for all t, L > 0
        yield from _claim([words[0], *behind])
        yield f"require {joined(behind)}"
    yield from _trend(rest)
    text = joined(rest)
    derivative = re.sub(
        r"\b(?:partial|del|d)\s+(\w+)\s*/\s*(?:partial|del|d)\s+(\w+)", r"∂\1/∂\2", text
    )
    if derivative != text:
        yield f"require {derivative}"
    if re.search(r"\blim|->|→|\btends|\bapproach|\bconverge", text):
        yield from _limit(text)
    until = index_of(rest, EACH)
    if until < len(rest) and until > 1:
        kept = rest[: until - 1] if str(rest[until - 1]) in (*WHEN, "on", "in") else rest[:until]
        if any(str(word) in RELATIONS for word in rest[until:]):
            yield f"require {joined(kept)} for {joined(rest[until + 1 :])}"
        yield f"require {joined(kept)}"
    until = index_of(rest, ("everywhere", "always", "overall"))
    if until < len(rest):
        yield f"require {joined(rest[:until])}"
    parts = split(rest, AND)
    compared = [any(str(word) in RELATIONS for word in part) for part in parts]
    if len(parts) > 1 and all(parts) and compared[-1] and not any(compared[:-1]):
        last = parts[-1]
        tail = joined(last[next(i for i, w in enumerate(last) if str(w) in RELATIONS) :])
        yield "\n".join(f"require {joined(part)} {tail}" for part in parts[:-1]) + (
            f"\nrequire {joined(last)}"
        )
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
    condition = index_of(behind, WHEN, 1)
    names = [
        joined(part)
        for part in split(
            [w for w in behind[:condition] if str(w) not in "with wrt respect to of on in".split()],
            AND,
        )
        if part
    ]
    tail = behind[condition + 1 :]
    if any(str(word).lower() in EACH for word in tail):
        tail = []
    trend = STEMS[str(words[place]).lower()[:6]]
    if place > 1 and [str(word) for word in words[place - 2 : place]] in (
        ["non", "-"],
        ["is", "not"],
    ):
        subject = joined([word for word in words[: place - 2] if str(word) not in said])
        relation = {"increasing": "<=", "decreasing": ">="}.get(trend)
        if relation and names:
            yield "\n".join(f"require ∂{subject}/∂{name} {relation} 0" for name in names)
        return
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
    shared = re.search(r"(\w+)((?:\s*,\s*\w+)+)\s*(?:->|→)\s*(oo|∞|[Ii]nf\w*)", text)
    if shared and shared[1] not in INFINITE:  # as N, D -> oo
        names = [shared[1], *re.findall(r"\w+", shared[2])]
        each = ", ".join(f"{name} -> oo" for name in names)
        text = f"{text[: shared.start()]}{each}{text[shared.end() :]}"
    found = list(APPROACH.finditer(text))
    infinite = [match for match in found if not match[2][0].isdigit()] or found[-1:]
    rest = text
    for match in reversed(infinite):
        rest = rest[: match.start()] + " " + rest[match.end() :]
    rest = re.sub(r"\b(?:lim|limit|Limit|as|when|for|if|the|of|and)\b_?|\blim_", " ", rest)
    rest = re.sub(r"[{}:]|^\W*(?=[A-Za-z(])|[\s,]+$", " ", rest)
    parts = re.split(
        r"\s*(?:->|→|=|\bis\b|tends to|goes to|converges to|approaches|\bto\b)\s*", rest.strip()
    )
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
    if (
        re.match(r"(?:\w+\s+)+of\s", text) and text.split()[0].lower() not in LOSSES
    ):  # the loss of domain(N, D)
        yield f"{words[0]} {re.split(r'^(?:[A-Za-z_]+ +)+of +', text)[-1]}"
    summed = re.fullmatch(r"(?:the\s+)?(?:sum|mean|average|total)\s+(?:of\s+)?(.+)", text)
    if summed:
        yield f"{words[0]} {summed[1]}"
    named = re.fullmatch(r"(.+?)\s+(?:using|by|with|under|in)\s+(\w+)(?:\s+loss)?", text)
    if named and (loss := LOSSES.get(named[2].lower())):
        yield f"{words[0]} {loss.format(named[1])}"
    called = re.fullmatch(r"(\w+)\s+(?:\w+\s+)?(?:of\s+|on\s+)?(.+)", text)
    if called and called[1].lower() in LOSSES and "(" in called[2]:
        if called[1].lower() == "huber":
            yield f"{words[0]} huber({called[2]})"
        yield f"{words[0]} {LOSSES[called[1].lower()].format(called[2])}"
    limited = re.match(
        r"(.+?)\s*(?:\bs\.\s*t\.|\bsubject to\b|\bsuch that\b|\bwith\b)\s*(.+)", text
    )
    if limited:
        yield f"{words[0]} {limited[1].rstrip(',')}\nsubject to {limited[2]}"
    if ":" in text:
        yield f"{words[0]} {text.rpartition(':')[2].strip()}"
    for pattern in (r"\b(?:over|wrt|by|with|such|subject|choosing|for|in|as)\b", r"\bs\.\s*t\."):
        match = re.search(pattern, text)
        if match and match.start():
            yield f"{words[0]} {text[: match.start()].rstrip(', ')}"
    equal = index_of(words, ("=",))
    if equal == 2:
        yield f"{words[0]} {joined(words[3:])}"


def _start(words: Words) -> Iterator[str]:
    """`start A in -1:1:3`, `start log(A) = [0, 5, 10]`, `start A from 1 to 10`"""
    middle = index_of(words, ("in", "=", ":", "~", "∈", "from", "between", "at"), 1)
    left, right = words[1:middle], words[middle + 1 :]
    if "{" in right and "in" in right:  # alpha = beta in {0.2, 0.5}
        middle = index_of(words, ("in",))
        left, right = words[1:middle], words[middle + 1 :]
    names = [joined(part) for part in split(left, (",", "=")) if part]
    numbers = numbers_of(right)
    if not names or not numbers:
        return
    grid = grid_of(joined(right))
    if grid is not None:
        yield f"start {', '.join(names)} in {grid}"
    if len(numbers) == 1:
        yield f"start {', '.join(f'{name} = {numbers[0]}' for name in names)}"
        return
    if grid is not None or (right[0].type == "NAME" and "(" in right):
        return
    values = ", ".join(numbers)
    if "..." in right and len(numbers) == 3:
        values = f"{numbers[0]}, {numbers[1]}, ..., {numbers[2]}"
    yield f"start {', '.join(names)} in {{{values}}}"


def _prior(words: Words) -> Iterator[str]:
    """`prior alpha ~ normal(0.3, 0.1)`, `prior alpha = 0.3, 0.1`, `prior alpha: 0.3 +/- 0.1`"""
    middle = index_of(words, ("=", "~", ":", "in", "∈", "is"), 1)
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
        for part in split(rest, (",", ";", "±", "sd", "sigma", "std", "with"))
        if part
    ]
    parts = [part[1:] if part[0].value == "=" else part for part in parts]
    text = joined(rest)
    interval = re.match(
        r"(.+?)\s*[(\[].*?\b9[05]\s*%?.*?([0-9.]+)\s*(?:-|–|,|to)\s*([0-9.]+)", text
    )
    if interval:
        low, high = float(interval[2]), float(interval[3])
        yield f"prior {subject} = {interval[1]} ± {abs(high - low) / 3.92:.3g}"
    several = split(words[1:], (",",))
    if len(several) > 1 and all("=" in part for part in several):
        yield "\n".join(f"prior {joined(part)}" for part in several)
    signed = re.split(r"\s*(?:\+\s*/\s*-|\+\s*-|±|\\pm)\s*", text)
    if len(signed) == 2:
        yield f"prior {subject} = {signed[0]} ± {signed[1]}"
    elif len(parts) == 2:
        yield f"prior {subject} = {joined(parts[0])} ± {joined(parts[1])}"
    elif len(numbers := numbers_of(rest)) == 2 and text.endswith(")"):
        yield f"prior {subject} = {numbers[0]} ± {numbers[1]}"


def _assignments(words: Words) -> Iterator[str]:
    """`fix alpha at 0.3`, `fix {alpha: 0.3}`, `fix alpha, beta = 0.3`, `tie alpha == beta`"""
    inner = [word for word in words[1:] if word.value not in ("{", "}")]
    signs = ("=", ":", "at", "to", "is", "with", "~", "and", "as")
    parts = []
    for part in split(inner, (",", "and")):
        middle = index_of(part, signs, 1)
        value = [word for word in part[middle:] if str(word) not in signs]
        parts.append((joined(part[:middle]), joined(value)))
    if len(parts) > 1 and words[0].value == "tie" and not any(value for _, value in parts):
        names = [name.strip("() ") for name, _ in parts]
        yield f"tie {', '.join(f'{name} = {names[-1]}' for name in names[:-1])}"
        return
    chain = split(inner, ("=",))
    if len(chain) > 2 and "," not in inner:
        common = joined(chain[-1])
        yield f"{words[0]} " + ", ".join(f"{joined(name)} = {common}" for name in chain[:-1])
    last = parts[-1][1] if parts else ""
    if last:
        yield f"{words[0]} " + ", ".join(f"{name} = {value or last}" for name, value in parts)


def _measure(words: Words) -> Iterator[str]:
    """`measure k[d] = L at step 1000`, `measure k[d] = L[step = 1000]`"""
    equal = index_of(words, ("=", ":", "as", "from"), 1)
    rest = words[equal + 1 :]
    if not rest or rest[0].type != "NAME":
        return
    pairs = re.findall(r"([A-Za-z_]\w*)\W*?([0-9][\w.]*)", joined(rest[1:]))
    if pairs and len(pairs) == len(numbers_of(rest)):
        inner = ", ".join(f"{name} = {number}" for name, number in pairs)
        yield f"measure {joined(words[1:equal])} = {rest[0]}({inner})"


def _identify(words: Words) -> Iterator[str]:
    until = index_of(words, (*EACH, "where"), 1)
    if until < len(words):
        cut = until - 1 if words[until - 1].value == "for" else until
        yield joined(words[:cut])
    if words[-2].value == "for":
        yield joined(words[:-2])
    relation = index_of(words, (*RELATIONS, "is", "~", ":"))
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
PARTS |= {"group_by": "by", "groupby": "by"}
PARTS |= {"at": "at", "to": "at", "predict": "at", "evaluate": "at"}


def _step(words: Words) -> Iterator[str]:
    """The parts of a step in any order."""
    steps = [joined(part) for part in split(words[1:], (",", "then", "->"))]
    if len(steps) > 1 and all(re.fullmatch(r"\w+(?:\.\w+)+", step) for step in steps):
        yield "\n".join(f"step {step}" for step in steps)
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
        text = re.sub(
            r"([\w.]+)\s*(<=?|≤)\s*([A-Za-z_]\w*)\s*(<=?|≤)\s*([\w.]+)",
            lambda m: f"{m[3]} {TURNED[m[2]]} {m[1]}, {m[3]} {m[4]} {m[5]}",
            text,
        )
        text = re.sub(r"\s+(?:is\s+)?not\s+", " != ", text)
        text = re.sub(r"\s+is\s+", " = ", text.replace("==", "="))
        pieces = [p.strip() for p in re.split(r",|;|&+|\band\b", text.strip("(){}[]")) if p.strip()]
        if part == "by" and all(word.type == "NAME" for word in found.get(part, [])):
            pieces = [str(word) for word in found.get(part, []) if word.value != "and"]
        if part == "at":  # a step predicts at one value of each variable
            pieces = [re.sub(r"\s*[<>≤≥]=?\s*", " = ", piece) for piece in pieces]
        if pieces:
            tails.append(f"{part} {', '.join(pieces)}")
    if tails:
        yield "  ".join([f"step {path}", *tails])


def _constraint(words: Words) -> Iterator[str]:
    rest, text = without_text(words[1:])
    rest = [word for i, word in enumerate(rest) if i or word.value not in ("to", ":")]
    rest = rest[: index_of(rest, EACH)]
    if rest and rest[-1].value == "for":
        rest = rest[:-1]
    parts = []
    for part in split(rest, AND):
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
    **dict.fromkeys(("variable", "parameter", "given", "choose"), declaration),
    "setting": setting,
    "let": definition,
    "index": index,
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


OPERATORS = {
    r"\s+divided\s+by\s+": "/",
    r"\s+over\s+": "/",
    r"\s+per\s+": "/",
    r"\s+times\s+": "*",
    r"\s+plus\s+": " + ",
    r"\s+minus\s+": " - ",
    r"\s+squared\b": "^2",
    r"\s+to\s+the\s+power(?:\s+of)?\s+": "^",
}
"""Operators in words -> their signs."""


def with_signs(text: str) -> str:
    """A formula in which operators stand as signs, not in words.

    Args:
        text: the text of a statement.
    """
    for words, sign in OPERATORS.items():
        text = re.sub(words, sign, text)
    return text


def candidates(words: Words) -> Iterator[str]:
    """Statements that the words of a line may mean, the likeliest first.

    Args:
        words: the tokens of the line, those that no terminal matches included.
    """
    if len(words) > 1:
        yield from READERS.get(str(words[0]), definition)(words)
        text = joined(words)
        yield with_signs(text)
        yield text.replace(";", ",")
        yield f"{words[0]}{text.removeprefix(words[0]).translate(str.maketrans('', '', '{}'))}"
        yield re.sub(r"(\w)\[([^\]]*=[^\]]*)\]", r"\1(\2)", text)  # loss[N, r = x]
        yield re.sub(r"(?<=\w)\s*:\s*", " = ", text)
