"""Ranks that show their noise: laws that the data do not tell apart share theirs.

Two laws are compared on the same rows, so what counts is the noise of their difference, not of
their scores. Rows of one training run are not independent; they are drawn together, as one unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

Array = NDArray[np.float64]

DRAWS = 4000  # resamples of the units
LEVEL = 0.95
FEWEST = 6  # units: of fewer, even a difference of one sign in all of them may be chance
EQUAL = 1e-6  # relative difference of scores that is none


@dataclass(frozen=True)
class Difference:
    """How far a law's score lies behind another's, and the interval of it; above 0 is worse.

    `clear` says whether the difference is more than noise.
    """

    value: float
    low: float
    high: float
    clear: bool


@dataclass(frozen=True)
class Judged:
    """What a ranking is made of, for several laws on the same rows.

    A score is Σ parts + penalty, the smaller the better.

    Attributes:
        parts: what each row adds to each law's score, shape (laws, rows).
        penalties: what is added for each law's parameters, shape (laws,).
        units: the unit of each row, those that are drawn together, shape (rows,).
        by_fold: each law's score in each fold, shape (laws, folds): where there are too few units
            to see the noise from fold to fold, a law must be better in every one of them.
        reach: the least and the greatest score of each law among fits that are equally good on
            the rows they were fitted to, shape (laws, 2).
        exact: differences of scores below this are rounding.
        seed: of the resamples.
    """

    parts: Array
    penalties: Array
    units: NDArray[np.int64]
    by_fold: Array
    reach: Array
    exact: float = 0.0
    seed: int = 0

    @property
    def scores(self) -> Array:
        """Shape (laws,); inf where a law has none."""
        with np.errstate(invalid="ignore"):
            total = np.sum(self.parts, axis=1) + self.penalties
        return np.where(np.isfinite(total), total, np.inf)

    @cached_property
    def _sums(self) -> Array:
        """What each unit adds to each score, shape (laws, units)."""
        count = int(self.units.max()) + 1
        return np.stack([np.bincount(self.units, part, count) for part in self.parts])

    @cached_property
    def _drawn(self) -> Array:
        """How often each unit is in each resample, shape (draws, units)."""
        count = self._sums.shape[1]
        rng = np.random.default_rng(self.seed)
        return rng.multinomial(count, np.full(count, 1 / count), DRAWS).astype(float)

    def behind(self, law: int, other: int) -> Difference:
        """How far one law is behind another: the difference of their scores, with its interval.

        The interval is the percentile interval of a paired bootstrap over the units, widened for
        few units as a t interval is (the "expanded" one of Hesterberg, The American Statistician
        69, 2015). The folds are not fitted again: it is the noise of the test, given the fits.
        """
        scores = self.scores
        if not np.isfinite(scores[law]) or not np.isfinite(scores[other]):
            value = float(scores[law]) if np.isfinite(scores[other]) else -np.inf
            if np.isinf(scores[law]) and np.isinf(scores[other]):
                return Difference(np.nan, np.nan, np.nan, False)
            return Difference(value, value, value, True)
        apart = self._sums[law] - self._sums[other]
        penalty = float(self.penalties[law] - self.penalties[other])
        drawn = self._drawn @ apart + penalty
        value = float(scores[law] - scores[other])
        count = len(apart)
        if count < 2:
            return Difference(value, -np.inf, np.inf, False)
        tail = ndtr(stdtrit(count - 1, (1 - LEVEL) / 2) * np.sqrt(count / (count - 1)))
        low, high = (float(x) for x in np.quantile(drawn, [tail, 1 - tail]))
        clear = low > 0 or high < 0
        worse, better = (law, other) if value > 0 else (other, law)
        clear = (low > 0 or high < 0) and count >= FEWEST
        clear &= abs(value) > EQUAL * abs(scores[better]) + self.exact
        clear &= bool(self.reach[worse, 0] > self.reach[better, 1])
        if self.by_fold.shape[1] > 1:
            clear &= bool(np.all(self.by_fold[worse] > self.by_fold[better]))
        return Difference(value, low, high, bool(clear))

    def ranks(self) -> tuple[tuple[int, int], ...]:
        """For each law the best and the worst rank that the noise leaves it, counted from 1."""
        count = len(self.parts)
        better = np.zeros((count, count), dtype=bool)
        for i in range(count):
            for k in range(i):
                difference = self.behind(i, k)
                better[i, k] = difference.clear and difference.value < 0
                better[k, i] = difference.clear and difference.value > 0
        return tuple(
            (1 + int(np.sum(better[:, i])), count - int(np.sum(better[i]))) for i in range(count)
        )


def units(
    candidates: Sequence[NDArray[np.int64]], rows: NDArray[np.int64]
) -> tuple[int, NDArray[np.int64]]:
    """The first grouping of some rows that has enough units to see their noise, else the last.

    Args:
        candidates: groupings of all rows, the coarsest first, each of shape (rows of the table,).
        rows: those that are judged.

    Returns:
        Which grouping, and the unit of each of the rows, from 0.
    """
    for i, labels in enumerate(candidates):
        distinct, own = np.unique(labels[rows], return_inverse=True)
        if len(distinct) >= FEWEST or i == len(candidates) - 1:
            return i, own
    raise AssertionError("no grouping")
