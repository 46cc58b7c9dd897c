"""abs, min and max in the formulas of a question with one unknown, and their first-order changes.

Each kinked part gets a symbol of its own, so that what is left is smooth. A change of the fitted
parameters changes a smooth formula linearly, and a kinked part exactly: a maximum is that of its
changed arguments. This is the abs-linear form of Griewank, Optimization Methods and Software 28
(2013), which follows a kink that moves; a derivative on one side of it does not.
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
from lawdsl.solving.univariate.line_functions import Along
from lawdsl.solving.univariate.piecewise import KINKED

Array = NDArray[np.float64]

NEAR = 1e-9  # relative: two places as near as this are one


@dataclass(frozen=True)
class _Part:
    """A kinked part.

    Attributes:
        symbol: that stands for it.
        func: abs, min, max, sign or step.
        arguments: in symbols of the parts inside.
        whole: it, in the symbols of the question.
        own: its arguments, in the symbols of the question.
        owners: the numbers of the formulas that it is a part of.
    """

    symbol: sp.Symbol
    func: type[sp.Expr]
    arguments: tuple[sp.Expr, ...]
    whole: sp.Expr
    own: tuple[sp.Expr, ...]
    owners: frozenset[int]


@dataclass(frozen=True)
class Turn:
    """A kink at a place: an equation that holds there.

    Attributes:
        owners: the numbers of the formulas that have the kink.
        by_unknown: the derivative of the equation by the unknown.
        by_parameters: those by the fitted parameters, shape (parameters,).
        by_others: those by givens and settings, shape (others,).
    """

    owners: frozenset[int]
    by_unknown: float
    by_parameters: Array
    by_others: Array


@dataclass(frozen=True)
class Changed:
    """Formulas after changes of the parameters.

    Attributes:
        formulas: shape (formulas, changes, points).
        arguments: of each abs, min and max of the goal, all written as maxima, shape (arity,
            changes, points).
    """

    formulas: Array
    arguments: tuple[Array, ...]


class Kinks:
    """The kinked parts of formulas.

    Args:
        along: the formulas.
    """

    def __init__(self, along: Along) -> None:
        self.along = along
        self.parts, opened = _opened(along.outputs)
        self._equations = [
            (part, pair) for part in self.parts for pair in combinations(_compared(part.own), 2)
        ]
        self._of_equations = along.of([a - b for _, (a, b) in self._equations])
        self._of_parts = along.of([part.whole for part in self.parts])
        self._steps = [
            (k, factor)
            for k, part in enumerate(self.parts)
            if part.func in (sp.sign, sp.Heaviside) and (factor := opened[1].diff(part.symbol)) != 0
        ]
        self._opened = [*opened, *(a for part in self.parts for a in part.arguments)]
        self._opened += [factor for _, factor in self._steps]
        symbols = [part.symbol for part in self.parts]
        self._slopes = Slopes(compile_tape(self._opened, [*along.inputs, *symbols]))

    def at(self, x: float, values: Mapping[sp.Symbol, float], room: float) -> list[Turn]:
        """The kinks at a place, or within `room` of it."""
        place = np.array([x])
        points = self._of_equations.at(place, values)
        found = []
        for k, (part, pair) in enumerate(self._equations):
            apart, slope = points.values[k, 0], points.by_unknown[k, 0]
            if not is_root(apart, slope, room) or not self._reached(part, pair, x, values):
                continue
            more = points.by_parameters[k, :, 0], points.by_others[k, :, 0]
            found.append(Turn(part.owners, float(slope), *more))
        return found

    def _reached(
        self,
        part: _Part,
        pair: tuple[sp.Expr, sp.Expr],
        x: float,
        values: Mapping[sp.Symbol, float],
    ) -> bool:
        """Whether no further argument of a minimum or maximum leaves these two behind."""
        if part.func not in (sp.Min, sp.Max) or len(part.own) < 3:
            return True
        first, whole = self.along.of([pair[0], part.whole]).at(np.array([x]), values).values[:, 0]
        return bool(abs(first - whole) <= NEAR * max(abs(first), abs(whole)))

    def changed(self, x: Array, values: Mapping[sp.Symbol, float], changes: Array) -> Changed:
        """The formulas after changes of the parameters.

        Args:
            x: values of the unknown, shape (points,).
            values: of all other symbols.
            changes: of the parameters, shape (changes, parameters).
        """
        known = np.array([values[s] for s in self.along.inputs[1:]], dtype=np.float64)
        base = self._of_parts.at(x, values).values
        fixed = np.repeat(known[:, None], len(x), axis=1)
        found, gradients = self._slopes.values_and_gradients(np.concatenate([x[None], fixed, base]))
        count, first = changes.shape[1], len(self.along.inputs)
        moves: list[Array] = []  # of each part, shape (changes, points)

        def after(row: int) -> Array:
            made: Array = found[row] + changes @ gradients[row, 1 : 1 + count]
            for slope, move in zip(gradients[row, first:], moves, strict=False):
                if np.any(slope != 0):
                    made = made + slope * move
            return made

        row, of_goal = len(self.along.outputs), []
        for part, own in zip(self.parts, base, strict=True):
            arguments = [after(row + k) for k in range(len(part.arguments))]
            row += len(arguments)
            moves.append(_value(part.func, arguments) - own)
            if 0 in part.owners and part.func in (sp.Abs, sp.Min, sp.Max):
                both = [arguments[0], -arguments[0]] if part.func is sp.Abs else arguments
                of_goal.append(np.stack(both) * (-1 if part.func is sp.Min else 1))
        formulas = np.stack([after(i) for i in range(len(self.along.outputs))])
        for i, (k, _) in enumerate(self._steps, start=row):  # a step does not change by a little
            formulas[1] += moves[k] * (changes @ gradients[i, 1 : 1 + count])
        return Changed(formulas, tuple(of_goal))


def is_root(value: float, slope: float, room: float) -> bool:
    """Whether a function is 0 at a place or, by its slope, within `room` of it."""
    if value == 0:
        return True
    return bool(np.isfinite(value) and np.isfinite(slope) and abs(value) <= room * abs(slope))


def _opened(formulas: Sequence[sp.Expr]) -> tuple[list[_Part], list[sp.Expr]]:
    """The kinked parts of formulas, inner ones first; and the formulas in their symbols."""
    parts: list[_Part] = []
    back: dict[sp.Symbol, sp.Expr] = {}
    left = list(formulas)
    while True:
        kinked = {p for f in left for p in f.atoms(*KINKED)}
        inner = [p for p in kinked if not any(a.has(*KINKED) for a in p.args)]
        if not inner:
            return parts, left
        symbols = {p: sp.Dummy(real=True) for p in sorted(inner, key=sp.default_sort_key)}
        for p, symbol in symbols.items():
            arguments = p.args if isinstance(p, (sp.Min, sp.Max)) else p.args[:1]
            own = tuple(a.xreplace(back) for a in arguments)
            owners = frozenset(i for i, f in enumerate(left) if f.has(p))
            parts.append(_Part(symbol, p.func, arguments, p.xreplace(back), own, owners))
        back |= {part.symbol: part.whole for part in parts}
        left = [f.xreplace(symbols) for f in left]


def _compared(arguments: Collection[sp.Expr]) -> Iterator[sp.Expr]:
    """What changes places at a kink: the arguments of a maximum, or that of abs and 0."""
    yield from arguments
    if len(arguments) == 1:
        yield sp.S.Zero


def _value(func: type[sp.Expr], arguments: Sequence[Array]) -> Array:
    """A kinked part of its arguments."""
    first = arguments[0]
    if func in (sp.Min, sp.Max):
        found: Array = (np.minimum if func is sp.Min else np.maximum).reduce(arguments)
        return found
    if func is sp.Abs:
        return np.abs(first)
    return np.sign(first) if func is sp.sign else np.heaviside(first, 0.5)
