"""Intervals and regret of answers with the error of the laws, by draws of the true laws."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answer_fits import limit, planted_fit
from commands import run

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.extrapolation.result import Extrapolation
from lawdsl.fitting.extrapolation.rolled_check import RolledCut
from lawdsl.fitting.result import Fit
from lawdsl.solving.law_error.choices import Outcome
from lawdsl.solving.law_error.draws import DRAWS, best_choices


@pytest.fixture(scope="module")
def chinchilla() -> Fit:
    return planted_fit("chinchilla")


TRADEOFF = {"N": 16.0, "D": 10.0, "L0": 2.1, "T": 0.05}


def test_joint_errors_have_the_means_and_variances_of_single_ones(cpt: Fit):
    law = cpt.law_of_spread()
    surface = cpt.fitted_surface(law, np.array(list(cpt.values.values())))
    points = np.array([[1.0, 8.0, 40.0], [3.0, 10.0, 90.0], [0.2, 0.5, 0.9]])
    for amplitude in (0.0, 0.02):
        model, at = surface.law_error(amplitude), surface.at(points)
        alone = model.at(at, surface.theta)
        mean, covariance = model.jointly(at, surface.theta)

        assert np.allclose(model.moments(at, surface.theta), (alone.mean, alone.curve**2))
        assert mean == pytest.approx(alone.mean)
        assert np.sqrt(np.diag(covariance)) == pytest.approx(alone.curve)
        assert np.linalg.eigvalsh(covariance)[0] > -1e-12


def test_a_widened_error_has_an_equal_mean_and_a_larger_law(cpt: Fit):
    law = cpt.law_of_spread()
    surface = cpt.fitted_surface(law, np.array(list(cpt.values.values())))
    at = surface.at(np.array([[1.0, 8.0, 40.0], [3.0, 10.0, 90.0], [0.2, 0.5, 0.9]]))
    model = surface.law_error(0.02)
    wide = model.widened(2.0)
    one, two = model.at(at, surface.theta), wide.at(at, surface.theta)
    assert np.array_equal(one.mean, two.mean) and np.array_equal(one.parameters, two.parameters)
    assert two.law == pytest.approx(2 * one.law, rel=1e-6)
    mean, covariance = wide.jointly(at, surface.theta)
    assert mean == pytest.approx(one.mean)
    assert np.sqrt(np.diag(covariance)) == pytest.approx(two.curve, rel=1e-6)


def test_answers_take_an_error_that_the_rolled_check_widens(cpt: Fit):
    cuts = tuple(RolledCut(1.0, 20, 10, 3.0) for _ in range(4))
    missed = replace(cpt, extrapolation=Extrapolation(None, cuts))
    asked = lawdsl.Asked("dcpt.tradeoff", general=missed, domain=missed)
    default, learned = (asked.answer(TRADEOFF, discrepancy=wrong) for wrong in (0.02, "learned"))
    assert default.law_error is not None and learned.law_error is not None
    assert learned.unknowns == default.unknowns
    widths = [
        high - low
        for ends in (default.law_error.ends, learned.law_error.ends)
        for low, high in ends.values()
    ]
    assert widths[1] > 1.2 * widths[0]


def missing_by(fit: Fit, z: float) -> Fit:
    """A fit whose smaller runs miss the larger ones by z standard deviations."""
    return replace(
        fit, extrapolation=Extrapolation(None, tuple(RolledCut(1.0, 20, 10, z) for _ in range(4)))
    )


def test_answers_say_by_what_each_rolled_check_widens_the_error(cpt: Fit, tmp_path: Path):
    fits = {"general": missing_by(cpt, 3.0), "domain": missing_by(cpt, 1.0)}
    for use, fit in fits.items():
        fit.save(tmp_path / f"{use}.json")
    paths = [f"{use}={use}.json" for use in fits]
    given = [f"{name}={value}" for name, value in TRADEOFF.items()]
    command = ("solve", "dcpt.tradeoff", *paths, *given, "--safe", "90%", "--wrong", "learned")
    result = json.loads(run(*command, "--json", cwd=tmp_path).stdout)["result"]
    factor = fits["general"].widening
    assert factor > 1
    for part in (result["law_error"], result["safe"]):
        assert part["discrepancy"] == 0.02
        assert part["widening"] == {"general": pytest.approx(factor), "domain": 1.0}

    shown = run(*command, cwd=tmp_path).stdout
    text = (
        f"laws wrong by 2 % per decade, widened {factor:.3g} times by the rolled check of general"
    )
    assert shown.count(text) == 2 and "check of domain" not in shown
    assert "laws wrong by 2 %/decade, widened" in shown
    number = json.loads(run(*command[:-1], "2%", "--json", cwd=tmp_path).stdout)["result"]
    assert number["law_error"]["widening"] == number["safe"]["widening"] == {}


def test_answers_warn_of_fits_without_a_rolled_check(cpt: Fit):
    without = replace(cpt, extrapolation=None)
    asked = lawdsl.Asked("dcpt.tradeoff", general=missing_by(cpt, 3.0), domain=without)
    answer = asked.answer(TRADEOFF, discrepancy="learned", safe=0.9)

    (warning,) = (d for d in answer.diagnostics if d.code == "F0142")
    assert "`domain` has no rolled check" in warning.message and warning.severity == "warning"
    for discrepancy in (None, 0, 0.02):
        codes = {d.code for d in asked.answer(TRADEOFF, discrepancy=discrepancy).diagnostics}
        assert "F0142" not in codes


def test_with_laws_that_are_right_the_answer_is_that_without(cpt: Fit):
    asked = lawdsl.Asked("dcpt.tradeoff", general=cpt, domain=cpt)
    plain, beyond = asked.answer(TRADEOFF, discrepancy=0), asked.answer(TRADEOFF)

    assert plain.law_error is None and beyond.law_error is not None
    assert replace(beyond, law_error=None) == plain


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
    assert answer.law_error.kept == pytest.approx(answer.safe.point_probability, abs=0.08)


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


def test_a_question_with_several_unknowns_says_that_it_takes_its_laws_as_right(
    chinchilla: Fit, tmp_path: Path
):
    path = tmp_path / "two.law"
    path.write_text(
        "question two\nuses loss : chinchilla\nchoose N > 0  unit param\nchoose D > 0  unit token\n"
        "minimize loss(N, D)\nsubject to N*D <= 1e24\nsubject to N <= 1e12\nsubject to D <= 1e13\n",
        encoding="utf-8",
    )
    answer = lawdsl.Asked(path, loss=chinchilla).answer()

    assert answer.ok and answer.law_error is None
    assert [d.code for d in answer.diagnostics].count("F0518") == 1
    assert "F0518" not in {
        d.code for d in lawdsl.Asked(path, loss=chinchilla).answer(discrepancy=0).diagnostics
    }


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
    right = run(*command, "--wrong", "0", cwd=tmp_path).stdout
    assert "laws wrong" not in right and "draws" not in right
    document = json.loads(run(*command, "--json", cwd=tmp_path).stdout)
    assert document["result"]["law_error"]["discrepancy"] == 0.02
