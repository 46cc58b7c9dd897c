"""Claims and fits together: what a fit says of its law's claims, and fits that are made to keep them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from planted import law_of
from rich.console import Console
from test_cli import document, lawdsl as run

import lawdsl
from lawdsl.fitting.fitted_claims import certificates
from lawdsl.reporting.terminal import show_fit

# the loss rises with r near r = 1, which a claim of the law forbids
TRUTH = {"E": 1.2, "A": 0.5, "alpha": 0.35, "B": 0.9, "beta": 0.4, "eta": 1.5}
TRUTH |= {"gamma": 0.5, "epsilon": 0.1, "C": 0.25}


@pytest.fixture(scope="module")
def runs() -> dict[str, np.ndarray]:
    axes = ((0.5, 1.8, 4), (1, 2, 4, 8, 20), (0.05, 0.2, 0.4, 0.6, 0.8, 1))
    N, D, r = (x.ravel() for x in np.meshgrid(*axes))
    t = TRUTH
    loss = t["E"] + t["A"] / N ** t["alpha"] + t["B"] * r ** t["eta"] / D ** t["beta"]
    return {"N": N, "D": D, "r": r, "L": loss + t["C"] / (r + t["epsilon"]) ** t["gamma"]}


@pytest.fixture(scope="module")
def free(runs: dict[str, np.ndarray]) -> lawdsl.Fit:
    return lawdsl.fit("dcpt.l3", runs, without="C > C0", starts=6)


def test_a_fit_says_which_claims_hold_for_its_values_on_the_whole_domain(free: lawdsl.Fit):
    verdicts = {c.claim: (c.verdict, c.face, c.failed) for c in free.claims}

    assert verdicts["∂L/∂N < 0"] == ("certified", None, False)
    assert verdicts["∂L/∂D < 0"] == ("certified", "r = 0", False)
    assert verdicts["∂L/∂r < 0"] == ("refuted", None, True)


def test_a_claim_that_fails_is_named_with_a_point_and_what_to_do(free: lawdsl.Fit):
    (warning,) = (d for d in free.diagnostics if d.code == "F0113")

    assert "`∂L/∂r < 0` fails on the fitted values: at D = " in warning.message
    assert (
        "--enforce: it keeps C > B*eta*(epsilon + 1)^(gamma + 1)/(gamma*D_min^beta)" in warning.help
    )


def test_a_refuted_claim_is_printed_with_its_point(
    free: lawdsl.Fit, capsys: pytest.CaptureFixture[str]
):
    (refuted,) = [claim for claim in free.claims if claim.verdict == "refuted"]
    show_fit(free, Console(width=200))
    point = ", ".join(f"{name} = {value}" for name, value in refuted.witness)
    assert f"refuted: {refuted.claim}\n  at {point}: {refuted.value}\n" in capsys.readouterr().out


def test_an_enforced_fit_keeps_the_claim_by_construction(
    runs: dict[str, np.ndarray], tmp_path: Path
):
    fit = lawdsl.fit("dcpt.l3", runs, without="C > C0", starts=2, enforce=True, intervals="delta")
    v = fit.values
    least = v["B"] * v["eta"] * (1 + v["epsilon"]) ** (v["gamma"] + 1)
    least /= v["gamma"] * 0.1311 ** v["beta"]

    assert fit.law.added == ("C > B*eta*(epsilon + 1)^(gamma + 1)/(gamma*D_min^beta)",)
    assert v["C"] >= least * (1 - 1e-12)
    assert [c.verdict for c in fit.claims] == ["certified"] * 6
    fit.save(tmp_path / "fit.json")
    assert lawdsl.Fit.load(tmp_path / "fit.json") == fit
    assert lawdsl.Fit.load(tmp_path / "fit.json").read_law().added == fit.law.added


def test_a_law_with_another_bound_keeps_it_and_refuses_what_is_none():
    law = lawdsl.load("dcpt.l4").with_bound("C > B*b*c*log(b)/(D_min^beta*log(c))")

    assert [v.verdict for v in lawdsl.check(law).claims] == ["proved"] * 6
    for bound in ("C", "Q > 1", "C > N", "C > 1 for r > 0", "b > C and C > b", "L > 1"):
        with pytest.raises(lawdsl.LawdslError):
            law.with_bound(bound)
    with pytest.raises(lawdsl.LawdslError, match="goes in a circle"):
        law.with_bound("B > C")


def test_the_command_certifies_a_fit(free: lawdsl.Fit, tmp_path: Path):
    free.save(tmp_path / "fit.json")
    done = run("check", "--fit", "fit.json", "--json", cwd=tmp_path)
    claims = {c["claim"]: c for c in document(done)["result"]["claims"]}

    assert done.returncode == 1
    assert claims["∂L/∂D < 0"]["verdict"] == "certified" and claims["∂L/∂D < 0"]["face"] == "r = 0"
    assert claims["∂L/∂r < 0"]["verdict"] == "refuted" and not claims["∂L/∂r < 0"]["ok"]


def test_a_fit_is_checked_against_its_own_law_only(free: lawdsl.Fit, tmp_path: Path):
    free.save(tmp_path / "fit.json")
    done = run("check", "chinchilla", "--fit", "fit.json", cwd=tmp_path)

    assert done.returncode == 2
    assert "fit.json is a fit of dcpt.l3, not of chinchilla" in done.stderr


def test_findings_as_sarif(tmp_path: Path):
    done = run("check", "dcpt.l3", "--without", "C > C0", "--sarif", cwd=tmp_path)
    (result,) = json.loads(done.stdout)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]

    assert (done.returncode, result["level"], result["ruleId"]) == (1, "error", "claim-conditional")
    assert "declare `parameter C > B*eta*" in result["message"]["text"]
    assert place["artifactLocation"]["uri"].endswith("l3.law") and place["region"]["startLine"] > 20


def test_nothing_to_check_is_said(tmp_path: Path):
    (tmp_path / "bare.law").write_text("law bare\nvariable x > 0\nparameter a > 0\nL = a*x\n")

    assert "name a law, or a fit with --fit" in run("check", cwd=tmp_path).stderr
    assert "no claims" in run("check", "bare.law", cwd=tmp_path).stdout


def test_claims_proved_once_for_all_parameters_are_certified_inside_their_domains_alone():
    text = "variable N > 0\nparameter E, A, k > 0\nL = E + A/N^k\nrequire L > E\nrequire L < 9\n"
    law, inside = law_of(text), {"E": 1.5, "A": 2.0, "k": 0.25}
    first, second, third = (certificates(law, inside) for _ in range(3))
    assert first == second == third
    assert [c.verdict for c in third] == ["certified", "refuted"]
    (on_bound, _) = certificates(law, inside | {"A": 0.0})
    assert on_bound.verdict == "refuted"
