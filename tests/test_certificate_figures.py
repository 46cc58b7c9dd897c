"""Figures of checks: they show each verdict, and the quantity of a claim where it fails."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from commands import run

import lawdsl
from lawdsl.core.diagnostics import LawdslError
from lawdsl.figures.kinds.certificate_curves import FailureCurve, failure_curve
from lawdsl.proof.verdict import Check

HUMP = """law hump "A loss that rises to x = 2 and falls"
source    "made for a test"
variable  x in [0, 10]
parameter a > 0
L = 3 + a*x*(4 - x)
require   L > 3 - 100*a
require   ∂L/∂x < 0
"""


def checked(text: str, folder: Path) -> Check:
    name = text.split()[1]
    path = folder / f"{name}.law"
    path.write_text(text, encoding="utf-8")
    return lawdsl.check(path)


def curve_of(check: Check, claim: str) -> FailureCurve:
    (verdict,) = [v for v in check.claims if v.claim == claim]
    curve = failure_curve(verdict)
    assert curve is not None
    return curve


def test_a_row_of_the_figure_is_a_claim_with_its_verdict_and_method():
    check = lawdsl.check("dcpt.l5")
    columns = check.plot().columns
    assert columns["claim"] == [v.claim for v in check.claims]
    assert columns["verdict"] == [v.verdict for v in check.claims]
    assert columns["method"][:2] == ["definedness", "signs"]
    assert columns["why"][3] == "exactly where sigma < D_min"
    assert "by signs, equality only at r = 0: ∂L/∂D = " in columns["why"][2]
    assert columns["witness"][4].startswith("B = 1, D = 2,")


def test_the_curve_is_the_derivative_through_the_witness(tmp_path: Path):
    check = checked(HUMP, tmp_path)
    verdict = check.claims[1]
    witness = {name: float(Fraction(value)) for name, value in verdict.witness}
    curve = curve_of(check, "∂L/∂x < 0")
    assert curve.along == "x" and curve.ends == (0, 10)
    assert curve.columns["y"] == pytest.approx(witness["a"] * (4 - 2 * curve.columns["x"]))
    assert curve.at == witness["x"] and curve.value == pytest.approx(
        witness["a"] * (4 - 2 * witness["x"])
    )
    low, high = curve.visible
    assert low < 0 < high and low < curve.value < high


def test_a_condition_of_a_claim_ends_the_curve(tmp_path: Path):
    text = HUMP.replace("∂L/∂x < 0", "∂L/∂x < 0 for x < 5")
    curve = curve_of(checked(text, tmp_path), "∂L/∂x < 0 for x < 5")
    x, y = curve.columns["x"], curve.columns["y"]
    assert np.all(np.isfinite(y) == (x < 5))


def test_a_conditional_claim_is_drawn_where_its_condition_fails():
    curve = curve_of(lawdsl.check("dcpt.l5"), "∂L/∂r < 0")
    assert curve.value is not None and curve.value >= 0
    assert np.any(curve.columns["y"] < 0), "along a variable with which the claim holds elsewhere"


def test_a_claim_of_a_law_with_index_sets_is_drawn_at_the_fewest_labels(tmp_path: Path):
    text = """law mixed "Loss on each domain by the mixture"
source    "made for a test"
index     i over validation
index     j over training
variable  r[j] in simplex
parameter k[i] > 0, t[i, j]
L[i] = k[i]*exp(sum(t[i, j]*r[j] for j))
require   L[i] decreasing in r[a] against r[b]
"""
    curve = curve_of(checked(text, tmp_path), "L[i] decreasing in r[a] against r[b]")
    assert curve.value is not None and curve.value >= 0
    assert "k[i] = " in curve.others


def test_a_law_without_a_value_is_drawn_around_the_point(tmp_path: Path):
    text = """law pole "A pole within the domain"
source    "made for a test"
variable  x in [0, 10]
parameter a > 0
L = a/(x - 5)
require   L finite
"""
    curve = curve_of(checked(text, tmp_path), "L finite")
    assert curve.at == 5 and curve.value is None and curve.label == "no value at x = 5"
    finite = np.isfinite(curve.columns["y"])
    assert np.all(finite == (curve.columns["x"] != 5))
    assert not curve.is_shaded


@pytest.mark.parametrize(
    ("claims", "title"),
    [
        ("require L > 3 - 100*a", "hump: its claim is proved"),
        ("require ∂L/∂x < 0", "hump: ∂L/∂x < 0 is refuted"),
        ("require ∂L/∂x < 0\nrequire ∂L/∂a > 0", "hump: ∂L/∂x < 0 is refuted, and 1 more"),
        (
            "require L > 3 - 100*a\nrequire ∂L/∂x < 0 expect refuted",
            "hump: of 2 claims 1 proved, 1 refuted, as expected",
        ),
    ],
)
def test_the_title_says_the_verdict(claims: str, title: str, tmp_path: Path):
    text = HUMP.partition("require")[0] + claims + "\n"
    assert checked(text, tmp_path).plot().title == title


def test_claims_certified_for_fitted_values_are_called_so():
    values = {"E": 1.69, "A": 406.4, "B": 410.7, "alpha": 0.34, "beta": 0.28}
    title = lawdsl.check("chinchilla", values=values).plot().title
    assert title == "chinchilla: all 6 claims are certified for the fitted values"


def test_a_law_is_checked_to_be_drawn(tmp_path: Path):
    assert lawdsl.load("chinchilla").plot().title == "chinchilla: all 6 claims are proved"
    bare = HUMP.partition("require")[0]
    with pytest.raises(LawdslError) as caught:
        checked(bare, tmp_path).plot()
    assert caught.value.diagnostics[0].code == "G0114"


def test_the_commands_draw_it(tmp_path: Path):
    done = run("check", "dcpt.l5", "--plot", "c.svg", "--json", cwd=tmp_path)
    assert done.returncode == 0 and json.loads(done.stdout)["plot"] == "c.svg"
    done = run("plot", "dcpt.l5", cwd=tmp_path)
    assert "wrote dcpt.l5-certificate.svg" in done.stderr
    drawn = [(tmp_path / name).read_text("utf-8") for name in ("c.svg", "dcpt.l5-certificate.svg")]
    assert drawn[0] == drawn[1] and "exactly where sigma" in drawn[0]


def test_a_figure_of_several_laws_is_refused(tmp_path: Path):
    done = run("check", "dcpt.l5", "chinchilla", "--plot", "c.svg", cwd=tmp_path)
    assert done.returncode == 2 and "one law, not of 2" in done.stderr
    assert not list(tmp_path.iterdir())
