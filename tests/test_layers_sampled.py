"""Each way to a sign by itself, on random expressions and boxes, against dense sampling."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from claim_sampling import Case, larger_of, sampled, sign_at
from hyperdual import Floats, NoValue
from judging import Judge
from random_laws import cases
from random_sums import in_time, sums

from lawdsl.language import tree
from lawdsl.proof.box import Box
from lawdsl.proof.branch_and_bound.subdivision import sign_by_boxes
from lawdsl.proof.domain import domain_of
from lawdsl.proof.goals import goal_of
from lawdsl.proof.signs.calculus import SignCalculus
from lawdsl.proof.signs.sign import Sign

BITS = {-1: Sign.NEGATIVE, 0: Sign.ZERO, 1: Sign.POSITIVE}
COUNT, POINTS, LOOKED_AT = 250, 60, 6

Fixed = Mapping[str, Fraction]
Source = Callable[[int, int], Iterator[tuple[Case, Fixed, Box, sp.Expr]]]

WAYS: dict[str, Callable[[Box, sp.Expr], Sign]] = {
    "rules": lambda box, e: SignCalculus(box).sign(e),
    "rules and values": lambda box, e: SignCalculus(box, valued=True).sign(e),
    "rules and pieces": lambda box, e: SignCalculus(box, valued=True, pieces=400).sign(e),
    "pieces": lambda box, e: sign_by_boxes(SignCalculus(box), e, limit=200),
}


def questions(seed: int, count: int) -> Iterator[tuple[Case, Fixed, Box, sp.Expr]]:
    """Comparisons whose two sides have values; parameters are given some of the time."""
    rng = random.Random(seed)
    for case in cases(seed, count):
        if isinstance(case.claim.claim, (tree.Finite, tree.LimitNode)):
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
        if in_time(lambda box, e: SignCalculus(box, valued=True).finite(e), box, e):
            yield case, given, box, e


def numbers_alone(seed: int, count: int) -> Iterator[tuple[Case, Fixed, Box, sp.Expr]]:
    """Sums of two symbols, in which pieces have the most to say."""
    for case, box in sums(seed, count):
        yield case, {}, box, case.law.expression


def seen(case: Case, given: Fixed, found: Sign, rng: random.Random) -> Iterator[str]:
    """Points at which there is certainly another sign."""
    points = sampled(case, rng, POINTS, given)
    if not points:
        return
    columns = {k: np.array([float(p[k]) for p in points]) for k in points[0]}
    with np.errstate(all="ignore"):
        values = larger_of(Judge(case.law, columns, Floats()), case.claim.claim)
    values = np.broadcast_to(values, len(points))
    strange = [
        i for i, v in enumerate(values) if not np.isfinite(v) or BITS[np.sign(v)] not in found
    ]
    for i in dict.fromkeys([*strange[:LOOKED_AT], *range(min(LOOKED_AT, len(points)))]):
        try:
            sign = sign_at(case, points[i])
        except (NoValue, OverflowError):
            continue
        if sign is not None and BITS[sign] not in found:
            yield f"{sign} at {points[i]}"


@pytest.mark.parametrize(
    ("source", "count", "enough"),
    [
        (questions, COUNT // 9, 4),
        (numbers_alone, COUNT // 12, 2),
        pytest.param(questions, COUNT, 60, marks=pytest.mark.slow),
        pytest.param(numbers_alone, COUNT, 40, marks=pytest.mark.slow),
    ],
)
def test_no_definite_sign_is_contradicted(source: Source, count: int, enough: int):
    """Enough of them must be definite, for the silence of the judge to mean something."""
    rng = random.Random(1)
    definite: Counter[str] = Counter()
    for case, given, box, e in source(71, count):
        for way, sign in WAYS.items():
            found = in_time(sign, box, e)
            if found is not None and not Sign.REAL.within(found):
                wrong = next(seen(case, given, found, rng), None)
                assert wrong is None, f"{way}: {case}\n{given}\n{e}: {found}, but {wrong}"
                definite[way] += 1

    assert min(definite[way] for way in WAYS) > enough, definite
