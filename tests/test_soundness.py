"""Random laws and claims: no verdict is contradicted by dense sampling.

The judge (`claim_sampling`, `judging`) walks the formulas as they are written, on float64 and on up to
330 digits; it shares nothing with the proofs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from claim_sampling import contradiction
from random_laws import cases

from lawdsl.proof import Verdict, check_claim

SLOW = pytest.mark.slow
SECONDS = 0.2  # for one claim; those that take longer are undecided, which cannot be wrong


def count_checked_verdicts(seed: int, count: int, piecewise: bool = False) -> Counter[str]:
    seen: Counter[str] = Counter()
    for i, case in enumerate(cases(seed, count, piecewise)):
        verdict = check_claim(case.law, case.claim, seconds=SECONDS)
        wrong = contradiction(case, verdict, seed=i)
        assert wrong is None, f"{case}\n{verdict}\n{wrong}"
        seen[verdict.verdict] += 1
        seen["never"] += verdict.never
    return seen


def test_no_verdict_is_contradicted():
    seen = count_checked_verdicts(seed=2024, count=60)

    assert seen.total() - seen["never"] == 60
    assert seen["proved"] > 8 and seen["refuted"] > 8
    assert min(seen[kind] for kind in ("conditional", "inside", "never")) > 0


@pytest.mark.slow
def test_no_verdict_is_contradicted_in_2_000(capsys: pytest.CaptureFixture[str]):
    """Enough verdicts of each kind must be reached for that to mean something."""
    seen = count_checked_verdicts(seed=2024, count=2000)

    with capsys.disabled():
        print(f"\n  random claims: {dict(seen)}, none contradicted")
    assert seen.total() - seen["never"] == 1400
    assert seen["proved"] > 200 and seen["refuted"] > 200
    assert seen["conditional"] > 20 and seen["inside"] > 20 and seen["never"] > 50


def test_no_verdict_on_piecewise_laws_is_contradicted():
    seen = count_checked_verdicts(seed=7, count=20, piecewise=True)

    assert seen["proved"] > 1 and seen["refuted"] > 2


@pytest.mark.slow
def test_no_verdict_on_piecewise_laws_is_contradicted_in_3_000():
    seen = count_checked_verdicts(seed=11, count=3000, piecewise=True)

    assert seen["proved"] > 300 and seen["refuted"] > 300


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_no_verdict_is_contradicted_in_100_000(part: int):
    assert count_checked_verdicts(seed=10_000 + part, count=5000)["proved"] > 1000


def test_the_random_laws_are_the_same_every_time():
    assert [str(case) for case in cases(7, 12)] == [str(case) for case in cases(7, 12)]


def wrong_ones(verdict: Verdict) -> Iterator[tuple[str, Verdict]]:
    """Verdicts that would be wrong where the one that was reached is right."""
    match verdict.verdict:
        case "refuted" if verdict.witness:
            yield "refuted as proved", replace(verdict, verdict="proved", witness=())
        case "proved":
            point = (("s", "1/2"),)
            yield "proved as refuted", replace(verdict, verdict="refuted", witness=point)
            yield "proved as never", replace(verdict, verdict="refuted", never=True)
        case "inside":
            yield "inside as proved", replace(verdict, verdict="proved")
            yield "inside elsewhere", replace(verdict, face="s = 1")
        case "conditional":
            turned = (verdict.condition or "").translate(str.maketrans("<>", "><"))
            yield "conditional turned round", replace(verdict, condition=turned)


@pytest.mark.parametrize(("number", "least"), [(40, 0), pytest.param(600, 10, marks=SLOW)])
def test_the_judge_contradicts_wrong_verdicts(number: int, least: int):
    """Most of them: some fail at few points only."""
    caught: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for case in cases(99, number):
        verdict = check_claim(case.law, case.claim, seconds=SECONDS)
        for kind, wrong in wrong_ones(verdict) if "->" not in case.shown else ():
            total[kind] += 1
            caught[kind] += contradiction(case, wrong) is not None

    assert min(total.values()) > least and len(total) == 6, total
    for kind, count in total.items():
        assert caught[kind] > 0.8 * count, (kind, caught[kind], count)
