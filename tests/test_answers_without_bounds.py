"""Answers of fits that lie on a bound between parameters, beside those without it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from commands import run
from planted import PLANTED

import lawdsl
from lawdsl.core.diagnostics import Diagnostic, LawdslError
from lawdsl.fitting.extrapolation.conditioning_rows import ConditioningRows
from lawdsl.fitting.result import Fit
from lawdsl.solving import without_bounds
from lawdsl.solving.without_bounds import refit_without_bounds

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


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"objective": "absolute(log)"}, marks=pytest.mark.slow),
        {"objective": "huber(log)", "delta": 0.0123},
        {"objective": "squared(raw)"},
    ],
    ids=lambda options: options["objective"],
)
def test_the_fit_without_the_bound_minimises_the_same_loss(options: dict[str, Any]):
    fit = fitted(**options)
    assert fit.parameters["C"].at_bound == "lower"
    other = refit_without_bounds("domain", fit)
    assert other is not None
    alone = fitted(without="C > C0", **options)

    assert other.fit.objective.name == fit.objective.name == alone.objective.name
    assert other.fit.objective.sum == pytest.approx(alone.objective.sum, rel=1e-4)
    assert other.ratio == pytest.approx(alone.objective.mean / fit.objective.mean, rel=1e-3)


def test_both_objectives_are_of_the_rows_that_the_fit_keeps(on_bound: Fit):
    """On half of the rows neither objective is that of all rows."""
    rows = on_bound.rows
    assert rows is not None
    some = np.argsort(rows.target)[::2]
    half = replace(
        rows,
        columns={name: tuple(np.array(x)[some]) for name, x in rows.columns.items()},
        target=tuple(np.array(rows.target)[some]),
        weights=None,
    )
    other = refit_without_bounds("domain", replace(on_bound, rows=half))
    assert other is not None
    before = huber(half, on_bound, TRUTH)
    assert other.ratio == pytest.approx(huber(half, other.fit, TRUTH) / before, rel=1e-6)
    assert before != pytest.approx(on_bound.objective.sum / on_bound.data.rows, rel=0.01)


def test_mistakes_that_are_not_expected_are_reported(
    on_bound: Fit, monkeypatch: pytest.MonkeyPatch
):
    for code, is_expected in (("D0110", True), ("L0404", False)):
        error = LawdslError(Diagnostic(code, "no fit"))
        monkeypatch.setattr(without_bounds, "fit_with", Mock(side_effect=error))
        if is_expected:
            assert refit_without_bounds("domain", on_bound) is None
        else:
            with pytest.raises(LawdslError, match=code):
                refit_without_bounds("domain", on_bound)


def huber(rows: ConditioningRows, fit: Fit, held: Mapping[str, float]) -> float:
    """Huber's mean loss of the D-CPT Law on rows, of log residuals."""
    formula = PLANTED["dcpt.l3"].formula
    values = {n: np.array(x) for n, x in rows.columns.items()} | {**held, **fit.values}
    size = np.abs(np.log(rows.target) - np.log(formula(**values)))
    return float(np.mean(np.where(size < 1e-3, size**2 / 2, 1e-3 * (size - 1e-3 / 2))))


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
    assert refit_without_bounds("domain", fit) is None


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
