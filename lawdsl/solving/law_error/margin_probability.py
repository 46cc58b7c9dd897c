"""The probability that a margin is not negative, given the joint distribution of the laws' errors.

With one law the margin is a function of one error, m + s·t with Student's t: the probability is that of
the parts of the line on which the margin is not negative. With several laws it is an integral over
their joint errors, by line sampling (Koutsourelakis, Pradlwarter and Schuëller 2004, Probabilistic
Engineering Mechanics 19): the errors are

    e = m + s_f·L·(u + x·a),   Σ = LLᵀ,

with x ~ N(0, 1) along a direction a in which the margin changes, u normal and at right angles to a, and s_f = sqrt(ν/χ²_ν) of each fit; the probability over x is exact, that over u and s_f is the
mean of draws. They are quasi-random, with random shifts (Cranley and Patterson 1976, SIAM Journal on
Numerical Analysis 13): by what the means of several shifts differ gives the error of their mean, which
is subtracted, for a probability must not be overstated. With one fit a flat boundary has the
probability of Student's t, and the draws tell the difference from that alone (a control variate).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from lawdsl.core.distributions import student_quantile

Array = NDArray[np.float64]
Margin = Callable[[Array, NDArray[np.intp]], Array]
"""Errors of shape (calls, …, points) at choices with these numbers -> the margin, (…, points)."""
Slope = Callable[[Array, NDArray[np.intp]], Array]
"""Errors of shape (calls, points) -> the slopes of the margin by them, of that shape."""

MAX_DEVIATIONS = 40.0  # standard deviations: further out the margin keeps its sign
NODES = np.sinh(np.linspace(-1, 1, 129) * np.arcsinh(MAX_DEVIATIONS))
"""Numbers of standard deviations at which the sign of a margin is examined; finest near 0."""
NORMAL_NODES = np.linspace(-8.0, 8.0, 33)
"""The same of a normal variable: beyond 8 there is nothing."""
BISECTIONS = 45  # of a part between nodes
NORMAL_BISECTIONS = 30
GOLDEN_SECTIONS = 40  # that look for a part between nodes on which a margin is negative
GOLDEN = (np.sqrt(5) - 1) / 2
SHIFTS = 8  # which are independent
LINES = 64  # for each
SLOPES = 16  # draws at which a margin says in which direction it changes
SURE = 0.99  # of the error of the mean
SEED = 0x11E5
AT_ONCE = 300_000  # margins that are computed together


def of_one_law(margin: Margin, mean: Array, deviation: Array, dof: float) -> Array:
    """The probability that a margin with one law is not negative, shape (points,).

    Args:
        margin: the margin of errors of shape (1, …, points).
        mean, deviation: of the error, shape (points,).
        dof: its degrees of freedom.
    """
    count = len(mean)
    numbers = np.arange(count)

    def along(x: Array, which: NDArray[np.intp]) -> Array:
        return margin((mean[which] + x * deviation[which])[None], numbers[which])

    def cdf(x: Array) -> Array:
        return np.asarray(special.stdtr(dof, x) if np.isfinite(dof) else special.ndtr(x))

    result = _measure(along, NODES, count, cdf, BISECTIONS, tails=True)
    certain = along(np.zeros(count), numbers) >= 0
    # without any error the constraint holds, or it does not
    return np.where(deviation > 0, result, certain.astype(np.float64))


def of_several_laws(
    margin: Margin,
    slope: Slope,
    means: Array,
    covariances: Array,
    fits: tuple[int, ...],
    dofs: tuple[float, ...],
) -> Array:
    """A lower bound on the probability that a margin with several laws is not negative.

    It is that but for the error of the draws, which is subtracted at 99 %.

    Args:
        margin, slope: of errors of shape (calls, …, points).
        means: the means of the errors, shape (calls, points).
        covariances: the covariances of them, shape (points, calls, calls).
        fits: of each call the number of its fit.
        dofs: of each fit the degrees of freedom.

    Returns:
        Shape (points,).
    """
    points = means.shape[1]
    roots = _roots(covariances)
    lines = SHIFTS * LINES
    normal, wide = _draws(len(fits), dofs)
    directions = _directions(slope, means, roots, normal)
    result = np.empty(points)
    step = max(1, AT_ONCE // (lines * len(NORMAL_NODES)))
    for first in range(0, points, step):
        piece = np.arange(first, min(first + step, points))
        at = means[:, piece], roots[piece], directions[piece]
        held = _along_lines(margin, *at, normal, wide[list(fits)], piece)
        known = np.zeros(len(piece))
        if len(dofs) == 1:
            flat, known = _flat_boundary(margin, *at, wide[0], dofs[0], piece)
            held -= flat
        result[piece] = np.clip(_lower_end(held) + known, 0.0, 1.0)
    return result


def _roots(covariances: Array) -> Array:
    """Factors L of covariances LLᵀ, which may be singular; shape (points, calls, calls)."""
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


def _directions(slope: Slope, means: Array, roots: Array, normal: Array) -> Array:
    """Directions of length 1 in which margins change, shape (points, calls): the mean of those in
    which they change most at the mean and at some draws, which differ where branches of max meet.
    Opposite ones are one line. Where there is none, that in which the errors are the largest."""
    every = np.arange(means.shape[1])
    places = np.zeros((SLOPES + 1, len(means)))
    places[1:] = normal[:, :: normal.shape[1] // SLOPES].T
    result = np.zeros((len(every), len(means)))
    for place in places:
        with np.errstate(all="ignore"):
            at = slope(means + np.einsum("pij,j->ip", roots, place), every)
            steepest = np.einsum("pij,ip->pj", roots, at)
            steepest /= np.linalg.norm(steepest, axis=1, keepdims=True)
        steepest = np.nan_to_num(steepest, posinf=0.0, neginf=0.0)
        along = np.sum(result * steepest, axis=1, keepdims=True)
        result += np.where(along < 0, -steepest, steepest)
    sizes = np.linalg.norm(result, axis=1, keepdims=True)
    largest = np.eye(len(means))[-1]  # eigenvalues rise
    return np.where(sizes > 0, result / np.where(sizes > 0, sizes, 1.0), largest)


@lru_cache(maxsize=8)
def _draws(calls: int, dofs: tuple[float, ...]) -> tuple[Array, Array]:
    """Normal variables of shape (calls, lines), and sqrt(ν/χ²) of each fit, (fits, lines)."""
    count = calls + len(dofs)
    # multiples of powers of the root of x^(count + 1) = x + 1 are spread evenly, as those of the
    # golden ratio are
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (count + 1))
    steps = root ** -np.arange(1.0, count + 1)
    shifts = np.random.default_rng(SEED).random((SHIFTS, 1, count))
    uniform = (np.arange(1.0, LINES + 1)[:, None] * steps + shifts) % 1.0
    tiny = np.finfo(np.float64).eps
    uniform = np.clip(uniform.reshape(-1, count), tiny, 1 - tiny).T
    wide = [
        np.sqrt(dof / special.chdtri(dof, u)) if np.isfinite(dof) else np.ones_like(u)
        for dof, u in zip(dofs, uniform[calls:], strict=True)
    ]
    return np.asarray(special.ndtri(uniform[:calls])), np.array(wide)


def _along_lines(
    margin: Margin,
    means: Array,
    roots: Array,
    directions: Array,
    normal: Array,
    wide: Array,
    piece: NDArray[np.intp],
) -> Array:
    """The probability on each line, shape (lines, points).

    Args:
        margin: the margin of errors of shape (calls, …, points).
        means, roots, directions: of these points.
        normal: shape (calls, lines).
        wide: sqrt(ν/χ²) of the fit of each call, shape (calls, lines).
        piece: the numbers of the points.
    """
    lines, points = normal.shape[1], len(piece)
    across = normal[:, :, None] - np.einsum("jp,lp->jlp", directions.T, normal.T @ directions.T)
    begins = means[:, None] + wide[:, :, None] * np.einsum("pij,jlp->ilp", roots, across)
    ahead = np.einsum("pij,pj->ip", roots, directions)
    steps = wide[:, :, None] * ahead[:, None]
    begins, steps = (x.reshape(len(means), -1) for x in (begins, steps))
    numbers = np.tile(piece, lines)

    def along(x: Array, which: NDArray[np.intp]) -> Array:
        return margin(_lines_at(begins, steps, x, which), numbers[which])

    held = _measure(along, NORMAL_NODES, lines * points, special.ndtr, NORMAL_BISECTIONS)
    return held.reshape(lines, points)


def _lines_at(begins: Array, steps: Array, x: Array, which: NDArray[np.intp]) -> Array:
    """Errors at places x on lines: shape (calls, …, lines)."""
    shape = (len(begins),) + (1,) * (x.ndim - 1) + (len(which),)
    return np.asarray(begins[:, which].reshape(shape) + x * steps[:, which].reshape(shape))


def _flat_boundary(
    margin: Margin,
    means: Array,
    roots: Array,
    directions: Array,
    wide: Array,
    dof: float,
    piece: NDArray[np.intp],
) -> tuple[Array, Array]:
    """What a flat boundary would have, through the place where the margin is 0 in the direction in
    which it changes most: on each line, shape (lines, points), and in all, (points,). The second is
    the mean of the first, wherever that place is."""
    ahead = np.einsum("pij,pj->ip", roots, directions)

    def along(x: Array, which: NDArray[np.intp]) -> Array:
        return margin(_lines_at(means, ahead, x, which), piece[which])

    low, high = np.full(len(piece), -MAX_DEVIATIONS), np.full(len(piece), MAX_DEVIATIONS)
    every = np.arange(len(piece))
    sign = np.where(along(low, every) >= 0, 1.0, -1.0)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        holds = along(sign * middle, every) >= 0
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    exact = special.stdtr(dof, low) if np.isfinite(dof) else special.ndtr(low)
    return np.asarray(special.ndtr(low / wide[:, None])), np.asarray(exact)


def _lower_end(values: Array) -> Array:
    """The mean over lines, less its error; shape (points,), of values of shape (lines, points)."""
    means = values.reshape(SHIFTS, LINES, -1).mean(axis=1)
    error = np.std(means, axis=0, ddof=1) / np.sqrt(SHIFTS)
    return np.asarray(means.mean(axis=0) - student_quantile(SURE, SHIFTS - 1) * error)


def _measure(
    along: Callable[[Array, NDArray[np.intp]], Array],
    nodes: Array,
    count: int,
    cdf: Callable[[Array], Array],
    bisections: int,
    *,
    tails: bool = False,
) -> Array:
    """The probability of the parts of lines on which a margin is not negative, shape (lines,).

    Args:
        along: places, shape (…, lines), on lines with these numbers -> the margin.
        nodes: places at which its sign is examined, rising.
        count: how many lines.
        cdf: the distribution of the place.
        bisections: of the parts between nodes in which the sign changes.
        tails: whether what lies beyond the nodes counts, where the outermost node does.
    """
    every = np.arange(count)
    margins = along(np.broadcast_to(nodes[:, None], (len(nodes), count)), every)
    holds = margins >= 0
    levels = cdf(nodes)
    result = np.asarray(np.diff(levels) @ (holds[:-1] & holds[1:]))
    if tails:
        result += levels[0] * holds[0] + (1 - levels[-1]) * holds[-1]
    cell, line = np.nonzero(holds[:-1] != holds[1:])
    left = holds[cell, line]  # the end of the part on which the margin is not negative
    inside, outside = nodes[np.where(left, cell, cell + 1)], nodes[np.where(left, cell + 1, cell)]
    ends = _crossings(along, inside, outside, line, bisections)
    np.add.at(result, line, np.abs(cdf(ends) - cdf(inside)))
    # between nodes where it is positive the margin may be negative, as |x| - 0.1 near 0
    before, here, after = margins[:-2], margins[1:-1], margins[2:]
    lowest = (here < before) & (here <= after) & holds[:-2] & holds[1:-1] & holds[2:]
    cell, line = np.nonzero(lowest)
    bottom = _lowest_places(along, nodes[cell], nodes[cell + 2], line)
    negative = along(bottom, line) < 0
    cell, line, bottom = cell[negative], line[negative], bottom[negative]
    low, high = (_crossings(along, nodes[cell + step], bottom, line, bisections) for step in (0, 2))
    np.subtract.at(result, line, cdf(high) - cdf(low))
    return np.clip(result, 0.0, 1.0)


def _crossings(
    along: Callable[[Array, NDArray[np.intp]], Array],
    inside: Array,
    outside: Array,
    line: NDArray[np.intp],
    bisections: int,
) -> Array:
    """Where margins become negative between places where they are not, and are; on that side of it
    where they are not."""
    for _ in range(bisections if len(line) else 0):
        middle = (inside + outside) / 2
        kept = along(middle, line) >= 0
        inside, outside = np.where(kept, middle, inside), np.where(kept, outside, middle)
    return inside


def _lowest_places(
    along: Callable[[Array, NDArray[np.intp]], Array],
    low: Array,
    high: Array,
    line: NDArray[np.intp],
) -> Array:
    """Where margins are the lowest between two places, by golden sections."""
    for _ in range(GOLDEN_SECTIONS if len(line) else 0):
        width = GOLDEN * (high - low)
        left, right = high - width, low + width
        falls = along(left, line) > along(right, line)
        low, high = np.where(falls, left, low), np.where(falls, high, right)
    return (low + high) / 2
