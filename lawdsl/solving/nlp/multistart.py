"""A problem and options -> the best of several local searches, with its certificates.

Multistart: local searches from points that cover the domain; equal optima are merged, and from
saddle points further searches descend. A convex problem needs one search, whose duality gap is
bounded (`certificates`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.nlp.exclusion import is_infeasible
from lawdsl.solving.nlp.infeasibility import explain_infeasibility
from lawdsl.solving.nlp.kkt import (
    WEAK_MULTIPLIER,
    KktPoint,
    at_bounds,
    constraint_sizes,
    duality_gap,
    relative_violations,
)
from lawdsl.solving.nlp.local_search import (
    FEASIBILITY_RTOL,
    OPTIMUM_VALUE_RTOL,
    SHORT_SEARCH_LENGTH,
    LocalOptimum,
    SearchEnd,
    is_feasible,
    local_optimum,
    nearly_feasible,
    search,
    violations_for_certain,
)
from lawdsl.solving.nlp.options import NlpOptions
from lawdsl.solving.nlp.perturbation import (
    LONG_STEP_LENGTHS,
    STEP_LENGTHS,
    explore_neighbourhood,
    search_axes,
)
from lawdsl.solving.nlp.problem import NlpProblem, NlpSolution, UnboundedPath, box_midpoint
from lawdsl.solving.nlp.starts import choose_starts, repair
from lawdsl.solving.nlp.unboundedness import find_unbounded_path

Array = NDArray[np.float64]

SEARCH_LENGTHS = (25, 60, 300)  # steps of a search, increased until one leads to a proof
DEFAULT_STARTS = 24  # number of searches if the problem is not known to be convex
PRESOLVE_BOXES = 8  # boxes that are examined for infeasibility before the search
CLOSED_GAP = 1e-9  # in the unit of the objective: such a small gap is rounding error
# In the unit of the objective: optima that differ by no more are equally good.
EQUAL_VALUE_TOLERANCE = 1e-8
# In the unit of the objective: ends of searches this close to the best value are polished.
RIVAL_VALUE_TOLERANCE = 1e-2
MAX_LOCAL_OPTIMA = 12  # largest number of optima that are distinguished
MAX_SADDLE_ESCAPES = 6  # largest number of successive saddle points from which searches descend
DEFAULT_OPTIONS = NlpOptions()
# Relative to the size of an unknown: bounds that differ by no more determine its value.
DETERMINED_RTOL = 1e-12


@np.errstate(all="ignore")  # steps may reach points where a law overflows
def minimise(problem: NlpProblem, options: NlpOptions = DEFAULT_OPTIONS) -> NlpSolution:
    """Minimise the objective of a problem subject to its constraints.

    Args:
        problem: the problem.
        options: the options of the search.

    Returns:
        The best point, with its certificates; if no point is feasible, the point with the smallest
        violations, and the conflicting constraints.

    Raises:
        LawdslError: an expression that has no real value.
    """
    fixed = determined_unknowns(problem)
    if fixed:
        return _with_unknowns(
            problem, fixed, minimise(substitute_unknowns(problem, fixed), options)
        )
    starts, seed = options.starts, options.seed
    # cheap, and simple contradictions are detected on a few boxes
    if is_infeasible(problem, PRESOLVE_BOXES):
        return explain_infeasibility(problem, best_feasible, seed)
    solution = best_feasible(problem, starts, seed)
    if solution is None:
        path = find_unbounded_path(problem, box_midpoint(problem.low, problem.high), np.inf, seed)
        if path is not None:
            return _unbounded_solution(problem, path)
        solution = explain_infeasibility(problem, best_feasible, seed)
    if not solution.feasible or is_proved_optimal(solution):
        return solution
    return replace(
        solution, unbounded_path=find_unbounded_path(problem, solution.x, solution.value, seed)
    )


def _unbounded_solution(problem: NlpProblem, path: UnboundedPath) -> NlpSolution:
    """A solution that records only a path along which the objective decreases without a minimum."""
    nothing = np.zeros(len(problem.constraints)), np.zeros(len(path.points[0]))
    x, value = path.points[0], float(path.values[0])
    return NlpSolution(
        True, x, value, *nothing, nothing[1], residual=np.inf, agreed=0, unbounded_path=path
    )


def determined_unknowns(problem: NlpProblem) -> dict[sp.Symbol, float]:
    """Return the unknowns whose bounds coincide under all affine conditions, with their values.

    At least one unknown remains.
    """
    low, high = problem.polytope.tightened
    size = np.maximum(np.abs(low), np.abs(high))
    alike = np.isfinite(low) & np.isfinite(high)
    room = np.maximum(DETERMINED_RTOL * size, problem.polytope.rounding)
    # only finite bounds are subtracted, since oo - oo is nan
    alike[alike] = np.abs(high - low)[alike] <= room[alike]
    ends = zip(problem.unknowns, low.tolist(), alike.tolist(), strict=True)
    determined = {symbol: value for symbol, value, fixed in ends if fixed}
    if len(determined) == len(problem.unknowns):
        del determined[max(determined, key=lambda symbol: abs(determined[symbol]))]
    return determined


def substitute_unknowns(problem: NlpProblem, fixed: Mapping[sp.Symbol, float]) -> NlpProblem:
    """Substitute values for some unknowns of a problem.

    Args:
        problem: the problem.
        fixed: unknown -> value.

    Returns:
        The problem in the other unknowns.
    """
    rest = {symbol: ends for symbol, ends in problem.unknowns.items() if symbol not in fixed}
    return replace(problem, unknowns=rest, values={**problem.values, **fixed})


def _with_unknowns(
    problem: NlpProblem, fixed: Mapping[sp.Symbol, float], solution: NlpSolution
) -> NlpSolution:
    """A solution extended by the determined unknowns, which are at both of their bounds."""
    is_free = np.array([symbol not in fixed for symbol in problem.unknowns])
    values = np.array([fixed.get(symbol, 0.0) for symbol in problem.unknowns])

    def filled_in(x: Array, rest: Array) -> Array:
        filled = np.broadcast_to(rest, (*x.shape[:-1], len(rest))).copy()
        filled[..., is_free] = x
        return filled

    names = [s.name for s in problem.unknowns if s in fixed]
    nothing = np.zeros(len(is_free))
    path = solution.unbounded_path
    return replace(
        solution,
        x=filled_in(solution.x, values),
        low=filled_in(solution.low, nothing),
        high=filled_in(solution.high, nothing),
        at_low=(*solution.at_low, *names),
        others=tuple(filled_in(x, values) for x in solution.others),
        flat=None if solution.flat is None else filled_in(solution.flat, values),
        start_lengths=None
        if solution.start_lengths is None
        else filled_in(solution.start_lengths, np.ones(len(is_free))),
        unbounded_path=None
        if path is None
        else replace(path, points=filled_in(path.points, values)),
    )


def best_feasible(
    problem: NlpProblem,
    starts: int | None = None,
    seed: int = 0,
    extra_starts: Sequence[Array] = (),
) -> NlpSolution | None:
    """Search for the best feasible point.

    Args:
        problem: the problem.
        starts: the number of searches; if not given, one for a convex problem whose optimum is then
            certified, else DEFAULT_STARTS.
        seed: the seed of the random starting points.
        extra_starts: further starting points, each shape (n,).

    Returns:
        The best feasible point; None if no search found one.
    """
    if starts is None and problem.convex:
        for length in SEARCH_LENGTHS:  # Newton's steps at the end are faster than a long search
            solution = _multistart(problem, 1, seed, length, (), descend=False)
            if solution is not None and is_proved_optimal(solution):
                return solution
        return _multistart(problem, DEFAULT_STARTS, seed, SHORT_SEARCH_LENGTH, extra_starts)
    return _multistart(problem, starts or DEFAULT_STARTS, seed, SHORT_SEARCH_LENGTH, extra_starts)


@np.errstate(all="ignore")
def refined(problem: NlpProblem, x: Array) -> NlpSolution | None:
    """Return the local optimum that a search from one point reaches.

    Args:
        problem: the problem in the units of its expressions.
        x: the point, shape (n,).

    Returns:
        The optimum; None if it is not feasible.
    """
    end = search(problem, x, SHORT_SEARCH_LENGTH)
    if end is None:
        return None
    optimum = local_optimum(problem, end)
    if optimum.point.violation > FEASIBILITY_RTOL:
        return None
    return replace(
        _as_solution(optimum.problem, optimum.point), start_lengths=optimum.end.start_lengths
    )


def is_proved_optimal(solution: NlpSolution) -> bool:
    """Whether the value is proved to be the minimum, up to rounding."""
    rounding = OPTIMUM_VALUE_RTOL * abs(solution.value)
    return solution.gap is not None and solution.gap <= CLOSED_GAP * solution.unit + rounding


def _multistart(
    problem: NlpProblem,
    starts: int,
    seed: int,
    length: int,
    extra_starts: Sequence[Array],
    *,
    descend: bool = True,
) -> NlpSolution | None:
    """The best of several searches; `descend` continues from points that are not stationary."""
    centre = problem.polytope.centre
    if centre is None:
        return None
    starting_points = [*choose_starts(problem, centre, starts, seed), *extra_starts]
    # for products of unknowns with lower bound 0 logarithmic search variables are best, for sums
    # linear ones
    ends = [
        search(problem, x, length, by_factors=k % 2 == 1) for k, x in enumerate(starting_points)
    ]
    met = [met for end in ends if end is not None for met in _feasible_ends(problem, end)]
    optima = _local_optima(problem, met, descend=descend)
    if not optima:
        return None
    # a stationary point of a convex problem is not a saddle point
    if starts > 1 or not problem.convex:
        optima = _escape_saddles(problem, optima, length, seed)
    limit = min(optimum.value for optimum in optima) + _value_tolerance(optima)
    alike = [optimum for optimum in optima if optimum.value <= limit]
    # among equal optima the one closest to 0 is reported, independent of the order of the searches
    lowest = min(alike, key=lambda optimum: float(np.linalg.norm(optimum.x)))
    more = [optimum.x for optimum in alike if optimum is not lowest]
    solution = _as_solution(lowest.problem, lowest.point)
    if not (descend or is_proved_optimal(solution)):
        return solution  # a longer search follows
    steps = LONG_STEP_LENGTHS if problem.convex else STEP_LENGTHS
    flat = explore_neighbourhood(lowest.problem, lowest.point, seed, steps=steps).alike
    return replace(
        solution,
        starts=len(ends),
        agreed=lowest.count,
        equal=sum(optimum.count for optimum in alike),
        others=tuple(more),
        flat=None if flat is None else flat * lowest.units.unknowns,
        start_lengths=lowest.end.start_lengths,
    )


def _value_tolerance(optima: Sequence[LocalOptimum]) -> float:
    """The difference of values up to which optima are equal, relative to the smallest unit of the
    objective and to the values."""
    unit = min(optimum.units.goal for optimum in optima)
    least = min(optima, key=lambda optimum: optimum.value)
    return EQUAL_VALUE_TOLERANCE * min(
        unit, max(abs(least.value), least.units.goal)
    ) + OPTIMUM_VALUE_RTOL * (unit + abs(least.value))


def _local_optima(
    problem: NlpProblem, ends: Sequence[SearchEnd], *, descend: bool = True
) -> list[LocalOptimum]:
    """The distinct feasible optima at which searches ended, ascending, without those far above the
    lowest.
    """
    optima: list[LocalOptimum] = []
    for end in sorted(ends, key=lambda end: end.value):
        same = [k for k, optimum in enumerate(optima) if optimum.is_at(end.x, end.start_lengths)]
        if same:
            optima[same[0]] = replace(optima[same[0]], count=optima[same[0]].count + 1)
            continue
        least = min((optimum.value for optimum in optima), default=np.inf)
        near = [
            optimum
            for optimum in optima
            if end.value <= least + RIVAL_VALUE_TOLERANCE * optimum.units.goal
        ]
        # polishing costs more than the search, so ends that cannot be the best are not polished
        if optima and (not near or len(optima) >= MAX_LOCAL_OPTIMA):
            continue
        optimum = local_optimum(problem, end, descend=descend)
        if optimum.point.violation > FEASIBILITY_RTOL or not is_feasible(problem, optimum.x):
            continue
        # two distant ends may be polished to the same optimum
        same = [k for k, other in enumerate(optima) if other.is_at(optimum.x, end.start_lengths)]
        if same:
            optima[same[0]] = replace(optima[same[0]], count=optima[same[0]].count + 1)
        else:
            optima.append(optimum)
    return sorted(optima, key=lambda optimum: optimum.value)


def _escape_saddles(
    problem: NlpProblem, optima: list[LocalOptimum], length: int, seed: int
) -> list[LocalOptimum]:
    """The optima, including those that searches reach from lower points around the best one."""
    for _ in range(MAX_SADDLE_ESCAPES):
        lowest = min(optima, key=lambda optimum: optimum.value)
        lower = explore_neighbourhood(lowest.problem, lowest.point, seed).lowest
        lower = search_axes(lowest.problem, lowest.point) if lower is None else lower
        if lower is None:
            break
        start = lower * lowest.units.unknowns
        end = search(problem, start, length)
        value = float(problem.functions.at(start)[0][0])
        # the lower point itself is included, since a search from it may fail
        ends = [SearchEnd(start, lowest.end.start_lengths, value)]
        ends += _feasible_ends(problem, end) if end is not None else []
        reached = [optimum for end in ends for optimum in _local_optima(problem, [end])]
        if not reached or min(p.value for p in reached) >= lowest.value - _value_tolerance(optima):
            break
        optima = sorted([*optima, *reached], key=lambda optimum: optimum.value)
    distinct: list[LocalOptimum] = []
    for optimum in optima:
        if not any(other.is_at(optimum.x, optimum.end.start_lengths) for other in distinct):
            distinct.append(optimum)
    return distinct


def _as_solution(problem: NlpProblem, end: KktPoint) -> NlpSolution:
    """The solution record of a feasible point, in the units of the expressions.

    Args:
        problem: the problem in units adapted to the point.
        end: the point.
    """
    assert problem.units is not None
    units = problem.units
    at_low, at_high = at_bounds(problem, end.x)
    # the bounds themselves, not the `inner` ones, which are slightly inside where the slope is
    # infinite
    x = np.where(at_low, problem.low, np.where(at_high, problem.high, end.x))
    value = float(problem.functions.at(x)[0][0])
    room = duality_gap(problem, replace(end, x=x)) if problem.convex else None
    room = None if room is None else room * units.goal
    names = np.array([s.name for s in problem.unknowns])
    constraint_names = [c.name for c in problem.constraints]
    active = (end.multipliers > WEAK_MULTIPLIER) & ~problem.equality
    return NlpSolution(
        feasible=True,
        x=x * units.unknowns,
        value=value * units.goal,
        multipliers=end.multipliers * units.goal / units.constraints,
        low=end.low * units.goal / units.unknowns,
        high=end.high * units.goal / units.unknowns,
        active=tuple(name for name, holds in zip(constraint_names, active, strict=True) if holds),
        at_low=tuple(names[at_low].tolist()),
        at_high=tuple(names[at_high].tolist()),
        violation=float(
            np.max(
                relative_violations(
                    violations_for_certain(problem, x), constraint_sizes(problem, x)
                ),
                initial=0.0,
            )
        ),
        residual=end.residual,
        convex=problem.convex,
        gap=room,
        unit=min(units.goal, problem.goal_scale(x * units.unknowns, units.unknowns)),
    )


def _feasible_ends(problem: NlpProblem, end: SearchEnd) -> Iterator[SearchEnd]:
    """The end of a search if it is nearly feasible, or its repaired point if that is."""
    if nearly_feasible(problem, end.x):
        yield end
        return
    x = repair(problem, end.x)
    if nearly_feasible(problem, x):
        yield SearchEnd(x, end.start_lengths, float(problem.functions.at(x)[0][0]))
