"""Scores of laws in bootstrap draws -> ranks; laws that the data do not distinguish share them.

Two laws are compared on the same rows, so the noise that matters is that of their difference, not
that of their scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from lawdsl.comparing.paired_bootstrap import MIN_UNITS
from lawdsl.comparing.result import ScoreDifference

Array = NDArray[np.float64]

DIFFERENCE_LEVEL = 0.95
EQUAL_SCORE_RTOL = 1e-6  # relative: smaller differences of scores count as 0


@dataclass(frozen=True)
class RankingData:
    """The scores from which several laws on the same rows are ranked.

    Attributes:
        scores: smaller is better, shape (laws,); inf where a law has none.
        drawn: the scores in each draw of a paired bootstrap, shape (laws, draws).
        units: how many units the draws are from.
        by_fold: each law's score in each fold, shape (laws, folds). Where the units do not show the
            noise from fold to fold, a law must be better in every one of them.
        reach: the smallest and the largest score of each law among fits that are equally good on
            the rows they were fitted to, shape (laws, 2).
        margin: differences of scores below this count as 0, as rounding.
    """

    scores: Array
    drawn: Array
    units: int
    by_fold: Array
    reach: Array
    margin: float = 0.0

    def difference(self, law: int, other: int) -> ScoreDifference:
        """The difference of the scores of two laws, with its interval.

        The interval is the bias-corrected percentile interval of the draws (Efron (1981), Canadian
        Journal of Statistics 9), which is valid for skewed distributions, widened for few units as
        a t interval is (the expanded percentile interval; Hesterberg (2015), The American
        Statistician 69).

        Args:
            law: number of the law.
            other: number of the law that it is compared with.
        """
        score, other_score = float(self.scores[law]), float(self.scores[other])
        if math.isinf(score) or math.isinf(other_score):
            # inf - inf is nan: two laws without a value do not differ
            if score == other_score:
                return ScoreDifference(math.nan, math.nan, math.nan, False)
            value = math.inf if score > other_score else -math.inf
            return ScoreDifference(value, value, value, True)
        value = score - other_score
        if self.units < 2:
            return ScoreDifference(value, -math.inf, math.inf, False)
        score_differences = self.drawn[law] - self.drawn[other]
        low, high = _bias_corrected_interval(score_differences, value, self.units)
        worse, better = (law, other) if value > 0 else (other, law)
        is_significant = (low > 0 or high < 0) and self.units >= MIN_UNITS
        is_significant &= abs(value) > EQUAL_SCORE_RTOL * abs(self.scores[better]) + self.margin
        is_significant &= bool(self.reach[worse, 0] > self.reach[better, 1])
        if self.by_fold.shape[1] > 1:
            is_significant &= bool(np.all(self.by_fold[worse] > self.by_fold[better]))
        return ScoreDifference(value, low, high, bool(is_significant))

    def ranks(self) -> tuple[tuple[int, int], ...]:
        """For each law the best and the worst rank compatible with the noise, counted from 1."""
        count = len(self.scores)
        better = np.zeros((count, count), dtype=bool)
        for i in range(count):
            for k in range(i):
                difference = self.difference(i, k)
                better[i, k] = difference.clear and difference.value < 0
                better[k, i] = difference.clear and difference.value > 0
        return tuple(
            (1 + int(np.sum(better[:, i])), count - int(np.sum(better[i]))) for i in range(count)
        )


def _bias_corrected_interval(drawn: Array, value: float, units: int) -> tuple[float, float]:
    """The bias-corrected percentile interval of a value, widened for few units.

    Its ends are the quantiles Phi(2·z0 ± t) of the draws, z0 = Phi⁻¹(share of draws below it).

    Args:
        drawn: its values in the draws, shape (draws,).
        value: the value on the data.
        units: how many the draws are from.

    Returns:
        Its ends; infinite where a draw has no finite value.
    """
    if not np.all(np.isfinite(drawn)):
        return -math.inf, math.inf  # a law that has no finite loss in some draw
    count = len(drawn)
    below = float(np.mean(drawn < value) + np.mean(drawn == value) / 2)
    # a share of 0 or 1 has an infinite quantile; the draws do not distinguish it from 1/count
    shift = 2 * ndtri(min(max(below, 1 / count), 1 - 1 / count))
    wide = stdtrit(units - 1, (1 + DIFFERENCE_LEVEL) / 2) * math.sqrt(units / (units - 1))
    low, high = np.quantile(drawn, [ndtr(shift - wide), ndtr(shift + wide)])
    # the quantiles of a skewed distribution may leave the value itself outside
    return min(float(low), value), max(float(high), value)
