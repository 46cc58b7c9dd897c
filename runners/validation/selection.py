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
    """The selected samples, and the agreement of the models.

    Attributes:
        selected: the numbers of the samples in the set, increasing.
        dropped: the number of samples that are among the worst under every model.
        thresholds: for each model the lowest perplexity of its worst samples; None if there are
            none.
        worst_of: number of samples among the worst of exactly 0, 1, ... models.
        shared: number of samples among the worst of both of two models, (models, models).
        spearman: rank correlation of two models' perplexities, (models, models); None if all of one
            model are equal.
    """

    selected: tuple[int, ...]
    dropped: tuple[int, ...]
    thresholds: tuple[float | None, ...]
    worst_of: tuple[int, ...]
    shared: tuple[tuple[int, ...], ...]
    spearman: tuple[tuple[float | None, ...], ...]


def select(losses: NDArray[np.float64], worst: Fraction, keep: int | None) -> Selection:
    """Select the samples of a validation set by their perplexities.

    The samples must be in random order: the first of those that are not dropped are kept. Ties are
    broken in favour of the first.

    Args:
        losses: mean loss of each sample under each model, (models, samples), in nats per token;
            without models nothing is dropped.
        worst: the fraction of the samples considered a model's worst, in [0, 1); rounded down to a
            number of samples.
        keep: the maximum number of samples in the set; None if there is none.

    Returns:
        The selection.
    """
    models, samples = losses.shape
    count = int(worst * samples)
    among = np.zeros((models, samples), dtype=np.int64)
    thresholds: list[float | None] = []
    for row, of_sample in zip(losses, among, strict=True):
        # not [-count:], which is everything if count is 0
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
    # the correlation is undefined if all ranks are equal
    return float(a @ b) / size if size else None


def spread(losses: Sequence[float]) -> dict[str, float]:
    """The 10 %, 50 % and 90 % quantiles of the perplexities of a model's samples."""
    low, median, high = np.exp(np.quantile(np.array(losses), [0.1, 0.5, 0.9])).tolist()
    return {"p10": low, "median": median, "p90": high}
