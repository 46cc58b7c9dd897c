"""Questions about piecewise formulas, and exports and imports of piecewise laws."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from exports import in_node, module
from judging import law_of

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.exporting.export import export
from lawdsl.law.functions import Choice
from lawdsl.law.law import Law


def asked(folder: Path, *lines: str, **fits: object) -> lawdsl.Asked:
    path = folder / "q.law"
    path.write_text("\n".join(('question q "A question"', *lines, "")), encoding="utf-8")
    return lawdsl.Asked(path, **fits)


X = "choose x in [0, 2]"


@pytest.mark.parametrize(
    ("goal", "status", "x", "best"),
    [
        # the lower side of the border belongs to the part without it
        ("minimize if x > 1 then (x - 1)^2 else (x - 2)^2", "approached", 1, 0),
        ("minimize if x >= 1 then (x - 1)^2 else (x - 2)^2", "answered", 1, 0),
        ("minimize if x > 1 then (x - 1)^2 + 1 else (x - 2)^2", "answered", 1, 1),
        ("minimize if x > 1 then (x - 1)^2 + 2 else (x - 2)^2", "answered", 1, 1),
        ("maximize if x > 1 then 3 - x else x", "approached", 1, 2),
        ("maximize if x < 1 then x else 2 - x", "answered", 1, 1),
        ("minimize if x > 1 then (x - 1.5)^2 else (x - 0.5)^2 + 0.1", "answered", 1.5, 0),
        ("minimize if x > 1 then (x - 1.5)^2 + 0.2 else (x - 0.5)^2", "answered", 0.5, 0),
        ("minimize (if x > 1 then x - 1 else 1 - x) + x/2", "answered", 1, 0.5),
    ],
)
def test_the_best_of_all_parts_is_the_answer(
    goal: str, status: str, x: float, best: float, tmp_path: Path
):
    answer = asked(tmp_path, X, goal).answer()

    assert answer.status == status and answer.certain
    assert answer["x"] == pytest.approx(x, abs=1e-9)
    assert answer.goal is not None and answer.goal.value == pytest.approx(best, abs=1e-9)


def test_an_answer_says_of_which_part_it_speaks(tmp_path: Path):
    answer = asked(
        tmp_path, X, "minimize if x > 1 then (x - 1.5)^2 else (x - 0.5)^2 + 0.1"
    ).answer()

    assert answer.proof[0] == "the best of 2 parts: x > 1"
    assert all(line.startswith("where x > 1: ") for line in answer.proof[1:])
    assert not answer.response and answer.method.startswith("every part; ")


def test_two_parts_that_are_equally_good_are_both_named(tmp_path: Path):
    goal = "minimize if x > 1 then (x - 1.5)^2 + 1 else (x - 0.5)^2 + 1"
    answer = asked(tmp_path, X, goal).answer()

    assert sorted([answer["x"], *(a["x"] for a in answer.alternatives)]) == pytest.approx(
        [0.5, 1.5]
    )


def test_a_constraint_may_jump(tmp_path: Path):
    lines = X, "maximize x", "subject to (if x > 1 then 2 else x) <= 1.5"
    answer = asked(tmp_path, *lines).answer()

    assert answer["x"] == pytest.approx(1) and answer.status == "answered"
    nowhere = asked(
        tmp_path, X, "maximize x", "subject to (if x > 1 then 2 else 3) <= 1.5"
    ).answer()
    assert nowhere.status == "infeasible"


@pytest.mark.parametrize("c", [0.5, 1.0, 3.0])
def test_a_limit_at_infinity_is_compared_with_what_other_parts_attain(c: float, tmp_path: Path):
    goal = "minimize if x > 10 then c + 1/x else (x - 2)^2 + 1"
    answer = asked(tmp_path, "given c >= 0", "choose x > 1", goal).answer({"c": c})

    assert answer.status == ("unbounded" if c < 1 else "answered")
    assert answer.status == "unbounded" or answer["x"] == pytest.approx(2)


def test_a_combination_that_only_approaches_its_best_hides_no_better_one(tmp_path: Path):
    lines = "choose n in {1, 2}", "choose x > 1", "minimize (2 - n)*(5 + 1/x) + (n - 1)*(x - 2)^2"
    answer = asked(tmp_path, *lines).answer()

    assert answer.status == "answered" and (answer["n"], answer["x"]) == (2, pytest.approx(2))


def test_whole_numbers_and_several_unknowns_meet_conditions(tmp_path: Path):
    whole = "choose n integer in [1, 9]", "minimize if n > 5 then (n - 7)^2 else (n - 2)^2 + 1"
    several = (
        "choose x, y in [0, 2]",
        "minimize if x + y > 1 then (x - 1)^2 + (y - 1)^2 else x + y - 0.1",
    )

    assert asked(tmp_path, *whole).answer()["n"] == 7
    answer = asked(tmp_path, *several).answer()
    assert (answer["x"], answer["y"]) == (pytest.approx(0, abs=1e-6), pytest.approx(0, abs=1e-6))


def test_a_condition_on_givens_is_settled_by_their_values(tmp_path: Path):
    question = asked(
        tmp_path, "given T > 0", X, "minimize if T > 1 then (x - T/2)^2 else (x - 1)^2"
    )

    assert question.answer({"T": 3})["x"] == pytest.approx(1.5)
    assert question.answer({"T": 1})["x"] == pytest.approx(1)
    assert "every part" not in question.answer({"T": 3}).method


def test_a_condition_without_a_value_settles_no_part(tmp_path: Path):
    of_given = asked(tmp_path, X, "given g", "minimize if log(g) > 0 then x else 2 - x")
    assert of_given.answer(g=2)["x"] == 0 and of_given.answer(g=0.5)["x"] == 2
    with pytest.raises(LawdslError, match="log\\(g\\) > 0 has no value"):
        of_given.answer(g=-1)

    # where the root has no value, neither part holds: the goal comes near 4, and no nearer
    of_unknown = "minimize if sqrt(x - 3) > 1 then x else 20 - x"
    answer = asked(tmp_path, "choose x in [0, 10]", of_unknown).answer()
    assert answer["x"] == 4 and not answer.certain
    assert answer.plot().title == "q: x = 4; the goal = 4, not certain"


def test_a_title_says_that_the_best_is_approached_only(tmp_path: Path):
    answer = asked(tmp_path, X, "minimize if x > 1 then x else 3").answer()
    assert (
        answer.plot().title == "q: x = 1; if x > 1 then x else 3 = 1 (a limit that is not attained)"
    )


def test_random_goals_with_jumps_have_no_better_point(tmp_path: Path):
    """Against a grid with all borders and points beside them, by plain Python."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        a, b, c, d, e, f = (round(float(v), 2) for v in rng.uniform(-1.5, 2.5, 6))
        relation = rng.choice(["<", "<=", ">", ">="])
        goal = (
            f"if x {relation} {abs(a)} then (x - {b})^2 + ({c}) else "
            f"(if x < {abs(d)} then ({e}) - x else ({f})*x)"
        ).replace("- -", "+ ")
        answer = asked(tmp_path, X, f"minimize {goal}").answer()
        hold = {"<": float.__lt__, "<=": float.__le__, ">": float.__gt__, ">=": float.__ge__}

        def value(x: float) -> float:
            if hold[relation](x, abs(a)):  # noqa: B023
                return (x - b) ** 2 + c  # noqa: B023
            return e - x if x < abs(d) else f * x  # noqa: B023

        beside = [v + s for v in (abs(a), abs(d), b) for s in (-1e-9, 0.0, 1e-9)]
        points = [x for x in [*np.linspace(0, 2, 401).tolist(), *beside] if 0 <= x <= 2]
        best = min(map(value, points))
        assert answer.goal is not None and answer.goal.value <= best + 1e-7, goal
        if answer.status == "answered":
            assert value(answer["x"]) == pytest.approx(answer.goal.value, abs=1e-9), goal
        else:
            assert answer.status == "approached" and value(answer["x"]) > answer.goal.value
            near = min(value(answer["x"] + s) for s in (-1e-7, 1e-7) if 0 <= answer["x"] + s <= 2)
            assert near == pytest.approx(answer.goal.value, abs=1e-5)


def test_a_piecewise_law_is_asked_about(tmp_path: Path):
    law = law_of(
        "law tiers\nvariable D > 0\nparameter A, B > 0\nL = if D > 100 then A/D else B/D + 1"
    )
    path = tmp_path / "tiers.law"
    path.write_text(
        "law tiers\nvariable D > 0\nparameter A, B > 0\nL = if D > 100 then A/D else B/D + 1\n"
    )
    lines = "uses loss : tiers", "choose D in [10, 500]", "minimize loss(D) + D/1000"
    answer = asked(tmp_path, *lines, loss={"A": 10.0, "B": 1.0}).answer()

    assert law.name == "tiers"
    assert answer.status == "approached" and answer["D"] == pytest.approx(100)
    assert answer.goal is not None and answer.goal.value == pytest.approx(0.2)
    with pytest.raises(LawdslError, match="several parts|depends on a fitted law"):
        asked(tmp_path, *lines, loss={"A": 10.0, "B": 1.0}).answer(safe=0.95)


# Exports and imports

EDGES = (
    "law edges\nvariable D > 0\nvariable r in [0, 1]\nparameter E, A, alpha, B > 0\n"
    "let u = log(D - 100)\n"
    "L = E + (if D > 110 then A/(D - 109)^alpha + u/100 else sqrt(111 - D)*B)"
    " + (if r < 0.5 then (0.5 - r)^alpha else exp(r*1000 - 1000))\n"
)
VALUES = {"E": 2.0, "A": 3.0, "alpha": 0.4, "B": 0.3}
POINTS = [(20.0, 0.2), (110.0, 0.5), (110.0, 0.25), (109.0, 0.75), (111.0, 0.49), (500.0, 0.9)]


def true_value(d: float, r: float) -> float:
    first = 3 / (d - 109) ** 0.4 + math.log(d - 100) / 100 if d > 110 else math.sqrt(111 - d) * 0.3
    return 2 + first + ((0.5 - r) ** 0.4 if r < 0.5 else math.exp(r * 1000 - 1000))


@pytest.mark.parametrize(
    "target",
    [
        "python",
        "numpy",
        pytest.param("jax", marks=pytest.mark.slow),
        pytest.param("javascript", marks=pytest.mark.slow),
    ],
)
def test_exports_take_the_part_of_each_point(target: str, tmp_path: Path):
    if target == "jax":
        pytest.importorskip(target).config.update("jax_enable_x64", True)
    text = export(law_of(EDGES).at(**VALUES), target)
    if target == "javascript":
        found = in_node(text, [{"D": d, "r": r} for d, r in POINTS], tmp_path)[0]
    else:
        made = module(text)
        found = [float(made.predict(D=d, r=r)) for d, r in POINTS]
    assert found == pytest.approx(list(itertools.starmap(true_value, POINTS)), rel=1e-12)


def test_gradients_of_torch_are_finite_beside_the_part_that_is_not_taken():
    torch = pytest.importorskip("torch")
    made = module(export(law_of(EDGES).at(**VALUES), "torch"))
    columns = zip(*POINTS, strict=True)
    d, r = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in columns)
    found = made.predict(D=d, r=r)
    found.sum().backward()

    assert found.tolist() == pytest.approx(list(itertools.starmap(true_value, POINTS)), rel=1e-12)

    for k, (x, y) in enumerate(POINTS):
        step = 1e-6
        if x not in (110.0,) and y not in (0.5,):
            slope = (true_value(x + step, y) - true_value(x - step, y)) / (2 * step)
            assert float(d.grad[k]) == pytest.approx(slope, rel=1e-6)
        assert math.isfinite(float(d.grad[k])) and math.isfinite(float(r.grad[k]))


def test_gradients_of_python_and_numpy_are_those_of_the_part():
    law = law_of(EDGES).at(**VALUES)
    for target in ("python", "numpy"):
        made = module(export(law, target))
        for x, y in POINTS[3:]:
            step = 1e-6
            slope = (true_value(x + step, y) - true_value(x - step, y)) / (2 * step)
            assert float(made.gradient(D=x, r=y)["D"]) == pytest.approx(slope, rel=1e-6)


N, A, B = sp.symbols("N A B")


@pytest.mark.parametrize(
    ("expression", "formula"),
    [
        (sp.Piecewise((A * N, N > 10), (B, True)), "if N > 10 then A*N else B"),
        (
            A + sp.Piecewise((B * N, N >= 3), (1 / N, N < 1), (2, True)),
            "A + (if N >= 3 then B*N else if N < 1 then 1/N else 2)",
        ),
        (Choice(N - 3, A, B * N), "if N - 3 > 0 then A else B*N"),
    ],
)
def test_pieces_of_sympy_are_imported(expression: sp.Expr, formula: str):
    law = Law.from_sympy(expression, name="x")

    assert f"L = {formula}\n" in law.declarations.text.text


@pytest.mark.parametrize(
    "cases",
    [
        ((A, N > 10), (B, N < 3)),
        ((A, sp.And(N > 1, N < 3)), (B, True)),
        ((A, sp.Eq(N, 1)), (B, True)),
    ],
)
def test_pieces_without_a_rest_or_with_other_conditions_are_refused(cases: tuple[object, ...]):
    with pytest.raises(LawdslError, match="E0204"):
        Law.from_sympy(sp.Piecewise(*cases), name="x")
