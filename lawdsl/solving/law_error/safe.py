"""Safe answers: the best choice whose constraints hold with a given probability.

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
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from lawdsl.solving.law_error.choices import Choices
from lawdsl.solving.result import Answer, SafeAnswer

Array = NDArray[np.float64]

MAX_DEVIATIONS = 40.0  # standard deviations: further out probabilities are 0 or 1 to rounding
BISECTIONS = 48  # of these: 40 standard deviations to 1e-13
ROUNDING = 1e-7  # of the probability that may fail
RESOLUTION_RTOL = 1e-10  # of the choices
REFINEMENTS = 8  # of the choices around the best, each 50 times as fine
POINTS_PER_REFINEMENT = 101


@dataclass(frozen=True)
class Safety:
    """How safe choices are.

    Attributes:
        goal: what is minimised, by the fitted laws, shape (points,).
        allowed: whether the constraints without a fitted law are kept, shape (points,).
        each: the probability of each constraint with one, shape (constraints, points).
        probability: at least so large is the probability that all of them hold, shape (points,).
    """

    goal: Array
    allowed: NDArray[np.bool_]
    each: Array
    probability: Array


def safety(choices: Choices, points: Array) -> Safety:
    """The probability that the constraints hold, at each of some choices.

    Args:
        choices: the question.
        points: values of the unknown, shape (points,).
    """
    laws = choices.laws
    at = laws.at_points(choices.law_points(points))
    fitted = choices.outcome(points, at.values)
    slopes = choices.slopes_of_margins(points, at, at.with_errors(at.means))
    each = np.empty((len(choices.uncertain), len(points)))
    for k, slope in enumerate(slopes):
        # worst direction: Σa/sqrt(aᵀΣa), shape (calls, points)
        moved = np.einsum("pij,jp->ip", at.covariances, slope)
        variance = np.einsum("ip,ip->p", slope, moved)
        with np.errstate(all="ignore"):
            direction = moved / np.sqrt(np.where(variance > 0, variance, 1.0))

        def margin(z: Array, k: int = k, direction: Array = direction) -> Array:
            true = at.with_errors(at.means - z * direction)
            return np.asarray(choices.outcome(points, true).margins[k])

        z = _largest(margin, len(points))
        # without any error the constraint holds, or it does not
        z = np.where(variance > 0, z, np.where(z > 0, np.inf, -np.inf))
        # not (>=): a slope that is not a number says nothing
        z = np.where(np.isfinite(variance), z, -np.inf)
        each[k] = special.stdtr(laws.dof, z) if math.isfinite(laws.dof) else special.ndtr(z)
    probability = np.maximum(0.0, 1.0 - np.sum(1.0 - each, axis=0))
    return Safety(fitted.goal, fitted.allowed & np.isfinite(fitted.goal), each, probability)


def _largest(margin: Callable[[Array], Array], count: int) -> Array:
    """The largest number of standard deviations at which a margin is not negative, by bisection."""
    low, high = np.full(count, -MAX_DEVIATIONS), np.full(count, MAX_DEVIATIONS)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        holds = margin(middle) >= 0
        low, high = np.where(holds, middle, low), np.where(holds, high, middle)
    return low


def safe_answer(choices: Choices, answer: Answer, level: float) -> SafeAnswer:
    """The best choice whose constraints hold with a probability.

    The goal is that of the fitted laws, as in the point answer. The search is a grid, refined around
    its best point, and what it finds is verified; that nothing better lies between the points of
    the grid is not certified.

    Args:
        choices: the question, of which some constraint involves a fitted law.
        answer: the point answer.
        level: the probability, 0.95 for 95 %.
    """
    name = choices.unknown.name
    given = {u.name: u.value for u in answer.unknowns}
    point = given.get(name)
    grid = choices.grid(point)
    within = choices.within_reach(grid, point)
    grid = grid[within] if np.sum(within) >= 3 else grid
    result = safety(choices, grid)
    count = len(grid)
    points, goals, probabilities = grid, result.goal, _admissible(result)
    # a little more than the level, so that rounding does not undercut it
    least = level + ROUNDING * (1 - level)
    reached = _best(points, goals, probabilities, least)
    largest = int(np.argmax(probabilities))
    for _ in range(REFINEMENTS):
        around = largest if reached is None else reached
        low = points[max(around - 1, 0)]
        high = points[min(around + 1, len(points) - 1)]
        finer = np.unique(np.append(np.linspace(low, high, POINTS_PER_REFINEMENT), points[around]))
        narrow = high - low <= RESOLUTION_RTOL * max(abs(low), abs(high))
        if narrow or len(finer) < 3 or not np.all(np.isfinite(finer)):
            break
        further = safety(choices, finer)
        count += len(finer)
        points, goals, probabilities = finer, further.goal, _admissible(further)
        reached = _best(points, goals, probabilities, least)
        largest = int(np.argmax(probabilities))
    at_point = safety(choices, np.array([point])) if point is not None else None
    blank = SafeAnswer(
        level=level,
        discrepancy=choices.laws.amplitude,
        widening=choices.laws.widening,
        status="infeasible",
        constraints=tuple(c.text for c in choices.uncertain),
        probability=max(0.0, float(probabilities[largest])),
        point_probability=None if at_point is None else float(at_point.probability[0]),
        evaluations=count,
    )
    if reached is None:
        if blank.probability > 0:
            return replace(blank, unknowns=choices.all_unknowns(float(points[largest])))
        return blank
    chosen = float(points[reached])
    # verified by itself: no number of a grid is taken on trust
    verified = safety(choices, np.array([chosen]))
    goal = float(verified.goal[0])
    each = zip(choices.uncertain, verified.each[:, 0], strict=True)
    return replace(
        blank,
        status="answered",
        probability=float(verified.probability[0]),
        unknowns=choices.all_unknowns(chosen),
        goal=choices.formulated.sign * goal,
        cost=None if at_point is None else goal - float(at_point.goal[0]),
        each={c.text: float(p) for c, p in each},
    )


def _admissible(result: Safety) -> Array:
    """The probabilities, -1 where another constraint or a domain is left."""
    return np.where(result.allowed & np.isfinite(result.probability), result.probability, -1.0)


def _best(points: Array, goals: Array, probabilities: Array, level: float) -> int | None:
    """The number of the best choice of sufficient probability; None for none."""
    safe = np.flatnonzero(probabilities >= level)
    if not len(safe):
        return None
    return int(safe[np.argmin(goals[safe])])
