"""A problem -> feasible points at increasing distances, along which its objective decreases.

The problem is evaluated along many paths x(t), on which unknowns without a bound grow as powers t^p
or as log t. A path is reported from computed points: it is not a proof that the objective is
unbounded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.nlp.problem import NlpProblem, UnboundedPath

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

PATH_COUNT = 2000
PLAIN_PATHS = 64  # paths on which each unknown either grows as t or is constant
PATH_TIMES = 10.0 ** np.arange(0, 61, 2)  # values of t
GROWTH_EXPONENTS = (0.0, -1.0, 0.25, 0.5, 1.0, 1.0, 1.0)  # powers of t; -1 for its logarithm
# A decrease must continue to this magnitude of an unknown or of the value, which no choice of units
# explains.
UNBOUNDED_SIZE = 1e30
MIN_FALL_STEPS = 7  # steps of two decades each, over which a decrease must continue
MIN_STEP_RATIO = 0.99  # least ratio of the decreases in consecutive steps
NUDGE_SIZE = 1e-7  # relative displacement of a point, to detect values dominated by rounding errors
MAX_NUDGE_CHANGE = 1e-3  # relative: the value at a displaced point differs by no more
CURVED_PROJECTIONS = 8  # Newton steps that project a point onto curved equalities
# Relative to the terms of an equality: below it, a violation is rounding error.
EQUALITY_RTOL = 1e-9
MAX_START = 1e9  # largest distance at which a path starts
MAX_REPORTED_POINTS = 3  # points of a path that are reported


def find_unbounded_path(
    problem: NlpProblem, x: Array, best: float, seed: int
) -> UnboundedPath | None:
    """Search for a path along which a problem has no minimum.

    Args:
        problem: the problem, in the units of its expressions.
        x: the best point that is known, shape (n,).
        best: the value at x; infinite if it is not feasible.
        seed: the seed of the random paths.

    Returns:
        The path; None if none of those tried qualifies.
    """
    ends = problem.polytope.tightened
    open_ends = np.isinf(ends[1]), np.isinf(ends[0])
    if not (open_ends[0] | open_ends[1]).any():
        return None
    points = _draw_paths(problem, x, open_ends, np.random.default_rng(seed))
    n, paths, times = points.shape
    if set(np.flatnonzero(problem.equality)) - set(problem.polytope.rows.tolist()):
        points = _project_on_equalities(problem, points.reshape(n, -1)).reshape(points.shape)
    values, slopes = problem.functions.on(points.reshape(n, -1))
    is_feasible = _feasible_points(problem, points.reshape(n, -1), values, slopes).reshape(
        paths, times
    )
    goal = values[0].reshape(paths, times)
    is_finite = is_feasible & np.isfinite(goal)
    # a path is followed up to overflow, which must be the only reason to stop
    beyond = np.isinf(np.abs(values)).any(axis=0).reshape(paths, times) | ~np.isfinite(goal)
    nudge = np.where(open_ends[0] | open_ends[1], 1 + NUDGE_SIZE, 1.0)[:, None]
    # a real decrease also occurs at a nearby point, but one due to rounding errors does not
    nudged = problem.functions.on(points.reshape(n, -1) * nudge)[0][0]
    smooth = np.abs(nudged.reshape(paths, times) - goal)
    candidates: list[tuple[float, bool, int, int]] = []
    for k in range(paths):
        out = np.flatnonzero(beyond[k])
        end = int(out[0]) if len(out) else times
        if not end or not is_finite[k, end - 1]:
            continue
        low = float(goal[k, end - 1])
        far = np.max(np.abs(points[:, k, end - 1]), where=open_ends[0] | open_ends[1], initial=0.0)
        if far < UNBOUNDED_SIZE and abs(low) < UNBOUNDED_SIZE:
            continue
        endless = _falls_without_bound(goal[k, :end], is_finite[k, :end], smooth[k, end - 1])
        if endless or _approaches_lower_value(
            goal[k, :end], is_finite[k, :end], smooth[k, end - 1], best
        ):
            candidates.append((low, endless, k, end))
    if not candidates:
        return None
    endless = any(one[1] for one in candidates)
    plain = [one for one in candidates if one[1] == endless]
    _, _, k, end = min(
        plain, key=lambda one: (one[2] >= PLAIN_PATHS, one[2] if one[2] < PLAIN_PATHS else one[0])
    )
    falling = _descent_start(goal[k, :end], is_finite[k, :end])
    reported = np.unique(
        np.linspace(falling, end - 1, 2 * MAX_REPORTED_POINTS).round().astype(int)
    )[:MAX_REPORTED_POINTS]
    return UnboundedPath(points[:, k, reported].T, goal[k, reported], endless)


def _descent_start(goal: Array, is_finite: Mask) -> int:
    """The index of the point from which a path is feasible and the objective decreases."""
    rises = np.flatnonzero((np.diff(goal) > 0) | ~is_finite[1:] | ~is_finite[:-1])
    return int(rises[-1]) + 1 if len(rises) else 0


def _falls_without_bound(goal: Array, is_finite: Mask, smooth: float) -> bool:
    """Whether the value decreases in each of the last decades by as much as in the one before, and
    not due to rounding errors, which would differ at a nearby point.
    """
    if len(goal) < MIN_FALL_STEPS or not is_finite[-MIN_FALL_STEPS:].all():
        return False
    drops = -np.diff(goal[-MIN_FALL_STEPS:])
    steady = np.all(drops > 0) and np.all(drops[1:] >= MIN_STEP_RATIO * drops[:-1])
    return bool(steady and smooth <= MAX_NUDGE_CHANGE * abs(goal[-1]))


def _approaches_lower_value(goal: Array, is_finite: Mask, smooth: float, best: float) -> bool:
    """Whether the value never increases from some decade on, and ends below the best known one."""
    falling = goal[_descent_start(goal, is_finite) :]
    rounding = 1e-13 * abs(best) if np.isfinite(best) else 0.0
    if len(falling) < MIN_FALL_STEPS or not goal[-1] < best - rounding:
        return False
    return bool(
        np.sum(np.diff(falling) < 0) >= 2
        and smooth <= MAX_NUDGE_CHANGE * (falling[0] - falling[-1])
    )


def _feasible_points(problem: NlpProblem, points: Array, values: Array, slopes: Array) -> Mask:
    """The mask of points that satisfy all constraints, inequalities without tolerance."""
    is_feasible: Mask = np.all(values[1:][~problem.equality] <= 0, axis=0)
    if problem.equality.any():
        abs_slopes = np.abs(np.nan_to_num(slopes[1:][problem.equality]))
        terms = np.einsum("kip,ip->kp", abs_slopes, np.abs(points))
        is_feasible &= np.all(np.abs(values[1:][problem.equality]) <= EQUALITY_RTOL * terms, axis=0)
    return is_feasible


def _draw_paths(
    problem: NlpProblem, x: Array, ends: tuple[Mask, Mask], rng: np.random.Generator
) -> Array:
    """Points along paths, shape (n, paths, times)."""
    low, high = problem.polytope.tightened
    n = len(low)
    endless = ends[0] | ends[1]
    sign = np.where(ends[0] & ends[1], 0.0, np.where(ends[0], 1.0, -1.0))[:, None]
    sign = np.where(sign == 0, rng.choice([-1.0, 1.0], size=(n, PATH_COUNT)), sign)
    growth = rng.choice(GROWTH_EXPONENTS, size=(n, PATH_COUNT))
    alike = rng.random(PATH_COUNT) < 0.5  # half of the paths are straight
    growth[:, alike] = rng.choice([0.0, 1.0, 1.0], size=(n, int(alike.sum())))
    factor = 10 ** rng.uniform(-2, 2, size=(n, PATH_COUNT))
    factor = np.where(rng.random((n, PATH_COUNT)) < 0.4, 1.0, factor) * sign
    growth[:, :PLAIN_PATHS] = np.where(
        _growth_choices(n), 1.0, 0.0
    )  # the simplest first: each unknown grows as t, or is constant
    factor[:, :PLAIN_PATHS] = np.sign(factor[:, :PLAIN_PATHS])
    factor = np.where(endless[:, None] & (growth != 0), factor, 0.0)
    start = np.where(np.abs(x) < MAX_START, x, 0.0)[:, None]
    between = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        span = np.where(between, high - low, 0.0)
    drawn = np.where(between, low, 0.0)[:, None] + rng.random((n, PATH_COUNT)) * span[:, None]
    elsewhere = between[:, None] & (rng.random(PATH_COUNT) < 0.5)
    base = np.where(elsewhere, drawn, start)
    factor = _keep_affine_equalities(problem, factor, growth)
    power = growth[:, :, None]
    grown = np.where(power < 0, np.log1p(PATH_TIMES), PATH_TIMES ** np.maximum(power, 0.0))
    points = base[:, :, None] + factor[:, :, None] * grown
    return np.asarray(np.clip(points, low[:, None, None], high[:, None, None]))


def _project_on_equalities(problem: NlpProblem, points: Array) -> Array:
    """Move points onto nonaffine equalities by Newton steps of minimum relative norm. Points that
    do not converge are returned unchanged.
    """
    low, high = problem.polytope.tightened
    rows = np.flatnonzero(problem.equality)
    for _ in range(CURVED_PROJECTIONS):
        values, slopes = problem.functions.on(points)
        over, equality_slopes = np.nan_to_num(values[1:][rows]), np.nan_to_num(slopes[1:][rows])
        lengths = np.maximum(np.abs(points), 1.0)
        scaled = np.einsum("kip,ip->pki", equality_slopes, lengths)
        size = np.maximum(np.linalg.norm(scaled, axis=2), 1e-300)
        back = np.linalg.pinv(np.nan_to_num(scaled / size[:, :, None]), rcond=1e-9)
        step = np.einsum("pik,kp->ip", back, np.nan_to_num(over / size.T)) * lengths
        clipped = np.clip(points - step, low[:, None], high[:, None])
        points = np.where(np.isfinite(clipped), clipped, points)
    return points


def _growth_choices(n: int) -> Mask:
    """The mask of unknowns that grow on the simple paths, shape (n, PLAIN_PATHS): one, then
    several.
    """
    alone = np.eye(n, dtype=bool)[:, : PLAIN_PATHS // 2]
    # a fixed seed: the simple paths are the same for every seed of the question
    more = np.random.default_rng(0).random((n, PLAIN_PATHS - alone.shape[1])) < 0.6
    return np.hstack([alone, more])


def _keep_affine_equalities(problem: NlpProblem, factor: Array, growth: Array) -> Array:
    """Modify straight paths so that they satisfy affine equalities."""
    polytope = problem.polytope
    a = polytope.slopes[polytope.equality]
    if not len(a):
        return factor
    moves = np.where((growth == 1.0) & (factor != 0), factor, 0.0)
    return np.asarray(moves - np.linalg.pinv(a) @ (a @ moves))
