"""Safe answers to questions with several unknowns, by local searches.

The chance constraint of each law is a smooth function of the choice x: its margin at the errors
m(x) - z·Σ(x)a/sqrt(aᵀΣ(x)a) is not negative, z the quantile of the probability. From the answer of the
fitted laws, and from random choices, SLSQP (Kraft 1988, DFVLR-FB 88-28) first keeps each constraint
with an equal part of what may fail, and then lets the sum of what fails be what may. What it finds is
verified by the probability that all safe answers have; that nothing is better is not certified.
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

AROUND, ANYWHERE = 5, 6  # further starts than the answer
HOPELESS = 4  # searches without a safe choice
ENOUGH = 3  # searches that agree in the best goal
AGREED_RTOL = 1e-8
FARTHEST_STEP = 3  # of the starts of searches for the most probable choice
ITERATIONS = 60
EVALUATIONS = 120  # of rows and slopes in one search: line searches may end nowhere
FTOL = 1e-10  # of the goal, relative to that at the start
STEP = 1e-6  # of central differences
NO_VALUE = 1e6  # in place of a number that is not finite
FIRST_ORDER = 0.8  # of what a margin with several laws may fail by, in the first searches
RARE = 1e-12  # added to a probability before its logarithm


@dataclass
class Searches:
    """Local searches for safe choices.

    Attributes:
        variables: the variables of the question.
        evaluations: at how many choices they looked.
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
            z: how many standard deviations these are from the mean, shape (margins,).
        """

        def rows(y: Array) -> Array:
            goal, others, margins = self._at_worst(y, np.broadcast_to(z[:, None], (len(z), len(y))))
            return np.array([goal, *others, *margins, *self.reach(y)])

        return rows

    def farthest(self, y: Array) -> Array:
        """The rows of a search for the most probable choice: its last variable is the number of
        standard deviations at which all margins are 0 or more, to be made as large as can be."""
        count = len(self.outcomes.margins)
        deviations = y[:, -1]
        _, others, margins = self._at_worst(y[:, :-1], np.broadcast_to(deviations, (count, len(y))))
        return np.array([-deviations, *others, *margins, *self.reach(y[:, :-1])])

    def _at_worst(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """The goal of the fitted laws, the other constraints, and the margins at errors z standard
        deviations from the mean, in standard deviations; z has shape (margins, points). Of margins
        of which one is enough the largest counts."""
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

    def failing(self, y: Array) -> Array:
        """The logarithm of what fails, to be made as small as can be, and other constraints."""
        at = self.safety(y)
        return np.array([np.log(np.sum(1 - at.each, axis=0) + RARE), *at.others, *self.reach(y)])

    def jointly(self, level: float) -> Rows:
        """Goal, other constraints, and how much less fails than may, as a difference of logarithms.

        Args:
            level: the probability with which all constraints have to hold.
        """

        def rows(y: Array) -> Array:
            at = self.safety(y)
            failing = np.sum(1 - at.each, axis=0)
            spare = math.log(1 - level) - np.log(failing + RARE)
            return np.array([at.goal, *at.others, spare, *self.reach(y)])

        return rows

    def reach(self, y: Array) -> Array:
        """How many decades choices may still go from the fitted rows, for search variables of shape
        (points, unknowns); see `Outcomes.reach`."""
        return self.outcomes.reach(self.variables.inputs(y), len(y), self.variables.at_answer)

    def safety(self, y: Array) -> Safety:
        """How safe choices are, for search variables of shape (points, unknowns)."""
        self.evaluations += len(y)
        return safety(self.outcomes, self.variables.inputs(y), len(y))

    def minimised(self, rows: Rows, begin: Array, low: Array, high: Array) -> Array:
        """Where a search ends, shape (variables,); it need not satisfy the constraints.

        Args:
            rows: the goal, the other constraints of the question, and further inequalities.
            begin: where it starts, shape (variables,).
            low, high: the ends of the variables.
        """
        equal = np.array([c.equality for c in self.outcomes.certain], dtype=bool)
        count = len(rows(begin[None]))
        is_equation = np.concatenate([equal, np.zeros(count - 1 - len(equal), dtype=bool)])
        scales = np.ones(count)
        known: dict[bytes, tuple[Array, Array]] = {}
        evaluated, reached = 0, begin

        def at(y: Array) -> tuple[Array, Array]:
            """The rows and their slopes, shapes (rows,) and (rows, variables)."""
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
            # where SLSQP leaves the box by rounding, SciPy clips and warns
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
        outcomes: the question, of which some constraint involves a fitted law.
        answer: the point answer.
        level: the probability, 0.95 for 95 %.
        seed: the seed of the random starts.
    """
    variables = SearchVariables(outcomes, {u.name: u.value for u in answer.unknowns})
    searches = Searches(variables)
    low, high = variables.box
    starts = variables.starts(AROUND, ANYWHERE, np.random.default_rng([seed, 0x5AFE]))
    # a little more than the level, so that rounding does not undercut it
    least = level + ROUNDING * (1 - level)
    # of a margin with several laws the worst errors are known to first order only
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
        # what the constraints may fail by need not be equal parts
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
    the most probable one, and how many searches there were; None where none satisfies the other
    constraints.
    """
    rows, ends = searches.tightened(z), []
    for begin in starts:
        ends.append(searches.minimised(rows, begin, *searches.variables.box))
        if _agree(searches, ends, level):
            break
        if (
            len(ends) == (HOPELESS if searches.variables.answer else 1)
            and _best(searches, np.array(ends), level) is None
        ):
            # from the most probable choice one is found where there is any near
            begin, further = _most_probable(searches, starts)
            if begin is not None:
                ends.append(searches.minimised(rows, begin, *searches.variables.box))
                ends.append(begin)
            found = _best(searches, np.array(ends), level)
            return begin if found is None else found, len(ends) + further
    return _best(searches, np.array(ends), level), len(ends)


def _most_probable(searches: Searches, starts: Array) -> tuple[Array | None, int]:
    """The most probable choice, and by how many searches it was found; None where none satisfies
    the other constraints.
    """
    low, high = searches.variables.box
    widest = np.append(low, -MAX_DEVIATIONS), np.append(high, MAX_DEVIATIONS)
    ends = [
        searches.minimised(searches.farthest, np.append(begin, 0.0), *widest)[:-1]
        for begin in starts[::FARTHEST_STEP]
    ]
    best = _best(searches, np.array([*ends, *starts]), None)
    if best is None or len(searches.outcomes.margins) + searches.outcomes.has_bound == 1:
        return best, len(ends)
    last = searches.minimised(searches.failing, best, low, high)
    return _best(searches, np.array([best, last]), None), len(ends) + 1


def _agree(searches: Searches, ends: Sequence[Array], level: float) -> bool:
    """Whether so many searches ended at safe choices with the best goal that no more are needed."""
    if len(ends) < ENOUGH:
        return False
    usable, at = _usable(searches, np.array(ends), level)
    goals = np.where(usable, at.goal, np.inf)
    best = np.min(goals)
    return bool(np.sum(goals <= best + AGREED_RTOL * abs(best)) >= ENOUGH and np.isfinite(best))


def _best(searches: Searches, ends: Array, level: float | None) -> Array | None:
    """The best safe choice where searches have ended; without a level the most probable one. None
    where none satisfies the constraints.

    Args:
        searches: which ended there.
        ends: search variables, shape (choices, unknowns).
        level: the probability.
    """
    usable, at = _usable(searches, ends, level or 0.0)
    if not usable.any():
        return None
    worth = np.where(usable, -at.probability if level is None else at.goal, np.inf)
    return np.asarray(ends[np.argmin(worth)])


def _usable(searches: Searches, ends: Array, level: float) -> tuple[NDArray[np.bool_], Safety]:
    """Which choices satisfy all other constraints, and those with laws with a probability."""
    at = searches.safety(ends)
    usable = at.allowed & (at.probability > 0) & (at.probability >= level)
    reach = searches.outcomes.within_reach(
        searches.variables.inputs(ends), len(ends), searches.variables.at_answer
    )
    return usable & reach, at
