"""Losses of mixtures at several model sizes -> how far the ranks of the mixtures agree between sizes.

A small model is used to choose a mixture for a large one, which presupposes that ranks agree. They
change with the size: Ye et al. (2024), arXiv:2403.16952, appendix C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Key = tuple[str, ...]

MIN_MIXTURES = 4  # common to two sizes, from which a rank correlation says something


@dataclass(frozen=True)
class RankAgreement:
    """The agreement of ranks between the two sizes at which they agree least.

    Attributes:
        spearman: Spearman's rank correlation between them.
        kendall: Kendall's tau-b between them.
        sizes: the two sizes, the smaller first.
        label: the loss that is ranked, such as a validation domain; empty if there is one.
        mixtures: the number of mixtures common to both.
        median: the median of Spearman's correlation over all pairs of sizes and losses.
        pairs: the number of these pairs.
    """

    spearman: float
    kendall: float
    sizes: tuple[float, float]
    label: Key
    mixtures: int
    median: float
    pairs: int


def rank_agreement(
    mixtures: Sequence[Key], labels: Sequence[Key], sizes: Array, losses: Array
) -> RankAgreement | None:
    """How far the ranks of mixtures agree between sizes; None without two sizes with at least four
    mixtures in common.

    Args:
        mixtures: the mixture of each row.
        labels: what the loss of each row is of; ranks are compared within a label.
        sizes: the model size of each row, shape (rows,).
        losses: the loss, shape (rows,); repeated measurements are averaged.
    """
    found = list(_pairs(mixtures, labels, sizes, losses))
    if not found:
        return None
    least = min(found, key=lambda one: (one.spearman, one.kendall))
    median = float(np.median([one.spearman for one in found]))
    return RankAgreement(
        least.spearman, least.kendall, least.sizes, least.label, least.mixtures, median, len(found)
    )


def _pairs(
    mixtures: Sequence[Key], labels: Sequence[Key], sizes: Array, losses: Array
) -> Iterator[RankAgreement]:
    """Yield the agreement of each pair of sizes, for each label."""
    measured: dict[Key, dict[float, dict[Key, list[float]]]] = {}
    for mixture, label, size, loss in zip(
        mixtures, labels, sizes.tolist(), losses.tolist(), strict=True
    ):
        by_size = measured.setdefault(label, {})
        by_size.setdefault(size, {}).setdefault(mixture, []).append(loss)
    for label, by_size in measured.items():
        for small, large in combinations(sorted(by_size), 2):
            common = [m for m in by_size[small] if m in by_size[large]]
            if len(common) < MIN_MIXTURES:
                continue
            a, b = (
                np.array([np.mean(by_size[size][m]) for m in common]) for size in (small, large)
            )
            if np.ptp(a) == 0 or np.ptp(b) == 0:
                continue
            spearman, kendall = rank_correlations(a, b)
            yield RankAgreement(spearman, kendall, (small, large), label, len(common), spearman, 1)


def rank_correlations(a: Array, b: Array) -> tuple[float, float]:
    """Spearman's rank correlation and Kendall's tau-b of two samples that are not constant.

    Args:
        a: shape (values,).
        b: shape (values,).
    """
    spearman = float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])
    of_a, of_b = (np.sign(x[:, None] - x[None, :]) for x in (a, b))
    scale = float(np.sqrt(np.sum(of_a**2) * np.sum(of_b**2)))
    return spearman, float(np.sum(of_a * of_b)) / scale


def _ranks(values: Array) -> Array:
    """Ranks from 1, equal values sharing their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)


def agreement_text(agreement: RankAgreement, size: str) -> str:
    """One line about the agreement of ranks.

    Args:
        agreement: the agreement.
        size: the name of the variable or column of the size.
    """
    small, large = agreement.sizes
    label = f", {', '.join(agreement.label)}" if agreement.label else ""
    pairs = f"; median of {agreement.pairs} pairs {agreement.median:.2f}"
    return (
        f"ranks of {agreement.mixtures} mixtures at {size} = {small:.6g} and {large:.6g}{label}: Spearman "
        f"{agreement.spearman:.2f}, Kendall {agreement.kendall:.2f}"
        + (f" (the least{pairs})" if agreement.pairs > 1 else "")
    )
