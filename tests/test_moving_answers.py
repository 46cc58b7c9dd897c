"""How an answer with one unknown moves: as answers that are solved again, in any unit of goal and unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

import lawdsl

TABLE = Path(__file__).resolve().parent.parent / "laws" / "data" / "c4_share.csv"

# U stands for the unknown in its unit, S for the unit of the goal
CASES = {
    "stationary": ("x > 0", "minimize S*(a*U + b/U^0.7)", ()),
    "stationary in between": ("x > 0", "maximize S*(a*log(U) - b*U^1.3)", ()),
    "stationary, cancelling": ("x > 0", "minimize S*(a*U^1.01 - b*U)", ()),
    "on a constraint": ("x > 0", "minimize S*(a*U + b*U^2)", ("subject to U^0.4 >= a*b",)),
    "on a constraint with exp": ("x > 0", "maximize S*a*U", ("subject to exp(0.3*U) <= 5 + a*b",)),
    "on a kink": ("x", "minimize S*(3*abs(U - a*b) + 0.5*U*b)", ()),
    "on a corner of two": ("x > 0", "minimize S*max(a*U, b/U)", ()),
    "on an end": ("x >= a", "minimize S*b*U^2", ()),
}
GIVEN = {"a": 1.3, "b": 2.1}


def text_of(case: str, goal_unit: str, unit: str) -> list[str]:
    domain, goal, kept = CASES[case]
    lines = ["given a, b > 0", f"choose {domain}", goal, *kept]
    if case == "on an end":
        lines[1] = f"choose x >= a*{unit}"
    return [line.replace("U", f"(x/{unit})").replace("S", goal_unit) for line in lines]


QUICK = {("1e-20", "1e9"), ("1e20", "1e-9")}
UNITS = [
    pytest.param(goal, unit, marks=[] if (goal, unit) in QUICK else pytest.mark.slow)
    for goal in ("1e-20", "1", "1e20")
    for unit in ("1e-9", "1", "1e9")
]


@pytest.mark.parametrize(("goal_unit", "unit"), UNITS)
@pytest.mark.parametrize("case", CASES)
def test_sensitivities_are_those_of_answers_solved_again(
    case: str, goal_unit: str, unit: str, tmp_path: Path
):
    path = tmp_path / "plain.law"
    path.write_text("\n".join(["question plain", *text_of(case, goal_unit, unit), ""]))
    ready = lawdsl.Asked(path)
    here = ready.answer(GIVEN)
    found = {s.name: s for s in here.sensitivities}
    assert here.ok and here.goal and set(found) == {"a", "b"}

    for name, value in GIVEN.items():
        step = 1e-5 * value
        ahead, behind = (ready.answer({**GIVEN, name: value + s}) for s in (step, -step))
        assert ahead.goal and behind.goal
        moved = (ahead["x"] - behind["x"]) / (2 * step)
        assert found[name].unknowns["x"] == pytest.approx(
            moved, rel=1e-4, abs=1e-9 * abs(here["x"])
        )
        moved = (ahead.goal.value - behind.goal.value) / (2 * step)
        room = 1e-9 * abs(here.goal.value)
        assert found[name].goal == pytest.approx(moved, rel=1e-4, abs=room)


@pytest.fixture(scope="module")
def fit() -> object:
    return lawdsl.fit("dcpt.share", TABLE, claims=False)


@pytest.mark.parametrize(("goal_unit", "unit"), sorted(QUICK))
@pytest.mark.parametrize("kept", ["", "subject to loss(r = x/UNIT) <= 3"])
def test_intervals_do_not_depend_on_units(
    goal_unit: str, unit: str, kept: str, fit: object, tmp_path: Path
):
    """The intervals of the unknown and of the goal are the same in other units."""
    found = []
    for scale, size in (("1", "1"), (goal_unit, unit)):
        path = tmp_path / "plain.law"
        goal = f"minimize {scale}*(loss(r = x/{size}) + 0.4*(x/{size}))"
        lines = ["question plain", "uses loss : dcpt.share", f"choose x in [0, {size}]", goal]
        path.write_text("\n".join([*lines, kept.replace("UNIT", size), ""]))
        answer = lawdsl.Asked(path, loss=fit).answer(proofs=False)
        ends, goal_ends = answer.ends("x"), answer.goal and answer.goal.ends
        assert answer.ok and ends and goal_ends
        found.append([e / float(size) for e in ends] + [e / float(scale) for e in goal_ends])

    assert found[0] == pytest.approx(found[1], rel=1e-6)
