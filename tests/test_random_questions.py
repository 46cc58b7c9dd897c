"""Random questions with one unknown: no certain answer is wrong, and few questions are left open."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from random_questions import KINDS, PIECEWISE, Question, questions
from refereeing import verdict

import lawdsl

SAMPLES = {
    "quick": (10, 6, KINDS),  # the first of the many
    "quick, piecewise": (6, 8, PIECEWISE),
    "many": (500, 6, KINDS),
    "many, piecewise": (300, 9, PIECEWISE),
}
"""Number of questions, seed, kinds."""
SLOW = ("many", "many, piecewise")


def judged(folder: Path, question: Question) -> tuple[str, str]:
    """What the referee says of the answer to a question."""
    path = folder / "random.law"
    path.write_text(question.text, encoding="utf-8")
    try:
        answer = lawdsl.Asked(path, **question.fits).answer(question.given, proofs=False)
    except lawdsl.LawdslError as error:
        codes = {d.code for d in error.diagnostics}
        assert codes == {"F0503"}, error  # a constraint without the unknown that does not hold
        return "refused", ""
    return verdict(question, answer)


@pytest.mark.parametrize(
    "which", [pytest.param(w, marks=pytest.mark.slow if w in SLOW else ()) for w in SAMPLES]
)
def test_no_answer_is_wrong_and_few_are_open(which: str, tmp_path: Path):
    count, seed, kinds = SAMPLES[which]
    found: Counter[str] = Counter()
    for question in questions(count, seed, kinds):
        kind, why = judged(tmp_path, question)
        assert not kind.startswith("wrong"), f"{kind}: {why}\n{question.text}{question.given}"
        found[kind] += 1
    assert found["certain"] >= 0.9 * count
    assert found["undecided"] + found["undecided, beaten"] <= 0.05 * count


def test_the_referee_knows_a_wrong_answer(tmp_path: Path):
    """Answers moved off their place, or called infeasible, are seen as wrong."""
    seen: Counter[str] = Counter()
    for question in questions(12, 7, (*KINDS, *PIECEWISE)):
        path = tmp_path / "random.law"
        path.write_text(question.text, encoding="utf-8")
        try:
            answer = lawdsl.Asked(path, **question.fits).answer(question.given, proofs=False)
        except lawdsl.LawdslError:
            continue
        if answer.status not in ("answered", "approached") or answer.goal is None:
            continue
        seen["answers"] += 1
        turn = -1 if question.maximize else 1
        worse = answer.goal.value + turn * 0.01 * abs(answer.goal.value) + turn * 1e-30
        moved = replace(answer, goal=replace(answer.goal, value=worse))
        seen["value"] += verdict(question, moved)[0] == "wrong certain"
        infeasible = replace(answer, status="infeasible")
        seen["infeasible"] += verdict(question, infeasible)[0] == "wrong certain"

    assert seen["answers"] >= 5
    assert seen["value"] >= 0.9 * seen["answers"]
    assert seen["infeasible"] >= 0.9 * seen["answers"]
