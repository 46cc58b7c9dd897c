"""Safe answers to questions with several unknowns, by local searches.

The chance constraint of each law is a smooth function of the choice x: its margin at the errors
m(x) - z·Σ(x)a/sqrt(aᵀΣ(x)a) must be nonnegative, where z is the quantile of the probability. From
the answer by the fitted laws, and from random choices, SLSQP (Kraft 1988, DFVLR-FB 88-28) first
assigns an equal part of the permitted probability of violation to each constraint, and then only
limits their sum. The result is verified by the probability used for all safe answers; it is not
certified that no better choice exists.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from lawdsl.core.distributions import student_quantile
from lawdsl.solving.law_error.branches import combined_margin, conjuncts
from lawdsl.solving.law_error.margin_probability import MAX_DEVIATIONS
from lawdsl.solving.law_error.outcomes import Outcomes
from lawdsl.solving.law_error.probability import Safety, safety, worst_directions
from lawdsl.solving.law_error.safe import ROUNDING, verified_answer
from lawdsl.solving.law_error.search_variables import SearchVariables
from lawdsl.solving.nlp.descent import EvaluationLimit
from lawdsl.solving.result import Answer
from lawdsl.solving.result_under_law_error import SafeAnswer

Array = NDArray[np.float64]
Rows = Callable[[Array], Array]
"""Search variables of shape (points, variables) -> goal and constraints, shape (rows, points)."""

AROUND, ANYWHERE = 5, 6  # numbers of starts around the answer, and in the whole domain
HOPELESS = 4  # searches without a safe choice, after which the search for one stops
ENOUGH = 3  # number of searches that must agree on the best goal
AGREED_RTOL = 1e-8
FARTHEST_STEP = 3  # every third start is used in searches for the most probable choice
ITERATIONS = 60
# evaluations of rows and derivatives in one search, since line searches may not terminate
EVALUATIONS = 120
FTOL = 1e-10  # relative to the goal at the start
STEP = 1e-6  # step of central differences
NO_VALUE = 1e6  # replaces a number that is not finite
# share of the permitted violation of a margin with several laws that the first searches use
FIRST_ORDER = 0.8
RARE = 1e-12  # added to a probability before taking its logarithm


@dataclass
class Searches:
    """Local searches for safe choices.

    Attributes:
        variables: the variables of the question.
        evaluations: the number of choices evaluated.
    """

    variables: SearchVariables
    evaluations: int = field(default=0, init=False)

    @property
    def outcomes(self) -> Outcomes:
        """The question."""
        return self.variables.outcomes

    def tightened(self, z: Array) -> Rows:
        """Goal, other constraints, and the margins at the worst errors.

        Args:
            z: the distance of these errors from the mean in standard deviations, shape (margins,).
        """

        def rows(y: Array) -> Array:
            goal, others, margins = self._at_worst(y, np.broadcast_to(z[:, None], (len(z), len(y))))
            return np.array([goal, *others, *margins, *self.reach(y)])

        return rows

    def most_probable_rows(self, y: Array) -> Array:
        """The rows of a search for the most probable choice: its last variable is the number of
        standard deviations at which all margins are nonnegative, which is maximised.
        """
        count = len(self.outcomes.margins)
        deviations = y[:, -1]
        _, others, margins = self._at_worst(y[:, :-1], np.broadcast_to(deviations, (count, len(y))))
        return np.array([-deviations, *others, *margins, *self.reach(y[:, :-1])])

    def _at_worst(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """The goal by the fitted laws, the other constraints, and the margins at errors z standard
        deviations from the mean, in standard deviations; z has shape (margins, points). Of
        alternative margins, the largest is used.
        """
        self.evaluations += len(y)
        outcomes, inputs = self.outcomes, self.variables.inputs(y)
        at = outcomes.laws_at(inputs, len(y))
        fitted = outcomes.outcome(inputs, at.values)
        directions, variances = worst_directions(outcomes, inputs, at)
        margins = np.empty_like(variances)
        for k, margin in enumerate(outcomes.margins):
            true = at.with_errors(at.means - z[k] * directions[k])
            margins[k] = margin.values(inputs, true[list(margin.calls)])
        margins /= np.sqrt(np.where(variances > 0, variances, 1))
        needed = [combined_margin(node, margins) for node in conjuncts(outcomes.nodes)]
        return fitted.goal, fitted.others, np.array(needed)

    def violation_rows(self, y: Array) -> Array:
        """The logarithm of the probability of violation, which is minimised, and other constraints."""
        at = self.safety(y)
        return np.array([np.log(np.sum(1 - at.each, axis=0) + RARE), *at.others, *self.reach(y)])

    def jointly(self, level: float) -> Rows:
        """Goal, other constraints, and the log-ratio of the permitted to the actual probability of
        violation.

        Args:
            level: the required probability that all constraints hold.
        """

        def rows(y: Array) -> Array:
            at = self.safety(y)
            failing = np.sum(1 - at.each, axis=0)
            spare = math.log(1 - level) - np.log(failing + RARE)
            return np.array([at.goal, *at.others, spare, *self.reach(y)])

        return rows

    def reach(self, y: Array) -> Array:
        """The remaining distance of choices from the limit of the reach in decades, for search
        variables of shape (points, unknowns); see `Outcomes.reach`.
        """
        return self.outcomes.reach(self.variables.inputs(y), len(y), self.variables.at_answer)

    def safety(self, y: Array) -> Safety:
        """The probabilities at choices, for search variables of shape (points, unknowns)."""
        self.evaluations += len(y)
        return safety(self.outcomes, self.variables.inputs(y), len(y))

    def minimised(self, rows: Rows, begin: Array, low: Array, high: Array) -> Array:
        """The end of a search, shape (variables,); it need not satisfy the constraints.

        Args:
            rows: the goal, the other constraints of the question, and further inequalities.
            begin: the start, shape (variables,).
            low, high: the bounds of the variables.
        """
        equal = np.array([c.equality for c in self.outcomes.certain], dtype=bool)
        count = len(rows(begin[None]))
        is_equation = np.concatenate([equal, np.zeros(count - 1 - len(equal), dtype=bool)])
        scales = np.ones(count)
        known: dict[bytes, tuple[Array, Array]] = {}
        evaluated, reached = 0, begin

        def at(y: Array) -> tuple[Array, Array]:
            """The rows and their derivatives, shapes (rows,) and (rows, variables)."""
            key = y.tobytes()
            if key not in known:
                nonlocal evaluated
                evaluated += 1
                if evaluated > EVALUATIONS:
                    raise EvaluationLimit
                known.clear()
                up, down = np.minimum(y + STEP, high), np.maximum(y - STEP, low)
                points = np.vstack([y, np.where(np.eye(len(y), dtype=bool), up, y)])
                points = np.vstack([points, np.where(np.eye(len(y), dtype=bool), down, y)])
                found = rows(points)
                found[0] = np.nan_to_num(found[0], nan=NO_VALUE, posinf=NO_VALUE, neginf=NO_VALUE)
                found[1:] = np.nan_to_num(
                    found[1:], nan=-NO_VALUE, posinf=NO_VALUE, neginf=-NO_VALUE
                )
                ups, downs = np.split(found[:, 1:], 2, axis=1)
                slopes = (ups - downs) / np.maximum(up - down, STEP)
                known[key] = found[:, 0] / scales, slopes / scales[:, None]
            return known[key]

        def stepped(y: Array) -> None:
            nonlocal reached
            reached = y.copy()

        scales[0] = abs(at(begin)[0][0]) or 1.0
        known.clear()
        constraints = [
            {
                "type": kind,
                "fun": lambda y, number=number: at(y)[0][1 + number],
                "jac": lambda y, number=number: at(y)[1][1 + number],
            }
            for kind, number in (
                ("eq", np.flatnonzero(is_equation)),
                ("ineq", np.flatnonzero(~is_equation)),
            )
            if len(number)
        ]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # if SLSQP leaves the box by rounding, SciPy clips and warns
            warnings.simplefilter("ignore", RuntimeWarning)
            with contextlib.suppress(EvaluationLimit):
                reached = scipy.optimize.minimize(
                    lambda y: (at(y)[0][0], at(y)[1][0]),
                    begin,
                    jac=True,
                    method="SLSQP",
                    bounds=scipy.optimize.Bounds(low, high),
                    constraints=constraints,
                    callback=stepped,
                    options={"maxiter": ITERATIONS, "ftol": FTOL},
                ).x
        return np.clip(np.where(np.isfinite(reached), reached, begin), low, high)


def safe_answer_of_several(
    outcomes: Outcomes, answer: Answer, level: float, seed: int
) -> SafeAnswer:
    """The best choice of several unknowns whose constraints hold with a probability.

    The goal is that of the fitted laws, as in the point answer.

    Args:
        outcomes: the question, in which some constraint involves a fitted law.
        answer: the point answer.
        level: the probability, 0.95 for 95 %.
        seed: the seed of the random starts.
    """
    variables = SearchVariables(outcomes, {u.name: u.value for u in answer.unknowns})
    searches = Searches(variables)
    low, high = variables.box
    starts = variables.starts(AROUND, ANYWHERE, np.random.default_rng([seed, 0x5AFE]))
    # slightly above the level, so that rounding does not fall below it
    least = level + ROUNDING * (1 - level)
    # for a margin with several laws the worst errors are known only to first order
    failing = np.array([FIRST_ORDER if len(m.calls) > 1 else 1.0 for m in outcomes.margins])
    failing *= (1 - least) / len(failing)
    z = np.array(
        [
            student_quantile(1 - part, outcomes.laws.dof_of(margin.expression))
            for part, margin in zip(failing, outcomes.margins, strict=True)
        ]
    )
    chosen, count = _safe_choice(searches, starts, z, level)
    if chosen is not None and len(outcomes.margins) + outcomes.has_bound > 1:
        # the permitted violation need not be divided equally
        count += 1
        end = searches.minimised(searches.jointly(least), chosen, low, high)
        better = _best(searches, np.array([chosen, end]), level)
        chosen = chosen if better is None else better
    return verified_answer(
        outcomes,
        answer,
        level,
        None if chosen is None else variables.named(chosen),
        searches.evaluations,
        count,
    )


def _safe_choice(
    searches: Searches, starts: Array, z: Array, level: float
) -> tuple[Array | None, int]:
    """The best choice whose constraints hold at errors z standard deviations from the mean, else
    the most probable choice, and the number of searches; None if no choice satisfies the other
    constraints.
    """
    rows, ends = searches.tightened(z), []
    for begin in starts:
        ends.append(searches.minimised(rows, begin, *searches.variables.box))
        if _have_converged(searches, ends, level):
            break
        if (
            len(ends) == (HOPELESS if searches.variables.answer else 1)
            and _best(searches, np.array(ends), level) is None
        ):
            # from the most probable choice a safe one is found if there is any nearby
            begin, further = _most_probable(searches, starts)
            if begin is not None:
                ends.append(searches.minimised(rows, begin, *searches.variables.box))
                ends.append(begin)
            found = _best(searches, np.array(ends), level)
            return begin if found is None else found, len(ends) + further
    return _best(searches, np.array(ends), level), len(ends)


def _most_probable(searches: Searches, starts: Array) -> tuple[Array | None, int]:
    """The most probable choice, and the number of searches that found it; None if no choice
    satisfies the other constraints.
    """
    low, high = searches.variables.box
    widest = np.append(low, -MAX_DEVIATIONS), np.append(high, MAX_DEVIATIONS)
    ends = [
        searches.minimised(searches.most_probable_rows, np.append(begin, 0.0), *widest)[:-1]
        for begin in starts[::FARTHEST_STEP]
    ]
    best = _best(searches, np.array([*ends, *starts]), None)
    if best is None or len(searches.outcomes.margins) + searches.outcomes.has_bound == 1:
        return best, len(ends)
    last = searches.minimised(searches.violation_rows, best, low, high)
    return _best(searches, np.array([best, last]), None), len(ends) + 1


def _have_converged(searches: Searches, ends: Sequence[Array], level: float) -> bool:
    """Whether enough searches ended at safe choices with the best goal."""
    if len(ends) < ENOUGH:
        return False
    usable, at = _usable(searches, np.array(ends), level)
    goals = np.where(usable, at.goal, np.inf)
    best = np.min(goals)
    return bool(np.sum(goals <= best + AGREED_RTOL * abs(best)) >= ENOUGH and np.isfinite(best))


def _best(searches: Searches, ends: Array, level: float | None) -> Array | None:
    """The best safe choice among the ends of searches; without a level the most probable one. None
    if none satisfies the constraints.

    Args:
        searches: the searches that ended there.
        ends: search variables, shape (choices, unknowns).
        level: the probability.
    """
    usable, at = _usable(searches, ends, level or 0.0)
    if not usable.any():
        return None
    worth = np.where(usable, -at.probability if level is None else at.goal, np.inf)
    return np.asarray(ends[np.argmin(worth)])


def _usable(searches: Searches, ends: Array, level: float) -> tuple[NDArray[np.bool_], Safety]:
    """The mask of choices that satisfy all other constraints, and those with laws with the required
    probability.
    """
    at = searches.safety(ends)
    usable = at.allowed & (at.probability > 0) & (at.probability >= level)
    reach = searches.outcomes.within_reach(
        searches.variables.inputs(ends), len(ends), searches.variables.at_answer
    )
    return usable & reach, at
