"""The best values of several unknowns under constraints, and what certifies them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.several.infeasible import explained
from lawdsl.solving.several.newton import polished
from lawdsl.solving.several.optimality import Point, at_bounds, gap, point, violations
from lawdsl.solving.several.problems import Problem, Solution
from lawdsl.solving.several.searching import INSET, chosen_starts, searched_from

Array = NDArray[np.float64]

LENGTHS = (25, 60, 300)  # steps of a search, where a shorter one did not lead to a proof
STARTS = 24  # where the problem is not known to be convex
FEASIBLE = 1e-9  # of the terms of a constraint: rounding
NEARLY = 1e-6  # the same, of a search that is not polished yet
CLOSED = 1e-9  # relative: a gap so small is one of rounding
SAME = 1e-7  # relative difference of values that counts as the same optimum
ALIKE = 1e-12  # relative: bounds so near to each other leave one value
SNAP = 1e-10  # of its way: so near to a bound an unknown is put there


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
    fixed = settled(problem)
    if fixed:
        return _with(problem, fixed, minimise(without(problem, fixed), starts, seed))
    found = best(problem, starts, seed)
    return explained(problem, best) if found is None else found


def settled(problem: Problem) -> dict[sp.Symbol, float]:
    """Unknowns to which the conditions leave one value; one unknown stays in any case."""
    low, high = problem.polytope.tightened
    alike = np.isfinite(low) & (np.abs(high - low) <= ALIKE * np.maximum(1.0, np.abs(low)))
    ends = zip(problem.unknowns, low.tolist(), alike.tolist(), strict=True)
    found = {symbol: value for symbol, value, fixed in ends if fixed}
    if len(found) == len(problem.unknowns):
        del found[max(found, key=lambda symbol: abs(found[symbol]))]
    return found


def without(problem: Problem, fixed: Mapping[sp.Symbol, float]) -> Problem:
    """The problem in the other unknowns."""
    rest = {symbol: ends for symbol, ends in problem.unknowns.items() if symbol not in fixed}
    return replace(problem, unknowns=rest, values={**problem.values, **fixed})


def _with(problem: Problem, fixed: Mapping[sp.Symbol, float], found: Solution) -> Solution:
    """A solution with the unknowns that were settled, which are at both of their bounds."""
    others = iter(zip(found.x, found.low, found.high, strict=True))
    each = [(fixed[s], 0.0, 0.0) if s in fixed else next(others) for s in problem.unknowns]
    x, low, high = (np.array(column, dtype=np.float64) for column in zip(*each, strict=True))
    names = [s.name for s in problem.unknowns if s in fixed]
    return replace(found, x=x, low=low, high=high, at_low=(*found.at_low, *names))


def best(problem: Problem, starts: int | None = None, seed: int = 0) -> Solution | None:
    """The best feasible point; None where there is none."""
    if starts is None and problem.convex:
        for length in LENGTHS:  # Newton's steps at the end are quicker than a long search
            found = _best(problem, 1, seed, length)
            if found is not None and proved(found):
                return found
        return _best(problem, STARTS, seed, LENGTHS[-1])
    return _best(problem, starts or STARTS, seed, LENGTHS[-1])


def proved(solution: Solution) -> bool:
    """Whether the value is the least one, to rounding."""
    return solution.gap is not None and solution.gap <= CLOSED * max(1.0, abs(solution.value))


def _best(problem: Problem, starts: int, seed: int, length: int) -> Solution | None:
    centre = problem.polytope.centre
    if centre is None:
        return None
    begun = chosen_starts(problem, centre, starts, seed)
    searched = [searched_from(problem, x, length) for x in begun]
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
