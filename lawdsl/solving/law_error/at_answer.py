"""The goal and the feasibility of an answer under the error of the laws.

Both require only the joint distribution of the laws at one choice, for any number of unknowns.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from lawdsl.core.distributions import student_quantile
from lawdsl.solving.law_error.draws import interval_of_draws
from lawdsl.solving.law_error.law_values import NoLawError
from lawdsl.solving.law_error.outcomes import Inputs, Outcomes
from lawdsl.solving.law_error.probability import safety
from lawdsl.solving.result import Answer
from lawdsl.solving.result_under_law_error import Ends, UnderLawError

# draws of the laws at the answer: ends of a 95 % interval are precise to 1.5 % of its half-width
GOAL_DRAWS = 10_000


def at_answer(outcomes: Outcomes, answer: Answer, seed: int) -> UnderLawError:
    """The goal and the constraints of an answer under the noise of the fits and the error of the
    laws.

    Args:
        outcomes: the question.
        answer: the answer by the fitted laws, which has a value for each unknown.
        seed: the random seed of all draws.

    Raises:
        NoLawError: the fitted rows do not determine a law at the answer.
    """
    inputs = outcomes.inputs_at({u.name: u.value for u in answer.unknowns})
    if not np.all(np.isfinite(outcomes.laws_at(inputs, 1).values)):
        raise NoLawError("the fitted rows do not determine a law at the answer")
    kept, each = None, {}
    if outcomes.uncertain and not outcomes.has_uncertain_equation:
        at = safety(outcomes, inputs, 1)
        kept = float(at.probability[0])
        pairs = zip(outcomes.uncertain, at.each[:, 0], strict=True)
        each = {constraint.text: float(p) for constraint, p in pairs}
    return UnderLawError(
        discrepancy=outcomes.laws.amplitude,
        widening=outcomes.laws.widening,
        seed=seed,
        goal=goal_interval(outcomes, inputs, answer.level, seed),
        kept=kept,
        each=each,
        bound=kept is not None and outcomes.has_bound,
        corrected=_corrected_goal(outcomes, inputs),
    )


def _corrected_goal(outcomes: Outcomes, inputs: Inputs) -> float | None:
    """The goal at a choice by the laws with the means of their errors; None if it depends on no law
    or has no value there.
    """
    goal, laws = outcomes.formulated.goal, outcomes.laws
    if not any(call.symbol in goal.free_symbols for call in laws.calls):
        return None
    at = outcomes.laws_at(inputs, 1)
    true = np.stack([at.with_errors(at.means)], axis=1)
    value = outcomes.formulated.sign * float(outcomes.outcome(inputs, true).goal[0, 0])
    return value if np.isfinite(value) else None


def goal_interval(outcomes: Outcomes, inputs: Inputs, level: float, seed: int) -> Ends | None:
    """The interval of the true goal at a choice.

    If the goal is an affine function of one call of a law, the ends are those of its prediction
    interval, by Student's t. Otherwise they are quantiles of draws.

    Args:
        outcomes: the question.
        inputs: the unknowns and all other symbols, of shape (1,).
        level: 0.95 for 95 %.
        seed: the seed of the draws.

    Returns:
        The ends; None if the goal depends on no law.
    """
    goal, laws = outcomes.formulated.goal, outcomes.laws
    used = [call.symbol for call in laws.calls if call.symbol in goal.free_symbols]
    if not used:
        return None
    if len(used) == 1 and used[0] not in sp.diff(goal, used[0]).free_symbols:
        at = outcomes.laws_at(inputs, 1)
        half = student_quantile((1 + level) / 2, laws.dof_of(goal)) * at.deviations
        true = np.stack([at.with_errors(at.means - half), at.with_errors(at.means + half)], axis=1)
        ends = outcomes.outcome(inputs, true).goal[:, 0]
        low, high = float(np.min(ends)), float(np.max(ends))
    else:
        rng = np.random.default_rng([seed, 0x60A1])
        true = laws.draws(laws.arguments(inputs, 1), GOAL_DRAWS, rng)
        low, high = interval_of_draws(outcomes.outcome(inputs, true).goal[:, 0], level)
    if not high > low:
        return None
    return (low, high) if outcomes.formulated.sign > 0 else (-high, -low)
