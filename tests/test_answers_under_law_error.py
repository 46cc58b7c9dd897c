"""Intervals and regret of answers with the error of the laws, by draws of the true laws."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answer_fits import LEAST, limit, planted_fit
from commands import run
from scipy.stats import t as student

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.result import Fit
from lawdsl.solving.law_error.draws import DRAWS, best_choices
from lawdsl.solving.law_error.outcomes import Outcome
from lawdsl.solving.result_under_law_error import SafeAnswer, UnderLawError


@pytest.fixture(scope="module")
def chinchilla() -> Fit:
    return planted_fit("chinchilla")


TRADEOFF = {"N": 16.0, "D": 10.0, "L0": 2.1, "T": 0.05}


def test_with_laws_that_are_right_the_answer_is_that_without(cpt: Fit):
    asked = lawdsl.Asked("dcpt.tradeoff", general=cpt, domain=cpt)
    plain, beyond = asked.answer(TRADEOFF, discrepancy=0), asked.answer(TRADEOFF)

    assert plain.law_error is None and beyond.law_error is not None
    assert replace(beyond, law_error=None, wrong="0%") == plain


def test_inside_the_fitted_rows_it_is_given_where_it_is_asked_for(
    least: lawdsl.Asked,
    share: Fit,
):
    given = limit(share, 0.5)

    assert least.answer(given).law_error is None
    assert least.answer(given, discrepancy=0.02).law_error is not None


def test_an_answer_on_a_constraint_has_the_interval_that_safe_answers_give(
    least: lawdsl.Asked,
    share: Fit,
):
    """The least share is below x where the loss at x keeps the bound: the upper end of its 90 %
    interval is the answer that is safe at 95 %."""
    given = limit(share, 0.5)
    answer = least.answer(given, discrepancy=0.02, safe=0.95, level=0.9)
    assert answer.law_error is not None and answer.safe is not None
    low, high = answer.law_error.ends["r"]

    # 400 draws: the quantile is that of 0.92 to 0.975
    ends = [least.answer(given, discrepancy=0.02, safe=p).safe for p in (0.91, 0.98)]
    assert ends[0] is not None and ends[1] is not None
    assert ends[0]["r"] < high < ends[1]["r"]
    assert low < answer["r"] < high
    assert answer.law_error.kept == answer.safe.point_probability


def test_one_event_has_one_probability(least: lawdsl.Asked, share: Fit, tmp_path: Path):
    """What the answer says of its constraint, with --safe and without."""
    given = {"T": 0.0, "L0": 1.001 * limit(share, 0.5)["L0"]}
    share.save(tmp_path / "fit.json")
    (tmp_path / "least.law").write_text(LEAST, encoding="utf-8")
    settings = [f"{name}={value!r}" for name, value in given.items()]
    command = ("solve", "least.law", "loss=fit.json", *settings, "--wrong", "2%", "--safe", "95%")
    shown = run(*command, cwd=tmp_path).stdout
    said = re.findall(r"holds at the answer with probability (\S+)", shown)
    safe = re.findall(r"the answer above: with probability (\S+)", shown)
    assert len(said) == 1 and said == safe

    answer = least.answer(given, discrepancy=0.02)
    assert answer.law_error is not None and answer.law_error.kept is not None
    assert float(said[0]) == pytest.approx(answer.law_error.kept, abs=5e-4)
    assert answer.law_error.each == {"loss(r) <= (1 + T)*L0": answer.law_error.kept}
    # that some choice keeps it is no less probable than that the answer does
    for seed in range(3):
        result = least.answer(given, discrepancy=0.02, seed=seed).law_error
        assert result is not None and result.answered is not None
        assert result.kept == answer.law_error.kept <= result.answered


def test_the_goal_at_the_answer_has_the_interval_of_its_prediction(chinchilla: Fit):
    """To 1e-9: both are ends by Student's t of one posterior."""
    asked = lawdsl.Asked("chinchilla.allocation", loss=chinchilla)
    for level, discrepancy in ((0.95, 0.02), (0.8, 0.05)):
        answer = asked.answer(C=1e23, level=level, discrepancy=discrepancy)
        assert answer.law_error is not None
        band = chinchilla.predict_with_errors(
            {"N": [answer["N"]], "D": [answer["D"]]}, level=level, discrepancy=discrepancy
        )
        assert answer.law_error.goal == pytest.approx((band.low[0], band.high[0]), rel=1e-9)
        assert answer.law_error.corrected == pytest.approx(band.values[0], rel=1e-9)


def test_the_goal_of_a_fit_with_fewer_rows_does_not_widen_that_of_another(cpt: Fit):
    """Of two fits, the interval of the goal takes the degrees of freedom of that in the goal."""
    assert cpt.spread is not None
    few = replace(cpt, spread=replace(cpt.spread, dof=3.0))
    answer = lawdsl.Asked("dcpt.tradeoff", general=few, domain=cpt).answer(TRADEOFF)
    assert answer.law_error is not None
    at = {"N": [TRADEOFF["N"]], "D": [TRADEOFF["D"]], "r": [answer["r_d"]]}
    band = cpt.predict_with_errors(at)

    assert answer.law_error.goal == pytest.approx((band.low[0], band.high[0]), rel=1e-9)


@pytest.mark.parametrize(
    ("goal", "of_loss"),
    [
        ("minimize 3*loss(N, D) - 1", lambda x: 3 * x - 1),
        ("minimize exp(loss(N, D))", np.exp),
        ("maximize -loss(N, D)", np.negative),
        ("maximize 1/loss(N, D)", lambda x: 1 / x),
    ],
)
def test_a_goal_made_of_a_loss_has_the_interval_made_of_its_ends(
    chinchilla: Fit, tmp_path: Path, goal: str, of_loss: Callable[[float], float]
):
    path = tmp_path / "made.law"
    path.write_text(
        "question made\nuses loss : chinchilla\nchoose N > 0  unit param\n"
        f"choose D > 0  unit token\n{goal}\nsubject to 6*N*D = 1e23\n",
        encoding="utf-8",
    )
    answer = lawdsl.Asked(path, loss=chinchilla).answer(discrepancy=0.02)
    assert answer.law_error is not None and answer.law_error.goal is not None
    band = chinchilla.predict_with_errors({"N": [answer["N"]], "D": [answer["D"]]})
    low, high = sorted((of_loss(band.low[0]), of_loss(band.high[0])))

    # draws know an end to 1.5 % of half the width, but for one third of all seeds
    width = high - low
    assert answer.law_error.goal == pytest.approx((low, high), abs=0.03 * width)
    assert answer.goal is not None and low < answer.goal.value < high


def test_with_worse_laws_the_goal_stays_what_the_law_can_reach(chinchilla: Fit):
    """The best of many draws would fall ever further below the limit of the law; the goal at the
    answer has its prediction in the middle, whatever the error."""
    asked = lawdsl.Asked("chinchilla.allocation", loss=chinchilla)
    middles = []
    for discrepancy in (0.01, 0.05, 0.1):
        answer = asked.answer(C=1e23, discrepancy=discrepancy)
        assert answer.law_error is not None and answer.law_error.goal is not None
        band = chinchilla.predict_with_errors(
            {"N": [answer["N"]], "D": [answer["D"]]}, discrepancy=discrepancy
        )
        low, high = answer.law_error.goal
        middles.append(np.sqrt(low * high) / band.values[0])

    assert middles == pytest.approx([1.0, 1.0, 1.0], rel=1e-9)


def test_it_widens_with_the_error_of_the_law(chinchilla: Fit):
    asked = lawdsl.Asked("chinchilla.allocation", loss=chinchilla)
    widths, regrets = [], []
    for amplitude in (0.005, 0.02, 0.04):
        answer = asked.answer(C=1e23, discrepancy=amplitude)
        assert answer.law_error is not None and answer.law_error.regret is not None
        low, high = answer.law_error.ends["N"]
        assert low < answer["N"] < high
        widths.append(np.log(high / low))
        regrets.append(answer.law_error.regret)

    ends = answer.ends("N")
    assert ends is not None and widths[0] > np.log(ends[1] / ends[0])
    assert np.all(np.diff(widths) > 0) and np.all(np.diff(regrets) > 0)


def test_unknowns_that_follow_from_an_equation_have_their_interval(chinchilla: Fit):
    answer = lawdsl.Asked("chinchilla.allocation", loss=chinchilla).answer(C=1e23, discrepancy=0.01)
    assert answer.law_error is not None
    (low, high), (least, most) = (answer.law_error.ends[n] for n in ("N", "D"))

    assert 6 * low * most == pytest.approx(1e23) == 6 * high * least


def test_the_regret_is_never_negative_and_the_seed_decides_the_draws(cpt: Fit):
    asked = lawdsl.Asked("dcpt.tradeoff", general=cpt, domain=cpt)
    one, again, other = (asked.answer(TRADEOFF, seed=seed).law_error for seed in (0, 0, 1))
    assert one is not None and other is not None

    assert one == again != other
    assert one.draws == DRAWS and one.seed == 0
    for result in (one, other):
        assert result.regret is None or 0 <= result.regret <= (result.regret_high or 0) * 2


def test_where_nothing_is_uncertain_the_best_choice_has_no_regret():
    """A goal that falls to the end of the range in each draw."""
    points = np.linspace(0, 1, 11)
    goal = -np.outer([1.0, 2.0], points)
    best = best_choices(points, Outcome(goal, np.ones((1, 2, 11)), np.ones((2, 11), dtype=bool)))

    assert best.point.tolist() == [1.0, 1.0] and best.goal.tolist() == [-1.0, -2.0]


def test_the_best_choice_is_found_between_points():
    points = np.linspace(0, 1, 11)
    inside = (points - 0.333) ** 2
    falling, margin = -points, 0.777 - points
    outcome = Outcome(
        np.stack([inside, falling, falling]),
        np.stack([np.ones(11), margin, np.full(11, -1.0)])[None],
        np.ones((3, 11), dtype=bool),
    )
    best = best_choices(points, outcome)

    assert best.point[:2] == pytest.approx([0.333, 0.777])
    assert best.goal[:2] == pytest.approx([0.0, -0.777], abs=1e-12)
    assert np.isnan(best.point[2]) and best.goal[2] == np.inf


ODD = [
    # a bound that no choice far from the rows may pretend to reach
    ("choose D > 0  unit token\nminimize D\nsubject to loss(N = 1e9, D) <= 1", "infeasible"),
    ("choose x\nminimize (x - 2)^2\nsubject to loss(N = 10^(9 + x), D = 1e11) <= 2.3", "answered"),
    (
        "choose N > 0  unit param\nchoose D > 0  unit token\nminimize D\n"
        "subject to 6*N*D = 1e22\nsubject to loss(N, D) <= 2.4",
        "answered",
    ),
    ("choose N in [1e8, 1e9]  unit param\nmaximize N\nsubject to N <= 4e8", None),
]


@pytest.mark.parametrize(("lines", "status"), ODD)
def test_odd_questions_have_safe_answers_within_their_constraints(
    chinchilla: Fit, tmp_path: Path, lines: str, status: str | None
):
    path = tmp_path / "odd.law"
    text = f"question odd\nuses loss : chinchilla\n{lines}\n"
    path.write_text(text, encoding="utf-8")
    if status is None:  # nothing but numbers bounds it
        path.write_text(text + "subject to loss(N, D = 1e11) <= 10\n", encoding="utf-8")
    answer = lawdsl.Asked(path, loss=chinchilla).answer(safe=0.9, discrepancy=0.02)
    assert answer.safe is not None

    assert answer.status == (status or "answered")
    assert answer.safe.ok == answer.ok
    if status is None:
        assert answer.safe["N"] == pytest.approx(4e8, rel=1e-9) and answer.safe["N"] <= 4e8
    if not answer.safe.ok:
        assert answer.safe.probability < 1e-3


def test_a_table_of_answers_has_the_intervals_and_the_regret(chinchilla: Fit, tmp_path: Path):
    chinchilla.save(tmp_path / "fit.json")
    done = run(
        *(
            "solve",
            "chinchilla.allocation",
            "loss=fit.json",
            "C=1e23,1e24",
            "-o",
            "answers.csv",
            "-q",
        ),
        cwd=tmp_path,
    )
    assert done.returncode == 0
    with (tmp_path / "answers.csv").open() as file:
        rows = list(csv.DictReader(file))
    asked = lawdsl.Asked("chinchilla.allocation", loss=chinchilla)
    for row, C in zip(rows, (1e23, 1e24), strict=True):
        expected = asked.answer(C=C).law_error
        assert expected is not None
        low, high = expected.ends["N"]
        assert float(row["N low, laws wrong"]) == pytest.approx(low, rel=1e-5)
        assert float(row["N high, laws wrong"]) == pytest.approx(high, rel=1e-5)
        assert float(row["regret"]) == pytest.approx(expected.regret, rel=1e-5)
        assert expected.goal is not None and row["kept"] == ""
        assert float(row["loss(N, D) low, laws wrong"]) == pytest.approx(expected.goal[0], rel=1e-5)


def test_several_unknowns_have_the_goal_and_the_probability_at_the_answer(
    chinchilla: Fit, tmp_path: Path
):
    path = tmp_path / "two.law"
    path.write_text(
        "question two\nuses loss : chinchilla\nchoose N > 0  unit param\nchoose D > 0  unit token\n"
        "minimize loss(N, D)\nsubject to N*D <= 1e24\nsubject to N <= 1e12\nsubject to D <= 1e13\n",
        encoding="utf-8",
    )
    chinchilla.save(tmp_path / "fit.json")
    answer = lawdsl.Asked(path, loss=chinchilla).answer()
    assert answer.ok and answer.law_error is not None
    band = chinchilla.predict_with_errors({"N": [answer["N"]], "D": [answer["D"]]})

    assert answer.law_error.goal == pytest.approx((band.low[0], band.high[0]), rel=1e-9)
    assert answer.law_error.kept is None and answer.law_error.regret is None
    assert answer.law_error.ends == {} and answer.law_error.draws == 0
    assert answer.law_error.missing == "it has several unknowns"
    assert "F0518" not in {d.code for d in answer.diagnostics}
    shown = run("solve", "two.law", "loss=fit.json", cwd=tmp_path).stdout
    note = "the choice has no interval with the error of the laws, and no regret: "
    assert shown.count(note + "it has several unknowns") == 1
    path.write_text(
        path.read_text("utf-8").replace("1e24", "m").replace("choose N", "given m\nchoose N"),
        encoding="utf-8",
    )
    several = run("solve", "two.law", "loss=fit.json", "m=1e24,2e24", cwd=tmp_path)
    assert several.stdout.count(note) == 1 and "F0518" not in several.stderr
    low, high = answer.law_error.goal or (0, 0)
    assert "laws wrong by 2 %/decade" in shown and f"{low:.3g} to {high:.3g}" in shown
    assert "draws" not in shown


THREE = """question three "The cheapest run for two losses"
uses      a, b : dcpt.l1
given     La, Lb > 0  unit nat/token
choose    N > 0       unit Gparam
choose    D > 0       unit Gtoken
choose    r in [0, 1]
minimize  N*D
subject to a(N, D, r) <= La
subject to b(N, D, r = 1 - r) <= Lb
"""


def test_three_unknowns_keep_two_losses_with_a_probability(cpt: Fit, tmp_path: Path):
    """Each with that of its prediction, both by Bonferroni; a goal without a law has no interval."""
    path = tmp_path / "three.law"
    path.write_text(THREE, encoding="utf-8")
    cpt.save(tmp_path / "fit.json")
    bounds = cpt.predict({"N": [8, 8], "D": [30, 30], "r": [0.6, 0.4]})
    given = {"La": float(bounds[0]), "Lb": float(bounds[1])}
    answer = lawdsl.Asked(path, a=cpt, b=cpt).answer(given, discrepancy=0.02)
    assert answer.ok and answer.law_error is not None and answer.law_error.goal is None
    assert cpt.spread is not None
    shares = {
        "a(N, D, r) <= La": (answer["r"], given["La"]),
        "b(N, D, r = 1 - r) <= Lb": (1 - answer["r"], given["Lb"]),
    }
    assert set(shares) == set(answer.law_error.each)
    for text, (r, bound) in shares.items():
        band = cpt.predict_with_errors({"N": [answer["N"]], "D": [answer["D"]], "r": [r]})
        deviation = np.log(band.high[0] / band.values[0]) / cpt.spread.quantile(0.95)
        expected = student.cdf(np.log(bound / band.values[0]) / deviation, cpt.spread.dof)
        assert answer.law_error.each[text] == pytest.approx(expected, rel=1e-6)
    failing = sum(1 - p for p in answer.law_error.each.values())
    assert answer.law_error.kept == pytest.approx(max(0.0, 1 - failing))

    command = ("solve", "three.law", "a=fit.json", "b=fit.json", "--wrong", "2%", "-q")
    shown = run(*command, *(f"{n}={v!r}" for n, v in given.items()), cwd=tmp_path).stdout
    assert "the constraints hold at the answer with probability " in shown
    assert " at least; " in shown


def test_a_loss_in_an_equation_has_an_interval_of_the_goal_and_no_probability(
    chinchilla: Fit, tmp_path: Path
):
    path = tmp_path / "equation.law"
    path.write_text(
        "question equation\nuses loss : chinchilla\nchoose N > 0  unit param\n"
        "choose D > 0  unit token\nminimize loss(N, D) + N*D/1e24\n"
        "subject to loss(N, D = 1e11) = 2.3\n",
        encoding="utf-8",
    )
    answer = lawdsl.Asked(path, loss=chinchilla).answer(discrepancy=0.02)
    assert answer.ok and answer.law_error is not None

    assert answer.law_error.goal is not None and answer.law_error.kept is None
    assert answer.law_error.missing and answer.law_error.ends == {}


def test_a_fit_without_rows_says_that_its_law_is_taken_as_right(chinchilla: Fit):
    old = replace(chinchilla, rows=None)
    answer = lawdsl.Asked("chinchilla.allocation", loss=old).answer(C=1e23)

    assert answer.law_error is None
    (warning,) = (d for d in answer.diagnostics if d.code == "F0518")
    assert "the fit has no rows" in warning.message


def test_a_fit_of_a_high_quantile_says_why_its_law_is_taken_as_right(chinchilla: Fit):
    objective = replace(chinchilla.objective, name="quantile(log(L), 0.9)")
    high = replace(chinchilla, rows=None, objective=objective)
    answer = lawdsl.Asked("chinchilla.allocation", loss=high).answer(C=1e23)

    (warning,) = (d for d in answer.diagnostics if d.code == "F0518")
    assert "quantile(log(L), 0.9) are not centered at 0" in warning.message


def test_numbers_in_place_of_a_fit_have_no_further_warning():
    numbers = {"E": 1.8, "A": 480.0, "B": 2085.0, "alpha": 0.35, "beta": 0.37}
    answer = lawdsl.Asked("chinchilla.allocation", loss=numbers).answer(C=1e23, discrepancy=0.02)

    assert [d.code for d in answer.diagnostics] == ["F0504"]


def test_intervals_of_parameters_are_not_learned(chinchilla: Fit):
    with pytest.raises(LawdslError, match="F0133"):
        chinchilla.intervals_with_law_error("learned")  # type: ignore[arg-type]


@pytest.mark.parametrize("discrepancy", [2.0, -0.1, "much", True])
def test_a_discrepancy_that_is_not_a_number_from_0_to_1_is_refused(
    chinchilla: Fit, discrepancy: Any
):
    asked = lawdsl.Asked("chinchilla.allocation", loss=chinchilla)
    for refuse in (
        lambda: asked.answer(C=1e23, discrepancy=discrepancy),
        lambda: chinchilla.intervals_with_law_error(discrepancy),
    ):
        with pytest.raises(LawdslError) as error:
            refuse()
        assert error.value.diagnostics[0].code == "F0133"


def test_the_command_shows_both_intervals(chinchilla: Fit, tmp_path: Path):
    chinchilla.save(tmp_path / "fit.json")
    command = ("solve", "chinchilla.allocation", "loss=fit.json", "C=1e24")
    shown = run(*command, cwd=tmp_path).stdout

    assert "95 % interval" in shown and "laws wrong by 2 %/decade" in shown
    assert "in 400 draws of the true laws the best choice is better by" in shown
    assert "with the estimated error of the law" not in shown  # nearly the same here
    right = run(*command, "--wrong", "0", cwd=tmp_path).stdout
    assert "laws wrong" not in right and "draws" not in right
    document = json.loads(run(*command, "--json", cwd=tmp_path).stdout)
    assert document["result"]["law_error"]["discrepancy"] == 0.02


def test_the_page_of_the_json_names_each_field():
    page = (Path(__file__).parent.parent / "docs" / "json-and-files.md").read_text("utf-8")
    for record, table in ((UnderLawError, "| `law_error` |"), (SafeAnswer, "| [`safe`]")):
        rows = page[page.index(table) :].partition("\n\n")[0].splitlines()[2:]
        named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
        assert set(named) - {"null"} == {field.name for field in fields(record)}
