"""Goal, slope and constraints as functions of one unknown -> values and derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import Slopes
from lawdsl.compiling.interval_evaluation import certain_floats
from lawdsl.compiling.tape import compile_tape
from lawdsl.solving.univariate.interval_functions import UnivariateExpression

Array = NDArray[np.float64]


class LineFunctions:
    """Goal, slope, margins and further formulas as functions of the unknown and of all symbols.

    Args:
        goal: what is minimized.
        margins: the margins of the constraints.
        more: further formulas: unknowns that follow.
        unknown: the unknown.
        parameters: the fitted parameters.
    """

    def __init__(
        self,
        goal: UnivariateExpression,
        margins: Sequence[UnivariateExpression],
        followers: Sequence[sp.Expr],
        unknown: sp.Symbol,
        parameters: Sequence[sp.Symbol],
    ) -> None:
        self.outputs = [goal.expression, goal.slope.expression]
        self.outputs += [margin.expression for margin in margins]
        self.count = len(self.outputs)
        self.outputs += list(followers)
        free = set().union(*(e.free_symbols for e in self.outputs))
        self.parameters = tuple(parameters)
        self.others = tuple(sorted(free - {unknown, *parameters}, key=str))
        self.inputs = (unknown, *self.parameters, *self.others)
        self.slopes = Slopes(compile_tape(self.outputs, self.inputs))

    def with_outputs(self, formulas: Sequence[sp.Expr]) -> LineFunctions:
        """These functions with other formulas in their symbols as outputs."""
        functions = copy(self)
        functions.outputs, functions.count = list(formulas), len(formulas)
        functions.slopes = Slopes(compile_tape(functions.outputs, functions.inputs))
        return functions

    def evaluate(self, x: Array, values: Mapping[sp.Symbol, float]) -> LineValues:
        """Evaluate all formulas and their derivatives in float64.

        Args:
            x: values of the unknown, shape (points,).
            values: symbol -> value, of all other symbols.

        Returns:
            Values and derivatives.
        """
        fixed_values = np.array([values[s] for s in self.inputs[1:]], dtype=np.float64)
        inputs = np.concatenate([x[None], np.repeat(fixed_values[:, None], len(x), axis=1)])
        evaluated, gradients = self.slopes.values_and_gradients(inputs)
        count = len(self.parameters)
        return LineValues(
            x, evaluated, gradients[:, 0], gradients[:, 1 : 1 + count], gradients[:, 1 + count :]
        )

    def evaluate_exactly(self, x: Array, values: Mapping[sp.Symbol, float]) -> LineValues:
        """Evaluate all formulas as `evaluate` does, by Arb, without cancellation errors.

        For the few points that are shown: an Arb value costs a hundred float64 values.

        Args:
            x: values of the unknown, shape (points,).
            values: symbol -> value, of all other symbols.

        Returns:
            Values and derivatives; a value is from float64 where Arb has none.
        """
        line_values = self.evaluate(x, values)
        fixed_values = [values[s] for s in self.inputs[1:]]
        evaluations = [
            certain_floats(self.slopes.tape, [float(point), *fixed_values]) for point in x
        ]
        exact_values = np.array(evaluations).T
        return replace(
            line_values, values=np.where(np.isnan(exact_values), line_values.values, exact_values)
        )


@dataclass(frozen=True)
class LineValues:
    """Formulas at values of the unknown.

    Attributes:
        x: shape (points,).
        values: goal, slope, margins, further ones; shape (formulas, points).
        by_unknown: their derivatives with respect to the unknown, shape (formulas, points).
        by_parameters: by the fitted parameters, shape (formulas, parameters, points).
        by_others: by givens and settings, shape (formulas, others, points).
    """

    x: Array
    values: Array
    by_unknown: Array
    by_parameters: Array
    by_others: Array
