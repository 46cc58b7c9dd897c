"""The probability that the constraints of a question hold at a choice.

Each constraint with a fitted law is a chance constraint (Charnes and Cooper 1959, Management
Science 6): the probability that its margin is nonnegative, given the joint distribution of the
errors of its laws (`margin_probability`). Constraints with max, min or abs of laws are first split
into branches (`branches`). The joint probability of several constraints is bounded below by
Bonferroni's inequality: 1 minus the sum of the probabilities of violation. For several laws the
probability is a one-sided 99 % confidence bound, at a fixed choice; see `margin_probability`.

Searches require that the margin is nonnegative at the worst errors z standard deviations from the
mean, to first order: with the mean m and the covariance Σ of the errors and the gradient a of the
margin with respect to them,

    e = m - z·Σa/sqrt(aᵀΣa).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lawdsl.solving.law_error import branches
from lawdsl.solving.law_error.law_values import PointValues
from lawdsl.solving.law_error.margin_probability import of_one_law, of_several_laws
from lawdsl.solving.law_error.outcomes import Inputs, Margin, Outcomes

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Safety:
    """The probabilities with which the constraints hold at some choices.

    Attributes:
        goal: the minimised goal by the fitted laws, shape (points,).
        allowed: whether the constraints without a fitted law are satisfied, shape (points,).
        each: a lower bound on the probability of each constraint with a fitted law, shape
            (constraints, points).
        probability: a lower bound on the probability that all of these hold, shape (points,).
        others: the margins of the other constraints, relative to their terms, shape (constraints,
            points).
    """

    goal: Array
    allowed: NDArray[np.bool_]
    each: Array
    probability: Array
    others: Array


def safety(outcomes: Outcomes, inputs: Inputs, count: int) -> Safety:
    """The probability that the constraints hold, at each of several choices.

    Args:
        outcomes: the question.
        inputs: the unknowns and all other symbols, at the choices.
        count: how many choices.
    """
    at = outcomes.laws_at(inputs, count)
    fitted = outcomes.outcome(inputs, at.values)
    each = np.array([_of_constraint(outcomes, k, inputs, at) for k in range(len(outcomes.nodes))])
    each = each.reshape(len(outcomes.nodes), count)
    bound = np.maximum(0.0, 1.0 - np.sum(1.0 - each, axis=0))
    probability = each[0] if len(each) == 1 else bound  # avoids rounding errors
    allowed = fitted.allowed & np.isfinite(fitted.goal)
    return Safety(fitted.goal, allowed, each, probability, fitted.others)


def _of_constraint(outcomes: Outcomes, k: int, inputs: Inputs, at: PointValues) -> Array:
    """The probability of the uncertain constraint with this index, or a lower bound; (points,)."""
    whole, node = outcomes.whole_margins[k], outcomes.nodes[k]
    result = _of_margin(whole, inputs, at)
    parts = {i: outcomes.margins[i] for i in branches.numbers(node)}
    if len(whole.calls) == 1 or any(len(part.calls) > 1 for part in parts.values()):
        return result
    # each branch has one law: its probability is exact, and no draws are required
    of_parts = np.zeros((len(outcomes.margins), len(result)))
    for i, part in parts.items():
        of_parts[i] = _of_margin(part, inputs, at)
    return np.maximum(result, branches.probability(node, of_parts))


def _of_margin(margin: Margin, inputs: Inputs, at: PointValues) -> Array:
    """The probability that a margin is nonnegative, or a lower bound on it; shape (points,)."""
    calls = list(margin.calls)
    laws = at.laws
    fits = {i: fit for fit in laws.fits for i in fit.calls}
    count = at.values.shape[1]
    columns = {s: np.broadcast_to(inputs[s], count) for s in margin.others}

    def given(errors: Array, numbers: NDArray[np.intp]) -> tuple[Inputs, Array]:
        true = [
            fits[i].shifted(at.values[i, numbers], e) for i, e in zip(calls, errors, strict=True)
        ]
        return {s: x[numbers] for s, x in columns.items()}, np.array(true)

    def value(errors: Array, numbers: NDArray[np.intp]) -> Array:
        return margin.values(*given(errors, numbers))

    def slope(errors: Array, numbers: NDArray[np.intp]) -> Array:
        return margin.slopes(*given(errors, numbers))

    if not calls:  # a branch that is a number, such as 2 in max(loss, 2)
        return np.asarray(margin.values(inputs, np.empty((0, count))) >= 0, dtype=np.float64)
    if len(calls) == 1:
        (i,) = calls
        return of_one_law(value, at.means[i], at.deviations[i], fits[i].dof)
    used = tuple(dict.fromkeys(laws.fits.index(fits[i]) for i in calls))
    return of_several_laws(
        value,
        slope,
        at.means[calls],
        at.covariances[:, calls][:, :, calls],
        tuple(used.index(laws.fits.index(fits[i])) for i in calls),
        tuple(laws.fits[k].dof for k in used),
    )


def worst_directions(outcomes: Outcomes, inputs: Inputs, at: PointValues) -> tuple[Array, Array]:
    """The errors of the laws in the direction of the steepest decrease of each margin, to first
    order.

    Args:
        outcomes: the question.
        inputs: the unknowns and all other symbols, at choices.
        at: the laws at these choices.

    Returns:
        Σa/sqrt(aᵀΣa) for each of the question's `margins`, shape (margins, calls, points), and the
        variance aᵀΣa of each, shape (margins, points).
    """
    true = at.with_errors(at.means)
    slopes = np.zeros((len(outcomes.margins), *true.shape))
    for k, margin in enumerate(outcomes.margins):
        if not margin.calls:
            continue
        slopes[k, list(margin.calls)] = margin.slopes(inputs, true[list(margin.calls)])
    with np.errstate(all="ignore"):
        moved = np.einsum("pij,kjp->kip", at.covariances, slopes)
        variances = np.einsum("kip,kip->kp", slopes, moved)
        directions = moved / np.sqrt(np.where(variances > 0, variances, 1.0))[:, None]
    return directions, variances
