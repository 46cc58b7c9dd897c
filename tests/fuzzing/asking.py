"""Questions and the values that they are asked with: mutated ones, and new ones about shipped laws."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from mutating import mutate_text
from rewriting import AMOUNTS, ASKED, GOALS, rewrite

from lawdsl.core.diagnostics import Text
from lawdsl.language import library
from lawdsl.language.symbols import Declarations
from lawdsl.language.tree import Number

PLAIN = "0.5 1 2 0.3 10 100 1e9 0 -1 1e300 1e-300 0.1,0.2 inf".split()
WEIGHTS = (6, 6, 6, 6, 3, 3, 3, 1, 1, 1, 1, 1, 0.3)
SIZES = (1e-12, 1e-3, 0.1, 0.3, 1.0, 1.0, 2.0, 10.0, 1e3, 1e9, 1e12)


@cache
def asked_laws() -> dict[str, Declarations]:
    """The shipped laws without index sets."""
    found = {name: library.declarations(name)[0] for name in sorted(library.shipped())}
    return {name: law for name, law in found.items() if not law.indices}


def new_question(rng: random.Random) -> str:
    """A question about one or two laws, with some variables unknown and the others given."""
    laws = asked_laws()
    names = rng.sample(sorted(laws), rng.choice((1, 1, 1, 2)))
    uses = [f"f{n}" for n in range(len(names))]
    lines = ["question fuzz", *(f"uses {u} : {n}" for u, n in zip(uses, names, strict=True))]
    variables = {s.name: s for n in names for s in laws[n].symbols.values() if s.kind == "variable"}
    unknown = rng.sample(sorted(variables), min(len(variables), rng.choice((1, 1, 2, 3))))
    for name in variables:
        if name not in unknown:
            lines.append(f"given {name}")
        else:
            size = rng.choice(SIZES)
            domain = ("> 0", "> 0", "> 0", f"in [{size:g}, {100 * size:g}]", f"in (0, {size:g}]")
            domain += ("in [0, 1]", "in (0, 1]", f">= {size:g}", "", "in [1, 1]", "< 0")
            lines.append(f"choose {name} {rng.choice(domain)}")
    values = []
    for use, name in zip(uses, names, strict=True):
        own = [s.name for s in laws[name].symbols.values() if s.kind == "variable"]
        values.append(f"{use}({', '.join(own)})")
    goal = rng.choice(
        (*values, *values, " + ".join(values), rng.choice(unknown), " - ".join(values))
    )
    if rng.random() < 0.3:
        goal = rng.choice(GOALS).format(goal, x=rng.choice(unknown), n=rng.choice(AMOUNTS))
    lines.append(f"{rng.choice(('minimize', 'maximize'))} {goal}")
    for _ in range(rng.choice((0, 1, 1, 2))):
        names = {"x": rng.choice(unknown), "y": rng.choice(sorted(variables))}
        asked = rng.choice(ASKED)
        lines.append(f"subject to {asked.format(**names, goal=rng.choice(values), n=amount(rng))}")
    return "\n".join(lines) + "\n"


def amount(rng: random.Random) -> str:
    return (
        f"{rng.choice(SIZES) * rng.uniform(0.5, 5):.4g}"
        if rng.random() < 0.8
        else rng.choice(AMOUNTS)
    )


def question_text(rng: random.Random, corpus: Sequence[str], valid: Any) -> str:
    """A new question, a changed one, or one with mistakes."""
    how = rng.choices(("new", "changed", "mutated"), (45, 40, 15))[0]
    if how == "mutated":
        return mutate_text(rng, corpus, light=rng.random() < 0.5)
    if how == "changed":
        return rewrite(rng, corpus, valid)
    text = new_question(rng)
    return rewrite(rng, [text], valid) if rng.random() < 0.5 else text


def value_of(rng: random.Random, bounds: Sequence[tuple[str, Any]]) -> str:
    """A number within bounds, mostly."""
    if rng.random() < 0.08:
        return rng.choices(PLAIN, WEIGHTS)[0]
    ends: dict[str, float] = {}
    for relation, limit in bounds:
        if isinstance(limit, Number):
            with suppress(ValueError):
                ends[relation[0]] = float(limit.text)
    low, high = ends.get(">"), ends.get("<")
    size = rng.choice(SIZES) * rng.uniform(0.5, 2)
    if low is not None and high is not None:
        return repr(low + (high - low) * rng.uniform(0.01, 0.99))
    if high is not None:
        return repr(high - size)
    return repr((low or 0.0) + size)


def values_for(rng: random.Random, text: str, fits: dict[str, str]) -> list[str]:
    """The arguments that give a question its fits, parameters and givens.

    Args:
        rng: the generator.
        text: the question.
        fits: law -> the file of its fit.

    Raises:
        Exception: the question cannot be read.
    """
    asked, _ = library.declared_question(Text("input.law", text), library.Path("."))
    told = []
    for use, law in asked.uses.items():
        if law.name in fits and (law.indices or rng.random() < 0.5):
            told.append(f"{use}={fits[law.name]}")
            continue
        for symbol in law.symbols.values():
            if symbol.kind == "parameter":
                told.append(f"{use}.{symbol.name}={value_of(rng, symbol.bounds)}")
    for symbol in asked.of_kind("given"):
        if rng.random() < 0.98:
            of_law = [law.symbols.get(symbol.name) for law in asked.uses.values()]
            bounds = [b for s in (symbol, *of_law) if s is not None for b in s.bounds]
            told.append(f"{symbol.name}={value_of(rng, bounds)}")
    return told
