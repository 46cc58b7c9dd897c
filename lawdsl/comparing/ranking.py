"""Scores of laws in bootstrap draws -> ranks; laws that do not differ significantly share a rank.

Two laws are compared on the same rows, so the relevant uncertainty is that of the difference of
their scores, not that of the scores.
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
    """The scores by which several laws are ranked on the same rows.

    Attributes:
        scores: the scores, shape (laws,); smaller is better, inf for a law without a score.
        drawn: the scores in each draw of a paired bootstrap, shape (laws, draws).
        units: the number of resampling units.
        by_fold: the score of each law in each fold, shape (laws, folds). If the units do not
            capture the variation between folds, a law must be better in every fold to rank higher.
        reach: the smallest and the largest score of each law among fits that are equally good on
            the fitted rows, shape (laws, 2).
        margin: differences of scores below this are treated as 0.
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
            law: the index of the law.
            other: the index of the law that it is compared with.
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
        """The best and the worst rank of each law compatible with the noise, counted from 1."""
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
        drawn: the value in each draw, shape (draws,).
        value: the value for the data.
        units: the number of resampling units.

    Returns:
        The ends; infinite if some draw has no finite value.
    """
    if not np.all(np.isfinite(drawn)):
        return -math.inf, math.inf  # a law without a finite loss in some draw
    count = len(drawn)
    below = float(np.mean(drawn < value) + np.mean(drawn == value) / 2)
    # a share of 0 or 1 has an infinite quantile; the draws do not distinguish it from 1/count
    shift = 2 * ndtri(min(max(below, 1 / count), 1 - 1 / count))
    wide = stdtrit(units - 1, (1 + DIFFERENCE_LEVEL) / 2) * math.sqrt(units / (units - 1))
    low, high = np.quantile(drawn, [ndtr(shift - wide), ndtr(shift + wide)])
    # with a skewed distribution the quantiles may exclude the value itself
    return min(float(low), value), max(float(high), value)
