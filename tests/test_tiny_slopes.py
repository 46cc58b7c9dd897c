"""A discrepancy is conditioned on rows that react very little to a parameter."""

from __future__ import annotations

import numpy as np
import pytest

from lawdsl.fitting.extrapolation.discrepancy import FittedRows


@pytest.mark.parametrize("size", [1e-200, 1e-300])
def test_units_of_a_parameter_do_not_change_what_it_explains(size: float) -> None:
    """The square of such a slope underflows to 0, and the slope is a slope all the same."""
    ordinary = rows_with_slopes(1.0).explained(0.0)
    assert np.allclose(rows_with_slopes(size).explained(0.0), ordinary, rtol=1e-9)


@pytest.mark.parametrize("size", [5e-324, 1e-310])
def test_a_subnormal_slope_counts_as_none(size: float) -> None:
    """The reciprocal of its norm would be infinite."""
    rows = rows_with_slopes(size)
    assert np.all(np.isfinite(rows.directions))
    assert np.allclose(rows.explained(0.0), rows_with_slopes(0.0).explained(0.0), rtol=1e-9)


def rows_with_slopes(size: float) -> FittedRows:
    """Four rows; the second parameter changes them by `size` times a slope near 1."""
    slopes = np.array([[1.0, 0.3], [1.0, 0.8], [1.0, -0.4], [1.0, 0.1]])
    return FittedRows(np.zeros((4, 1)), np.zeros(4), slopes * [1.0, size])
