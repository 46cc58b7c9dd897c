"""A problem -> the starting points of searches, which cover its domain over all magnitudes.

A cloud of scrambled Sobol points, which have low discrepancy (Sobol (1967), USSR Computational
Mathematics and Mathematical Physics 7), covers every unknown, unbounded ones over many decades.
Searches start at points of the cloud that are better than their neighbours, at some points that are
merely far apart, and between the vertices of the polytope of the affine conditions.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.spatial
from numpy.typing import NDArray

from lawdsl.solving.nlp.problem import NlpProblem

Array = NDArray[np.float64]

MIN_CORNERS = 6  # least number of vertices between which starts are drawn
CLOUD_SIZE = 1024  # points of a cloud
# Unknowns with an infinite bound are spread over this many decades on each side of 1.
WIDE_DECADES, NARROW_DECADES = 14.0, 2.5
NEIGHBOURS = 8  # nearest neighbours than which a promising point is not worse
MAX_REPAIR_STEPS = 12  # Gauss-Newton steps towards the constraints
AFFINE_PROJECTIONS = 3  # onto affine equalities and back into the box


@dataclass(frozen=True)
class PointCloud:
    """Points of a problem, in the units of its expressions.

    Attributes:
        points: shape (n, points).
        unit_points: the points in the unit cube.
        values: the values of the objective, shape (points,); inf where it is undefined.
        violations: the largest violation of a constraint, in units adapted to a central point of
            the domain, shape (points,); 0 if all are satisfied, inf if one is undefined.
    """

    points: Array
    unit_points: Array
    values: Array
    violations: Array

    def order(self) -> NDArray[np.intp]:
        """Positions of the points, the best first: feasible points by value, others by violation."""
        return np.lexsort((self.values, self.violations))


def point_cloud(problem: NlpProblem, seed: int, size: int = CLOUD_SIZE) -> PointCloud:
    """Distribute points over the box of a problem.

    Args:
        problem: the problem.
        seed: the seed of the scrambling.
        size: the number of points.

    Returns:
        The points, with the objective and the violations there.
    """
    from scipy.stats.qmc import Sobol  # its import takes longer than most questions

    low, high = problem.polytope.tightened
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns about dimensions without direction numbers
        unit_points = Sobol(len(low), seed=seed).random(size).T
    decades = np.where(np.arange(size) % 2 == 0, NARROW_DECADES, WIDE_DECADES)
    points = np.array(
        [_points_in_range(*each, decades) for each in zip(unit_points, low, high, strict=True)]
    )
    points = np.where(problem.decades[:, None], _log_uniform(unit_points, low, high), points)
    points = _project_on_affine_equalities(problem, points)
    values = problem.functions.on(points)[0]
    usable = np.isfinite(values).all(axis=0)
    return PointCloud(
        points,
        unit_points,
        np.where(usable, values[0], np.inf),
        np.where(usable, largest_violations(problem, values), np.inf),
    )


def largest_violations(problem: NlpProblem, values: Array) -> Array:
    """Return the largest violation at each point, relative to the median size of each constraint.

    Args:
        problem: the problem.
        values: the objective and the constraints, shape (1 + constraints, points).

    Returns:
        Shape (points,); inf where a constraint is undefined.
    """
    over = np.where(problem.equality[:, None], np.abs(values[1:]), np.maximum(values[1:], 0.0))
    if not len(over):
        return np.zeros(values.shape[1])
    finite = np.where(np.isfinite(over), np.abs(values[1:]), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a constraint that is undefined everywhere
        # a median, since a few points of the cloud are many decades away
        median_size = np.nanmedian(finite, axis=1)
    median_size = np.where(np.isfinite(median_size) & (median_size > 0), median_size, 1.0)
    largest: Array = np.max(over / median_size[:, None], axis=0)
    return largest


def _points_in_range(share: Array, low: float, high: float, decades: Array) -> Array:
    """Values in an unknown's range, for shares of it: evenly spaced between two ends, else over
    decades of magnitude.
    """
    if np.isfinite(low) and np.isfinite(high):
        return np.asarray(low + share * (high - low))
    if np.isfinite(low):
        return np.asarray(low + max(1.0, abs(low)) * 10 ** (decades * (2 * share - 1)))
    if np.isfinite(high):
        return np.asarray(high - max(1.0, abs(high)) * 10 ** (decades * (2 * share - 1)))
    sign = np.where(share < 0.5, -1.0, 1.0)
    return np.asarray(sign * 10 ** (decades * (2 * np.abs(2 * share - 1) - 1)))


def _log_uniform(unit_points: Array, low: Array, high: Array) -> Array:
    """Points that are evenly distributed in the logarithm between the bounds."""
    with np.errstate(all="ignore"):
        points: Array = low[:, None] * (high / low)[:, None] ** unit_points
    return points


def _project_on_affine_equalities(problem: NlpProblem, points: Array) -> Array:
    """Points projected onto the affine equalities, and clipped to the box."""
    polytope = problem.polytope
    low, high = polytope.tightened
    if not polytope.equality.any():
        return points
    columns, rows = polytope.natural
    a = (polytope.slopes * columns / rows[:, None])[polytope.equality]
    b = (polytope.offsets / rows)[polytope.equality, None]
    back = np.linalg.pinv(a)
    for _ in range(AFFINE_PROJECTIONS):
        points = points - columns[:, None] * (back @ (a @ (points / columns[:, None]) + b))
        points = np.clip(points, low[:, None], high[:, None])
    return points


def choose_starts(
    problem: NlpProblem, centre: Array, count: int, seed: int, cloud: PointCloud | None = None
) -> list[Array]:
    """Choose the points at which searches start.

    Args:
        problem: the problem.
        centre: the centre of the polytope of the affine conditions, shape (n,); the first start.
        count: the number of starts.
        seed: the seed of the random draws.
        cloud: a cloud of points of the problem; computed if not given.

    Returns:
        Points of shape (n,), in the units of the expressions.
    """
    if count == 1:
        return [centre]
    between = _between_corners(problem, centre, (count - 1) // 3, seed)
    chosen = [centre, *between]
    cloud = point_cloud(problem, seed) if cloud is None else cloud
    for k in _promising_points(cloud, count - len(chosen)):
        x = cloud.points[:, k]
        chosen.append(repair(problem, x) if cloud.violations[k] > 0 else x)
    return chosen


def _between_corners(problem: NlpProblem, centre: Array, count: int, seed: int) -> list[Array]:
    """Points between the centre and vertices of the affine feasible set; none if unbounded."""
    if not np.isfinite(problem.polytope.tightened).all():
        return []
    rng = np.random.default_rng(seed)
    corners = problem.polytope.corners(max(MIN_CORNERS, 2 * len(centre)), rng)
    if not corners:
        return []
    # exponent below 1: points near the corners, where linear trade-offs have their optima
    shares = rng.dirichlet(np.full(len(corners), 0.3), size=count)
    inside = rng.uniform(0.02, 0.5, size=(count, 1))
    return list((1 - inside) * (shares @ np.array(corners)) + inside * centre)


def _promising_points(cloud: PointCloud, count: int) -> list[int]:
    """Positions of points: two thirds are better than their neighbours, the others are the first
    of the sequence."""
    order = cloud.order()
    usable = order[np.isfinite(cloud.violations[order])]
    if not len(usable):
        return []
    rank = np.empty(len(order), dtype=int)
    rank[order] = np.arange(len(order))
    usable_points = cloud.unit_points.T[usable]
    near = scipy.spatial.cKDTree(usable_points).query(
        usable_points, k=min(NEIGHBOURS + 1, len(usable))
    )[1]
    near = near.reshape(len(usable), -1)
    best = usable[rank[usable] <= np.min(rank[usable][near], axis=1)]
    first = np.sort(usable)
    chosen = dict.fromkeys(best[: 2 * count // 3].tolist())
    chosen |= dict.fromkeys(first[: max(count - len(chosen), 0)].tolist())
    return list(chosen)[:count]


def repair(problem: NlpProblem, x: Array) -> Array:
    """Move a point towards the constraints that it violates, by Gauss-Newton steps.

    Each step is the d of minimum norm that minimises |v + J d|, with the violations v and their
    Jacobian J (Nocedal and Wright (2006), Numerical Optimization, section 10.3), truncated at the
    bounds.

    Args:
        problem: the problem.
        x: the point, shape (n,), in the units of the expressions.

    Returns:
        The point with the smallest violation, shape (n,).
    """
    low, high = problem.polytope.tightened
    # a step may increase a violation, so the best point is stored
    best, least = x, np.inf
    for _ in range(MAX_REPAIR_STEPS):
        scaled = problem.in_units_at(x)
        assert scaled.units is not None
        u = x / scaled.units.unknowns
        values, slopes = scaled.functions.at(u)
        over = np.where(scaled.equality, values[1:], np.maximum(values[1:], 0.0))
        worst = float(np.max(np.abs(over), initial=0.0))
        if not np.isfinite(worst) or not np.isfinite(slopes[1:]).all():
            break
        if worst < least:
            best, least = x, worst
        rows = np.abs(over) > 0
        if least <= 1e-9 or not rows.any():
            break
        step = np.linalg.lstsq(slopes[1:][rows], -over[rows], rcond=1e-8)[0]
        x = np.clip((u + step) * scaled.units.unknowns, low, high)
    return best
