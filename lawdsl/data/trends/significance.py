"""Differences and their noise -> a series: the claimed signs, and the significance of the others.

A difference d with standard error s is significant if |d|/s exceeds the quantile of the normal
distribution, or of Student's t with the degrees of freedom of s. Over m differences and all claims
the level is divided by their number (Bonferroni; Dunn (1961), "Multiple comparisons among means",
Journal of the American Statistical Association 56). The signs are also tested without their sizes,
by the sign test: the mean sign against the claim must exceed 3/sqrt(n) (Dixon and Mood (1946), "The
statistical sign test", Journal of the American Statistical Association 41).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from lawdsl.data.trends.exceptions import profiles, ranges
from lawdsl.data.trends.grid import Axes
from lawdsl.data.trends.paired_differences import (
    Array,
    GridValues,
    Mask,
    RepeatScatter,
    merge_repeats,
)
from lawdsl.data.trends.result import DifferenceNoise, DifferenceSeries

MIN_STANDARD_ERRORS = 2.0  # standard errors: a smaller difference is inconclusive
# Probability that some claim of a law is contradicted by chance if no variable has an effect.
FAMILYWISE_ERROR_RATE = 0.01
MIN_DF = 5  # degrees of freedom: with fewer the variance of repeats is too uncertain
ROUNDING_RTOL = 1e-12  # relative to the largest value: below it, a difference is rounding error
SIGN_TEST_DEVIATIONS = 3.0  # critical value of the sign test, in standard deviations


@dataclass(frozen=True)
class DifferenceScale:
    """The scale on which all differences in a table are tested.

    Attributes:
        rows: the scatter of repeated rows.
        least: differences up to this size are rounding errors, in the output's unit.
        chance: the error probability of the test of one claim by the differences of one kind.
    """

    rows: RepeatScatter
    least: float
    chance: float


def difference_scale(rows: GridValues, claims: int) -> DifferenceScale:
    """The scale of a table, for the given number of claims, each of which is tested in two ways.

    Args:
        rows: the measurements.
        claims: the number of claims.
    """
    least = ROUNDING_RTOL * float(np.max(np.abs(rows.value)))
    return DifferenceScale(
        merge_repeats(rows)[1], least, FAMILYWISE_ERROR_RATE / max(1, 2 * claims)
    )


def difference_series(
    compared: str,
    pairs: GridValues,
    sense: int,
    repeats: RepeatScatter,
    scale: DifferenceScale,
    axes: Axes,
) -> tuple[DifferenceSeries, Mask]:
    """All differences of one kind, and the mask of those against the claim, shape (n,).

    Args:
        compared: the kind of comparison, for the result.
        pairs: the differences.
        sense: 1 where they are claimed to be positive, -1 where negative.
        repeats: the scatter of repeated differences.
        scale: the scale on which they are judged.
        axes: the variables.
    """
    error, noise = _noise(pairs, repeats, scale)
    as_claimed = sense * pairs.value
    # if the noise is unknown, the signs still count, but no difference is significant by its size
    times = np.zeros(len(pairs)) if noise.limit is None else as_claimed / error
    large_enough = (np.abs(as_claimed) > scale.least) & (np.abs(times) >= (noise.limit or 0.0))
    against = large_enough & (as_claimed < 0)
    sure = against & (-times > critical_value(noise.df, scale.chance / len(pairs)))
    some, has_errors = bool(against.any()), bool(against.any()) and noise.limit is not None
    series = DifferenceSeries(
        compared=compared,
        pairs=len(pairs),
        as_claimed=int(np.sum(large_enough & ~against)),
        too_small=int(np.sum(~large_enough)),
        against=int(np.sum(against)),
        beyond_chance=int(np.sum(sure)),
        largest=float(np.max(-as_claimed[against])) if some else None,
        place=axes.place(pairs, int(np.argmin(np.where(against, as_claimed, 0.0)))) if some else "",
        median=float(np.median(-as_claimed[against])) if some else None,
        largest_errors=float(np.max(-times[against])) if has_errors else None,
        median_errors=float(np.median(-times[against])) if has_errors else None,
        noise=noise,
        ranges=ranges(pairs, against, axes),
        sure_ranges=ranges(pairs, sure, axes),
        contradicts=bool(sure.any()) or _fails_sign_test(pairs, as_claimed, scale.least),
        profiles=profiles(pairs, large_enough, against, axes),
    )
    return series, against


def _noise(
    pairs: GridValues, repeats: RepeatScatter, scale: DifferenceScale
) -> tuple[Array, DifferenceNoise]:
    """The standard error of each difference, shape (n,), and the source of the standard errors."""
    if not np.isnan(pairs.error).any():
        error = np.sqrt(pairs.error)
        return error, DifferenceNoise("column", float(np.median(error)), None, critical_value(None))
    for source, scatter in (("repeats", repeats), ("repeated rows", scale.rows)):
        if (
            scatter.df >= MIN_DF and scatter.squares > scatter.df * scale.least**2
        ):  # exact copies do not count as repeats
            error = np.sqrt(scatter.squares / scatter.df * pairs.spread)
            return error, DifferenceNoise(
                source, float(np.median(error)), scatter.df, critical_value(scatter.df)
            )
    return np.full(len(pairs), np.nan), DifferenceNoise()


def critical_value(df: int | None, tail: float = float(ndtr(-MIN_STANDARD_ERRORS))) -> float:
    """The number of standard errors that a difference exceeds by chance with a given probability.

    Args:
        df: degrees of freedom of the standard error; None where it is known.
        tail: the one-sided probability.
    """
    return -float(ndtri(tail) if df is None else stdtrit(df, tail))


def _fails_sign_test(pairs: GridValues, as_claimed: Array, least: float) -> bool:
    """Whether differences against a claim outnumber the others significantly, by the sign test.

    The criterion is mean(sign against the claim) > 3/sqrt(n). Here n is the smallest number of
    distinct differences after omitting one of the variables that are equal within each difference,
    since all its values may come from one run.
    """
    signs = np.sign(np.where(np.abs(as_claimed) > least, as_claimed, 0.0))
    locations, counts = np.stack([pairs.low, pairs.high]), [len(pairs)]
    for i in range(locations.shape[1]):
        if (pairs.low[i] == pairs.high[i]).all():  # constant: all its values may come from one run
            rest = np.delete(locations, i, axis=1).reshape(-1, len(pairs))
            counts.append(np.unique(rest, axis=1).shape[1])
    return -float(np.mean(signs)) > SIGN_TEST_DEVIATIONS / min(counts) ** 0.5
