"""Differences and their noise -> Series: how many go as claimed, and what those against amount to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from lawdsl.data.trends.exceptions import Axes, ranges
from lawdsl.data.trends.paired_differences import Array, Mask, Moves, Scatter, merged
from lawdsl.data.trends.result import Noise, Series

ERRORS = 2.0  # standard errors: a smaller difference is too small to tell
CHANCE = 0.01  # how often chance alone may contradict a law's claims, where nothing moves at all
ENOUGH = 5  # degrees of freedom: fewer repeats say nothing of the noise
ROUNDING = 1e-12  # of the largest value: smaller differences are none
SIGNS = 3.0  # standard deviations by which those against outnumber the others


@dataclass(frozen=True)
class Scale:
    """What all differences in a table are measured by.

    Attributes:
        rows: how repeated rows scatter.
        least: a smaller difference is one of rounding.
        chance: how often chance may contradict a claim by the differences of one kind.
    """

    rows: Scatter
    least: float
    chance: float


def scale(rows: Moves, claims: int) -> Scale:
    """That of a table, of which so many claims are made; each is looked at in two ways."""
    least = ROUNDING * float(np.max(np.abs(rows.value)))
    return Scale(merged(rows)[1], least, CHANCE / max(1, 2 * claims))


def judged(
    compared: str, moves: Moves, sense: int, repeats: Scatter, scale: Scale, axes: Axes
) -> tuple[Series, Mask]:
    """All differences of one kind, and which of them go against the claim.

    Args:
        compared: what is compared with what.
        moves: the differences.
        sense: 1 where they are claimed to be above 0, -1 where below.
        repeats: how repeated differences scatter.
        scale: what they are measured by.
        axes: the variables.
    """
    error, noise = _noise(moves, repeats, scale)
    as_claimed = sense * moves.value
    times = np.zeros(len(moves)) if noise.limit is None else as_claimed / error
    told = (np.abs(as_claimed) > scale.least) & (np.abs(times) >= (noise.limit or 0.0))
    against = told & (as_claimed < 0)
    sure = against & (-times > limit(noise.df, scale.chance / len(moves)))
    some, known = bool(against.any()), bool(against.any()) and noise.limit is not None
    series = Series(
        compared=compared,
        pairs=len(moves),
        as_claimed=int(np.sum(told & ~against)),
        too_small=int(np.sum(~told)),
        against=int(np.sum(against)),
        beyond_chance=int(np.sum(sure)),
        largest=float(np.max(-as_claimed[against])) if some else None,
        place=axes.place(moves, int(np.argmin(np.where(against, as_claimed, 0.0)))) if some else "",
        median=float(np.median(-as_claimed[against])) if some else None,
        largest_errors=float(np.max(-times[against])) if known else None,
        median_errors=float(np.median(-times[against])) if known else None,
        noise=noise,
        ranges=ranges(moves, against, axes),
        sure_ranges=ranges(moves, sure, axes),
        contradicts=bool(sure.any()) or _outnumbered(moves, as_claimed, scale.least),
    )
    return series, against


def _noise(moves: Moves, repeats: Scatter, scale: Scale) -> tuple[Array, Noise]:
    """The standard error of each difference, shape (n,), and where it is known from."""
    if not np.isnan(moves.error).any():
        error = np.sqrt(moves.error)
        return error, Noise("column", float(np.median(error)), None, limit(None))
    for source, found in (("repeats", repeats), ("repeated rows", scale.rows)):
        if (
            found.df >= ENOUGH and found.squares > found.df * scale.least**2
        ):  # copies are no repeats
            error = np.sqrt(found.squares / found.df * moves.spread)
            return error, Noise(source, float(np.median(error)), found.df, limit(found.df))
    return np.full(len(moves), np.nan), Noise()


def limit(df: int | None, tail: float = float(ndtr(-ERRORS))) -> float:
    """How many standard errors a difference exceeds by chance with this probability."""
    return -float(ndtri(tail) if df is None else stdtrit(df, tail))


def _outnumbered(moves: Moves, as_claimed: Array, least: float) -> bool:
    """Whether differences against a claim outnumber the others by more than chance explains."""
    signs = np.sign(np.where(np.abs(as_claimed) > least, as_claimed, 0.0))
    places, counts = np.stack([moves.low, moves.high]), [len(moves)]
    for i in range(places.shape[1]):
        if (moves.low[i] == moves.high[i]).all():  # held: its values may be of one run
            rest = np.delete(places, i, axis=1).reshape(-1, len(moves))
            counts.append(np.unique(rest, axis=1).shape[1])
    return -float(np.mean(signs)) > SIGNS / min(counts) ** 0.5
