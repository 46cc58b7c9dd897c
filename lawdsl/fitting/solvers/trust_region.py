"""Problem + starts -> minima by trust-region reflective least squares, one start at a time.

It minimises Σ rho(r_i²) with the exact Jacobian and tolerances at rounding level (Branch, Coleman
and Li (1999), SIAM Journal on Scientific Computing 21, as implemented in SciPy). It is slow, but it
is the only solver tested here that never reports a wrong minimum on the NIST reference datasets.
Newton's method then refines the last digits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.losses import least_squares_loss, root_of_loss
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.newton import NEWTON_CONVERGENCE_RTOL, newton_batch
from lawdsl.fitting.solvers.projected_problem import ProjectedProblem, as_projected, project
from lawdsl.fitting.solvers.solver import (
    DEFAULTS,
    NO_VALUE,
    Solution,
    SolverOptions,
    gradient_norms,
    reason_of,
    with_objective,
)

Array = NDArray[np.float64]

MAX_EVALUATIONS = 6000
# relative to the objective, the parameters and the gradient: a smaller change ends the search
TRUST_REGION_RTOL = 1e-15
# of a tolerance, for the predicted decrease at which the refinement ends
NEWTON_TOLERANCE_SHARE = 1e-2


def trust_region(
    problem: Problem | ProjectedProblem, starts: Array, options: SolverOptions = DEFAULTS
) -> list[Solution]:
    """Search from each start by a trust-region method; see `Solver`.

    Args:
        problem: the objective with its data, or its projection.
        starts: unconstrained parameters, shape (starts, parameters).
        options: the options of the search.

    Raises:
        ValueError: the options fix unconstrained parameters, or the problem has priors, which this
            solver does not support.
    """
    if as_projected(problem).problem.penalty is not None:
        raise ValueError("a trust region has no term for priors")
    if options.fixed is not None:
        raise ValueError("a trust region moves all unconstrained parameters")
    return [_from_one(with_objective(problem, options), start, options) for start in starts]


def _from_one(projected: ProjectedProblem, start: Array, options: SolverOptions) -> Solution:
    problem = projected.problem
    if not projected.moving.any():  # a linear law, whose parameters are solved for
        return _polished(problem, projected.recover(start[:0], start), False, 0, options)
    row = problem.objective.row
    weights = np.sqrt(problem.weights if problem.weights is not None else np.ones(problem.rows))
    rtol = TRUST_REGION_RTOL if options.tolerance is None else options.tolerance

    # SciPy's losses depend on r² alone: with different sides the root of the loss is the residual
    of_sides = row.sides is not None

    def residuals(moving: Array) -> Array:
        values = projected.residuals(moving, start)
        values = root_of_loss(values, problem.objective)[0] if of_sides else values
        # least_squares refuses residuals that are not finite; the square of 1e30 is finite
        return np.nan_to_num(values, nan=1e30, posinf=1e30, neginf=-1e30)

    def slopes(moving: Array) -> Array:
        jacobian = projected.slopes(moving, start)
        if of_sides:
            values = projected.residuals(moving, start)
            jacobian = root_of_loss(values, problem.objective)[1][:, None] * jacobian
        return np.nan_to_num(jacobian, nan=0.0, posinf=0.0, neginf=0.0)

    from scipy.optimize import least_squares  # slow to import, and few fits need it

    try:
        with np.errstate(all="ignore"):
            search = least_squares(
                lambda moving: weights * residuals(moving),
                start[projected.moving],
                lambda moving: weights[:, None] * slopes(moving),
                method="trf",
                x_scale="jac",
                loss="linear" if of_sides else least_squares_loss(problem.objective),
                # the parameter of a loss known to SciPy is its scale
                f_scale=problem.objective.delta if row.least_squares and row.parameters else 1.0,
                ftol=rtol,
                xtol=rtol,
                gtol=rtol,
                max_nfev=MAX_EVALUATIONS if options.evaluations is None else options.evaluations,
            )
    except (ValueError, np.linalg.LinAlgError):
        return Solution(start, np.inf, False, NO_VALUE)
    end = projected.recover(search.x, start)
    # status 0: the limit of evaluations was reached
    return _polished(problem, end, search.status > 0, int(search.nfev), options)


def _polished(
    problem: Problem, free: Array, search_converged: bool, evaluations: int, options: SolverOptions
) -> Solution:
    """The solution after refinement of its last digits by Newton's method."""
    rtol = NEWTON_CONVERGENCE_RTOL
    if options.tolerance is not None:
        rtol = max(rtol, NEWTON_TOLERANCE_SHARE * options.tolerance)
    points, _, at_minimum, steps = newton_batch(project(problem), free[None], rtol=rtol)
    loss = problem.losses(points)
    converged = bool((at_minimum[0] or search_converged) and np.isfinite(loss[0]))
    return Solution(
        points[0],
        float(loss[0]),
        converged,
        reason_of(loss[0], converged),
        float(gradient_norms(problem, points, options)[0]),
        evaluations + int(steps[0]),
    )
