"""Figures of answers: what they draw is what the question, its laws and its answers say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from raised import code_of

import lawdsl
from lawdsl.figures.kinds.answer_steps import step_rows
from lawdsl.fitting.result import Fit
from lawdsl.language.library import declared_question
from lawdsl.language.questions import Question
from lawdsl.solving.result import Answer

CHINCHILLA = {"E": 1.8172, "A": 482.01, "B": 2085.43, "alpha": 0.3478, "beta": 0.3658}
COMPUTE = 1e22

LEAST = """question least "The smallest share that keeps the loss"
uses      loss : dcpt.share
given     limit > 0  unit nat/token  "loss that is allowed"
choose    r in [0, 1]                "share"
minimize  r
subject to loss(r) <= limit  "loss"
"""
LOWEST = """question lowest "The share of the lowest loss, where a share costs something"
uses      loss : dcpt.share
setting   price = 1  unit nat/token
choose    r in [0.1, 0.9]  "share"
minimize  loss(r) + price*r
"""
SERVED = """question served "The cheapest model that reaches a loss, serving included"
uses      loss : chinchilla
given     target > 0  unit nat/token
given     served > 0  unit token
choose    N > 0       unit param
choose    D > 0       unit token
minimize  N*(3*D + served)
subject to loss(N, D) <= target  "loss"
"""


def question(text: str) -> Question:
    from lawdsl.core.diagnostics import Text

    return declared_question(Text("question.law", text), Path())[0]


def chinchilla(N: Any, D: Any) -> Any:
    """The law as Hoffmann et al. write it."""
    p = CHINCHILLA
    return p["E"] + p["A"] / N ** p["alpha"] + p["B"] / D ** p["beta"]


@pytest.fixture(scope="module")
def fit() -> Fit:
    rng = np.random.default_rng(1)
    r = np.linspace(0.05, 1, 14)
    L = 2 + 0.5 / (r + 0.1) ** 0.8 + 0.004 * rng.normal(size=14)
    made = lawdsl.fit("dcpt.share", {"r": r, "L": L}, starts=4, claims=False)
    assert isinstance(made, Fit)
    return made


@pytest.fixture(scope="module")
def served() -> Answer:
    return lawdsl.solve(question(SERVED), loss=CHINCHILLA, target=2.2, served=1e11)


def columns(figure: Any) -> dict[str, np.ndarray]:
    return {name: np.array(values) for name, values in figure.columns.items()}


def test_both_sides_of_a_constraint_are_drawn_and_where_it_holds(fit: Fit):
    answer = lawdsl.solve(question(LEAST), loss=fit, limit=2.7)
    drawn = columns(answer.plot())
    p = fit.values
    loss = p["E"] + p["C"] / (drawn["value"] + p["epsilon"]) ** p["gamma"]
    assert drawn["left of loss(r) <= limit"] == pytest.approx(loss, rel=1e-12)
    assert set(drawn["right of loss(r) <= limit"]) == {2.7}
    assert (drawn["value"][0], drawn["value"][-1]) == (0, 1)
    away = np.abs(loss - 2.7) > 1e-6
    assert np.array_equal(drawn["allowed"][away], (loss <= 2.7)[away])
    assert drawn["value"][drawn["allowed"]][0] == answer["r"]


def test_the_band_of_the_goal_is_that_of_the_prediction(fit: Fit):
    answer = lawdsl.solve(question(LOWEST), loss=fit, price=0)
    drawn = columns(answer.plot())
    band = fit.predict_with_errors({"r": drawn["value"]}, discrepancy=0)
    assert drawn["goal"] == pytest.approx(band.values, rel=1e-12)
    # a prediction has its interval in logarithms, an answer in the goal itself
    assert drawn["high"] - drawn["low"] == pytest.approx(band.high - band.low, rel=1e-3)


def test_an_unknown_that_an_equation_gives_moves_with_the_other():
    answer = lawdsl.solve("chinchilla.allocation", loss=CHINCHILLA, C=COMPUTE)
    figure = answer.plot()
    drawn = columns(figure)
    assert set(drawn["unknown"]) == {"N"}
    assert drawn["D"] == pytest.approx(COMPUTE / (6 * drawn["value"]))
    assert drawn["goal"] == pytest.approx(chinchilla(drawn["value"], drawn["D"]))
    assert drawn["value"][np.argmin(drawn["goal"])] == answer["N"]
    assert "D follows from N" in figure.notes
    assert "N = 9.05B param" in figure.title and "2.14" in figure.title


def test_along_one_of_several_unknowns_the_others_are_as_in_the_answer(served: Answer):
    drawn = columns(served.plot())
    for name, other in (("N", "D"), ("D", "N")):
        rows = drawn["unknown"] == name
        at = {name: drawn["value"][rows], other: served[other]}
        assert drawn["goal"][rows] == pytest.approx(at["N"] * (3 * at["D"] + 1e11))
        kept = chinchilla(at["N"], at["D"]) <= 2.2 + 1e-9
        assert np.array_equal(drawn["allowed"][rows], kept)


def test_one_unknown_can_be_chosen(served: Answer):
    assert set(served.plot(x="D").columns["unknown"]) == {"D"}


def test_what_one_per_cent_more_moves_is_what_another_answer_says(served: Answer):
    steps = dict(step_rows(served, "N", served["N"]))
    ask = lawdsl.Asked(question(SERVED), loss=CHINCHILLA)
    for name, value in {"target": 2.2, "served": 1e11}.items():
        more = ask.answer({"target": 2.2, "served": 1e11, name: value * 1.0001})
        moved = 100 * (more["N"] / served["N"] - 1) / 0.01
        assert steps[name] == pytest.approx(moved, rel=0.01)


@pytest.fixture(scope="module")
def mixtures() -> lawdsl.Fits:
    """mixing.powers of two validation domains and three shares."""
    rng = np.random.default_rng(5)
    shares = rng.dirichlet([1.0, 1.0, 1.0], size=30)
    table: dict[str, Any] = {f"r[{name}]": shares[:, n] for n, name in enumerate("abc")}
    for name, worth in {"x": (1.2, 1.0, 0.2), "y": (0.2, 0.1, 1.5)}.items():
        table[f"L[{name}]"] = 0.8 + 1 / (0.3 + shares**0.6 @ np.array(worth))
    fits = lawdsl.fit("mixing.powers", table, starts=4, claims=False)
    assert isinstance(fits, lawdsl.Fits)
    return fits


def test_shares_are_drawn_with_their_bounds_and_the_goal_along_each(mixtures: lawdsl.Fits):
    answer = lawdsl.solve("mixing.best", loss=mixtures, cap=0.45)
    figure = answer.plot()
    drawn = columns(figure)
    largest_first = sorted(((u.name, u.value) for u in answer.unknowns), key=lambda pair: -pair[1])
    assert list(zip(drawn["unknown"], drawn["value"], strict=True)) == largest_first
    capped = {u.name for u in answer.unknowns if u.value > 0.45 - 1e-9}
    bounds = dict(zip(drawn["unknown"], drawn["bound"], strict=True))
    assert capped and {name for name, bound in bounds.items() if bound == "largest share"} == capped

    curves = answer.curves()
    assert {curve.unknown for curve in curves} == set(drawn["unknown"])
    for curve in curves:
        shares = {curve.unknown: curve.x, **curve.others}
        assert sum(shares.values()) == pytest.approx(np.ones(len(curve.x)))
        others = np.array([answer[name] for name in curve.others])
        in_proportion = np.outer(others / sum(others), 1 - curve.x)
        assert np.array(list(curve.others.values())) == pytest.approx(in_proportion)
        loss = mixtures.predict({name: values for name, values in shares.items()})
        assert curve.goal == pytest.approx(np.mean(loss, axis=1))


def test_answers_for_several_givens_are_drawn_against_it(fit: Fit):
    asked = lawdsl.Asked(question(LEAST), loss=fit)
    limits = [2.2, 2.6, 2.8, 3.0]
    answers = asked.answers({"limit": limits}, safe=0.9, discrepancy=0.02)
    figure = answers.plot()
    drawn = columns(figure)
    one_by_one = [asked.answer(limit=x, safe=0.9, discrepancy=0.02) for x in limits[1:]]
    assert list(drawn["limit"]) == limits[1:]  # 2.2 is below what the law reaches
    assert list(drawn["value"]) == [a["r"] for a in one_by_one]
    assert list(drawn["low"]) == [a.ends("r")[0] for a in one_by_one]
    assert list(drawn["high, laws wrong"]) == [a.law_error.ends["r"][1] for a in one_by_one]
    assert list(drawn["safe"]) == [a.safe["r"] for a in one_by_one]
    assert "falls" in figure.title and "while limit goes from 2.6 to 3" in figure.title
    assert "crosses: no answer" in json.dumps(figure.chart.to_dict()["title"])


def test_two_givens_make_groups():
    asked = lawdsl.Asked("chinchilla.allocation", loss=CHINCHILLA)
    drawn = columns(asked.answers({"C": [1e20, 1e21, 1e22], "k": [6, 8]}).plot())
    rows = (drawn["quantity"] == "N") & (drawn["group"] == "k = 8")
    assert list(drawn["value"][rows]) == [
        asked.answer(C=c, k=8)["N"] for c in drawn["C"][rows].tolist()
    ]


def test_what_cannot_be_drawn_is_refused(fit: Fit, served: Answer):
    assert code_of(lambda: served.plot(x="M")) == "G0104"
    asked = lawdsl.Asked("chinchilla.tokens_for_loss", loss=CHINCHILLA)
    assert code_of(asked.answer(N=1e8, target=1.9).plot) == "G0111"
    answers = asked.answers({"N": [1e8, 2e8], "target": 1.9})
    assert code_of(answers.plot) == "G0111"
    assert code_of(lambda: answers.plot(x="target")) == "G0104"


def test_an_infeasible_question_with_one_bounded_unknown_shows_why(fit: Fit):
    answer = lawdsl.solve(question(LEAST), loss=fit, limit=2.2)
    figure = answer.plot()
    assert not any(figure.columns["allowed"])
    assert min(figure.columns["left of loss(r) <= limit"]) > 2.2
    assert "no answer" in figure.title


def test_the_command_draws_what_it_answers(fit: Fit, tmp_path: Path):
    fit.save(tmp_path / "fit.json")
    (tmp_path / "least.law").write_text(LEAST, encoding="utf-8")
    given = ("solve", "least.law", "loss=fit.json")
    done = run(*given, "limit=2.6,2.8", "--plot", "answers.svg", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["plot"] == "answers.svg"
    assert (tmp_path / "answers.svg").read_bytes().startswith(b"<svg")
    refused = run(*given, "limit=2.6", "--plot", "answer.bmp", cwd=tmp_path)
    assert refused.returncode == 3 and "G0105" in refused.stderr and not refused.stdout
    nowhere = run(*given, "limit=2.6", "--plot", "nowhere/answer.svg", cwd=tmp_path)
    assert nowhere.returncode == 3 and "L0313" in nowhere.stderr and not nowhere.stdout


def test_an_answer_that_cannot_be_drawn_is_printed_all_the_same(tmp_path: Path):
    values = [f"loss.{name}={value}" for name, value in CHINCHILLA.items()]
    given = ("solve", "chinchilla.tokens_for_loss", *values, "N=1e8", "target=1.9")
    done = run(*given, "--plot", "answer.svg", "--json", cwd=tmp_path)
    document = json.loads(done.stdout)
    assert document["result"]["status"] == "infeasible" and "plot" not in document
    assert "G0111" in [d["code"] for d in document["diagnostics"]]
    assert not (tmp_path / "answer.svg").exists()
