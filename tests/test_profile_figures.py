"""Figures of profiles: the objective with one or two parameters fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from planted import law_of
from test_figures_of_fits import POWER, fit_of, planted

import lawdsl
from lawdsl.figures.figure import Figure
from lawdsl.fitting.result import Fit


@pytest.fixture(scope="module")
def profiled() -> tuple[dict[str, Any], Fit]:
    """A table, and its fit with intervals by profile."""
    table = planted(13, 0.003)
    made = lawdsl.fit(
        law_of(POWER, "power"),
        table,
        objective="squared(log)",
        intervals="profile",
        starts=4,
        claims=False,
        rolled_check=False,
    )
    assert isinstance(made, Fit)
    return table, made


def curve_of(figure: Figure, name: str) -> tuple[np.ndarray, np.ndarray]:
    columns = {k: np.array(v) for k, v in figure.columns.items()}
    chosen = columns["parameter"] == name
    return columns["value"][chosen], columns["rise"][chosen]


def crossings(values: np.ndarray, rise: np.ndarray) -> list[float]:
    """Where a curve is 1."""
    root = np.sqrt(rise) - 1
    ends = np.flatnonzero(np.diff(np.sign(root)))
    return [
        float(values[k] - root[k] * (values[k + 1] - values[k]) / (root[k + 1] - root[k]))
        for k in ends
    ]


def test_a_profile_is_1_at_the_ends_of_the_interval_by_profile(profiled: Any):
    _, fit = profiled
    figure = fit.plot("profile")
    for name, ends in fit.intervals.ends.items():
        assert crossings(*curve_of(figure, name)) == pytest.approx(ends, rel=2e-3)
    least = max(fit.values, key=lambda n: np.ptp(fit.intervals.ends[n]) / fit.values[n])
    low, high = fit.intervals.ends[least]
    assert (
        f"by profile, relative to its value, is that of {least}, {low:.3g} to {high:.3g}"
        in figure.title
    )
    alone = fit.plot("profile", parameters=least)
    assert alone.title.endswith(f"{least}, 95 % interval by profile {low:.3g} to {high:.3g}")


def test_a_profile_is_the_objective_of_fits_with_the_parameter_fixed(profiled: Any):
    table, fit = profiled
    values, rise = curve_of(fit.plot("profile"), "beta")
    base = fit.objective.sum
    sums = []
    for k in (3, -4):
        other = lawdsl.fit(
            law_of(POWER, "power"),
            table,
            objective="squared(log)",
            fix={"beta": float(values[k])},
            starts=4,
            claims=False,
            rolled_check=False,
        )
        sums.append(other.objective.sum - base)
    assert sums[0] / sums[1] == pytest.approx(rise[3] / rise[-4], rel=1e-3)


def test_the_dashed_line_of_two_parameters_projects_to_their_intervals(profiled: Any):
    _, fit = profiled
    columns = {k: np.array(v) for k, v in fit.plot("profile", parameters="E,beta").columns.items()}
    inner = columns["region"] == "intervals"
    for name in ("E", "beta"):
        found = columns[name][inner].min(), columns[name][inner].max()
        assert found == pytest.approx(fit.intervals.ends[name], rel=1e-2)
        assert columns[name][~inner].min() < found[0] and columns[name][~inner].max() > found[1]


def test_a_part_of_the_rows_has_nearly_the_profile_of_all():
    rng = np.random.default_rng(14)
    D = 10 ** rng.uniform(8, 11, 3000)
    table = {"D": D, "r": rng.uniform(0, 1, 3000), "L": 2 + 400 / D**0.3}
    table["L"] = table["L"] * np.exp(rng.normal(0, 0.01, 3000))
    fit = fit_of(table)
    assert fit.rows is not None and len(fit.rows.target) < 300
    part, every = fit.plot("profile"), fit.plot("profile", data=table)
    assert "of 3,000 rows" in part.notes[0] and not every.notes
    for name in fit.values:
        few, all_ = (np.array(crossings(*curve_of(f, name))) for f in (part, every))
        # the noise of 256 rows is known to some percent, and the design to some more
        assert np.ptp(few) == pytest.approx(np.ptp(all_), rel=0.25)
        assert abs(np.mean(few) - np.mean(all_)) < 0.15 * np.ptp(all_)


def test_parameters_without_an_interval_are_refused(profiled: Any):
    with pytest.raises(lawdsl.LawdslError) as caught:
        profiled[1].plot("profile", parameters="E,gamma")
    assert caught.value.diagnostics[0].code == "G0104"
