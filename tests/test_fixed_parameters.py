"""Fits with parameters fixed and tied: what comes back, and that the file says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import commands
import numpy as np
import pytest
from click.testing import CliRunner, Result
from planted import PLANTED, grid, law_of

import lawdsl
from lawdsl.cli import cli

P = PLANTED["chinchilla"]
ROOT = Path(__file__).resolve().parent.parent
ESTIMATE: dict[str, Any] = {"claims": False, "rolled_check": False, "intervals": "delta"}
"""Options for tests that look at the estimates alone."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, list(map(str, arguments)))


def refused(**options: Any) -> lawdsl.Diagnostic:
    with pytest.raises(lawdsl.LawdslError) as error:
        lawdsl.fit("chinchilla", P.table(), **options)
    (diagnostic,) = error.value.diagnostics
    return diagnostic


@pytest.fixture(scope="module")
def fit() -> lawdsl.Fit:
    """Noisy data, E fixed near its value, the powers tied."""
    return lawdsl.fit("chinchilla", P.table(0.003), starts=8, fix={"E": 1.7}, tie={"beta": "alpha"})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    columns = P.table(0.003)
    path = tmp_path / "runs.csv"
    rows = zip(*columns.values(), strict=True)
    path.write_text(
        "\n".join([",".join(columns), *(",".join(map(repr, map(float, r))) for r in rows)]) + "\n"
    )
    return path


@pytest.mark.parametrize("name", sorted(P.parameters))
def test_the_others_are_recovered_with_one_fixed(name: str):
    """Clean data: with one parameter at its value the rest is found."""
    found = lawdsl.fit("chinchilla", P.table(), starts=8, fix={name: P.parameters[name]})
    others = {n: v for n, v in P.parameters.items() if n != name}

    assert found.values == pytest.approx(others, rel=1e-9)
    assert found.held[name].value == P.parameters[name] and found.held[name].formula is None
    assert found.verdict == "trusted"


def test_a_tie_is_kept_to_the_last_digit(fit: lawdsl.Fit):
    assert list(fit.values) == ["A", "alpha", "B"]
    assert fit.held["beta"].value == fit.values["alpha"]
    assert (fit.held["beta"].formula, fit.held["E"].value) == ("alpha", 1.7)


def test_a_tied_fit_is_the_fit_of_the_law_written_so():
    """B = A/2 in a law of its own, and as a tie of the shipped one."""
    own = law_of(
        "variable N > 0\nvariable D > 0\nparameter E, A, alpha, beta > 0\n"
        "L = E + A/N^alpha + A/2/D^beta"
    )
    table = P.table(0.003)
    one = lawdsl.fit(own, table, starts=12)
    other = lawdsl.fit("chinchilla", table, starts=12, tie={"B": "A/2"})

    assert other.objective.sum == pytest.approx(one.objective.sum, rel=1e-9)
    assert other.values == pytest.approx(one.values, rel=1e-5)
    assert other.held["B"].value == pytest.approx(other.values["A"] / 2)


def test_a_bound_of_the_tied_parameter_holds_in_the_fit():
    """b = 1 - a with b > 0.25: the data want a = 0.9, the bound allows 0.75."""
    law = law_of("variable x > 0\nparameter a > 0\nparameter b > 0.25\nL = 1 + a*x + 0*b\n")
    x = np.linspace(1, 2, 9)
    table = {"x": x, "L": 1 + 0.9 * x}

    assert lawdsl.fit(law, table, starts=4).values["a"] == pytest.approx(0.9)
    tied = lawdsl.fit(law, table, starts=4, tie={"b": "1 - a"})
    assert tied.values["a"] == pytest.approx(0.75, rel=1e-6) and tied.held["b"].value >= 0.25
    assert tied.parameters["a"].at_bound == "upper"


@pytest.mark.slow
def test_a_fixed_parameter_inside_a_bound_keeps_the_bound_for_the_others():
    """C > C0(B, eta, …) with C fixed: the others stay where C0 is below it."""
    table = PLANTED["dcpt.l3"].table(0.003)
    found = lawdsl.fit("dcpt.l3", table, starts=2, fix={"C": 0.1}, **ESTIMATE)
    v, law = found.values, lawdsl.load("dcpt.l3")
    C0 = law.to_sympy(law.declarations.symbols["C0"].formula)
    point = {law.symbols[n]: x for n, x in v.items()} | {law.symbols["D_min"]: 0.1311}

    assert float(C0.subs(point)) <= 0.1 * (1 + 1e-9)


def test_saved_and_loaded_it_is_the_same_and_predicts_the_same(fit: lawdsl.Fit, tmp_path: Path):
    fit.save(tmp_path / "fit.json")
    loaded = lawdsl.Fit.load(tmp_path / "fit.json")
    point = {"N": [1e9], "D": [2e10]}
    v = fit.values

    assert loaded == fit and loaded.read_law().fixed == {"E": 1.7}
    expected = 1.7 + v["A"] / 1e9 ** v["alpha"] + v["B"] / 2e10 ** v["alpha"]
    assert loaded.predict(point)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "held",
    [
        ["fix E = 1.8"],
        ["fix E = 1.7"],
        [],
        ["tie beta = alpha"],
        ["fix E = 1.7", "tie beta = 2*alpha"],
        ["law a", "tie beta = alpha"],
        ["fix E = 1.7\nlet a = 2", "tie beta = alpha"],
    ],
)
def test_a_file_that_says_something_else_is_held_is_refused(
    held: list[str], fit: lawdsl.Fit, tmp_path: Path
):
    content = fit.to_json()
    content["law"]["held"] = held
    (tmp_path / "fit.json").write_text(json.dumps(content))
    with pytest.raises(lawdsl.LawdslError):
        lawdsl.Fit.load(tmp_path / "fit.json").read_law()


def test_all_parameters_fixed_leave_nothing_to_fit():
    assert refused(fix=P.parameters).code == "F0111"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"fix": {"E": -1}}, "L0414"),
        ({"fix": {"e": 1}}, "L0301"),
        ({"tie": {"B": "B + 1"}}, "L0307"),
        ({"tie": {"B": "N"}}, "L0308"),
        ({"tie": {"B": "-A"}}, "L0414"),
    ],
)
def test_what_cannot_be_held_is_refused_before_the_data_are_read(options: Any, code: str):
    assert refused(**options).code == code


def test_fewer_rows_are_enough_where_parameters_are_held():
    table = {name: column[:3] for name, column in grid(N=[1e8, 1e9], D=[2e9, 2e10]).items()}
    table["L"] = 2 + 300 / table["N"] ** 0.3 + 400 / table["D"] ** 0.3
    held = {"E": 2.0, "alpha": 0.3}
    found = lawdsl.fit("chinchilla", table, starts=4, fix=held, tie={"beta": "alpha"})

    assert found.values == pytest.approx({"A": 300, "B": 400}, rel=1e-6)


def test_a_law_that_ties_in_its_file_is_fitted_and_read_again(tmp_path: Path):
    path = tmp_path / "tied.law"
    path.write_text("law tied\nextends chinchilla\nL = chinchilla\nfix E = 1.7\ntie beta = alpha\n")
    found = lawdsl.fit(path, P.table(0.003), starts=8)
    found.save(tmp_path / "fit.json")
    loaded = lawdsl.Fit.load(tmp_path / "fit.json")

    assert list(found.values) == ["A", "alpha", "B"] and found.law.held == ()
    assert {n: h.formula for n, h in loaded.held.items()} == {"E": None, "beta": "alpha"}
    assert loaded.predict({"N": [1e9], "D": [1e10]})[0] > 1.7


def test_enforced_bounds_and_held_parameters_go_together(tmp_path: Path):
    """A larger b makes L grow with x where a < b; the fit that keeps the claim is read back."""
    law = law_of(
        "variable x > 0\nparameter a, b, c > 0\nL = 10 + c + (b - a)*x\nminimize squared(L)\n"
        "require ∂L/∂x < 0  expect conditional"
    )
    x = np.linspace(1, 2, 9)
    table = {"x": x, "L": 12 + 0.5 * x}
    found = lawdsl.fit(law, table, starts=4, fix={"a": 1}, tie={"c": "2*b"}, enforce=True)
    found.save(tmp_path / "fit.json")
    again = lawdsl.Fit.load(tmp_path / "fit.json").read_law()

    assert found.law.added and found.values["b"] <= 1
    assert dict(again.ties) == {"c": "2*b"} and again.fixed == {"a": 1}
    assert [c.verdict for c in found.claims] == ["certified"]


# Commands


def test_the_command_prints_and_keeps_what_is_held(table: Path, tmp_path: Path):
    file = tmp_path / "fit.json"
    held = ["--fix", "E=1.7", "--tie", "beta=alpha"]
    done = run("fit", "chinchilla", table, *held, "--starts", 8, "-o", file)

    assert done.exit_code == 0
    lines = [line.split() for line in done.output.splitlines()]
    assert ["E", "1.7", "fixed"] in lines
    assert any(line[:1] == ["beta"] and line[-2:] == ["=", "alpha"] for line in lines)
    assert json.loads(file.read_text())["held"]["beta"]["formula"] == "alpha"
    assert run("predict", file, "N=1e9", "D=1e10").exit_code == 0
    for arguments in (["--fit", file], ["chinchilla", "--fit", file]):
        checked = run("check", *arguments, "-q")
        assert checked.exit_code == 0 and checked.output.count("CERTIFIED") == 6


def test_json_says_what_is_held(table: Path):
    done = run("fit", "chinchilla", table, "--fix", "E=1.7", "--starts", 4, "--json")

    result = json.loads(done.output)["result"]
    assert result["held"] == {"E": {"value": 1.7, "formula": None}}
    assert "E" not in result["parameters"] and result["law"]["held"] == ["fix E = 1.7"]


def test_claims_are_checked_and_laws_shown_with_what_is_held():
    shown = run("show", "chinchilla", "--tie", "beta=alpha", "--fix", "E=1.69", "--json")
    assert json.loads(shown.output)["result"]["domains"].keys() == {"N", "D", "A", "alpha", "B"}
    checked = run("check", "dcpt.l5", "--fix", "sigma=0.1", "--json")
    verdicts = {c["claim"]: c["verdict"] for c in json.loads(checked.output)["result"]["claims"]}
    assert verdicts["∂L/∂r < 0"] == "proved"  # sigma < D_min, on which it hangs, is now known


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--fix", "E"], 2),
        (["--fix", "E=two"], 2),
        (["--tie", "beta"], 2),
        (["--tie", "beta="], 2),
        (["--fix", "E=-1"], 3),
        (["--fix", "Q=1"], 3),
        (["--tie", "beta=beta"], 3),
    ],
)
def test_wrong_options_are_refused(arguments: list[str], code: int, table: Path):
    done = commands.run("fit", "chinchilla", table, *arguments)

    assert done.returncode == code, done.stderr
