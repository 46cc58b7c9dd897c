"""Optima of equal value: told from one optimum reached twice, and from what no data could see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from bad_data import DISTANCE, TWO_DECAYS, noise, optima, runs
from planted import PLANTED, law_of

import lawdsl
from lawdsl.fitting.diagnostics.alternative_minima import several_optima
from lawdsl.fitting.preparation.build_problem import problem_of
from lawdsl.fitting.preparation.prepare import prepare
from lawdsl.fitting.solvers.solver import Solution

X = np.linspace(0.1, 4.0, 60)
SUM = law_of("variable x > 0\nparameter a, b > 0\nL = (a + b)*x")
PRODUCT = law_of("variable x > 0\nparameter a, b\nL = a*b*x")
LINE = law_of("variable x > 0\nparameter a, b\nL = a*x + b\nminimize squared(L)")
MIDDLE = law_of("variable x > 0\nparameter a\nL = a\nminimize huber(L, 1e-3)")


@pytest.mark.parametrize(
    ("law", "table"),
    [
        ("chinchilla", runs()),
        ("dcpt.share", PLANTED["dcpt.share"].table(0.003)),
        ("dcpt.l5", PLANTED["dcpt.l5"].table(0.01)),
        (LINE, {"x": X, "L": 2 * X + 1 + noise(60, 0.1)}),
        (LINE, {"x": X, "L": 2 * X + 1}),
        (SUM, {"x": X, "L": 3 * X * np.exp(noise(60, 0.01))}),
        (PRODUCT, {"x": X, "L": 3 * X * np.exp(noise(60, 0.01))}),
        ("chinchilla", runs(N=np.full(30, 1e9), D=np.geomspace(1e9, 1e12, 30))),
    ],
)
def test_one_optimum_reached_again_and_unseen_directions_are_not_several(law: Any, table: Any):
    read = law if isinstance(law, lawdsl.Law) else lawdsl.load(law)

    assert optima(read, table) == ()


def test_terms_that_may_change_places_are_named_with_their_values():
    loss = (np.exp(-0.3 * X) + 2 * np.exp(-2 * X)) * np.exp(noise(60, 0.001))
    (found,) = optima(TWO_DECAYS, {"x": X, "L": loss})

    assert (found.code, found.severity) == ("F0118", "warning")
    assert found.message.startswith("2 optima are equally good: A is ")
    assert all(f"{name} is " in found.message for name in "ABab")
    assert found.notes[0].startswith("they predict the same on these rows")
    assert found.help


@pytest.mark.parametrize(("bound", "several"), [("b > 0", True), ("b > a", False)])
def test_a_bound_between_the_parameters_excludes_the_other_optimum(bound: str, several: bool):
    law = law_of(
        f"variable x\nparameter A, B, c\nparameter a > 0\nparameter {bound}\n"
        "L = A*exp(-a*x) + B*exp(-b*x) + c\nminimize squared(L)"
    )
    x = np.linspace(0, 50, 60)
    loss = 3 * np.exp(-0.06 * x) + 5 * np.exp(-0.7 * x) + 0.5 + noise(60, 0.05)
    fit = lawdsl.fit(law, {"x": x, "L": loss}, rolled_check=False)

    assert ("F0118" in {d.code for d in fit.diagnostics}) is several


def test_only_the_parameters_that_differ_are_named():
    law = law_of("variable x\nparameter c, d\nL = d + (x^2 - c^2)^2\nminimize squared(L)")
    x = X - 2
    (found,) = optima(law, {"x": x, "L": 1 + (x**2 - 1.44) ** 2 + noise(60, 0.01)})

    assert "c is" in found.message and "d is" not in found.message


def test_predictions_that_differ_are_measured():
    """Half of the rows say 1, half say 2: to a loss of sizes all between are as good."""
    table = {"x": X, "L": np.repeat([1.0, 2.0], 30)}
    law = MIDDLE
    problem = problem_of(law, X[None], table["L"], law.objective)
    reached = [_at(problem, a) for a in (1.25, 1.5, 1.75, 1.25)]
    (found,) = several_optima(prepare(law), problem, reached[0], reached)

    assert found.message.startswith("3 optima are equally good: a is 1.25 or 1.5 or 1.75")
    assert found.notes[0] == "their predictions differ by up to 0.5 on these rows"


def _at(problem: Any, *free: float) -> Solution:
    at = np.array(free)
    return Solution(at, float(problem.losses(at[None])[0]), True, "")


def test_worse_optima_and_searches_without_a_value_are_left_out():
    loss = 1 + ((X - 2) ** 2 - 1.44) ** 2
    problem = problem_of(DISTANCE, (X - 2)[None], loss + noise(60, 0.01), DISTANCE.objective)
    best = _at(problem, 1.2)
    others = [_at(problem, 0.3), replace(best, loss=np.inf), replace(best, loss=np.nan)]

    assert several_optima(prepare(DISTANCE), problem, best, [best, *others]) == []
