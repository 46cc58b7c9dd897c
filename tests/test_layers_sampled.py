"""Each way to a sign by itself, on random expressions and boxes, against dense sampling."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import pytest
import sympy as sp
from judging import Floats, Judge, NoValue, claims_on
from random_laws import Case, cases, larger_of, sampled, sign_at

from lawdsl.budget import OutOfTime, time_limit
from lawdsl.language import tree
from lawdsl.proof.box import Box
from lawdsl.proof.boxes import sign_by_boxes
from lawdsl.proof.domain import domain_of
from lawdsl.proof.goals import goal_of
from lawdsl.proof.sign import Sign
from lawdsl.proof.signs import Signs

BITS = {-1: Sign.NEGATIVE, 0: Sign.ZERO, 1: Sign.POSITIVE}
POINTS, LOOKED_AT, SECONDS = 60, 6, 0.5

Way = Callable[[Box, sp.Expr], Sign]
Fixed = Mapping[str, Fraction]

WAYS: dict[str, tuple[Way, int]] = {
    # how many definite answers there must be at least, for the silence of the judge to mean something
    "rules": (lambda box, e: Signs(box).sign(e), 150),
    "rules and values": (lambda box, e: Signs(box, valued=True).sign(e), 150),
    "rules and pieces": (lambda box, e: Signs(box, valued=True, pieces=400).sign(e), 150),
    "pieces": (lambda box, e: sign_by_boxes(box, e, limit=200), 150),
}


def questions(seed: int, count: int) -> Iterator[tuple[Case, Fixed, Box, sp.Expr]]:
    """Comparisons whose two sides have values; parameters are given some of the time."""
    rng = random.Random(seed)
    for case in cases(seed, count):
        if isinstance(case.claim.claim, (tree.Finite, tree.Limit)):
            continue
        given: Fixed = {}
        if rng.random() < 0.6:
            inside = sampled(case, rng, 1)
            given = {q.name: inside[0][q.name] for q in case.law.parameters} if inside else {}
            given = {name: Fraction(repr(float(value))) for name, value in given.items()}
            case = replace(case, law=case.law.at(**{k: float(v) for k, v in given.items()}))
        box = domain_of(case.law, case.claim)
        if box.lets or box.contradiction() is not None:
            continue
        e = box.independent(goal_of(case.law, case.claim.claim, box).larger)
        if in_time(lambda box, e: Signs(box, valued=True).finite(e), box, e):
            yield case, given, box, e


RANGES = "> 0|>= 0|in [0, 1]|in (0, 1]|in [0, 1)|in (0, 2)|in [-1, 1]|>= 0.5|in [0.2, 3]|>= s".split("|")
FACTORS = "x y x^0.5 y^1.5 x^2 y^2 x^3 x*y 1/x 1/(1+y) (1+x)^0.7 (1-x) (x-y) exp(-x) exp(x) exp(-x*y)"
FACTORS += " log(1+x) log(x) log(x)^2 tanh(y) (1-exp(-x)) exp(-1/x) exp(log(x)^2/9) abs(x-1) max(x,y) s"


def sums(seed: int, count: int) -> Iterator[tuple[Case, Fixed, Box, sp.Expr]]:
    """Short sums of two symbols with numbers, open, closed and infinite faces."""
    rng = random.Random(seed)
    while count > 0:
        lines = ["law sums", "setting s = 0.5"]
        lines += [f"variable {name} {rng.choice(RANGES)}" for name in "xy"]
        terms = ["*".join(rng.sample(FACTORS.split(), rng.choice((1, 2, 2)))) for _ in range(3)]
        numbers = [rng.choice(("", "-", "0.5*", "-0.5*", "-2*", "3*")) for _ in range(3)]
        shown = [f"({n}{t})" for n, t in zip(numbers, terms, strict=True)][: rng.choice((2, 3))]
        text = "\n".join([*lines, "L = " + " + ".join([*shown, *rng.choice(((), ("1",)))])])
        law, (claim,) = claims_on(text, "L > 0")
        box = domain_of(law, claim)
        e = in_time(lambda box, e, law=law: law.expression, box, sp.S.Zero)
        if e is not None and in_time(lambda box, e: Signs(box, valued=True).finite(e), box, e):
            count -= 1
            yield Case(law, claim, text), {}, box, e


def in_time(way: Callable[[Box, sp.Expr], Any], box: Box, e: sp.Expr) -> Any:
    """What is found in the time that there is, or None."""
    try:
        with time_limit(SECONDS):
            return way(box, e)
    except OutOfTime:
        return None


def seen(case: Case, given: Fixed, found: Sign, rng: random.Random) -> Iterator[str]:
    """Points at which there is certainly another sign."""
    points = sampled(case, rng, POINTS, given)
    if not points:
        return
    columns = {k: np.array([float(p[k]) for p in points]) for k in points[0]}
    with np.errstate(all="ignore"):
        values = larger_of(Judge(case.law, columns, Floats()), case.claim.claim)
    values = np.broadcast_to(values, len(points))
    strange = [i for i, v in enumerate(values) if not np.isfinite(v) or BITS[np.sign(v)] not in found]
    for i in dict.fromkeys([*strange[:LOOKED_AT], *range(min(LOOKED_AT, len(points)))]):
        try:
            sign = sign_at(case, points[i])
        except (NoValue, OverflowError):
            continue
        if sign is not None and BITS[sign] not in found:
            yield f"{sign} at {points[i]}"


@pytest.mark.parametrize("way", WAYS)
def test_no_definite_sign_is_contradicted(way: str):
    rng, (sign, enough) = random.Random(1), WAYS[way]
    answers: Counter[Sign | None] = Counter()
    for case, given, box, e in chain(questions(71, 500), sums(72, 500)):
        found = in_time(sign, box, e)
        answers[found] += 1
        if found is not None and not Sign.REAL.within(found):
            wrong = next(seen(case, given, found, rng), None)
            assert wrong is None, f"{case}\n{given}\n{e}: {found}, but {wrong}"

    open_questions = answers[None] + answers[Sign.REAL] + answers[Sign.UNKNOWN]
    assert answers.total() - open_questions > enough, answers
