"""Safe answers: the best choice whose constraints hold with a given probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.law_error.choices import Choices
from lawdsl.solving.law_error.outcomes import Outcomes
from lawdsl.solving.law_error.probability import Safety, safety
from lawdsl.solving.result import Answer
from lawdsl.solving.result_under_law_error import SafeAnswer

Array = NDArray[np.float64]

ROUNDING = 1e-7  # relative to the permitted probability of violation
RESOLUTION_RTOL = 1e-10  # relative resolution of the choices
REFINEMENTS = 8  # refinements of the grid around the best choice, each 50 times as fine
POINTS_PER_REFINEMENT = 101


def safe_answer(choices: Choices, answer: Answer, level: float) -> SafeAnswer:
    """The best choice whose constraints hold with a probability.

    The goal is that of the fitted laws, as for the point answer. The search uses a grid, refined
    around its best point, and the result is verified; it is not certified that no better choice
    lies between grid points.

    Args:
        choices: the question, in which some constraint involves a fitted law.
        answer: the point answer.
        level: the probability, 0.95 for 95 %.
    """
    point = {u.name: u.value for u in answer.unknowns}.get(choices.unknown.name)
    grid = choices.grid(point)
    grid = grid[choices.within_reach(grid, point)]
    if not len(grid):
        return verified_answer(choices.outcomes, answer, level, None, 0)
    result = _safety(choices, grid)
    count = len(grid)
    points, goals, probabilities = grid, result.goal, _probability_if_allowed(result)
    # slightly above the level, so that rounding does not fall below it
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
        further = _safety(choices, finer)
        count += len(finer)
        points, goals, probabilities = finer, further.goal, _probability_if_allowed(further)
        reached = _best(points, goals, probabilities, least)
        largest = int(np.argmax(probabilities))
    around = largest if reached is None else reached
    chosen = choices.all_unknowns(float(points[around])) if probabilities[around] > 0 else None
    return verified_answer(choices.outcomes, answer, level, chosen, count)


def verified_answer(
    outcomes: Outcomes,
    answer: Answer,
    level: float,
    chosen: Mapping[str, float] | None,
    evaluations: int,
    searches: int = 0,
) -> SafeAnswer:
    """A safe answer if a choice is verified to be one; else the results for that choice.

    Args:
        outcomes: the question.
        answer: the point answer.
        level: the probability, 0.95 for 95 %.
        chosen: name -> value of the choice; None if the probability is defined for no choice.
        evaluations, searches: how many choices were examined, in how many local searches.
    """
    given = {u.name: u.value for u in answer.unknowns}
    at_point = safety(outcomes, outcomes.inputs_at(given), 1) if given else None
    result = SafeAnswer(
        level=level,
        discrepancy=outcomes.laws.amplitude,
        widening=outcomes.laws.widening,
        status="infeasible",
        constraints=tuple(c.text for c in outcomes.uncertain),
        probability=0.0,
        point_probability=None if at_point is None else float(at_point.probability[0]),
        evaluations=evaluations,
        searches=searches,
        bound=outcomes.has_bound,
    )
    if chosen is None:
        return result
    verified = safety(outcomes, outcomes.inputs_at(chosen), 1)
    pairs = zip(outcomes.uncertain, verified.each[:, 0], strict=True)
    result = replace(
        result,
        probability=float(verified.probability[0]),
        unknowns=chosen,
        each={c.text: float(p) for c, p in pairs},
    )
    if not (verified.allowed[0] and result.probability >= level):
        return result
    goal = float(verified.goal[0])
    return replace(
        result,
        status="answered",
        goal=outcomes.formulated.sign * goal,
        cost=None if at_point is None else goal - float(at_point.goal[0]),
    )


def _safety(choices: Choices, points: Array) -> Safety:
    """The probabilities at values of the unknown of shape (points,)."""
    return safety(choices.outcomes, choices.inputs(points), len(points))


def _probability_if_allowed(result: Safety) -> Array:
    """The probabilities; -1 where another constraint or a domain is violated."""
    return np.where(result.allowed & np.isfinite(result.probability), result.probability, -1.0)


def _best(points: Array, goals: Array, probabilities: Array, level: float) -> int | None:
    """The index of the best choice of sufficient probability; None if there is none."""
    safe = np.flatnonzero(probabilities >= level)
    if not len(safe):
        return None
    return int(safe[np.argmin(goals[safe])])
