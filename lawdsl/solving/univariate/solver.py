"""A question with one unknown, answered for certain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.core.diagnostics import LawdslError
from lawdsl.law import text
from lawdsl.solving.formulate.closed_form import flatten_powers, isolate, tidy_powers, try_algebra
from lawdsl.solving.formulate.elimination import ReducedProblem
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion
from lawdsl.solving.inputs import check_given_constraints, evaluated
from lawdsl.solving.result import (
    Answer,
    Chosen,
    Ends,
    Goal,
    Kept,
    Response,
    Threshold,
)
from lawdsl.solving.uncertainty import ZERO_WIDTH_RTOL, FitUncertainty, interval
from lawdsl.solving.univariate.boundary import conflicts, thresholds
from lawdsl.solving.univariate.description import not_certain, proof_of, where_of
from lawdsl.solving.univariate.implicit_derivatives import Moving, moving
from lawdsl.solving.univariate.interval_functions import Formula, Function, number
from lawdsl.solving.univariate.line_functions import Along, Points
from lawdsl.solving.univariate.line_minimum import Candidate, Line, Margin
from lawdsl.solving.univariate.monte_carlo import Drawn, drawn_answers
from lawdsl.solving.univariate.refinement import minimised
from lawdsl.solving.univariate.relaxation import relaxations
from lawdsl.solving.univariate.roots import Range, centre
from lawdsl.solving.univariate.sampling import better_point
from lawdsl.solving.univariate.sensitivity import response, sensitivities, without_derivative
from lawdsl.solving.univariate.state import Found, Frame, Values
from lawdsl.solving.warnings import MissingInterval, answer_warnings

Array = NDArray[np.float64]

BEYOND = 1e-3  # relative: so far behind a threshold it is looked whether it is one
ROUNDS = 4  # of looking for a point that is better than an answer that is not certain
SAME = 1e-9  # relative: a closed form agrees with the certified root


class Single:
    """A question with one unknown.

    Args:
        posed: the question.
        problem: it with one unknown.
    """

    def __init__(self, posed: FormulatedQuestion, problem: ReducedProblem) -> None:
        assert problem.single is not None
        self.posed, self.problem, self.unknown = posed, problem, problem.single
        x = self.x = self.unknown.symbol
        self.goal = Formula(flatten_powers(problem.goal), x)
        self.conditions = [c for c in problem.conditions if x in c.margin.free_symbols]
        self.margins = [Formula(flatten_powers(c.margin), x) for c in self.conditions]
        self._formulas: dict[tuple[str, int], sp.Expr | None] = {}

    @cached_property
    def noise(self) -> FitUncertainty:
        """Of the fits."""
        return FitUncertainty.of(self.posed.sources)

    @cached_property
    def along(self) -> Along:
        """All of it as functions of the unknown."""
        follow = [flatten_powers(f) for f in self.problem.follow.values()]
        return Along(self.goal, self.margins, follow, self.x, self.noise.symbols)

    @cached_property
    def frame(self) -> Frame:
        """What all that is said of an answer rests on."""
        parts = self.posed, self.unknown, self.problem.follow, self.conditions
        return Frame(*parts, self.along, self.noise)

    def answer(self, values: Values, level: float, seed: int, *, proofs: bool) -> Answer:
        """The answer for values of all other symbols."""
        line, bounding, whole = self._line(values)
        if line.best is None:
            kept = [self.conditions[i] for i in bounding]
            return self._without(values, whole, kept, line, level)
        best = replace(line.best, which=tuple(bounding[k] for k in line.best.which))
        line = replace(line, best=best)
        found = Found(line, best, bounding, values, whole, level, seed)
        at_infinity = best.kind == "end" and not math.isfinite(best.at)
        if at_infinity or (line.value is not None and not line.value.low.is_finite()):
            return self._unbounded(found)
        if not math.isfinite(best.at) or (best.at == 0 and not best.x.low <= 0 <= best.x.high):
            return self._beyond_floats(found)
        return self._answered(found, proofs=proofs)

    def _line(self, values: Values) -> tuple[Line, tuple[int, ...], Range]:
        """The goal on what is allowed, the constraints that do not hold everywhere, the range."""
        whole = self._range(values)
        margins = [
            Margin(Function(margin, values), c.equality, c.strict)
            for margin, c in zip(self.margins, self.conditions, strict=True)
        ]
        bounding = tuple(i for i, margin in enumerate(margins) if not _always(margin, whole))
        kept = [margins[i] for i in bounding]
        return minimised(Function(self.goal, values), kept, whole), bounding, whole

    def _thresholds(self, slope: sp.Expr, values: Values) -> Iterator[Threshold]:
        """Those behind which the answer lies inside, when all that is asked is looked at."""
        for threshold in thresholds(slope, self.posed.names, values):
            beyond = threshold.value * (1 + (BEYOND if threshold.relation == ">" else -BEYOND))
            if not math.isfinite(beyond):
                continue
            moved = {**values, self.posed.names[threshold.name]: beyond}
            try:
                check_given_constraints(self.posed, moved)
            except LawdslError:
                continue
            best = self._line(moved)[0].best
            if best is not None and best.kind == "stationary":
                yield threshold

    def _range(self, values: Values) -> Range:
        """Where the unknown may lie."""
        low, high, low_open, high_open = -math.inf, math.inf, True, True
        for relation, limit in self.unknown.bounds:
            end = evaluated(limit, values)
            if relation.startswith(">") and end >= low:
                low, low_open = end, relation == ">" or (end == low and low_open)
            elif relation.startswith("<") and end <= high:
                high, high_open = end, relation == "<" or (end == high and high_open)
        return Range(low, high, low_open, high_open)

    # No answer

    def _without(
        self,
        values: Values,
        whole: Range,
        kept: Sequence[AlgebraicConstraint],
        line: Line,
        level: float,
    ) -> Answer:
        name = self.unknown.name
        if not line.certain:
            help = f"give {name} a narrower domain: `choose {name} in [0.1, 1]`"
            return replace(self.posed.blank("undecided", values, level), proof=(help,))
        found = relaxations(kept, self.x, name, self.posed.names, values, whole)
        proof = (f"no {name} {_in(whole)} keeps every constraint",)
        base = replace(self.posed.blank("infeasible", values, level), certain=True)
        return replace(base, relaxations=tuple(found), proof=proof)

    def _unbounded(self, found: Found) -> Answer:
        name, at = self.unknown.name, found.best.at
        end = f"{at:.6g}" if math.isfinite(at) else "oo" if at > 0 else "-oo"
        limit = found.line.value
        text = self.posed.question.goal_text
        proof = [f"{text} is unbounded: it has no best value as {name} -> {end}"]
        if limit is not None and limit.low.is_finite() and limit.high.is_finite():
            value = self.posed.sign * centre(limit) + 0.0
            proof = [f"{text} comes nearer and nearer to {value:.6g} as {name} -> {end}"]
        if not found.line.certain:
            proof += not_certain(name, found.line)
        certain = found.line.certain and found.line.equal
        finite = limit is not None and limit.low.is_finite()
        status = "undecided" if finite and not found.line.certain else "unbounded"
        base = self.posed.blank(status, found.values, found.level)
        return replace(base, proof=tuple(proof), certain=certain)

    def _beyond_floats(self, found: Found) -> Answer:
        """The best place is too large or too small for a float."""
        place = found.best.x.low.str(3, radius=False)
        largest = (
            "above the largest number, 1.8e308" if found.best.at else "below the smallest, 1e-323"
        )
        line = f"the best {self.unknown.name} is about {place}, {largest}"
        base = self.posed.blank("undecided", found.values, found.level)
        return replace(base, proof=(line, "state the question in another unit"))

    # An answer

    def _answered(self, found: Found, *, proofs: bool) -> Answer:
        curve = tuple(response(self.frame, found))
        if not found.line.certain:
            unbeaten = self._not_beaten(found, curve)
            if unbeaten is None:
                base = self.posed.blank("undecided", found.values, found.level)
                said = f"{self.posed.question.goal_text} may be unbounded"
                return replace(base, proof=(*not_certain(self.unknown.name, found.line), said))
            found, curve = unbeaten
        x, values = found.best.at, {**found.values, self.x: found.best.at}
        values |= {s: evaluated(f, values) for s, f in self.problem.follow.items()}
        points = self.along.exactly_at(np.array([x]), found.values)
        drawn = drawn_answers(self.frame, found)
        moves = moving(self.frame, found)
        goal = self._goal(points, found, moves)
        if moves.at_kink:
            own = self.unknown.name
            curve = tuple(replace(r, ends=goal.ends) if r.x[own] == x else r for r in curve)
        formula = self._closed(found, values)
        unknowns = self._unknowns(found, values, drawn, formula)
        slope = self._slope_at(x) if found.best.kind == "end" else None
        line = found.line
        status = "answered" if found.best.attained else "approached"
        status = status if line.certain else "undecided"
        base = self.posed.blank(status, found.values, found.level)
        proof = proof_of(self.unknown.name, line, found.best, found.whole, self.posed.question)
        answer = replace(
            base,
            unknowns=unknowns,
            goal=goal,
            where=where_of(self.unknown.name, found.best, self.conditions, found.whole),
            method=_method(formula, line),
            proof=(*proof, *without_derivative(self.frame, points, found, moves)),
            certain=line.certain and line.equal,
            kept=self._kept(points, found, moves),
            sensitivities=tuple(sensitivities(self.frame, points, found, moves)),
            thresholds=tuple(self._thresholds(slope, values)) if slope is not None else (),
            response=curve,
        )
        if slope is not None and proofs:
            made = [
                c for s in self.posed.sources for c in conflicts(slope, s, self.posed.names, values)
            ]
            answer = replace(answer, conflicts=tuple(made))
        share = 1.0 if drawn is None else drawn.answered
        lacking = self._lacking(points, drawn, moves)
        why = lacking or MissingInterval.ERRORS
        told = answer_warnings(self.posed, values, lacking is None, share, why)
        return replace(answer, diagnostics=told)

    def _lacking(
        self, points: Points, drawn: Drawn | None, moves: Moving
    ) -> MissingInterval | None:
        """Why there is no interval of the unknown or the goal; None where nothing is missing."""
        if drawn is None and self.noise.symbols:
            known = self.noise.known(points.by_parameters[: self.along.count, :, 0].T)
            return MissingInterval.DERIVATIVE if known else MissingInterval.ERRORS
        return MissingInterval.GOAL if self._gradient(points, moves) is None else None

    def _not_beaten(
        self, found: Found, curve: tuple[Response, ...]
    ) -> tuple[Found, tuple[Response, ...]] | None:
        """The best of all points that were computed, where the best place is not certain; None
        where points further out are better again and again."""
        for _ in range(ROUNDS):
            at = better_point(self.frame, found)
            if at is not None and not self._is_better(at, found):  # by rounding alone
                at = None
            own = [r for r in curve if r.allowed]
            least = min(own, key=lambda r: self.posed.sign * r.goal, default=None)
            if at is None and least is not None:
                point = least.x[self.unknown.name]
                at = point if point != found.best.at else None
                if at is not None and not self._is_better(at, found):
                    at = None
            if at is None:
                return found, curve
            found = replace(found, best=Candidate(number(at), "sampled"))
            curve = tuple(response(self.frame, found))
        return None

    def _is_better(self, at: float, found: Found) -> bool:
        """Whether the goal at a point is better than at the best place."""
        values = self.along.exactly_at(np.array([at, found.best.at]), found.values).values[0]
        return bool(values[0] < values[1])

    def _slope_at(self, x: float) -> sp.Expr | None:
        """The slope of the goal at an end of the range; None where algebra cannot write it."""
        place = {self.x: sp.Rational(repr(x))}
        return try_algebra(lambda: self.goal.slope.expression.xreplace(place))

    def _closed(self, found: Found, values: Values) -> sp.Expr | None:
        """The unknown in closed form, where algebra gives one that agrees with the number."""
        active, best = found.active, found.best
        if active is None:
            return None
        key = best.kind, active
        if key not in self._formulas:
            equation = self.along.outputs[active]
            made = try_algebra(lambda: isolate(flatten_powers(equation), self.x))
            tidy = None if made is None else try_algebra(lambda: self._tidy(made))
            self._formulas[key] = tidy
        formula = self._formulas[key]
        if formula is None:
            return None
        value = evaluated(formula, values)
        return formula if abs(value - best.at) <= SAME * max(abs(best.at), 1e-300) else None

    def _tidy(self, formula: sp.Expr) -> sp.Expr:
        return tidy_powers(formula, self.posed.names.values())

    def shown(self, formula: sp.Expr) -> str:
        """A formula as text; of one fit alone the parameters have no prefix."""
        if len({s.use for s in self.posed.sources}) == 1:
            plain = self.posed.sources[0].unprefixed(formula)
            names = [s.name for s in plain.free_symbols]
            formula = plain if len(set(names)) == len(names) else formula
        return text.text(formula)

    def _unknowns(
        self, found: Found, values: Values, drawn: Drawn | None, formula: sp.Expr | None
    ) -> tuple[Chosen, ...]:
        own = None if drawn is None else _around(drawn.ends(drawn.x, found.level), found.best.at)
        shown = None if formula is None else self.shown(formula)
        u = self.unknown
        made = {u.name: Chosen(u.name, found.best.at, u.unit, u.doc, own, shown, _place(found))}
        formulas_of = self.frame.follow.values()
        for i, (unknown, expression) in enumerate(
            zip(self.frame.followers, formulas_of, strict=True)
        ):
            at = evaluated(expression, values)
            ends = None if drawn is None else _around(drawn.ends(drawn.more[i], found.level), at)
            text = None
            if formula is not None:
                text = self.shown(self._tidy(expression.xreplace({self.x: formula})))
            made[unknown.name] = Chosen(
                unknown.name, at, unknown.unit, unknown.doc, ends, text, "constraint"
            )
        return tuple(made[o.name] for o in self.posed.unknowns if o.name in made)

    def _gradient(self, points: Points, moves: Moving) -> Array | None:
        """The derivatives of the goal by the fitted parameters, shape (parameters, 1): at a kink
        along it, where all branches agree, elsewhere at the answer as it is; None where it has
        none."""
        gradient = points.by_parameters[0]
        if not moves.at_kink or not self.noise.symbols:
            return gradient
        moved = moves.with_parameters()
        if moved is None:
            return None
        along = points.by_unknown[0, 0] * moved[:, None]
        found = gradient + along
        return np.where(np.abs(found) <= ZERO_WIDTH_RTOL * np.abs(along), 0.0, found)

    def _goal(self, points: Points, found: Found, moves: Moving) -> Goal:
        question = self.posed.question
        value = float(points.values[0, 0])
        limit = found.line.value
        if not math.isfinite(value) and limit is not None and found.best is found.line.best:
            value = centre(limit)  # float64 has no value there, as of 0*log(0)
        value = self.posed.sign * value + 0.0  # no -0
        gradient = self._gradient(points, moves)
        ends = None
        if gradient is not None:
            ends = interval(value, float(self.noise.half_widths(gradient, found.level)[0]))
        return Goal(question.goal_text, question.maximize, value, ends)

    def _kept(self, points: Points, found: Found, moves: Moving) -> tuple[Kept, ...]:
        best, kept = found.best, []
        for i, condition in enumerate(self.conditions):
            active = i in best.which
            if condition.law and not active and i not in found.bounding:
                continue  # no end of the range leaves that law's domain
            price = None
            over, under = points.by_unknown[0, 0], points.by_unknown[2 + i, 0]
            known = not moves.at_kink and math.isfinite(over) and math.isfinite(under)
            if active and under and known:
                price = self.posed.sign * float(over / under)
            margin = 0.0 if active else float(points.values[2 + i, 0])
            kept.append(Kept(condition.text, condition.doc, margin, active, condition.law, price))
        return tuple(kept)


def _around(ends: Ends, value: float) -> Ends | None:
    """An interval that holds the answer itself, to rounding; None of one that does not."""
    room = SAME * max(1.0, abs(value))
    low, high = min(ends[0], value), max(ends[1], value)
    return (low, high) if ends[0] - room <= value <= ends[1] + room else None


def _always(margin: Margin, whole: Range) -> bool:
    """Whether a constraint holds on the whole range."""
    found = None if margin.equality else margin.function(whole.interval)
    if found is None:
        return False
    return bool(found.low > 0 or (found.low >= 0 and not margin.strict))


def _place(found: Found) -> str:
    if found.best.which:
        return "constraint"
    if found.best.kind == "end":
        return "lower end" if found.best.at == found.whole.low else "upper end"
    return "inside"


def _method(formula: sp.Expr | None, line: Line) -> str:
    if formula is not None:
        return "closed form, agreeing with the certified root"
    return "certified by interval arithmetic" if line.certain else "best of the points computed"


def _in(whole: Range) -> str:
    left = "(" if whole.low_open else "["
    right = ")" if whole.high_open else "]"
    return f"in {left}{_number(whole.low)}, {_number(whole.high)}{right}"


def _number(x: float) -> str:
    return ("oo" if x > 0 else "-oo") if math.isinf(x) else f"{x:.6g}"
