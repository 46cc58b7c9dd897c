"""Verdicts on random laws, judged by a referee that shares no code with the tool, and the referee."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import pytest
from independent_cases import Case, Limit, Quantity, Target, Term
from independent_formulas import DIGITS, Tree, name, num, text
from independent_identities import identity
from independent_laws import make, make_piecewise, near_extreme
from independent_referee import objections, violated

import lawdsl
from lawdsl.core.diagnostics import LawdslError


def judged(
    numbers: range,
    seed: str,
    folder: Path,
    seconds: float,
    make: Callable[[random.Random], Case] = make,
) -> Counter[str]:
    """The verdicts on random laws, none of which is objected to."""
    counts: Counter[str] = Counter()
    for number in numbers:
        case = make(random.Random(f"{seed}:{number}"))
        path = case.write(folder)
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
    counts = judged(range(24), "quick", tmp_path, 0.15)

    assert counts["proved"] >= 3 and counts["refuted"] >= 6
    assert counts["refused"] <= 3


def test_verdicts_on_random_piecewise_laws(tmp_path: Path):
    counts = judged(range(12), "pieces", tmp_path, 0.2, make_piecewise)

    assert counts["proved"] >= 1 and counts["refuted"] >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_verdicts_on_many_random_piecewise_laws(seed: int, tmp_path: Path):
    counts = judged(range(200), f"slow pieces {seed}", tmp_path, 0.4, make_piecewise)

    assert counts["proved"] >= 20 and counts["refuted"] >= 40


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
    looked_at, caught = 0, [0] * len(WRONG)
    for number in range(40):
        case = make(random.Random(f"wrong:{number}"))
        path = case.write(tmp_path)
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


def _case(formula: Tree, relation: str, at: Tree, **limits: tuple[Limit, ...]) -> Case:
    """`L relation at`; names from x on are variables."""
    quantities = tuple(Quantity(n, n >= "x", own) for n, own in limits.items())
    return Case(quantities, formula, "compare", relation=relation, right=at)


POSITIVE = (Limit(">", num(0)),)
SHARE = (Limit(">=", num(0)), Limit("<=", num(1)))
X, P = name("x"), name("p")
SMALL = [
    # formula, x, whether L > 0 fails there: numbers that are lost beside 1
    (("log", ("+", num(1), ("*", num("6e-3"), ("exp", ("*", num(-1), X))))), 1024, False),
    (("-", num(1), ("tanh", X)), 300, False),
    (("-", ("exp", ("/", num(1), X)), num(1)), 10**80, False),
    (("-", ("log", ("+", num(1), ("/", num(1), X))), ("/", num(1), X)), 10**58, True),
    (("-", ("^", X, ("/", num(1), X)), num(1)), 10**70, False),
    (("-", X, X), 5, True),
    (("log", ("+", num(1), ("exp", ("*", num(-1), X)))), 10**6, None),  # 434,000 digits
    (("-", ("exp", ("*", num(-1), X)), num(2)), 10**6, True),
]


@pytest.mark.parametrize(("formula", "x", "fails"), SMALL)
def test_the_referee_loses_no_number_beside_a_larger_one(formula: Tree, x: int, fails: bool | None):
    case = _case(formula, ">", num(0), x=POSITIVE)

    with mpmath.workdps(DIGITS):
        assert violated(case, {"x": mpmath.mpf(x)}, ()) is fails


def test_a_derivative_that_is_0_is_not_positive():
    x = Quantity("x", True)
    rising = Case((x,), ("^", X, num(3)), "rise", relation="increasing", by="x")

    with mpmath.workdps(DIGITS):
        assert violated(rising, {"x": mpmath.mpf(1)}, ()) is False
        assert violated(rising, {"x": mpmath.mpf(0)}, ()) is not False


def test_a_law_is_not_compared_with_a_number_of_a_million_digits():
    vanishing = _case(("exp", ("*", num(-1), X)), ">", num(0), x=POSITIVE)

    with mpmath.workdps(DIGITS):
        near = [near_extreme(random.Random(n), vanishing, r) for n in range(20) for r in ("<", ">")]
    assert any(near) and all(len(text(one)) < 100 for one in near if one)


RISING = _case(("+", ("*", P, X), num(1)), ">", num(0), p=(), x=SHARE)
FAR = _case(("-", X, P), ">", num(0), p=(), x=POSITIVE)
EXACT = [
    # the claim L > 0, a condition, whether it is said to be necessary, whether that is objected to
    (RISING, "p > -1", True, False),
    (RISING, "p >= 0", True, True),
    (RISING, "p >= 0", False, False),
    (RISING, "p > -2", True, True),  # not even sufficient
    (FAR, "p <= 0", True, False),
    (FAR, "p < -1", True, True),
]


@pytest.mark.parametrize(("case", "condition", "exact", "wrong"), EXACT)
def test_the_referee_looks_at_both_directions_of_a_condition(
    case: Case, condition: str, exact: bool, wrong: bool
):
    said = {"verdict": "conditional", "condition": condition, "exact": exact}

    assert bool(objections(case, said)) is wrong


TARGET = Target(
    (Quantity("x", True, POSITIVE),),
    (
        Quantity("E", False),
        Quantity("A", False, POSITIVE),
        Quantity("a", False, (Limit(">=", num(1)),)),
    ),
    "E",
    (Term("x", "A", "a", exponential=False, sign=-1),),
)
POWER = ("/", P, ("^", X, ("+", num(1), P)))
IDENTITIES = [
    # L for p > 0, the choice in a proof, whether a proof and whether a refutation is objected to
    (("+", num(2), POWER), "E = 2, A = p, a = 1 + p", False, True),
    (("+", num(2), POWER), "E = 2, A = p, a = 1 - p", True, True),
    (("+", num(2), POWER), "E = 1, A = p, a = 1 + p", True, True),
    (("-", num(2), POWER), "E = 2, A = -p, a = 1 + p", True, False),  # A > 0
    (("/", P, ("^", X, ("/", P, ("+", num(1), P)))), "E = 0, A = p, a = p/(1 + p)", True, False),
    (("+", POWER, ("/", num("1e-9"), X)), "E = 0, A = p, a = 1 + p", True, False),
    (("log", X), "E = 0, A = p, a = 1 + p", True, False),
]


@pytest.mark.parametrize(("formula", "choice", "proof_wrong", "refutation_wrong"), IDENTITIES)
def test_the_referee_of_identities(
    formula: Tree, choice: str, proof_wrong: bool, refutation_wrong: bool
):
    quantities = (Quantity("x", True, POSITIVE), Quantity("p", False, POSITIVE))
    case = Case(quantities, formula, "is", target=TARGET)
    proved = {"verdict": "proved", "proof": [f"target with {choice}"]}
    refuted = {"verdict": "refuted", "witness": {"x": "1", "p": "3/2"}, "never": False}

    assert bool(objections(case, proved)) is proof_wrong
    assert bool(objections(case, refuted)) is refutation_wrong


def test_verdicts_on_random_identities(tmp_path: Path):
    counts: Counter[str] = Counter()
    for number in range(40):
        case = identity(random.Random(f"identity:{number}"))
        (verdict,) = lawdsl.check(lawdsl.load(str(case.write(tmp_path))), seconds=0.15).claims
        counts[verdict.verdict] += 1
        found = objections(case, verdict.to_json(), seed=number)
        assert not found, f"{number}: {found}\n{case.text()}{verdict}"

    assert counts["proved"] >= 4 and counts["refuted"] >= 4, counts
