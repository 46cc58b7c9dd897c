"""Equations that give an unknown as a formula of the others: no root is lost, and none is added."""

from __future__ import annotations

from pathlib import Path

import pytest

import lawdsl


def load_question(folder: Path, *lines: str) -> lawdsl.Asked:
    path = folder / "question.law"
    path.write_text("\n".join(("question asked", *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path)


ANSWERS = {
    "both square roots": (
        ("choose x in [1, 3]", "choose y in [-5, 5]", "subject to x^2 - y^2 = 1"),
        "minimize x + 2*y",
        {"x": 3.0, "y": -(8**0.5)},
    ),
    "negative fourth root": (
        ("choose x in [0, 2]", "choose y in [-2, 2]", "subject to y^4 = x"),
        "minimize y + 0.1*x",
        {"x": 2.0, "y": -(2**0.25)},
    ),
    "negative cube root": (
        ("choose x in [-8, 8]", "choose y in [-5, 5]", "subject to y^3 = x*exp(0*y)"),
        "minimize y + 0.01*x",
        {"x": -8.0, "y": -2.0},
    ),
    "no root of a negative number": (
        ("choose x in [0, 5]", "choose y in [0, 9]", "subject to y^0.5 = x - 2"),
        "minimize x - 0.1*y^2 - 0.01*x*y",
        {"x": 5.0, "y": 9.0},
    ),
    "squared half power": (
        ("choose x in [0, 3]", "choose y in [0, 9]", "subject to y^0.5 = x - 2"),
        "minimize x - y",
        {"x": 2.0, "y": 0.0},
    ),
    "a factor that may be 0": (
        ("choose x in [0, 1]", "choose y in [0, 5]", "subject to x*y = 2*x"),
        "minimize x - y",
        {"x": 0.0, "y": 5.0},
    ),
    "two roots of a quadratic": (
        ("choose x in [1, 2]", "choose y in [0, 5]", "subject to y^2 = x*y"),
        "minimize x + 3*y",
        {"x": 1.0, "y": 0.0},
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_no_branch_of_an_equation_is_lost(name: str, tmp_path: Path):
    lines, goal, best = ANSWERS[name]
    answer = load_question(tmp_path, *lines, goal).answer()

    assert answer.status == "answered"
    assert {u.name: u.value for u in answer.unknowns} == pytest.approx(best, abs=1e-6)


def test_an_equation_that_puts_an_unknown_outside_its_domain_is_infeasible(tmp_path: Path):
    lines = ("choose x in [0, 1]", "choose y in [0, 0.5]", "subject to y = 2")
    answer = load_question(tmp_path, *lines, "minimize x + y").answer()

    assert answer.status == "infeasible" and answer.certain and not answer.unknowns


CANCELLED = {
    "min(x, -0.88) - 0.3": "infeasible",
    "x - x - 1": "infeasible",
    "max(-x, 2)*0.5 - 1": "answered",
    "1 + 0*x": "answered",
}


@pytest.mark.parametrize("margin", CANCELLED)
def test_a_constraint_in_which_the_unknown_cancels_is_answered(margin: str, tmp_path: Path):
    lines = ("given a > 0", "choose x in (1, 2]", "maximize x^2 - 0.1*x^3")
    answer = load_question(tmp_path, *lines, f"subject to a*({margin}) >= 0").answer(a=2)

    assert answer.status == CANCELLED[margin] and answer.certain
    assert bool(answer.relaxations) == (answer.status == "infeasible")


def test_a_constraint_of_givens_alone_is_still_refused(tmp_path: Path):
    question = load_question(
        tmp_path, "given a > 0", "choose x in [1, 2]", "minimize x", "subject to a >= 3"
    )

    with pytest.raises(lawdsl.LawdslError, match="F0503"):
        question.answer(a=2)
