"""Formulas with abs, min and max in one unknown -> their kinks and first-order changes.

Each part with a kink is replaced by a symbol of its own, so that the remaining formula is smooth. A
change of the fitted parameters changes a smooth formula linearly, and such a part exactly: a
maximum becomes that of its changed arguments. This is the abs-linear form of Griewank (2013),
Optimization Methods and Software 28, which follows a kink that moves; a derivative on one side of
it does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import Slopes
from lawdsl.compiling.tape import compile_tape
from lawdsl.law.functions import KINKED
from lawdsl.solving.univariate.line_functions import LineFunctions

Array = NDArray[np.float64]

COINCIDENCE_RTOL = 1e-9  # relative: points that differ by no more coincide


@dataclass(frozen=True)
class _KinkedPart:
    """A part of a formula with a kink, such as abs or max.

    Attributes:
        symbol: the symbol that stands for it.
        func: abs, min, max, sign or step.
        arguments: in symbols of the parts inside.
        expression: it, in the symbols of the question.
        original_arguments: its arguments, in the symbols of the question.
        owners: the numbers of the formulas that it is a part of.
    """

    symbol: sp.Symbol
    func: type[sp.Expr]
    arguments: tuple[sp.Expr, ...]
    expression: sp.Expr
    original_arguments: tuple[sp.Expr, ...]
    owners: frozenset[int]


@dataclass(frozen=True)
class Kink:
    """A kink at a point: an equation that holds there.

    Attributes:
        owners: the numbers of the formulas that have the kink.
        by_unknown: the derivative of the equation with respect to the unknown.
        by_parameters: those with respect to the fitted parameters, shape (parameters,).
        by_others: those with respect to givens and settings, shape (others,).
    """

    owners: frozenset[int]
    by_unknown: float
    by_parameters: Array
    by_others: Array


@dataclass(frozen=True)
class PerturbedFormulas:
    """Formulas after perturbations of the parameters.

    Attributes:
        formulas: shape (formulas, changes, points).
        arguments: of each abs, min and max of the goal, all written as maxima, shape (arity,
            changes, points).
    """

    formulas: Array
    arguments: tuple[Array, ...]


class Kinks:
    """The parts with kinks of formulas.

    Args:
        along: the formulas.
    """

    def __init__(self, functions: LineFunctions) -> None:
        self.functions = functions
        self.parts, opened = _extract_kinked_parts(functions.outputs)
        self._equations = [
            (part, pair)
            for part in self.parts
            for pair in combinations(_competing_arguments(part.original_arguments), 2)
        ]
        self._of_equations = functions.with_outputs([a - b for _, (a, b) in self._equations])
        self._of_parts = functions.with_outputs([part.expression for part in self.parts])
        self._steps = [
            (k, factor)
            for k, part in enumerate(self.parts)
            if part.func in (sp.sign, sp.Heaviside) and (factor := opened[1].diff(part.symbol)) != 0
        ]
        self._opened = [*opened, *(a for part in self.parts for a in part.arguments)]
        self._opened += [factor for _, factor in self._steps]
        symbols = [part.symbol for part in self.parts]
        self._slopes = Slopes(compile_tape(self._opened, [*functions.inputs, *symbols]))

    def near(self, x: float, values: Mapping[sp.Symbol, float], tolerance: float) -> list[Kink]:
        """Return the kinks at a point, to first order.

        Args:
            x: the point.
            values: symbol -> value, of all other symbols.
            tolerance: the largest distance of a kink from the point.

        Returns:
            The kinks, with the derivatives of their equations.
        """
        unknown_values = np.array([x])
        line_values = self._of_equations.evaluate(unknown_values, values)
        kinks = []
        for k, (part, pair) in enumerate(self._equations):
            difference, slope = line_values.values[k, 0], line_values.by_unknown[k, 0]
            if not is_root(difference, slope, tolerance) or not self._is_extremal(
                part, pair, x, values
            ):
                continue
            partials = line_values.by_parameters[k, :, 0], line_values.by_others[k, :, 0]
            kinks.append(Kink(part.owners, float(slope), *partials))
        return kinks

    def _is_extremal(
        self,
        part: _KinkedPart,
        pair: tuple[sp.Expr, sp.Expr],
        x: float,
        values: Mapping[sp.Symbol, float],
    ) -> bool:
        """Whether two arguments of a minimum or maximum are the extremal ones among all."""
        if part.func not in (sp.Min, sp.Max) or len(part.original_arguments) < 3:
            return True
        first, extremum = (
            self.functions.with_outputs([pair[0], part.expression])
            .evaluate(np.array([x]), values)
            .values[:, 0]
        )
        return bool(abs(first - extremum) <= COINCIDENCE_RTOL * max(abs(first), abs(extremum)))

    def changed(
        self, x: Array, values: Mapping[sp.Symbol, float], changes: Array
    ) -> PerturbedFormulas:
        """Evaluate the formulas after changes of the parameters, in abs-linear form.

        Args:
            x: values of the unknown, shape (points,).
            values: symbol -> value, of all other symbols.
            changes: the changes of the parameters, shape (changes, parameters).

        Returns:
            The changed formulas, and the arguments of the kinks of the goal.
        """
        fixed_values = np.array([values[s] for s in self.functions.inputs[1:]], dtype=np.float64)
        base = self._of_parts.evaluate(x, values).values
        fixed = np.repeat(fixed_values[:, None], len(x), axis=1)
        evaluated, gradients = self._slopes.values_and_gradients(
            np.concatenate([x[None], fixed, base])
        )
        count, first = changes.shape[1], len(self.functions.inputs)
        part_changes: list[Array] = []  # of each part, shape (changes, points)

        def after(row: int) -> Array:
            changed: Array = evaluated[row] + changes @ gradients[row, 1 : 1 + count]
            for slope, part_change in zip(gradients[row, first:], part_changes, strict=False):
                # 0 times an infinite change would be nan
                if np.any(slope != 0):
                    changed = changed + slope * part_change
            return changed

        row, of_goal = len(self.functions.outputs), []
        for part, part_values in zip(self.parts, base, strict=True):
            arguments = [after(row + k) for k in range(len(part.arguments))]
            row += len(arguments)
            part_changes.append(_kinked_value(part.func, arguments) - part_values)
            if 0 in part.owners and part.func in (sp.Abs, sp.Min, sp.Max):
                both = [arguments[0], -arguments[0]] if part.func is sp.Abs else arguments
                of_goal.append(np.stack(both) * (-1 if part.func is sp.Min else 1))
        formulas = np.stack([after(i) for i in range(len(self.functions.outputs))])
        for i, (k, _) in enumerate(self._steps, start=row):  # a step does not change by a little
            formulas[1] += part_changes[k] * (changes @ gradients[i, 1 : 1 + count])
        return PerturbedFormulas(formulas, tuple(of_goal))


def is_root(value: float, slope: float, tolerance: float) -> bool:
    """Decide to first order whether a function has a root within a distance: |f| <= tolerance |f'|.

    Args:
        value: the value of the function.
        slope: its derivative.
        tolerance: the distance.

    Returns:
        Whether the function is 0, or its tangent has a root that near.
    """
    if value == 0:
        return True
    return bool(np.isfinite(value) and np.isfinite(slope) and abs(value) <= tolerance * abs(slope))


def _extract_kinked_parts(formulas: Sequence[sp.Expr]) -> tuple[list[_KinkedPart], list[sp.Expr]]:
    """The kinked parts of formulas, inner ones first; and the formulas in their symbols."""
    parts: list[_KinkedPart] = []
    substitutions: dict[sp.Symbol, sp.Expr] = {}
    remaining = list(formulas)
    while True:
        kinked = {p for f in remaining for p in f.atoms(*KINKED)}
        inner = [p for p in kinked if not any(a.has(*KINKED) for a in p.args)]
        if not inner:
            return parts, remaining
        # sorted, since the order of a set differs between processes
        symbols = {p: sp.Dummy(real=True) for p in sorted(inner, key=sp.default_sort_key)}
        for p, symbol in symbols.items():
            arguments = p.args if isinstance(p, (sp.Min, sp.Max)) else p.args[:1]
            original_arguments = tuple(a.xreplace(substitutions) for a in arguments)
            owners = frozenset(i for i, f in enumerate(remaining) if f.has(p))
            parts.append(
                _KinkedPart(
                    symbol, p.func, arguments, p.xreplace(substitutions), original_arguments, owners
                )
            )
        substitutions |= {part.symbol: part.expression for part in parts}
        remaining = [f.xreplace(symbols) for f in remaining]


def _competing_arguments(arguments: Collection[sp.Expr]) -> Iterator[sp.Expr]:
    """The terms whose order changes at a kink: arguments of a maximum, or that of abs and 0."""
    yield from arguments
    if len(arguments) == 1:
        yield sp.S.Zero


def _kinked_value(func: type[sp.Expr], arguments: Sequence[Array]) -> Array:
    """A kinked part of its arguments."""
    first = arguments[0]
    if func in (sp.Min, sp.Max):
        extremum: Array = (np.minimum if func is sp.Min else np.maximum).reduce(arguments)
        return extremum
    if func is sp.Abs:
        return np.abs(first)
    return np.sign(first) if func is sp.sign else np.heaviside(first, 0.5)
