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
    """What is refuted would be wrong as proved, what is proved would be wrong as refuted."""
    caught: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for case in cases(99, 300):
        verdict = check_claim(case.law, case.claim, seconds=SECONDS)
        if "->" in case.shown or (verdict.verdict == "refuted" and not verdict.witness):
            continue
        opposite = {
            "refuted": replace(verdict, verdict="proved", witness=()),
            "proved": replace(verdict, verdict="refuted", witness=(("s", "1/2"),)),
        }.get(verdict.verdict)
        if opposite is not None:
            total[verdict.verdict] += 1
            caught[verdict.verdict] += contradiction(case, opposite) is not None

    assert min(total["proved"], total["refuted"]) > 60
    for kind, count in total.items():  # of the others, some fail at few points only
        assert caught[kind] > 0.8 * count, (kind, caught[kind], count)
