"""Intervals of the solution for one unknown."""

from __future__ import annotations

import numpy as np
import pytest
from planted import grid
from test_univariate_solver import INTERIOR, losses

import lawdsl

TARGET = float(losses({**INTERIOR, "C": 4.5}, N=1.8, D=5.0, r=0.5))


def with_noise(noise: float) -> lawdsl.Fit:
    columns = grid(N=[0.5, 1.8, 4.0], D=[0.5, 2.0, 8.0, 25.0], r=np.linspace(0, 1, 9))
    values = {**INTERIOR, "C": 4.5}
    exact = losses(values, **columns)
    draws = np.random.default_rng(4).normal(size=len(exact))
    table = {**columns, "L": exact * np.exp(noise * draws)}
    found = lawdsl.fit("dcpt.l3", table, starts=values, claims=False, objective="squared(log)")
    assert isinstance(found, lawdsl.Fit)
    return found


@pytest.mark.parametrize(
    ("question", "use", "given", "unknown"),
    [
        ("dcpt.allocation", "domain", {"r": 0.4, "C": 60.0}, "N"),
        ("dcpt.tokens_for_loss", "loss", {"N": 1.8, "r": 0.5, "target": TARGET}, "D"),
    ],
)
def test_intervals_shrink_with_the_noise(
    question: str, use: str, given: dict[str, float], unknown: str
):
    """Half the noise, half the interval: to 10 %, as little noise is carried linearly."""
    widths = []
    for noise in (2e-4, 1e-4, 5e-5):
        answer = lawdsl.solve(question, **{use: with_noise(noise)}, **given)
        ends = answer.ends(unknown)
        assert ends is not None and ends[0] < answer[unknown] < ends[1]
        widths.append(ends[1] - ends[0])

    assert widths[0] / widths[1] == pytest.approx(2, rel=0.1)
    assert widths[1] / widths[2] == pytest.approx(2, rel=0.1)


def test_the_interval_widens_with_its_level():
    fit = with_noise(1e-3)
    ready = lawdsl.Asked("dcpt.allocation", domain=fit)
    ends = [ready.answer(r=0.4, C=60.0, level=level).ends("N") for level in (0.5, 0.8, 0.95, 0.99)]
    lows, highs = zip(*[e for e in ends if e], strict=True)

    assert list(lows) == sorted(lows, reverse=True) and list(highs) == sorted(highs)
    assert len(set(lows)) == 4


def test_numbers_without_a_fit_have_no_interval():
    answer = lawdsl.solve("dcpt.allocation", domain={**INTERIOR, "C": 4.5}, r=0.4, C=60.0)
    assert answer.ends("N") is None
    assert [d.code for d in answer.diagnostics] == ["F0504"]


def test_an_infinite_slope_at_an_end_has_no_threshold(tmp_path):
    file = tmp_path / "steep.law"
    file.write_text("question steep\ngiven a\nchoose x > 0\nminimize a*x^0.95 - 0.04*log(x + 7)\n")
    answer = lawdsl.solve(file, a=1.4)
    assert answer.unknowns[0].value == 0
