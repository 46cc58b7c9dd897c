"""Brent's method between bounds, beside SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from lawdsl.core.scalar_minimum import bounded_minimum


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (lambda x: (x - 2.0) ** 2, -3.0, 9.0),
        (lambda x: abs(x - 0.3) ** 1.5, -1.0, 2.0),
        (lambda x: math.cos(3 * x) + x / 5, -4.0, 5.0),
        (lambda x: x, 1.0, 4.0),  # falls to a bound
        (lambda x: -math.exp(x), -1.0, 7.0),
        (lambda x: 1.0, 0.0, 1.0),
        (lambda x: math.floor(5 * x) / 5, -1.0, 1.0),
        (lambda x: math.nan if x > 0.5 else -x, 0.0, 1.0),
        (lambda x: 1e-12 * (x - 1e6) ** 2, 0.0, 1e7),
        (lambda x: x * x, 0.0, 0.0),
    ],
)
def test_it_takes_the_steps_of_scipy(function, low: float, high: float, tolerance: float):
    ours, theirs = [], []
    position, value = bounded_minimum(lambda x: ours.append(x) or function(x), low, high, tolerance)
    found = minimize_scalar(
        lambda x: theirs.append(float(x)) or function(x),
        bounds=(low, high),
        method="bounded",
        options={"xatol": tolerance},
    )
    np.testing.assert_array_equal(ours, theirs)
    assert (position, value) == (found.x, found.fun) or math.isnan(value)
