"""A question with one unknown, along it: goal, slope and constraints, by the unknown and the fits."""

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
from lawdsl.solving.univariate.interval_functions import Formula

Array = NDArray[np.float64]


class Along:
    """Goal, slope, margins and further formulas as functions of the unknown and of all symbols.

    Args:
        goal: what is made smallest.
        margins: of the constraints.
        more: further formulas: unknowns that follow.
        unknown: the unknown.
        parameters: the fitted parameters.
    """

    def __init__(
        self,
        goal: Formula,
        margins: Sequence[Formula],
        more: Sequence[sp.Expr],
        unknown: sp.Symbol,
        parameters: Sequence[sp.Symbol],
    ) -> None:
        self.outputs = [goal.expression, goal.slope.expression]
        self.outputs += [margin.expression for margin in margins]
        self.count = len(self.outputs)
        self.outputs += list(more)
        free = set().union(*(e.free_symbols for e in self.outputs))
        self.parameters = tuple(parameters)
        self.others = tuple(sorted(free - {unknown, *parameters}, key=str))
        self.inputs = (unknown, *self.parameters, *self.others)
        self.slopes = Slopes(compile_tape(self.outputs, self.inputs))

    def of(self, formulas: Sequence[sp.Expr]) -> Along:
        """Further formulas in the same symbols."""
        found = copy(self)
        found.outputs, found.count = list(formulas), len(formulas)
        found.slopes = Slopes(compile_tape(found.outputs, found.inputs))
        return found

    def at(self, x: Array, values: Mapping[sp.Symbol, float]) -> Points:
        """All of them at values of the unknown, shape (points,)."""
        known = np.array([values[s] for s in self.inputs[1:]], dtype=np.float64)
        inputs = np.concatenate([x[None], np.repeat(known[:, None], len(x), axis=1)])
        found, gradients = self.slopes.values_and_gradients(inputs)
        count = len(self.parameters)
        return Points(
            x, found, gradients[:, 0], gradients[:, 1 : 1 + count], gradients[:, 1 + count :]
        )

    def exactly_at(self, x: Array, values: Mapping[sp.Symbol, float]) -> Points:
        """The points of `at` with values from Arb, free of cancellation errors, where Arb has them.

        For the few points that are shown: an Arb value costs a hundred float64 values.
        """
        points = self.at(x, values)
        known = [values[s] for s in self.inputs[1:]]
        exact = [certain_floats(self.slopes.tape, [float(place), *known]) for place in x]
        better = np.array(exact).T
        return replace(points, values=np.where(np.isnan(better), points.values, better))


@dataclass(frozen=True)
class Points:
    """Formulas at values of the unknown.

    Attributes:
        x: shape (points,).
        values: goal, slope, margins, further ones; shape (formulas, points).
        by_unknown: their derivatives by the unknown, shape (formulas, points).
        by_parameters: by the fitted parameters, shape (formulas, parameters, points).
        by_others: by givens and settings, shape (formulas, others, points).
    """

    x: Array
    values: Array
    by_unknown: Array
    by_parameters: Array
    by_others: Array
