"""Local search from one start: Newton's method to rounding, and what makes two results one place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.nlp.certificates import certain_violations
from lawdsl.solving.nlp.descent import INSET, searched_from
from lawdsl.solving.nlp.kkt import Point, at_bounds, changes, point, relative, violations
from lawdsl.solving.nlp.newton import polished
from lawdsl.solving.nlp.perturbation import descended
from lawdsl.solving.nlp.problem import Problem
from lawdsl.solving.nlp.scaling import APART, Units, from_ends

Array = NDArray[np.float64]

SHORT = 100  # steps of each of several searches
REFITS, ALIKE_UNITS = 4, 3  # searches in other units, and powers of two that make no other unit
FEASIBLE = 1e-9  # of the size of a constraint: rounding
NEARLY = 1e-6  # the same, of a search that is not polished yet
CERTAINLY = 1e-7  # of what a constraint changes by over the unknowns' lengths, of what Arb says
ROUNDING = 1e-14  # relative to a value
SAME_PLACE = 1e-4  # of the units of the unknowns: points so near are one place
SMALL_PART = 1e-3  # of where a search started: points that are nearer by far are not told apart
SMALLEST = 1e-14  # of it: an unknown so near to its end, or to 0, is there
NO_SLOPE = 1e-12  # of the Lagrangian, in units that suit the place: rounding
LOOSE = 1e-7  # a residual above it is that of a kink, or of a search that has not arrived
SNAP = 1e-10  # of its way: so near to a bound an unknown is put there


@dataclass(frozen=True)
class End:
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
class Place:
    """An optimum.

    Attributes:
        problem: in units that suit it.
        point: in these.
        end: the best of the searches that led there.
        count: how many did.
    """

    problem: Problem
    point: Point
    end: End
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


def search(problem: Problem, start: Array, length: int, *, by_factors: bool = False) -> End | None:
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
        found = End(x, usual, float(problem.functions.at(x)[0][0]))
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


def nearly_feasible(problem: Problem, x: Array) -> bool:
    """Whether a point is nearly feasible, in units that suit it."""
    there = problem.in_units_at(x)
    assert there.units is not None
    x = x / there.units.unknowns
    values = there.functions.at(x)[0]
    met = np.max(violations(there, x), initial=0.0) <= NEARLY
    return bool(np.isfinite(values).all() and met)


def is_feasible(problem: Problem, x: Array) -> bool:
    """Whether all constraints are met, in units that suit the point, for certain."""
    there = problem.in_units_at(x)
    assert there.units is not None
    x = x / there.units.unknowns
    kept = relative(violations_for_certain(there, x), changes(there, x)) <= CERTAINLY
    return bool(np.all(kept)) and nearly_feasible(problem, x * there.units.unknowns)


def violations_for_certain(problem: Problem, x: Array) -> Array:
    """The most by which each constraint is violated, in the problem's units."""
    assert problem.units is not None
    return certain_violations(problem, x * problem.units.unknowns) / problem.units.constraints


def optimum(problem: Problem, end: End, *, descend: bool = True) -> Place:
    """The optimum at the end of a search, to rounding.

    Newton's method may lead to where other units suit: slopes that vanished in the old ones need
    not do so there, and the search goes on.
    """
    place = _optimum_once(problem, end, descend=descend)
    for _ in range(REFITS):
        own = from_ends(place.x, *problem.polytope.tightened)
        usual = np.where(own > 0, own, place.units.unknowns)
        there = problem.in_units_at(place.x, usual)
        assert there.units is not None
        if not _differ(place.units, there.units) or _leaves(problem, place.units, there.units):
            break
        lower = search(problem, place.x, SHORT)
        if lower is None or not -np.inf < lower.value < place.value:
            lower = End(place.x, usual, place.value)
        further = _optimum_once(problem, lower, descend=descend)
        rounding = ROUNDING * (there.units.goal + abs(place.value))
        if not np.isfinite(further.value) or further.point.violation > FEASIBLE:
            break
        if further.value > place.value + rounding:
            break
        place = further
    return place


def _optimum_once(problem: Problem, end: End, *, descend: bool) -> Place:
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
        found.append(_polished(problem, End(at_end, np.where(near, one, end.usual), end.value)))
    kept = [place for place in found if place.point.violation <= FEASIBLE] or found
    kept = [place for place in kept if nearly_feasible(problem, place.x)] or kept
    least = min(kept, key=lambda place: place.value)
    rounding = ROUNDING * (least.units.goal + abs(least.value))
    alike = (place for place in reversed(kept) if place.value <= least.value + rounding)
    chosen = next(alike, least)  # nothing is alike where the value is infinite
    if chosen.point.residual <= LOOSE or not descend:
        return chosen
    return replace(chosen, point=descended(chosen.problem, chosen.point, LOOSE))


def _pushed(problem: Problem, place: Place) -> Iterator[End]:
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


def _polished(problem: Problem, end: End) -> Place:
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
    return Place(problem, polished(problem, np.where(leaves, x, ends)), end, 1)
