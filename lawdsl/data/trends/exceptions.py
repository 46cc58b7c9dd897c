"""Exceptions to a claim -> the ranges of variables that they have in common, and the best split.

The gain of a split is the increase of the binomial log-likelihood l(k, n) = k·log(k/n) + (n -
k)·log(1 - k/n), with k exceptions among n differences: gain = l(k_1, n_1) + l(k_2, n_2) - l(k_1 +
k_2, n_1 + n_2), as at a node of a classification tree (Breiman, Friedman, Olshen and Stone (1984),
Classification and Regression Trees).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from lawdsl.data.trends.grid import Axes
from lawdsl.data.trends.paired_differences import Array, Codes, GridValues, Mask
from lawdsl.data.trends.result import MIN_LIKELIHOOD_GAIN, ExceptionRange, LevelCounts, Split

# In the table of a split: a variable with more values is divided into two ranges.
MAX_SPLIT_ROWS = 10
MAX_PROFILE_LEVELS = 12  # distinct values of a variable that are counted individually


@dataclass(frozen=True)
class ComparedPairs:
    """Differences of one kind, and the mask of the exceptions among them, shape (n,).

    `through` is the index of the variable whose first and last values are compared; -1 for none.
    """

    pairs: GridValues
    against: Mask
    through: int = -1


def ranges(pairs: GridValues, chosen: Mask, axes: Axes) -> tuple[ExceptionRange, ...]:
    """The ranges of variables shared by all chosen differences and not by all others, the largest
    gain first.

    Args:
        pairs: the differences.
        chosen: the mask of the chosen ones, shape (n,).
        axes: the variables.
    """
    common = []
    for i, name in enumerate(axes.names if chosen.any() else ()):
        low, high, values = pairs.low[i], pairs.high[i], axes.levels[i]
        least, most = int(np.min(low[chosen])), int(np.max(high[chosen]))
        below, above = low[low < least], high[high > most]
        if (low != high).any():  # the next difference begins where the last exception ends
            below, above = np.full_like(below, least), np.full_like(above, most)
        inside = (low >= least) & (high <= most)
        wrong = int(np.sum(chosen))
        gain = float(_likelihood_gain(wrong, int(np.sum(inside)), wrong, len(chosen)))
        last = float(values[np.max(below)]) if len(below) else None
        next = float(values[np.min(above)]) if len(above) else None
        if last is not None or next is not None:
            ends = float(values[least]), float(values[most])
            common.append(ExceptionRange(name, *ends, below=last, above=next, gain=gain))
    return tuple(sorted(common, key=lambda r: -r.gain))


def profiles(
    pairs: GridValues, large_enough: Mask, against: Mask, axes: Axes
) -> dict[str, tuple[LevelCounts, ...]]:
    """Count differences along the values of each variable, by their lower ends.

    Args:
        pairs: the differences.
        large_enough: the mask of the conclusive differences, shape (n,).
        against: the mask of the differences with the sign that contradicts the claim, shape (n,).
        axes: the variables.

    Returns:
        Variable -> counts at its values in ascending order; if there are more than
        MAX_PROFILE_LEVELS values, in as many ranges with about equal numbers of differences.
    """
    found = {}
    for i, name in enumerate(axes.names):
        codes, level = np.unique(pairs.low[i], return_inverse=True)
        if len(codes) < 2:
            continue
        if len(codes) > MAX_PROFILE_LEVELS:
            before = np.cumsum(np.bincount(level)) - 1  # differences up to each value
            level = (before * MAX_PROFILE_LEVELS // len(pairs))[level]
        values, counted = axes.levels[i], []
        for group in np.unique(level):
            inside = level == group
            counted.append(
                LevelCounts(
                    float(values[np.min(pairs.low[i][inside])]),
                    float(values[np.max(pairs.high[i][inside])]),
                    int(np.sum(inside & large_enough & ~against)),
                    int(np.sum(inside & ~large_enough)),
                    int(np.sum(inside & against)),
                )
            )
        found[name] = tuple(counted)
    return found


def split(kinds: Sequence[ComparedPairs], axes: Axes) -> Split | None:
    """The variable and its value at which a split best separates exceptions from other differences.

    The split maximises the gain in log-likelihood of different shares of exceptions on the two
    sides (see above) over one kind of differences.

    Args:
        kinds: the differences by kind.
        axes: the variables.

    Returns:
        The split; None where the gain is below MIN_LIKELIHOOD_GAIN.
    """
    best = (0.0, 0, 0)
    for kind in kinds:
        for i in range(len(axes.names)):
            if i != kind.through and len(kind.pairs):
                gain, cut = _best_cut(kind.pairs.low[i], kind.against)
                # -i: among equal gains, the variable that the law declares first
                best = max(best, (gain, -i, cut))
    gain, i, cut = best[0], -best[1], best[2]
    if gain < MIN_LIKELIHOOD_GAIN:
        return None
    ends = [(kind.pairs.low[i], kind.pairs.high[i]) for kind in kinds if kind.through != i]
    low, high = np.concatenate(ends, axis=1)
    codes = np.unique(low)
    parts = {axes.text(i, code, *high[low == code]): codes[codes == code] for code in codes}
    if len(codes) > MAX_SPLIT_ROWS or len(parts) < len(codes):  # or some are equal to six digits
        lower, upper = codes[codes <= cut], codes[codes > cut]
        parts = {
            f"to {axes.text(i, *lower[-1:])}": lower,
            f"from {axes.text(i, *upper[:1])}": upper,
        }
    rows = {
        text: tuple(_exception_counts(kind, i, which) for kind in kinds)
        for text, which in parts.items()
    }
    return Split(axes.names[i], gain, rows)


def _best_cut(code: Codes, against: Mask) -> tuple[float, int]:
    """The largest gain of a split at a value, and the last value below the split."""
    number, failed = np.bincount(code), np.bincount(code, weights=against)
    gain = _likelihood_gain(
        np.cumsum(failed)[:-1], np.cumsum(number)[:-1], np.sum(failed), len(code)
    )
    position = int(np.argmax(gain)) if len(gain) else 0
    return (float(gain[position]), position) if len(gain) else (0.0, 0)


def _likelihood_gain(
    failed: ArrayLike, number: ArrayLike, wrong: ArrayLike, total: ArrayLike
) -> Array:
    """The gain in log-likelihood from different shares inside (failed of number) and outside (the
    rest of wrong of total)."""
    outside = np.subtract(wrong, failed), np.subtract(total, number)
    return _likelihood(failed, number) + _likelihood(*outside) - _likelihood(wrong, total)


def _likelihood(failed: ArrayLike, number: ArrayLike) -> Array:
    """The maximum binomial log-likelihood of `failed` exceptions among `number` differences."""
    # xlogy is 0 at 0*log(0), so that an empty side contributes nothing
    share = np.divide(failed, np.maximum(number, 1))
    return np.asarray(xlogy(failed, share) + xlogy(np.subtract(number, failed), 1 - share))


def _exception_counts(kind: ComparedPairs, i: int, which: Codes) -> tuple[int, int] | None:
    """The numbers of exceptions and of differences at some values; None if the differences compare
    the ends of the variable.
    """
    inside = np.isin(kind.pairs.low[i], which)
    counts = int(np.sum(kind.against & inside)), int(np.sum(inside))
    return None if i == kind.through else counts
