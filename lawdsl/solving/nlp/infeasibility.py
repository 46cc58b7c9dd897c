"""A problem without a feasible point -> the conflicting conditions, and by how much each must be
relaxed.

Affine conditions: the linear programme min t subject to c_k(x) <= t s_k, with s_k the size of row
k; rows with a non-zero multiplier form the conflict. For other conditions the same minimum is found
by local searches. The relaxation of one condition is the least value of c_k subject to all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.nlp.exclusion import is_infeasible
from lawdsl.solving.nlp.farkas import is_farkas_certificate
from lawdsl.solving.nlp.kkt import constraint_sizes, violation_amounts, violations
from lawdsl.solving.nlp.polytope import ZERO_MULTIPLIER, Polytope, least_violation
from lawdsl.solving.nlp.problem import (
    NlpConstraint,
    NlpProblem,
    NlpSolution,
    Shortfall,
    box_midpoint,
)
from lawdsl.solving.nlp.starts import point_cloud, repair

Array = NDArray[np.float64]
BestFeasible = Callable[..., NlpSolution | None]
# Relative to the size of a constraint: below it, a violation counts as rounding error.
VIOLATION_RTOL = 1e-9
INFEASIBLE_STARTS = 4
# "constraint", "low" or "high", and the index of the constraint or of the unknown.
ConflictMember = tuple[str, int]


def explain_infeasibility(problem: NlpProblem, best: BestFeasible, seed: int = 0) -> NlpSolution:
    """Explain why no point is feasible; solve the problem if a feasible point is discovered.

    Args:
        problem: a problem for which no feasible point was found.
        best: the function that solves problems, with further starting points.
        seed: the seed of the random starting points.

    Returns:
        A solution that is not feasible, with its conflict and shortfalls, or a feasible one.
    """
    crossed = np.flatnonzero(problem.low > problem.high)
    if len(crossed):
        return _crossed_bounds(problem, crossed)
    if problem.linear or problem.polytope.centre is None:
        return _explain_affine(problem)
    return _explain_nonlinear(problem, best, seed)


def _infeasible_solution(
    problem: NlpProblem,
    x: Array,
    conflict: list[ConflictMember],
    shortfalls: list[Shortfall],
    violation: float,
    proved_infeasible: bool,
    gap: float | None = None,
) -> NlpSolution:
    n, m = len(x), len(problem.constraints)
    value = float(problem.functions.at(x)[0][0])
    nothing = np.zeros(m), np.zeros(n), np.zeros(n)
    names = tuple(dict.fromkeys(_name(problem, c) for c in conflict))
    solution = NlpSolution(
        False, x, value, *nothing, violation=violation, conflict=names, residual=np.inf
    )
    return replace(
        solution,
        shortfalls=tuple(shortfalls),
        agreed=0,
        proved_infeasible=proved_infeasible,
        gap=gap,
    )


def _name(problem: NlpProblem, condition: ConflictMember) -> str:
    kind, number = condition
    if kind == "constraint":
        return problem.constraints[number].name
    symbol, (low, high) = list(problem.unknowns.items())[number]
    return f"{symbol.name} >= {low:.6g}" if kind == "low" else f"{symbol.name} <= {high:.6g}"


def _shortfall(problem: NlpProblem, condition: ConflictMember, amount: float) -> Shortfall:
    kind, number = condition
    symbols = list(problem.unknowns)
    name = problem.constraints[number].name if kind == "constraint" else symbols[number].name
    return Shortfall(name, kind, amount)


def _crossed_bounds(problem: NlpProblem, crossed: NDArray[np.int64]) -> NlpSolution:
    """The solution of a problem with contradictory bounds."""
    gaps = problem.low - problem.high
    conflict = [(kind, int(i)) for i in crossed for kind in ("low", "high")]
    alone = conflict if len(crossed) == 1 else []
    signs = {"low": -1.0, "high": 1.0}
    shortfalls = [_shortfall(problem, c, signs[c[0]] * float(gaps[c[1]])) for c in alone]
    x = box_midpoint(np.minimum(problem.low, problem.high), np.maximum(problem.low, problem.high))
    return _infeasible_solution(problem, x, conflict, shortfalls, float(np.max(gaps)), True, 0.0)


def _explain_affine(problem: NlpProblem) -> NlpSolution:
    """Explain affine conditions that exclude each other."""
    polytope = problem.polytope
    shift = least_violation(polytope)
    if shift is None:
        return _unexplained(problem)
    x, shares, weights, ends = shift
    rows = np.flatnonzero(shares > ZERO_MULTIPLIER)
    conflict = [("constraint", int(polytope.rows[k])) for k in rows] + [
        (e, int(i)) for e, i in ends
    ]
    shortfalls = [
        _shortfall(problem, ("constraint", int(polytope.rows[k])), amount)
        for k in rows
        for amount in _row_shortfall(polytope, int(k))
    ]
    shortfalls += [
        _shortfall(problem, (kind, i), amount)
        for kind, i in ends
        for amount in _bound_shortfall(polytope, kind, i)
    ]
    scaled = problem.in_units_at(x)
    assert scaled.units is not None
    least = float(np.max(violations(scaled, x / scaled.units.unknowns)[polytope.rows], initial=0.0))
    numbers = polytope.rows.tolist()
    proved_infeasible = least > VIOLATION_RTOL and is_farkas_certificate(
        problem, numbers, weights, polytope.sizes
    )
    return _infeasible_solution(
        problem, x, conflict, shortfalls, _largest_violation(problem, x), proved_infeasible, 0.0
    )


def _unexplained(problem: NlpProblem) -> NlpSolution:
    """The solution for affine conditions whose linear programme of the smallest violation cannot be
    solved.
    """
    x = box_midpoint(*problem.polytope.tightened)
    violation = _largest_violation(problem, x)
    return _infeasible_solution(
        problem, x, [], [], violation if np.isfinite(violation) else 0.0, is_infeasible(problem)
    )


def _row_shortfall(polytope: Polytope, k: int) -> Iterator[float]:
    """The minimum of a row subject to the others; nothing if these are infeasible."""
    rest = polytope.without(row=k)
    least = rest.linprog(polytope.slopes[k])
    if least.status == 0 and least.fun + polytope.offsets[k] > 0:
        yield float(least.fun + polytope.offsets[k])
    # 3: unbounded below, so the equation is violated in the other direction
    elif least.status in (0, 3) and polytope.equality[k]:
        most = rest.linprog(-polytope.slopes[k])
        if most.status == 0:
            yield float(-most.fun + polytope.offsets[k])


def _bound_shortfall(polytope: Polytope, kind: str, i: int) -> Iterator[float]:
    """The distance by which a bound must move until the other conditions are satisfied."""
    sign = 1.0 if kind == "high" else -1.0
    rest = polytope.without(high=i) if kind == "high" else polytope.without(low=i)
    programme = rest.linprog(sign * np.eye(len(polytope.low))[i])
    if programme.status == 0:
        bound = polytope.high[i] if kind == "high" else polytope.low[i]
        yield float(sign * programme.fun - bound)


def _explain_nonlinear(problem: NlpProblem, best: BestFeasible, seed: int) -> NlpSolution:
    """Explain infeasible conditions that are not all affine, by minimising their largest violation."""
    x, size = _least_violating_point(problem, seed)
    proved_infeasible = is_infeasible(problem)
    t = sp.Dummy("t", nonnegative=True)
    loose = []
    for number, c in enumerate(problem.constraints):
        signs = (1, -1) if c.equality else (1,)
        # each constraint is relaxed relative to its own size, so that units do not affect the
        # conflict
        room = sp.Float(size[number]) * t
        loose += [(number, NlpConstraint(c.name, sign * c.expression - room)) for sign in signs]
    wider = {**problem.unknowns, t: (0.0, np.inf)}
    violated = NlpProblem(t, wider, [c for _, c in loose], problem.values)
    # twice the violation of x, so that the search starts strictly inside all relaxed constraints
    start = np.append(x, 2 * _relative_violation(problem, x, size))
    starts = (
        INFEASIBLE_STARTS if proved_infeasible else None
    )  # infeasibility is known already; only the smallest violation is searched for
    extra_starts = [start] if np.isfinite(start).all() else []
    nearest = best(violated, starts, seed, extra_starts)
    if nearest is None:
        violation = _largest_violation(problem, x)
        return _infeasible_solution(
            problem, x, [], [], violation if np.isfinite(violation) else 0.0, proved_infeasible
        )
    x = nearest.x[:-1]
    if (
        nearest.value <= VIOLATION_RTOL and not proved_infeasible
    ):  # a violation of 0 needs no explanation
        feasible = best(problem, seed=seed, extra_starts=[x])
        if feasible is not None:
            return feasible
    shares = nearest.multipliers * size[[k for k, _ in loose]]
    in_conflict = np.flatnonzero(shares > ZERO_MULTIPLIER)
    conflict: list[ConflictMember] = [
        ("constraint", k) for k in sorted({loose[j][0] for j in in_conflict})
    ]
    lengths = problem.lengths(x)
    conflict += [
        ("low", int(i)) for i in np.flatnonzero(nearest.low[:-1] * lengths > ZERO_MULTIPLIER)
    ]
    conflict += [
        ("high", int(i)) for i in np.flatnonzero(nearest.high[:-1] * lengths > ZERO_MULTIPLIER)
    ]
    relaxed = [r for c in conflict for r in _shortfall_of(problem, c, best, starts)]
    proved_infeasible |= nearest.gap is not None and nearest.value - nearest.gap > VIOLATION_RTOL
    share = nearest.gap / nearest.value if nearest.gap is not None and nearest.value > 0 else None
    return _infeasible_solution(
        problem, x, conflict, relaxed, _largest_violation(problem, x), proved_infeasible, share
    )


def _largest_violation(problem: NlpProblem, x: Array) -> float:
    """The largest violation of a constraint, in its own unit."""
    return float(np.max(violation_amounts(problem, problem.functions.at(x)[0]), initial=0.0))


def _least_violating_point(problem: NlpProblem, seed: int) -> tuple[Array, Array]:
    """A point with small violations of the constraints, and the sizes of the constraints there."""
    points = point_cloud(problem, seed)
    x = repair(problem, points.points[:, points.order()[0]])
    scaled = problem.in_units_at(x)
    assert scaled.units is not None
    size = constraint_sizes(scaled, x / scaled.units.unknowns) * scaled.units.constraints
    return x, np.where(np.isfinite(size) & (size > 0), size, scaled.units.constraints)


def _relative_violation(problem: NlpProblem, x: Array, size: Array) -> float:
    return float(np.max(violation_amounts(problem, problem.functions.at(x)[0]) / size, initial=0.0))


def _shortfall_of(
    problem: NlpProblem, condition: ConflictMember, best: BestFeasible, starts: int | None
) -> Iterator[Shortfall]:
    """The least violation of one condition subject to all others."""
    kind, number = condition
    symbol, (low, high) = list(problem.unknowns.items())[number if kind != "constraint" else 0]
    if kind == "constraint":
        constraint = problem.constraints[number]
        others = [c for k, c in enumerate(problem.constraints) if k != number]
        signs = (1, -1) if constraint.equality else (1,)
        relaxed_problems = [
            NlpProblem(s * constraint.expression, problem.unknowns, others, problem.values)
            for s in signs
        ]
    else:
        wider = (-np.inf, high) if kind == "low" else (low, np.inf)
        goal, signs = (symbol - high, (1,)) if kind == "high" else (low - symbol, (-1,))
        unknowns = {**problem.unknowns, symbol: wider}
        relaxed_problems = [NlpProblem(goal, unknowns, problem.constraints, problem.values)]
    for sign, other in zip(signs, relaxed_problems, strict=True):
        solution = best(other, starts)
        if solution is not None and solution.value > 0:
            yield _shortfall(problem, condition, sign * solution.value)
            return
