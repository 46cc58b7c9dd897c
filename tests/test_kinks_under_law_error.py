"""Probabilities and goals of questions with max, min and abs of fitted laws, against draws."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from answer_fits import planted_fit
from commands import run

import lawdsl
from lawdsl.fitting.result import Fit
from lawdsl.solving.inputs import symbol_values
from lawdsl.solving.law_error.probability import safety

DRAWS = 100_000
ERROR = 4 * 0.5 / np.sqrt(DRAWS)  # four standard errors of a share of draws, at the most


@pytest.fixture(scope="module")
def other() -> Fit:
    """A second fit of dcpt.share, to other rows of the same size."""
    return planted_fit("dcpt.share", seed=1)


@pytest.fixture(scope="module")
def second(cpt: Fit) -> Fit:
    """A second fit of dcpt.l1."""
    return planted_fit("dcpt.l1", seed=1)


def asked_of(path: Path, lines: str, **fits: Fit) -> lawdsl.Asked:
    uses = ", ".join(fits)
    law = next(iter(fits.values())).law
    name = law if isinstance(law, str) else law.name
    path.write_text(f"question q\nuses {uses} : {name}\n{lines}", encoding="utf-8")
    return lawdsl.Asked(path, **fits)


def kept_in_draws(
    asked: lawdsl.Asked, given: Mapping[str, float], chosen: Mapping[str, float]
) -> float:
    """The share of draws of the true laws in which a choice keeps all constraints."""
    outcomes = asked._law_errors.outcomes(symbol_values(asked.formulated, given), 0.02)
    inputs = outcomes.inputs_at(chosen)
    rng = np.random.default_rng(11)
    true = outcomes.laws.draws(outcomes.laws.arguments(inputs, 1), DRAWS, rng)
    return float(np.mean(np.all(outcomes.outcome(inputs, true).margins[..., 0] >= 0, axis=0)))


ONE = "given c > 0  unit nat/token\nchoose r in [0, 1]\nminimize r\nsubject to {0}\n"
CONSTRAINTS = [
    "max(a(r), b(r)) <= c",
    "max(a(r), 0.995*b(r)) <= c",
    "2*max(a(r), b(r), 0.5*c) <= 2*c",
    "min(a(r), b(r)) <= c",
    "min(-a(r), -b(r)) >= -c",
    "abs(max(a(r), b(r))) <= c",
    "a(r) + abs(a(r) - b(r)) <= c",
]


QUICK = [CONSTRAINTS[6]]  # a kink inside a sum, which others are parts of


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_max_min_and_abs_of_two_laws_hold_as_often_as_is_said(
    share: Fit, other: Fit, tmp_path: Path, constraint: str
):
    asked = asked_of(tmp_path / "q.law", ONE.format(constraint), a=share, b=other)
    given = {"c": float(share.predict({"r": [0.5]})[0])}
    answer = asked.answer(given, discrepancy=0.02)
    assert answer.ok and answer.law_error is not None and answer.law_error.bound

    true = kept_in_draws(asked, given, {u.name: u.value for u in answer.unknowns})
    assert true - 0.05 <= answer.law_error.kept <= true + ERROR


@pytest.mark.parametrize(
    "constraint",
    [pytest.param(c, marks=[] if c in QUICK else [pytest.mark.slow]) for c in CONSTRAINTS],
)
def test_a_safe_answer_to_max_min_and_abs_of_two_laws_is_as_safe_as_is_said(
    share: Fit, other: Fit, tmp_path: Path, constraint: str
):
    asked = asked_of(tmp_path / "q.law", ONE.format(constraint), a=share, b=other)
    given = {"c": float(share.predict({"r": [0.5]})[0])}
    answer = asked.answer(given, discrepancy=0.02, safe=0.9)
    assert answer.ok and answer.law_error is not None and answer.safe is not None
    assert answer.safe.ok and answer.law_error.bound and answer.safe.bound

    for chosen, stated in (
        ({u.name: u.value for u in answer.unknowns}, answer.law_error.kept),
        (answer.safe.unknowns, answer.safe.probability),
    ):
        true = kept_in_draws(asked, given, chosen)
        assert stated is not None and true - 0.05 <= stated <= true + ERROR
    assert answer.law_error.kept == answer.safe.point_probability
    assert answer.safe["r"] > answer["r"]


def test_a_band_of_one_law_has_an_exact_probability(share: Fit, tmp_path: Path):
    lines = ONE.format("abs(a(r) - c) <= 0.003*c")
    asked = asked_of(tmp_path / "q.law", lines, a=share)
    given = {"c": float(share.predict({"r": [0.5]})[0])}
    answer = asked.answer(given, discrepancy=0.02, safe=0.6)
    assert answer.law_error is not None and not answer.law_error.bound
    assert answer.safe is not None and answer.safe.ok

    true = kept_in_draws(asked, given, answer.safe.unknowns)
    assert answer.safe.probability == pytest.approx(true, abs=ERROR)
    assert answer.safe.probability == pytest.approx(0.6, abs=1e-6)


TWO = """given c > 0  unit nat/token
choose N > 0       unit Gparam
choose D > 0       unit Gtoken
minimize N*D
subject to {0}
"""


@pytest.mark.parametrize(
    "constraint",
    [
        "max(a(N, D, r = 0.5), b(N, D, r = 0.5)) <= c",
        "max(a(N, D, r = 0.5), b(N, D, r = 0.6), 0.3*c, 1) <= c",
    ],
)
def test_several_unknowns_keep_the_larger_of_two_losses_as_often_as_is_said(
    cpt: Fit, second: Fit, tmp_path: Path, constraint: str
):
    asked = asked_of(tmp_path / "q.law", TWO.format(constraint), a=cpt, b=second)
    given = {"c": float(cpt.predict({"N": [4], "D": [10], "r": [0.5]})[0])}
    answer = asked.answer(given, discrepancy=0.02, safe=0.9)
    assert answer.ok and answer.law_error is not None and answer.safe is not None
    assert answer.safe.ok

    for chosen, stated in (
        ({u.name: u.value for u in answer.unknowns}, answer.law_error.kept),
        (answer.safe.unknowns, answer.safe.probability),
    ):
        true = kept_in_draws(asked, given, chosen)
        assert stated is not None and true - 0.05 <= stated <= true + ERROR


def test_the_larger_of_two_losses_is_less_safe_than_either(share: Fit, other: Fit, tmp_path: Path):
    """What one loss keeps with some probability both keep with less, unless they are one."""
    given = {"c": float(share.predict({"r": [0.5]})[0])}
    kept = {}
    for name, fit in (("alike", share), ("apart", other)):
        path = tmp_path / f"{name}.law"
        asked = asked_of(path, ONE.format("max(a(r), b(r)) <= c"), a=share, b=fit)
        chosen = {"r": 0.502}
        true = kept_in_draws(asked, given, chosen)
        problem = asked._law_errors.outcomes(symbol_values(asked.formulated, given), 0.02)
        kept[name] = float(safety(problem, problem.inputs_at(chosen), 1).probability[0])
        assert kept[name] <= true + ERROR
    assert kept["apart"] < kept["alike"] - 0.02


def test_a_goal_of_the_larger_of_two_losses_has_the_interval_of_their_maximum(
    share: Fit, other: Fit, tmp_path: Path
):
    lines = "choose r in [0.2, 1]\nminimize max(a(r), b(r)) + r\n"
    asked = asked_of(tmp_path / "q.law", lines, a=share, b=other)
    answer = asked.answer(discrepancy=0.02)
    assert answer.ok and answer.law_error is not None and answer.law_error.goal is not None

    rng = np.random.default_rng(5)
    losses = []
    for fit in (share, other):
        band = fit.predict_with_errors({"r": [answer["r"]]}, discrepancy=0.02)
        assert fit.spread is not None
        deviation = np.log(band.high[0] / band.values[0]) / fit.spread.quantile(0.95)
        errors = deviation * rng.standard_t(fit.spread.dof, DRAWS)
        losses.append(band.values[0] * np.exp(errors))
    low, high = np.quantile(np.maximum(*losses) + answer["r"], [0.025, 0.975])
    assert answer.law_error.goal == pytest.approx((low, high), abs=0.03 * (high - low))


def test_the_command_says_that_the_probability_is_at_least_so_large(
    share: Fit, other: Fit, tmp_path: Path
):
    asked_of(tmp_path / "q.law", ONE.format("max(a(r), b(r)) <= c"), a=share, b=other)
    share.save(tmp_path / "a.json")
    other.save(tmp_path / "b.json")
    bound = float(share.predict({"r": [0.5]})[0])
    command = ("solve", "q.law", "a=a.json", "b=b.json", f"c={bound!r}", "--wrong", "2%")
    shown = run(*command, "--safe", "90%", "-q", cwd=tmp_path).stdout
    assert shown.count(" at least") == 3  # at the answer, at the safe one, and the answer again
