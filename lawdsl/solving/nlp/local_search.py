"""A start -> a local optimum, accurate to rounding; and whether two searches have reached the same
optimum.

Sequential quadratic programming (`descent`) and then Newton's method on the optimality conditions
(`newton`), in units that are adapted to the point: Nocedal and Wright (2006), Numerical
Optimization, section 2.2, on scaling, and chapter 18.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.nlp.certificates import certain_violations
from lawdsl.solving.nlp.descent import STEEP_BOUND_SHARE, sqp_search
from lawdsl.solving.nlp.kkt import (
    KktPoint,
    at_bounds,
    first_order_changes,
    kkt_point,
    relative_violations,
    violations,
)
from lawdsl.solving.nlp.newton import newton_polish
from lawdsl.solving.nlp.perturbation import descend_nearby
from lawdsl.solving.nlp.problem import NlpProblem
from lawdsl.solving.nlp.scaling import NEAR_BOUND_SHARE, Units, distance_from_bounds

Array = NDArray[np.float64]

SHORT_SEARCH_LENGTH = 100  # steps of a search, where there are several
MAX_RESCALINGS = 4  # restarts of a search in other units
# Powers of two: units that change by no more do not require another search.
MAX_UNIT_EXPONENT_CHANGE = 3
# Relative to the size of a constraint: below it, a violation is rounding error.
FEASIBILITY_RTOL = 1e-9
NEARLY_FEASIBLE_RTOL = 1e-6  # as FEASIBILITY_RTOL, for a search that is not polished yet
# Relative to the change of a constraint over the unknowns' lengths, for violations enclosed by Arb.
CERTAIN_FEASIBILITY_RTOL = 1e-7
OPTIMUM_VALUE_RTOL = 1e-14  # relative to a value: below it, a difference is rounding error
# Relative to the units of the unknowns: points within this distance are the same optimum.
SAME_OPTIMUM_DISTANCE = 1e-4
# Relative to the lengths at the start: smallest units for SAME_OPTIMUM_DISTANCE.
START_LENGTH_SHARE = 1e-3
# Relative to the length where the search started: an unknown this close to a bound or to 0 is moved
# there.
AT_BOUND_SHARE = 1e-14
# In units adapted to the point: below it, a slope of the Lagrangian is rounding error.
ZERO_SLOPE = 1e-12
# A larger residual indicates a kink, or a search that has not converged.
CONVERGED_RESIDUAL = 1e-7
# Relative to the span of the unknown: within this distance of a bound it is set to the bound.
BOUND_SNAP_DISTANCE = 1e-10


@dataclass(frozen=True)
class SearchEnd:
    """The end of a search.

    Attributes:
        x: the unknowns.
        start_lengths: the lengths of the unknowns at its start.
        value: the objective at the end.
    """

    x: Array
    start_lengths: Array
    value: float


@dataclass(frozen=True)
class LocalOptimum:
    """An optimum.

    Attributes:
        problem: the problem in units adapted to the optimum.
        point: the optimum in these units.
        end: the best of the searches that reached it.
        count: the number of searches that reached it.
    """

    problem: NlpProblem
    point: KktPoint
    end: SearchEnd
    count: int

    @property
    def units(self) -> Units:
        """The units of the problem."""
        assert self.problem.units is not None
        return self.problem.units

    @property
    def x(self) -> Array:
        """The point in the units of the expressions; unknowns at a bound up to rounding are set to
        it.
        """
        problem, x = self.problem, self.point.x
        at_low, at_high = at_bounds(problem, x)
        snapped = np.where(at_low, problem.low, np.where(at_high, problem.high, x))
        return np.asarray(snapped * self.units.unknowns)

    @property
    def value(self) -> float:
        """The objective at the optimum, in its unit."""
        return float(self.point.values[0]) * self.units.goal

    def is_at(self, x: Array, start_lengths: Array) -> bool:
        """Decide whether the end of another search is this optimum.

        Args:
            x: the unknowns, shape (n,), in the units of the expressions.
            start_lengths: the lengths of the unknowns where that search started, shape (n,).

        Returns:
            Whether max_j |x_j - x*_j| / length_j <= SAME_OPTIMUM_DISTANCE.
        """
        start_lengths = START_LENGTH_SHARE * np.minimum(start_lengths, self.end.start_lengths)
        lengths = np.maximum(self.units.unknowns, start_lengths)
        return bool(np.max(np.abs(x - self.x) / lengths, initial=0.0) <= SAME_OPTIMUM_DISTANCE)


def search(
    problem: NlpProblem, start: Array, length: int, *, by_factors: bool = False
) -> SearchEnd | None:
    """Search for a local optimum, changing units if the magnitudes change on the way.

    The search restarts in other units if unknowns, or the variation of the objective, have become
    much smaller or larger.

    Args:
        problem: the problem in the units of its expressions.
        start: the unknowns, shape (n,).
        length: the largest number of steps of each search.
        by_factors: whether unknowns with lower bound 0 are searched by their logarithms.

    Returns:
        The end of the search; None if the problem is undefined at the start.
    """
    x, end = start, None
    units: Units | None = None
    start_lengths: Array | None = None
    for _ in range(MAX_RESCALINGS):
        distances = distance_from_bounds(x, *problem.polytope.tightened)
        scaled = problem.in_units_at(
            x,
            start_lengths
            if start_lengths is None
            else np.where(distances > 0, distances, start_lengths),
        )
        assert scaled.units is not None
        before, units = units, scaled.units
        if before is not None and not _units_differ(before, units):
            break
        start_lengths = units.unknowns
        reached = sqp_search(scaled, x / start_lengths, length, by_factors=by_factors)
        if reached is None:
            break
        x, given_up = reached[0] * start_lengths, reached[1]
        end = SearchEnd(x, start_lengths, float(problem.functions.at(x)[0][0]))
        # a search that used up its evaluations makes no progress in other units either
        if given_up:
            break
    return end


def _units_differ(before: Units, after: Units) -> bool:
    """Whether the units of the unknowns or of the objective differ by much."""
    first_order_changes = np.log2([*(after.unknowns / before.unknowns), after.goal / before.goal])
    return bool(np.any(np.abs(first_order_changes) > MAX_UNIT_EXPONENT_CHANGE))


def _diverges(problem: NlpProblem, before: Units, after: Units) -> bool:
    """Whether an unbounded unknown and the objective have grown very large: the search diverges to
    infinity.
    """
    low, high = problem.polytope.tightened
    grown = after.unknowns > before.unknowns * 2**MAX_UNIT_EXPONENT_CHANGE
    rises = after.goal > before.goal * 2**MAX_UNIT_EXPONENT_CHANGE
    # searches in other units would only follow it outwards
    return bool(rises and np.any(grown & np.isinf(high - low)))


def nearly_feasible(problem: NlpProblem, x: Array) -> bool:
    """Decide in float64 whether a point is feasible to NEARLY_FEASIBLE_RTOL, in units adapted to
    it.

    Args:
        problem: the problem in the units of its expressions.
        x: the unknowns, shape (n,).

    Returns:
        Whether all values are finite and all relative violations small.
    """
    scaled = problem.in_units_at(x)
    assert scaled.units is not None
    x = x / scaled.units.unknowns
    values = scaled.functions.at(x)[0]
    met = np.max(violations(scaled, x), initial=0.0) <= NEARLY_FEASIBLE_RTOL
    return bool(np.isfinite(values).all() and met)


def is_feasible(problem: NlpProblem, x: Array) -> bool:
    """Verify with intervals that a point is feasible to CERTAIN_FEASIBILITY_RTOL, in units adapted
    to it.

    Args:
        problem: the problem in the units of its expressions.
        x: the unknowns, shape (n,).

    Returns:
        Whether the bounds of all violations are small.
    """
    scaled = problem.in_units_at(x)
    assert scaled.units is not None
    x = x / scaled.units.unknowns
    is_met = (
        relative_violations(violations_for_certain(scaled, x), first_order_changes(scaled, x))
        <= CERTAIN_FEASIBILITY_RTOL
    )
    return bool(np.all(is_met)) and nearly_feasible(problem, x * scaled.units.unknowns)


def violations_for_certain(problem: NlpProblem, x: Array) -> Array:
    """Bound the violation of each constraint from above, in the problem's units.

    Args:
        problem: the problem, with units.
        x: the unknowns, shape (n,), in these units.

    Returns:
        Shape (constraints,); inf where no bound is known.
    """
    assert problem.units is not None
    return certain_violations(problem, x * problem.units.unknowns) / problem.units.constraints


def local_optimum(problem: NlpProblem, end: SearchEnd, *, descend: bool = True) -> LocalOptimum:
    """Polish the end of a search to an optimum that is accurate to rounding.

    Newton's method may lead to a point that requires other units: slopes that vanish in the old
    units need not vanish there, and the search continues.

    Args:
        problem: the problem in the units of its expressions.
        end: where a search ended.
        descend: whether to continue from points that are not stationary.

    Returns:
        The optimum, in units adapted to it.
    """
    optimum = _optimum_in_units(problem, end, descend=descend)
    for _ in range(MAX_RESCALINGS):
        distances = distance_from_bounds(optimum.x, *problem.polytope.tightened)
        start_lengths = np.where(distances > 0, distances, optimum.units.unknowns)
        rescaled = problem.in_units_at(optimum.x, start_lengths)
        assert rescaled.units is not None
        if not _units_differ(optimum.units, rescaled.units) or _diverges(
            problem, optimum.units, rescaled.units
        ):
            break
        lower = search(problem, optimum.x, SHORT_SEARCH_LENGTH)
        if lower is None or not -np.inf < lower.value < optimum.value:
            lower = SearchEnd(optimum.x, start_lengths, optimum.value)
        further = _optimum_in_units(problem, lower, descend=descend)
        rounding = OPTIMUM_VALUE_RTOL * (rescaled.units.goal + abs(optimum.value))
        if not np.isfinite(further.value) or further.point.violation > FEASIBILITY_RTOL:
            break
        if further.value > optimum.value + rounding:
            break
        optimum = further
    return optimum


def _optimum_in_units(problem: NlpProblem, end: SearchEnd, *, descend: bool) -> LocalOptimum:
    """The optimum at the end of a search, in the units in which it ended.

    An unknown that has come much closer to its bound, or to 0, than at the start is either equal to
    it, or has an optimal value of another magnitude: both are tried.
    """
    low, high = problem.polytope.tightened
    distances = distance_from_bounds(end.x, low, high)
    small = (
        np.isinf(high - low)
        & (distances > AT_BOUND_SHARE * end.start_lengths)
        & (distances < NEAR_BOUND_SHARE * end.start_lengths)
    )
    lengths = [end.start_lengths]
    if small.any():
        lengths.append(np.where(small, distances, end.start_lengths))
    optima = [
        _polish_at_bounds(problem, replace(end, start_lengths=start_lengths))
        for start_lengths in lengths
    ]
    optima += [
        _polish_at_bounds(problem, pushed)
        for optimum in optima
        for pushed in _moved_to_bounds(problem, optimum)
    ]
    # an unknown that is small in its own unit may be 0, which is also tried
    one = np.maximum(end.start_lengths, 1.0)
    near = np.isinf(high - low) & (distances > 0) & (distances < NEAR_BOUND_SHARE * one)
    near &= np.isfinite(low) | np.isfinite(high)
    if near.any():
        at_end = np.where(near, np.where(np.isfinite(low), low, high), end.x)
        optima.append(
            _polish_at_bounds(
                problem, SearchEnd(at_end, np.where(near, one, end.start_lengths), end.value)
            )
        )
    feasible = [
        optimum for optimum in optima if optimum.point.violation <= FEASIBILITY_RTOL
    ] or optima
    feasible = [optimum for optimum in feasible if nearly_feasible(problem, optimum.x)] or feasible
    least = min(feasible, key=lambda optimum: optimum.value)
    rounding = OPTIMUM_VALUE_RTOL * (least.units.goal + abs(least.value))
    # the later candidates are on bounds, which are preferred among equal values
    alike = (optimum for optimum in reversed(feasible) if optimum.value <= least.value + rounding)
    chosen = next(alike, least)  # no candidates are alike if the value is infinite
    if chosen.point.residual <= CONVERGED_RESIDUAL or not descend:
        return chosen
    return replace(chosen, point=descend_nearby(chosen.problem, chosen.point, CONVERGED_RESIDUAL))


def _moved_to_bounds(problem: NlpProblem, optimum: LocalOptimum) -> Iterator[SearchEnd]:
    """Move unknowns to the bounds towards which the Lagrangian decreases; yields nothing if it has
    no slope.
    """
    at_point, scaled = optimum.point, optimum.problem
    slope = at_point.weights @ at_point.slopes
    if not ZERO_SLOPE < at_point.residual < np.inf or not np.isfinite(slope).all():
        return
    down = (slope > ZERO_SLOPE) & np.isfinite(scaled.low) & ~scaled.steep[0]
    up = (slope < -ZERO_SLOPE) & np.isfinite(scaled.high) & ~scaled.steep[1]
    if down.any() or up.any():
        x = np.where(down, problem.low, np.where(up, problem.high, optimum.x))
        yield replace(optimum.end, x=x)


def _polish_at_bounds(problem: NlpProblem, end: SearchEnd) -> LocalOptimum:
    """Polish the end of a search, with unknowns near a bound set to it.

    A search stays slightly inside a bound with an infinite slope. Whether the optimum is at the
    bound is decided by the slope of the Lagrangian at the float closest to it.
    """
    problem = problem.in_units_at(end.x, end.start_lengths)
    assert problem.units is not None
    x = end.x / problem.units.unknowns
    spans, (low, high) = problem.spans, problem.inner
    reach = [
        np.where(steep, 2 * STEEP_BOUND_SHARE, BOUND_SNAP_DISTANCE) * spans
        for steep in problem.steep
    ]
    near_low, near_high = x - low <= reach[0], high - x <= reach[1]
    ends = np.where(near_low, low, np.where(near_high, high, x))
    steep_low, steep_high = near_low & problem.steep[0], near_high & problem.steep[1]
    weights = kkt_point(problem, x, steep_low | steep_high).weights
    slope = weights @ problem.functions.at(ends)[1]
    leaves = (steep_low & (slope <= 0)) | (steep_high & (slope >= 0))
    return LocalOptimum(problem, newton_polish(problem, np.where(leaves, x, ends)), end, 1)
