"""Fit + values of some parameters -> the minimum of the objective over the other parameters.

This is the profile, a curve or surface; `profile` searches for the ends of its intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.core.distributions import f_cdf
from lawdsl.fitting.intervals.constrained_profile import ConstrainedFit
from lawdsl.fitting.intervals.delta import linearised_errors
from lawdsl.fitting.intervals.m_estimator import Groups, noise_of
from lawdsl.fitting.intervals.refits import refit
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.solvers.newton import newton_batch
from lawdsl.fitting.solvers.projected_problem import project
from lawdsl.fitting.transforms import to_free, to_parameters, without_coupled_limits

Array = NDArray[np.float64]

# times the error of an unconstrained parameter: further out the law is far from its linearisation
MAX_START_SHIFT = 20.0


@dataclass(frozen=True)
class ProfiledFit:
    """A fit whose objective is profiled along its parameters.

    Attributes:
        problem: the minimisation problem without bounds that depend on other parameters.
        bounded: the problem with these bounds.
        theta: the fitted parameters, shape (parameters,).
        base: the objective at the fit.
        rise: the increase of the objective at the ends of the interval of each parameter, shape
            (parameters,).
        dof: residual degrees of freedom.
        quantile: the quantile of Student's t at the level of the intervals.
        half: half the width of the linearised interval of each unconstrained parameter, shape
            (parameters,).
        covariance: the covariance of the unconstrained parameters, linearised, shape (parameters,
            parameters).
    """

    problem: Problem
    bounded: Problem
    theta: Array
    base: float
    rise: Array
    dof: int
    quantile: float
    half: Array
    covariance: Array

    @property
    def free(self) -> Array:
        """The unconstrained parameters of the fit, shape (parameters,)."""
        return to_free(self.problem.transforms, self.theta[None])[0]


@np.errstate(all="ignore")  # a step may reach points where a law overflows
def profiled_fit(
    problem: Problem,
    theta: Array,
    on_bound: NDArray[np.bool_],
    level: float,
    groups: Groups = None,
) -> ProfiledFit:
    """Prepare the profiles of a fit.

    Args:
        problem: the objective with its data.
        theta: the fitted parameters, shape (parameters,).
        on_bound: the mask of parameters on a bound, shape (parameters,).
        level: 0.95 for 95 % intervals.
        groups: the training run of each row, shape (rows,).
    """
    transforms = without_coupled_limits(problem.transforms) or problem.transforms
    relaxed = replace(problem, transforms=transforms)
    linearised = linearised_errors(relaxed, theta, on_bound, level, groups, by_blocks=False)
    free = linearised.free[None]
    noise = noise_of(relaxed, relaxed.residuals(free)[0], int(np.sum(~on_bound)), groups)
    half = linearised.half_width * np.sqrt(np.diag(linearised.covariance))
    return ProfiledFit(
        relaxed,
        problem,
        theta,
        float(relaxed.losses(free)[0]),
        noise.rise(level) * linearised.inflation,
        noise.dof,
        noise.quantile(level),
        half,
        linearised.covariance,
    )


@np.errstate(all="ignore")
def least_objectives(fit: ProfiledFit, numbers: tuple[int, ...], free: Array) -> Array:
    """The profile of the objective, for fixed values of some unconstrained parameters: shape
    (points,).

    Args:
        fit: the fit.
        numbers: the positions of the fixed parameters; bounds that depend on others are enforced if
            there is one of them.
        free: the fixed unconstrained values, shape (points, numbers).
    """
    hessian = fit.problem.local_model(fit.free[None], exact=False).hessian[0]
    others = [i for i in range(len(fit.theta)) if i not in numbers and np.isfinite(fit.half[i])]
    starts = np.repeat(fit.free[None], len(free), axis=0)
    shift = free - fit.free[list(numbers)]
    if others:
        # the minimum of the quadratic approximation of the objective
        inner = hessian[np.ix_(others, others)]
        response = np.linalg.lstsq(inner, hessian[np.ix_(others, numbers)], rcond=None)[0]
        most = MAX_START_SHIFT * fit.half[others]
        starts[:, others] -= np.clip(shift @ response.T, -most, most)
    starts[:, list(numbers)] = free
    if len(numbers) == 1 and any(t.coupled for t in fit.bounded.transforms):
        search = ConstrainedFit(fit.problem, fit.bounded, fit.theta)
        return search.minimise(starts, np.full(len(free), numbers[0])).losses
    fixed = np.zeros(starts.shape, dtype=bool)
    fixed[:, list(numbers)] = True
    return refit(fit.problem, starts, fixed).losses


def moved_to_minimum(problem: Problem, theta: Array) -> Problem:
    """Some rows of a fit, with measurements shifted such that its parameters are their minimum,
    too.

    A sample of rows has a different minimum. Its residuals there are retained, and the measurements
    are shifted: y·law(theta)/law(minimum of the sample) if the objective compares logarithms, else
    the difference is added.

    Args:
        problem: the minimisation problem with the rows of the sample.
        theta: the parameters of the fit to all rows, shape (parameters,).
    """
    for _ in range(2):  # repeated, since the law is not linear
        free = to_free(problem.transforms, theta[None])
        with np.errstate(all="ignore"):
            own = to_parameters(problem.transforms, newton_batch(project(problem), free)[0])
            here, there = (problem.predictions(t)[0].copy() for t in (theta[None], own))
            if problem.objective.log:
                target = problem.target * here / there
            else:
                target = problem.target + here - there
        if not np.all(np.isfinite(target)):
            return problem
        problem = replace(problem, target=target)
    return problem


def joint_ratio(fit: ProfiledFit, level: float) -> float:
    """The ratio of the increase of the objective at the boundary of the joint region of two
    parameters to that at the ends of an interval: 2·F(level; 2, dof)/t² (Bates and Watts (1988),
    chapter 6).

    Args:
        fit: the fit.
        level: 0.95 for a region of 95 %.
    """
    low, high = 0.0, 1.0
    while f_cdf(high, 2, fit.dof) < level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if f_cdf(middle, 2, fit.dof) < level else (low, middle)
    return 2 * high / fit.quantile**2
