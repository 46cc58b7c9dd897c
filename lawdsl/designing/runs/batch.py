"""Candidate runs + a budget -> the runs that lower the variance of the targets most.

Greedy, then exchanges: each pick is the run with the largest drop of the variance, relative to the present one, in
the mean over the targets and over rival laws, for a power of its cost; all following picks are
judged with it. Greedy selection is near optimal for criteria whose increments decrease (Krause,
Singh and Guestrin 2008, Journal of Machine Learning Research 9). The power below 1 keeps a batch
from being nothing but the cheapest runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.designing.runs.posterior import LawPosterior

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]

COST_POWER = 0.5
EXCHANGE_PASSES = 2
EXCHANGE_RTOL = 1e-6  # of the variance: a smaller gain is rounding
Prices = Callable[[Sequence[int]], Array]
"""Numbers of chosen runs -> what each run costs then, shape (runs,)."""

BUDGET_RTOL = 1e-9  # a run that costs all that is left is affordable, whatever rounding says


@dataclass(frozen=True)
class Hypothesis:
    """Laws that are taken for the true ones, independent of one another; rivals are several of these.

    Attributes:
        laws: of which the targets are sums; they are conditioned on each pick.
        rest: the variance of each target that no run of these laws lowers, shape (functionals,).
    """

    laws: tuple[LawPosterior, ...]
    rest: Array

    @property
    def variance(self) -> Array:
        """The variance of the targets, shape (functionals,)."""
        return np.asarray(self.rest + sum(law.target_variance for law in self.laws))

    def relative_drops(self, runs: Numbers, variance: Array | None = None) -> Array:
        """The drop of the variance of the targets by each run, relative to the variance now.

        Args:
            runs: candidate rows of each run, shape (runs, rows of a run), -1 behind the last.
            variance: another variance to which it is relative, shape (functionals,).

        Returns:
            The mean over targets, shape (runs,).
        """
        now = self.variance if variance is None else variance
        drops = sum(law.drops(runs) for law in self.laws)
        return np.asarray(np.mean(drops / np.where(now > 0, now, 1.0)[:, None], axis=0))

    def copied(self) -> Hypothesis:
        """A copy, which can be conditioned on other runs."""
        return Hypothesis(tuple(law.copied() for law in self.laws), self.rest)

    def observe(self, rows: Numbers) -> None:
        """Condition the laws on candidate rows; those of -1 are left out."""
        for law in self.laws:
            law.observe(rows[rows >= 0])


@dataclass(frozen=True)
class Pick:
    """A run of a batch.

    Attributes:
        candidate: its number.
        variance: of the targets once it is measured, relative to that before the batch, in the mean
            over hypotheses, shape (functionals,).
    """

    candidate: int
    variance: Array


def greedy(
    hypotheses: Sequence[Hypothesis],
    runs: Numbers,
    costs: Array,
    budget: float,
    *,
    power: float = COST_POWER,
    available: Mask | None = None,
    most: int | None = None,
    prices: Prices | None = None,
) -> list[Pick]:
    """Choose a batch; the hypotheses are conditioned on it.

    Args:
        hypotheses: what may be true.
        runs: the candidate rows of each run, shape (runs, rows of a run), -1 behind the last.
        costs: of the runs, positive, shape (runs,).
        budget: what the batch may cost.
        power: of the cost by which a drop is divided.
        available: which runs may be chosen, shape (runs,); None for all.
        most: the largest number of runs; None without a limit.
        prices: what the runs cost once some are chosen; None for the same.

    Returns:
        The picks in the order in which they were chosen.
    """
    free = np.ones(len(costs), dtype=np.bool_) if available is None else available.copy()
    trial = [h.copied() for h in hypotheses]
    left, chosen = budget * (1 + BUDGET_RTOL), list[int]()
    while most is None or len(chosen) < most:
        costs = costs if prices is None else prices(chosen)
        numbers = np.flatnonzero(free & (costs <= left))
        if not len(numbers):
            break
        drops = np.mean([h.relative_drops(runs[numbers]) for h in trial], axis=0)
        pick = int(numbers[np.argmax(drops / costs[numbers] ** power)])
        for hypothesis in trial:
            hypothesis.observe(runs[pick])
        free[pick] = False
        left -= costs[pick]
        chosen.append(pick)
    chosen = _exchanged(hypotheses, chosen, runs, costs, free, prices)
    return sequence(hypotheses, chosen, runs)


def sequence(hypotheses: Sequence[Hypothesis], chosen: Sequence[int], runs: Numbers) -> list[Pick]:
    """The variance of the targets after each of some runs; the hypotheses are conditioned on them.

    Args:
        hypotheses: what may be true.
        chosen: numbers of candidates, in their order.
        runs: the candidate rows of each run.
    """
    before, picks = [h.variance for h in hypotheses], list[Pick]()
    for number in chosen:
        for hypothesis in hypotheses:
            hypothesis.observe(runs[number])
        picks.append(Pick(number, relative_variance(hypotheses, before)))
    return picks


def _exchanged(
    hypotheses: Sequence[Hypothesis],
    chosen: Sequence[int],
    runs: Numbers,
    costs: Array,
    free: Mask,
    prices: Prices | None = None,
) -> list[int]:
    """A batch in which runs are exchanged for others that cost no more and teach more together.

    As exchange algorithms for optimal designs do (Fedorov 1972), until no exchange helps.
    """
    batch, left = list(chosen), free.copy()
    before = [h.variance for h in hypotheses]
    for _ in range(EXCHANGE_PASSES):
        changed = False
        for place, old in enumerate(batch):
            others = [h.copied() for h in hypotheses]
            rest = [number for number in batch if number != old]
            costs = costs if prices is None else prices(rest)
            if rest:
                for hypothesis in others:
                    hypothesis.observe(runs[rest].ravel())
            numbers = np.append(
                np.flatnonzero(left & (costs <= costs[old] * (1 + BUDGET_RTOL))), old
            )
            drops = np.mean(
                [
                    h.relative_drops(runs[numbers], was)
                    for h, was in zip(others, before, strict=True)
                ],
                axis=0,
            )
            best = int(numbers[np.argmax(drops)])
            if best != old and float(np.max(drops) - drops[-1]) > EXCHANGE_RTOL:
                batch[place], left[old], left[best], changed = best, True, False, True
        if not changed:
            break
    return batch


def relative_variance(hypotheses: Sequence[Hypothesis], before: Sequence[Array]) -> Array:
    """The variance of the targets relative to an earlier one, in the mean over hypotheses.

    Args:
        hypotheses: as they are now.
        before: their variances earlier, each of shape (functionals,).
    """
    parts = [
        h.variance / np.where(old > 0, old, 1.0) for h, old in zip(hypotheses, before, strict=True)
    ]
    return np.asarray(np.mean(parts, axis=0))
