"""A question with several unknowns: searched from several starts, and certified as far as it goes.

That the answer keeps every constraint is certain. That no other is better is so where goal and
constraints are convex, up to a gap that is said; else the starts that agree are the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.solving.giving import evaluated
from lawdsl.solving.noise import Noise, interval
from lawdsl.solving.posing.posed import Condition, Posed
from lawdsl.solving.posing.reducing import Reduced
from lawdsl.solving.records import Answer, Chosen, Goal, Kept, Relaxation, Sensitivity
from lawdsl.solving.several.minimising import minimise
from lawdsl.solving.several.problems import Constraint, Functions, Problem, Solution
from lawdsl.solving.several.sensitivities import sensitivities
from lawdsl.solving.warnings import warnings_of

Array = NDArray[np.float64]
Values = Mapping[sp.Symbol, float]
Slopes = Mapping[sp.Symbol, tuple[Array, float]]


class Joint:
    """A question with several unknowns.

    Args:
        posed: the question.
        problem: it without those that equations give.
    """

    def __init__(self, posed: Posed, problem: Reduced) -> None:
        self.posed, self.unknowns = posed, problem.unknowns
        self.goal = problem.goal
        free = {u.symbol for u in problem.unknowns}
        self.conditions = [c for c in problem.conditions if c.margin.free_symbols & free]
        self.constraints = [
            Constraint(str(i), c.margin if c.equality else -c.margin, c.equality)
            for i, c in enumerate(self.conditions)
        ]

    @cached_property
    def noise(self) -> Noise:
        """Of the fits."""
        return Noise.of(self.posed.sources)

    def answer(self, values: Values, level: float, seed: int, *, proofs: bool) -> Answer:
        """The answer for values of all other symbols."""
        problem = self._problem(values)
        found = minimise(problem, seed=seed)
        base = self.posed.blank("answered" if found.feasible else "infeasible", values, level)
        if not found.feasible:
            return replace(base, relaxations=self._relaxations(found), proof=_conflict(found))
        return self._answered(base, problem, found, values)

    def _problem(self, values: Values) -> Problem:
        unknowns = {u.symbol: _box(u.bounds, values) for u in self.unknowns}
        used = self.goal.free_symbols.union(*(c.expression.free_symbols for c in self.constraints))
        known = {s: values[s] for s in sorted(used - set(unknowns), key=str)}
        return Problem(self.goal, unknowns, self.constraints, known)

    def _answered(self, base: Answer, problem: Problem, found: Solution, values: Values) -> Answer:
        symbols = (*self.noise.symbols, *self.posed.names.values())
        slopes = sensitivities(problem, found, [s for s in symbols if s in problem.values])
        at = {**values, **dict(zip(problem.unknowns, found.x.tolist(), strict=True))}
        answer = replace(
            base,
            unknowns=self._chosen(problem, found, slopes, base.level),
            goal=self._goal(problem, found, base.level),
            where=_where(self.conditions, found),
            method="convex optimisation" if found.convex else f"best of {found.starts} starts",
            proof=_proof(found),
            certain=found.gap is not None and found.gap <= 1e-6 * max(1.0, abs(found.value)),
            kept=self._kept(problem, found),
            sensitivities=self._sensitivities(slopes, values),
        )
        known = self.noise.known(self._by_parameters(slopes))
        return replace(answer, diagnostics=warnings_of(self.posed, at, known))

    def _by_parameters(self, slopes: Slopes) -> Array:
        """The derivatives of the unknowns by the fitted parameters, shape (parameters, unknowns)."""
        none = np.zeros(len(self.unknowns))
        found = np.array([slopes[s][0] if s in slopes else none for s in self.noise.symbols])
        return found.reshape(-1, len(self.unknowns))

    def _chosen(
        self, problem: Problem, found: Solution, slopes: Slopes, level: float
    ) -> tuple[Chosen, ...]:
        halves = self.noise.half_widths(self._by_parameters(slopes), level)
        made = []
        for u, x, half in zip(self.unknowns, found.x.tolist(), halves.tolist(), strict=True):
            low, high = problem.unknowns[u.symbol]
            ends = interval(x, half)
            ends = ends and (max(low, ends[0]), min(high, ends[1]))
            name = u.symbol.name
            place = "lower end" if name in found.at_low else "inside"
            place = "upper end" if name in found.at_high else place
            made.append(Chosen(u.name, x, u.unit, u.doc, ends, None, place))
        return tuple(made)

    def _goal(self, problem: Problem, found: Solution, level: float) -> Goal:
        question = self.posed.question
        inside = [s for s in self.noise.symbols if s in problem.values]
        slopes = Functions(problem, inside).at(found.x)[1][0] if inside else np.zeros(0)
        place = {s: k for k, s in enumerate(inside)}
        gradient = [slopes[place[s]] if s in place else 0.0 for s in self.noise.symbols]
        half = float(self.noise.half_widths(np.array(gradient)[:, None], level)[0])
        value = self.posed.sign * found.value
        return Goal(question.goal_text, question.maximize, value, interval(value, half))

    def _kept(self, problem: Problem, found: Solution) -> tuple[Kept, ...]:
        made = []
        margins = -problem.functions.at(found.x)[0][1:]
        for i, condition in enumerate(self.conditions):
            active = str(i) in found.active or condition.equality
            turn = -1 if condition.equality else 1  # an equality is its margin, not -margin
            price = turn * self.posed.sign * float(found.multipliers[i]) if active else None
            margin = float(abs(margins[i]) if condition.equality else margins[i])
            kept = Kept(condition.text, condition.doc, margin, active, condition.law, price)
            if active or not condition.law:
                made.append(kept)
        return tuple(made)

    def _sensitivities(self, slopes: Slopes, values: Values) -> tuple[Sensitivity, ...]:
        made = []
        for name, symbol in self.posed.names.items():
            if symbol in slopes:
                moved, value = slopes[symbol]
                by = {u.name: float(m) for u, m in zip(self.unknowns, moved, strict=True)}
                made.append(Sensitivity(name, values[symbol], by, self.posed.sign * value))
        return tuple(made)

    def _relaxations(self, found: Solution) -> tuple[Relaxation, ...]:
        made = []
        for relaxed in found.shortfalls:
            if relaxed.kind == "constraint":
                condition = self.conditions[int(relaxed.name)]
                text, doc = condition.text, condition.doc
            else:
                text, doc = f"{relaxed.name} at its {relaxed.kind} end", None
            made.append(Relaxation(text, doc, abs(relaxed.by), {}, {}))
        return tuple(made)


def _box(bounds: Sequence[tuple[str, sp.Expr]], values: Values) -> tuple[float, float]:
    """The range of an unknown; whether its ends belong to it makes no difference to a search."""
    low, high = -math.inf, math.inf
    for relation, limit in bounds:
        end = evaluated(limit, values)
        if relation.startswith(">"):
            low = max(low, end)
        else:
            high = min(high, end)
    return low, high


def _where(conditions: Sequence[Condition], found: Solution) -> str:
    names = dict.fromkeys(conditions[int(i)].name for i in found.active)
    held = f"{len(found.active)} constraints active" if len(found.active) > 1 else ""
    if len(found.active) == 1 or len(names) == 1:
        held = f"on the constraint {next(iter(names))}"
        held += f", {len(found.active)} times" if len(found.active) > 1 else ""
    ends = [f"{n} at its lower end" for n in found.at_low]
    ends += [f"{n} at its upper end" for n in found.at_high]
    if len(ends) > 3:
        ends = [f"{len(found.at_low)} unknowns at their lower end"] if found.at_low else []
        ends += [f"{len(found.at_high)} at their upper end"] if found.at_high else []
    return "; ".join(filter(None, (held, *ends))) or "inside"


def _proof(found: Solution) -> tuple[str, ...]:
    kept = f"every constraint is kept, to {max(found.violation, 1e-16):.0e}"
    if found.gap is not None:
        return (kept, f"convex: no other choice is better by more than {found.gap:.1e}")
    if found.convex:
        return (kept, "convex, but how much better another choice may be is not known")
    starts = f"{found.agreed} of {found.starts} starts end here, none better"
    return (kept, f"{starts}; that no other choice is better is not proved")


def _conflict(found: Solution) -> tuple[str, ...]:
    return (f"the constraints are missed by {found.violation:.6g} at least",)
