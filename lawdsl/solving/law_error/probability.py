"""The probability with which the constraints of a question hold at a choice.

A chance constraint (Charnes and Cooper 1959, Management Science 6) for each constraint with a fitted
law: with the mean m and the covariance Σ of the errors of its laws at the choice x, and the slope a of
the margin by these errors, the margin is taken at the errors

    e = m - z·Σa/sqrt(aᵀΣa),

the worst of those that are z standard deviations from the mean, to first order. The largest z at
which the margin is not negative is a quantile of Student's t, which gives the probability that the
constraint holds. Several constraints hold together with the probability that Bonferroni's inequality
gives: 1 minus the sum of those with which each does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from lawdsl.solving.law_error.law_values import PointValues
from lawdsl.solving.law_error.outcomes import Inputs, Outcomes

Array = NDArray[np.float64]

MAX_DEVIATIONS = 40.0  # standard deviations: further out probabilities are 0 or 1 to rounding
BISECTIONS = 48  # of these: 40 standard deviations to 1e-13


@dataclass(frozen=True)
class Safety:
    """How safe choices are.

    Attributes:
        goal: what is minimised, by the fitted laws, shape (points,).
        allowed: whether the constraints without a fitted law are kept, shape (points,).
        each: the probability of each constraint with one, shape (constraints, points).
        probability: at least so large is the probability that all of them hold, shape (points,).
        others: the margins of the other constraints, relative to their terms, shape (constraints,
            points).
    """

    goal: Array
    allowed: NDArray[np.bool_]
    each: Array
    probability: Array
    others: Array


def safety(outcomes: Outcomes, inputs: Inputs, count: int) -> Safety:
    """The probability that the constraints hold, at each of some choices.

    Args:
        outcomes: the question.
        inputs: the unknowns and all other symbols, at the choices.
        count: how many choices.
    """
    at = outcomes.laws_at(inputs, count)
    fitted = outcomes.outcome(inputs, at.values)
    directions, variances = worst_directions(outcomes, inputs, at)
    each = np.empty((len(outcomes.uncertain), count))
    for k, constraint in enumerate(outcomes.uncertain):
        variance = variances[k]

        def margin(z: Array, k: int = k) -> Array:
            true = at.with_errors(at.means - z * directions[k])
            return np.asarray(outcomes.outcome(inputs, true).margins[k])

        z = _largest(margin, count)
        # without any error the constraint holds, or it does not
        z = np.where(variance > 0, z, np.where(z > 0, np.inf, -np.inf))
        # not (>=): a slope that is not a number says nothing
        z = np.where(np.isfinite(variance), z, -np.inf)
        dof = outcomes.laws.dof_of(constraint.margin)
        each[k] = special.stdtr(dof, z) if math.isfinite(dof) else special.ndtr(z)
    probability = np.maximum(0.0, 1.0 - np.sum(1.0 - each, axis=0))
    allowed = fitted.allowed & np.isfinite(fitted.goal)
    return Safety(fitted.goal, allowed, each, probability, fitted.others)


def worst_directions(outcomes: Outcomes, inputs: Inputs, at: PointValues) -> tuple[Array, Array]:
    """The errors of the laws by which each constraint loses the most, to first order.

    Args:
        outcomes: the question.
        inputs: the unknowns and all other symbols, at choices.
        at: the laws there.

    Returns:
        Σa/sqrt(aᵀΣa) of each constraint with a fitted law, shape (constraints, calls, points), and
        the variance aᵀΣa of its margin, shape (constraints, points).
    """
    slopes = outcomes.slopes_of_margins(inputs, at.with_errors(at.means))
    with np.errstate(all="ignore"):
        moved = np.einsum("pij,kjp->kip", at.covariances, slopes)
        variances = np.einsum("kip,kip->kp", slopes, moved)
        directions = moved / np.sqrt(np.where(variances > 0, variances, 1.0))[:, None]
    return directions, variances


def _largest(margin: Callable[[Array], Array], count: int) -> Array:
    """The largest number of standard deviations at which a margin is not negative, by bisection."""
    low, high = np.full(count, -MAX_DEVIATIONS), np.full(count, MAX_DEVIATIONS)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        holds = margin(middle) >= 0
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low
