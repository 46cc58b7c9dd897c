"""A question at choices of its unknowns -> goal and margins of its constraints, for any true laws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import Slopes
from lawdsl.compiling.tape import compile_tape
from lawdsl.proof.decide import RELATIONS
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.law_error.branches import Node, split
from lawdsl.solving.law_error.law_values import LawValues, PointValues

Array = NDArray[np.float64]
Inputs = Mapping[sp.Symbol, Array | float]
"""Symbol -> values at the points, or one value for all."""

# a constraint without a fitted law is satisfied within rounding, relative to the sum of its terms
FEASIBILITY_RTOL = 1e-12
EQUATION_RTOL = 1e-9  # the same tolerance for equations, which a search satisfies approximately
MAX_REACH = 3.0  # decades beyond the fitted rows
ROUNDED_DECADES = 1e-9  # tolerance for a choice at this reach


@dataclass(frozen=True)
class Outcome:
    """The outcomes of choices: goal and constraints.

    Attributes:
        goal: the minimised goal, of any shape; nan where it is undefined.
        margins: the margins of the constraints that involve fitted laws, shape (constraints, …).
        allowed: whether all other constraints and domains are satisfied, of the shape of the goal.
        others: the margins of those constraints, relative to the sum of their terms, shape
            (constraints, …).
    """

    goal: Array
    margins: Array
    allowed: NDArray[np.bool_]
    others: Array = field(default_factory=lambda: np.empty(0))

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Whether all constraints are satisfied."""
        with np.errstate(invalid="ignore"):
            kept = np.all(self.margins >= 0, axis=0) & self.allowed & np.isfinite(self.goal)
        return np.asarray(kept)


@dataclass(frozen=True)
class Margin:
    """The margin of a constraint as a function of the laws' values.

    Attributes:
        expression: the margin.
        calls: the indices of the calls of laws on which it depends.
        laws: all calls of laws.
        others: the other symbols in it.
    """

    expression: sp.Expr
    calls: tuple[int, ...]
    laws: LawValues
    others: tuple[sp.Symbol, ...]
    _slopes: Slopes = field(repr=False)

    @classmethod
    def of(cls, expression: sp.Expr, laws: LawValues) -> Margin:
        """Prepare a margin in the symbols of the laws' values and of all others."""
        symbols = [call.symbol for call in laws.calls]
        calls = tuple(i for i, s in enumerate(symbols) if s in expression.free_symbols)
        others = tuple(sorted(expression.free_symbols - set(symbols), key=str))
        tape = compile_tape([expression], [*(symbols[i] for i in calls), *others])
        return cls(expression, calls, laws, others, Slopes(tape, range(len(calls))))

    def values(self, inputs: Inputs, true: Array) -> Array:
        """The margin, shape (…, points); -inf where it is undefined.

        Args:
            inputs: the unknowns and all other symbols, at the points.
            true: the values of the laws on which it depends, shape (calls, …, points).
        """
        shape = true.shape[1:]
        result = self._slopes.values(self._columns(inputs, true))[0].reshape(shape)
        return np.where(np.isnan(result), -np.inf, result)

    def slopes(self, inputs: Inputs, true: Array) -> Array:
        """Its derivatives with respect to the errors of the laws on which it depends, shape (calls,
        points).

        Args:
            inputs: the unknowns and all other symbols, at the points.
            true: the values of these laws, shape (calls, points).
        """
        _, gradients = self._slopes.values_and_gradients(self._columns(inputs, true))
        of_logs = {i for fit in self.laws.fits if fit.of_logs for i in fit.calls}
        unit = [
            true[k] if i in of_logs else np.ones_like(true[k]) for k, i in enumerate(self.calls)
        ]
        return np.asarray(gradients[0] * np.array(unit))

    def _columns(self, inputs: Inputs, true: Array) -> Array:
        shape = true.shape[1:]
        rows = [row.ravel() for row in true]
        rows += [np.broadcast_to(inputs[s], shape).ravel() for s in self.others]
        return np.array(rows, dtype=np.float64).reshape(len(rows), math.prod(shape))


@dataclass(frozen=True)
class Outcomes:
    """Goal and constraints of a question at choices of all its unknowns.

    Attributes:
        formulated: the question, with symbols for its calls of laws.
        values: symbol -> value, of all symbols but the unknowns.
        laws: the calls of laws.
    """

    formulated: FormulatedQuestion
    values: Mapping[sp.Symbol, float]
    laws: LawValues

    @cached_property
    def uncertain(self) -> tuple[AlgebraicConstraint, ...]:
        """The constraints that involve a fitted law."""
        symbols = {call.symbol for call in self.laws.calls}
        return tuple(c for c in self.formulated.conditions if c.margin.free_symbols & symbols)

    @property
    def has_uncertain_equation(self) -> bool:
        """Whether an equation involves a fitted law, and hence holds with probability 0."""
        return any(c.equality for c in self.uncertain)

    @cached_property
    def certain(self) -> tuple[AlgebraicConstraint, ...]:
        """The other constraints that involve an unknown."""
        free = {u.symbol for u in self.formulated.unknowns}
        uncertain = set(map(id, self.uncertain))
        return tuple(
            c
            for c in self.formulated.conditions
            if id(c) not in uncertain and c.margin.free_symbols & free
        )

    @cached_property
    def _outputs(self) -> tuple[Slopes, tuple[sp.Symbol, ...]]:
        """Goal, uncertain margins, certain margins and the sums of their absolute terms, as
        functions of the laws' values, the unknowns and all other values.
        """
        outputs = [self.formulated.goal]
        outputs += [c.margin for c in (*self.uncertain, *self.certain)]
        outputs += [_absolute_terms(c.margin) for c in self.certain]
        calls = [call.symbol for call in self.laws.calls]
        others = sorted(set().union(*(e.free_symbols for e in outputs)) - set(calls), key=str)
        return Slopes(compile_tape(outputs, [*calls, *others])), tuple(others)

    @cached_property
    def _split(self) -> tuple[tuple[Node, ...], tuple[Margin, ...]]:
        symbols = [call.symbol for call in self.laws.calls]
        positive = [symbols[i] for fit in self.laws.fits if fit.of_logs for i in fit.calls]
        found: list[sp.Expr] = []
        nodes = tuple(split(c.margin, symbols, positive, found) for c in self.uncertain)
        return nodes, tuple(Margin.of(expression, self.laws) for expression in found)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The logical structure of each uncertain constraint in terms of `margins`."""
        return self._split[0]

    @property
    def margins(self) -> tuple[Margin, ...]:
        """The margins of the uncertain constraints, split at max, min and abs of laws."""
        return self._split[1]

    @cached_property
    def whole_margins(self) -> tuple[Margin, ...]:
        """The margins of the uncertain constraints, without splitting."""
        return tuple(Margin.of(c.margin, self.laws) for c in self.uncertain)

    @property
    def has_bound(self) -> bool:
        """Whether the probability that all uncertain constraints hold is only a lower bound: for
        several constraints, or for one that depends on several calls of laws.
        """
        return len(self.uncertain) > 1 or any(len(m.calls) > 1 for m in self.whole_margins)

    def inputs_at(self, unknowns: Mapping[str, float]) -> dict[sp.Symbol, Array | float]:
        """Symbol -> value at one choice, where each unknown has shape (1,).

        Args:
            unknowns: name -> value, of all unknowns.
        """
        chosen = {u.symbol: np.array([unknowns[u.name]]) for u in self.formulated.unknowns}
        return {**self.values, **chosen}

    def laws_at(self, inputs: Inputs, count: int) -> PointValues:
        """The laws at points, with the covariance of their errors at each.

        Args:
            inputs: the unknowns and all other symbols.
            count: how many points.
        """
        return self.laws.at_points(self.laws.arguments(inputs, count))

    def within_reach(self, inputs: Inputs, count: int, answer: Inputs | None) -> NDArray[np.bool_]:
        """Which choices are close enough to the fitted rows for the error of a law to be
        meaningful, shape (points,).

        Args:
            inputs: the unknowns and all other symbols, at the choices.
            count: how many choices.
            answer: the same at the answer, of shape (1,); None without an answer.
        """
        rows = self.reach(inputs, count, answer)
        return np.all(rows >= -ROUNDED_DECADES, axis=0)

    def reach(self, inputs: Inputs, count: int, answer: Inputs | None) -> Array:
        """The remaining distance in decades that choices may have from the fitted rows: no positive
        variable of a law may be outside their range by more than MAX_REACH decades, or one decade
        more than the answer.

        Args:
            inputs, count, answer: as for `within_reach`.

        Returns:
            Shape (2·variables of the calls, points), for variables that are positive and not
            shares; negative where a choice is too far.
        """
        variables = self.laws.arguments(inputs, count)
        at_answer = variables if answer is None else self.laws.arguments(answer, 1)
        rows: list[Array] = []
        for call, columns, of_answer in zip(self.laws.calls, variables, at_answer, strict=True):
            assert call.source.fit is not None
            ranges = call.source.fit.data.ranges
            for number, quantity in enumerate(call.source.law.variables):
                low, high = ranges.get(quantity.name, (0.0, 0.0))
                if quantity.is_share or low <= 0:
                    continue
                beyond, value = 0.0, np.nan if answer is None else of_answer[number, 0]
                if value > 0:
                    beyond = max(np.log10(low / value), np.log10(value / high), 0.0)
                decades = max(MAX_REACH, beyond + 1)
                with np.errstate(all="ignore"):
                    logs = np.log10(columns[number])
                rows += [decades + logs - np.log10(low), decades + np.log10(high) - logs]
        return np.nan_to_num(
            np.reshape(rows, (-1, count)), nan=-np.inf, posinf=np.inf, neginf=-np.inf
        )

    def usual_size(self, unknown: sp.Symbol) -> float:
        """The magnitude of an unknown in the fitted rows, if it is a variable of a law; else 1.

        Args:
            unknown: the symbol of the unknown.
        """
        for call in self.laws.calls:
            for quantity, argument in zip(call.source.law.variables, call.arguments, strict=True):
                fit = call.source.fit
                factor = argument / unknown
                if fit is None or quantity.name not in fit.data.ranges or factor.free_symbols:
                    continue
                low, high = fit.data.ranges[quantity.name]
                if low > 0:
                    return math.sqrt(low * high) / abs(float(factor))
        return 1.0

    def outcome(self, inputs: Inputs, true: Array) -> Outcome:
        """The outcomes of choices.

        Args:
            inputs: the unknowns and all other symbols, at the points.
            true: the values of the laws, shape (calls, …, points).

        Returns:
            Arrays of shape (…, points).
        """
        slopes, symbols = self._outputs
        shape = true.shape[1:]
        rows = [row.ravel() for row in true]
        rows += [np.broadcast_to(inputs[s], shape).ravel() for s in symbols]
        columns = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
        if not rows:
            columns = np.zeros((0, int(np.prod(shape))))
        with np.errstate(all="ignore"):
            outputs = slopes.values(columns).reshape(-1, *shape)
        count = len(self.uncertain)
        margins = np.where(np.isnan(outputs[1 : count + 1]), -np.inf, outputs[1 : count + 1])
        allowed = self._domains(inputs, shape)
        certain = len(self.certain)
        of_certain: Array = outputs[count + 1 :][:certain]
        sizes: Array = outputs[count + 1 + certain :]
        with np.errstate(all="ignore"):
            for constraint, margin, size in zip(self.certain, of_certain, sizes, strict=True):
                if constraint.equality:
                    allowed &= np.abs(margin) <= EQUATION_RTOL * size
                elif constraint.strict:
                    allowed &= margin > 0
                else:
                    allowed &= margin >= -FEASIBILITY_RTOL * size
            others = of_certain / np.where(sizes > 0, sizes, 1.0)
        return Outcome(outputs[0], margins, allowed, others)

    def _domains(self, inputs: Inputs, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Whether all unknowns are in their domains, of the given shape."""
        allowed = np.ones(shape, dtype=np.bool_)
        for symbol, relation, end in self.limits:
            with np.errstate(invalid="ignore"):
                allowed &= RELATIONS[relation](np.asarray(inputs[symbol]), end)
        return allowed

    @cached_property
    def limits(self) -> tuple[tuple[sp.Symbol, str, float], ...]:
        """The domains of the unknowns: symbol, relation, number."""
        return tuple(
            (unknown.symbol, relation, evaluated(limit, self.values))
            for unknown in self.formulated.unknowns
            for relation, limit in unknown.bounds
        )


def _absolute_terms(margin: sp.Expr) -> sp.Expr:
    """The sum of the absolute terms of a margin; products are expanded first."""
    terms = sp.Add.make_args(margin if margin.is_Add else sp.expand(margin))
    return sp.Add(*(sp.Abs(term) for term in terms))
