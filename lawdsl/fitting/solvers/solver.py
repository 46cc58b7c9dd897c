"""(Problem, starts, options) -> Solutions: the signature that all solvers share.

A solver processes all starts as one array. Starts do not affect each other's results, except that a
solver may drop starts that cannot reach the best one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.objectives import Objective
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.projected_problem import ProjectedProblem, as_projected

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

MINIMUM = "converged"
OUT_OF_STEPS = "iteration limit reached"
GIVEN_UP = "abandoned, as another start was better"
NO_VALUE = "the objective is not finite"


def reason_of(loss: float, converged: bool) -> str:
    """Why the search from a start that was not abandoned has ended.

    Args:
        loss: the objective at its end.
        converged: whether the search fulfilled its criterion of convergence.
    """
    if not isfinite(loss):
        return NO_VALUE
    return MINIMUM if converged else OUT_OF_STEPS


@dataclass(frozen=True)
class SolverOptions:
    """How a solver searches; None leaves the choice to the solver.

    Attributes:
        objective: the objective that replaces the problem's own.
        fixed: unconstrained parameters that are not changed, shape (starts, parameters).
        tolerance: the relative decrease of the objective at which a search ends.
        evaluations: the largest number of evaluations of the model for each start.
        gradient: whether to compute the norm of the gradient, which takes an evaluation.
    """

    objective: Objective | None = None
    fixed: Mask | None = None
    tolerance: float | None = None
    evaluations: int | None = None
    gradient: bool = True


DEFAULTS = SolverOptions()


@dataclass(frozen=True)
class Solution:
    """The end of the search from one start.

    Attributes:
        point: the unconstrained parameters reached, shape (parameters,).
        loss: the objective at the point; inf if the law is undefined there, or the start was
            dropped.
        converged: whether a minimum was reached.
        reason: the reason why the search stopped.
        gradient_norm: the norm of the gradient with respect to the unconstrained parameters; nan if
            not requested.
        evaluations: the number of evaluations of the model, with derivatives, for this start.
    """

    point: Array
    loss: float
    converged: bool
    reason: str
    gradient_norm: float = np.nan
    evaluations: int = 0


Solver = Callable[[Problem | ProjectedProblem, Array, SolverOptions], Sequence[Solution]]
"""A fit, or its projection to the parameters in which its law is not linear; starts as unconstrained parameters, shape (starts, parameters) -> a solution for each, in their order."""


def with_objective(problem: Problem | ProjectedProblem, options: SolverOptions) -> ProjectedProblem:
    """Return the problem that a solver searches, with the objective of the options, if they have
    one.

    Args:
        problem: the objective with its data, or its projection.
        options: the options of the search.
    """
    search, objective = as_projected(problem), options.objective
    if objective is None:
        return search
    return replace(search, problem=replace(search.problem, objective=objective))


def gradient_norms(problem: Problem, points: Array, options: SolverOptions) -> Array:
    """Compute the norm of the gradient at each point.

    Args:
        problem: the objective to be minimised, with its data.
        points: unconstrained parameters, shape (starts, parameters).
        options: the options of the search; fixed unconstrained parameters count as 0.

    Returns:
        Shape (starts,); nan if the options do not request it.
    """
    if not options.gradient:
        return np.full(len(points), np.nan)
    with np.errstate(all="ignore"):
        gradient = problem.local_model(points, exact=False, objective=options.objective).gradient
        if options.fixed is not None:
            gradient = np.where(options.fixed, 0.0, gradient)
        return np.linalg.norm(gradient, axis=1)
