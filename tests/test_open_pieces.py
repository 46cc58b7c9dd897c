"""Pieces of a range that are hard to decide, and what is said of them."""

from __future__ import annotations

from math import sin
from pathlib import Path

import pytest

import lawdsl


def answer_question(folder: Path, *lines: str, **given: float) -> lawdsl.Answer:
    path = folder / "asked.law"
    path.write_text("\n".join(("question asked", *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path).answer(given)


@pytest.mark.parametrize("sign", [-1, pytest.param(1, marks=pytest.mark.slow)])
def test_waves_far_out_on_a_half_line_are_decided(sign: int, tmp_path: Path):
    """Turning points lie at all numbers beyond 1.67e9; the slope lets only some tens of them matter."""
    domain = "x <= 0" if sign < 0 else "x >= 0"
    slope = "- 0.08*x" if sign < 0 else "+ 0.08*x"
    answer = answer_question(
        tmp_path,
        f"choose {domain}",
        f"minimize 4.3468*sin(3.3*x) - 4*sin({-sign}*1.5*x) {slope}",
        "subject to 0.0193788*log(x^2 + 1.092) >= 0.823",
    )

    assert answer.status == "answered" and answer.certain
    assert sign * answer["x"] == pytest.approx(1667422684.7, abs=60)
    step = [sign * (1667422681.4 + 0.05 * k) for k in range(1400)]
    lowest = min(_waves(sign, x) for x in step)
    assert answer.goal is not None and answer.goal.value <= lowest + 1e-6


def _waves(sign: int, x: float) -> float:
    return 4.3468 * sin(3.3 * x) - 4 * sin(-sign * 1.5 * x) + sign * 0.08 * x


@pytest.mark.slow
def test_terms_that_cancel_far_out_are_not_called_best_at_infinity(tmp_path: Path):
    """(x + 0.6)^p - x^p with p < 0 is below 0, which it only tends to."""
    answer = answer_question(
        tmp_path, "choose x >= 1e48", "minimize (x + 0.6)^(-1.083) - x^(-1.083)"
    )

    assert answer.status in ("answered", "undecided")
    assert answer.status != "answered" or answer["x"] == 1e48
    assert not any("nearer" in line for line in answer.proof)


@pytest.mark.parametrize(
    ("domain", "said"),
    [
        ("(0, 5)", "every x from 0 to 2 but 0 itself is optimal"),
        ("[0, 5)", "every x from 0 to 2 is optimal"),
        ("(0, 2)", "every x from 0 to 2 but 0 and 2 itself is optimal"),
        ("(0, 2]", "every x from 0 to 2 but 0 itself is optimal"),
    ],
)
def test_an_open_end_is_no_part_of_what_is_optimal(domain: str, said: str, tmp_path: Path):
    answer = answer_question(tmp_path, f"choose x in {domain}", "minimize max(x, 2)")

    assert answer.status == "answered" and answer.certain
    assert any(line.startswith(said) for line in answer.proof)
    assert 0 < answer["x"] < 5


CURVED = {
    "hyperbola": ("x^2 - y^2 = 1", "minimize x + 2*y", ("x", "y")),
    "cubic": ("x*y - z^3 = 1", "minimize x + y + z", ("x", "y", "z")),
    "sine": ("y = x^2 + 0.1*sin(x*y)", "minimize 3*x - y", ("x", "y")),
}


@pytest.mark.parametrize(
    "name", ["cubic", *(pytest.param(n, marks=pytest.mark.slow) for n in CURVED if n != "cubic")]
)
def test_a_goal_without_end_along_a_curve_is_not_called_a_finite_optimum(name: str, tmp_path: Path):
    equation, goal, unknowns = CURVED[name]
    lines = [f"choose {unknown}" for unknown in unknowns]
    answer = answer_question(tmp_path, *lines, f"subject to {equation}", goal)

    assert answer.status == "unbounded" or (answer.status == "undecided" and not answer.unknowns)
    assert not answer.certain or answer.status == "unbounded"


def test_an_optimum_of_another_magnitude_is_found(tmp_path: Path):
    """The lower of two wells lies where an unknown in another unit is 1e9, the other one at 0."""
    answer = answer_question(
        tmp_path,
        "choose x >= 0",
        "choose y >= 0",
        "minimize 1e-20*((x^2 - 1.29)^2 + 0.107*x + ((y/1e9)^2 - 1.78)^2"
        " + 0.121*(y/1e9) + 0.0884*x*(y/1e9))",
    )

    assert (answer["x"], answer["y"]) == pytest.approx((1.11347, 1.31848e9), rel=1e-5)
