"""Questions whose unknowns are some numbers, or whole numbers: every combination is tried."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from commands import run as lawdsl
from quick import some

from lawdsl import LawdslError, solve
from lawdsl.core.diagnostics import Text
from lawdsl.language.library import declared_question
from lawdsl.language.parser import parse
from lawdsl.language.printer import print_document
from lawdsl.solving.solve import Asked

CHINCHILLA = {"E": 1.8172, "A": 482.01, "B": 2085.43, "alpha": 0.3478, "beta": 0.3658}
HEAD = "question q\nuses loss : chinchilla\n"


def asked(*lines: str) -> Asked:
    text = Text("q.law", HEAD + "\n".join(lines) + "\n")
    return Asked(declared_question(text, Path())[0], loss=CHINCHILLA)


def loss(N, D):
    c = CHINCHILLA
    return c["E"] + c["A"] / N ** c["alpha"] + c["B"] / D ** c["beta"]


def test_the_best_of_listed_numbers_with_an_unknown_beside_them():
    discrete = asked(
        "choose n in {4, 8, 16}",
        "choose N > 1e6 unit param",
        "minimize loss(N, D = 1e22*n^0.5/(6*N)) + 0.02*n",
    ).answer()
    one = asked(
        "given n",
        "choose N > 1e6 unit param",
        "minimize loss(N, D = 1e22*n^0.5/(6*N)) + 0.02*n",
    )
    by_hand = {n: one.answer(n=n) for n in (4.0, 8.0, 16.0)}
    best = min(by_hand, key=lambda n: by_hand[n].goal.value)
    assert discrete.status == "answered" and discrete.certain and discrete["n"] == best
    assert discrete["N"] == pytest.approx(by_hand[best]["N"], rel=1e-12)
    assert [c.x["n"] for c in discrete.choices] == [4, 8, 16]
    for choice in discrete.choices:
        expected = by_hand[choice.x["n"]]
        assert choice.goal == pytest.approx(expected.goal.value, rel=1e-12)
        assert choice.behind == pytest.approx(
            expected.goal.value - by_hand[best].goal.value, abs=1e-12
        )


@pytest.mark.parametrize("seed", some(range(6), 1))
def test_whole_numbers_alone_against_every_combination(seed):
    rng = np.random.default_rng(seed)
    a, b, cap = rng.uniform(0.5, 3), rng.uniform(0.001, 0.02), rng.uniform(30, 200)
    better = rng.choice(["minimize", "maximize"])
    formula = f"loss(N = 1e8*k, D = 1e9*m) + {b!r}*abs(k - {a!r}*m)"
    answer = asked(
        "choose k integer in [1, 12]",
        "choose m integer in (0, 9)",
        f"{better} {formula}",
        f"subject to k*m <= {cap!r}",
    ).answer()
    points = [(k, m) for k, m in itertools.product(range(1, 13), range(1, 9)) if k * m <= cap]

    def goal(point):
        k, m = point
        return loss(1e8 * k, 1e9 * m) + b * abs(k - a * m)

    best = min(points, key=goal) if better == "minimize" else max(points, key=goal)
    assert (answer["k"], answer["m"]) == best
    assert answer.goal.value == pytest.approx(goal(best), rel=1e-12)
    assert len(answer.choices) == 12 * 8 and answer.certain
    assert sum(c.goal is not None for c in answer.choices) == len(points)


REFUSED = [
    (("choose n in {4, 4}",), "L0703", "listed twice"),
    (("given D > 0 unit token", "choose n in {4, D}"), "L0703", "not a number"),
    (("given n in {4, 8}",), "L0703", "is an interval"),
]


@pytest.mark.parametrize(("lines", "code", "problem"), REFUSED)
def test_choices_that_cannot_be_are_refused_in_the_file(lines, code, problem):
    with pytest.raises(LawdslError, match=problem) as raised:
        asked(*lines, "choose N > 0 unit param", "minimize loss(N, D = 1e9) + n*N/1e12")
    assert code in {d.code for d in raised.value.diagnostics}


@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        ("integer in [1, 1e6]", "more than 1,000"),
        ("integer in [1.2, 1.8]", "no whole number"),
    ],
)
def test_whole_numbers_that_are_too_many_or_none(domain, problem):
    question = asked(f"choose n {domain}", "minimize loss(N = 1e9*n, D = 1e10)")
    with pytest.raises(LawdslError, match=problem) as raised:
        question.answer()
    assert raised.value.diagnostics[0].code == "F0519"


def test_a_question_without_a_feasible_combination_says_so():
    answer = asked(
        "choose n in {1, 2}",
        "minimize loss(N = 1e9*n, D = 1e10)",
        "subject to loss(N = 1e9*n, D = 1e10) <= 1.9",
    ).answer()
    assert answer.status == "infeasible" and not answer.unknowns and answer.certain
    assert "0 of which have an answer" in answer.proof[0]


def test_ends_of_an_interval_are_those_of_givens():
    question = asked(
        "given most >= 1", "choose n integer in [1, most]", "minimize loss(N = 1e8*n, D = 1e10)"
    )
    assert question.answer(most=7)["n"] == 7
    assert question.answer(most=7.9)["n"] == 7


def test_a_domain_of_one_number_has_an_answer():
    answer = asked("choose n in [3, 3]", "minimize loss(N = 1e9*n, D = 1e10)").answer()
    assert answer["n"] == 3 and answer.goal.value == pytest.approx(loss(3e9, 1e10))


def test_the_text_is_printed_as_it_is_read():
    text = HEAD + "choose n in {4, 8}, k integer in [1, 64)\nminimize loss(N = n*k, D = 1e9)\n"
    tree, mistakes = parse(text)
    assert not mistakes
    printed = print_document(tree)
    assert "n in {4, 8}, k integer in [1, 64)" in printed
    assert print_document(parse(printed)[0]) == printed


def test_integer_is_a_name_elsewhere():
    answer = asked(
        "given integer > 0", "choose n in {1, 2}", "minimize loss(N = 1e9*n, D = 1e9*integer)"
    )
    assert answer.answer(integer=2)["n"] == 2


def test_the_command_shows_every_choice(tmp_path):
    path = tmp_path / "q.law"
    path.write_text(HEAD + "choose n in {4, 8}\nminimize loss(N = 1e9*n, D = 1e12/n)\n")
    parameters = [f"loss.{name}={value}" for name, value in CHINCHILLA.items()]
    done = lawdsl("solve", path, *parameters)
    assert done.returncode == 0 and "worse by" in done.stdout and "every combination" in done.stdout
    assert math.isclose(solve(path, loss=CHINCHILLA)["n"], 8)
