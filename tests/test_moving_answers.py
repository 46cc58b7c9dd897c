"""How an answer with one unknown moves: as answers that are solved again, in any unit of goal and unknown."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import lawdsl
from lawdsl.core.distributions import student_quantile

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


LOSS = "minimize r\nsubject to loss(r) <= 2.6"
KINKS = {  # a question with a kink, and the same place by a constraint
    "minimize max(loss(r), 2.6) + 1e-9*r": LOSS,
    "minimize max(loss(r), 2.6) + 0.1*r": LOSS,
    "minimize abs(loss(r) - 2.6)": LOSS,
    "minimize abs(max(loss(r), 2.5) - 2.6)": LOSS,
    "minimize max(loss(r), 2.6, 2.5 + 0.1*r) + 0.01*r": LOSS,
    "minimize (max(loss(r), 2.6) - 1)^2 + 0.01*r": LOSS,
    "minimize r\nsubject to abs(loss(r) - 2.5) <= 0.1": LOSS,
    "minimize max(loss(r), 2 + r)": "minimize r\nsubject to loss(r) <= 2 + r",
    "maximize min(1 - r, 10*(2.65 - loss(r)))": "minimize r\n"
    "subject to 1 - r <= 10*(2.65 - loss(r))",
}


def about_loss(tmp_path: Path, text: str, fit: object) -> lawdsl.Answer:
    path = tmp_path / "plain.law"
    path.write_text(f"question plain\nuses loss : dcpt.share\nchoose r in [0, 1]\n{text}\n")
    answer = lawdsl.Asked(path, loss=fit).answer(proofs=False)
    assert answer.ok and answer.goal
    return answer


@pytest.mark.parametrize("text", KINKS)
def test_a_kink_has_the_interval_of_the_same_place_by_a_constraint(
    text: str, fit: object, tmp_path: Path
):
    kinked, explicit = (about_loss(tmp_path, t, fit) for t in (text, KINKS[text]))
    ends, same = kinked.ends("r"), explicit.ends("r")
    assert ends and same and kinked["r"] == pytest.approx(explicit["r"], rel=1e-9)
    assert np.allclose(ends, same, rtol=0, atol=1e-2 * (same[1] - same[0]))


@pytest.mark.parametrize("text", [t for t in KINKS if "subject" not in t])
def test_the_goal_at_a_kink_has_the_interval_of_answers_solved_again(
    text: str, fit: lawdsl.Fit, tmp_path: Path
):
    """Solved again with each fitted parameter moved a little; by hand to the interval."""
    spread, values = fit.spread, dict(fit.values)
    assert spread
    gradient = []
    for name in spread.names:
        step = 1e-5 * values[name]
        moved = [
            about_loss(tmp_path, text, {**values, name: values[name] + s}) for s in (step, -step)
        ]
        ahead, behind = (answer.goal.value for answer in moved if answer.goal)
        gradient.append((ahead - behind) / (2 * step))
    (error,) = spread.errors(np.array([gradient]))
    half = student_quantile(0.975, np.array([spread.dof]))[0] * error

    goal = about_loss(tmp_path, text, fit).goal
    assert goal
    if text == "minimize abs(loss(r) - 2.6)" or "abs(max" in text:  # 0 whatever the noise
        assert goal.ends is None
    else:
        assert goal.ends
        assert (goal.ends[1] - goal.ends[0]) / 2 == pytest.approx(half, rel=1e-3)


def test_a_kink_that_the_noise_does_not_move_stays(fit: object, tmp_path: Path):
    answer = about_loss(tmp_path, "minimize abs(r - 0.4) + 0.3*loss(r)", fit)
    assert answer.ends("r") == pytest.approx((0.4, 0.4), abs=1e-9)


def test_a_goal_without_a_derivative_by_the_fit_has_no_interval_and_says_why(
    fit: object, tmp_path: Path
):
    text = "minimize max(loss(r), 2.6) + abs(loss(r) - 2.6) + abs(r - c)"
    own = about_loss(tmp_path, LOSS, fit)["r"]
    answer = about_loss(tmp_path, text.replace("c)", f"{own!r})"), fit)
    assert answer.goal and answer.goal.ends is None
    (said,) = [d for d in answer.diagnostics if d.code == "F0504"]
    assert "no derivative" in said.message and "lawdsl fit" not in (said.help or "")


COINCIDING = [  # domain, goal, constraints, values, givens by which there is no derivative
    ("[0, 10]", "abs(x - 2)", ["x >= a"], {"a": 2}, "a"),
    ("[-10, 10]", "abs(x - 2)", ["x^3 - 3*x = a"], {"a": 2}, "a"),
    ("[-3, 3]", "(x^2 - 1)^2", ["x >= a"], {"a": -1}, "a"),
    ("[0, 3]", "(x^2 - 1)^2", ["x >= a"], {"a": 1}, "a"),
    ("[1, 3]", "b*(x - a)^2", [], {"a": 1, "b": 3}, "a"),
    ("[-5, 5]", "(x - 0.3)^2", ["x >= a"], {"a": 0.3}, "a"),
    ("[-5, 5]", "abs(x - a) + abs(x - b) + 0.1*x", [], {"a": 1, "b": 1}, "ab"),
    ("[-5, 5]", "abs(max(x, a) - b) - 0.1*x", [], {"a": 2, "b": 2}, "ab"),
    ("[-5, 5]", "max(x - a, b - x, a - x)", [], {"a": 1, "b": 1}, "ab"),
    ("[-5, 5]", "x^2", ["x >= a", "x >= b"], {"a": 0.5, "b": 0.5}, "ab"),
    ("[-5, 5]", "x^2", ["max(x - a, 2*(x - b)) >= 0"], {"a": 0.5, "b": 0.5}, "ab"),
    ("[-5, 5]", "(x^2 - 1)^2 + a*x", [], {"a": 0}, "a"),
    ("[-5, 5]", "max((x - a)^2, b - x)", [], {"a": 1, "b": 1}, "ab"),
    ("[-5, 5]", "abs(x - a)", ["x >= a"], {"a": 0.5}, ""),  # both move alike
    ("[-5, 5]", "max(x - a, 2*(a - x), b*(x - a)^2)", [], {"a": 1, "b": 2}, ""),
    ("[-5, 5]", "max(abs(x - a), 5) + b*(x - 1)^2", [], {"a": 1, "b": 2}, ""),
    ("[-5, 5]", "max(abs(x - a), abs(x - b), 0.1)", [], {"a": 1, "b": 2}, ""),
]


@pytest.mark.parametrize(("domain", "goal", "kept", "given", "none"), COINCIDING)
def test_sensitivities_are_those_on_both_sides_or_none(
    domain: str, goal: str, kept: list[str], given: dict[str, float], none: str, tmp_path: Path
):
    lines = [f"given {', '.join(given)}", f"choose x in {domain}", f"minimize {goal}"]
    lines += [f"subject to {line}" for line in kept]
    path = tmp_path / "plain.law"
    path.write_text("\n".join(["question plain", *lines, ""]))
    ready = lawdsl.Asked(path)
    here = ready.answer(given)
    assert here.ok and here.goal
    found = {s.name: s for s in here.sensitivities}

    assert set(found) == set(given) - set(none)
    said = [line for line in here.proof if line.startswith("no derivative by")]
    assert [line.split(" at ")[0] for line in said] == (
        [f"no derivative by {', '.join(none)}"] if none else []
    )
    for (name, own), step in product(found.items(), (1e-6, -1e-6)):
        moved = ready.answer({**given, name: given[name] + step})
        assert moved.goal
        rates = (moved["x"] - here["x"]) / step, (moved.goal.value - here.goal.value) / step
        assert (own.unknowns["x"], own.goal) == pytest.approx(rates, rel=1e-4, abs=1e-4)
