"""Newton's method towards the conditions of an optimum, beside bounds with infinite slopes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.nlp.kkt import Point, held, point
from lawdsl.solving.nlp.problem import Functions, Problem

Array = NDArray[np.float64]

STEP = 1e-5  # of central differences, relative to a number and to its way to the next bound
STEPS = 60  # of Newton's method at most
LONGEST = 8.0  # e-folds by which one step changes the way to a bound with an infinite slope
SMALL = 1e-3  # of its way: so near to a bound the way of a steep unknown changes by factors
PATIENCE = 4, 25  # steps that bring nothing: usually; on the way to a bound with an infinite slope
RISE = 1e-6  # of the objective's unit: by so much a step may raise the value, as it meets the constraints
ROUNDS = 6  # of a step in which unknowns turn out to go too far
ROUNDING = 1e-12  # of the terms of a constraint
DONE = 1e-14  # what rounding leaves of slopes


def polished(problem: Problem, x: Array) -> Point:
    """The point near x at which the conditions are met to rounding, by Newton's method.

    The way of a steep unknown to its bound changes by factors.

    Args:
        problem: in units that suit x.
        x: where it starts.
    """
    best = here = point(problem, x)
    limit = best.values[0] + RISE + ROUNDING * abs(best.values[0])  # no saddle
    idle, patience = 0, PATIENCE[int(np.any(problem.steep))]
    for _ in range(STEPS):
        if best.wrong <= DONE or idle > patience or not np.isfinite(here.wrong):
            break
        here = point(problem, _stepped(problem, here))
        idle = 0 if here.wrong < best.wrong / 2 else idle + 1
        met = here.violation <= max(best.violation, ROUNDING)
        lower = here.values[0] <= limit
        best = here if met and lower and here.wrong < best.wrong else best
    return best


def curvature_at(
    problem: Problem, functions: Functions, here: Point, free: NDArray[np.int64]
) -> Array:
    """How the slopes of the Lagrangian by all that `functions` derives by change with some of the
    unknowns, by central differences of exact slopes: shape (by, free)."""
    x = here.x
    way = np.minimum(x - problem.low, problem.high - x)[free]
    h = STEP * np.minimum(way, np.where(np.isfinite(way), problem.spans[free], 1 + np.abs(x[free])))
    points = np.repeat(x[:, None], 2 * len(free), axis=1)
    columns = np.arange(len(free))
    points[free, columns] += h
    points[free, columns + len(free)] -= h
    width = points[free, columns] - points[free, columns + len(free)]
    slopes = functions.on(points)[1]
    used = np.flatnonzero(here.weights)
    ahead = np.einsum("k,kbp->bp", here.weights[used], slopes[used])
    return (ahead[:, : len(free)] - ahead[:, len(free) :]) / width


def solved(second: Array, first: Array, slope: Array, values: Array) -> Array:
    """Steps d with second d + first' m = -slope and first d = -values, and the multipliers m over
    the sizes of the rows; the shortest where there are several. `slope` and `values` may have
    columns."""
    rows = len(first)
    size = np.max(np.abs(first), axis=1, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    first, values = first / size[:, None], (values.T / size).T
    matrix = np.block([[(second + second.T) / 2, first.T], [first, np.zeros((rows, rows))]])
    balance = 1 / np.sqrt(np.maximum(np.max(np.abs(matrix), axis=1, initial=0.0), 1e-300))
    right = (-np.concatenate([slope, values]).T * balance).T
    found = np.linalg.lstsq(matrix * balance * balance[:, None], right, rcond=1e-14)[0]
    return np.asarray((found.T * balance).T)


def _stepped(problem: Problem, here: Point) -> Array:
    """One step of Newton's method in the unknowns that are not at a bound. The steep ones among them
    that would go too far go as far as they may, and the others make up for it."""
    rows, free = held(problem, here)
    if not len(free):
        return here.x
    lengths = problem.lengths(here.x)[free]
    second = curvature_at(problem, problem.functions, here, free)[free] * lengths * lengths[:, None]
    first = here.slopes[1:][rows][:, free] * lengths
    slope = (here.weights @ here.slopes)[free] * lengths
    if not all(np.isfinite(x).all() for x in (second, first, slope)):
        return here.x
    left, step = np.ones(len(free), dtype=bool), np.zeros(len(free))
    for _ in range(ROUNDS):
        right = slope + second @ step, here.values[1:][rows] + first @ step
        found = solved(second[np.ix_(left, left)], first[:, left], right[0][left], right[1])
        step[left] = found[: left.sum()]
        whole = np.zeros(len(here.x))
        whole[free] = step * lengths
        kept = _by_factors(problem, here.x, whole)
        far = (kept != whole)[free] & left
        step[far] = (kept[free] / lengths)[far]
        left = left & ~far
        if not far.any():
            break
        step[left] = 0.0
    return _as_far_as_bounds(problem, here.x, kept)


def _by_factors(problem: Problem, x: Array, by: Array) -> Array:
    """A step, in which the way of a steep unknown to its bound changes by no more than a factor."""
    for steep, way, sign in zip(
        problem.steep, (x - problem.low, problem.high - x), (1, -1), strict=True
    ):
        factor = np.exp(np.clip(sign * by / way, -LONGEST, LONGEST))
        small = steep & (way < SMALL * problem.spans)
        by = np.where(small & (np.abs(by) > 0.5 * way), sign * way * (factor - 1), by)
    return by


def _as_far_as_bounds(problem: Problem, x: Array, by: Array) -> Array:
    """Where a step leads, which ends at the first bound that it meets."""
    low, high = problem.inner
    room = np.where(by < 0, (low - x) / by, np.where(by > 0, (high - x) / by, np.inf))
    shrinks = problem.steep[0] & (x - problem.low < SMALL * problem.spans) & (by < 0)
    shrinks |= problem.steep[1] & (problem.high - x < SMALL * problem.spans) & (by > 0)
    room = np.where(shrinks, np.inf, room)
    steep = (problem.steep[0] & (by < 0)) | (problem.steep[1] & (by > 0))
    room = np.where(steep, 0.9 * room, room)  # its bound is not reached by a straight step
    share = min(1.0, float(np.min(room)))
    moved = np.clip(x + share * by, low, high)
    stopped = (room <= share) & ~steep
    return np.where(stopped & (by < 0), low, np.where(stopped & (by > 0), high, moved))
