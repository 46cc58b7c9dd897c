"""Strict inequalities, and conditions in which no unknown is left: what is said where they fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run
from quick import without

import lawdsl

EQUAL = "both sides are equal, and the inequality is strict"


def written(folder: Path, *lines: str) -> Path:
    path = folder / "strict.law"
    path.write_text("\n".join(["question strict", *lines, ""]), encoding="utf-8")
    return path


def joint(folder: Path, first: str, second: str, objective: str, constraint: str) -> Path:
    """A question in two unknowns."""
    return written(
        folder, f"choose {first}", f"choose {second}", objective, f"subject to {constraint}"
    )


@pytest.mark.parametrize("condition", ["a < b", "a > b", "a*b > b^2", "2*a < a + b", "1 < a/b"])
def test_givens_that_are_equal(condition: str, tmp_path: Path):
    lines = ["given a, b > 0", "choose x > 0", "minimize x + 1/x", f"subject to {condition}"]

    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.solve(written(tmp_path, *lines), a=2, b=2)

    assert f"{condition} does not hold: {EQUAL}" in str(error.value)
    assert "-0" not in str(error.value)


def test_givens_that_differ(tmp_path: Path):
    lines = ["given a, b > 0", "choose x > 0", "minimize x + 1/x", "subject to a < b"]

    with pytest.raises(lawdsl.LawdslError, match="a < b does not hold: it is off by 1"):
        lawdsl.solve(written(tmp_path, *lines), a=3, b=2)


def test_unknowns_that_cancel(tmp_path: Path):
    lines = ["given a, b > 0", "choose x > 0", "minimize x + 1/x", "subject to x + a < b + x"]
    path = written(tmp_path, *lines)

    done = run("solve", path.name, "a=2", "b=2", cwd=tmp_path)

    assert done.returncode == 1
    assert f"x + a < b + x holds for no choice: {EQUAL}" in done.stdout
    assert "x + a < b + x must give way by more than 0: equality is not enough" in done.stdout


EMPTY = {
    "above and below one number": ("x > 0", "2 < x", "x < 2"),
    "one side strict": ("x > 0", "2 <= x", "x < 2"),
    "beyond an end": ("x in [0, 1]", "x > 1"),
    "at an end that is left out": ("x in (0, 5)", "x <= 0"),
    "a square below 0": ("x in [-5, 5]", "x^2 < 0"),
    "a root below 0": ("x in [0, 5]", "sqrt(x) < 0"),
}


@pytest.mark.parametrize("case", EMPTY)
def test_one_point_that_is_left_out_is_not_approached(case: str, tmp_path: Path):
    domain, *conditions = EMPTY[case]
    kept = [f"subject to {c}" for c in conditions]

    found = lawdsl.solve(written(tmp_path, f"choose {domain}", "minimize x", *kept))

    assert found.status == "infeasible" and not found.ok
    assert found.relaxations and all(r.by == 0 for r in found.relaxations)


@pytest.mark.parametrize("conditions", [("exp(x) < 2", "exp(x) > 2"), ("x^3 < 2", "x^3 > 2")])
def test_a_point_that_is_known_in_an_interval_is_not_said_to_be_approached(
    conditions: tuple[str, ...], tmp_path: Path
):
    kept = [f"subject to {c}" for c in conditions]

    found = lawdsl.solve(written(tmp_path, "choose x in [-5, 5]", "minimize x", *kept))

    assert found.status in ("undecided", "infeasible")


def test_a_narrow_range_is_approached(tmp_path: Path):
    lines = ["choose x in [0, 5]", "minimize x", "subject to x > 2", "subject to x < 2.00000001"]

    found = lawdsl.solve(written(tmp_path, *lines))

    assert found.status == "approached" and found["x"] == 2


APPROACHED = {
    "a line": ("x in [0, 1]", "y in [0, 1]", "minimize x + 2*y", "x + y > 1"),
    "a bound": ("x > 0", "y > 0", "maximize x", "x + y <= 1"),
    "a disc": ("x in [-5, 5]", "y in [-5, 5]", "minimize x + 2*y", "x^2 + y^2 < 1"),
    "two bounds": ("x > 1", "y > 1", "minimize x*y + y/x", "x*y < 100"),
    "in another unit": ("x in [0, 1e9]", "y in [0, 1]", "minimize x/1e9 + 2*y", "x/1e9 + y > 1"),
}


@pytest.mark.parametrize("case", APPROACHED)
def test_with_several_unknowns_a_best_on_a_strict_inequality_is_approached(
    case: str, tmp_path: Path
):
    answer = lawdsl.solve(joint(tmp_path, *APPROACHED[case]))

    assert answer.status == "approached" and not answer.ok
    assert (
        "equality is left out, so the optimum is a limit that is not attained" in answer.proof[-1]
    )
    assert answer.proof[0].startswith("every other constraint is kept")


NOTHING = {
    "a corner": ("x in [0, 1]", "y in [0, 1]", "minimize x + 2*y", "x + y > 2"),
    "two open ends": ("x > 0", "y > 0", "maximize x", "x + y <= 0"),
    "a point": ("x in [-5, 5]", "y in [-5, 5]", "minimize x + 2*y", "x^2 + y^2 < 0"),
}


@pytest.mark.parametrize("case", without(NOTHING, ["a point"]))
def test_with_several_unknowns_a_point_that_breaks_a_strict_inequality_is_no_answer(
    case: str, tmp_path: Path
):
    answer = lawdsl.solve(joint(tmp_path, *NOTHING[case]))

    assert answer.status in ("undecided", "infeasible")
    assert answer.unknowns == () and answer.goal is None


def test_with_several_unknowns_a_strict_inequality_that_holds_changes_nothing(tmp_path: Path):
    lines = ["choose x > 0", "choose y > 0", "minimize (x - 1)^2 + (y - 2)^2 + x*y/10"]
    answers = [
        lawdsl.solve(written(tmp_path, *lines, f"subject to x + y {relation} 9"))
        for relation in ("<", "<=")
    ]

    assert [answer.status for answer in answers] == ["answered", "answered"]
    assert answers[0].unknowns == answers[1].unknowns


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize(("ratio", "holds"), [(2.0, False), (1 + 1e-9, False), (1 + 1e-15, True)])
def test_an_equation_of_givens_is_met_in_any_unit(
    size: float, ratio: float, holds: bool, tmp_path: Path
):
    lines = ["given a, b > 0", "choose x > 0", "minimize x + 1/x", "subject to a = b"]
    path = written(tmp_path, *lines)

    if holds:
        assert lawdsl.solve(path, a=size, b=ratio * size).ok
    else:
        with pytest.raises(lawdsl.LawdslError, match="a = b does not hold"):
            lawdsl.solve(path, a=size, b=ratio * size)
