"""Intervals of parameters if the law is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from planted import PLANTED, law_of
from test_discrepancy import POWER, TRUTH, fitted, loss, runs

import lawdsl
from lawdsl.fitting.extrapolation.coordinates import axes_of, coordinates
from lawdsl.fitting.extrapolation.kernel import kernel
from lawdsl.fitting.result import Fit


@pytest.fixture(scope="module")
def fit() -> Fit:
    return fitted(runs())


def test_they_contain_those_of_the_noise_and_widen_with_the_error_of_the_law(fit: Fit):
    assert fit.intervals_with_law_error(0) == fit.intervals.ends
    assert fit.intervals_with_law_error() == fit.intervals.ends_with_law_error
    widths = []
    for amplitude in (0, 1e-5, 0.01, 0.02, 0.05):
        ends = fit.intervals_with_law_error(amplitude)
        widths.append([math.log(high / low) for low, high in ends.values()])

    assert np.all(np.diff(widths, axis=0) > 0)
    assert np.allclose(widths[1], widths[0], rtol=1e-4)


@pytest.mark.parametrize(
    "objective",
    [
        "squared(log(L))",
        pytest.param("squared(L)", marks=pytest.mark.slow),
        pytest.param("huber(log(L), 1e-3)", marks=pytest.mark.slow),
    ],
)
def test_fits_to_surfaces_that_are_wrong_by_so_much_come_out_in_them(objective: str):
    """Surfaces drawn from the Gaussian process, without noise: the 95 % interval is 1.96 times the
    standard deviation of the fitted exponents. Draws are small, so that the fit is linear in them."""
    table = runs(noise=0.0, count=40)
    columns = np.array([table["N"], table["D"]])
    z = coordinates(axes_of(("N", "D"), (False, False), columns), ("N", "D"), columns)
    root = np.linalg.cholesky(kernel(z, z) + 1e-9 * np.eye(40))
    rng, amplitude = np.random.default_rng(3), 2e-3
    surfaces = [table | {"L": table["L"] * np.exp(amplitude * root @ rng.normal(size=40))}]
    surfaces += [
        table | {"L": table["L"] * np.exp(amplitude * root @ rng.normal(size=40))}
        for _ in range(24)
    ]
    fits = [fitted(s, POWER + f"minimize {objective}", starts=2) for s in surfaces]
    spread = np.std([[math.log(f.values[n]) for n in ("alpha", "beta")] for f in fits], axis=0)
    expected = []
    for one in fits:
        assert one.spread is not None
        ends, narrow = one.intervals_with_law_error(amplitude), one.intervals.ends
        scale = one.spread.quantile(0.95)
        expected.append(
            [
                math.sqrt(
                    math.log(ends[n][1] / ends[n][0]) ** 2
                    - math.log(narrow[n][1] / narrow[n][0]) ** 2
                )
                / (2 * scale)
                for n in ("alpha", "beta")
            ]
        )

    # 25 draws: the standard deviation is known to about 15 %
    assert spread / np.median(expected, axis=0) == pytest.approx([1, 1], rel=0.45)


def test_a_parameter_that_the_rows_do_not_determine_has_no_narrower_interval_with_it():
    """One model size: E and A/N^alpha are told apart by nothing."""
    table = runs()
    table["N"] = np.full_like(table["N"], 1e8)
    table["L"] = loss(table["N"], table["D"])
    one = fitted(table, starts=2)

    for name, (low, high) in one.intervals_with_law_error().items():
        inner = one.intervals.ends[name]
        assert low <= inner[0] and inner[1] <= high


def test_units_and_the_order_of_rows_do_not_change_them(fit: Fit):
    table = runs()
    order = np.random.default_rng(1).permutation(len(table["N"]))
    other = fitted({n: v[order] for n, v in table.items()} | {"N": table["N"][order] / 1e9})

    for name in ("E", "alpha", "beta"):
        assert other.intervals_with_law_error()[name] == pytest.approx(
            fit.intervals_with_law_error()[name], rel=1e-3
        )


def test_weights_of_the_table_count():
    """Rows of weight 0 move nothing: the intervals are those of a fit without them."""
    table = runs()
    keep = table["D"] < 4e10
    weighted = fitted(table | {"w": keep.astype(float)}, weights="w", starts=4)
    alone = fitted({n: v[keep] for n, v in table.items()}, starts=4)

    assert weighted.rows is not None and weighted.rows.weights is not None
    ratio = [
        np.log(f.intervals_with_law_error()["beta"][1] / f.values["beta"])
        for f in (weighted, alone)
    ]
    assert ratio[0] == pytest.approx(ratio[1], rel=0.1)


def test_a_fit_with_many_rows_has_those_of_its_kept_rows():
    """The noise counts all 2,000 rows, the error of the law 256 of them."""
    many, few = fitted(runs(count=2000), starts=2), fitted(runs(count=250), starts=2)

    def half(one: Fit, name: str) -> float:
        return math.log(one.intervals_with_law_error()[name][1] / one.values[name])

    assert half(many, "alpha") == pytest.approx(half(few, "alpha"), rel=0.2)


def test_a_fit_in_two_steps_has_none():
    table = {"r": np.linspace(0, 1, 9), "L": 1.5 + 0.5 * np.exp(-2 * np.linspace(0, 1, 9))}
    two_steps = lawdsl.fit("mixing.critical", table, claims=False)

    assert isinstance(two_steps, Fit)
    assert two_steps.intervals_with_law_error() == {}


def test_they_are_stored_and_an_altered_one_is_refused(fit: Fit, tmp_path):
    fit.save(tmp_path / "fit.json")
    assert lawdsl.Fit.load(tmp_path / "fit.json") == fit
    content = fit.to_json()
    content["intervals"]["ends_with_law_error"]["alpha"] = [TRUTH["alpha"], TRUTH["alpha"]]

    with pytest.raises(lawdsl.LawdslError, match="narrower than without"):
        lawdsl.Fit.of_json(content).read_law()


def test_the_terminal_shows_them_in_a_column_beside_the_others(fit: Fit, capsys):
    from lawdsl.reporting.terminal import console, show_fit

    show_fit(fit, console())
    printed = capsys.readouterr().out

    assert "95 % interval (delta)" in printed and "law wrong by 2 %/decade" in printed


def test_a_law_of_the_catalogue_with_a_bound_between_parameters_has_them():
    one = lawdsl.fit("dcpt.l3", PLANTED["dcpt.l3"].table(0.003), starts=4, claims=False)

    assert isinstance(one, Fit)
    for name, (low, high) in one.intervals_with_law_error().items():
        inner = one.intervals.ends[name]
        assert low <= inner[0] <= inner[1] <= high


def test_law_of_has_no_rows_where_the_output_is_negative():
    x = np.linspace(1.0, 5.0, 12)
    law = law_of("variable x > 0\nparameter a, b\nL = a*x + b\nminimize squared(L)")
    one = lawdsl.fit(law, {"x": x, "L": x - 3 + 0.01 * np.sin(9 * x)}, starts=1, claims=False)

    assert isinstance(one, Fit)
    assert one.rows is None and one.intervals_with_law_error() == {}
