"""An answer with several unknowns at a kink of its goal has no interval of one branch."""

from __future__ import annotations

from pathlib import Path

import pytest

import lawdsl

ROOT = Path(__file__).resolve().parent.parent
QUESTION = """question kink
uses loss : dcpt.share
choose r in [0.1, 0.9]
choose y in [0, 1]
minimize {}
"""


@pytest.fixture(scope="module")
def fit() -> lawdsl.Fit:
    return lawdsl.fit("dcpt.share", ROOT / "laws" / "data" / "c4_share.csv", starts=8)


@pytest.mark.parametrize(
    "goal",
    [
        "max(loss(r), 2.6) + (y - r)^2 + r/1e3",
        pytest.param("abs(loss(r) - 2.6) + (y - r)^2", marks=pytest.mark.slow),
        pytest.param(
            "-min(2.6 - loss(r), (r - 0.2)/100) + (y - r)^2 + 2*abs(r - 0.32)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_there_is_no_interval_where_branches_meet(goal: str, fit: lawdsl.Fit, tmp_path: Path):
    path = tmp_path / "kink.law"
    path.write_text(QUESTION.format(goal), encoding="utf-8")

    answer = lawdsl.Asked(path, loss=fit).answer()

    assert answer.goal is not None and answer.goal.ends is None
    assert "F0504" in {d.code for d in answer.diagnostics}


def test_there_is_one_where_a_branch_leads(fit: lawdsl.Fit, tmp_path: Path):
    path = tmp_path / "smooth.law"
    goal = "max(loss(r), 1) + (y - r)^2 + 2*(r - 0.5)^2"
    path.write_text(QUESTION.format(goal), encoding="utf-8")

    answer = lawdsl.Asked(path, loss=fit).answer()

    assert answer.goal is not None and answer.goal.ends is not None
    low, high = answer.goal.ends
    assert low < answer.goal.value < high
