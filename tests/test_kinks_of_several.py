"""An answer with several unknowns at a kink of its goal has no interval of one branch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

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
    return lawdsl.fit(
        "dcpt.share",
        ROOT / "laws" / "data" / "c4_share.csv",
        starts=8,
        claims=False,
        rolled_check=False,
        intervals="delta",
    )


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


LINE = 'law line "a line"\nvariable x\nparameter a, b\nL = a + b*x\nminimize squared(L)\n'

# unknowns, goal, further line, the given c
VERTICES = {
    "three planes": ("x, y in [-5, 5]", "max(f(x) + y, -x + y - c, -2*y)", "", 1.0),
    "steep planes": (
        "x, y in [-50, 50]",
        "max(3*f(x) + y + 2*c, -3*f(x) - 2*y - c, 3*y + c)",
        "",
        2.0,
    ),
    "moduli and a constraint": (
        "x, y in [0, 10]",
        "abs(f(x) - c) + abs(y - c^2) + 0.3*abs(x - y)",
        "subject to x + y <= 5",
        2.0,
    ),
    "a minimum that is maximized": ("x, y in [-5, 5]", "-min(2*c - f(x), x + y, 3 - y)", "", 1.0),
    "a ridge": ("x, y in [-5, 5]", "max(f(x), y) + (x + y - c)^2 + 0.1*x^2", "", 1.0),
    "a modulus in a maximum": (
        "x, y in [-5, 5]",
        "max(abs(f(x) - c), y) + 2*abs(x + y - 3) + 0.1*(x - y)^2",
        "",
        1.0,
    ),
}


def question(folder: Path, unknowns: str, goal: str, further: str = "") -> Path:
    (folder / "line.law").write_text(LINE, encoding="utf-8")
    lines = ["question vertex", "uses f : line", "given c > 0", f"choose {unknowns}"]
    lines += [f"minimize {goal}", further, ""]
    path = folder / "vertex.law"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


QUICK = ("a ridge",)


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=[] if c in QUICK else pytest.mark.slow) for c in VERTICES],
)
def test_sensitivities_where_branches_meet_are_those_of_answers_solved_again(
    case: str, tmp_path: Path
):
    unknowns, goal, further, c = VERTICES[case]
    asked = lawdsl.Asked(question(tmp_path, unknowns, goal, further), f={"a": 0.1, "b": 1.0})
    step = 1e-3 * c

    answer = asked.answer({"c": c})
    above, below = (asked.answer({"c": c + sign * step}) for sign in (1, -1))

    (sensitivity,) = (s for s in answer.sensitivities if s.name == "c")
    for name in ("x", "y"):
        slope = (above[name] - below[name]) / (2 * step)
        assert sensitivity.unknowns[name] == pytest.approx(slope, rel=1e-4, abs=1e-6)
    slope = (above.goal.value - below.goal.value) / (2 * step)
    assert sensitivity.goal == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    "goal",
    [
        "abs(f(x) - c) + abs(y - 1) + abs(x + y - 1 - c)",
        pytest.param("max(abs(f(x) - c), abs(y - c)) + 0.1*x", marks=pytest.mark.slow),
    ],
)
def test_there_are_none_where_more_branches_meet_than_there_are_unknowns(goal: str, tmp_path: Path):
    path = question(tmp_path, "x, y in [-5, 5]", goal)

    answer = lawdsl.Asked(path, f={"a": 0.0, "b": 1.0}).answer({"c": 2.0})

    assert answer.sensitivities == ()
    assert any("no derivatives by the givens" in line for line in answer.proof)


def test_intervals_at_a_vertex_are_those_of_its_equations(tmp_path: Path):
    """x = -(1 + a)/(1 + b) and y = (x + 1)/3: by the delta method for a straight line."""
    rng = np.random.default_rng(4)
    x = np.arange(1.0, 13.0)
    L = 0.1 + 1.05 * x + 0.1 * rng.standard_normal(12)
    path = question(tmp_path, "x, y in [-9, 9]", "max(f(x) + y, y - x - 1, -2*y)")
    path.write_text(path.read_text().replace("given c > 0\n", ""), encoding="utf-8")
    fit = lawdsl.fit(tmp_path / "line.law", {"x": x, "L": L})
    design = np.column_stack([np.ones(12), x])
    (a, b), residual, _, _ = np.linalg.lstsq(design, L, rcond=None)
    covariance = np.linalg.inv(design.T @ design) * residual[0] / 10
    slopes = np.array([-1 / (1 + b), (1 + a) / (1 + b) ** 2])
    half = stats.t.ppf(0.975, 10) * np.sqrt(slopes @ covariance @ slopes)

    answer = lawdsl.Asked(path, f=fit).answer()

    for unknown, expected in zip(answer.unknowns, (half, half / 3), strict=True):
        low, high = unknown.ends
        assert (high - low) / 2 == pytest.approx(expected, rel=1e-4)
