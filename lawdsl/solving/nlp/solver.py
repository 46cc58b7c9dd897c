"""A question with several unknowns, in algebra -> its answer, with certificates.

`certificates` verifies feasibility by interval arithmetic. A convex question has a certified
duality gap, which bounds the improvement by other choices; otherwise the evidence is the number of
searches that agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import Diagnostic
from lawdsl.solving.formulate.elimination import ReducedProblem
from lawdsl.solving.formulate.problem import FormulatedQuestion
from lawdsl.solving.inputs import computed_at, evaluated
from lawdsl.solving.nlp.answer_text import (
    ALL_CONSTRAINTS_KEPT,
    SearchResult,
    alternative_lines,
    location_text,
    proof_lines,
)
from lawdsl.solving.nlp.epigraph import polished, smooth_form
from lawdsl.solving.nlp.largest_total import largest_total
from lawdsl.solving.nlp.log_scaling import (
    Ratio,
    ScaledQuestion,
    UnknownScale,
    choose_scale,
    scale_question,
)
from lawdsl.solving.nlp.multistart import (
    determined_unknowns,
    is_proved_optimal,
    minimise,
    substitute_unknowns,
)
from lawdsl.solving.nlp.options import NlpOptions
from lawdsl.solving.nlp.problem import (
    NlpConstraint,
    NlpFunctions,
    NlpProblem,
    NlpSolution,
    UnboundedPath,
)
from lawdsl.solving.nlp.sensitivity import sensitivities
from lawdsl.solving.nlp.strict_inequalities import (
    StrictInequalities,
    is_approached,
    met_with_equality,
)
from lawdsl.solving.nlp.unknown_bounds import bounds_and_positivity, strict_bounds
from lawdsl.solving.result import (
    Answer,
    Chosen,
    Goal,
    Kept,
    Relaxation,
    Sensitivity,
)
from lawdsl.solving.uncertainty import FitUncertainty, interval
from lawdsl.solving.warnings import MissingInterval, answer_warnings

Array = NDArray[np.float64]
Values = Mapping[sp.Symbol, float]
Slopes = Mapping[sp.Symbol, tuple[Array, float]]

# Relative gap of the smallest violation: with a larger gap that violation is not a certified lower
# bound.
CLOSED_VIOLATION_GAP = 1e-3
NO_DERIVATIVES = (
    "branches of max, min or abs meet at the answer, which has no derivatives by the givens: "
    "no sensitivities and no intervals"
)
# An unbounded unknown beyond this diverges instead of being at an optimum.
UNBOUNDED_VALUE = 1e35
# with fewer agreeing searches, an optimum that is not proved causes a warning
MIN_AGREEING_STARTS = 2


class NlpSolver:
    """A question with several unknowns.

    Args:
        formulated: the question.
        problem: the question without the unknowns that equations determine.
    """

    def __init__(self, formulated: FormulatedQuestion, problem: ReducedProblem) -> None:
        self.formulated, self.unknowns = formulated, problem.unknowns
        self.goal = problem.goal
        free = {u.symbol for u in problem.unknowns}
        self.conditions = [c for c in problem.conditions if c.margin.free_symbols & free]
        self._scaled_questions: dict[frozenset[sp.Symbol], ScaledQuestion] = {}

    @cached_property
    def noise(self) -> FitUncertainty:
        """The uncertainty of the fits."""
        return FitUncertainty.of(self.formulated.sources)

    def answer(self, values: Values, level: float, seed: int, *, proofs: bool) -> Answer:
        """Answer the question; the status of the answer states whether there is an optimum.

        Args:
            values: symbol -> value of all symbols but the unknowns.
            level, seed: the level of the intervals, 0.95 for 95 %; the random seed of the starting
                points.
            proofs: ignored; present so that all solvers have the same signature.
        """
        scales, full_problem = self._scaled_problem(values)
        fixed = determined_unknowns(full_problem)
        problem = substitute_unknowns(full_problem, fixed) if fixed else full_problem
        solution = minimise(problem, NlpOptions(seed=seed))
        base = self.formulated.blank("answered", values, level)
        if not solution.feasible:
            relaxations = self._relaxations(solution, values, self._scaled_question(scales))
            status = "infeasible" if solution.proved_infeasible else "undecided"
            base = replace(
                base, status=status, relaxations=relaxations, certain=solution.proved_infeasible
            )
            closest_values = dict(zip(problem.unknowns, solution.x.tolist(), strict=True))
            return replace(
                base,
                proof=self._infeasibility_lines(
                    solution, {**fixed, **closest_values}, scales, values
                ),
            )
        if solution.unbounded_path is not None:
            return replace(
                base,
                status="unbounded",
                proof=self._unbounded_lines(solution.unbounded_path, scales, fixed),
            )
        smooth = smooth_form(problem, solution)
        if smooth is not None and smooth.solution is not None:
            solution = polished(solution, smooth.solution)
        variable_values = {**fixed, **dict(zip(problem.unknowns, solution.x.tolist(), strict=True))}
        far = self._divergence_lines(solution, scales, variable_values)
        if far:
            return replace(base, status="undecided", proof=far)
        sought = self._scaled_question(scales)
        answer = self._describe_solution(
            base,
            SearchResult(problem, solution, sought, scales, fixed, variable_values, smooth),
            values,
        )
        return self._check_strict_inequalities(
            answer, full_problem, scales, variable_values, values, seed
        )

    def _check_strict_inequalities(
        self,
        answer: Answer,
        full_problem: NlpProblem,
        scales: Sequence[UnknownScale],
        variable_values: Values,
        values: Values,
        seed: int,
    ) -> Answer:
        """The answer if no strict inequality is active; else its revised status."""
        ends = [strict_bounds(u.bounds, values) for u in self.unknowns]
        rows = np.array([c.strict for c in self.conditions], dtype=bool)
        strict = StrictInequalities(
            rows, *(np.array(side, dtype=bool) for side in zip(*ends, strict=True))
        )
        if answer.status not in ("answered", "undecided") or not strict.any():
            return answer
        x = np.array([variable_values[s.variable] for s in scales])
        equal = met_with_equality(full_problem, strict, x)
        if not equal.any():
            return answer
        names = [c.text for c, holds in zip(self.conditions, equal.rows, strict=True) if holds]
        for relation, side, limits in ((">", equal.low, "low"), ("<", equal.high, "high")):
            on = [s for s, holds in zip(scales, side, strict=True) if holds]
            names += [f"{s.unknown.name} {relation} {getattr(s, limits):.6g}" for s in on]
        which = f"{' and '.join(names)}: equality is left out"
        if is_approached(full_problem, strict, x, seed):
            status = "approached" if answer.status == "answered" else answer.status
            line = f"{which}, so the optimum is a limit that is not attained"
            others = (
                text.replace(
                    ALL_CONSTRAINTS_KEPT, ALL_CONSTRAINTS_KEPT.replace("every", "every other")
                )
                for text in answer.proof
            )
            return replace(answer, status=status, proof=(*others, line))
        lines = (f"{which}, and no choice that keeps every constraint was found",)
        nothing = replace(answer, status="undecided", certain=False, unknowns=(), goal=None)
        return replace(nothing, where="", kept=(), sensitivities=(), alternatives=(), proof=lines)

    def _scaled_problem(self, values: Values) -> tuple[Sequence[UnknownScale], NlpProblem]:
        """The scale of each unknown, and the problem in logarithms, unless only the original one is
        convex.
        """
        boxes = [bounds_and_positivity(u.bounds, values) for u in self.unknowns]
        pairs = list(zip(self.unknowns, boxes, strict=True))
        logs = [choose_scale(u.symbol, *box[:2], positive=box[2]) for u, box in pairs]
        problem = self._build_problem(values, logs)
        if problem.convex or not any(s.logarithmic for s in logs):
            return logs, problem
        plain = [choose_scale(u.symbol, *box[:2], positive=False) for u, box in pairs]
        as_it_stands = self._build_problem(values, plain)
        return (plain, as_it_stands) if as_it_stands.convex else (logs, problem)

    def _build_problem(self, values: Values, scales: Sequence[UnknownScale]) -> NlpProblem:
        sought = self._scaled_question(scales)
        constraints = [
            NlpConstraint(str(i), margin if c.equality else -margin, c.equality)
            for i, (c, margin) in enumerate(zip(self.conditions, sought.margins, strict=True))
        ]
        unknowns = {s.variable: s.ends for s in scales}
        used = sought.goal.free_symbols.union(*(m.free_symbols for m in sought.margins))
        constants = {s: values[s] for s in sorted(used - set(unknowns), key=str)}
        return NlpProblem(sought.goal, unknowns, constraints, constants)

    def _scaled_question(self, scales: Sequence[UnknownScale]) -> ScaledQuestion:
        """The goal and the conditions in the search variables."""
        key = frozenset(s.unknown for s in scales if s.logarithmic)
        if key not in self._scaled_questions:
            self._scaled_questions[key] = scale_question(self.goal, self.conditions, scales)
        return self._scaled_questions[key]

    def _describe_solution(self, base: Answer, search: SearchResult, values: Values) -> Answer:
        problem, solution = search.problem, search.solution
        symbols = (*self.noise.symbols, *self.formulated.names.values())
        all_values = {
            **values,
            **{s.unknown: s.value(search.variable_values[s.variable]) for s in search.scales},
        }
        goal = evaluated(self.goal, all_values)
        differentiable = search.differentiable
        parameters = [s for s in symbols if s in problem.values]
        slopes = self._slopes(differentiable, parameters, goal) if differentiable else {}
        endless = [s for s in search.scales if s.is_endless(search.variable_values[s.variable])]
        weak = not solution.convex and solution.equal < MIN_AGREEING_STARTS
        answer = replace(
            base,
            status="unbounded" if endless else "undecided" if weak else "answered",
            unknowns=self._solved_unknowns(search, slopes, base.level),
            goal=self._solved_goal(search, goal, base.level, smooth=search.smooth is None),
            where=location_text(self.conditions, search),
            method="convex optimisation"
            if solution.convex
            else f"best of {solution.starts} starts",
            proof=proof_lines(solution, search.per_goal(goal)),
            certain=is_proved_optimal(solution),
            kept=self._solved_constraints(differentiable or search, all_values, goal),
            sensitivities=() if search.fixed else self._sensitivities(slopes, values),
        )
        if endless:
            text = self.formulated.question.goal_text
            ends = ", ".join(
                f"{s.unknown.name} -> {'oo' if search.variable_values[s.variable] > 0 else '0'}"
                for s in endless
            )
            proof = (f"{text} has no best value: it goes on as {ends}",)
            limit = self.formulated.sign * goal if math.isfinite(goal) else None
            return replace(answer, unknowns=(), goal=None, proof=proof, certain=False, limit=limit)
        errors_known = search.smooth is None and self.noise.is_known(self._parameter_slopes(slopes))
        missing = MissingInterval.ERRORS if search.smooth is None else MissingInterval.GOAL
        diagnostics = answer_warnings(self.formulated, all_values, errors_known, lacking=missing)
        if differentiable is None:
            answer = replace(answer, proof=(*answer.proof, NO_DERIVATIVES))
        others = [search.choice(x) for x in solution.others]
        flat = [] if solution.flat is None else [search.choice(solution.flat)]
        if not (others or flat):
            return replace(answer, diagnostics=diagnostics)
        lines = alternative_lines(others, flat)
        message = f"{len(others) + 1} optima are equally good"
        message = message if others else "the best choice is not the only one"
        help = "add a constraint or a term of the goal that tells them apart"
        note = f"{lines[0]}; intervals and sensitivities are those of the choice that is reported"
        warning = Diagnostic("F0570", message, "warning", notes=(note,), help=help)
        return replace(
            answer,
            alternatives=(*others, *flat),
            proof=(*answer.proof, *lines),
            diagnostics=(*diagnostics, warning),
        )

    def _infeasibility_lines(
        self,
        solution: NlpSolution,
        variable_values: Values,
        scales: Sequence[UnknownScale],
        values: Values,
    ) -> tuple[str, ...]:
        """Lines about a question without a feasible point."""
        all_values = {**values, **{s.unknown: s.value(variable_values[s.variable]) for s in scales}}
        margins = computed_at([c.margin for c in self.conditions], all_values)
        short = [
            (abs(m) if c.equality else max(-m, 0.0), c)
            for c, m in zip(self.conditions, margins, strict=True)
            if math.isfinite(m)
        ]
        named = {self.conditions[int(n)].text for n in solution.conflict if n.isdigit()}
        worst = max(short, key=lambda s: (s[1].text in named, s[0]), default=None)
        nearest = ""
        largest = ""
        if worst is not None and worst[0] > 0:
            nearest = f"{worst[1].text} is missed by {worst[0]:.6g}"
            total = largest_total(worst[1].margin, self.conditions, self.unknowns, values)
            if worst[1].equality and total is not None and solution.proved_infeasible:
                left = worst[1].text.rpartition(" = ")[0]
                largest = f"the other constraints leave {left} at most {total:.6g}"
        closed = solution.gap is not None and solution.gap <= CLOSED_VIOLATION_GAP
        # if there are several, one may hold
        if solution.proved_infeasible and closed and len(named) == 1:
            return (f"{nearest} at least",) if nearest else ()
        lines = ["that no choice keeps every constraint is proved"]
        if not solution.proved_infeasible:
            lines = ["no feasible point was found; that there is none is not proved"]
        lines += [largest] if largest else []
        return (*lines, f"at the nearest point found, {nearest}") if nearest else tuple(lines)

    def _unbounded_lines(
        self, path: UnboundedPath, scales: Sequence[UnknownScale], fixed: Values
    ) -> tuple[str, ...]:
        """Lines about a goal without an optimum: points at increasing distances."""
        text, sign = self.formulated.question.goal_text, self.formulated.sign
        point_texts = []
        for x, value in zip(path.points, path.values.tolist(), strict=True):
            rest = iter(x.tolist())
            determined = {s.variable: fixed.get(s.variable) for s in scales}
            variable_values = {s: next(rest) if m is None else m for s, m in determined.items()}
            coordinates = ", ".join(
                f"{s.unknown.name} = {s.value(variable_values[s.variable]):.3g}" for s in scales
            )
            point_texts.append(f"{sign * value:.6g} at {coordinates}")
        grows = "falls" if sign > 0 else "rises"
        if path.endless:
            head = f"{text} {grows} without bound: {point_texts[0]}"
            tail = "each of these points is feasible; that it goes on so beyond them is not proved"
        else:
            head = f"{text} {grows} as the unknowns grow, and no choice found is as good: {point_texts[0]}"
            tail = "each of these points is feasible; that no choice is best is not proved"
        return (head, *(f"  then {point_text}" for point_text in point_texts[1:]), tail)

    def _divergence_lines(
        self, solution: NlpSolution, scales: Sequence[UnknownScale], variable_values: Values
    ) -> tuple[str, ...]:
        """Lines about a search that diverged; empty for one that has converged."""
        if is_proved_optimal(solution):
            return ()
        plain = [(s, variable_values[s.variable]) for s in scales if not s.logarithmic]
        far = [(s, x) for s, x in plain if abs(x) >= UNBOUNDED_VALUE]
        out = [(s.unknown.name, x) for s, x in far if math.isinf(s.high if x > 0 else s.low)]
        if not out:
            return ()
        coordinates = ", ".join(f"{name} = {x:.3g}" for name, x in out)
        return (
            f"{self.formulated.question.goal_text} may be unbounded: the search went on to {coordinates}",
            "give these unknowns bounds to learn the best choice within them",
        )

    def _slopes(self, search: SearchResult, symbols: Sequence[sp.Symbol], goal: float) -> Slopes:
        """The derivatives of the unknowns, and of the goal; 0 where constraints determine them."""
        per = search.per_goal(goal)
        derivatives = sensitivities(search.problem, search.solution, symbols)
        positions = {symbol: k for k, symbol in enumerate(search.problem.unknowns)}
        scale_slopes = [s.slope(search.variable_values[s.variable]) for s in search.scales]
        return {
            symbol: (
                np.array(
                    [
                        x[positions[s.variable]] * scale_slope if s.variable in positions else 0.0
                        for s, scale_slope in zip(search.scales, scale_slopes, strict=True)
                    ]
                ),
                value * per,
            )
            for symbol, (x, value) in derivatives.items()
        }

    def _parameter_slopes(self, slopes: Slopes) -> Array:
        """The derivatives of the unknowns with respect to fitted parameters, shape (parameters,
        unknowns).
        """
        none = np.zeros(len(self.unknowns))
        gradients = np.array([slopes[s][0] if s in slopes else none for s in self.noise.symbols])
        return gradients.reshape(len(self.noise.symbols), len(self.unknowns))

    def _solved_unknowns(
        self, search: SearchResult, slopes: Slopes, level: float
    ) -> tuple[Chosen, ...]:
        halves = self.noise.half_widths(self._parameter_slopes(slopes), level)
        chosen = []
        for u, scale, half in zip(self.unknowns, search.scales, halves.tolist(), strict=True):
            x = scale.value(search.variable_values[scale.variable])
            ends = interval(x, half)
            if ends is not None and scale.logarithmic:  # symmetric in the logarithm
                ends = times_exp(x, -half / x), times_exp(x, half / x)
            ends = ends and (max(scale.low, ends[0]), min(scale.high, ends[1]))
            location = "inside"
            if scale.variable.name in search.solution.at_low:
                location = "lower end"
            elif scale.variable.name in search.solution.at_high:
                location = "upper end"
            chosen.append(Chosen(u.name, x, u.unit, u.doc, ends, None, location))
        return tuple(chosen)

    def _solved_goal(
        self, search: SearchResult, goal: float, level: float, *, smooth: bool
    ) -> Goal:
        question, problem = self.formulated.question, search.problem
        inside = [s for s in self.noise.symbols if s in problem.values]
        slopes = (
            NlpFunctions(problem, inside).at(search.solution.x)[1][0] if inside else np.zeros(0)
        )
        positions = {s: k for k, s in enumerate(inside)}
        gradient = [slopes[positions[s]] if s in positions else 0.0 for s in self.noise.symbols]
        by_parameters = np.array(gradient)[:, None] * search.per_goal(goal)
        half = float(self.noise.half_widths(by_parameters, level)[0])
        value = self.formulated.sign * goal
        ends = interval(value, half) if smooth else None
        return Goal(question.goal_text, question.maximize, value, ends)

    def _solved_constraints(
        self, search: SearchResult, all_values: Values, goal: float
    ) -> tuple[Kept, ...]:
        constraints = []
        margins = computed_at([c.margin for c in self.conditions], all_values)
        solution = search.solution
        for i, (condition, margin) in enumerate(zip(self.conditions, margins, strict=True)):
            active = str(i) in solution.active or condition.equality
            price = None
            if active:
                # an equality is its margin, while an inequality is -margin
                sign = -1 if condition.equality else 1
                ratio = search.question.ratios[i]
                per = search.per_goal(goal) / (
                    1.0 if ratio is None else evaluated(ratio[0], all_values)
                )
                price = sign * self.formulated.sign * float(solution.multipliers[i]) * per
            margin = 0.0 if active else max(margin, 0.0)
            constraint = Kept(condition.text, condition.doc, margin, active, condition.law, price)
            if active or not condition.law:
                constraints.append(constraint)
        return tuple(constraints)

    def _sensitivities(self, slopes: Slopes, values: Values) -> tuple[Sensitivity, ...]:
        derivatives = []
        for name, symbol in self.formulated.names.items():
            if symbol in slopes:
                unknown_slopes, value = slopes[symbol]
                by_unknown = {
                    u.name: float(m) for u, m in zip(self.unknowns, unknown_slopes, strict=True)
                }
                derivatives.append(
                    Sensitivity(name, values[symbol], by_unknown, self.formulated.sign * value)
                )
        return tuple(derivatives)

    def _relaxations(
        self, solution: NlpSolution, values: Values, sought: ScaledQuestion
    ) -> tuple[Relaxation, ...]:
        relaxations = []
        for relaxed in solution.shortfalls:
            if relaxed.kind != "constraint":
                continue  # the domain of an unknown is not relaxed
            number = int(relaxed.name)
            condition = self.conditions[number]
            if not condition.law:
                amount = _relaxation_in_units(sought.ratios[number], abs(relaxed.amount), values)
                if math.isfinite(amount):
                    relaxations.append(Relaxation(condition.text, condition.doc, amount, {}, {}))
        return tuple(relaxations)


def times_exp(x: float, power: float) -> float:
    """x*exp(power) for numbers x > 0 and power; inf on overflow."""
    try:
        return x * math.exp(power)
    except OverflowError:
        return math.inf


def _relaxation_in_units(ratio: Ratio | None, amount: float, values: Values) -> float:
    """The relaxation of a bound in its units, from that of a logarithm; inf on overflow."""
    if ratio is None:
        return amount
    over, under = ratio
    with np.errstate(over="ignore"):
        if over.free_symbols <= set(values):
            return evaluated(over, values) * float(np.expm1(amount))
        if under.free_symbols <= set(values):
            return -evaluated(under, values) * float(np.expm1(-amount))
    return amount
