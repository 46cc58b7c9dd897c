"""Ranks that show their noise: laws that the data do not tell apart share theirs.

Two laws are compared on the same rows, so what counts is the noise of their difference, not that of
their scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from lawdsl.comparing.paired_bootstrap import FEWEST
from lawdsl.comparing.result import Difference

Array = NDArray[np.float64]

LEVEL = 0.95
EQUAL = 1e-6  # relative difference of scores that is none


@dataclass(frozen=True)
class Judged:
    """What a ranking is made of, for several laws on the same rows.

    Attributes:
        scores: the smaller the better, shape (laws,); inf where a law has none.
        drawn: the scores in each draw of a paired bootstrap, shape (laws, draws).
        units: how many units there were to draw from.
        by_fold: each law's score in each fold, shape (laws, folds): where the units do not show
            the noise from fold to fold, a law must be better in every one of them.
        reach: the least and the greatest score of each law among fits that are equally good on
            the rows they were fitted to, shape (laws, 2).
        margin: differences of scores below this are none, as those of rounding.
    """

    scores: Array
    drawn: Array
    units: int
    by_fold: Array
    reach: Array
    margin: float = 0.0

    def behind(self, law: int, other: int) -> Difference:
        """How far one law is behind another: the difference of their scores, with its interval.

        The interval is the bias-corrected percentile interval of the draws (Efron 1981), which
        holds for skewed ones, widened for few units as a t interval is (the "expanded" one of
        Hesterberg, The American Statistician 69, 2015).
        """
        mine, yours = float(self.scores[law]), float(self.scores[other])
        if math.isinf(mine) or math.isinf(yours):
            if mine == yours:
                return Difference(math.nan, math.nan, math.nan, False)
            value = math.inf if mine > yours else -math.inf
            return Difference(value, value, value, True)
        value = mine - yours
        if self.units < 2:
            return Difference(value, -math.inf, math.inf, False)
        apart = self.drawn[law] - self.drawn[other]
        low, high = _interval(apart, value, self.units)
        worse, better = (law, other) if value > 0 else (other, law)
        clear = (low > 0 or high < 0) and self.units >= FEWEST
        clear &= abs(value) > EQUAL * abs(self.scores[better]) + self.margin
        clear &= bool(self.reach[worse, 0] > self.reach[better, 1])
        if self.by_fold.shape[1] > 1:
            clear &= bool(np.all(self.by_fold[worse] > self.by_fold[better]))
        return Difference(value, low, high, bool(clear))

    def ranks(self) -> tuple[tuple[int, int], ...]:
        """For each law the best and the worst rank that the noise leaves it, counted from 1."""
        count = len(self.scores)
        better = np.zeros((count, count), dtype=bool)
        for i in range(count):
            for k in range(i):
                difference = self.behind(i, k)
                better[i, k] = difference.clear and difference.value < 0
                better[k, i] = difference.clear and difference.value > 0
        return tuple(
            (1 + int(np.sum(better[:, i])), count - int(np.sum(better[i]))) for i in range(count)
        )


def _interval(drawn: Array, value: float, units: int) -> tuple[float, float]:
    """The interval of a value, from what it was in draws of so many units."""
    count = len(drawn)
    below = float(np.mean(drawn < value) + np.mean(drawn == value) / 2)
    shift = 2 * ndtri(min(max(below, 1 / count), 1 - 1 / count))
    wide = stdtrit(units - 1, (1 + LEVEL) / 2) * math.sqrt(units / (units - 1))
    low, high = np.quantile(drawn, [ndtr(shift - wide), ndtr(shift + wide)])
    return min(float(low), value), max(float(high), value)
