"""Question + draws of fitted parameters -> its one unknown in every draw, by a search on a grid.

All draws are searched together: the goal and the constraints are evaluated on a grid of the unknown,
the ends of the feasible set are located by bisection where a constraint changes between two points,
and the grid is refined about the best feasible point. `lawdsl.solving` certifies the answer for the
fitted parameters themselves, in about 0.1 s, too long for every draw; the search must reproduce that
answer for its draws to be used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from lawdsl.compiling.autodiff import Slopes
from lawdsl.compiling.tape import compile_tape
from lawdsl.core.diagnostics import LawdslError
from lawdsl.solving.formulate.problem import FormulatedQuestion

Array = NDArray[np.float64]
Draws = NDArray[np.int64]

EVEN_POINTS = 241  # evenly spaced points of the first grid
POWERS = 121  # further points towards each end of the range, and towards 0: 10 a decade
DECADES = 12  # how near to an end these come, relative to the range
NEAR_POINTS = 31  # points to either side of the certified answer
FINE = 6  # points of a refined grid to either side of the best point
MAX_REFINED = 24  # refinements at most
ANSWER_RTOL = 1e-9  # relative width of the cell of an answer at which refinement ends
BISECTIONS = 60  # halvings of the cell in which a constraint changes
MAX_ENDS = 8  # ends of the feasible set of one constraint that are located, from below
SEARCH_FACTOR = (
    1e3  # factor beyond the fitted rows up to which an unknown without bounds is searched
)
OUTWARD = 1e-4  # relative: step beyond an answer, which violates the constraint that binds
CHUNK = 100_000  # points that are evaluated at once


@dataclass(frozen=True)
class DrawnAnswers:
    """The unknown of a question in every draw.

    Attributes:
        values: shape (draws,): infinite where the goal improves beyond every bound, 0 where it does
            towards an open end at 0, nan where no feasible choice is found.
        binding: constraint -> the share of the draws with an answer in which it binds.
        unfitted: the share of the draws in which a fit is missing.
    """

    values: Array
    binding: Mapping[str, float]
    unfitted: float = 0.0


def draw_answers(
    formulated: FormulatedQuestion,
    given: Mapping[sp.Symbol, float],
    parameters: Mapping[sp.Symbol, Array],
    ranges: Sequence[tuple[float, float]],
    certified: float = math.nan,
) -> DrawnAnswers | None:
    """Answer a question for every draw of the fitted parameters.

    Args:
        formulated: the question.
        given: symbol -> value of givens and settings.
        parameters: symbol of a parameter -> its draws, shape (draws,).
        ranges: the ranges of the fitted rows in variables of the name of the unknown.
        certified: the answer for the fitted parameters, near which the grid is dense; nan for none.

    Returns:
        The answers; None for questions with several unknowns, equations or whole numbers.
    """
    search = _search_of(formulated, given, parameters, ranges, certified)
    if search is None:
        return None
    draws = len(next(iter(parameters.values())))
    fitted = np.all([np.isfinite(x) for x in parameters.values()], axis=0)
    known = np.flatnonzero(fitted)
    values = np.full(draws, np.nan)
    counts = np.zeros(len(search.names))
    size = max(1, CHUNK // len(search.grid))
    for chunk in np.split(known, range(size, len(known), size)):
        if len(chunk):
            values[chunk] = search.best(chunk)
            counts += search.bound(chunk, values[chunk])
    answered = max(1, int(np.sum(~np.isnan(values))))
    shares = dict(zip(search.names, (counts / answered).tolist(), strict=True))
    return DrawnAnswers(values, shares, 1 - float(np.mean(fitted)))


def _search_of(
    formulated: FormulatedQuestion,
    given: Mapping[sp.Symbol, float],
    parameters: Mapping[sp.Symbol, Array],
    ranges: Sequence[tuple[float, float]],
    certified: float,
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
    grid = _grid(low, high, ranges, certified)
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


def _grid(
    low: float, high: float, ranges: Sequence[tuple[float, float]], certified: float
) -> Array | None:
    """The points at which an unknown is first tried; None where its scale is not known."""
    known = [x for ends in ranges for x in ends]
    known += [certified] if math.isfinite(certified) else []
    if not (math.isfinite(low) and math.isfinite(high)) and not known:
        return None
    first, last = low, high
    if not (math.isfinite(low) and math.isfinite(high)):
        least, most = min(known), max(known)
        if low >= 0 and least > 0:
            first, last = max(least / SEARCH_FACTOR, low), min(most * SEARCH_FACTOR, high)
        else:
            width = SEARCH_FACTOR * max(most - least, abs(most), abs(least))
            first, last = max(low, least - width), min(high, most + width)
    if first >= last:
        return None
    # an answer may be smaller than a cell of evenly spaced points by many powers of ten
    powers = (last - first) * np.geomspace(10.0**-DECADES, 1, POWERS)
    parts = [np.linspace(first, last, EVEN_POINTS), first + powers, last - powers]
    if first > 0:
        parts.append(np.geomspace(first, last, POWERS))
    elif first < 0 < last:
        parts += [powers, -powers]
    if math.isfinite(certified):
        steps = abs(certified) * np.geomspace(1e-6, 1, NEAR_POINTS)
        parts += [np.array([certified]), certified - steps, certified + steps]
    points = np.unique(np.concatenate(parts))
    return points[(points >= first) & (points <= last)]


@dataclass(frozen=True)
class _GridSearch:
    """Goal and margins as functions of the unknown and the parameters, and where it is tried."""

    tape: Slopes
    inputs: list[Array]
    names: list[str]
    grid: Array
    low: float
    high: float

    def _values(self, x: Array, draws: Draws) -> tuple[Array, Array]:
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

    def _violation(self, x: Array, draws: Draws) -> Array:
        """By how much the constraint that is violated most is, at points x of shape (draws, points)."""
        _, margins = self._values(x, draws)
        return np.max(np.where(np.isnan(margins), np.inf, -margins), axis=0)

    def best(self, draws: Draws) -> Array:
        """The best value of the unknown in each of the draws, shape (draws,)."""
        x = np.repeat(self.grid[None], len(draws), axis=0)
        found = self._best_from(x, draws)
        lost = np.isnan(found)
        if lost.any() and self.names:
            # both ends of the feasible set may lie between two points
            x, draws = x[lost], draws[lost]
            near = _refined(x, self._violation(x, draws), lambda at: self._violation(at, draws))
            found[lost] = self._best_from(np.sort(np.column_stack([x, near]), axis=1), draws)
        return found

    def _best_from(self, x: Array, draws: Draws) -> Array:
        """The best value of the unknown, from ascending points x, shape (draws, points)."""
        goal, margins = self._values(x, draws)
        ends = self._feasible_ends(x, margins, draws)
        x = np.concatenate([x, ends], axis=1)
        goal = np.concatenate([goal, self._values(ends, draws)[0]], axis=1)
        every = np.arange(len(draws))
        first = x[every, np.argmin(goal, axis=1)]
        found = _refined(x, goal, lambda at: self._values(at, draws)[0])
        if self.grid[-1] < self.high:
            found[first == self.grid[-1]] = np.inf
        if self.grid[0] > self.low:
            found[first == self.grid[0]] = self.low
        found[~(np.min(goal, axis=1) < np.inf)] = np.nan
        return found

    def _feasible_ends(self, x: Array, margins: Array, draws: Draws) -> Array:
        """Where constraints begin and cease to hold between points, on the side where they do, shape
        (draws, ends): filled up with the first point.
        """
        holds = margins >= 0
        changes = holds[:, :, 1:] != holds[:, :, :-1]
        changes &= np.cumsum(changes, axis=2) <= MAX_ENDS
        which, row, left = np.nonzero(changes)
        before = holds[which, row, left]
        inside = np.where(before, x[row, left], x[row, left + 1])
        outside = np.where(before, x[row, left + 1], x[row, left])
        for _ in range(BISECTIONS if len(row) else 0):
            middle = inside + (outside - inside) / 2
            at_middle = self._values(middle[:, None], draws[row])[1][which, range(len(row)), 0]
            inside = np.where(at_middle >= 0, middle, inside)
            outside = np.where(at_middle >= 0, outside, middle)
        order = np.argsort(row, kind="stable")
        row, inside = row[order], inside[order]
        place = np.arange(len(row)) - np.searchsorted(row, row)
        ends = np.repeat(x[:, :1], int(np.max(place, initial=0)) + 1, axis=1)
        ends[row, place] = inside
        return ends

    def bound(self, draws: Draws, found: Array) -> Array:
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


def _refined(x: Array, values: Array, function: Callable[[Array], Array]) -> Array:
    """The minimum of a function near the smallest of its values, by refining the grid about it.

    Args:
        x: points, in any order, shape (draws, points).
        values: the function there.
        function: the function of points of that shape.

    Returns:
        Shape (draws,).
    """
    every = np.arange(len(x))
    best = x[every, np.argmin(values, axis=1)]
    below, above = np.where(x < best[:, None], x, -np.inf), np.where(x > best[:, None], x, np.inf)
    left, right = np.max(below, axis=1), np.min(above, axis=1)
    left, right = np.where(np.isfinite(left), left, best), np.where(np.isfinite(right), right, best)
    parts = np.linspace(0, 1, FINE + 1)
    for _ in range(MAX_REFINED):
        if np.all(right - left <= ANSWER_RTOL * np.abs(best)):
            break
        points = np.column_stack(
            [
                left[:, None] + (best - left)[:, None] * parts[:-1],
                best,
                best[:, None] + (right - best)[:, None] * parts[1:],
            ]
        )
        at_points = function(points)
        at = np.argmin(at_points, axis=1)
        # a point to the side must be better, not only as good
        at = np.where(at_points[every, at] < at_points[:, FINE], at, FINE)
        best = points[every, at]
        left = points[every, np.maximum(at - 1, 0)]
        right = points[every, np.minimum(at + 1, 2 * FINE)]
    return best
