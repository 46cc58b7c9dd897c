"""Random questions with several unknowns: no certain answer is refuted, and few others are.

The referee is in `joint_referee`; `benchmarks/random_joint_questions.py` shows the figures.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from joint_referee import answered, judged, referee, sensitivities_off
from random_joint_questions import KINDS, questions

MANY = 500
WRONG = 0.005  # of the answers may be wrong where they are not called certain


def judge(seed: int, count: int, folder: Path) -> Counter[str]:
    told: Counter[str] = Counter()
    for number, question in enumerate(questions(seed, count)):
        asked, answer = answered(question, folder)
        found = judged(question, answer, seed=number)
        assert not (found.word == "wrong" and found.certain), f"{question.text}\n{found.why}"
        told[found.word] += 1
        if number % 10 == 0:
            off = sensitivities_off(asked, answer, question.given)
            assert not off, f"{question.text}\n{off}"
    return told


@pytest.mark.slow
def test_a_few_random_questions_are_answered_rightly(tmp_path: Path):
    told = judge(1, 4, tmp_path)

    assert told["wrong"] == 0 and told["right"] >= 2


@pytest.mark.slow
def test_of_many_random_questions_no_certain_answer_is_wrong(tmp_path: Path):
    told = judge(2, MANY, tmp_path)

    assert told["wrong"] <= WRONG * MANY


def test_the_questions_are_the_same_every_time():
    assert [q.text for q in questions(3, 12)] == [q.text for q in questions(3, 12)]
    assert {q.kind for q in questions(3, len(KINDS))} == set(KINDS)


def test_the_referee_refutes_a_wrong_answer(tmp_path: Path):
    """An answer that is moved away from the best point is seen to be wrong."""
    question = next(q for q in questions(4, 12) if q.kind == "wells")
    found = referee(question, seed=0)
    assert found.x is not None
    away = question.goal(np.clip(found.x + 0.1, question.low, question.high)[:, None])[0]

    assert away > found.value + 1e-3
