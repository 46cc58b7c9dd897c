"""The error of a law in an answer: joint errors, and what the rolled check widens."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import run
from test_answers_under_law_error import TRADEOFF

import lawdsl
from lawdsl.fitting.extrapolation.result import Extrapolation
from lawdsl.fitting.extrapolation.rolled_check import RolledCut
from lawdsl.fitting.result import Fit


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
