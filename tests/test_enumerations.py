"""Enumerations in messages."""

from __future__ import annotations

import pytest

from lawdsl.core.enumerations import abridged, conjunction, disjunction


@pytest.mark.parametrize(
    ("items", "both", "either"),
    [
        (["a"], "a", "a"),
        (["a", "b"], "a and b", "a or b"),
        (["a", "b", "c"], "a, b and c", "a, b or c"),
    ],
)
def test_the_last_of_some_texts_has_a_word_before_it(items: list[str], both: str, either: str):
    assert conjunction(items) == both
    assert disjunction(iter(items)) == either


@pytest.mark.parametrize(
    ("count", "expected"), [(1, "0"), (3, "0, 1, 2"), (4, "0, 1, 2 and 1 more")]
)
def test_those_that_are_not_named_are_counted(count: int, expected: str):
    assert abridged(range(count), 3) == expected


def test_the_first_of_many_suffice():
    assert abridged(["x", "y"], 2, "; ", count=2002) == "x; y and 2,000 more"
