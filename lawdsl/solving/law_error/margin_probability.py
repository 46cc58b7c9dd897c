"""The probability that a margin is nonnegative, given the joint distribution of the laws' errors.

With one law the margin is a function of one error, m + s·t with t from Student's t distribution:
the probability is that of the parts of the line on which the margin is nonnegative. With several
laws it is an integral over their joint errors, by line sampling (Koutsourelakis, Pradlwarter and
Schuëller 2004, Probabilistic Engineering Mechanics 19): the errors are

    e = m + s_f·L·(u + x·a),   Σ = LLᵀ,

with x ~ N(0, 1) along a direction a in which the margin changes, u normal and orthogonal to a, and
s_f = sqrt(ν/χ²_ν) for each fit; the probability over x is exact, that over u and s_f is a mean over
draws. The draws are quasi-random with random shifts (Cranley and Patterson 1976, SIAM Journal on
Numerical Analysis 13): the differences between the means of several shifts provide the error of the
overall mean, which is subtracted, since a probability must not be overstated. With one fit a flat
boundary has the probability given by Student's t, and the draws only estimate the difference from
it (a control variate).
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
"""(errors of shape (calls, …, points), indices of the choices) -> the margin, shape (…, points)."""
Slope = Callable[[Array, NDArray[np.intp]], Array]
"""(errors of shape (calls, points), indices of the choices) -> the derivatives of the margin with
respect to the errors, of that shape.
"""

MAX_DEVIATIONS = 40.0  # standard deviations beyond which the margin is assumed to keep its sign
NODES = np.sinh(np.linspace(-1, 1, 129) * np.arcsinh(MAX_DEVIATIONS))
"""Numbers of standard deviations at which the sign of a margin is examined; finest near 0."""
NORMAL_NODES = np.linspace(-8.0, 8.0, 33)
"""The same for a normal variable, whose probability beyond 8 is negligible."""
BISECTIONS = 45  # bisections of an interval between nodes
NORMAL_BISECTIONS = 30
# golden-section steps in the search for an interval between nodes on which a margin is negative
GOLDEN_SECTIONS = 40
GOLDEN = (np.sqrt(5) - 1) / 2
SHIFTS = 8  # independent random shifts
LINES = 64  # lines per shift
SLOPES = 16  # draws at which the direction of change of a margin is computed
SURE = 0.99  # confidence level of the error of the mean
SEED = 0x11E5
AT_ONCE = 300_000  # margins that are evaluated at once


def of_one_law(margin: Margin, mean: Array, deviation: Array, dof: float) -> Array:
    """The probability that a margin with one law is nonnegative, shape (points,).

    Args:
        margin: the margin of errors of shape (1, …, points).
        mean, deviation: the mean and the standard deviation of the error, shape (points,).
        dof: its degrees of freedom.
    """
    count = len(mean)
    numbers = np.arange(count)

    def along(x: Array, which: NDArray[np.intp]) -> Array:
        return margin((mean[which] + x * deviation[which])[None], numbers[which])

    def cdf(x: Array) -> Array:
        return np.asarray(special.stdtr(dof, x) if np.isfinite(dof) else special.ndtr(x))

    result = _probability_on_lines(along, NODES, count, cdf, BISECTIONS, tails=True)
    certain = along(np.zeros(count), numbers) >= 0
    # without an error the constraint either holds or does not
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

    It is the estimate minus the error of the draws at 99 % confidence.

    Args:
        margin, slope: the functions of errors of shape (calls, …, points).
        means: the means of the errors, shape (calls, points).
        covariances: the covariances of the errors, shape (points, calls, calls).
        fits: for each call the index of its fit.
        dofs: for each fit its degrees of freedom.

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
    """Factors L of covariance matrices LLᵀ, which may be singular; shape (points, calls, calls)."""
    values, vectors = np.linalg.eigh(covariances)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])


def _directions(slope: Slope, means: Array, roots: Array, normal: Array) -> Array:
    """Unit directions in which margins change, shape (points, calls): the mean of the directions of
    steepest change at the mean and at some draws, which differ where branches of max meet. Opposite
    directions define the same line. Without any change, the direction in which the errors are
    largest.
    """
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
    largest = np.eye(len(means))[-1]  # eigenvalues are in ascending order
    return np.where(sizes > 0, result / np.where(sizes > 0, sizes, 1.0), largest)


@lru_cache(maxsize=8)
def _draws(calls: int, dofs: tuple[float, ...]) -> tuple[Array, Array]:
    """Normal variables of shape (calls, lines), and sqrt(ν/χ²) of each fit, (fits, lines)."""
    count = calls + len(dofs)
    # multiples of powers of the root of x^(count + 1) = x + 1 are evenly distributed, as for the
    # golden ratio
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
        means, roots, directions: those of these points.
        normal: normal variables, shape (calls, lines).
        wide: sqrt(ν/χ²) for the fit of each call, shape (calls, lines).
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

    held = _probability_on_lines(
        along, NORMAL_NODES, lines * points, special.ndtr, NORMAL_BISECTIONS
    )
    return held.reshape(lines, points)


def _lines_at(begins: Array, steps: Array, x: Array, which: NDArray[np.intp]) -> Array:
    """Errors at positions x on lines: shape (calls, …, lines)."""
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
    """The probability for a flat boundary through the point at which the margin is 0 in its
    direction of steepest change: on each line, shape (lines, points), and in total, (points,). The
    second is the mean of the first, wherever that point is.
    """
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
    """The mean over lines minus its error; shape (points,), for values of shape (lines, points)."""
    means = values.reshape(SHIFTS, LINES, -1).mean(axis=1)
    error = np.std(means, axis=0, ddof=1) / np.sqrt(SHIFTS)
    return np.asarray(means.mean(axis=0) - student_quantile(SURE, SHIFTS - 1) * error)


def _probability_on_lines(
    along: Callable[[Array, NDArray[np.intp]], Array],
    nodes: Array,
    count: int,
    cdf: Callable[[Array], Array],
    bisections: int,
    *,
    tails: bool = False,
) -> Array:
    """The probability of the parts of lines on which a margin is nonnegative, shape (lines,).

    Args:
        along: the function (positions of shape (…, lines), indices of the lines) -> the margin.
        nodes: the positions at which its sign is examined, ascending.
        count: the number of lines.
        cdf: the cumulative distribution function of the position.
        bisections: the number of bisections of each interval between nodes in which the sign
            changes.
        tails: whether the tails beyond the outermost nodes are included if the margin is
            nonnegative there.
    """
    every = np.arange(count)
    margins = along(np.broadcast_to(nodes[:, None], (len(nodes), count)), every)
    holds = margins >= 0
    levels = cdf(nodes)
    result = np.asarray(np.diff(levels) @ (holds[:-1] & holds[1:]))
    if tails:
        result += levels[0] * holds[0] + (1 - levels[-1]) * holds[-1]
    cell, line = np.nonzero(holds[:-1] != holds[1:])
    left = holds[cell, line]  # the left end of the part on which the margin is nonnegative
    inside, outside = nodes[np.where(left, cell, cell + 1)], nodes[np.where(left, cell + 1, cell)]
    ends = _crossings(along, inside, outside, line, bisections)
    np.add.at(result, line, np.abs(cdf(ends) - cdf(inside)))
    # between nodes at which it is positive the margin may be negative, such as |x| - 0.1 near 0
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
    """The points at which margins become negative, between points where they are nonnegative and
    negative; on the nonnegative side.
    """
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
    """The points between two positions at which margins are smallest, by golden-section search."""
    for _ in range(GOLDEN_SECTIONS if len(line) else 0):
        width = GOLDEN * (high - low)
        left, right = high - width, low + width
        falls = along(left, line) > along(right, line)
        low, high = np.where(falls, left, low), np.where(falls, high, right)
    return (low + high) / 2
