"""Where the minimum violates a bound between parameters, such as C > C0, the search without it ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.bound_distances import within_limits
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.projected_problem import ProjectedProblem, as_projected
from lawdsl.fitting.solvers.solver import Solution, Solver, SolverOptions
from lawdsl.fitting.transforms import to_parameters

Array = NDArray[np.float64]


class OutsideLimits(Exception):
    """The best start of a search without the bounds between parameters violates these."""


def ending_outside(problem: Problem, relaxed: Problem, solver: Solver) -> Solver:
    """The solver, but for its first starts: it raises `OutsideLimits` if the best of them violates a
    bound of the problem that the relaxed problem lacks.

    Args:
        problem: the objective with all bounds.
        relaxed: that without the bounds between parameters.
        solver: the solver from near the minima to the minima.
    """
    is_first = True

    def search(
        searched: Problem | ProjectedProblem, starts: Array, options: SolverOptions
    ) -> Sequence[Solution]:
        nonlocal is_first
        of_search = as_projected(searched).problem
        if is_first and of_search.transforms is relaxed.transforms:
            is_first = False
            best = starts[int(np.argmin(of_search.losses(starts)))]
            theta = to_parameters(relaxed.transforms, best[None])[0]
            if not within_limits(problem.transforms, theta):
                raise OutsideLimits
        return solver(searched, starts, options)

    return search
