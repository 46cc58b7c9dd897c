"""Probabilities and quantiles, against SciPy's statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lawdsl.core import distributions

TAILS = np.array([1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
POINTS = np.array([0.01, 0.4, 1.0, 3.0, 25.0])
ENDS = np.array([-np.inf, -2.0, 0.0, np.inf, np.nan])

SAME: list[tuple[Callable[..., Any], Callable[..., Any], np.ndarray, tuple[float, ...]]] = [
    (distributions.normal_cdf, stats.norm.cdf, np.concatenate([-POINTS, POINTS]), ()),
    (distributions.normal_sf, stats.norm.sf, np.concatenate([-POINTS, POINTS]), ()),
    (distributions.normal_quantile, stats.norm.ppf, TAILS, ()),
    (distributions.student_quantile, stats.t.ppf, TAILS, (1.0,)),
    (distributions.student_quantile, stats.t.ppf, TAILS, (4.7,)),
    (distributions.f_cdf, stats.f.cdf, POINTS, (3.0, 12.5)),
    (distributions.f_sf, stats.f.sf, POINTS, (3.0, 12.5)),
    (distributions.chi2_cdf, stats.chi2.cdf, POINTS, (5,)),
    (distributions.chi2_quantile, stats.chi2.ppf, TAILS[2:], (5,)),
    (distributions.poisson_sf, stats.poisson.sf, np.arange(-2.0, 12.0), (3.5,)),
    (distributions.normal_cdf, stats.norm.cdf, ENDS, ()),
    (distributions.normal_sf, stats.norm.sf, ENDS, ()),
    (distributions.normal_quantile, stats.norm.ppf, np.array([-1, 0, 1, 2, np.nan]), ()),
    (distributions.student_quantile, stats.t.ppf, np.array([-1, 0, 1, 2, np.nan]), (3.0,)),
    (distributions.student_quantile, stats.t.ppf, TAILS, (np.inf,)),
    (distributions.student_quantile, stats.t.ppf, TAILS, (0.0,)),
    (distributions.f_cdf, stats.f.cdf, ENDS, (3.0, 12.5)),
    (distributions.f_sf, stats.f.sf, ENDS, (3.0, 12.5)),
    (distributions.f_sf, stats.f.sf, POINTS, (3.0, 0.0)),
    (distributions.f_sf, stats.f.sf, POINTS, (0.0, 3.0)),
    (distributions.chi2_cdf, stats.chi2.cdf, ENDS, (5,)),
    (distributions.chi2_quantile, stats.chi2.ppf, np.array([-1, 0, 1, 2, np.nan]), (5,)),
]


@pytest.mark.parametrize(("ours", "theirs", "at", "shape"), SAME)
def test_values_are_those_of_scipy(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    at: np.ndarray,
    shape: tuple[float, ...],
):
    np.testing.assert_allclose(ours(at, *shape), theirs(at, *shape), rtol=1e-9)


@pytest.mark.parametrize("levels", [2, 5, 10**6])
def test_ranks_and_their_test_are_those_of_scipy(levels: int):
    random = np.random.default_rng(levels)
    one, other = random.integers(levels, size=30) / 1.0, random.integers(levels, size=17) + 0.0

    assert np.array_equal(distributions.average_ranks(one), stats.rankdata(one))
    theirs = stats.mannwhitneyu(one, other, method="asymptotic").pvalue
    assert distributions.rank_sum_pvalue(one, other) == pytest.approx(theirs, rel=1e-12)


def test_samples_that_are_all_equal_tell_nothing():
    assert distributions.rank_sum_pvalue(np.ones(5), np.ones(9)) == 1.0
