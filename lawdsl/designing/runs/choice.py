"""What may be true + candidates + what they may cost -> the batch, by the criterion or a spread one.

A batch that is spread over the candidates does not depend on the law. It is chosen where the rows do
not determine the law at any target, so that the criterion has nothing to go by. Elsewhere it often
promises as much as the batch of the criterion, by many cheap runs, but in replays of finished tables
predictions were worse where it was then preferred.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.designing.runs.batch import Hypothesis, Mask, Numbers, Pick, Prices, greedy, sequence
from lawdsl.designing.runs.spread import spread_batch

Array = NDArray[np.float64]


def choose_batch(
    now: Sequence[Hypothesis],
    runs: Numbers,
    coordinates: Array,
    so_far: Array,
    allowance: float,
    prices: Prices,
    *,
    available: Mask,
    most: int | None = None,
    determined: bool = True,
) -> tuple[list[Pick], str]:
    """Choose a batch.

    Args:
        now: what may be true.
        runs: the candidate rows of each run, shape (runs, rows of a run), -1 behind the last.
        coordinates: of the runs, shape (runs, axes).
        so_far: coordinates of the rows that are fitted, shape (rows, axes).
        allowance: what the batch may cost.
        prices: what the runs cost once some are chosen.
        available: which runs may be chosen, shape (runs,).
        most: the largest number of runs; None without a limit.
        determined: whether the rows determine some target.

    Returns:
        The runs in their order, and `criterion` or `spread`.
    """
    costs, trial = prices(()), [h.copied() for h in now]
    if determined:
        picks = greedy(trial, runs, costs, allowance, available=available, most=most, prices=prices)
        return picks, "criterion"
    spread = spread_batch(
        coordinates, costs, allowance, so_far, available=available, most=most, prices=prices
    )
    return sequence(trial, spread, runs), "spread"
