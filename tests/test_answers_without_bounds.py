"""Answers of fits that lie on a bound between parameters, beside those without it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from planted import PLANTED

import lawdsl
from lawdsl.fitting.result import Fit

GIVEN = {"N": 1.8, "D_d": 5.0}
# C far below C0 = 3.9: a larger share does not always help
TRUTH = {**PLANTED["dcpt.l3"].parameters, "B": 0.6, "C": 0.4}
FREE = ("E", "B", "C")


def table(noise: float = 0.002) -> dict[str, np.ndarray]:
    planted = PLANTED["dcpt.l3"]
    loss = planted.formula(**planted.columns, **TRUTH)
    rng = np.random.default_rng(0)
    return {**planted.columns, "L": loss * np.exp(noise * rng.normal(size=len(loss)))}


def fitted(**options: Any) -> Fit:
    held = {name: x for name, x in TRUTH.items() if name not in FREE}
    fit = lawdsl.fit("dcpt.l3", table(), fix=held, starts=4, claims=False, **options)
    assert isinstance(fit, Fit)
    return fit


@pytest.fixture(scope="module")
def on_bound() -> Fit:
    fit = fitted()
    assert fit.parameters["C"].at_bound == "lower"
    return fit


def test_the_answer_without_the_bound_is_that_of_a_fit_without_it(on_bound: Fit):
    answer = lawdsl.solve("dcpt.limited_data", domain=on_bound, **GIVEN)
    alone = lawdsl.solve("dcpt.limited_data", domain=fitted(without="C > C0"), **GIVEN)
    beside = answer.without_bounds
    assert beside is not None

    assert answer["r_d"] == 1.0 and 0.3 < alone["r_d"] < 0.9
    assert beside["r_d"] == pytest.approx(alone["r_d"], rel=1e-6)
    assert beside.ends["r_d"] == pytest.approx(alone.ends("r_d"), rel=1e-4)
    assert beside.bounds == {"domain": ("C > C0",)} and beside.objective_ratios["domain"] < 0.5
    assert alone.without_bounds is None


def test_fits_off_the_bound_have_none():
    planted = PLANTED["dcpt.l3"]
    held = {n: x for n, x in planted.parameters.items() if n not in FREE}
    fit = lawdsl.fit("dcpt.l3", planted.table(0.002), fix=held, starts=4, claims=False)

    assert lawdsl.solve("dcpt.limited_data", domain=fit, **GIVEN).without_bounds is None


def test_a_bound_that_is_a_number_stays():
    """E > 0 is what a loss is, not what a law claims: it is kept where it is active."""
    x = np.linspace(1, 100, 12)
    fit = lawdsl.fit("cmr.domain", {"T": x, "dL_domain": 1 / x}, starts=4, claims=False)
    assert isinstance(fit, Fit)
    from lawdsl.solving.without_bounds import relaxed

    assert relaxed("domain", fit) is None


def test_a_fit_without_rows_or_with_weights_of_the_table_has_none(on_bound: Fit):
    for fit in (
        replace(on_bound, rows=None),
        replace(on_bound, data=replace(on_bound.data, weights="w")),
    ):
        assert lawdsl.solve("dcpt.limited_data", domain=fit, **GIVEN).without_bounds is None


def test_the_command_shows_it_with_the_reason(on_bound: Fit, tmp_path: Path):
    on_bound.save(tmp_path / "fit.json")
    command = ("solve", "dcpt.limited_data", "domain=fit.json", "N=1.8", "D_d=5")
    shown = run(*command, "-q", cwd=tmp_path).stdout

    assert "without the bound C > C0 of domain: r_d = 0." in shown
    assert "the fit of domain lies on it; without, its objective falls to" in shown
    document = json.loads(run(*command, "--json", cwd=tmp_path).stdout)
    assert document["result"]["without_bounds"]["bounds"] == {"domain": ["C > C0"]}
