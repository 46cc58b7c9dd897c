"""Changes to laws and questions that mostly leave them valid: what proofs and answers are tried on.

Each change is at the level of the grammar: a number, an operator, a function, a claim, a domain or a
statement in place of another. `rewrite` keeps, mostly, only what still resolves without a mistake.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from mutating import ALIKE, NUMBERS

FUNCTIONS = "exp log log10 sqrt sin cos tan atan tanh abs".split()
WRAPPED = (
    *("({})^2", "({})^0.5", "({})^(-1)", "({})^3", "({})^0", "2^({})", "1/({})", "(-({}))"),
    *("max({}, 0)", "min({}, 1)", "max({0}, 1, 2*({0}))", "(({0}) - ({0}))", "({0})/({0})"),
    *("1/(1 + ({}))", "log(1 + ({}))", "exp(-({}))", "({0})^({0})", "(1 - ({}))", "(({}) + 1e-12)"),
)
AMOUNTS = (*NUMBERS, "1e-6", "1e6", "1/3", "2.5", "1e-12", "pi", "0.999999999", "1e15", "3")
DOMAINS = (
    *(
        "> 0",
        ">= 0",
        "< 0",
        "<= 0",
        "> 1",
        "< 1",
        "in [0, 1]",
        "in (0, 1)",
        "in [0, 1)",
        "in [1, 1]",
    ),
    *("in [-1, 1]", "in [1e-9, 1e9]", "in (0, 1e-300]", "in [1e300, 1e308]", ">= 1e-12", "", ""),
    *("in [0, pi]", "> 0, {0} < 2", "in [1, 1.0000001]", "> -1", "< 1e12"),
)
CLAIMS = (
    *("{L} finite", "∂{L}/∂{x} < 0", "∂{L}/∂{x} <= 0", "∂{L}/∂{x} > 0", "∂²{L}/∂{x}² >= 0"),
    *("∂²{L}/∂{x}∂{y} < 0", "{L} increasing in {x}", "{L} decreasing in {x}", "{L} convex in {x}"),
    *("{L} concave in {x}", "{L} -> 0 as {x} -> oo", "{L} -> {p} as {x} -> oo, {y} -> oo"),
    *("{L} -> oo as {x} -> 0", "{L} > 0", "{L} >= {p}", "{L} < {p} + {x}", "{p} < {q}"),
    *(
        "{L} - {p} > 0  for {x} > 1",
        "{x}*∂{L}/∂{x} + {L} >= 0",
        "∂{L}/∂{p} > 0",
        "diff({L}, {x}, {y}) > 0",
    ),
    *("∂{L}/∂{x} < 0  for {x} in [1, 2]", "{L}/{x} decreasing in {x}", "∂³{L}/∂{x}³ < 0"),
    *("{L}({x} = 1) is {law}", "∂{L}/∂{x} < {n}", "{L} <= {n}", "log({L}) convex in {x}"),
)
GOALS = (
    *("log({})", "-({})", "({})^2", "exp({})", "({0}) + {x}", "({0})*{x}", "({0}) - {n}*{x}"),
    *("1/({})", "max({0}, {x})", "min({0}, {n})", "abs({0} - {n})", "({0}) + {n}", "{n}*({0})"),
)
ASKED = (
    *("{x} <= {n}", "{x} >= {n}", "{x} = {n}", "{x} + {y} = 1", "{x}*{y} = {n}", "{x} < {y}"),
    *("{goal} <= {n}", "{goal} >= {n}", "{x}^2 + {y}^2 <= {n}", "{x} <= {x}", "log({x}) <= {n}"),
    *("{x} >= 1, {x} <= 2", "exp({x}) <= {n}", "{x} + {y} >= {n}", "{goal} <= 1.01*({goal})"),
)
LAWS = "chinchilla kaplan repeated dcpt.l3 dcpt.l1 cmr.share mixing.critical mixing.m4".split()
UNIT = re.compile(r"[ \t]+unit[ \t]+[\w^/* -]*?(?=[ \t]*(?:\"|#|$))", re.MULTILINE)
DECLARED = re.compile(r"^[ \t]*(variable|parameter|given|choose)[ \t]+([^\"#\n]*)", re.MULTILINE)
OUTPUT = re.compile(
    r"^([A-Za-z_]\w*(?:\[[^\]]*\])?)[ \t]*=[ \t]*([^\"#\n]*?)(?=[ \t]*(?:unit|\"|#|$))", re.M
)
GOAL = re.compile(r"^[ \t]*(minimize|maximize)[ \t]+([^\"#\n]+)", re.MULTILINE)
CLAIM = re.compile(r"^[ \t]*require[^\n]*\n?", re.MULTILINE)
TERM = re.compile(r"(?<![\w.∂²])(?:\d+(?:\.\d+)?|[A-Za-z_]\w*(?:\[[^\]]*\])?)(?![\w.(\[])")

Change = Callable[[random.Random, str], str]


def rewrite(rng: random.Random, corpus: Sequence[str], is_valid: Callable[[str], bool]) -> str:
    """A text with one to four changes; nine times in ten each is made again until it is valid."""
    text = rng.choice(corpus)
    if rng.random() < 0.6:
        text = UNIT.sub("", text)
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        changed = text
        for _ in range(4):
            changed = rng.choices(CHANGES, WEIGHTS)[0](rng, text)
            if changed != text and (rng.random() < 0.1 or is_valid(changed)):
                break
        else:
            continue
        text = changed[:6000]
    return text


def names_in(text: str, *kinds: str) -> list[str]:
    """What statements of these kinds declare, with subscripts."""
    found = []
    for kind, rest in DECLARED.findall(text):
        if kind in kinds:
            items = re.split(r",\s*(?![^\[(]*[\])])", rest.split(" unit ")[0])
            found += [
                m[0] for m in (re.match(r"\s*([A-Za-z_]\w*(?:\[[^\]]*\])?)", i) for i in items) if m
            ]
    return [name.strip() for name in found]


def _replaced(text: str, match: re.Match[str], new: str, group: int = 0) -> str:
    return text[: match.start(group)] + new + text[match.end(group) :]


def _formulas(text: str) -> list[re.Match[str]]:
    """The right-hand sides of a text: of its equation and lets, and what is best."""
    lets = re.finditer(r"^[ \t]*(let)[ \t]+[^=\n]*=[ \t]*([^\"#\n]+)", text, re.MULTILINE)
    return [*OUTPUT.finditer(text), *lets, *GOAL.finditer(text)]


def _in_formula(rng: random.Random, text: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """A place within a formula."""
    formulas = _formulas(text)
    if not formulas:
        return None
    one = rng.choice(formulas)
    found = list(pattern.finditer(text, one.start(2), one.end(2)))
    return rng.choice(found) if found else None


def _number(rng: random.Random, text: str) -> str:
    found = list(re.finditer(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])", text))
    return _replaced(text, rng.choice(found), rng.choice(AMOUNTS)) if found else text


def _operator(rng: random.Random, text: str) -> str:
    one = _in_formula(rng, text, re.compile(r"[-+*/^]"))
    return _replaced(text, one, rng.choice(ALIKE[0])) if one else text


def _function(rng: random.Random, text: str) -> str:
    one = _in_formula(rng, text, re.compile(rf"\b({'|'.join(FUNCTIONS)})\b(?=\()"))
    return _replaced(text, one, rng.choice(FUNCTIONS)) if one else _wrapped(rng, text)


def _wrapped(rng: random.Random, text: str) -> str:
    """A name or number within a function, a power, a fraction."""
    one = _in_formula(rng, text, TERM)
    if one is None:
        return text
    around = rng.choice((*WRAPPED, *(f"{f}({{}})" for f in FUNCTIONS)))
    return _replaced(text, one, around.format(one[0]))


def _name(rng: random.Random, text: str) -> str:
    """Another declared name in a formula, or a number."""
    one = _in_formula(rng, text, TERM)
    names = names_in(text, "variable", "parameter", "given", "choose")
    return _replaced(text, one, rng.choice((*names, rng.choice(AMOUNTS)))) if one else text


def _term(rng: random.Random, text: str) -> str:
    """A term or a factor more."""
    formulas = _formulas(text)
    names = names_in(text, "variable", "parameter", "given", "choose")
    if not formulas or not names:
        return text
    one, x, y = rng.choice(formulas), rng.choice(names), rng.choice(names)
    more = rng.choice((" + {x}", " - {x}*{y}", " + exp(-{x})", " + {x}^{y}", " + {n}*{x}", "*{x}"))
    return _replaced(text, one, one[2].strip() + more.format(x=x, y=y, n=rng.choice(AMOUNTS)), 2)


def _domain(rng: random.Random, text: str) -> str:
    """Another domain of what a statement declares last."""
    pattern = r"^[ \t]*(?:variable|parameter|given|choose)[^\"#\n]*?([A-Za-z_]\w*(?:\[[^\]]*\])?)"
    pattern += r"((?:[ \t]*(?:in[ \t]|[<>])[^\"#\n]*?)?)(?=[ \t]*(?:unit\b|\"|#|$))"
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if not found:
        return text
    one = rng.choice(found)
    new = rng.choice(DOMAINS).format(one[1])
    if rng.random() < 0.15:
        new = f"> {rng.choice(names_in(text, 'parameter') or ['0'])}"
    return _replaced(text, one, f" {new}", 2)


def _filled(rng: random.Random, text: str, template: str, goal: str = "1") -> str:
    variables = names_in(text, "variable", "choose") or ["x"]
    others = names_in(text, "parameter", "given") or variables
    output = OUTPUT.search(text)
    return template.format(
        L=output[1] if output else "L",
        x=rng.choice(variables),
        y=rng.choice(variables),
        p=rng.choice(others),
        q=rng.choice(others),
        n=rng.choice(AMOUNTS),
        law=rng.choice(LAWS),
        goal=goal,
    )


def _claim(rng: random.Random, text: str) -> str:
    """A claim more, or in place of another."""
    new = f"require {_filled(rng, text, rng.choice(CLAIMS))}\n"
    found = list(CLAIM.finditer(text))
    if found and rng.random() < 0.7:
        return _replaced(text, rng.choice(found), new)
    return f"{text.rstrip()}\n{new}"


def _relation(rng: random.Random, text: str) -> str:
    """Another relation or trend in a claim or a constraint."""
    words = "increasing decreasing convex concave".split()
    lines = list(re.finditer(r"^[ \t]*(require|subject)\b[^\"#\n]*", text, re.MULTILINE))
    if not lines:
        return text
    line = rng.choice(lines)
    found = list(re.compile(rf"[<>]=?|\b({'|'.join(words)})\b").finditer(text, *line.span()))
    if not found:
        return text
    one = rng.choice(found)
    return _replaced(text, one, rng.choice(words if one[1] else ALIKE[1]))


def _without(rng: random.Random, text: str) -> str:
    """A claim, a constraint or a start less."""
    found = list(
        re.finditer(r"^[ \t]*(require|subject|start|identify)\b[^\n]*\n?", text, re.MULTILINE)
    )
    return _replaced(text, rng.choice(found), "") if found else text


def _held(rng: random.Random, text: str) -> str:
    """A parameter at a number or at a formula of others."""
    names = [name for name in names_in(text, "parameter") if "[" not in name]
    if not names:
        return text
    p, q = rng.choice(names), rng.choice(names)
    new = rng.choice(("fix {p} = {n}", "tie {p} = {q}", "tie {p} = {n}*{q}", "tie {p} = 1/{q}"))
    return f"{text.rstrip()}\n{new.format(p=p, q=q, n=rng.choice(AMOUNTS))}\n"


def _goal(rng: random.Random, text: str) -> str:
    """The other end of what is best, or a function of it."""
    one = GOAL.search(text)
    if one is None:
        return _claim(rng, text)
    if rng.random() < 0.4:
        return _replaced(text, one, "minimize" if one[1] == "maximize" else "maximize", 1)
    names = names_in(text, "choose") or ["x"]
    template = rng.choice(GOALS)
    new = template.format(one[2].strip(), x=rng.choice(names), n=rng.choice(AMOUNTS))
    return _replaced(text, one, f"{new}  ", 2)


def _constraint(rng: random.Random, text: str) -> str:
    """A constraint more."""
    one = GOAL.search(text)
    if one is None or not names_in(text, "choose"):
        return _claim(rng, text)
    new = _filled(rng, text, rng.choice(ASKED), one[2].strip())
    return f"{text.rstrip()}\nsubject to {new}\n"


CHANGES: tuple[Change, ...] = (
    *(_number, _operator, _function, _wrapped, _name, _term, _domain, _claim, _relation),
    *(_without, _held, _goal, _constraint),
)
WEIGHTS = (6, 5, 3, 5, 4, 5, 6, 6, 3, 2, 2, 4, 4)
