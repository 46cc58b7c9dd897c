"""A question with one unknown, answered for certain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import sympy as sp

from lawdsl import formulas
from lawdsl.solving.along import Along, Drawn, Points, drawn_answers
from lawdsl.solving.ends import conflicts, thresholds, unprefixed
from lawdsl.solving.functions import Formula, Function
from lawdsl.solving.giving import evaluated
from lawdsl.solving.isolating import flat, isolated, tidied
from lawdsl.solving.line import Candidate, Line, minimised
from lawdsl.solving.noise import Noise
from lawdsl.solving.posing import Condition, Posed
from lawdsl.solving.records import Answer, Chosen, Ends, Goal, Kept, Response, Sensitivity
from lawdsl.solving.reducing import Reduced
from lawdsl.solving.relaxing import relaxations
from lawdsl.solving.roots import Range
from lawdsl.solving.warnings import warnings_of
from lawdsl.solving.words import proof_of, where_of

Values = Mapping[sp.Symbol, float]

STEPS = 9  # of a response curve, beside the answer
SAME = 1e-9  # relative: a closed form agrees with the certified root


class Single:
    """A question with one unknown.

    Args:
        posed: the question.
        problem: it with one unknown.
    """

    def __init__(self, posed: Posed, problem: Reduced) -> None:
        assert problem.single is not None
        self.posed, self.problem, self.unknown = posed, problem, problem.single
        x = self.x = self.unknown.symbol
        self.goal = Formula(flat(problem.goal), x)
        self.conditions = [c for c in problem.conditions if x in c.margin.free_symbols]
        self.margins = [Formula(flat(c.margin), x) for c in self.conditions]
        self.names = {**posed.givens, **posed.settings}
        self._formulas: dict[tuple[str, int], sp.Expr | None] = {}

    @cached_property
    def noise(self) -> Noise:
        return Noise.of(self.posed.sources)

    @cached_property
    def along(self) -> Along:
        follow = [flat(f) for f in self.problem.follow.values()]
        return Along(self.goal, self.margins, follow, self.x, self.noise.symbols)

    def answer(self, values: Values, level: float, seed: int, *, proofs: bool) -> Answer:
        """The answer for values of all other symbols."""
        whole = self._range(values)
        margins = [Function(m, values) for m in self.margins]
        goal = Function(self.goal, values)
        bounding = [i for i, m in enumerate(margins) if not _always(m, whole, self.conditions[i])]
        line = minimised(
            goal,
            [margins[i] for i in bounding],
            [self.conditions[i].equality for i in bounding],
            [self.conditions[i].strict for i in bounding],
            whole,
        )
        if line.best is None:
            return self._without(values, whole, [self.conditions[i] for i in bounding], line)
        best = replace(line.best, which=tuple(bounding[k] for k in line.best.which))
        found = _Found(line, best, tuple(bounding), values, whole, level, seed)
        if not math.isfinite(best.at):
            return self._unbounded(found)
        return self._answered(found, proofs=proofs)

    def _base(self, values: Values, status: str, level: float) -> Answer:
        return Answer(
            self.posed.question.name,
            self.posed.question.title,
            {s.use: s.law.name for s in self.posed.sources},
            {name: values[s] for name, s in self.names.items()},
            status,
            level=level,
        )

    def _range(self, values: Values) -> Range:
        """Where the unknown may lie."""
        low, high, low_open, high_open = -math.inf, math.inf, True, True
        for relation, limit in self.unknown.bounds:
            end = evaluated(limit, values)
            if relation.startswith(">") and end >= low:
                low, low_open = end, relation == ">"
            elif relation.startswith("<") and end <= high:
                high, high_open = end, relation == "<"
        return Range(low, high, low_open, high_open)

    # No answer

    def _without(
        self, values: Values, whole: Range, kept: Sequence[Condition], line: Line
    ) -> Answer:
        found = relaxations(kept, self.x, self.unknown.name, self.names, values, whole)
        status = "infeasible" if line.certain else "undecided"
        proof = (f"no {self.unknown.name} {_in(whole)} keeps every constraint",)
        base = replace(self._base(values, status, 0.95), certain=line.certain)
        return replace(base, relaxations=tuple(found), proof=proof if line.certain else ())

    def _unbounded(self, found: _Found) -> Answer:
        name, end = self.unknown.name, "oo" if found.best.at > 0 else "-oo"
        limit = found.line.value
        text = self.posed.question.goal_text
        proof = [f"{text} has no best value: it goes on as {name} -> {end}"]
        if limit is not None and limit.low.is_finite() and limit.high.is_finite():
            sign = -1 if self.posed.question.maximize else 1
            value = sign * float(((limit.low + limit.high) / 2).mid())
            proof = [f"{text} comes nearer and nearer to {value:.6g} as {name} -> {end}"]
        base = self._base(found.values, "unbounded", found.level)
        return replace(base, proof=tuple(proof), certain=found.line.certain)

    # An answer

    def _answered(self, found: _Found, *, proofs: bool) -> Answer:
        x, values = found.best.at, {**found.values, self.x: found.best.at}
        values |= {s: evaluated(f, values) for s, f in self.problem.follow.items()}
        points = self.along.at(np.array([x]), found.values)
        active = self._active(found.best)
        drawn = drawn_answers(
            self.along, found.values, x, active, found.whole, self.noise, found.level, found.seed
        )
        formula = self._closed(found.best, values)
        unknowns = self._unknowns(found, values, drawn, formula)
        slope = self.goal.slope.expression.xreplace({self.x: sp.Rational(repr(x))})
        at_end = found.best.kind == "end"
        line = found.line
        status = "answered" if found.best.attained else "approached"
        base = self._base(found.values, status if line.certain else "undecided", found.level)
        answer = replace(
            base,
            unknowns=unknowns,
            goal=self._goal(points, found.level),
            where=where_of(self.unknown.name, found.best, self.conditions, found.whole),
            method=_method(formula, line),
            proof=proof_of(self.unknown.name, line, found.best, found.whole, self.posed.question),
            certain=line.certain,
            kept=self._kept(points, found.best, found.bounding),
            sensitivities=self._sensitivities(points, active, found),
            thresholds=tuple(thresholds(slope, self.names, values)) if at_end else (),
            response=tuple(self._response(found)),
        )
        if at_end and proofs:
            made = [c for s in self.posed.sources for c in conflicts(slope, s, self.names, values)]
            answer = replace(answer, conflicts=tuple(made))
        known = drawn is not None or at_end and not self.noise.symbols
        share = 1.0 if drawn is None else drawn.answered
        return replace(answer, diagnostics=warnings_of(self.posed, values, answer, known, share))

    def _active(self, best: Candidate) -> int | None:
        """The number of the formula that is 0 at the answer."""
        if best.which:
            return 2 + best.which[0]
        return 1 if best.kind == "stationary" else None

    def _closed(self, best: Candidate, values: Values) -> sp.Expr | None:
        """The unknown in closed form, where algebra gives one that agrees with the number."""
        active = self._active(best)
        if active is None:
            return None
        key = best.kind, active
        if key not in self._formulas:
            equation = self.along.outputs[active]
            made = isolated(flat(equation), self.x)
            self._formulas[key] = None if made is None else self._tidy(made)
        formula = self._formulas[key]
        if formula is None:
            return None
        value = evaluated(formula, values)
        return formula if abs(value - best.at) <= SAME * max(abs(best.at), 1e-300) else None

    def _tidy(self, formula: sp.Expr) -> sp.Expr:
        return tidied(formula, self.names.values())

    def shown(self, formula: sp.Expr) -> str:
        """A formula as text; of one fit alone the parameters have no prefix."""
        if len({s.use for s in self.posed.sources}) == 1:
            plain = unprefixed(formula, self.posed.sources[0])
            names = [s.name for s in plain.free_symbols]
            formula = plain if len(set(names)) == len(names) else formula
        return formulas.text(formula)

    def _unknowns(
        self, found: _Found, values: Values, drawn: Drawn | None, formula: sp.Expr | None
    ) -> tuple[Chosen, ...]:
        own = None if drawn is None else drawn.ends(drawn.x, found.level)
        shown = None if formula is None else self.shown(formula)
        u = self.unknown
        made = {u.name: Chosen(u.name, found.best.at, u.unit, u.doc, own, shown, _place(found))}
        follow = self.problem.follow
        for i, (symbol, expression) in enumerate(follow.items()):
            unknown = next(o for o in self.posed.unknowns if o.symbol == symbol)
            ends = None if drawn is None else drawn.ends(drawn.more[i], found.level)
            text = None
            if formula is not None:
                text = self.shown(self._tidy(expression.xreplace({self.x: formula})))
            value = evaluated(expression, values)
            made[unknown.name] = Chosen(
                unknown.name, value, unknown.unit, unknown.doc, ends, text, "constraint"
            )
        return tuple(made[o.name] for o in self.posed.unknowns if o.name in made)

    def _goal(self, points: Points, level: float) -> Goal:
        question = self.posed.question
        value = float(points.values[0, 0])
        half = float(self.noise.half_widths(points.by_parameters[0], level)[0])
        ends = (value - half, value + half) if math.isfinite(half) and half > 0 else None
        return Goal(question.goal_text, question.maximize, *_turned(value, ends, question.maximize))

    def _kept(self, points: Points, best: Candidate, bounding: Sequence[int]) -> tuple[Kept, ...]:
        found = []
        for i, condition in enumerate(self.conditions):
            active = i in best.which
            if condition.law and not active and i not in bounding:
                continue  # no end of the range leaves that law's domain
            price = None
            if active and points.by_unknown[2 + i, 0]:
                price = float(points.by_unknown[0, 0] / points.by_unknown[2 + i, 0])
            margin = 0.0 if active else float(points.values[2 + i, 0])
            found.append(Kept(condition.text, condition.doc, margin, active, condition.law, price))
        return tuple(found)

    def _sensitivities(
        self, points: Points, active: int | None, found: _Found
    ) -> tuple[Sensitivity, ...]:
        """How the answer moves with each given and setting, by the implicit function theorem."""
        made = []
        for name, symbol in self.names.items():
            if symbol not in self.along.others:
                continue
            k = self.along.others.index(symbol)
            moved = self._end_moves(symbol, found) if active is None else 0.0
            if active is not None:
                with np.errstate(all="ignore"):
                    moved = -points.by_others[active, k, 0] / points.by_unknown[active, 0]
            own = points.by_others[:, k, 0] + points.by_unknown[:, 0] * moved
            sign = -1 if self.posed.question.maximize else 1
            if name not in self.posed.givens and not moved and not own[0]:
                continue  # a setting that nothing depends on
            unknowns = {self.unknown.name: float(moved) + 0.0}
            for i, symbol_of in enumerate(self.problem.follow):
                other = next(o.name for o in self.posed.unknowns if o.symbol == symbol_of)
                unknowns[other] = float(own[self.along.count + i])
            made.append(Sensitivity(name, found.values[symbol], unknowns, sign * float(own[0])))
        return tuple(made)

    def _end_moves(self, symbol: sp.Symbol, found: _Found) -> float:
        """How an end of the range moves with a given."""
        x = found.best.at
        for _, limit in self.unknown.bounds:
            if symbol in limit.free_symbols and evaluated(limit, found.values) == x:
                return evaluated(sp.diff(limit, symbol), found.values)
        return 0.0

    def _response(self, found: _Found) -> list[Response]:
        """The goal and the constraints at some values of the unknown, the answer among them."""
        x = _steps(found.whole, found.best.at)
        points = self.along.at(x, found.values)
        half = self.noise.half_widths(points.by_parameters[0], found.level)
        made = []
        others = [
            next(o.name for o in self.posed.unknowns if o.symbol == s) for s in self.problem.follow
        ]
        for n, at in enumerate(x):
            value = float(points.values[0, n])
            if not math.isfinite(value):
                continue
            ends = None
            if np.isfinite(half[n]) and half[n] > 0:
                ends = value - float(half[n]), value + float(half[n])
            own, both = _turned(value, ends, self.posed.question.maximize)
            follow = points.values[self.along.count :, n]
            named = {
                self.unknown.name: float(at),
                **dict(zip(others, map(float, follow), strict=True)),
            }
            margins = {
                c.text: 0.0 if self._is_on(i, at, found) else float(points.values[2 + i, n])
                for i, c in enumerate(self.conditions)
                if not c.law and not c.equality
            }
            made.append(Response(named, own, both, margins))
        return made

    @staticmethod
    def _is_on(i: int, at: float, found: _Found) -> bool:
        """Whether a value of the unknown is the answer, and lies on a constraint."""
        return bool(at == found.best.at and i in found.best.which)


@dataclass(frozen=True)
class _Found:
    """What was found, and for which values."""

    line: Line
    best: Candidate
    bounding: tuple[int, ...]  # constraints that do not hold everywhere
    values: Values
    whole: Range
    level: float
    seed: int


def _always(margin: Function, whole: Range, condition: Condition) -> bool:
    """Whether a constraint holds on the whole range."""
    if condition.equality:
        return False
    found = margin(whole.interval)
    if found is None:
        return False
    return bool(found.low > 0 or (found.low >= 0 and not condition.strict))


def _turned(value: float, ends: Ends | None, maximize: bool) -> tuple[float, Ends | None]:
    """A value and its interval as the question means it."""
    if not maximize:
        return value, ends
    return 0.0 - value, None if ends is None else (-ends[1], -ends[0])


def _place(found: _Found) -> str:
    if found.best.which:
        return "constraint"
    if found.best.kind == "end":
        return "lower end" if found.best.at == found.whole.low else "upper end"
    return "inside"


def _method(formula: sp.Expr | None, line: Line) -> str:
    if formula is not None:
        return "closed form, agreeing with the certified root"
    return "certified by interval arithmetic" if line.certain else "interval arithmetic, in part"


def _in(whole: Range) -> str:
    left = "(" if whole.low_open else "["
    right = ")" if whole.high_open else "]"
    return f"in {left}{_number(whole.low)}, {_number(whole.high)}{right}"


def _number(x: float) -> str:
    return ("oo" if x > 0 else "-oo") if math.isinf(x) else f"{x:.6g}"


def _steps(whole: Range, best: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Round values of the unknown over its range, and the answer."""
    low, high = whole.low, whole.high
    if math.isinf(low) or math.isinf(high) or low == 0 and whole.low_open and math.isinf(high):
        if best > 0 and low >= 0:
            x = best * np.array([0.1, 0.2, 0.4, 0.6, 0.8, 1.25, 1.7, 2.5, 5.0, 10.0])
        else:
            x = best + np.linspace(-1, 1, STEPS) * max(abs(best), 1.0)
        x = np.array([float(f"{v:.2g}") for v in x])
    else:
        x = low + (high - low) * np.linspace(0, 1, STEPS + 2)
        x = np.array([float(f"{v:.4g}") for v in x])
    x = x[(x >= low) & (x <= high)]
    x = x[(x > low) | (not whole.low_open)]
    x = x[(x < high) | (not whole.high_open)]
    found: np.ndarray[tuple[int], np.dtype[np.float64]] = np.unique(np.append(x, best))
    return found
