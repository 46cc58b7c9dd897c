"""A question with one unknown -> a grid of its choices, and their outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import values as computed
from lawdsl.compiling.tape import compile_tape
from lawdsl.solving.formulate.elimination import ReducedProblem
from lawdsl.solving.formulate.problem import FormulatedQuestion, Unknown
from lawdsl.solving.law_error.law_values import LawValues, NoLawError
from lawdsl.solving.law_error.outcomes import Outcome, Outcomes

Array = NDArray[np.float64]

WIDE_DECADES = 12.0  # decades on both sides of the center, for an unbounded unknown
SPACING = 0.01  # decades between two choices


@dataclass(frozen=True)
class Choices:
    """A question with one unknown, for given values of its symbols.

    Attributes:
        outcomes: the question in all its unknowns.
        problem: the question after elimination, with the formulas of the eliminated unknowns.
    """

    outcomes: Outcomes
    problem: ReducedProblem

    def __post_init__(self) -> None:
        fitted = {s for source in self.formulated.sources for s in source.symbols.values()}
        if any(formula.free_symbols & fitted for formula in self.problem.follow.values()):
            raise NoLawError("an equation with a fitted law gives one of the unknowns")
        if self.outcomes.has_uncertain_equation:
            raise NoLawError("a fitted law is in an equation, which holds with probability 0")

    @property
    def formulated(self) -> FormulatedQuestion:
        """The question, with symbols for its calls of laws."""
        return self.outcomes.formulated

    @property
    def laws(self) -> LawValues:
        """The calls of laws."""
        return self.outcomes.laws

    @property
    def unknown(self) -> Unknown:
        """The unknown that remains after elimination."""
        assert self.problem.only_unknown is not None
        return self.problem.only_unknown

    def inputs(self, points: Array) -> dict[sp.Symbol, Array | float]:
        """Symbol -> values, for values of the unknown of shape (points,)."""
        result: dict[sp.Symbol, Array | float] = {
            **self.outcomes.values,
            self.unknown.symbol: points,
        }
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
        """The variables of the law of each call for values of the unknown, shape (points,)."""
        return self.laws.arguments(self.inputs(points), len(points))

    def outcome(self, points: Array, true: Array) -> Outcome:
        """The outcomes of choices; see `Outcomes.outcome`.

        Args:
            points: values of the unknown, shape (points,).
            true: the values of the laws, shape (calls, …, points).
        """
        return self.outcomes.outcome(self.inputs(points), true)

    def range(self) -> tuple[float, float]:
        """The ends of the domain of the unknown, which may be infinite."""
        low, high = -math.inf, math.inf
        for symbol, relation, end in self.outcomes.limits:
            if symbol != self.unknown.symbol:
                continue
            low, high = (max(low, end), high) if relation[0] == ">" else (low, min(high, end))
        return low, high

    def grid(self, center: float | None) -> Array:
        """Choices that cover the domain of the unknown: evenly spaced if it has two ends, else over
        decades on both sides of a center; shape (points,), ascending.

        Args:
            center: the point answer; None without one.
        """
        low, high = self.range()
        exponents = np.arange(-WIDE_DECADES, WIDE_DECADES + SPACING / 2, SPACING)
        if math.isfinite(low) and math.isfinite(high):
            points = np.linspace(low, high, 1001)
            # an answer may be close to an end, such as a small share
            near = (high - low) * 10.0 ** np.arange(-8, -1, 0.05)
            points = np.concatenate([points, low + near, high - near])
        elif math.isfinite(low) or math.isfinite(high):
            end, sign = (low, 1.0) if math.isfinite(low) else (high, -1.0)
            distance = sign * (center - end) if center is not None else 0.0
            distance = distance if distance > 0 else self.outcomes.usual_size(self.unknown.symbol)
            points = np.append(end + sign * distance * 10.0**exponents, end)
        else:
            size = self.outcomes.usual_size(self.unknown.symbol) if not center else abs(center)
            steps = size * 10.0**exponents
            points = (center or 0.0) + np.concatenate([-steps, [0.0], steps])
        if center is not None:
            points = np.append(points, center)
        return np.unique(points[np.isfinite(points)])

    def within_reach(self, points: Array, center: float | None) -> NDArray[np.bool_]:
        """Which choices are close enough to the fitted rows; see `Outcomes.within_reach`.

        Args:
            points: values of the unknown, shape (points,).
            center: the answer; None without one.
        """
        answer = None if center is None else self.inputs(np.array([center]))
        return self.outcomes.within_reach(self.inputs(points), len(points), answer)
