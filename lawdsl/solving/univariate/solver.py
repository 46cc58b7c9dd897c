"""A question with one unknown and values of its symbols -> a certified Answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import LawdslError
from lawdsl.law import text
from lawdsl.solving.formulate.closed_form import flatten_powers, isolate, tidy_powers, try_algebra
from lawdsl.solving.formulate.elimination import ReducedProblem
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion
from lawdsl.solving.inputs import check_given_constraints, evaluated
from lawdsl.solving.result import Answer, Chosen, Goal, Kept, Response, Threshold
from lawdsl.solving.result_under_law_error import Ends
from lawdsl.solving.uncertainty import ZERO_WIDTH_RTOL, FitUncertainty, interval
from lawdsl.solving.univariate.boundary import conflicts, thresholds
from lawdsl.solving.univariate.description import (
    describe_certainty,
    describe_location,
    describe_undecided,
)
from lawdsl.solving.univariate.implicit_derivatives import AnswerDerivatives, answer_derivatives
from lawdsl.solving.univariate.interval_functions import (
    IntervalFunction,
    UnivariateExpression,
    number,
)
from lawdsl.solving.univariate.line_functions import LineFunctions, LineValues
from lawdsl.solving.univariate.line_minimum import Candidate, IntervalMargin, LineMinimum
from lawdsl.solving.univariate.monte_carlo import MonteCarloSample, sample_answers
from lawdsl.solving.univariate.refinement import minimize
from lawdsl.solving.univariate.relaxation import relaxations
from lawdsl.solving.univariate.roots import UnknownRange, nearest_float
from lawdsl.solving.univariate.sampling import better_point, is_better, is_feasible
from lawdsl.solving.univariate.sensitivity import (
    describe_missing_derivatives,
    response_curve,
    sensitivities,
)
from lawdsl.solving.univariate.state import (
    SolverState,
    UnivariateSolution,
    Values,
    unknown_range,
)
from lawdsl.solving.warnings import MissingInterval, answer_warnings

Array = NDArray[np.float64]

THRESHOLD_STEP = 1e-3  # relative distance beyond a threshold at which it is checked
MAX_CHECK_ROUNDS = 4  # searches for a point that is better than an answer that is not certain
CLOSED_FORM_RTOL = 1e-9  # relative tolerance within which a closed form equals the certified root


class UnivariateSolver:
    """A question with one unknown.

    Args:
        formulated: the question.
        problem: the question after elimination, with one unknown.
    """

    def __init__(self, formulated: FormulatedQuestion, problem: ReducedProblem) -> None:
        assert problem.only_unknown is not None
        self.formulated, self.problem, self.unknown = formulated, problem, problem.only_unknown
        x = self.x = self.unknown.symbol
        self.goal = UnivariateExpression(flatten_powers(problem.goal), x)
        self.conditions = [c for c in problem.conditions if x in c.margin.free_symbols]
        self.margins = [UnivariateExpression(flatten_powers(c.margin), x) for c in self.conditions]
        self._formulas: dict[tuple[str, int], sp.Expr | None] = {}
        self._follower_text = cache(lambda e, f: self.shown(self._tidy(e.xreplace({x: f}))))

    @cached_property
    def noise(self) -> FitUncertainty:
        """The noise of the fits."""
        return FitUncertainty.of(self.formulated.sources)

    @cached_property
    def functions(self) -> LineFunctions:
        """Goal, slope, margins and followers as functions of the unknown."""
        follow = [flatten_powers(f) for f in self.problem.follow.values()]
        return LineFunctions(self.goal, self.margins, follow, self.x, self.noise.symbols)

    @cached_property
    def state(self) -> SolverState:
        """The question as the other modules of this room take it."""
        parts = self.formulated, self.unknown, self.problem.follow, self.conditions
        return SolverState(*parts, self.functions, self.noise)

    def answer(self, values: Values, level: float, seed: int, *, proofs: bool) -> Answer:
        """Answer the question for given values.

        Args:
            values: symbol -> value, of all symbols but the unknown.
            level: the level of the intervals, 0.95 for 95 %.
            seed: the seed of the draws of the noise.
            proofs: whether bounds that conflict with an interior answer are proved.

        Returns:
            The answer, whose status says whether there is an optimum.
        """
        minimum, bounding, domain = self._line_minimum(values)
        if minimum.best is None:
            bounding_conditions = [self.conditions[i] for i in bounding]
            return self._infeasible(values, domain, bounding_conditions, minimum, level)
        best = replace(
            minimum.best, constraints=tuple(bounding[k] for k in minimum.best.constraints)
        )
        minimum = replace(minimum, best=best)
        solution = UnivariateSolution(minimum, best, bounding, values, domain, level, seed)
        at_infinity = best.kind == "end" and not math.isfinite(best.point)
        if at_infinity or (minimum.value is not None and not minimum.value.low.is_finite()):
            return self._unbounded(solution)
        if not math.isfinite(best.point) or (
            best.point == 0 and not best.x.low <= 0 <= best.x.high
        ):
            return self._beyond_floats(solution)
        return self._answered(solution, proofs=proofs)

    def _line_minimum(self, values: Values) -> tuple[LineMinimum, tuple[int, ...], UnknownRange]:
        """The goal on the feasible set, the constraints that do not hold everywhere, the range."""
        domain = unknown_range(self.unknown, values)
        margins = [
            IntervalMargin(IntervalFunction(margin, values), c.equality, c.strict)
            for margin, c in zip(self.margins, self.conditions, strict=True)
        ]
        bounding = tuple(i for i, margin in enumerate(margins) if not _always_holds(margin, domain))
        bounding_margins = [margins[i] for i in bounding]
        return (
            minimize(IntervalFunction(self.goal, values), bounding_margins, domain),
            bounding,
            domain,
        )

    def _inside_thresholds(self, slope: sp.Expr, values: Values) -> Iterator[Threshold]:
        """The thresholds beyond which the answer is in the interior, under all constraints."""
        for threshold in thresholds(slope, self.formulated.names, values):
            beyond = threshold.value * (
                1 + (THRESHOLD_STEP if threshold.relation == ">" else -THRESHOLD_STEP)
            )
            if not math.isfinite(beyond):
                continue
            symbol_values = {**values, self.formulated.names[threshold.name]: beyond}
            try:
                check_given_constraints(self.formulated, symbol_values)
            except LawdslError:
                continue
            best = self._line_minimum(symbol_values)[0].best
            if best is not None and best.kind == "stationary":
                yield threshold

    # No answer

    def _infeasible(
        self,
        values: Values,
        domain: UnknownRange,
        bounding_conditions: Sequence[AlgebraicConstraint],
        minimum: LineMinimum,
        level: float,
    ) -> Answer:
        name = self.unknown.name
        if not minimum.certain:
            help = f"give {name} a narrower domain: `choose {name} in [0.1, 1]`"
            return replace(self.formulated.blank("undecided", values, level), proof=(help,))
        advice = relaxations(
            bounding_conditions, self.x, name, self.formulated.names, values, domain
        )
        proof = (f"no {name} {_range_text(domain)} keeps every constraint",)
        base = replace(self.formulated.blank("infeasible", values, level), certain=True)
        return replace(base, relaxations=tuple(advice), proof=proof)

    def _unbounded(self, solution: UnivariateSolution) -> Answer:
        name, point = self.unknown.name, solution.best.point
        end = f"{point:.6g}" if math.isfinite(point) else "oo" if point > 0 else "-oo"
        limit = solution.minimum.value
        text = self.formulated.question.goal_text
        proof = [f"{text} is unbounded: it has no best value as {name} -> {end}"]
        value = None
        if limit is not None and limit.low.is_finite() and limit.high.is_finite():
            value = self.formulated.sign * nearest_float(limit) + 0.0
            proof = [f"{text} comes nearer and nearer to {value:.6g} as {name} -> {end}"]
        if not solution.minimum.certain:
            proof += describe_undecided(name, solution.minimum)
        certain = solution.minimum.certain and solution.minimum.equal
        finite = limit is not None and limit.low.is_finite()
        status = "undecided" if finite and not solution.minimum.certain else "unbounded"
        base = self.formulated.blank(status, solution.values, solution.level)
        return replace(base, proof=tuple(proof), certain=certain, limit=value)

    def _beyond_floats(self, solution: UnivariateSolution) -> Answer:
        """The answer where the optimum is too large or too small for a float."""
        point_text = solution.best.x.low.str(3, radius=False)
        largest = (
            "above the largest number, 1.8e308"
            if solution.best.point
            else "below the smallest, 1e-323"
        )
        line = f"the best {self.unknown.name} is about {point_text}, {largest}"
        base = self.formulated.blank("undecided", solution.values, solution.level)
        return replace(base, proof=(line, "state the question in another unit"))

    def _answered(self, solution: UnivariateSolution, *, proofs: bool) -> Answer:
        curve = tuple(response_curve(self.state, solution))
        if not solution.minimum.certain:
            unbeaten = self._unbeaten(solution, curve)
            if unbeaten is None:
                base = self.formulated.blank("undecided", solution.values, solution.level)
                reason = f"{self.formulated.question.goal_text} may be unbounded"
                return replace(
                    base, proof=(*describe_undecided(self.unknown.name, solution.minimum), reason)
                )
            solution, curve = unbeaten
        x, values = solution.best.point, {**solution.values, self.x: solution.best.point}
        values |= {s: evaluated(f, values) for s, f in self.problem.follow.items()}
        line_values = self.functions.evaluate_exactly(np.array([x]), solution.values)
        sample = sample_answers(self.state, solution)
        derivatives = answer_derivatives(self.state, solution)
        goal = self._goal(line_values, solution, derivatives)
        if derivatives.at_kink:
            unknown_name = self.unknown.name
            curve = tuple(
                replace(r, ends=goal.ends) if r.x[unknown_name] == x else r for r in curve
            )
        formula = self._closed_form(solution, values)
        unknowns = self._unknowns(solution, values, sample, formula)
        slope = self._slope_at(x) if solution.best.kind == "end" else None
        minimum = solution.minimum
        status = "answered" if solution.best.attained else "approached"
        status = status if minimum.certain else "undecided"
        base = self.formulated.blank(status, solution.values, solution.level)
        proof = describe_certainty(
            self.unknown.name, minimum, solution.best, solution.domain, self.formulated.question
        )
        answer = replace(
            base,
            unknowns=unknowns,
            goal=goal,
            where=describe_location(
                self.unknown.name, solution.best, self.conditions, solution.domain
            ),
            method=_method_of(formula, minimum),
            proof=(
                *proof,
                *describe_missing_derivatives(self.state, line_values, solution, derivatives),
            ),
            certain=minimum.certain and minimum.equal,
            kept=self._margins_at_answer(line_values, solution, derivatives),
            sensitivities=tuple(sensitivities(self.state, line_values, solution, derivatives)),
            thresholds=tuple(self._inside_thresholds(slope, values)) if slope is not None else (),
            response=curve,
        )
        if slope is not None and proofs:
            found_conflicts = [
                c
                for s in self.formulated.sources
                for c in conflicts(slope, s, self.formulated.names, values)
            ]
            answer = replace(answer, conflicts=tuple(found_conflicts))
        share = 1.0 if sample is None else sample.answered
        lacking = self._lacking(line_values, sample, derivatives)
        why = lacking or MissingInterval.ERRORS
        diagnostics = answer_warnings(self.formulated, values, lacking is None, share, why)
        return replace(answer, diagnostics=diagnostics)

    def _lacking(
        self,
        line_values: LineValues,
        sample: MonteCarloSample | None,
        derivatives: AnswerDerivatives,
    ) -> MissingInterval | None:
        """Why an interval of the unknown or the goal is missing; None if both exist."""
        if sample is None and self.noise.symbols:
            errors_known = self.noise.is_known(
                line_values.by_parameters[: self.functions.count, :, 0].T
            )
            return MissingInterval.DERIVATIVE if errors_known else MissingInterval.ERRORS
        return (
            MissingInterval.GOAL if self._goal_gradient(line_values, derivatives) is None else None
        )

    def _unbeaten(
        self, solution: UnivariateSolution, curve: tuple[Response, ...]
    ) -> tuple[UnivariateSolution, tuple[Response, ...]] | None:
        """The best of all points that were computed, where the optimum is not certain; None where
        points further out are better again and again."""
        for _ in range(MAX_CHECK_ROUNDS):
            point = better_point(self.state, solution)
            if point is not None and not is_better(
                self.state, point, solution
            ):  # by rounding alone
                point = None
            feasible_responses = (r for r in curve if is_feasible(self.state, r, solution))
            least = min(
                feasible_responses, key=lambda r: self.formulated.sign * r.goal, default=None
            )
            if point is None and least is not None:
                response_point = least.x[self.unknown.name]
                point = response_point if response_point != solution.best.point else None
                if point is not None and not is_better(self.state, point, solution):
                    point = None
            if point is None:
                return solution, curve
            solution = replace(solution, best=Candidate(number(point), "sampled"))
            curve = tuple(response_curve(self.state, solution))
        return None

    def _slope_at(self, x: float) -> sp.Expr | None:
        """The slope of the goal at an end of the range; None where algebra cannot write it."""
        end = {self.x: sp.Rational(repr(x))}
        return try_algebra(lambda: self.goal.slope.expression.xreplace(end))

    def _closed_form(self, solution: UnivariateSolution, values: Values) -> sp.Expr | None:
        """The unknown in closed form, where algebra gives one that agrees with the number."""
        active, best = solution.active, solution.best
        if active is None:
            return None
        key = best.kind, active
        if key not in self._formulas:
            equation = self.functions.outputs[active]
            formula_of_root = try_algebra(lambda: isolate(flatten_powers(equation), self.x))
            tidy = (
                None
                if formula_of_root is None
                else try_algebra(lambda: self._tidy(formula_of_root))
            )
            self._formulas[key] = tidy
        formula = self._formulas[key]
        if formula is None:
            return None
        value = evaluated(formula, values)
        return (
            formula
            if abs(value - best.point) <= CLOSED_FORM_RTOL * max(abs(best.point), 1e-300)
            else None
        )

    def _tidy(self, formula: sp.Expr) -> sp.Expr:
        return tidy_powers(formula, self.formulated.names.values())

    def shown(self, formula: sp.Expr) -> str:
        """A formula as text; of one fit alone the parameters have no prefix."""
        if len({s.use for s in self.formulated.sources}) == 1:
            unprefixed = self.formulated.sources[0].unprefixed(formula)
            names = [s.name for s in unprefixed.free_symbols]
            formula = unprefixed if len(set(names)) == len(names) else formula
        return text.text(formula)

    def _unknowns(
        self,
        solution: UnivariateSolution,
        values: Values,
        sample: MonteCarloSample | None,
        formula: sp.Expr | None,
    ) -> tuple[Chosen, ...]:
        unknown_interval = (
            None
            if sample is None
            else _interval_around(sample.ends(sample.x, solution.level), solution.best.point)
        )
        formula_text = None if formula is None else self.shown(formula)
        u = self.unknown
        chosen = {
            u.name: Chosen(
                u.name,
                solution.best.point,
                u.unit,
                u.doc,
                unknown_interval,
                formula_text,
                _placement(solution),
            )
        }
        formulas_of = self.state.follow.values()
        for i, (unknown, expression) in enumerate(
            zip(self.state.followers, formulas_of, strict=True)
        ):
            value = evaluated(expression, values)
            ends = (
                None
                if sample is None
                else _interval_around(sample.ends(sample.more[i], solution.level), value)
            )
            follower_text = None
            if formula is not None:
                follower_text = self._follower_text(expression, formula)
            chosen[unknown.name] = Chosen(
                unknown.name, value, unknown.unit, unknown.doc, ends, follower_text, "constraint"
            )
        return tuple(chosen[o.name] for o in self.formulated.unknowns if o.name in chosen)

    def _goal_gradient(
        self, line_values: LineValues, derivatives: AnswerDerivatives
    ) -> Array | None:
        """The derivatives of the goal with respect to the fitted parameters, shape (parameters, 1).

        At a kink the derivative follows the kink, where all branches agree; elsewhere the unknown
        is fixed. None where the goal has no derivative.
        """
        gradient = line_values.by_parameters[0]
        if not derivatives.at_kink or not self.noise.symbols:
            return gradient
        unknown_rates = derivatives.by_parameters()
        if unknown_rates is None:
            return None
        along = line_values.by_unknown[0, 0] * unknown_rates[:, None]
        gradient_along = gradient + along
        return np.where(
            np.abs(gradient_along) <= ZERO_WIDTH_RTOL * np.abs(along), 0.0, gradient_along
        )

    def _goal(
        self, line_values: LineValues, solution: UnivariateSolution, derivatives: AnswerDerivatives
    ) -> Goal:
        question = self.formulated.question
        value = float(line_values.values[0, 0])
        limit = solution.minimum.value
        if (
            not math.isfinite(value)
            and limit is not None
            and solution.best is solution.minimum.best
        ):
            value = nearest_float(limit)  # float64 has no value there, as of 0*log(0)
        value = self.formulated.sign * value + 0.0  # no -0
        gradient = self._goal_gradient(line_values, derivatives)
        ends = None
        if gradient is not None:
            ends = interval(value, float(self.noise.half_widths(gradient, solution.level)[0]))
        return Goal(question.goal_text, question.maximize, value, ends)

    def _margins_at_answer(
        self, line_values: LineValues, solution: UnivariateSolution, derivatives: AnswerDerivatives
    ) -> tuple[Kept, ...]:
        best, margins = solution.best, []
        for i, condition in enumerate(self.conditions):
            active = i in best.constraints
            if condition.law and not active and i not in solution.bounding:
                continue  # no end of the range leaves that law's domain
            price = None
            over, under = line_values.by_unknown[0, 0], line_values.by_unknown[2 + i, 0]
            is_known = not derivatives.at_kink and math.isfinite(over) and math.isfinite(under)
            if active and under and is_known:
                price = self.formulated.sign * float(over / under)
            margin = 0.0 if active else float(line_values.values[2 + i, 0])
            margins.append(
                Kept(condition.text, condition.doc, margin, active, condition.law, price)
            )
        return tuple(margins)


def _interval_around(ends: Ends, value: float) -> Ends | None:
    """An interval widened to contain the answer; None where it misses it by more than rounding."""
    room = CLOSED_FORM_RTOL * max(1.0, abs(value))
    low, high = min(ends[0], value), max(ends[1], value)
    return (low, high) if ends[0] - room <= value <= ends[1] + room else None


def _always_holds(margin: IntervalMargin, domain: UnknownRange) -> bool:
    """Whether a constraint holds on the entire range."""
    enclosure = None if margin.equality else margin.function(domain.interval)
    if enclosure is None:
        return False
    return bool(enclosure.low > 0 or (enclosure.low >= 0 and not margin.strict))


def _placement(solution: UnivariateSolution) -> str:
    if solution.best.constraints:
        return "constraint"
    if solution.best.kind == "end":
        return "lower end" if solution.best.point == solution.domain.low else "upper end"
    return "inside"


def _method_of(formula: sp.Expr | None, minimum: LineMinimum) -> str:
    if formula is not None:
        return "closed form, agreeing with the certified root"
    return "certified by interval arithmetic" if minimum.certain else "best of the points computed"


def _range_text(domain: UnknownRange) -> str:
    opening = "(" if domain.low_open else "["
    closing = ")" if domain.high_open else "]"
    return f"in {opening}{_number_text(domain.low)}, {_number_text(domain.high)}{closing}"


def _number_text(x: float) -> str:
    return ("oo" if x > 0 else "-oo") if math.isinf(x) else f"{x:.6g}"
