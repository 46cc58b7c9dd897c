"""Questions with several unknowns, as people ask them: what is best, where else, and how sure it is."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from quick import some, without

import lawdsl
from lawdsl.solving.nlp.certificates import certain_gap
from lawdsl.solving.nlp.multistart import is_proved_optimal, minimise
from lawdsl.solving.nlp.problem import NlpConstraint, NlpProblem, NlpSolution
from lawdsl.solving.nlp.sensitivity import sensitivities

x, y, k = sp.symbols("x y k", real=True)
CHINCHILLA = dict(E=1.8172, A=482.01, B=2085.43, alpha=0.3478, beta=0.3658)
INF = float("inf")


def load_question(folder: Path, *lines: str, **fits: object) -> lawdsl.Asked:
    path = folder / "joint.law"
    path.write_text("\n".join(('question joint "Joint"', *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path, **fits)


def cheapest(folder: Path, factor: str) -> lawdsl.Asked:
    lines = (
        "uses loss : chinchilla",
        "given L1 > 0",
        "given q >= 0",
        "choose N > 0 unit param",
        "choose D > 0 unit token",
        f"minimize {factor}*(6*N*D + 2*N*q)",
        "subject to loss(N, D) <= L1",
    )
    return load_question(folder, *lines, loss=CHINCHILLA)


@pytest.mark.parametrize("factor", ["1", "1e-21", "1e20"])
def test_sensitivities_do_not_depend_on_the_unit_of_the_goal(factor: str, tmp_path: Path):
    """They are the differences between answers for slightly other givens."""
    ready = cheapest(tmp_path, factor)
    given = {"L1": 2.2, "q": 2e12}
    answer = ready.answer(given)

    assert answer.certain
    told = {s.name: s for s in answer.sensitivities}
    for name, value in given.items():
        ahead, behind = (
            ready.answer({**given, name: value * (1 + step)}) for step in (1e-4, -1e-4)
        )
        for unknown in ("N", "D"):
            slope = (ahead[unknown] - behind[unknown]) / (2e-4 * value)
            assert told[name].unknowns[unknown] == pytest.approx(slope, rel=1e-4)


def disc(goal: float, unit: float, row: float) -> NlpProblem:
    """The nearest point to (3, 2) in the disc of radius k, measured in other units."""
    a, b = x / unit, y / unit
    near = goal * ((a - 3) ** 2 + 2 * (b - 2) ** 2)
    within = NlpConstraint("disc", row * (a**2 + b**2 - k**2))
    return NlpProblem(near, {x: (0.0, INF), y: (-INF, INF)}, [within], {k: 2.0})


@cache
def plain_disc() -> tuple[NlpSolution, tuple[np.ndarray, float]]:
    """That problem in its own units: the answer, and how it moves with k."""
    problem = disc(1.0, 1.0, 1.0)
    found = minimise(problem)
    return found, sensitivities(problem, found, [k])[k]


UNITS = list(itertools.product([1e-9, 1e9], [1e-9, 1.0, 1e9], [1e-20, 1.0, 1e20]))


@pytest.mark.parametrize(
    ("row", "unit", "goal"),
    [
        c if k in (1, 8, 15) else pytest.param(*c, marks=pytest.mark.slow)
        for k, c in enumerate(UNITS)
    ],
)
def test_units_of_goal_unknowns_and_constraints_change_nothing(
    goal: float, unit: float, row: float
):
    expected, told = plain_disc()
    other = disc(goal, unit, row)
    found = minimise(other)
    moved, value = sensitivities(other, found, [k])[k]

    assert found.x / unit == pytest.approx(expected.x, rel=1e-9)
    assert found.active == expected.active == ("disc",)
    assert found.value / goal == pytest.approx(expected.value, rel=1e-9)
    assert moved / unit == pytest.approx(told[0], rel=1e-6)
    assert value / goal == pytest.approx(told[1], rel=1e-6)
    assert found.multipliers * row / goal == pytest.approx(expected.multipliers, rel=1e-6)


@pytest.mark.parametrize("goal", some([1e20, 1e-20], 1))
def test_a_gap_is_small_or_large_beside_the_goal_itself(goal: float):
    """A kink proves nothing, in whatever unit."""
    problem = NlpProblem(
        goal * (sp.Max((x - 1) ** 2, 2 * x) + y**2), {x: (0.0, 1.0), y: (-1.0, 1.0)}
    )

    assert not is_proved_optimal(minimise(problem))


def test_a_small_box_is_no_single_point():
    found = minimise(NlpProblem((x - 4e-14) ** 2 + y**2, {x: (0.0, 1e-13), y: (-1.0, 1.0)}))

    assert found.x[0] == pytest.approx(4e-14, rel=1e-6)


def test_the_best_place_on_a_half_line_may_lie_inside(tmp_path: Path):
    answer = load_question(
        tmp_path,
        *("choose x >= 0", "choose y >= 0", "minimize sin(3*x) + y", "subject to -x - sin(y) <= 5"),
    ).answer()

    assert answer["x"] == pytest.approx(1.5707963, rel=1e-6) and answer["y"] == 0
    assert answer.goal is not None and answer.goal.value == pytest.approx(-1)


UNBOUNDED = {
    "both grow": ("choose x >= 0", "choose y >= 0", "minimize x + y - x*y"),
    "one grows": (
        *("choose x >= 0", "choose y >= 0"),
        "minimize (x - 1)^2 - (y - 0.5)^2 + 0.1*x*y",
    ),
    "a line": ("choose x", "choose y in [0, 1]", "maximize x*y - y"),
    "slowly": ("choose x >= 0", "choose y >= 0", "maximize log(1 + x) - y^2 + y*x^0.1"),
    "a corner": (
        *("choose x >= 0", "choose y >= 0", "maximize x + 2*y - x*y/(1 + x + y)"),
        "subject to x - y <= 3",
    ),
    "all is feasible": (
        *("choose x >= 0", "choose y >= 0", "minimize -min(x, 2) + y^2 - x*y"),
        "subject to -x - exp(-y) <= 0.09",
    ),
}


@pytest.mark.parametrize(
    "case", without(UNBOUNDED, ["one grows", "both grow", "all is feasible", "a corner"])
)
def test_a_goal_without_a_best_value_is_unbounded(case: str, tmp_path: Path):
    answer = load_question(tmp_path, *UNBOUNDED[case]).answer()

    assert answer.status == "unbounded" and not answer.certain
    assert "without bound" in answer.proof[0] and "not proved" in answer.proof[-1]


def test_a_value_that_no_choice_attains_is_not_answered(tmp_path: Path):
    lines = ("choose x >= 0", "choose y in [0, 2]", "minimize exp(-x) + (y - 1)^2 + y*exp(-x)")
    answer = load_question(tmp_path, *lines).answer()

    assert answer.status == "unbounded" and not answer.certain


@pytest.mark.parametrize("factor", ["1", "1e-12", "1e12"])
def test_a_maximum_amid_a_plane_is_bounded(factor: str, tmp_path: Path):
    lines = ("choose x", "choose y", f"maximize {factor}*(x + y - x^2 - y^2 + x*y/2)")
    answer = load_question(tmp_path, *lines).answer()

    assert answer.status == "answered"
    assert answer["x"] == pytest.approx(2 / 3) and answer["y"] == pytest.approx(2 / 3)


HIMMELBLAU = (
    *("choose x in [-5, 5]", "choose y in [-5, 5]"),
    "minimize (x^2 + y - 11)^2 + (x + y^2 - 7)^2",
)


def test_optima_of_equal_value_are_listed(tmp_path: Path):
    answer = load_question(tmp_path, *HIMMELBLAU).answer()
    minima = {(3.0, 2.0), (-2.805118, 3.131313), (-3.779310, -3.283186), (3.584428, -1.848127)}

    places = [{"x": answer["x"], "y": answer["y"]}, *answer.alternatives]
    assert {(round(p["x"], 6), round(p["y"], 6)) for p in places} == minima
    assert "24 of 24" not in " ".join(answer.proof)
    assert [d.code for d in answer.diagnostics] == ["F0570"]
    assert len(answer.to_json()["alternatives"]) == 3


def test_a_flat_optimum_is_not_the_only_one(tmp_path: Path):
    lines = ("choose x in [0, 5]", "choose y in [0, 5]", "minimize max(x + y, 2)")
    answer = load_question(tmp_path, *lines).answer()

    assert answer.goal is not None and answer.goal.value == pytest.approx(2)
    assert answer.alternatives and "F0570" in [d.code for d in answer.diagnostics]


def test_one_optimum_has_no_alternatives(tmp_path: Path):
    lines = ("choose x in [0, 5]", "choose y in [0, 5]", "minimize (x - 1)^4 + (y - 2)^2 + x*y")
    answer = load_question(tmp_path, *lines).answer()

    assert answer.alternatives == () and answer.diagnostics == ()


def test_a_miss_is_finite_and_names_its_constraint(tmp_path: Path):
    """The loss stays above E + A/(N (1 - exp(-16/g)))^a."""
    law = (
        *("law floor", "variable N > 0 unit param", "variable D > 0 unit token"),
        *("variable P in [1, 16]", "parameter E, A, B, alpha, beta, gamma > 0"),
        *("let M = N*(1 - exp(-P/gamma))", "L = A/M^alpha + B/D^beta + E unit nat/token"),
    )
    (tmp_path / "floor.law").write_text("\n".join((*law, "")), encoding="utf-8")
    lines = (
        *("uses loss : floor", "given L1 > 0", "given N > 0 unit param", "choose P in [1, 16]"),
        *("choose D > 0 unit token", "minimize D", "subject to loss(N, D, P) <= L1"),
    )
    loss = dict(E=1.7, A=400, alpha=0.34, B=410, beta=0.28, gamma=3)
    answer = load_question(tmp_path, *lines, loss=loss).answer(N=5e7, L1=1.5)

    assert answer.status == "infeasible"
    least = 1.7 + 400 / (5e7 * (1 - 2.718281828 ** (-16 / 3))) ** 0.34 - 1.5
    assert "loss(N, D, P) <= L1 is missed by" in answer.proof[-1]
    assert float(answer.proof[-1].split("by ")[1].split()[0]) == pytest.approx(least, rel=0.01)


def test_infeasible_is_said_where_it_is_proved_only(tmp_path: Path):
    """A narrow ring that is hard to find is feasible; one that is empty is proved to be."""
    lines = ("choose x in [-9, 9]", "choose y in [-9, 9]", "minimize x + y*x^2")
    ring = load_question(tmp_path, *lines, "subject to (x^2 + y^2 - 4)^2 <= 1e-6").answer()
    empty = load_question(tmp_path, *lines, "subject to (x^2 + y^2 - 4)^2 + 0.01 <= 0").answer()

    assert ring.status == "answered"
    assert ring["x"] ** 2 + ring["y"] ** 2 == pytest.approx(4, abs=2e-3)
    assert empty.status == "infeasible" and empty.certain


def test_a_margin_in_small_units_is_a_constraint_all_the_same():
    """1e-15 (3 - x) <= 0 keeps x from 3 on."""
    found = minimise(
        NlpProblem(
            x + y**2,
            {x: (0.0, 9.0), y: (-1.0, 1.0)},
            [NlpConstraint("c", 1e-15 * (3 - x) * (1 + y**2))],
        )
    )

    assert found.x == pytest.approx([3.0, 0.0], abs=1e-6)


CANCELLING = "(1e9 + x)^2 - 2e9*x - 1e18"  # x^2; float64 loses it among 1e18


def test_a_constraint_that_float64_cannot_compute_is_not_called_kept(tmp_path: Path):
    """x^2 + y^2 + 0.001 <= 0 has no solution, but is 0 at x = y = 0 to float64."""
    lines = ("choose x in [0, 1]", "choose y in [0, 1]", "minimize x + y + exp(-0.1*x)")
    answer = load_question(tmp_path, *lines, f"subject to {CANCELLING} + y^2 + 0.001 <= 0").answer()

    assert answer.status in ("infeasible", "undecided") and not answer.unknowns


def test_a_gap_covers_the_rounding_of_float64():
    """The bound of what is lost at a point holds where its slopes are off by cancellation."""
    cancelling = (sp.Integer(10) ** 12 + x) ** 2 - 2 * sp.Integer(10) ** 12 * x
    problem = NlpProblem(cancelling + (x + y) ** 2, {x: (-1.0, 1.0), y: (-1.0, 1.0)})
    for at in (0.1, 0.25, -0.6):
        bound = certain_gap(problem, np.array([at, -at]), np.zeros(0))
        assert bound is not None and bound >= at**2


def test_equal_values_among_rounding_are_no_other_optimum(tmp_path: Path):
    lines = ("choose x in [-1, 1]", "choose y in [-1, 1]")
    goal = "minimize (1e7 + x)^2 - 2e7*x + (y - 0.3)^2 + (x + y)^2"
    answer = load_question(tmp_path, *lines, goal).answer()

    assert answer.alternatives == () and answer["x"] == pytest.approx(-0.1, abs=1e-6)
