"""A question with one unknown -> goal and margins of its constraints at choices, for any true laws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import Slopes
from lawdsl.compiling.autodiff import values as computed
from lawdsl.compiling.tape import compile_tape
from lawdsl.proof.decide import RELATIONS
from lawdsl.solving.formulate.elimination import ReducedProblem
from lawdsl.solving.formulate.problem import AlgebraicConstraint, FormulatedQuestion, Unknown
from lawdsl.solving.inputs import evaluated
from lawdsl.solving.law_error.law_values import LawValues, NoLawError, PointValues

Array = NDArray[np.float64]

# a constraint without a fitted law is kept within rounding, relative to the sum of its terms
FEASIBILITY_RTOL = 1e-12
WIDE_DECADES = 12.0  # of an unknown without an end, on both sides of its center
MAX_REACH = 3.0  # decades beyond the fitted rows
SPACING = 0.01  # decades between two choices


@dataclass(frozen=True)
class Outcome:
    """The outcomes of choices: goal and constraints.

    Attributes:
        goal: what is minimised, of any shape; nan where it has no value.
        margins: of the constraints that involve fitted laws, shape (constraints, …).
        allowed: whether all other constraints and domains are kept, of the shape of the goal.
    """

    goal: Array
    margins: Array
    allowed: NDArray[np.bool_]

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Whether all constraints are kept."""
        with np.errstate(invalid="ignore"):
            kept = np.all(self.margins >= 0, axis=0) & self.allowed & np.isfinite(self.goal)
        return np.asarray(kept)


@dataclass(frozen=True)
class Choices:
    """A question with one unknown, at given values.

    Attributes:
        formulated: the question, with symbols for its laws at values.
        problem: the question after elimination, which says what follows from the unknown.
        values: symbol -> value, of all symbols but the unknowns.
        laws: the laws at values.
    """

    formulated: FormulatedQuestion
    problem: ReducedProblem
    values: Mapping[sp.Symbol, float]
    laws: LawValues

    def __post_init__(self) -> None:
        fitted = {s for source in self.formulated.sources for s in source.symbols.values()}
        if any(formula.free_symbols & fitted for formula in self.problem.follow.values()):
            raise NoLawError("an equation with a fitted law gives one of the unknowns")
        if any(c.equality for c in self.uncertain):
            raise NoLawError("a fitted law is in an equation, which holds with probability 0")

    @property
    def unknown(self) -> Unknown:
        """The unknown that remains after elimination."""
        assert self.problem.single is not None
        return self.problem.single

    @cached_property
    def uncertain(self) -> tuple[AlgebraicConstraint, ...]:
        """The constraints that involve a fitted law."""
        symbols = {call.symbol for call in self.laws.calls}
        return tuple(c for c in self.formulated.conditions if c.margin.free_symbols & symbols)

    @cached_property
    def _certain(self) -> tuple[AlgebraicConstraint, ...]:
        """The other constraints that have an unknown; equations are those that were eliminated."""
        free = {u.symbol for u in self.formulated.unknowns}
        uncertain = set(map(id, self.uncertain))
        return tuple(
            c
            for c in self.formulated.conditions
            if id(c) not in uncertain and not c.equality and c.margin.free_symbols & free
        )

    @cached_property
    def _outputs(self) -> tuple[Slopes, tuple[sp.Symbol, ...]]:
        """Goal, uncertain margins, certain ones and the sizes of their terms, as functions of the
        laws' values, the unknowns and all other values."""
        outputs = [self.formulated.goal]
        outputs += [c.margin for c in (*self.uncertain, *self._certain)]
        outputs += [
            sp.Add(*(sp.Abs(term) for term in sp.Add.make_args(c.margin))) for c in self._certain
        ]
        calls = [call.symbol for call in self.laws.calls]
        others = sorted(set().union(*(e.free_symbols for e in outputs)) - set(calls), key=str)
        return Slopes(compile_tape(outputs, [*calls, *others])), tuple(others)

    def inputs(self, points: Array) -> dict[sp.Symbol, Array | float]:
        """Symbol -> values, for values of the unknown of shape (points,)."""
        result: dict[sp.Symbol, Array | float] = {**self.values, self.unknown.symbol: points}
        for symbol, formula in self.problem.follow.items():
            used = sorted(formula.free_symbols, key=str)
            columns = [np.broadcast_to(result[s], points.shape) for s in used]
            tape = compile_tape([formula], used)
            inputs = np.array(columns, dtype=np.float64).reshape(len(used), len(points))
            result[symbol] = computed(tape, inputs)[0]
        return result

    def all_unknowns(self, point: float) -> dict[str, float]:
        """Name -> value of each unknown of the question."""
        inputs = self.inputs(np.array([point]))
        return {
            u.name: float(np.ravel(np.asarray(inputs[u.symbol]))[0])
            for u in self.formulated.unknowns
        }

    def law_points(self, points: Array) -> list[Array]:
        """The variables of the law of each call at values of the unknown, shape (points,)."""
        return self.laws.arguments(self.inputs(points), len(points))

    def outcome(self, points: Array, true: Array) -> Outcome:
        """The outcomes of choices.

        Args:
            points: values of the unknown, shape (points,).
            true: the values of the laws, shape (calls, …, points).

        Returns:
            Arrays of shape (…, points).
        """
        slopes, others = self._outputs
        inputs = self.inputs(points)
        shape = true.shape[1:]
        rows = [row.ravel() for row in true]
        rows += [np.broadcast_to(inputs[s], shape).ravel() for s in others]
        columns = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
        if not rows:
            columns = np.zeros((0, int(np.prod(shape))))
        with np.errstate(all="ignore"):
            outputs = slopes.values(columns).reshape(-1, *shape)
        count = len(self.uncertain)
        margins = np.where(np.isnan(outputs[1 : count + 1]), -np.inf, outputs[1 : count + 1])
        allowed = self._domains(inputs, shape)
        certain = len(self._certain)
        of_certain, sizes = outputs[count + 1 :][:certain], outputs[count + 1 + certain :]
        for constraint, margin, size in zip(self._certain, of_certain, sizes, strict=True):
            with np.errstate(invalid="ignore"):
                least = 0.0 if constraint.strict else -FEASIBILITY_RTOL * size
                allowed &= margin > 0 if constraint.strict else margin >= least
        return Outcome(outputs[0], margins, allowed)

    def slopes_of_margins(self, points: Array, at: PointValues, true: Array) -> Array:
        """The derivatives of the uncertain margins by the errors of the laws.

        Args:
            points: values of the unknown, shape (points,).
            at: the laws there.
            true: their values, shape (calls, points).

        Returns:
            Shape (constraints, calls, points).
        """
        slopes, others = self._outputs
        inputs = self.inputs(points)
        rows = [*true, *(np.broadcast_to(inputs[s], len(points)) for s in others)]
        with np.errstate(all="ignore"):
            columns = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
            _, gradients = slopes.values_and_gradients(columns)
        count = len(self.laws.calls)
        by_value = gradients[1 : len(self.uncertain) + 1, :count]
        unit = np.empty_like(true)
        for fit in self.laws.fits:
            for i in fit.calls:
                unit[i] = true[i] if fit.of_logs else 1.0
        return np.asarray(by_value * unit)

    def _domains(
        self, inputs: Mapping[sp.Symbol, Array | float], shape: tuple[int, ...]
    ) -> NDArray[np.bool_]:
        """Whether all unknowns are in their domains, of the given shape."""
        allowed = np.ones(shape, dtype=np.bool_)
        for symbol, relation, end in self._limits:
            with np.errstate(invalid="ignore"):
                allowed &= RELATIONS[relation](np.asarray(inputs[symbol]), end)
        return allowed

    @cached_property
    def _limits(self) -> tuple[tuple[sp.Symbol, str, float], ...]:
        """The domains of the unknowns: symbol, relation, number."""
        return tuple(
            (unknown.symbol, relation, evaluated(limit, self.values))
            for unknown in self.formulated.unknowns
            for relation, limit in unknown.bounds
        )

    def range(self) -> tuple[float, float]:
        """The ends of the domain of the unknown, which may be infinite."""
        low, high = -math.inf, math.inf
        for symbol, relation, end in self._limits:
            if symbol != self.unknown.symbol:
                continue
            low, high = (max(low, end), high) if relation[0] == ">" else (low, min(high, end))
        return low, high

    def grid(self, center: float | None) -> Array:
        """Choices that cover the domain of the unknown: linear where it has two ends, else with
        decades on both sides of a center; shape (points,), rising.

        Args:
            center: the point answer; None where there is none.
        """
        low, high = self.range()
        exponents = np.arange(-WIDE_DECADES, WIDE_DECADES + SPACING / 2, SPACING)
        if math.isfinite(low) and math.isfinite(high):
            points = np.linspace(low, high, 1001)
            # an answer may be near an end, as small shares are
            near = (high - low) * 10.0 ** np.arange(-8, -1, 0.05)
            points = np.concatenate([points, low + near, high - near])
        elif math.isfinite(low) or math.isfinite(high):
            end, sign = (low, 1.0) if math.isfinite(low) else (high, -1.0)
            distance = sign * (center - end) if center is not None else 0.0
            distance = distance if distance > 0 else self._size()
            points = np.append(end + sign * distance * 10.0**exponents, end)
        else:
            size = self._size() if not center else abs(center)
            steps = size * 10.0**exponents
            points = (center or 0.0) + np.concatenate([-steps, [0.0], steps])
        if center is not None:
            points = np.append(points, center)
        return np.unique(points[np.isfinite(points)])

    def within_reach(self, points: Array, center: float | None) -> NDArray[np.bool_]:
        """Which choices are not so far from the fitted rows that the error of a law means nothing:
        no positive variable of a law leaves their range by more than MAX_REACH decades, or one
        decade more than the answer does; shape (points,).

        Args:
            points: values of the unknown, shape (points,).
            center: the answer; None where there is none.
        """
        reached = np.ones(len(points), dtype=np.bool_)
        at_answer = np.array([np.nan if center is None else center])
        each = zip(
            self.laws.calls, self.law_points(points), self.law_points(at_answer), strict=True
        )
        for call, columns, at_center in each:
            assert call.source.fit is not None
            ranges = call.source.fit.data.ranges
            for quantity, values, answer in zip(
                call.source.law.variables, columns, at_center[:, 0], strict=True
            ):
                low, high = ranges.get(quantity.name, (0.0, 0.0))
                if quantity.is_share or low <= 0:
                    continue
                beyond = 0.0
                if answer > 0:
                    beyond = max(np.log10(low / answer), np.log10(answer / high), 0.0)
                factor = 10.0 ** max(MAX_REACH, beyond + 1)
                reached &= (values >= low / factor) & (values <= high * factor)
        return reached

    def _size(self) -> float:
        """The size of the unknown in the fitted rows, where it is a variable of a law; else 1."""
        for call in self.laws.calls:
            for quantity, argument in zip(call.source.law.variables, call.arguments, strict=True):
                fit = call.source.fit
                factor = argument / self.unknown.symbol
                if fit is None or quantity.name not in fit.data.ranges or factor.free_symbols:
                    continue
                low, high = fit.data.ranges[quantity.name]
                if low > 0:
                    return math.sqrt(low * high) / abs(float(factor))
        return 1.0
