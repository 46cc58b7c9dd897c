"""A stationary point -> lower feasible points around it, and distant ones of equal value.

A gradient-based search stops at a saddle point, and makes little progress where the objective has a
kink. Here the objective is evaluated in many directions at many distances: directions of negative
curvature of the Lagrangian within the active constraints first (Nocedal and Wright (2006),
Numerical Optimization, section 12.5), then random ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from lawdsl.solving.nlp.kkt import KktPoint, active_set, kkt_point
from lawdsl.solving.nlp.newton import lagrangian_hessian, newton_polish
from lawdsl.solving.nlp.problem import NlpProblem

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

RANDOM_DIRECTIONS = 24  # each direction is used in both senses
STEP_LENGTHS: Array = np.logspace(-26.0, 6.0, 33, base=2.0)  # in units adapted to the point
# For the test whether equally good points are far away: in a convex problem, a distant point is
# equally good only if all points in between are.
LONG_STEP_LENGTHS: Array = STEP_LENGTHS[STEP_LENGTHS >= 0.125]
MIN_DECREASE = 1e-9  # in the objective's unit: a larger decrease is not rounding error
EQUAL_OBJECTIVE = 1e-11  # in the objective's unit: a point no worse than this is equally good
# In the objective's unit: where rounding errors are larger, equal values do not show equal optima.
MAX_EQUALITY_ROUNDING = 1e-8
# In units of the unknowns: an equally good point at this distance is another optimum.
DISTINCT_POINT_DISTANCE = 0.1
AXIS_MAGNITUDES = 10.0 ** np.arange(-12, 13, 0.0625)  # in the question's units
AXIS_SHARES = np.linspace(0.0, 4.0, len(AXIS_MAGNITUDES))  # relative to the value of an unknown
MAX_DESCENT_ROUNDS = 40  # moves to the lowest point of a neighbourhood
# Relative to the terms of a constraint: permitted violation of a point of the neighbourhood.
NEARBY_FEASIBILITY_RTOL = 1e-10
FLOAT_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Neighbourhood:
    """Points around a point, in the units of its problem.

    Attributes:
        lowest: the lowest feasible point; None if none is lower.
        alike: the furthest feasible point of equal value, at least at the distance FAR; None if
            there is none.
    """

    lowest: Array | None
    alike: Array | None


def explore_neighbourhood(
    problem: NlpProblem,
    at_point: KktPoint,
    seed: int = 0,
    least: float = MIN_DECREASE,
    steps: Array = STEP_LENGTHS,
) -> Neighbourhood:
    """Evaluate the objective around a feasible point.

    Args:
        problem: the problem in units that suit the point.
        at_point: the point.
        seed: the seed of the directions.
        least: the smallest decrease that counts, in the objective's unit.
        steps: lengths of the steps in each direction, shape (steps,), in units that suit the point.

    Returns:
        The lowest feasible point, and a distant one of equal value.
    """
    directions = _directions(problem, at_point, np.random.default_rng(seed))
    displacements = (directions[:, :, None] * steps).reshape(len(at_point.x), -1)
    points = np.clip(
        at_point.x[:, None] + displacements, problem.low[:, None], problem.high[:, None]
    )
    base = float(at_point.values[0])
    rounding = 4 * FLOAT_EPS * abs(base)
    goal = _objective(problem, points, base + EQUAL_OBJECTIVE + rounding)
    best = int(np.argmin(goal))
    lowest = points[:, best] if goal[best] < base - least - rounding else None
    # measured after clipping, since a step that a bound truncates may not lead away at all
    away = np.max(np.abs(points - at_point.x[:, None]), axis=0)
    alike = (
        (goal <= base + EQUAL_OBJECTIVE + rounding)
        & (away >= DISTINCT_POINT_DISTANCE)
        & (rounding <= MAX_EQUALITY_ROUNDING)
    )
    furthest = int(np.argmax(np.where(alike, away, -1.0)))
    return Neighbourhood(lowest, points[:, furthest] if alike.any() else None)


def search_axes(problem: NlpProblem, at_point: KktPoint) -> Array | None:
    """Search along each axis: one unknown takes values in its range while the others are fixed.

    Unknowns without two bounds take values of all magnitudes, since a search that starts at other
    magnitudes than those of the best point may end at a worse one.

    Args:
        problem: the problem in units that suit the point.
        at_point: the point.

    Returns:
        The lowest feasible point, shape (n,); None if none is lower than the given one.
    """
    n, each = len(at_point.x), 2 * len(AXIS_MAGNITUDES)
    points = np.repeat(at_point.x[:, None], n * each, axis=1)
    ends = zip(problem.low.tolist(), problem.high.tolist(), strict=True)
    assert problem.units is not None
    for i, (low, high) in enumerate(ends):
        far = AXIS_MAGNITUDES / problem.units.unknowns[i]
        if np.isfinite(low) and np.isfinite(high):
            coordinates = np.linspace(low, high, each)
        elif np.isfinite(low):
            coordinates = low + np.concatenate([far, at_point.x[i] * AXIS_SHARES])
        elif np.isfinite(high):
            coordinates = high - np.concatenate([far, at_point.x[i] * AXIS_SHARES])
        else:
            coordinates = np.concatenate([far, -far])
        points[i, i * each : (i + 1) * each] = np.clip(coordinates, low, high)
    base = float(at_point.values[0])
    goal = _objective(problem, points, base)
    best = int(np.argmin(goal))
    return points[:, best] if goal[best] < base - MIN_DECREASE - 4 * FLOAT_EPS * abs(base) else None


def _objective(problem: NlpProblem, points: Array, most: float) -> Array:
    """The objective at points, shape (points,); infinite where it exceeds `most`, is undefined, or
    a constraint is violated. Constraints and slopes are evaluated only where it does not exceed
    `most`.
    """
    goal = problem.functions.values_on(points)[0]
    # few points are lower, and slopes cost several times as much as a value
    low = np.flatnonzero(goal <= most)
    feasible = np.full(len(goal), np.inf)
    if len(low):
        values, slopes = problem.functions.on(points[:, low])
        is_feasible = _are_feasible(problem, points[:, low], values, slopes)
        feasible[low[is_feasible]] = values[0, is_feasible]
    return feasible


def _are_feasible(problem: NlpProblem, points: Array, values: Array, slopes: Array) -> Mask:
    """The mask of points that are feasible to NEARBY_FEASIBILITY_RTOL and have a defined objective."""
    over = np.where(problem.equality[:, None], np.abs(values[1:]), np.maximum(values[1:], 0.0))
    change = np.abs(_zero_if_infinite(slopes[1:]))
    size = np.einsum("kip,ip->kp", change, np.abs(points))
    size = np.maximum(size, _zero_if_infinite(problem.terms_on(points)))
    return np.asarray(
        np.all(over <= NEARBY_FEASIBILITY_RTOL * size, axis=0) & np.isfinite(values[0])
    )


def _zero_if_infinite(x: Array) -> Array:
    return np.where(np.isfinite(x), x, 0.0)


def _directions(problem: NlpProblem, at_point: KktPoint, rng: np.random.Generator) -> Array:
    """Directions that satisfy equations and active constraints to first order, or lead into the
    interior; shape (n, directions).
    """
    n = len(at_point.x)
    drawn = rng.normal(size=(n, RANDOM_DIRECTIONS))
    drawn /= np.linalg.norm(drawn, axis=0)
    free = np.hstack([np.eye(n), drawn, _negative_curvature_directions(problem, at_point)])
    equations = _zero_if_infinite(at_point.slopes[1:][problem.equality])
    active = _zero_if_infinite(at_point.slopes[1:][problem.equality | (at_point.multipliers > 0)])
    projected = [_project_on_null_space(free, equations)]
    if len(active) > len(equations):
        projected.append(_project_on_null_space(free, active))
    both = np.hstack(projected)
    return np.hstack([both, -both])


def _project_on_null_space(directions: Array, rows: Array) -> Array:
    """Project directions onto the null space of the given gradients."""
    if not len(rows):
        return directions
    room = scipy.linalg.null_space(rows)
    projected: Array = room @ (room.T @ directions)
    return projected


def _negative_curvature_directions(problem: NlpProblem, at_point: KktPoint) -> Array:
    """Directions of negative curvature of the Lagrangian within the active constraints, shape (n,
    directions)."""
    rows, free = active_set(problem, at_point)
    n = len(at_point.x)
    if not len(free):
        return np.zeros((n, 0))
    second = lagrangian_hessian(problem, problem.functions, at_point, free)[free]
    if not np.isfinite(second).all():
        return np.zeros((n, 0))
    room = scipy.linalg.null_space(_zero_if_infinite(at_point.slopes[1:][rows][:, free]))
    room = room if len(rows) else np.eye(len(free))
    if not room.shape[1]:
        return np.zeros((n, 0))
    eigenvalues, eigenvectors = np.linalg.eigh(room.T @ ((second + second.T) / 2) @ room)
    directions = np.zeros((n, int(np.sum(eigenvalues < 0))))
    directions[free] = room @ eigenvectors[:, eigenvalues < 0]
    return directions


def descend_nearby(
    problem: NlpProblem, at_point: KktPoint, converged: float, seed: int = 0
) -> KktPoint:
    """Descend by moving repeatedly to the lowest point of the neighbourhood.

    Newton's method is tried again from lower points, after 1, 2, 4, 8, … steps: close to an optimum
    without a kink it converges immediately.

    Args:
        problem: the problem in units that suit the point.
        at_point: a feasible point.
        converged: the largest residual at which Newton's method has converged.
        seed: the seed of the directions.

    Returns:
        The last point, in the problem's units.
    """
    for k in range(MAX_DESCENT_ROUNDS):
        lowest = explore_neighbourhood(problem, at_point, seed + k, least=0.0).lowest
        if lowest is None:
            break
        at_point = kkt_point(problem, lowest)
        if k & (k + 1) == 0:
            last = newton_polish(problem, lowest)
            is_feasible = last.violation <= max(at_point.violation, NEARBY_FEASIBILITY_RTOL)
            if is_feasible and last.residual <= converged and last.values[0] <= at_point.values[0]:
                return last
    return at_point
