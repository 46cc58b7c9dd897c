"""Laws, questions and fits whose numbers lie at the ends of what floats can say end in an answer."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import lawdsl
from lawdsl.cli import cli
from lawdsl.compiling.interval_evaluation import certain_text
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.fitting import fit_single
from lawdsl.fitting.diagnostics import robust_fit
from lawdsl.fitting.result import Fit
from lawdsl.fitting.solvers.bounded_systems import solve_each
from lawdsl.fitting.solvers.multistart import optimum
from lawdsl.law.text import text
from lawdsl.solving.nlp.solver import times_exp

LAWS = {
    "a bound beyond floats": (
        "law a\nvariable x > 0\nparameter b > (1e154)^2\nL = 1 - log(x)/b\n"
        "require L >= 1 + b*(1 - x)\nrequire L convex in x\n"
    ),
    "a ratio with an exponent beyond decimals": (
        "law a\nvariable x > 1e308\nL = x/(exp(x) - 1)\nrequire L < 1\nrequire L decreasing in x\n"
    ),
    "a domain that ends at pi": (
        "law a\nvariable K, N > 0\nparameter A > 0\nparameter w in (0, 1)\n"
        "parameter rho in (0, pi]\nL = A*(w*K^rho + (1 - w)*N^rho)^(1/N)\n"
        "require N*∂L/∂N + L >= 0\nrequire L < rho + K\n"
    ),
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """The result of a command that is answered."""
    code = cli.main([*arguments, "--json"], standalone_mode=False)
    assert code in (0, 1)
    result: dict[str, Any] = json.loads(capsys.readouterr().out)["result"]
    return result


@pytest.mark.parametrize("name", LAWS)
def test_a_law_with_extreme_bounds_is_checked(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "a.law"
    path.write_text(LAWS[name], encoding="utf-8")

    claims = run(capsys, "check", str(path), "--time-limit", "0.05")["claims"]

    assert len(claims) == 2


KAPLAN = ["f.Nc=1.8", "f.alphaN=2.5", "f.Dc=1.3e12", "f.alphaD=20"]
REPEATED = "f.E=0.2 f.A=1.3e9 f.alpha=0.1 f.B=1700 f.beta=14 f.R_D=4 f.R_N=1.4".split()
L3 = "f.E=1.1 f.A=1.83 f.alpha=1.86 f.B=5.2e-4 f.beta=1.81e-12 f.C=1.458e9 f.eta=1.0007 f.gamma=1.234e9".split()
QUESTIONS = {
    "constraints far beyond the bounds": (
        "choose N in (0, 1]\nchoose D in [0, 1]\nminimize f(N, D)\nsubject to D + N >= 1e12\n",
        "kaplan",
        KAPLAN,
        "infeasible",
    ),
    "constraints further than any unit": (
        "choose N in (0, 1]\nchoose D in [0, 1]\nminimize f(N, D)\nsubject to D + N >= 1e300\n",
        "kaplan",
        KAPLAN,
        "infeasible",
    ),
    "a bound that gives way by more than a float": (
        "choose N > 0\nchoose D in [0, 1]\nchoose U in [1000, 100000]\nminimize f(N, D, U)\n"
        "subject to exp(U) <= 0.2\n",
        "repeated",
        REPEATED,
        "infeasible",
    ),
    "coefficients that vanish beside their bound": (
        "setting k = 1e-301\nchoose N in (0, 1]\nchoose D in (0, 1]\nminimize f(N, D)\n"
        "subject to k*N + k*D <= 1e15\n",
        "kaplan",
        KAPLAN,
        None,
    ),
    "a threshold beyond floats": (
        "given N > 0, N < 2\ngiven D_d\nchoose r in (0, 1]\nminimize f(N, D = D_d/r, r = r)\n",
        "dcpt.l3",
        [*L3, "f.epsilon=1.9", "N=0.325", "D_d=0.155"],
        None,
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_with_extreme_numbers_is_answered(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    body, law, values, status = QUESTIONS[name]
    path = tmp_path / "a.law"
    path.write_text(f"question a\nuses f : {law}\n{body}", encoding="utf-8")

    answer = run(capsys, "solve", str(path), *values)

    assert status is None or answer["status"] == status


def test_the_search_for_rows_that_spoil_a_fit_has_no_more_starts_than_the_fit(
    monkeypatch: pytest.MonkeyPatch,
):
    asked = []

    def recorded(law: Any, problem: Any, starts: Any, seed: int) -> Any:
        asked.append(starts)
        return optimum(law, problem, starts, seed)

    monkeypatch.setattr(robust_fit, "optimum", recorded)
    monkeypatch.setattr(fit_single, "residual_findings", lambda *_: [])  # the residuals name no row
    r = np.linspace(0.05, 1.0, 16)
    table = {"r": r, "L": 2.0 + 0.5 / (r + 0.1) ** 0.5}
    table["L"][3] = 300.0

    lawdsl.fit("dcpt.share", table, starts=1)

    assert asked == [1]


def test_a_stored_fit_of_more_rows_than_floats_can_count_is_refused(tmp_path: Path):
    path = tmp_path / "fit.json"
    r = np.linspace(0.1, 1.0, 8)
    lawdsl.fit("mixing.critical", {"r": r, "L": 2 + np.exp(-r)}, starts=1).save(path)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["data"]["rows"] = 10**400
    path.write_text(json.dumps(content), encoding="utf-8")

    with pytest.raises(LawdslError, match="impossible"):
        Fit.load(path).predict({"r": 0.5})


def test_the_end_of_an_interval_beyond_floats_is_infinite():
    assert times_exp(2.0, 1e3) == np.inf
    assert times_exp(2.0, -1e3) == 0.0


def test_one_singular_system_does_not_cost_the_others():
    matrices = np.array(
        [[[1.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 4.0]], np.full((2, 2), np.nan)]
    )
    right = np.array([[2.0, 2.0], [2.0, 4.0], [1.0, 1.0]])

    solutions = solve_each(matrices, right)

    assert np.allclose(solutions[:2], [[1.0, 1.0], [1.0, 1.0]])
    assert np.isnan(solutions[2]).all()


def test_a_number_with_a_huge_exponent_is_written_out():
    e = sp.exp(sp.Rational(10) ** 30)

    assert "E+" in text(sp.Rational(10) ** 2000)
    assert text(e * sp.Rational(2**200, 3**150))


@pytest.mark.parametrize(("exponent", "shown"), [(10**20, "> 0"), (2, "= 0.135335"), (0, "= 1")])
def test_a_number_below_all_decimals_is_shown_by_its_sign(exponent: int, shown: str):
    x = sp.Symbol("x")
    tape = compile_tape((sp.exp(-x),), (x,))

    assert certain_text(tape, [Fraction(exponent)], 6) == shown


CANCELLING = {"log(1 + x)/x": 1.0, "(1 - cos(x))/x^2 - x/3": 0.5, "1 - (exp(x) - 1)/x": 0.0}


@pytest.mark.parametrize(
    "goal",
    [g if not k else pytest.param(g, marks=pytest.mark.slow) for k, g in enumerate(CANCELLING)],
)
def test_values_that_cancel_in_floats_are_shown_with_their_digits(
    goal: str, tmp_path: Path
) -> None:
    """Near 0 floats give 0, 1.1 or 2 for functions that are about 1."""
    path = tmp_path / "small.law"
    path.write_text(f"question small\nchoose x in [1e-17, 1]\nmaximize {goal}\n", encoding="utf-8")
    answer = lawdsl.Asked(path).answer()
    limit = pytest.approx(CANCELLING[goal], rel=1e-4, abs=1e-4)
    assert answer.goal.value == limit
    goals = [row.goal for row in answer.response if row.x["x"] < 1e-10]
    assert goals and all(value == limit for value in goals)
