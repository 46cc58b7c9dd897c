"""Question + draws of fitted parameters -> its one unknown in every draw, by a search on a grid.

All draws are searched together: the goal and the constraints are evaluated on a grid of the unknown,
and the grid is refined about the best point that meets the constraints. The answer for the fitted
parameters themselves is that of `lawdsl.solving`, with its certificate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import Slopes
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.solving.formulate.problem import FormulatedQuestion

Array = NDArray[np.float64]

GRID = 321  # points of the first grid
FINE = 13  # points of each refined one
REFINED = 11  # refinements: (2/12)^11 of a cell
BEYOND = 1e3  # factor beyond the fitted rows up to which an unknown without bounds is searched
OUTWARD = 1e-4  # relative: step beyond an answer, which violates the constraint that binds
CHUNK = 100_000  # points that are evaluated at once


@dataclass(frozen=True)
class DrawnAnswers:
    """The unknown of a question in every draw.

    Attributes:
        values: shape (draws,): infinite where the goal improves beyond every bound, 0 where it does
            towards an open end at 0, nan where no choice meets the constraints.
        binding: constraint -> the share of the draws with an answer in which it binds.
    """

    values: Array
    binding: Mapping[str, float]


def draw_answers(
    formulated: FormulatedQuestion,
    given: Mapping[sp.Symbol, float],
    parameters: Mapping[sp.Symbol, Array],
    ranges: Sequence[tuple[float, float]],
) -> DrawnAnswers | None:
    """Answer a question for every draw of the fitted parameters.

    Args:
        formulated: the question.
        given: symbol -> value of givens and settings.
        parameters: symbol of a parameter -> its draws, shape (draws,).
        ranges: the ranges of the fitted rows in variables of the name of the unknown.

    Returns:
        The answers; None for questions with several unknowns, equations or whole numbers.
    """
    search = _search_of(formulated, given, parameters, ranges)
    if search is None:
        return None
    draws = len(next(iter(parameters.values())))
    known = np.flatnonzero(np.all([np.isfinite(x) for x in parameters.values()], axis=0))
    values = np.full(draws, np.nan)
    counts = np.zeros(len(search.names))
    size = max(1, CHUNK // GRID)
    for chunk in np.split(known, range(size, len(known), size)):
        if len(chunk):
            values[chunk] = search.best(chunk)
            counts += search.bound(chunk, values[chunk])
    answered = max(1, int(np.sum(~np.isnan(values))))
    return DrawnAnswers(values, dict(zip(search.names, (counts / answered).tolist(), strict=True)))


def _search_of(
    formulated: FormulatedQuestion,
    given: Mapping[sp.Symbol, float],
    parameters: Mapping[sp.Symbol, Array],
    ranges: Sequence[tuple[float, float]],
) -> _GridSearch | None:
    """The search for the unknown of a question; None where it does not apply."""
    if len(formulated.unknowns) != 1 or formulated.unknowns[0].discrete or formulated.law_calls:
        return None
    if any(condition.equality for condition in formulated.conditions):
        return None
    formulated = _without_zeros(formulated, given)
    (unknown,) = formulated.unknowns
    lines = [c for c in formulated.conditions if not c.always_holds]
    expressions = [formulated.goal, *(c.margin for c in lines)]
    symbols = sorted(
        set().union(*(e.free_symbols for e in expressions)) - {unknown.symbol}, key=str
    )
    tape = Slopes(compile_tape(expressions, [unknown.symbol, *symbols]))
    low, high = -math.inf, math.inf
    for relation, limit in unknown.bounds:
        end = float(limit.xreplace({s: sp.Float(x) for s, x in given.items()}))
        low, high = (max(low, end), high) if relation in (">", ">=") else (low, min(high, end))
    grid = _grid(low, high, ranges)
    inputs = [parameters.get(s, given.get(s)) for s in symbols]
    if grid is None or any(x is None for x in inputs):
        return None
    names = [c.name if not c.law else "" for c in lines]
    return _GridSearch(tape, [np.asarray(x) for x in inputs], names, grid, low, high)


def needed_symbols(
    formulated: FormulatedQuestion, given: Mapping[sp.Symbol, float]
) -> set[sp.Symbol]:
    """The symbols on which goal and constraints depend, once settings of value 0 are removed."""
    reduced = _without_zeros(formulated, given)
    symbols: set[sp.Symbol] = set(reduced.goal.free_symbols)
    for condition in reduced.conditions:
        symbols |= condition.margin.free_symbols
    return symbols


def _without_zeros(
    formulated: FormulatedQuestion, given: Mapping[sp.Symbol, float]
) -> FormulatedQuestion:
    nothing = [s for s in formulated.settings.values() if given.get(s) == 0]
    try:
        return formulated.without(nothing) if nothing else formulated
    except LawdslError:  # it is divided by them
        return formulated


def _grid(low: float, high: float, ranges: Sequence[tuple[float, float]]) -> Array | None:
    """The points at which an unknown is first tried; None where its scale is not known."""
    if math.isfinite(low) and math.isfinite(high):
        return np.linspace(low, high, GRID)
    if not ranges:
        return None
    least, most = min(r[0] for r in ranges), max(r[1] for r in ranges)
    if low >= 0 and least > 0:
        first, last = max(least / BEYOND, low), min(most * BEYOND, high)
        return np.geomspace(first, last, GRID) if first < last else None
    width = BEYOND * max(most - least, abs(most), abs(least))
    return np.linspace(max(low, least - width), min(high, most + width), GRID)


@dataclass(frozen=True)
class _GridSearch:
    """Goal and margins as functions of the unknown and the parameters, and where it is tried."""

    tape: Slopes
    inputs: list[Array]
    names: list[str]
    grid: Array
    low: float
    high: float

    def _values(self, x: Array, draws: NDArray[np.int64]) -> tuple[Array, Array]:
        """The goal, inf where a constraint is violated, and the margins, at points x of shape
        (draws, points): shapes (draws, points) and (constraints, draws, points).
        """
        flat = np.empty((1 + len(self.inputs), x.size))
        flat[0] = x.reshape(-1)
        for row, numbers in zip(flat[1:], self.inputs, strict=True):
            row[:] = np.repeat(numbers[draws], x.shape[1]) if numbers.ndim else numbers
        outputs = self.tape.values(flat).reshape(-1, *x.shape)
        goal, margins = outputs[0], outputs[1:]
        good = np.all(margins >= 0, axis=0) & ~np.isnan(goal)
        return np.where(good, goal, np.inf), margins

    def best(self, draws: NDArray[np.int64]) -> Array:
        """The best value of the unknown in each of the draws, shape (draws,)."""
        every = np.arange(len(draws))
        x = np.repeat(self.grid[None], len(draws), axis=0)
        goal, _ = self._values(x, draws)
        at = np.argmin(goal, axis=1)
        none = ~(goal[every, at] < np.inf)
        beyond = (at == len(self.grid) - 1) & (self.grid[-1] < self.high)
        before = (at == 0) & (self.grid[0] > self.low)
        for _ in range(REFINED):
            left = x[every, np.maximum(at - 1, 0)]
            right = x[every, np.minimum(at + 1, x.shape[1] - 1)]
            x = left[:, None] + (right - left)[:, None] * np.linspace(0, 1, FINE)
            goal, _ = self._values(x, draws)
            at = np.argmin(goal, axis=1)
        found = x[every, at]
        found[beyond] = np.inf
        found[before] = max(self.low, -np.inf) if np.isfinite(self.low) else -np.inf
        found[none] = np.nan
        return found

    def bound(self, draws: NDArray[np.int64], found: Array) -> Array:
        """How many of the draws each constraint binds in, shape (constraints,): a step beyond the
        answer, to either side, violates it.
        """
        inside = np.isfinite(found)
        if not inside.any() or not self.names:
            return np.zeros(len(self.names))
        x, chosen = found[inside], draws[inside]
        step = OUTWARD * np.maximum(np.abs(x), OUTWARD)
        sides = np.stack([x - step, x, x + step], axis=1)
        sides = np.clip(sides, self.low, self.high)
        violated = self._values(sides, chosen)[1] < 0
        return np.asarray(np.sum(violated[:, :, 0] | violated[:, :, 2], axis=1), dtype=np.float64)
