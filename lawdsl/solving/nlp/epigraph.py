"""A problem near a point where branches of max, min or abs meet -> a smooth form of it.

In the epigraph form (Boyd and Vandenberghe (2004), Convex Optimization, section 4.1.3) a maximum
that is to be small becomes a variable z with z >= each branch. Only the branches that meet at the
point are retained, so that the smooth problem has the same solution there. Its multipliers and
sensitivities are those of the original, since the branches that meet remain equal as constants
change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.inputs import computed_at
from lawdsl.solving.nlp.kkt import active_set, kkt_point
from lawdsl.solving.nlp.multistart import refined
from lawdsl.solving.nlp.problem import NlpConstraint, NlpProblem, NlpSolution

Array = NDArray[np.float64]

KINKS = (sp.Max, sp.Min, sp.Abs)
BRANCH = "branch"  # prefix of the names of the new constraints
# In units adapted to the point: branches that differ by at most this meet.
TIE = 1e-6
# Relative to the sum of the weights of all branches: a smaller weight is 0 up to rounding.
WEIGHT_RTOL = 1e-6
# Relative to the unit of the objective plus its value: the error of a search at a kink.
KINK_VALUE_RTOL = 1e-6
MAX_RESIDUAL = 1e-7  # residual of the optimality conditions, for a search that has converged
# Relative to the largest singular value: a smaller one counts as 0.
RANK_RTOL = 1e-10


@dataclass(frozen=True)
class SmoothForm:
    """The problem near a solution, without kinks.

    Attributes:
        problem: the unknowns of the original, then one for each maximum, minimum or modulus of
            which branches meet; the constraints of the original, then the branches.
        solution: its solution; None if it has no derivatives: branches with zero multiplier, more
            active constraints than unknowns, or a kink that is not in epigraph form.
    """

    problem: NlpProblem
    solution: NlpSolution | None


def smooth_form(problem: NlpProblem, solution: NlpSolution) -> SmoothForm | None:
    """Derive the smooth problem that shares the solution of a problem with kinks.

    Args:
        problem: the problem in the units of its expressions.
        solution: a feasible solution.

    Returns:
        The smooth problem and its solution; None if no branches meet.
    """
    point_values = dict(zip(problem.unknowns, solution.x.tolist(), strict=True))
    builder = _Builder(problem, {**problem.values, **point_values})
    while builder.remove_innermost():
        pass
    if not builder.groups:
        return None
    smooth = builder.problem
    start = np.array([builder.point[symbol] for symbol in smooth.unknowns])
    refined_solution = refined(smooth, start)
    if refined_solution is None or not _is_as_good(problem, solution, refined_solution):
        return SmoothForm(smooth, None)
    if not _has_derivatives(smooth, refined_solution, builder.groups):
        return SmoothForm(smooth, None)
    return SmoothForm(smooth, refined_solution)


class _Builder:
    """The smooth problem, built by replacing kinks from the inside out.

    Attributes:
        problem: the problem, with the kinks replaced so far.
        point: symbol -> value at the solution.
        groups: for each new variable the positions of the constraints that are its branches.
    """

    def __init__(self, problem: NlpProblem, point: Mapping[sp.Symbol, float]) -> None:
        self.problem, self.point = problem, dict(point)
        self.groups: list[list[int]] = []

    def remove_innermost(self) -> bool:
        """Replace the kinks that contain no others; False if no kink remains."""
        kinks = {k for e in self.problem.expressions for k in e.atoms(*KINKS)}
        innermost = [k for k in kinks if not any(inner.has(*KINKS) for inner in k.args)]
        # sorted, since the order of a set differs between processes
        for kink in sorted(innermost, key=sp.default_sort_key):
            self._replace(kink)
        return bool(innermost)

    def _replace(self, kink: sp.Expr) -> None:
        branches = (kink.args[0], -kink.args[0]) if isinstance(kink, sp.Abs) else kink.args
        sign = -1 if isinstance(kink, sp.Min) else 1
        values = sign * np.array(computed_at(branches, self.point))
        lead = int(np.argmax(values))
        tied = [k for k in range(len(branches)) if self._meet(branches[lead], branches[k])]
        substitute = branches[lead]
        if len(tied) > 1:
            substitute = sp.Dummy("z", real=True)
            self.point[substitute] = float(sign * values[lead])
            count = len(self.problem.constraints)
            rows = [
                NlpConstraint(f"{BRANCH} {count + k}", sign * (branches[number] - substitute))
                for k, number in enumerate(tied)
            ]
            self.groups.append([count + k for k in range(len(rows))])
            self.problem = replace(
                self.problem,
                unknowns={**self.problem.unknowns, substitute: (-np.inf, np.inf)},
                constraints=(*self.problem.constraints, *rows),
            )
        constraints = [
            replace(c, expression=c.expression.xreplace({kink: substitute}))
            for c in self.problem.constraints
        ]
        objective = self.problem.objective.xreplace({kink: substitute})
        self.problem = replace(self.problem, objective=objective, constraints=constraints)

    def _meet(self, lead: sp.Expr, other: sp.Expr) -> bool:
        """Whether two branches are equal at the point, relative to the variation of their
        difference over the lengths of the unknowns.
        """
        difference = lead - other
        # a constant difference has no variation to compare it with
        if not difference.free_symbols & set(self.problem.unknowns):
            return bool(abs(computed_at([difference], self.point)[0]) == 0)
        alone = replace(self.problem, constraints=[NlpConstraint("difference", difference)])
        x = np.array([self.point[symbol] for symbol in alone.unknowns])
        scaled = alone.in_units_at(x)
        assert scaled.units is not None
        return bool(abs(scaled.functions.at(x / scaled.units.unknowns)[0][1]) <= TIE)


def polished(solution: NlpSolution, smooth: NlpSolution) -> NlpSolution:
    """Transfer the unknowns of the smooth problem, polished by Newton's method, to a solution.

    Args:
        solution: the solution of the original problem; its bound on the gap and its other optima
            are retained.
        smooth: the solution of its smooth form, whose first unknowns are those of the original.

    Returns:
        The solution of the original problem with these unknowns.
    """
    count = len(solution.x)
    return replace(
        solution,
        x=smooth.x[:count],
        value=smooth.value,
        violation=max(solution.violation, smooth.violation),
        active=tuple(name for name in smooth.active if not name.startswith(BRANCH)),
        at_low=smooth.at_low,
        at_high=smooth.at_high,
    )


def _is_as_good(problem: NlpProblem, solution: NlpSolution, smooth: NlpSolution) -> bool:
    """Whether the smooth optimum is also an optimum of the original problem; otherwise a kink is
    not in epigraph form, or other branches are active at the optimum.
    """
    value = float(problem.functions.at(smooth.x[: len(solution.x)])[0][0])
    rounding = KINK_VALUE_RTOL * (solution.unit + abs(solution.value))
    return (
        abs(smooth.value - value) <= KINK_VALUE_RTOL * rounding
        and value <= solution.value + rounding
        and smooth.residual <= MAX_RESIDUAL
    )


def _has_derivatives(problem: NlpProblem, solution: NlpSolution, groups: list[list[int]]) -> bool:
    """Whether all branches that meet have a positive multiplier, and the active constraints are
    independent: strict complementarity and LICQ, Nocedal and Wright (2006), Numerical Optimization,
    section 12.2 and section 12.3.
    """
    for rows in groups:
        weights = np.abs(solution.multipliers[rows])
        if not np.all(weights > WEIGHT_RTOL * np.sum(weights)):
            return False
    scaled = problem.in_units_at(solution.x, solution.start_lengths)
    assert scaled.units is not None
    kkt = kkt_point(scaled, np.clip(solution.x / scaled.units.unknowns, *scaled.inner))
    active, free = active_set(scaled, kkt)
    slopes = kkt.slopes[1:][active][:, free]
    if not np.isfinite(slopes).all():
        return False
    return len(active) == 0 or bool(np.linalg.matrix_rank(slopes, RANK_RTOL) == len(slopes))
