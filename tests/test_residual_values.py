"""Outliers and lines in residuals by value: tables whose answer follows by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lawdsl.fitting.diagnostics.outliers import (
    CANDIDATE_DISTANCE,
    _studentised_limit,
    find_outliers,
    outlier_limit,
)
from lawdsl.fitting.diagnostics.patterns import find_line_correlation, find_unequal_variance
from lawdsl.fitting.diagnostics.residuals import FALSE_ALARM_RATE, ResidualView


def beside_a_constant(residual: np.ndarray, axes: np.ndarray) -> ResidualView:
    """Residuals of a law that is one constant."""
    rows = len(residual)
    basis = np.full((rows, 1), rows**-0.5)
    names = (*"xy"[: len(axes)], "the predicted L")
    return ResidualView(
        names, np.vstack([axes, np.zeros(rows)]), residual, basis, np.arange(rows), False
    )


@pytest.mark.parametrize(("rows", "chosen"), [(12, 1), (40, 3), (400, 2)])
def test_a_row_is_far_out_beyond_the_largest_of_so_many_student_residuals(rows: int, chosen: int):
    seen = beside_a_constant(np.arange(rows, dtype=float), np.arange(rows, dtype=float)[None])
    far = np.arange(rows) < chosen
    limit = stats.t.isf(FALSE_ALARM_RATE / (2 * rows), rows - 1 - chosen)

    assert limit > CANDIDATE_DISTANCE
    assert _studentised_limit(seen, far, rows) == pytest.approx(limit)


def test_gaussian_noise_stays_within_its_quantile_for_so_many_rows():
    """Its standard deviation is that of the median deviation, of as many rows as are free."""
    residual = np.arange(25.0) - 12
    seen = beside_a_constant(residual, np.arange(25.0)[None])
    deviation = 6 / stats.norm.ppf(0.75) * np.sqrt(25 / 24)

    assert outlier_limit(seen, 100) == pytest.approx(
        deviation * stats.norm.isf(FALSE_ALARM_RATE / 200), rel=1e-4
    )


@pytest.mark.parametrize(("shift", "named"), [(6.0, []), (25.0, [9])])
def test_one_row_of_twenty_is_named_beyond_the_quantile_and_not_before(
    shift: float, named: list[int]
):
    """The rest scatters by normal scores; 6 standard deviations are ordinary for 18 degrees."""
    residual = stats.norm.ppf((np.arange(20) + 0.5) / 20)[np.argsort(np.sin(np.arange(20)))]
    residual[9] = shift
    found = find_outliers(beside_a_constant(residual, np.arange(20.0)[None]), 20)

    assert ([] if found is None else found.rows.tolist()) == named


def test_pairs_that_go_together_count_as_so_many_rows():
    """200 lines of two rows: ±1 in common, ±1/2 each. By analysis of variance the ratio is
    (400/199)/(100/200), the correlation of a pair (ratio - 1)/(ratio + 1), and Kish's loss 1 + that."""
    x, y = np.divmod(np.arange(400.0), 2)
    residual = np.where(x % 2 == 0, 1.0, -1.0) + np.where(y == 0, 0.5, -0.5)
    found = find_line_correlation(beside_a_constant(residual, np.stack([x, y])), (1,))

    ratio = (400 / 199) / (100 / 200)
    correlation = (ratio - 1) / (ratio + 1)
    assert found is not None and (found.axis, found.count) == (1, 200)
    assert found.correlation == pytest.approx(correlation, rel=1e-9)
    assert found.inflation == pytest.approx(1 + correlation, rel=1e-9)
    assert found.p_value < FALSE_ALARM_RATE


def test_pairs_that_do_not_go_together_are_no_lines():
    x, y = np.divmod(np.arange(400.0), 2)
    residual = np.where(x % 2 == 0, 1.0, -1.0) * np.where(y == 0, 0.5, -0.5)

    assert find_line_correlation(beside_a_constant(residual, np.stack([x, y])), (1,)) is None


def test_scatter_is_judged_by_residuals_in_their_own_standard_errors():
    """Rows that the law follows have small residuals, whatever their noise."""
    rng = np.random.default_rng(0)
    law = rng.normal(size=(60, 6)) * np.where(np.arange(60) % 5, 1.0, 4.0)[:, None]
    basis = np.linalg.qr(law)[0]
    low = np.arange(60) < 30
    noise = rng.normal(size=60) * np.where(low, 1.0, 6.0)
    axes = np.stack([np.arange(60.0), np.zeros(60)])
    found = find_unequal_variance(
        ResidualView(("x", "the predicted L"), axes, noise, basis, np.arange(60), False)
    )

    hat = basis @ basis.T
    own = np.abs(noise - hat @ noise) / np.sqrt(1 - np.diag(hat))
    ranked = stats.mannwhitneyu(own[low], own[~low], method="asymptotic").pvalue
    assert found is not None and (found.axis, found.border) == (0, 29)
    assert found.p_value == pytest.approx(ranked, rel=1e-9)
