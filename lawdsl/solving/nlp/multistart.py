"""The best values of several unknowns under constraints, and what certifies them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.nlp.exclusion import no_point
from lawdsl.solving.nlp.infeasibility import explained
from lawdsl.solving.nlp.kkt import WEAK, Point, at_bounds, gap, relative, sizes
from lawdsl.solving.nlp.local_search import (
    FEASIBLE,
    ROUNDING,
    SHORT,
    End,
    Place,
    is_feasible,
    nearly_feasible,
    optimum,
    search,
    violations_for_certain,
)
from lawdsl.solving.nlp.perturbation import LONG_STEPS, STEPS, along_axes, around
from lawdsl.solving.nlp.problem import Fall, Problem, Solution, middle
from lawdsl.solving.nlp.starts import chosen_starts, repaired
from lawdsl.solving.nlp.unboundedness import fall

Array = NDArray[np.float64]

LENGTHS = (25, 60, 300)  # steps of a search, where a shorter one did not lead to a proof
STARTS = 24  # where the problem is not known to be convex
FEW_BOXES = 8  # on which it is looked whether a point can be feasible at all
CLOSED = 1e-9  # of the unit of the objective: a gap so small is one of rounding
SAME = 1e-8  # of the unit of the objective: optima that differ by no more are equally good
RIVAL = 1e-2  # of the unit of the objective: so near to the best value searches are finished
MOST_PLACES = 12  # that are told apart
DESCENTS = 6  # from a saddle to the next
ALIKE = 1e-12  # relative: bounds so near to each other leave one value


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
    if no_point(problem, FEW_BOXES):
        return explained(problem, best, seed)
    found = best(problem, starts, seed)
    if found is None:
        way = fall(problem, middle(problem.low, problem.high), np.inf, seed)
        if way is not None:
            return _falling(problem, way)
        found = explained(problem, best, seed)
    if not found.feasible or proved(found):
        return found
    return replace(found, fall=fall(problem, found.x, found.value, seed))


def _falling(problem: Problem, way: Fall) -> Solution:
    """A solution that is nothing but points further and further out."""
    nothing = np.zeros(len(problem.constraints)), np.zeros(len(way.points[0]))
    x, value = way.points[0], float(way.values[0])
    return Solution(True, x, value, *nothing, nothing[1], residual=np.inf, agreed=0, fall=way)


def settled(problem: Problem) -> dict[sp.Symbol, float]:
    """Unknowns to which the conditions leave one value; one unknown stays in any case."""
    low, high = problem.polytope.tightened
    size = np.maximum(np.abs(low), np.abs(high))
    alike = np.isfinite(low) & np.isfinite(high)
    room = np.maximum(ALIKE * size, problem.polytope.rounding)
    alike[alike] = np.abs(high - low)[alike] <= room[alike]
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
    kept = np.array([symbol not in fixed for symbol in problem.unknowns])
    values = np.array([fixed.get(symbol, 0.0) for symbol in problem.unknowns])

    def whole(x: Array, rest: Array) -> Array:
        filled = np.broadcast_to(rest, (*x.shape[:-1], len(rest))).copy()
        filled[..., kept] = x
        return filled

    names = [s.name for s in problem.unknowns if s in fixed]
    nothing = np.zeros(len(kept))
    way = found.fall
    return replace(
        found,
        x=whole(found.x, values),
        low=whole(found.low, nothing),
        high=whole(found.high, nothing),
        at_low=(*found.at_low, *names),
        others=tuple(whole(x, values) for x in found.others),
        flat=None if found.flat is None else whole(found.flat, values),
        usual=None if found.usual is None else whole(found.usual, np.ones(len(kept))),
        fall=None if way is None else replace(way, points=whole(way.points, values)),
    )


def best(
    problem: Problem, starts: int | None = None, seed: int = 0, also: Sequence[Array] = ()
) -> Solution | None:
    """The best feasible point; None where none was found.

    Args:
        problem: the problem.
        starts: how many searches; as many as it takes if not given.
        seed: of the draws of the starts.
        also: further points to start at.
    """
    if starts is None and problem.convex:
        for length in LENGTHS:  # Newton's steps at the end are quicker than a long search
            found = _best(problem, 1, seed, length, (), descend=False)
            if found is not None and proved(found):
                return found
        return _best(problem, STARTS, seed, SHORT, also)
    return _best(problem, starts or STARTS, seed, SHORT, also)


def proved(solution: Solution) -> bool:
    """Whether the value is the least one, to rounding."""
    rounding = ROUNDING * abs(solution.value)
    return solution.gap is not None and solution.gap <= CLOSED * solution.unit + rounding


def _best(
    problem: Problem,
    starts: int,
    seed: int,
    length: int,
    also: Sequence[Array],
    *,
    descend: bool = True,
) -> Solution | None:
    """The best of several searches; `descend` goes on from points that are not stationary."""
    centre = problem.polytope.centre
    if centre is None:
        return None
    begun = [*chosen_starts(problem, centre, starts, seed), *also]
    # products of unknowns from 0 upwards are best searched by factors, sums by differences
    searched = [search(problem, x, length, by_factors=k % 2 == 1) for k, x in enumerate(begun)]
    met = [met for end in searched if end is not None for met in _feasible(problem, end)]
    places = _places(problem, met, descend=descend)
    if not places:
        return None
    if starts > 1 or not problem.convex:
        places = _left_saddles(problem, places, length, seed)
    limit = min(place.value for place in places) + _tolerance(places)
    alike = [place for place in places if place.value <= limit]
    best = min(alike, key=lambda place: float(np.linalg.norm(place.x)))
    more = [place.x for place in alike if place is not best]
    found = _solution(best.problem, best.point)
    if not (descend or proved(found)):
        return found  # a longer search follows
    steps = LONG_STEPS if problem.convex else STEPS
    flat = around(best.problem, best.point, seed, steps=steps).alike
    return replace(
        found,
        starts=len(searched),
        agreed=best.count,
        equal=sum(place.count for place in alike),
        others=tuple(more),
        flat=None if flat is None else flat * best.units.unknowns,
        usual=best.end.usual,
    )


def _tolerance(places: Sequence[Place]) -> float:
    """By how much the values of equal optima may differ, beside the least of the units of the
    objective, which are large where unknowns are or may be, and beside the values themselves."""
    unit = min(place.units.goal for place in places)
    least = min(places, key=lambda place: place.value)
    return SAME * min(unit, max(abs(least.value), least.units.goal)) + ROUNDING * (
        unit + abs(least.value)
    )


def _places(problem: Problem, ends: Sequence[End], *, descend: bool = True) -> list[Place]:
    """The feasible optima at which searches have ended, the lowest first; those that are far from
    the lowest are left out."""
    found: list[Place] = []
    for end in sorted(ends, key=lambda end: end.value):
        same = [k for k, place in enumerate(found) if place.is_at(end.x, end.usual)]
        if same:
            found[same[0]] = replace(found[same[0]], count=found[same[0]].count + 1)
            continue
        least = min((place.value for place in found), default=np.inf)
        near = [place for place in found if end.value <= least + RIVAL * place.units.goal]
        if found and (not near or len(found) >= MOST_PLACES):
            continue
        place = optimum(problem, end, descend=descend)
        if place.point.violation > FEASIBLE or not is_feasible(problem, place.x):
            continue
        same = [k for k, other in enumerate(found) if other.is_at(place.x, end.usual)]
        if same:
            found[same[0]] = replace(found[same[0]], count=found[same[0]].count + 1)
        else:
            found.append(place)
    return sorted(found, key=lambda place: place.value)


def _left_saddles(problem: Problem, places: list[Place], length: int, seed: int) -> list[Place]:
    """The optima, and those to which searches lead from lower points around the best of them."""
    for _ in range(DESCENTS):
        best = min(places, key=lambda place: place.value)
        lower = around(best.problem, best.point, seed).lowest
        lower = along_axes(best.problem, best.point) if lower is None else lower
        if lower is None:
            break
        start = lower * best.units.unknowns
        end = search(problem, start, length)
        value = float(problem.functions.at(start)[0][0])
        ends = [End(start, best.end.usual, value)]
        ends += _feasible(problem, end) if end is not None else []
        reached = [place for end in ends for place in _places(problem, [end])]
        if not reached or min(p.value for p in reached) >= best.value - _tolerance(places):
            break
        places = sorted([*places, *reached], key=lambda place: place.value)
    distinct: list[Place] = []
    for place in places:
        if not any(other.is_at(place.x, place.end.usual) for other in distinct):
            distinct.append(place)
    return distinct


def _solution(problem: Problem, end: Point) -> Solution:
    """What is said of a feasible point, in the units of the expressions.

    Args:
        problem: in units that suit the point.
        end: the point.
    """
    assert problem.units is not None
    units = problem.units
    at_low, at_high = at_bounds(problem, end.x)
    x = np.where(at_low, problem.low, np.where(at_high, problem.high, end.x))
    value = float(problem.functions.at(x)[0][0])
    room = gap(problem, replace(end, x=x)) if problem.convex else None
    room = None if room is None else room * units.goal
    names = np.array([s.name for s in problem.unknowns])
    held = [c.name for c in problem.constraints]
    active = (end.multipliers > WEAK) & ~problem.equality
    return Solution(
        feasible=True,
        x=x * units.unknowns,
        value=value * units.goal,
        multipliers=end.multipliers * units.goal / units.constraints,
        low=end.low * units.goal / units.unknowns,
        high=end.high * units.goal / units.unknowns,
        active=tuple(name for name, holds in zip(held, active, strict=True) if holds),
        at_low=tuple(names[at_low].tolist()),
        at_high=tuple(names[at_high].tolist()),
        violation=float(
            np.max(relative(violations_for_certain(problem, x), sizes(problem, x)), initial=0.0)
        ),
        residual=end.residual,
        convex=problem.convex,
        gap=room,
        unit=min(units.goal, problem.goal_scale(x * units.unknowns, units.unknowns)),
    )


def _feasible(problem: Problem, end: End) -> Iterator[End]:
    """An end of a search, if it is nearly feasible or can be made so."""
    if nearly_feasible(problem, end.x):
        yield end
        return
    x = repaired(problem, end.x)
    if nearly_feasible(problem, x):
        yield End(x, end.usual, float(problem.functions.at(x)[0][0]))
