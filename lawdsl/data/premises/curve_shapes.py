"""Curves of runs -> whether they bend downwards at their ends, as they do where the learning rate
decays.

The loss at a constant learning rate is convex in D: it falls ever more slowly. A decay makes it fall
faster again. Curves that rise somewhere are left out, since forgetting bends them, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MIN_POINTS = 8  # of a curve
MIN_CURVES = 3
MIN_SHARE = 0.8  # of the curves that bend
MIN_T = 5.0  # mean bend in its standard errors
MIN_BEND = 1e-3  # relative to the loss
SKIPPED = 0.25  # of a curve at its beginning, where a warm-up may still act


def bent_down(curves: Sequence[tuple[Array, Array]]) -> int:
    """The number of curves that bend downwards; 0 if the evidence is weak.

    Args:
        curves: D and the loss of the rows of each run, each of shape (rows,).
    """
    bends = [bend for d, loss in curves if (bend := _bend(d, loss)) is not None]
    if len(bends) < MIN_CURVES:
        return 0
    bent = np.array(bends)
    count = int(np.sum(bent > 0))
    error = float(np.std(bent, ddof=1)) / len(bent) ** 0.5
    mean = float(np.mean(bent))
    enough = mean > max(MIN_T * error, MIN_BEND) and count >= MIN_SHARE * len(bent)
    return count if enough else 0


def _bend(d: Array, loss: Array) -> float | None:
    """How far the middle of a falling curve lies above the chord of its ends, relative to the loss;
    None for a curve that is too short or does not fall throughout.
    """
    order = np.argsort(d, kind="stable")
    d, loss = d[order], loss[order]
    if len(d) < MIN_POINTS or np.any(np.diff(d) <= 0) or not np.all(loss > 0):
        return None
    kept = d >= d[0] + SKIPPED * (d[-1] - d[0])
    if kept.sum() < MIN_POINTS // 2 + 1:
        return None
    d, loss = d[kept], loss[kept]
    thirds = np.array_split(np.arange(len(d)), 3)
    levels = [float(np.mean(loss[third])) for third in thirds]
    if not levels[0] > levels[1] > levels[2]:
        return None
    # of a convex curve the mean of each part lies below the chord, apart from noise
    places = [float(np.mean(d[third])) for third in thirds]
    part = (places[1] - places[0]) / (places[2] - places[0])
    chord = levels[0] + part * (levels[2] - levels[0])
    return (levels[1] - chord) / levels[1]
