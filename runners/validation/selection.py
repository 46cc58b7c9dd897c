"""Losses of samples under several models -> the samples of a validation set.

After D-CPT (Que et al. (2024), arXiv:2406.01375), appendix F.1: samples that are in the worst tenth
under every model are dropped, and of the others a requested number is taken at random. Models are
compared by the rank correlation of Spearman (1904).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Selection:
    """The samples that are kept, and how the models agree on them.

    Attributes:
        selected: the numbers of the samples in the set, increasing.
        dropped: of those that are among the worst under every model.
        thresholds: for each model the perplexity from which on a sample is among its worst; None
            where no sample is.
        worst_of: how many samples are among the worst of no model, of one, and so on.
        shared: how many are among the worst of two models, (models, models).
        spearman: rank correlation of two models' perplexities, (models, models); None where all of
            one are equal.
    """

    selected: tuple[int, ...]
    dropped: tuple[int, ...]
    thresholds: tuple[float | None, ...]
    worst_of: tuple[int, ...]
    shared: tuple[tuple[int, ...], ...]
    spearman: tuple[tuple[float | None, ...], ...]


def select(losses: NDArray[np.float64], worst: Fraction, keep: int) -> Selection:
    """Select the samples of a validation set by their perplexities.

    The samples must be in random order: the first of those that are not dropped are kept. Of equal
    losses the first is the better.

    Args:
        losses: mean loss of each sample under each model, (models, samples), in nats a token;
            without models nothing is dropped.
        worst: the fraction of the samples that are a model's worst, at least 0 and less than 1;
            rounded down to a number of samples.
        keep: the number of samples that are kept, or all that are not dropped.

    Returns:
        The selection.
    """
    models, samples = losses.shape
    count = int(worst * samples)
    among = np.zeros((models, samples), dtype=np.int64)
    thresholds: list[float | None] = []
    for row, of_sample in zip(losses, among, strict=True):
        # not [-count:], which is everything where count is 0
        last = np.argsort(row, kind="stable")[samples - count :]
        of_sample[last] = 1
        thresholds.append(float(np.exp(row[last[0]])) if count else None)
    all_worst = among.all(axis=0) & (models > 0)
    candidates = np.flatnonzero(~all_worst)
    return Selection(
        selected=tuple(candidates[:keep].tolist()),
        dropped=tuple(np.flatnonzero(all_worst).tolist()),
        thresholds=tuple(thresholds),
        worst_of=tuple(np.bincount(among.sum(axis=0), minlength=models + 1).tolist()),
        shared=tuple(map(tuple, (among @ among.T).tolist())),
        spearman=_spearman(losses),
    )


def _spearman(losses: NDArray[np.float64]) -> tuple[tuple[float | None, ...], ...]:
    if not len(losses):
        return ()
    from scipy.stats import rankdata

    ranks = [rankdata(row) - (len(row) + 1) / 2 for row in losses]
    return tuple(tuple(_correlation(a, b) for b in ranks) for a in ranks)


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    size = float(np.sqrt((a @ a) * (b @ b)))
    # equal ranks throughout have no correlation
    return float(a @ b) / size if size else None


def spread(losses: Sequence[float]) -> dict[str, float]:
    """The 10 %, 50 % and 90 % quantiles of the perplexities of a model's samples."""
    low, median, high = np.exp(np.quantile(np.array(losses), [0.1, 0.5, 0.9])).tolist()
    return {"p10": low, "median": median, "p90": high}
