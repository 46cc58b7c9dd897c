"""Mutations of texts, tables and stored fits. All randomness comes from the generator given."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

TOKEN = re.compile(
    r"[^\W\d]\w*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\"[^\"\n]*\"|->|<=|>=|\n|[ \t]+|.", re.DOTALL
)
NAME, NUMBER = re.compile(r"[^\W\d]\w*"), re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
NUMBERS = (
    "0 1 2 3 1/2 0.5 7 100 -1 1e20 1e200 1e308 1.8e308 5e-324 1e-300 1e-20 1000 1001 0.1 1.0001 "
    "999999999999999999 1e18 2^10 (1e154)^2 0^0 1/0 exp(700) log(0) -0.0 1..3 1..100"
).split()
WORDS = (
    "law question pipeline source variable parameter setting let index over training validation "
    "domain given choose uses subject to minimize maximize require start fix tie measure identify "
    "step extends unit in simplex increasing decreasing convex concave finite as is for expect "
    "proved refuted oo pi sum prod min max exp log abs diff huber squared straightest L N D r E A "
    "alpha i j k chinchilla dcpt.l3 mixing.powers 1..3 Gparam token nat/token"
).split()
SIGNS = "+ - * / ^ ( ) [ ] { } = < > <= >= -> , : . | # \" ∂ ∂² ² ' ; \\ @ ! ~ % & ? == ** // ..".split()
STRANGE = (
    "\0 \r \x1b[31m \u202e \u200b \ufeff \u0410 α ϵ ε ∂ ² ₂ １ ٣ ﬁ é e\u0301 𝑁 大 \x85 \u2028 \u00a0 "
    "\U0001f600 \ud800"
).split(" ")
DEPTHS = (2, 10, 50, 98, 99, 100, 101, 102, 1000, 3000)
OPENERS = (("(", ")"), ("-", ""), ("exp(", ")"), ("2^", ""), ("sum(", " for i)"), ("[", "]"))
OPENERS += (("1/(1 + ", ")"), ("max(1, ", ")"), ("t[i]*", ""))
LONGEST, USUAL = 30_000, 6_000  # characters of a mutated text

Change = Callable[[random.Random, str, Sequence[str]], str]


def mutate_text(rng: random.Random, corpus: Sequence[str], *, light: bool = False) -> str:
    """A text of the corpus with one to five changes, or with one that may leave it valid."""
    text = rng.choice(corpus)
    if light:
        return rng.choice((_numbers, _names, _lines, _signs))(rng, text, corpus)[:USUAL]
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        text = rng.choices(CHANGES, WEIGHTS)[0](rng, text, corpus)
    return text[: LONGEST if rng.random() < 0.02 else USUAL]


def _signs(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    """Another operator, relation or function in place of one."""
    found = list(re.finditer(r" ([-+*/^]|[<>]=?) |[*/^]|\b(exp|log|sqrt|min|max|abs)\b", text))
    if not found:
        return text
    one = rng.choice(found)
    alike = next(a for a in ALIKE if one[0].strip() in a)
    return (
        text[: one.start()] + one[0].replace(one[0].strip(), rng.choice(alike)) + text[one.end() :]
    )


ALIKE = (
    ("+", "-", "*", "/", "^"),
    ("<", ">", "<=", ">="),
    ("exp", "log", "sqrt", "min", "max", "abs"),
)


def _bytes(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    """Characters deleted, doubled, exchanged, inserted or replaced."""
    at = rng.randrange(len(text) + 1)
    end = min(len(text), at + int(rng.expovariate(0.3)) + 1)
    piece = text[at:end]
    what = rng.randrange(5)
    if what == 0:
        return text[:at] + text[end:]
    if what == 1:
        return text[:end] + piece * rng.choice((1, 1, 2, 50)) + text[end:]
    if what == 2:
        return text[:at] + piece[::-1] + text[end:]
    new = rng.choice((*STRANGE, *SIGNS, chr(rng.randrange(32, 127)), chr(rng.randrange(0xD7FF))))
    return text[:at] + new + text[at if what == 3 else end :]


def _tokens(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    """Words deleted, doubled, exchanged, replaced by words of this or of another text."""
    words = TOKEN.findall(text)
    if not words:
        return rng.choice(WORDS)
    at = rng.randrange(len(words))
    end = min(len(words), at + int(rng.expovariate(0.5)) + 1)
    what = rng.randrange(6)
    if what == 0:
        del words[at:end]
    elif what == 1:
        words[end:end] = words[at:end] * rng.choice((1, 1, 1, 3))
    elif what == 2:
        other = rng.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    elif what == 3:
        words[at] = rng.choice(words)
    elif what == 4:
        words[at] = rng.choice((*WORDS, *SIGNS, *NUMBERS))
    else:
        others = TOKEN.findall(rng.choice(corpus)) or [""]
        start = rng.randrange(len(others))
        words[at:end] = others[start : start + rng.randrange(1, 12)]
    return "".join(words)


def _names(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    """One name in place of another, once or everywhere."""
    found = NAME.findall(text)
    if not found:
        return text
    old, new = rng.choice(found), rng.choice((*found, *WORDS))
    count = 0 if rng.random() < 0.3 else 1
    pieces = re.split(rf"\b{re.escape(old)}\b", text)
    if count == 0 or len(pieces) < 2:
        return new.join(pieces)
    at = rng.randrange(1, len(pieces))
    return old.join(pieces[:at]) + new + old.join(pieces[at:])


def _numbers(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    """Another number in place of one, or of a name."""
    found = list((NUMBER if rng.random() < 0.8 else NAME).finditer(text))
    if not found:
        return text
    one = rng.choice(found)
    return text[: one.start()] + rng.choice(NUMBERS) + text[one.end() :]


def _lines(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    """Lines deleted, doubled, exchanged, or taken from another text."""
    lines = text.splitlines(True) or ["\n"]
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(5)
    if what == 0:
        del lines[at]
    elif what == 1:
        lines.insert(other, lines[at])
    elif what == 2:
        lines[at], lines[other] = lines[other], lines[at]
    else:
        theirs = rng.choice(corpus).splitlines(True) or ["\n"]
        start = rng.randrange(len(theirs))
        lines[at : at + (what == 3)] = theirs[start : start + rng.choice((1, 1, 2, 5))]
    return "".join(lines)


def _nested(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    """A part of a line within brackets, signs or functions, many times."""
    found = list(re.finditer(r"[\w.]+", text))
    if not found:
        return text
    one, depth = rng.choice(found), rng.choice(DEPTHS)
    opener, closer = rng.choice(OPENERS)
    deep = opener * depth + one[0] + closer * (depth if rng.random() < 0.9 else depth - 1)
    return text[: one.start()] + deep + text[one.end() :]


def _repeated(rng: random.Random, text: str, corpus: Sequence[str]) -> str:
    """Many terms, or many statements that are alike."""
    lines = text.splitlines(True) or ["\n"]
    at, count = rng.randrange(len(lines)), rng.choice((3, 10, 100, 500))
    if rng.random() < 0.5:
        line = lines[at].rstrip("\n")
        lines[at] = line + rng.choice((" + ", "*", "^", ", ")) + rng.choice(NUMBERS) + "\n"
        lines[at] = lines[at] if count > 100 else lines[at] * 2
    else:
        own = NAME.findall(lines[at])
        name = rng.choice(own) if own else "a"
        lines[at:at] = [lines[at].replace(name, f"{name}{n}") for n in range(count)]
    return "".join(lines)


CHANGES: tuple[Change, ...] = (_tokens, _names, _numbers, _lines, _bytes, _nested, _repeated)
WEIGHTS = (30, 25, 15, 15, 10, 3, 2)


# Stored fits

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e-320, 1e308, 10**30, -(10**400)),
    *(float("inf"), float("-inf"), float("nan"), "", "x", "nan", "1e5", "\ud800", "\x1b[2J"),
    *([], {}, [[]], [None], {"a": 1}, "L = 1", "N", "../../etc/passwd", 2**63, "a" * 5000),
)


def mutate_json(rng: random.Random, corpus: Sequence[str]) -> str:
    """A JSON text of the corpus, its content changed at one to four places, or its characters."""
    text = rng.choice(corpus)
    if rng.random() < 0.1:
        for _ in range(rng.randrange(1, 4)):
            text = _bytes(rng, text, corpus)
        return text
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        changed = _changed(rng, json.loads(text), corpus)
        try:
            text = json.dumps(changed)
        except (ValueError, RecursionError):  # a part was put within itself
            break
    if rng.random() < 0.02:
        at, depth = rng.randrange(len(text)), rng.choice((100, 100_000))
        text = text[:at] + "[" * depth + text[at:]
    return text


def adjust_json(rng: random.Random, text: str) -> str:
    """The same with one or two numbers, texts or fields changed a little: it may still be a fit."""
    content = json.loads(text)
    for _ in range(rng.choice((1, 1, 2))):
        holder, key = rng.choice(list(_places(content)))
        value = holder[key]
        if isinstance(value, bool) or value is None:
            holder[key] = rng.choice((True, False, None, 0.5))
        elif isinstance(value, (int, float)):
            factor = rng.choice((1, -1, 1 + 1e-12, 1.001, 2, 0.5, 1e3, 1e-3, 0))
            holder[key] = type(value)(value * factor) if rng.random() < 0.9 else float(value)
        elif isinstance(value, str):
            holder[key] = rng.choice((value + " ", value.upper(), "x", "", value))
        elif isinstance(value, list):
            rng.shuffle(value)
        elif rng.random() < 0.3 and value:
            del value[rng.choice(list(value))]
        else:
            value[rng.choice(WORDS)] = rng.choice((0, "x", None, [1], {"a": 1.5}))
    return json.dumps(content)


def _changed(rng: random.Random, content: Any, corpus: Sequence[str]) -> Any:
    """The content with a change at one place, chosen among all places."""
    places = list(_places(content))
    if not places:
        return rng.choice(VALUES)
    holder, key = rng.choice(places)
    what = rng.randrange(8)
    if what == 0:
        del holder[key]
    elif what == 1:
        other, its = rng.choice(places)
        holder[key], other[its] = other[its], holder[key]
    elif what == 2 and isinstance(holder[key], (int, float)):
        holder[key] = holder[key] * rng.choice((-1, 0, 0.5, 1e10, 1e-10, 1e300))
    elif what == 3 and isinstance(holder[key], str):
        holder[key] = mutate_text(rng, [holder[key] or "a"])
    elif what == 4 and isinstance(holder[key], list):
        holder[key] = holder[key] * rng.choice((2, 3, 100))
    elif what == 5 and isinstance(holder, dict):
        holder[rng.choice((*WORDS, "__class__", ""))] = holder.pop(key)
    elif what == 6:
        theirs, its = rng.choice(list(_places(json.loads(rng.choice(corpus)))))
        holder[key] = theirs[its]
    else:
        holder[key] = json.loads(json.dumps(rng.choice(VALUES)))
    return content


def _places(content: Any) -> Any:
    """Every place of a value: what holds it, and its key or index there."""
    waiting = [content]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            yield holder, key
            if isinstance(holder[key], (dict, list)) and holder[key]:
                waiting.append(holder[key])
