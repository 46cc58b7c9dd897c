"""Outliers and lines in residuals by value: tables whose answer follows by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lawdsl.fitting.outliers import CANDIDATE, _furthest, outliers
from lawdsl.fitting.patterns import lines
from lawdsl.fitting.residuals import ALARM, View


def beside_a_constant(residual: np.ndarray, axes: np.ndarray) -> View:
    """Residuals of a law that is one constant."""
    rows = len(residual)
    basis = np.full((rows, 1), rows**-0.5)
    names = (*"xy"[: len(axes)], "the predicted L")
    return View(names, np.vstack([axes, np.zeros(rows)]), residual, basis, np.arange(rows), False)


@pytest.mark.parametrize(("rows", "chosen"), [(12, 1), (40, 3), (400, 2)])
def test_a_row_is_far_out_beyond_the_largest_of_so_many_student_residuals(rows: int, chosen: int):
    seen = beside_a_constant(np.arange(rows, dtype=float), np.arange(rows, dtype=float)[None])
    far = np.arange(rows) < chosen
    limit = stats.t.isf(ALARM / (2 * rows), rows - 1 - chosen)

    assert limit > CANDIDATE
    assert _furthest(seen, far, rows) == pytest.approx(limit)


@pytest.mark.parametrize(("shift", "named"), [(6.0, []), (25.0, [9])])
def test_one_row_of_twenty_is_named_beyond_the_quantile_and_not_before(
    shift: float, named: list[int]
):
    """The rest scatters by normal scores; 6 standard deviations are ordinary for 18 degrees."""
    residual = stats.norm.ppf((np.arange(20) + 0.5) / 20)[np.argsort(np.sin(np.arange(20)))]
    residual[9] = shift
    found = outliers(beside_a_constant(residual, np.arange(20.0)[None]), 20)

    assert ([] if found is None else found.rows.tolist()) == named


def test_pairs_that_go_together_count_as_so_many_rows():
    """200 lines of two rows: ±1 in common, ±1/2 each. By analysis of variance the ratio is
    (400/199)/(100/200), the correlation of a pair (ratio - 1)/(ratio + 1), and Kish's loss 1 + that."""
    x, y = np.divmod(np.arange(400.0), 2)
    residual = np.where(x % 2 == 0, 1.0, -1.0) + np.where(y == 0, 0.5, -0.5)
    found = lines(beside_a_constant(residual, np.stack([x, y])), (1,))

    ratio = (400 / 199) / (100 / 200)
    correlation = (ratio - 1) / (ratio + 1)
    assert found is not None and (found.axis, found.count) == (1, 200)
    assert found.correlation == pytest.approx(correlation, rel=1e-9)
    assert found.inflation == pytest.approx(1 + correlation, rel=1e-9)
    assert found.chance < ALARM


def test_pairs_that_do_not_go_together_are_no_lines():
    x, y = np.divmod(np.arange(400.0), 2)
    residual = np.where(x % 2 == 0, 1.0, -1.0) * np.where(y == 0, 0.5, -0.5)

    assert lines(beside_a_constant(residual, np.stack([x, y])), (1,)) is None
