"""The best values of several unknowns under constraints, and what certifies them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.several.certified import certain_violations
from lawdsl.solving.several.endless import fall
from lawdsl.solving.several.excluding import no_point
from lawdsl.solving.several.infeasible import explained
from lawdsl.solving.several.newton import polished
from lawdsl.solving.several.optimality import (
    WEAK,
    Point,
    at_bounds,
    changes,
    gap,
    point,
    relative,
    sizes,
    violations,
)
from lawdsl.solving.several.probing import LONG_STEPS, STEPS, along_axes, around, descended
from lawdsl.solving.several.problems import Fall, Problem, Solution, middle
from lawdsl.solving.several.searching import INSET, searched_from
from lawdsl.solving.several.starts import chosen_starts, repaired
from lawdsl.solving.several.units import APART, Units, from_ends

Array = NDArray[np.float64]

LENGTHS = (25, 60, 300)  # steps of a search, where a shorter one did not lead to a proof
STARTS = 24  # where the problem is not known to be convex
SHORT = 100  # steps of each of several searches
FEASIBLE = 1e-9  # of the size of a constraint: rounding
CERTAINLY = (
    1e-7  # the same, of what intervals say, of what it changes by over the unknowns' lengths
)
FEW_BOXES = 8  # on which it is looked whether a point can be feasible at all
NEARLY = 1e-6  # the same, of a search that is not polished yet
CLOSED = 1e-9  # of the unit of the objective: a gap so small is one of rounding
ROUNDING = 1e-14  # relative to a value
SAME = 1e-8  # of the unit of the objective: optima that differ by no more are equally good
SAME_PLACE = 1e-4  # of the units of the unknowns: points so near are one place
SMALL_PART = 1e-3  # of where a search started: points that are nearer by far are not told apart
SMALLEST = 1e-14  # of it: an unknown so near to its end, or to 0, is there
NO_SLOPE = 1e-12  # of the Lagrangian, in units that suit the place: rounding
RIVAL = 1e-2  # of the unit of the objective: so near to the best value searches are finished
MOST_PLACES = 12  # that are told apart
LOOSE = 1e-7  # a residual above it is that of a kink, or of a search that has not arrived
REFITS, ALIKE_UNITS = 4, 3  # searches in other units, and powers of two that make no other unit
DESCENTS = 6  # from a saddle to the next
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


@dataclass(frozen=True)
class _End:
    """Where a search has ended.

    Attributes:
        x: the unknowns.
        usual: the lengths of the unknowns where it started.
        value: the objective there.
    """

    x: Array
    usual: Array
    value: float


@dataclass(frozen=True)
class _Place:
    """An optimum.

    Attributes:
        problem: in units that suit it.
        point: in these.
        end: the best of the searches that led there.
        count: how many did.
    """

    problem: Problem
    point: Point
    end: _End
    count: int

    @property
    def units(self) -> Units:
        """Those of the problem."""
        assert self.problem.units is not None
        return self.problem.units

    @property
    def x(self) -> Array:
        """Where it is, in the units of the expressions; at a bound what is there to rounding."""
        problem, x = self.problem, self.point.x
        at_low, at_high = at_bounds(problem, x)
        there = np.where(at_low, problem.low, np.where(at_high, problem.high, x))
        return np.asarray(there * self.units.unknowns)

    @property
    def value(self) -> float:
        """The objective there, in its unit."""
        return float(self.point.values[0]) * self.units.goal

    def is_at(self, x: Array, usual: Array) -> bool:
        """Whether another point, to which a search with these lengths has led, is this place."""
        usual = SMALL_PART * np.minimum(usual, self.end.usual)
        lengths = np.maximum(self.units.unknowns, usual)
        return bool(np.max(np.abs(x - self.x) / lengths, initial=0.0) <= SAME_PLACE)


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
    searched = [_searched(problem, x, length, by_factors=k % 2 == 1) for k, x in enumerate(begun)]
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


def _tolerance(places: Sequence[_Place]) -> float:
    """By how much the values of equal optima may differ, beside the least of the units of the
    objective, which are large where unknowns are or may be, and beside the values themselves."""
    unit = min(place.units.goal for place in places)
    least = min(places, key=lambda place: place.value)
    return SAME * min(unit, max(abs(least.value), least.units.goal)) + ROUNDING * (
        unit + abs(least.value)
    )


def _places(problem: Problem, ends: Sequence[_End], *, descend: bool = True) -> list[_Place]:
    """The feasible optima at which searches have ended, the lowest first; those that are far from
    the lowest are left out."""
    found: list[_Place] = []
    for end in sorted(ends, key=lambda end: end.value):
        same = [k for k, place in enumerate(found) if place.is_at(end.x, end.usual)]
        if same:
            found[same[0]] = replace(found[same[0]], count=found[same[0]].count + 1)
            continue
        least = min((place.value for place in found), default=np.inf)
        near = [place for place in found if end.value <= least + RIVAL * place.units.goal]
        if found and (not near or len(found) >= MOST_PLACES):
            continue
        place = _finished(problem, end, descend=descend)
        if place.point.violation > FEASIBLE or not _is_kept(problem, place.x):
            continue
        same = [k for k, other in enumerate(found) if other.is_at(place.x, end.usual)]
        if same:
            found[same[0]] = replace(found[same[0]], count=found[same[0]].count + 1)
        else:
            found.append(place)
    return sorted(found, key=lambda place: place.value)


def _left_saddles(problem: Problem, places: list[_Place], length: int, seed: int) -> list[_Place]:
    """The optima, and those to which searches lead from lower points around the best of them."""
    for _ in range(DESCENTS):
        best = min(places, key=lambda place: place.value)
        lower = around(best.problem, best.point, seed).lowest
        lower = along_axes(best.problem, best.point) if lower is None else lower
        if lower is None:
            break
        start = lower * best.units.unknowns
        end = _searched(problem, start, length)
        value = float(problem.functions.at(start)[0][0])
        ends = [_End(start, best.end.usual, value)]
        ends += _feasible(problem, end) if end is not None else []
        reached = [place for end in ends for place in _places(problem, [end])]
        if not reached or min(p.value for p in reached) >= best.value - _tolerance(places):
            break
        places = sorted([*places, *reached], key=lambda place: place.value)
    distinct: list[_Place] = []
    for place in places:
        if not any(other.is_at(place.x, place.end.usual) for other in distinct):
            distinct.append(place)
    return distinct


def _searched(
    problem: Problem, start: Array, length: int, *, by_factors: bool = False
) -> _End | None:
    """Where a search leads; it goes on in other units where unknowns, or the variation of the
    objective, have become much smaller or larger on the way. It moves unknowns from 0 upwards by
    factors if told to."""
    x, found = start, None
    units: Units | None = None
    usual: Array | None = None
    for _ in range(REFITS):
        own = from_ends(x, *problem.polytope.tightened)
        there = problem.in_units_at(x, usual if usual is None else np.where(own > 0, own, usual))
        assert there.units is not None
        before, units = units, there.units
        if before is not None and not _differ(before, units):
            break
        usual = units.unknowns
        moved = searched_from(there, x / usual, length, by_factors=by_factors)
        if moved is None:
            break
        x, given_up = moved[0] * usual, moved[1]
        found = _End(x, usual, float(problem.functions.at(x)[0][0]))
        if given_up:
            break
    return found


def _differ(before: Units, after: Units) -> bool:
    """Whether the units of the unknowns or of the objective differ by much."""
    changes = np.log2([*(after.unknowns / before.unknowns), after.goal / before.goal])
    return bool(np.any(np.abs(changes) > ALIKE_UNITS))


def _leaves(problem: Problem, before: Units, after: Units) -> bool:
    """Whether an unknown without an end has grown by much, and the objective with it: such a search
    is on its way to infinity."""
    low, high = problem.polytope.tightened
    grown = after.unknowns > before.unknowns * 2**ALIKE_UNITS
    rises = after.goal > before.goal * 2**ALIKE_UNITS
    return bool(rises and np.any(grown & np.isinf(high - low)))


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
        violation=float(np.max(relative(_certain(problem, x), sizes(problem, x)), initial=0.0)),
        residual=end.residual,
        convex=problem.convex,
        gap=room,
        unit=min(units.goal, problem.goal_scale(x * units.unknowns, units.unknowns)),
    )


def _feasible(problem: Problem, end: _End) -> Iterator[_End]:
    """An end of a search, if it is nearly feasible or can be made so."""
    if _nearly(problem, end.x):
        yield end
        return
    x = repaired(problem, end.x)
    if _nearly(problem, x):
        yield _End(x, end.usual, float(problem.functions.at(x)[0][0]))


def _nearly(problem: Problem, x: Array) -> bool:
    """Whether a point is nearly feasible, in units that suit it."""
    there = problem.in_units_at(x)
    assert there.units is not None
    x = x / there.units.unknowns
    values = there.functions.at(x)[0]
    met = np.max(violations(there, x), initial=0.0) <= NEARLY
    return bool(np.isfinite(values).all() and met)


def _is_kept(problem: Problem, x: Array) -> bool:
    """Whether all constraints are met, in units that suit the point, for certain."""
    there = problem.in_units_at(x)
    assert there.units is not None
    x = x / there.units.unknowns
    kept = relative(_certain(there, x), changes(there, x)) <= CERTAINLY
    return bool(np.all(kept)) and _nearly(problem, x * there.units.unknowns)


def _certain(problem: Problem, x: Array) -> Array:
    """The most by which each constraint is violated, in the problem's units."""
    assert problem.units is not None
    return certain_violations(problem, x * problem.units.unknowns) / problem.units.constraints


def _finished(problem: Problem, end: _End, *, descend: bool = True) -> _Place:
    """The optimum at the end of a search, to rounding.

    Newton's method may lead to where other units suit: slopes that vanished in the old ones need
    not do so there, and the search goes on.
    """
    place = _finished_once(problem, end, descend=descend)
    for _ in range(REFITS):
        own = from_ends(place.x, *problem.polytope.tightened)
        usual = np.where(own > 0, own, place.units.unknowns)
        there = problem.in_units_at(place.x, usual)
        assert there.units is not None
        if not _differ(place.units, there.units) or _leaves(problem, place.units, there.units):
            break
        lower = _searched(problem, place.x, SHORT)
        if lower is None or not -np.inf < lower.value < place.value:
            lower = _End(place.x, usual, place.value)
        further = _finished_once(problem, lower, descend=descend)
        rounding = ROUNDING * (there.units.goal + abs(place.value))
        if not np.isfinite(further.value) or further.point.violation > FEASIBLE:
            break
        if further.value > place.value + rounding:
            break
        place = further
    return place


def _finished_once(problem: Problem, end: _End, *, descend: bool) -> _Place:
    """The optimum at the end of a search, in the units in which it ended.

    An unknown that has come much nearer to its end, or to 0, than where it started is either there,
    or has a best value of another magnitude: both are tried.
    """
    low, high = problem.polytope.tightened
    own = from_ends(end.x, low, high)
    small = np.isinf(high - low) & (own > SMALLEST * end.usual) & (own < APART * end.usual)
    lengths = [end.usual]
    if small.any():
        lengths.append(np.where(small, own, end.usual))
    found = [_polished(problem, replace(end, usual=usual)) for usual in lengths]
    found += [_polished(problem, pushed) for place in found for pushed in _pushed(problem, place)]
    one = np.maximum(end.usual, 1.0)
    near = np.isinf(high - low) & (own > 0) & (own < APART * one)
    near &= np.isfinite(low) | np.isfinite(high)
    if near.any():
        at_end = np.where(near, np.where(np.isfinite(low), low, high), end.x)
        found.append(_polished(problem, _End(at_end, np.where(near, one, end.usual), end.value)))
    kept = [place for place in found if place.point.violation <= FEASIBLE] or found
    kept = [place for place in kept if _nearly(problem, place.x)] or kept
    least = min(kept, key=lambda place: place.value)
    rounding = ROUNDING * (least.units.goal + abs(least.value))
    alike = (place for place in reversed(kept) if place.value <= least.value + rounding)
    chosen = next(alike, least)  # nothing is alike where the value is infinite
    if chosen.point.residual <= LOOSE or not descend:
        return chosen
    return replace(chosen, point=descended(chosen.problem, chosen.point, LOOSE))


def _pushed(problem: Problem, place: _Place) -> Iterator[_End]:
    """Where unknowns are put at the bounds towards which the Lagrangian falls; nothing where it has
    no slope."""
    here, scaled = place.point, place.problem
    slope = here.weights @ here.slopes
    if not NO_SLOPE < here.residual < np.inf or not np.isfinite(slope).all():
        return
    down = (slope > NO_SLOPE) & np.isfinite(scaled.low) & ~scaled.steep[0]
    up = (slope < -NO_SLOPE) & np.isfinite(scaled.high) & ~scaled.steep[1]
    if down.any() or up.any():
        x = np.where(down, problem.low, np.where(up, problem.high, place.x))
        yield replace(place.end, x=x)


def _polished(problem: Problem, end: _End) -> _Place:
    """A point at which a search ended, polished; what came near to a bound is put there.

    A search stays a little inside of a bound with an infinite slope. Whether the optimum is at the
    bound is seen by the slope of the Lagrangian as near to it as numbers go.
    """
    problem = problem.in_units_at(end.x, end.usual)
    assert problem.units is not None
    x = end.x / problem.units.unknowns
    spans, (low, high) = problem.spans, problem.inner
    reach = [np.where(steep, 2 * INSET, SNAP) * spans for steep in problem.steep]
    near_low, near_high = x - low <= reach[0], high - x <= reach[1]
    ends = np.where(near_low, low, np.where(near_high, high, x))
    steep_low, steep_high = near_low & problem.steep[0], near_high & problem.steep[1]
    weights = point(problem, x, steep_low | steep_high).weights
    slope = weights @ problem.functions.at(ends)[1]
    leaves = (steep_low & (slope <= 0)) | (steep_high & (slope >= 0))
    return _Place(problem, polished(problem, np.where(leaves, x, ends)), end, 1)
