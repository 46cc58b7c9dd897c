"""Questions whose goal is many magnitudes larger where a search starts than where it ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import lawdsl

CURVED = float(minimize_scalar(lambda x: x + 2 / x + np.log(x) ** 2, (1.0, 1.5)).fun)
HYPERBOLA = "question q\nchoose x > 0\nchoose y > 0\nminimize {goal}\nsubject to x*y >= {least}\n"


@pytest.mark.parametrize(
    ("goal", "least", "best"),
    [
        ("x + y", "2", 2 * 2**0.5),
        ("x + y", "1e6", 2000.0),
        ("x + 100*y", "1e-6", 0.02),
        ("x + y + log(x)^2", "2", CURVED),
        ("1e-20*(x + y)", "2", 2e-20 * 2**0.5),
    ],
)
def test_the_least_sum_on_a_hyperbola(goal: str, least: str, best: float, tmp_path: Path):
    path = tmp_path / "q.law"
    path.write_text(HYPERBOLA.format(goal=goal, least=least), encoding="utf-8")

    answer = lawdsl.solve(path)

    assert answer.goal is not None
    assert answer.goal.value == pytest.approx(best, rel=1e-7)
