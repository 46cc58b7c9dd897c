"""Random laws and claims: no verdict is contradicted by dense sampling.

The judge (`random_laws`, `judging`) walks the formulas as they are written, on float64 and on up to
330 digits; it shares nothing with the proofs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from random_laws import cases, contradiction

from lawdsl.proof import check_claim

SECONDS = 0.2  # for one claim; those that take longer are undecided, which cannot be wrong


def judged(seed: int, count: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for i, case in enumerate(cases(seed, count)):
        verdict = check_claim(case.law, case.claim, seconds=SECONDS)
        wrong = contradiction(case, verdict, seed=i)
        assert wrong is None, f"{case}\n{verdict}\n{wrong}"
        seen[verdict.verdict] += 1
    return seen


def test_no_verdict_is_contradicted(capsys: pytest.CaptureFixture[str]):
    """Enough verdicts of each kind must be reached for that to mean something."""
    seen = judged(seed=2024, count=2000)

    with capsys.disabled():
        print(f"\n  random claims: {dict(seen)}, none contradicted")
    assert seen.total() == 2000
    assert seen["proved"] > 200 and seen["refuted"] > 200 and seen["conditional"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_no_verdict_is_contradicted_in_100_000(part: int):
    assert judged(seed=10_000 + part, count=5000).total() == 5000


def test_the_random_laws_are_the_same_every_time():
    assert [str(case) for case in cases(7, 12)] == [str(case) for case in cases(7, 12)]


def test_the_judge_contradicts_wrong_verdicts():
    """Every claim that is refuted at a point would be wrong as proved, and the judge says so."""
    caught = total = 0
    for case in cases(99, 400):
        verdict = check_claim(case.law, case.claim, seconds=SECONDS)
        if verdict.verdict == "refuted" and verdict.witness and "->" not in case.shown:
            total += 1
            claimed = replace(verdict, verdict="proved", witness=())
            caught += contradiction(case, claimed) is not None
        elif verdict.verdict == "proved" and "->" not in case.shown:
            point = replace(verdict, verdict="refuted", witness=(("a", "1"),))
            assert contradiction(case, point) is not None

    assert total > 60
    assert caught / total > 0.8  # the rest fail on few points
