"""How far constraints are violated does not depend on the units of constraints and unknowns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import lawdsl
from lawdsl.solving.nlp.exclusion import is_infeasible
from lawdsl.solving.nlp.kkt import violations
from lawdsl.solving.nlp.multistart import minimise
from lawdsl.solving.nlp.problem import NlpConstraint, NlpProblem

x, y = sp.symbols("x y", real=True)


def load_question(folder: Path, *lines: str) -> lawdsl.Asked:
    path = folder / "question.law"
    path.write_text("\n".join(("question asked", *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path)


IMPOSSIBLE = {
    "square": "(x - {y})^2 + 0.141*k <= 0",
    "fourth power": "(x - {y})^4 + 0.3*k <= 0",
    "exponential": "exp(x - {y}) + 0.05*k <= 0",
    "equation": "(x - {y})^2 + 0.141*k = 0",
    "small margin": "(x + {y})^2 + 1e-6*k <= 0",
}


@pytest.mark.parametrize(
    ("name", "unit", "factor"),
    [
        ("square", 1e-9, 1e9),
        ("equation", 1.0, 1.0),
        ("small margin", 1e-9, 1e9),
        *(
            pytest.param(name, unit, factor, marks=pytest.mark.slow)
            for name in IMPOSSIBLE
            for unit in (1.0, 1e-9, 1e9)
            for factor in (1.0, 1e9)
        ),
    ],
)
def test_a_constraint_that_is_never_kept_is_not_called_kept(
    name: str, unit: float, factor: float, tmp_path: Path
):
    left, relation, right = (
        IMPOSSIBLE[name]
        .format(y=f"(y/{unit!r})")
        .rpartition("<=" if "<=" in IMPOSSIBLE[name] else "=")
    )
    question = load_question(
        tmp_path,
        "given k > 0",
        "choose x",
        "choose y >= 0",
        f"subject to {factor!r}*({left.strip()}) {relation} {right}",
        f"minimize 1e-20*(0.323*(x - 1.31)^2 + 0.374*(y/{unit!r} - 2.35)^2)",
    )
    answer = question.answer(k=1.24)

    assert answer.status == "infeasible" and answer.certain and not answer.unknowns


@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (1e9, 1e-9, 1e9), (2.0**-30, 2.0**40, 1e-12)])
def test_violations_are_the_same_in_other_units(units: tuple[float, float, float]):
    """The same point of the same constraints, in other units of unknowns and constraint."""
    a, b, of_constraint = units
    place = np.array([3.0e5, 3.0e5 + 0.02])

    def at(a: float, b: float, of_constraint: float) -> np.ndarray:
        u, v = x / sp.Float(a), y / sp.Float(b)
        conditions = [
            NlpConstraint("gap", of_constraint * ((u - v) ** 2 + 0.1)),
            NlpConstraint("sum", of_constraint * (u + v - 5e5)),
            NlpConstraint("curve", of_constraint * (u * v - 8e10), True),
        ]
        open_end = (-np.inf, np.inf)
        problem = NlpProblem(u**2 + v**2, {x: open_end, y: open_end}, conditions)
        own = place * np.array([a, b])
        there = problem.in_units_at(own)
        assert there.units is not None
        return violations(there, own / there.units.unknowns)

    expected = at(1.0, 1.0, 1.0)

    assert expected[0] > 1e-6  # its square is of the size of what it is violated by
    assert at(a, b, of_constraint) == pytest.approx(expected, rel=2.0)


def test_decimals_that_sum_up_leave_a_point():
    """0.1 + 0.2 exceeds 0.3 in float64: that is no contradiction."""
    box = {x: (0.1, 1.0), y: (0.2, 1.0)}
    problem = NlpProblem(x + y**2, box, [NlpConstraint("sum", x + y - 0.3)])

    assert not is_infeasible(problem)
    assert minimise(problem).feasible


def test_a_clear_contradiction_of_decimals_is_excluded():
    box = {x: (0.1, 1.0), y: (0.2, 1.0)}

    assert is_infeasible(NlpProblem(x + y**2, box, [NlpConstraint("sum", x * y + x + y - 0.3)]))


def test_an_unknown_far_below_its_usual_length_is_not_moved_off_its_constraint(tmp_path: Path):
    """A best value of 8.6e-9 is as exact as any other: no constraint is given up beside it."""
    question = load_question(
        tmp_path,
        "choose x >= 0",
        "choose y >= 0",
        "subject to 1e9*((x/1e-9)*y + 0.1*(x/1e-9) + 0.1*y - 43.5) <= 0",
        "minimize 2.11/(0.01 + x/1e-9)^0.549 + 1.6/(0.01 + y)^0.459",
    )
    answer = question.answer()

    assert (answer["x"] / 1e-9, answer["y"]) == pytest.approx((8.57122, 4.91775), rel=1e-4)
    assert not answer.alternatives
