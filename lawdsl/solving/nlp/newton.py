"""A point near an optimum -> the point at which the optimality conditions hold up to rounding.

Each step of Newton's method solves the linear system of the Karush-Kuhn-Tucker conditions, [H A'; A
0] [d; m] = -[g; c], with the Hessian H of the Lagrangian and the slopes A of the active constraints
c (Nocedal and Wright (2006), Numerical Optimization, section 18.1). Unknowns close to a bound with
an infinite slope are included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.nlp.kkt import KktPoint, active_set, kkt_point
from lawdsl.solving.nlp.problem import NlpFunctions, NlpProblem

Array = NDArray[np.float64]

# Step of central differences, relative to a number and to its distance from the next bound: near the
# cube root of the machine epsilon, 6e-6, where truncation and rounding balance (Nocedal and Wright
# (2006), Numerical Optimization, section 8.1).
DIFFERENCE_STEP = 1e-5
MAX_NEWTON_STEPS = 60
# Log of the factor by which a step may change the distance from a bound with an infinite slope.
MAX_LOG_STEP = 8.0
# Relative to the span of the unknown: within this distance of a bound with an infinite slope, steps
# change the distance by factors.
STEEP_REGION_SHARE = 1e-3
# Consecutive steps without improvement before the method stops: in general, and with a bound at
# which a slope is infinite.
MAX_IDLE_STEPS = 4, 25
# in the objective's unit: a step towards feasibility may increase the objective by this
MAX_OBJECTIVE_RISE = 1e-6
STEEP_STEP_ROUNDS = 6  # rounds in which steps of steep unknowns that are too long are limited
# Relative to the terms of a constraint: below it, a violation is rounding error.
CONSTRAINT_RTOL = 1e-12
CONVERGED_ERROR = 1e-14  # relative rounding error of slopes in float64


def newton_polish(problem: NlpProblem, x: Array) -> KktPoint:
    """Polish a point by Newton's method until the optimality conditions hold up to rounding.

    The distance of a steep unknown from its bound changes by at most a factor in each step.

    Args:
        problem: the problem in units adapted to x.
        x: the start, shape (n,).

    Returns:
        The point with the smallest error, with its multipliers; x itself if no step improves it.
    """
    best = at_point = kkt_point(problem, x)
    # avoids saddle points
    limit = best.values[0] + MAX_OBJECTIVE_RISE + CONSTRAINT_RTOL * abs(best.values[0])
    idle, patience = 0, MAX_IDLE_STEPS[int(np.any(problem.steep))]
    for _ in range(MAX_NEWTON_STEPS):
        if best.wrong <= CONVERGED_ERROR or idle > patience or not np.isfinite(at_point.wrong):
            break
        at_point = kkt_point(problem, _newton_step(problem, at_point))
        idle = 0 if at_point.wrong < best.wrong / 2 else idle + 1
        met = at_point.violation <= max(best.violation, CONSTRAINT_RTOL)
        lower = at_point.values[0] <= limit
        best = at_point if met and lower and at_point.wrong < best.wrong else best
    return best


def lagrangian_hessian(
    problem: NlpProblem, functions: NlpFunctions, at_point: KktPoint, free: NDArray[np.int64]
) -> Array:
    """Differentiate the slopes of the Lagrangian, by central differences of exact slopes.

    Column j is sum_k w_k (grad c_k(x + h_j e_j) - grad c_k(x - h_j e_j)) / (2 h_j), with the
    objective as c_0 and w_0 = 1.

    Args:
        problem: the problem in units adapted to the point.
        functions: the functions of the problem, with the symbols for differentiation.
        at_point: the point, with its multipliers.
        free: positions of the unknowns that are varied.

    Returns:
        Shape (symbols, free).
    """
    x = at_point.x
    room = np.minimum(x - problem.low, problem.high - x)[free]
    h = DIFFERENCE_STEP * np.minimum(
        room, np.where(np.isfinite(room), problem.spans[free], 1 + np.abs(x[free]))
    )
    points = np.repeat(x[:, None], 2 * len(free), axis=1)
    columns = np.arange(len(free))
    points[free, columns] += h
    points[free, columns + len(free)] -= h
    # the difference of the rounded points, instead of 2 h
    width = points[free, columns] - points[free, columns + len(free)]
    slopes = functions.on(points)[1]
    # a weight of 0 times an infinite slope is nan
    used = np.flatnonzero(at_point.weights)
    ahead = np.einsum("k,kbp->bp", at_point.weights[used], slopes[used])
    return (ahead[:, : len(free)] - ahead[:, len(free) :]) / width


def solve_kkt_system(second: Array, first: Array, slope: Array, values: Array) -> Array:
    """Solve second d + first' m = -slope and first d = -values, by least squares of minimum norm.

    The matrix is balanced first, because rows of very different magnitude would be truncated.

    Args:
        second: the Hessian of the Lagrangian, shape (n, n).
        first: the slopes of the active constraints, shape (rows, n).
        slope: shape (n,) or (n, columns).
        values: shape (rows,) or (rows, columns).

    Returns:
        Steps d, and after them the multipliers m times the sizes of the rows, shape (n + rows,) or
        (n + rows, columns).
    """
    rows = len(first)
    size = np.max(np.abs(first), axis=1, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    first, values = first / size[:, None], (values.T / size).T
    # the Hessian by differences is symmetric only up to rounding
    matrix = np.block([[(second + second.T) / 2, first.T], [first, np.zeros((rows, rows))]])
    balance = 1 / np.sqrt(np.maximum(np.max(np.abs(matrix), axis=1, initial=0.0), 1e-300))
    right = (-np.concatenate([slope, values]).T * balance).T
    # least squares, since dependent active constraints make the matrix singular
    scaled_solution = np.linalg.lstsq(matrix * balance * balance[:, None], right, rcond=1e-14)[0]
    return np.asarray((scaled_solution.T * balance).T)


def _newton_step(problem: NlpProblem, at_point: KktPoint) -> Array:
    """One step of Newton's method in the unknowns that are not at a bound. Steps of steep unknowns
    that would overshoot are limited first, and the step of the others is computed again.
    """
    rows, free = active_set(problem, at_point)
    if not len(free):
        return at_point.x
    lengths = problem.lengths(at_point.x)[free]
    second = (
        lagrangian_hessian(problem, problem.functions, at_point, free)[free]
        * lengths
        * lengths[:, None]
    )
    first = at_point.slopes[1:][rows][:, free] * lengths
    slope = (at_point.weights @ at_point.slopes)[free] * lengths
    if not all(np.isfinite(x).all() for x in (second, first, slope)):
        return at_point.x
    is_unlimited, step = np.ones(len(free), dtype=bool), np.zeros(len(free))
    for _ in range(STEEP_STEP_ROUNDS):
        right = slope + second @ step, at_point.values[1:][rows] + first @ step
        solution = solve_kkt_system(
            second[np.ix_(is_unlimited, is_unlimited)],
            first[:, is_unlimited],
            right[0][is_unlimited],
            right[1],
        )
        step[is_unlimited] = solution[: is_unlimited.sum()]
        full_step = np.zeros(len(at_point.x))
        full_step[free] = step * lengths
        limited_step = _limit_steep_steps(problem, at_point.x, full_step)
        far = (limited_step != full_step)[free] & is_unlimited
        step[far] = (limited_step[free] / lengths)[far]
        is_unlimited = is_unlimited & ~far
        if not far.any():
            break
        step[is_unlimited] = 0.0
    return _truncate_at_bounds(problem, at_point.x, limited_step)


def _limit_steep_steps(problem: NlpProblem, x: Array, step: Array) -> Array:
    """A step in which the distance of a steep unknown to its bound changes by at most a factor."""
    for steep, distance, sign in zip(
        problem.steep, (x - problem.low, problem.high - x), (1, -1), strict=True
    ):
        # a step in the logarithm of the distance, since a straight one would overshoot the bound
        factor = np.exp(np.clip(sign * step / distance, -MAX_LOG_STEP, MAX_LOG_STEP))
        small = steep & (distance < STEEP_REGION_SHARE * problem.spans)
        step = np.where(
            small & (np.abs(step) > 0.5 * distance), sign * distance * (factor - 1), step
        )
    return step


def _truncate_at_bounds(problem: NlpProblem, x: Array, step: Array) -> Array:
    """The end of a step, which is truncated at the first bound that it reaches."""
    low, high = problem.inner
    room = np.where(step < 0, (low - x) / step, np.where(step > 0, (high - x) / step, np.inf))
    shrinks = problem.steep[0] & (x - problem.low < STEEP_REGION_SHARE * problem.spans) & (step < 0)
    shrinks |= (
        problem.steep[1] & (problem.high - x < STEEP_REGION_SHARE * problem.spans) & (step > 0)
    )
    # these steps are multiplicative already and cannot reach the bound
    room = np.where(shrinks, np.inf, room)
    steep = (problem.steep[0] & (step < 0)) | (problem.steep[1] & (step > 0))
    room = np.where(steep, 0.9 * room, room)  # a straight step must not reach its bound
    share = min(1.0, float(np.min(room)))
    destination = np.clip(x + share * step, low, high)
    stopped = (room <= share) & ~steep
    # exactly on the bound, which x + share * step would miss due to rounding
    return np.where(stopped & (step < 0), low, np.where(stopped & (step > 0), high, destination))
