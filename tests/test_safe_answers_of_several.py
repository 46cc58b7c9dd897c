"""Safe answers to questions with several unknowns."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answer_fits import planted_fit
from commands import run

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting.result import Fit
from lawdsl.solving.result_under_law_error import SafeAnswer

CHEAPEST = """question cheapest "The cheapest run that reaches a loss"
uses      loss : chinchilla
given     target > 0  unit nat/token
{N}  unit param
choose    D > 0       unit token
minimize  6*N*D
subject to loss(N, D) <= target
"""


@pytest.fixture(scope="module")
def chinchilla() -> Fit:
    return planted_fit("chinchilla")


def cheapest(folder: Path, fit: Fit, N: str) -> lawdsl.Asked:
    path = folder / "cheapest.law"
    path.write_text(CHEAPEST.format(N=N), encoding="utf-8")
    return lawdsl.Asked(path, loss=fit)


def safe_of(asked: lawdsl.Asked, level: float = 0.95, **given: Any) -> SafeAnswer:
    safe = asked.answer(safe=level, discrepancy=0.02, **given).safe
    assert safe is not None
    return safe


def test_two_unknowns_are_the_best_of_all_questions_with_one_of_them_given(
    chinchilla: Fit, tmp_path: Path
):
    """For each size the tokens of a safe answer are found on a grid of one unknown."""
    safe = safe_of(cheapest(tmp_path, chinchilla, "choose    N > 0"), target=2.3)
    assert safe.ok and safe.probability >= 0.95 and safe.goal is not None
    given = cheapest(tmp_path, chinchilla, "given     N > 0")
    goals = []
    for factor in (0.97, 1.0, 1.03):
        one = safe_of(given, target=2.3, N=factor * safe["N"])
        assert one.ok and one.goal is not None
        goals.append(one.goal)

    assert goals[1] == pytest.approx(safe.goal, rel=1e-7)
    assert goals[0] > safe.goal and goals[2] > safe.goal


def test_the_answer_is_as_safe_as_its_prediction_says(chinchilla: Fit, tmp_path: Path):
    for level in (0.8, 0.95):
        safe = safe_of(cheapest(tmp_path, chinchilla, "choose N > 0"), level, target=2.3)
        band = chinchilla.predict_with_errors(
            {"N": [safe["N"]], "D": [safe["D"]]}, level=2 * level - 1
        )
        assert band.high[0] == pytest.approx(2.3, rel=1e-7)


def test_a_safer_answer_of_several_unknowns_costs_more(chinchilla: Fit, tmp_path: Path):
    asked = cheapest(tmp_path, chinchilla, "choose N > 0")
    costs = [safe_of(asked, level, target=2.3).cost for level in (0.6, 0.9, 0.99)]

    assert all(cost is not None and cost > 0 for cost in costs)
    assert costs == sorted(costs)  # type: ignore[type-var]


def test_the_seed_decides_the_searches_and_not_the_answer(chinchilla: Fit, tmp_path: Path):
    asked = cheapest(tmp_path, chinchilla, "choose N > 0")
    one, again, other = (safe_of(asked, target=2.3, seed=seed) for seed in (0, 0, 1))

    assert one == again
    assert one.goal == pytest.approx(other.goal, rel=1e-8)


def test_a_loss_that_no_run_within_reach_has_is_not_safe(chinchilla: Fit, tmp_path: Path):
    chinchilla.save(tmp_path / "fit.json")
    asked = cheapest(tmp_path, chinchilla, "choose N > 0")
    safe = safe_of(asked, target=1.7)
    assert not safe.ok and 0 < safe.probability < 0.95
    # of the runs within three decades of the fitted rows the largest is the most probable
    for name in ("N", "D"):
        assert safe[name] == pytest.approx(1e3 * chinchilla.data.ranges[name][1], rel=1e-6)

    command = ("solve", "cheapest.law", "loss=fit.json", "target=1.7", "--safe", "95%")
    shown = run(*command, cwd=tmp_path)
    assert shown.returncode == 1
    assert f"the largest probability found is {safe.probability:.3g}, at N = " in shown.stdout


def test_unknowns_without_ends_have_a_safe_answer(chinchilla: Fit, tmp_path: Path):
    """The same question in decades: the same answer."""
    path = tmp_path / "decades.law"
    path.write_text(
        "question decades\nuses loss : chinchilla\ngiven target > 0  unit nat/token\n"
        "choose n\nchoose d\nminimize n + d\n"
        "subject to loss(N = 10^(9 + n), D = 10^(11 + d)) <= target\n",
        encoding="utf-8",
    )
    decades = safe_of(lawdsl.Asked(path, loss=chinchilla), target=2.3)
    plain = safe_of(cheapest(tmp_path, chinchilla, "choose N > 0"), target=2.3)

    assert decades.ok and plain.ok
    assert 1e9 * 10 ** decades["n"] == pytest.approx(plain["N"], rel=1e-3)
    assert decades.goal == pytest.approx(np.log10(plain["N"] * plain["D"]) - 20, abs=1e-7)


MIXTURE = """question mixture "The most even mixture that keeps two losses"
index     i over validation
index     j over training
uses      loss : mixing.powers
given     bound[i] > 0
choose    r[j] in simplex
minimize  sum(r[j]^2 for j)
subject to loss[i](r[j]) <= bound[i]
"""


@pytest.fixture(scope="module")
def mixing() -> Any:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), 24)
    table = {f"r[{label}]": shares[:, i] for i, label in enumerate("abc")}
    for label, limit, weights in (("x", 1.5, (0.6, 0.2, 0.3)), ("y", 1.7, (0.1, 0.5, 0.2))):
        true = limit + (shares + 0.05) ** -0.3 @ np.array(weights)
        table[f"L[{label}]"] = true * np.exp(0.003 * rng.normal(size=24))
    return lawdsl.fit(
        "mixing.powers", table, starts=4, claims=False, rolled_check=False, intervals="delta"
    )


def test_a_mixture_is_the_best_of_a_grid_of_mixtures(mixing: Any, tmp_path: Path):
    path = tmp_path / "mixture.law"
    path.write_text(MIXTURE, encoding="utf-8")
    asked = lawdsl.Asked(path, loss=mixing)
    bound = {"x": 2.95, "y": 2.93}
    safe = safe_of(asked, bound=bound)
    assert safe.ok and len(safe.each) == 2 and safe.goal is not None
    assert sum(safe.unknowns.values()) == pytest.approx(1.0, abs=1e-9)
    assert safe.probability == pytest.approx(1 - sum(1 - p for p in safe.each.values()))
    assert safe.probability >= 0.95

    # what is allowed on a fine grid is no better, but for what lies between its points
    side = np.linspace(0, 1, 121)
    a, b = (axis.ravel() for axis in np.meshgrid(side, side))
    c = 1 - a - b
    inside = c >= 0
    grid = {"r[a]": a[inside], "r[b]": b[inside], "r[c]": c[inside]}
    failing = np.zeros(int(inside.sum()))
    for label, fit in zip(("x", "y"), mixing.parts, strict=True):
        high = fit.predict_with_errors(grid, level=0.9, discrepancy=0.02).high
        failing += np.where(high > bound[label], 1.0, 0.0)
    best = np.min(sum(x[failing == 0] ** 2 for x in grid.values()))
    assert safe.goal == pytest.approx(best, rel=0.01)


def test_the_command_says_that_searches_were_local(chinchilla: Fit, tmp_path: Path):
    chinchilla.save(tmp_path / "fit.json")
    cheapest(tmp_path, chinchilla, "choose N > 0")
    command = ("solve", "cheapest.law", "loss=fit.json", "target=2.3", "--safe", "95%")
    shown = run(*command, cwd=tmp_path).stdout
    assert "safe at 95 %: N = " in shown and "local searches, verified; not certified" in shown
    safe = json.loads(run(*command, "--json", cwd=tmp_path).stdout)["result"]["safe"]
    assert safe["status"] == "answered" and safe["searches"] >= 3
    assert math.isclose(safe["goal"], 6 * safe["unknowns"]["N"] * safe["unknowns"]["D"])


def test_a_law_in_an_equation_of_several_unknowns_has_no_safe_answer(
    chinchilla: Fit, tmp_path: Path
):
    path = tmp_path / "equation.law"
    path.write_text(CHEAPEST.format(N="choose N > 0").replace("<=", "="), encoding="utf-8")
    with pytest.raises(LawdslError) as error:
        lawdsl.Asked(path, loss=chinchilla).answer(target=2.3, safe=0.9)

    assert error.value.diagnostics[0].code == "F0516"
    assert "an inequality" in (error.value.diagnostics[0].help or "")
