"""The best values of several unknowns under constraints, and what certifies them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from lawdsl.solving.conditions import Point, at_bounds, gap, point, polished, violations
from lawdsl.solving.conflicts import explained
from lawdsl.solving.problems import Constraint as Constraint
from lawdsl.solving.problems import Problem as Problem
from lawdsl.solving.problems import Relaxation as Relaxation
from lawdsl.solving.problems import Solution as Solution

Array = NDArray[np.float64]

STARTS = 24  # where the problem is not known to be convex
CORNERS = 6  # corners that starts lie between, at least
INSET = 1e-9  # of its way: how far from a bound with an infinite slope a search stays
FEASIBLE = 1e-9  # of the terms of a constraint: rounding
NEARLY = 1e-6  # the same, of a search that is not polished yet
CLOSED = 1e-9  # relative: a gap so small is one of rounding
SAME = 1e-7  # relative difference of values that counts as the same optimum
SNAP = 1e-10  # of its way: so near to a bound an unknown is put there
ITERATIONS = 300


@np.errstate(all="ignore")  # a step may lead where a law overflows
def minimise(problem: Problem, starts: int | None = None, seed: int = 0) -> Solution:
    """The best point of a problem.

    Args:
        problem: the problem.
        starts: how many searches; one is enough where the problem is convex.
        seed: of the draws of the starts.

    Returns:
        The best point, with its certificates; where nothing is feasible, the point that violates
        the constraints least, and which of them exclude each other.

    Raises:
        LawdslError: an expression that has no real value.
    """
    found = best(problem, starts, seed)
    return explained(problem, best) if found is None else found


def best(problem: Problem, starts: int | None = None, seed: int = 0) -> Solution | None:
    """The best feasible point; None where there is none."""
    if starts is None and problem.convex:
        found = _best(problem, 1, seed)
        return found if found is not None and proved(found) else _best(problem, STARTS, seed)
    return _best(problem, starts or STARTS, seed)


def proved(solution: Solution) -> bool:
    """Whether the value is the least one, to rounding."""
    return solution.gap is not None and solution.gap <= CLOSED * max(1.0, abs(solution.value))


def _best(problem: Problem, starts: int, seed: int) -> Solution | None:
    centre = problem.polytope.centre
    if centre is None:
        return None
    searched = [_searched(problem, x) for x in _starts(problem, centre, starts, seed)]
    met = [x for x in searched if x is not None and _nearly(problem, x)]
    values = np.array([problem.functions.at(x)[0][0] for x in met])
    for k in np.argsort(values):
        end = _finished(problem, met[k])
        if end.violation <= FEASIBLE:
            agreed = int(np.sum(np.abs(values - values[k]) <= SAME * max(1.0, abs(values[k]))))
            return replace(_solution(problem, end), starts=len(searched), agreed=agreed)
    return None


def _solution(problem: Problem, end: Point) -> Solution:
    """What is said of a feasible point."""
    at_low, at_high = at_bounds(problem, end.x)
    x = np.where(at_low, problem.low, np.where(at_high, problem.high, end.x))
    value = float(problem.functions.at(x)[0][0])
    room = gap(problem, end) if problem.convex else None
    names = np.array([s.name for s in problem.unknowns])
    held = [c.name for c, m in zip(problem.constraints, end.multipliers, strict=True)]
    active = (end.multipliers > 0) & ~problem.equality
    return Solution(
        feasible=True,
        x=x,
        value=value,
        multipliers=end.multipliers,
        low=end.low,
        high=end.high,
        active=tuple(name for name, holds in zip(held, active, strict=True) if holds),
        at_low=tuple(names[at_low].tolist()),
        at_high=tuple(names[at_high].tolist()),
        violation=float(np.max(violations(problem, x), initial=0.0)),
        residual=end.residual,
        convex=problem.convex,
        gap=None if room is None else room + max(value - float(end.values[0]), 0.0),
    )


def _nearly(problem: Problem, x: Array) -> bool:
    values = problem.functions.at(x)[0]
    met = np.max(violations(problem, x), initial=0.0) <= NEARLY
    return bool(np.isfinite(values).all() and met)


def _starts(problem: Problem, centre: Array, count: int, seed: int) -> list[Array]:
    """The centre, and points between it and corners of what the affine conditions leave."""
    if count == 1:
        return [centre]
    rng = np.random.default_rng(seed)
    corners = problem.polytope.corners(max(CORNERS, 2 * len(centre)), rng)
    if not corners:  # unbounded
        spread = rng.normal(size=(count - 1, len(centre))) * np.maximum(1.0, np.abs(centre))
        return [centre, *np.clip(centre + spread, *problem.polytope.tightened)]
    shares = rng.dirichlet(np.full(len(corners), 0.3), size=count - 1)
    inside = rng.uniform(0.02, 0.5, size=(count - 1, 1))
    return [centre, *((1 - inside) * (shares @ np.array(corners)) + inside * centre)]


def _searched(problem: Problem, start: Array) -> Array | None:
    """Where sequential quadratic programming leads."""
    low, high = problem.polytope.tightened
    spans = problem.spans
    inset = [np.where(steep, INSET * spans, 0.0) for steep in problem.steep]
    low, high = low + inset[0], np.maximum(low + inset[0], high - inset[1])
    bounds = scipy.optimize.Bounds(low / spans, high / spans)
    x = np.clip(start, low, high)
    values, slopes = problem.functions.at(x)
    if not np.isfinite(values).all():
        return None
    scale = float(np.median(np.abs(slopes[0] * spans))) or float(np.max(np.abs(slopes[0] * spans)))
    scale = scale if 0 < scale < np.inf else 1.0

    def objective(u: Array) -> tuple[float, Array]:
        values, slopes = problem.functions.at(u * spans)
        return float(values[0]) / scale, slopes[0] * spans / scale

    found = scipy.optimize.minimize(
        objective,
        x / spans,
        jac=True,
        method="SLSQP",
        bounds=bounds,
        constraints=_conditions(problem),
        options={"maxiter": ITERATIONS, "ftol": 1e-15},
    )
    x = np.clip(found.x * spans, low, high)
    return x if np.isfinite(x).all() else None


def _conditions(problem: Problem) -> list[dict[str, Any]]:
    """The constraints that are no bounds, as SciPy takes them, in the lengths of the unknowns."""
    spans, equality = problem.spans, problem.equality
    kept = np.ones(len(equality), dtype=bool)
    kept[problem.polytope.rows[~problem.polytope.several]] = False
    made = []
    for kind, rows in (("eq", equality & kept), ("ineq", ~equality & kept)):
        if rows.any():
            sign = 1.0 if kind == "eq" else -1.0
            number = np.flatnonzero(rows)

            def values(u: Array, number: Any = number, sign: float = sign) -> Array:
                return sign * problem.functions.at(u * spans)[0][1:][number]

            def slopes(u: Array, number: Any = number, sign: float = sign) -> Array:
                found = problem.functions.at(u * spans)[1][1:][number]
                return sign * found * spans

            made.append({"type": kind, "fun": values, "jac": slopes})
    return made


def _finished(problem: Problem, x: Array) -> Point:
    """A point at which a search ended, to rounding; what came near to a bound is put there.

    A search stays a little inside of a bound with an infinite slope. Whether the optimum is at the
    bound is seen by the slope of the Lagrangian as near to it as numbers go.
    """
    spans, (low, high) = problem.spans, problem.inner
    reach = [np.where(steep, 2 * INSET, SNAP) * spans for steep in problem.steep]
    near_low, near_high = x - low <= reach[0], high - x <= reach[1]
    ends = np.where(near_low, low, np.where(near_high, high, x))
    steep_low, steep_high = near_low & problem.steep[0], near_high & problem.steep[1]
    weights = point(problem, x, steep_low | steep_high).weights
    slope = weights @ problem.functions.at(ends)[1]
    leaves = (steep_low & (slope <= 0)) | (steep_high & (slope >= 0))
    return polished(problem, np.where(leaves, x, ends))
