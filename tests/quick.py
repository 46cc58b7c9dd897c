"""A sample of many cases of one property for the quick tests; the others are marked slow.

`pytest -m slow` runs the others, so that `make test` and `make slow` together run every case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pytest


def some(cases: Sequence[Any], count: int, dear: Collection[Any] = ()) -> list[Any]:
    """Mark all cases slow but `count`, evenly spaced; the first is among them.

    Args:
        cases: the values of one argument, or tuples of the values of several.
        count: how many stay quick.
        dear: cases that take so long that they are slow, too.

    Raises:
        ValueError: one of the dear ones is no case.
    """
    kept = {i * len(cases) // count for i in range(count)}
    lost = [case for case in dear if case not in cases]
    if lost:
        raise ValueError(f"these are no cases: {lost}")
    kept -= {i for i, case in enumerate(cases) if case in dear}
    return [case if i in kept else _slow(case) for i, case in enumerate(cases)]


def without(cases: Iterable[Any], dear: Collection[Any]) -> list[Any]:
    """Mark the cases slow that cost most, where cheaper ones check the same.

    Raises:
        ValueError: one of the dear ones is no case.
    """
    cases = list(cases)
    lost = [case for case in dear if case not in cases]
    if lost:
        raise ValueError(f"these are no cases: {lost}")
    return [_slow(case) if case in dear else case for case in cases]


def _slow(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
