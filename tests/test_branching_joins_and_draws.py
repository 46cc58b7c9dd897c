"""Pipelines that branch: groups of several fits are joined by their labels, answers are drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.pipelines.branching.findings import findings
from lawdsl.pipelines.branching.result import AnswerOfGroup, AnswersOfStep, PipelineAnswers

LAWS = {
    "falls": "variable T > 0\nparameter a\nparameter b > 0\nL = a + b/T",
    "rises": "variable T > 0\nparameter c\nparameter d > 0\nG = c + d*T",
    "line": "variable size > 0\nparameter p, q\nT = p + q*size",
}
BEST = "uses a : falls\nuses b : rises\nchoose T in [0, 1e12]\nminimize a(T) + b(T)"


def table(noise: float = 0.0) -> dict[str, Any]:
    """Two domains, two sizes: L falls with T by the domain, G rises by the size."""
    rng = np.random.default_rng(1)
    rows = [
        (dom, size, T, 1 + b / T + noise * rng.normal(), 1 + d * T + noise * rng.normal())
        for dom, b in (("x", 2.0), ("y", 5.0))
        for size, d in ((1, 0.01), (2, 0.16))
        for T in (1, 2, 4, 8, 16, 32, 64, 128)
    ]
    return dict(
        zip(("dom", "size", "T", "L", "G"), map(list, zip(*rows, strict=True)), strict=True)
    )


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The function that runs a pipeline with a question."""
    monkeypatch.chdir(tmp_path)
    for name, lines in LAWS.items():
        Path(f"{name}.law").write_text(f'law {name} "{name}"\n{lines}\n', encoding="utf-8")

    def run(question: str, steps: str, noise: float = 0.0, **options: Any) -> PipelineAnswers:
        Path("best.law").write_text(f'question best "best"\n{question}\n', encoding="utf-8")
        Path("p.law").write_text(f'pipeline p "p"\n{steps}\n', encoding="utf-8")
        found = lawdsl.run_pipeline("p.law", table(noise), **{"draws": 0, **options})
        assert isinstance(found, PipelineAnswers)
        return found

    return run


STEPS = "step a : falls from data by dom\nstep b : rises from data by size\nstep best"


# ---- labels


def test_a_question_is_asked_for_every_combination_of_the_groups_of_its_fits(ask: Any):
    result = ask(
        BEST, f"{STEPS} : best\nstep line from found by dom".replace("step best", "step found")
    )

    answers = result.step("best").groups
    assert {(g.labels["dom"], g.labels["size"]): g.estimates["T"] for g in answers} == {
        (dom, size): pytest.approx((b / d) ** 0.5)
        for dom, b in (("x", 2.0), ("y", 5.0))
        for size, d in (("1", 0.01), ("2", 0.16))
    }
    # later steps have the labels of all fits
    slopes = [group.parameters["q"] for group in result.step("line").groups]
    assert slopes == pytest.approx([0.25 * b**0.5 / 0.1 - b**0.5 / 0.1 for b in (2.0, 5.0)])


def test_a_group_that_another_fit_lacks_has_a_reason(ask: Any):
    steps = STEPS.replace("by size", 'by dom where dom = "x"')
    answered, lacking = ask(BEST, steps).step("best").groups

    assert answered.ok and answered.labels == {"dom": "x"}
    assert lacking.labels == {"dom": "y"} and lacking.reason == "`b` has no fit: no such group"


@pytest.mark.parametrize("order", ["a, b", "b, a"])
def test_rows_are_kept_whatever_the_order_of_the_steps(ask: Any, order: str):
    steps = STEPS.replace("by size", "by dom, size at T = 10")
    steps = steps.replace("by dom\n", "by dom at T = 10\n") + " : best"
    result = ask(BEST, f"{steps}\nkeep both from {order} where G < 2")

    rows = {(r.labels["dom"], r.labels["size"]): r.kept for r in result.step("both").rows}
    assert rows == {(dom, size): size == "1" for dom in "xy" for size in "12"}


def test_rows_that_cannot_be_told_apart_are_refused(ask: Any):
    question = BEST.replace("minimize", "given cap > 0\nminimize") + "\nsubject to T <= cap"
    steps = "given cap > 0\n" + STEPS.replace("step best", "step one : best at cap = cap")
    steps += "\nstep two : best at cap = 2*cap\nkeep both from one, two where T < 3"

    with pytest.raises(LawdslError) as caught:
        ask(question, steps, settings={"cap": [1, 2]})
    (found,) = caught.value.diagnostics
    assert found.code == "F0416" and "dom = x, size = 1" in found.message


# ---- draws


@pytest.mark.parametrize(
    ("bounds", "ends"),
    [
        ("choose T in [0, 1e12]\nminimize a(T) + b(T)", (3.4, 3.7)),
        # a feasible set that is narrow beside the range
        (
            "choose T in [1, 1e12]\nminimize a(T)\nsubject to T <= 1e6\nsubject to T >= 1000",
            (1e6, 1e6),
        ),
        # both of its ends between two points of any grid
        (
            "choose T in [1, 1e12]\nmaximize a(T)\nsubject to (b(T) - 16001)^2 <= 1",
            (9e4, 1.1e5),
        ),
    ],
)
def test_intervals_do_not_depend_on_how_wide_the_bounds_are(
    ask: Any, bounds: str, ends: tuple[float, float]
):
    question = f"uses a : falls\nuses b : rises\n{bounds}"
    steps = STEPS.replace("by dom", 'where dom = "x"').replace("by size", "where size = 2")
    (group,) = ask(question, steps, noise=0.002, draws=50).step("best").groups

    low, high = group.ends["T"]
    assert ends[0] <= low <= group.estimates["T"] * (1 + 1e-9) and high <= ends[1]
    assert low > 0 and group.unanswered == 0
    assert low < high or ends[0] == ends[1]


def test_an_answer_that_the_search_over_draws_misses_has_no_interval(ask: Any):
    # every T above 128 is as good as another
    question = "uses a : falls\nchoose T in [1, 1000]\nminimize max(a(T), a(T = 128))"
    steps = "step a : falls from data by dom\nstep best"
    result = ask(question, steps, noise=0.002, draws=50)

    assert all(not g.ends for g in result.step("best").groups)
    assert {d.code for d in result.diagnostics} == {"F0417"}


@pytest.mark.parametrize(
    ("unanswered", "ends", "help"),
    [(0.2, {"T": (1.0, 2.0)}, "treat it with caution"), (1.0, {}, "too few draws")],
)
def test_draws_without_an_answer_say_why(unanswered: float, ends: Any, help: str):
    group = AnswerOfGroup(
        {}, {}, estimates={"T": 1.5}, ends=ends, unanswered=unanswered, unfitted=0.15
    )
    step = AnswersOfStep("", "best", "best", ("a",), ("T",), False, (group,))
    (found,) = findings([step], "the table")

    assert found.code == "F0406" and help in (found.help or "")
    infeasible = f"no feasible choice is found in {unanswered - 0.15:.0%}"
    assert found.notes == (infeasible, "a fit is missing in 15%")
