"""Bounds against numbers and names: those that exclude each other, and those that follow."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest

from lawdsl.language import differences
from lawdsl.language.differences import ZERO, Difference, contradiction, implied


def bounds(*stated: str) -> list[Difference]:
    """`x > y + 2`, `x >= 3`, as bounds; `0 > x - 3` says x < 3."""
    found = []
    for one in stated:
        greater, relation, rest = one.split(" ", 2)
        less, *number = rest.split(" ")
        distance = Fraction("".join(number) or "0")
        if less.lstrip("-").isdigit():
            less, distance = ZERO, Fraction(less)
        node = ZERO if greater == "0" else greater
        found.append(Difference(node, less, distance, relation == ">"))
    return found


CASES = [
    (("a > 0", "b > a", "0 > b + 0"), [0, 1, 2]),
    (("a > 0", "c >= 5", "b > a", "0 > b + 0"), [0, 2, 3]),
    (("a >= 0", "b >= a", "0 >= b + 0"), None),  # all are 0
    (("a >= 0", "b > a", "0 >= b + 0"), [0, 1, 2]),
    (("a >= 1", "b > a", "0 > b - 1"), [0, 1, 2]),
    (("a > 1", "b > a", "0 > b - 2"), None),
    (("a > b", "b > a"), [0, 1]),
    (("a >= b", "b >= a"), None),
    (("a >= b + 1", "b >= a - 1"), None),
    (("a >= b + 1", "b >= a - 1/2"), [0, 1]),
    (("a > a",), [0]),
    ((), None),
]


@pytest.mark.parametrize(("stated", "expected"), CASES)
def test_bounds_that_exclude_each_other(stated: tuple[str, ...], expected: list[int] | None):
    assert contradiction(bounds(*stated)) == expected


def test_bounds_that_follow_from_others():
    found = implied(bounds("a > 0", "b >= a + 1", "0 >= b - 5", "c > b", "d > 2"))

    assert found == {
        "a": ((0, 1), (-4, 0)),  # 0 < a <= 4
        "b": ((1, 1), (-5, 0)),
        "c": ((1, 2), None),
        "d": ((2, 1), None),
    }


@pytest.mark.parametrize("seed", range(10))
def test_a_contradiction_leaves_no_point_and_what_follows_holds_at_all(seed: int):
    rng = random.Random(seed)
    names = ("a", "b", "c", ZERO)
    stated = []
    for _ in range(rng.randint(2, 6)):
        greater, less = rng.sample(names, 2)
        stated.append(Difference(greater, less, Fraction(rng.randint(-2, 2)), rng.random() < 0.5))
    grid = [Fraction(k, 2) for k in range(-12, 13)]

    def holds(at: dict[str, Fraction], one: Difference) -> bool:
        room = at[one.greater] - at[one.less] - one.distance
        return room > 0 or (room == 0 and not one.strict)

    points = [
        {**dict(zip("abc", values, strict=True)), ZERO: Fraction(0)}
        for values in product(grid, repeat=3)
    ]
    inside = [at for at in points if all(holds(at, one) for one in stated)]
    cycle = contradiction(stated)

    if cycle is not None:
        assert not inside
        fewer = [stated[k] for k in cycle]
        assert contradiction(fewer) == list(range(len(fewer)))
        assert all(contradiction(fewer[:k] + fewer[k + 1 :]) is None for k in range(len(fewer)))
        return
    assert inside  # halves suffice for bounds by whole numbers
    for name, (lower, upper) in implied(stated).items():
        for at in inside:
            assert lower is None or at[name] >= lower[0] + Fraction(bool(lower[1]), 10**9)
            assert upper is None or -at[name] >= upper[0] + Fraction(bool(upper[1]), 10**9)


def test_of_very_many_bounds_nothing_is_said(monkeypatch: pytest.MonkeyPatch):
    stated = bounds("a > 0", "b > a", "0 > b + 0")
    monkeypatch.setattr(differences, "MAX_BOUNDS_TOGETHER", 3)
    assert contradiction(stated) and implied(bounds("a > 0"))

    monkeypatch.setattr(differences, "MAX_BOUNDS_TOGETHER", 2)
    assert contradiction(stated) is None and implied(stated) == {}
