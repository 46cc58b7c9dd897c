"""Fit -> whether a parameter lies on or near a bound, where the delta method does not apply.

Near a bound the error of an estimate is not symmetric, neither in the parameter nor in its
logarithm, and other parameters cannot move with it beyond the bound. The likelihood ratio of a
parameter then has a mixture of chi-squared distributions (Self and Liang (1987), Journal of the
American Statistical Association 82). Its quantiles are close to those without the bound, so that
profile intervals remain valid.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.fitting.diagnostics.diagnose import ROUNDING_ENDS
from lawdsl.fitting.intervals.covariance import Covariance
from lawdsl.fitting.intervals.refits import refit
from lawdsl.fitting.problem import Problem
from lawdsl.fitting.transforms import Limit, to_free, without_coupled_limits

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# in standard errors: a bound further away does not affect intervals of 95 %, unless they are wider
NEAR_ERRORS = 3.0
# rows times parameters: on larger tables profiles take seconds
MAX_PROFILE_NUMBERS = 300_000
# work after which a profile that is a fit's own choice is given up, where an evaluation counts for its
# rows times parameters, and for as many as cost what every evaluation costs; and evaluations for each
# parameter that are always allowed. Searches from kink to kink of a narrow Huber loss need far more
MAX_WORK_OF_CHOICE, WORK_OF_EVALUATION, MIN_EVALUATIONS_OF_CHOICE = 50e6, 1000, 200
# of an unconstrained parameter: longest move to the start of a search on a bound
MAX_START_MOVE = 2.0
# relative to the size of a parameter: step of a numeric derivative of a bound
LIMIT_STEP_RTOL = 1e-6


def is_near_bound(
    problem: Problem,
    theta: Array,
    on_bound: Mask,
    undetermined: Mask,
    covariance: Covariance,
    rise: Array,
    half_width: float,
) -> bool:
    """Whether intervals need a profile, because a parameter lies on or near a bound.

    A parameter is near a bound if the bound is at most three standard errors away, and if the rows
    do not reject a number that is a bound either: with the parameter on it and the others fitted
    again, the objective rises by less than that of three standard errors. An amplitude A > 0 with
    a wide interval is usually not near 0 in that sense.

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        on_bound: the mask of parameters on a bound, shape (parameters,).
        undetermined: the mask of parameters that the data do not determine, shape (parameters,).
        covariance: the covariance of the parameters, those on a bound included.
        rise: the increase of the objective at one standard error of each parameter, shape
            (parameters,).
        half_width: of the intervals, in standard errors.
    """
    nearest = max(NEAR_ERRORS, half_width)
    if np.any(on_bound):
        return True
    matrix = covariance.covariance
    for i, transform in enumerate(problem.transforms):
        if undetermined[i]:
            continue
        for side in transform.sides:
            if side is None or not _is_within(side, theta, i, covariance, nearest):
                continue
            if side.formula is not None:
                return True
            moved = theta + matrix[:, i] / matrix[i, i] * (side.number - theta[i])
            is_lower = side is transform.lower
            if _rise_on_bound(problem, theta, moved, i, is_lower) <= nearest**2 * rise[i]:
                return True
    return False


def most_evaluations(problem: Problem) -> float:
    """The number of evaluations after which a profile that was not asked for is given up.

    Args:
        problem: the objective to be minimised, with its data.
    """
    work = WORK_OF_EVALUATION + problem.rows * problem.parameters
    return max(MAX_WORK_OF_CHOICE / work, MIN_EVALUATIONS_OF_CHOICE * problem.parameters)


def _is_within(
    side: Limit, theta: Array, number: int, covariance: Covariance, nearest: float
) -> bool:
    """Whether a bound is within so many standard errors of the distance to it."""
    gradient = -_limit_gradient(side, theta)
    gradient[number] += 1.0
    distance = abs(float(theta[number] - side.at(theta[None])[0]))
    (error,) = covariance.errors(gradient[None])
    return bool(np.isfinite(error) and distance <= nearest * error)


def _limit_gradient(side: Limit, theta: Array) -> Array:
    """The gradient of a bound with respect to the parameters, by central differences."""
    if side.formula is None:
        return np.zeros(len(theta))
    steps = np.diag(LIMIT_STEP_RTOL * np.maximum(np.abs(theta), 1e-300))
    with np.errstate(all="ignore"):
        change = side.at(theta + steps) - side.at(theta - steps)
    return np.asarray(np.nan_to_num(change / (2 * np.diag(steps))))


@np.errstate(all="ignore")  # a start may be outside the domain
def _rise_on_bound(
    problem: Problem, theta: Array, moved: Array, number: int, is_lower: bool
) -> float:
    """How much the objective rises with a parameter on its bound and the others fitted again.

    Args:
        problem: the objective to be minimised, with its data.
        theta: the fitted parameters, shape (parameters,).
        moved: where the others are expected then, by the covariance, shape (parameters,).
        number: the position of the parameter.
        is_lower: whether it is its lower bound.
    """
    transforms = without_coupled_limits(problem.transforms) or problem.transforms
    relaxed = replace(problem, transforms=transforms)
    fit, there = to_free(transforms, theta[None])[0], to_free(transforms, moved[None])[0]
    bounded = np.array([t.lower is not None or t.upper is not None for t in transforms])
    longest = np.where(bounded, MAX_START_MOVE, np.inf)
    there = fit + np.nan_to_num(np.clip(there - fit, -longest, longest))
    both = transforms[number].lower is not None and transforms[number].upper is not None
    # with one limit only small exp(u) approach it
    end = ROUNDING_ENDS if both and not is_lower else -ROUNDING_ENDS
    starts = np.stack([fit, there])
    starts[:, number] = end
    fixed = np.zeros(starts.shape, dtype=bool)
    fixed[:, number] = True
    losses = refit(relaxed, starts, fixed).losses
    return float(np.min(losses) - relaxed.losses(fit[None])[0])
