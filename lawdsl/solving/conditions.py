"""The conditions of Karush, Kuhn and Tucker: multipliers, steps towards them, and what they prove."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import NDArray

from lawdsl.solving.polytopes import Polytope
from lawdsl.solving.problems import Functions, Problem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

NEAR = 1e-8  # of the terms of a condition: so near it is active
AT = 1e-12  # of what an unknown may go: so near to a bound it is there
STEP = 1e-5  # of central differences, relative to a number and to its way to the next bound
STEPS = 60  # of Newton's method at most
LONGEST = 8.0  # e-folds by which one step changes the way to a bound with an infinite slope
SMALL = 1e-3  # of its way: so near to a bound the way of a steep unknown changes by factors
PATIENCE = 4, 25  # steps that bring nothing: usually; on the way to a bound with an infinite slope
RISE = 1e-6  # relative: by so much a step may raise the value, as it meets the constraints
ROUNDS = 6  # of a step in which unknowns turn out to go too far
ROUNDING = 1e-12  # of the terms of a constraint
DONE = 1e-14  # what rounding leaves of slopes


@dataclass(frozen=True)
class Point:
    """A point of a problem and its multipliers, as in `Solution`.

    Attributes:
        x: the unknowns.
        values: the objective and the constraints there.
        slopes: shape (1 + constraints, n).
        multipliers: of the constraints.
        low, high: those of the bounds.
        residual: the largest slope that they leave, relative to those of the objective, both over
            the lengths of the unknowns.
        violation: the largest of a constraint, relative to its terms.
    """

    x: Array
    values: Array
    slopes: Array
    multipliers: Array
    low: Array
    high: Array
    residual: float
    violation: float

    @property
    def wrong(self) -> float:
        """How far it is from meeting the conditions."""
        return max(self.residual, self.violation)

    @property
    def weights(self) -> Array:
        """Those of the objective and the constraints in the Lagrangian."""
        return np.append(1.0, self.multipliers)


def violations(problem: Problem, x: Array) -> Array:
    """By how much each constraint is violated, relative to those of its terms that exceed 1."""
    values, slopes = problem.functions.at(x)
    return over(problem, values) / sizes(x, slopes[1:])


def over(problem: Problem, values: Array) -> Array:
    """By how much each constraint is violated."""
    return np.where(problem.equality, np.abs(values[1:]), np.maximum(values[1:], 0.0))


def sizes(x: Array, slopes: Array) -> Array:
    """How large the terms of each constraint are, at least 1: rounding is relative to them."""
    finite = np.where(np.isfinite(slopes), slopes, 0.0)
    return np.maximum(1.0, np.abs(finite) @ np.abs(x))


def at_bounds(problem: Problem, x: Array) -> tuple[Mask, Mask]:
    """Which unknowns are at their low and at their high bound."""
    low, high = problem.inner
    near_low, near_high = (np.where(steep, 0.0, AT * problem.spans) for steep in problem.steep)
    return x - low <= near_low, high - x <= near_high


def point(problem: Problem, x: Array, apart: Mask | None = None) -> Point:
    """A point with the multipliers that fit best, of the conditions that are active there; the
    slopes by unknowns that stand apart are not looked at."""
    values, slopes = problem.functions.at(x)
    active = ~problem.equality & (values[1:] >= -NEAR * sizes(x, slopes[1:]))
    at_low, at_high = at_bounds(problem, x)
    walled = (at_low & problem.steep[0]) | (at_high & problem.steep[1])  # beyond all other slopes
    used = ~walled if apart is None else ~(walled | apart)
    m, low, high, residual = np.zeros(len(values) - 1), np.zeros(len(x)), np.zeros(len(x)), np.inf
    if np.isfinite(slopes[:, used]).all() and np.isfinite(values).all():
        lengths = problem.lengths(x)[used]
        ends = at_low[used], at_high[used]
        fitted = _fitted(slopes[:, used] * lengths, problem.equality, active, *ends)
        m, low[used], high[used] = fitted[0], fitted[1] / lengths, fitted[2] / lengths
        slope = np.append(1.0, m) @ slopes
        low[walled & at_low], high[walled & at_high] = (
            slope[walled & at_low],
            -slope[walled & at_high],
        )
        scale = max(
            float(np.max(np.abs(slopes[0, used]) * lengths, initial=0.0)), problem.reference
        )
        residual = fitted[3] / (scale or 1.0)
        residual = residual if np.all(low >= 0) and np.all(high >= 0) else np.inf
    worst = float(np.max(violations(problem, x), initial=0.0))
    worst = worst if np.isfinite(worst) else np.inf
    return Point(x, values, slopes, m, low, high, residual, worst)


def _fitted(
    slopes: Array, equality: Mask, active: Mask, at_low: Mask, at_high: Mask
) -> tuple[Array, Array, Array, float]:
    """Multipliers m, l, h with slopes of f + m c = l - h as nearly as can be, and the largest
    difference; l, h and those of inequalities are not negative."""
    goal, rows = slopes[0], slopes[1:]
    eye, free = np.eye(len(goal)), rows[equality]
    signed = np.vstack([rows[active], -eye[at_low], eye[at_high]])
    found = np.zeros(len(signed))
    room = scipy.linalg.null_space(free) if len(free) else eye
    if len(signed) and room.shape[1]:
        size = np.maximum(np.linalg.norm(signed, axis=1), 1e-300)
        found = scipy.optimize.nnls(room.T @ (signed / size[:, None]).T, -(room.T @ goal))[0] / size
    left = goal + found @ signed
    m, low, high = np.zeros(len(rows)), np.zeros(len(goal)), np.zeros(len(goal))
    if len(free):
        m[equality] = np.linalg.lstsq(free.T, -left, rcond=None)[0]
        left = left + m[equality] @ free
    m[active], low[at_low], high[at_high] = np.split(found, np.cumsum([active.sum(), at_low.sum()]))
    return m, low, high, float(np.max(np.abs(left), initial=0.0))


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


def held(problem: Problem, here: Point) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the constraints that hold, and of the unknowns that are not at a bound."""
    rows = np.flatnonzero(problem.equality | (here.multipliers > 0))
    at_low, at_high = at_bounds(problem, here.x)
    return rows, np.flatnonzero(~(at_low | at_high))


def polished(problem: Problem, x: Array) -> Point:
    """The point near x at which the conditions are met to rounding, by Newton's method.

    The way of a steep unknown to its bound changes by factors.
    """
    best = here = point(problem, x)
    limit = best.values[0] + RISE * max(1.0, abs(best.values[0]))  # no saddle
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


def gap(problem: Problem, here: Point) -> float | None:
    """By how much at most the value of a point exceeds the least one, if the problem is convex.

    Convex functions lie above their tangents, so that f + m c, with c <= 0, is at least what the
    tangents at this point reach in the box (the bound of Frank and Wolfe, by duality). It holds
    for any multipliers of the right signs; those of the best linear problem are tried too.
    """
    if not (np.isfinite(here.values).all() and np.isfinite(here.slopes).all()):
        return None
    found = _gap(problem, here, here.multipliers)
    if found > NEAR * max(1.0, abs(float(here.values[0]))):
        found = min(found, _gap(problem, here, _linear_multipliers(problem, here)))
    return max(found, 0.0) if np.isfinite(found) else None


def _gap(problem: Problem, here: Point, multipliers: Array) -> float:
    low, high = problem.polytope.tightened
    slope = here.slopes[0] + multipliers @ here.slopes[1:]
    with np.errstate(invalid="ignore"):
        ends = np.minimum(slope * (low - here.x), slope * (high - here.x))
    reach = np.where(slope == 0, 0.0, ends)
    return float(-np.sum(reach) - multipliers @ here.values[1:])


def _linear_multipliers(problem: Problem, here: Point) -> Array:
    """Multipliers of the problem with all functions replaced by their tangents."""
    low, high = problem.polytope.tightened
    offsets = here.values[1:] - here.slopes[1:] @ here.x
    rows = np.arange(len(offsets))
    tangents = Polytope(low, high, here.slopes[1:], offsets, problem.equality, rows)
    found = tangents.linprog(here.slopes[0])
    multipliers = np.zeros(len(rows))
    if found.status == 0:
        multipliers[~problem.equality] = np.maximum(-found.ineqlin.marginals, 0.0)
        multipliers[problem.equality] = -found.eqlin.marginals
    return multipliers
