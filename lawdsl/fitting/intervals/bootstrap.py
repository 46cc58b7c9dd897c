"""Intervals by the bootstrap: the fit repeated on rows, or runs, that are drawn again.

Many resamples are fitted as one array, each with its own weights, beginning at the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from scipy.stats import t as student

from lawdsl.fitting.intervals.noise import Groups
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.search import finely
from lawdsl.fitting.transforms import Transforms, keeps, relaxed, to_free, to_parameters

Array = NDArray[np.float64]

SETTLED = 1e-9  # relative: an end of an interval need not be known to the last digit
TOGETHER = 3_000_000  # numbers in the slopes of the resamples that are fitted at once


@dataclass(frozen=True)
class Resamples:
    """The fits of all resamples.

    Attributes:
        theta: their parameters, shape (resamples, parameters).
        settled: which of them ended in a minimum.
        units: how many rows or runs there were to draw from.
    """

    theta: Array
    settled: NDArray[np.bool_]
    units: int

    def ends(self, level: float, parameters: int) -> tuple[Array, Array]:
        """Ends of the intervals, shape (parameters,): percentiles.

        Few units make resamples scatter too little; the percentiles are taken further out to make
        up for it (the expanded percentile interval; Hesterberg 2015).
        """
        freedom = max(self.units - parameters, 1)
        far = np.sqrt(self.units / freedom) * student.ppf((1 - level) / 2, freedom)
        tail = float(norm.cdf(far))
        low, high = np.quantile(self._found, [tail, 1 - tail], axis=0)
        return low, high

    def errors(self) -> Array:
        """Standard errors of the parameters, from the middle of the resamples: a few that leave a
        parameter open would make any standard deviation infinite."""
        low, high = np.quantile(self._found, norm.cdf([-1.0, 1.0]), axis=0)
        return (high - low) / 2

    @property
    def _found(self) -> Array:
        return self.theta[np.isfinite(self.theta).all(axis=1)]


def bootstrap(
    problem: Problem,
    theta: Array,
    resamples: int,
    seed: int = 0,
    groups: Groups = None,
    progress: Callable[[int, int], None] | None = None,
) -> Resamples:
    """Fit resamples of the rows, or of the runs.

    Args:
        problem: the fit.
        theta: the fitted parameters, shape (parameters,), where each resample begins.
        resamples: how many.
        seed: of the draws; the same seed gives the same resamples.
        groups: which training run each row is of, shape (rows,): runs are drawn whole.
        progress: called with how many are done, and of how many.
    """
    units = np.arange(problem.rows) if groups is None else groups
    count = int(units.max()) + 1
    rng = np.random.default_rng([seed, 0xB007])
    width = max(1, TOGETHER // (problem.rows * problem.parameters))
    loose = relaxed(problem.transforms)
    found, settled = np.empty((resamples, len(theta))), np.zeros(resamples, dtype=bool)
    for first in range(0, resamples, width):
        last = min(first + width, resamples)
        drawn = rng.multinomial(count, np.full(count, 1 / count), size=last - first)
        weights = drawn[:, units].astype(np.float64)
        if problem.weights is not None:
            weights *= problem.weights
        some = slice(first, last)
        found[some], settled[some] = _fitted(problem, theta, weights, loose)
        if loose is not None:  # those that break a bound are fitted again under it
            outside = [k for k in range(first, last) if not keeps(problem.transforms, found[k])]
            if outside:
                own = weights[np.array(outside) - first]
                found[outside], settled[outside] = _fitted(problem, theta, own, None)
        if progress is not None:
            progress(last, resamples)
    return Resamples(found, settled, count)


def _fitted(
    problem: Problem, theta: Array, weights: Array, transforms: Transforms | None
) -> tuple[Array, NDArray[np.bool_]]:
    own = replace(problem, weights=weights, transforms=transforms or problem.transforms)
    start = to_free(own.transforms, theta[None])
    free, _, settled = finely(own, np.repeat(start, len(weights), axis=0), settled_at=SETTLED)
    return to_parameters(own.transforms, free), settled
