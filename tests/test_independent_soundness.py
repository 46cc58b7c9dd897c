"""Verdicts on random laws, judged by a referee that shares no code with the tool, and the referee."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from independent_cases import Case, Limit, Quantity
from independent_formulas import num
from independent_laws import make
from independent_referee import objections

import lawdsl
from lawdsl.diagnostics import LawdslError


def judged(numbers: range, seed: str, folder: Path, seconds: float) -> Counter[str]:
    """The verdicts on random laws, none of which is objected to."""
    counts: Counter[str] = Counter()
    path = folder / "example.law"
    for number in numbers:
        case = make(random.Random(f"{seed}:{number}"))
        path.write_text(case.text(), encoding="utf-8")
        try:
            (verdict,) = lawdsl.check(lawdsl.load(str(path)), seconds=seconds).claims
        except LawdslError:
            counts["refused"] += 1
            continue
        counts[verdict.verdict] += 1
        found = objections(case, verdict.to_json(), seed=number)
        assert not found, f"{seed}:{number}: {found}\n{case.text()}{verdict}"
    return counts


def test_verdicts_on_random_laws(tmp_path: Path):
    counts = judged(range(40), "quick", tmp_path, 0.15)

    assert counts["proved"] >= 5 and counts["refuted"] >= 10
    assert counts["refused"] <= 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_verdicts_on_many_random_laws(seed: int, tmp_path: Path):
    counts = judged(range(200), f"slow {seed}", tmp_path, 0.3)

    assert counts["proved"] >= 20 and counts["refuted"] >= 40


WRONG: list[dict[str, Any]] = [
    {"verdict": "proved"},
    {"verdict": "inside", "face": "x = 1000"},
    {"verdict": "conditional", "condition": "1 > 0"},
    {"verdict": "refuted", "witness": {}, "never": True, "value": None},
]


def test_the_referee_objects_to_wrong_verdicts(tmp_path: Path):
    """Claims of random laws that are neither true nor false everywhere, with other verdicts."""
    path = tmp_path / "example.law"
    looked_at, caught = 0, [0] * len(WRONG)
    for number in range(40):
        case = make(random.Random(f"wrong:{number}"))
        path.write_text(case.text(), encoding="utf-8")
        if case.kind not in ("compare", "rise"):
            continue
        try:
            (verdict,) = lawdsl.check(lawdsl.load(str(path)), seconds=0.1).claims
        except LawdslError:
            continue
        if verdict.verdict != "refuted" or not verdict.witness or verdict.never:
            continue
        looked_at += 1
        for k, said in enumerate(WRONG):
            caught[k] += bool(objections(case, {**verdict.to_json(), **said}, seed=number))

    assert looked_at >= 5 and min(caught) >= 0.6 * looked_at, (caught, looked_at)


ABOVE = Case(
    (Quantity("x", True, (Limit(">", num(0)), Limit("<=", num(1)))),),
    ("name", "x"),
    "compare",
    relation=">",
    right=num("0.5"),
)
BESIDE = [
    # witness, value beside it, whether that is objected to
    ("1/4", "L - 0.5 = -0.25", False),
    ("1/2", "L - 0.5 = 0", False),
    ("3/4", "L - 0.5 = 0.25", True),  # the claim holds there
    ("0", "L - 0.5 = -0.5", True),  # outside the domain
    ("1/4", "L - 0.5 = 0.25", True),  # another sign
    ("1/4", "L - 0.5 = -0.26", True),
]


@pytest.mark.parametrize(("x", "value", "wrong"), BESIDE)
def test_the_referee_looks_at_a_witness_and_what_stands_beside_it(x: str, value: str, wrong: bool):
    said = {"verdict": "refuted", "witness": {"x": x}, "value": value, "never": False}

    assert bool(objections(ABOVE, said)) is wrong
