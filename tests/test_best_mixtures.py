"""The best mixture of RegMix's 17 domains, beside the one that was published."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from test_published_mixing import LIGHTGBM, fitted, regmix

import lawdsl
from lawdsl.solving.result import Answer

Note = Callable[[str, object], None]

# RegMix (Liu et al. 2024, arXiv:2407.01492), the mixture of its released example, found by LightGBM
# for the loss on Pile-CC
PUBLISHED = {
    "arxiv": 0.0012046169821426883,
    "freelaw": 0.001454510048554701,
    "nih_exporter": 0.001231640306882902,
    "pubmed_central": 0.003108561825532002,
    "wikipedia_en": 0.01593264140324679,
    "dm_mathematics": 0.00031106907908634156,
    "github": 0.00022861228152440253,
    "philpapers": 1.329107360676338e-05,
    "stackexchange": 0.00029547405933203174,
    "enron_emails": 0.0016691646199353991,
    "gutenberg_pg_19": 0.001612531300038395,
    "pile_cc": 0.8701291419934237,
    "ubuntu_irc": 0.06417728505869834,
    "europarl": 2.9166170357771267e-06,
    "hackernews": 0.011925517591888925,
    "pubmed_abstracts": 0.02424425081714838,
    "uspto_backgrounds": 0.0024587749419225434,
}
POINT = {f"r[{name}]": share for name, share in PUBLISHED.items()}
LARGEST = PUBLISHED["pile_cc"]


@cache
def of_pile_cc(folder: Path) -> lawdsl.Asked:
    shares, losses = regmix(folder, "train")
    loss = fitted("mixing.powers", shares | {"L[pile_cc]": losses["pile_cc"]}, starts=4)
    return lawdsl.Asked("mixing.best", loss=loss)


@pytest.fixture
def asked(shared_data: Path) -> lawdsl.Asked:
    return of_pile_cc(shared_data)


def is_allowed(answer: Answer, cap: float) -> bool:
    shares = [u.value for u in answer.unknowns]
    return abs(sum(shares) - 1) < 1e-9 and min(shares) >= 0 and max(shares) <= cap + 1e-9


def answer_text(answer: Answer) -> str:
    goal, other = answer.goal, answer.compared[0]
    assert goal is not None and goal.ends is not None and other.behind_ends is not None
    most = sorted(answer.unknowns, key=lambda u: -u.value)[:3]
    shares = ", ".join(f"{u.name} {u.value:.3f}" for u in most)
    return (
        f"best {goal.value:.4f} ({goal.ends[0]:.4f} to {goal.ends[1]:.4f}) with {shares}; published "
        f"{other.goal:.4f}, behind {other.behind:.4f} ({other.behind_ends[0]:.4f} to "
        f"{other.behind_ends[1]:.4f})"
    )


@pytest.mark.slow
def test_the_best_mixture_is_proved_best_and_the_published_one_is_within_the_errors(
    asked: lawdsl.Asked, record_property: Note
):
    found = asked.answer(cap=LARGEST, compare=[POINT])
    record_property("figure", f"RegMix, loss on Pile-CC: {answer_text(found)}")
    assert found.certain and is_allowed(found, LARGEST)
    other = found.compared[0]
    assert other.broken == ()
    assert other.behind >= 0  # the best is the best
    assert other.behind_ends is not None and other.behind_ends[0] < 0 < other.behind_ends[1]


@pytest.mark.slow
def test_a_cap_that_the_published_mixture_breaks_is_named(asked: lawdsl.Asked):
    found = asked.answer(cap=0.5, compare=[POINT])
    assert found.certain and is_allowed(found, 0.5)
    assert any("largest share" in kept.name for kept in found.active)
    assert any("pile_cc" in text for text in found.compared[0].broken)


@pytest.mark.slow
def test_a_smaller_cap_is_never_better(asked: lawdsl.Asked):
    goals = [asked.answer(cap=cap).goal for cap in (0.9, 0.6, 0.3, 0.1)]
    values = [goal.value for goal in goals if goal is not None]
    assert len(values) == 4 and values == sorted(values)


@pytest.mark.slow
def test_caps_that_leave_nothing_say_by_how_much(asked: lawdsl.Asked):
    found = asked.answer(cap=0.05)  # 17 caps of 0.05 leave 0.15 without a domain
    assert found.status == "infeasible"
    assert found.relaxations and found.proof


@pytest.mark.slow
def test_the_mean_of_all_losses(shared_data: Path, record_property: Note):
    shares, losses = regmix(shared_data, "train")
    table: dict[str, Any] = shares | {f"L[{name}]": losses[name] for name in LIGHTGBM}
    asked = lawdsl.Asked("mixing.best", loss=fitted("mixing.powers", table, starts=4))
    found = asked.answer(cap=0.25, compare=[POINT])
    record_property("figure", f"RegMix, mean of 13 losses, shares up to 0.25: {answer_text(found)}")
    assert found.certain and is_allowed(found, 0.25)
    assert found.compared[0].behind_ends is not None
    assert found.compared[0].behind_ends[0] > 0  # it was chosen for one of the losses
